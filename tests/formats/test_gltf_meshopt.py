"""Numbers packed by meshoptimizer: what an encoder of our own packs, in every way the format has, comes back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from gltf_files import File, arm, glb, quaternion
from poise.errors import FormatError, FormatWarning
from poise.formats.gltf.meshopt import unpack


def encoded(rows: np.ndarray, version: int, rng: np.random.Generator) -> bytes:
    """Elements (count, stride) of bytes as a stream; how each group is written is drawn at random."""
    count, stride = rows.shape
    channels = rng.integers(0, 3, stride // 4) if version else np.zeros(stride // 4, int)
    turns = rng.integers(0, 16, stride // 4)
    first = rng.integers(0, 256, stride, np.uint8)
    out, last, size = bytearray([0xA0 + version]), first, min(8192 // stride & ~15, 256)
    for begin in range(0, count, size):
        block = rows[begin : begin + size]
        steps = differences(np.vstack([last[None], block]), channels, turns)
        kinds = [kind_of(steps[:, k], version, rng) for k in range(stride)]
        if version:
            out += bytes(sum(kinds[k + j] << (2 * j) for j in range(4)) for k in range(0, stride, 4))
        for k in range(stride):
            out += column(steps[:, k], kinds[k], version, rng)
        last = block[-1]
    tail = bytes(first) + (
        bytes(int(c) | int(t) << 4 for c, t in zip(channels, turns, strict=True)) if version else b""
    )
    return bytes(out) + bytes(max(0, (24 if version else 32) - len(tail))) + tail


def differences(rows: np.ndarray, channels: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """What is written for each byte of the elements behind the first."""
    out = []
    for k, (channel, turn) in enumerate(zip(channels, turns, strict=True)):
        values = np.ascontiguousarray(rows[:, 4 * k : 4 * k + 4])
        if channel == 2:
            words = values.view("<u4")[1:] ^ values.view("<u4")[:-1]
            wide = words.astype(np.uint64)
            steps = ((wide << np.uint64(turn)) | (wide >> np.uint64(32 - turn))).astype("<u4")
        else:
            kind, signed = ("u1", "i1") if channel == 0 else ("<u2", "<i2")
            words = values.view(kind)
            step = (words[1:] - words[:-1]).view(signed).astype(np.int64)
            steps = np.where(step < 0, -2 * step - 1, 2 * step).astype(kind)
        out.append(np.ascontiguousarray(steps).view(np.uint8).reshape(len(rows) - 1, 4))
    return np.hstack(out)


def kind_of(steps: np.ndarray, version: int, rng: np.random.Generator) -> int:
    return 0 if not version else int(rng.choice([0, 1, 3] if steps.any() else [0, 1, 2, 3]))


def column(steps: np.ndarray, kind: int, version: int, rng: np.random.Generator) -> bytes:
    if kind > 1:
        return bytes(steps) if kind == 3 else b""
    widths = ((0, 1, 2, 4), (1, 2, 4, 8))[kind] if version else (0, 2, 4, 8)
    padded = np.concatenate([steps, np.zeros(-len(steps) % 16, np.uint8)]).reshape(-1, 16)
    header, body = bytearray(-(-len(padded) // 4)), bytearray()
    for g, group in enumerate(padded):
        choice = int(rng.integers(0 if not group.any() or widths[0] else 1, 4))
        header[g // 4] |= choice << (g % 4 * 2)
        body += group_of(group, widths[choice])
    return bytes(header + body)


def group_of(group: np.ndarray, bits: int) -> bytes:
    if bits in (0, 8):
        return bytes(group) if bits else b""
    full, packed = (1 << bits) - 1, bytearray(2 * bits)
    for i, value in enumerate(group):
        at, k = divmod(i, 8 // bits)
        packed[at] |= min(int(value), full) << (k if bits == 1 else 8 - bits * (k + 1))
    return bytes(packed) + bytes(value for value in group if value >= full)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("count", "stride"), [(1, 4), (15, 8), (16, 12), (17, 4), (300, 64), (1000, 8), (40, 256)])
def test_what_was_packed_comes_back(count: int, stride: int, version: int) -> None:
    rng = np.random.default_rng(count + stride)
    for spread in (0, 1, 3, 20, 255):
        rows = np.cumsum(rng.integers(0, spread + 1, (count, stride)), axis=0).astype(np.uint8)
        assert unpack(encoded(rows, version, rng), count, stride, "NONE") == rows.tobytes()


def test_filters() -> None:
    rng = np.random.default_rng(2)
    words = np.array([[3 | (-1 << 24), -5 & 0xFFFFFF | 2 << 24]], np.int64).astype(np.uint32)
    data = encoded(words.view(np.uint8), 0, rng)
    np.testing.assert_array_equal(np.frombuffer(unpack(data, 1, 8, "EXPONENTIAL"), "<f4"), [1.5, -20.0])
    for largest in range(4):
        turn = np.full(4, 0.3) + 0.6 * (np.arange(4) == largest)
        turn /= np.linalg.norm(turn)
        parts = np.rint(np.roll(turn, -largest)[1:] * np.sqrt(2) * 2047)
        stored = np.array([[*parts, 2044 | largest]], "<i2").view(np.uint8)
        found = np.frombuffer(unpack(encoded(stored, 1, rng), 1, 8, "QUATERNION"), "<i2") / 32767
        np.testing.assert_allclose(found, turn, atol=1e-3)


@pytest.mark.slow
@given(
    st.binary(max_size=200), st.integers(0, 70), st.integers(0, 68), st.sampled_from(["NONE", "QUATERNION", "COLOR"])
)
@settings(max_examples=300)
def test_any_bytes_are_elements_or_rejected(data: bytes, count: int, stride: int, name: str) -> None:
    for head in (b"", b"\xa0", b"\xa1"):
        try:
            assert len(unpack(head + data, count, stride, name)) == count * stride
        except ValueError:
            continue


def packed_arm(name: str) -> tuple[File, File]:
    """A character as it is, and with its matrices and keys packed; the plain bytes are gone."""
    plain, file, rng = arm(), arm(), np.random.default_rng(3)
    for each in (plain, file):
        each.skin([1, 2, 3, 4])
        turns = [quaternion([1, 0, 0], angle) for angle in (0.0, 0.5, 0.9)]
        each.clip("turn", [(2, "rotation", [0, 1, 2], turns, "LINEAR")])
    data = b""
    for view in file.json["bufferViews"]:
        stride = 4 if view["byteLength"] % 16 else 16
        rows = np.frombuffer(file.data, np.uint8, view["byteLength"], view["byteOffset"]).reshape(-1, stride)
        stream = encoded(rows, int(name.startswith("KHR")), rng)
        about = {"buffer": 0, "byteOffset": len(data), "byteLength": len(stream), "byteStride": stride}
        view["extensions"] = {name: {**about, "count": len(rows), "mode": "ATTRIBUTES"}}
        view.update(buffer=1)
        data += stream
    whole = len(file.data)
    file.data = data
    file.json["extensionsRequired"] = file.json["extensionsUsed"] = [name]
    file.json["buffers"] = [{"byteLength": len(data)}, {"byteLength": whole, "extensions": {name: {"fallback": True}}}]
    return plain, file


def written(file: File, path: Path) -> Path:
    path.write_bytes(glb(file.json, file.data))
    return path


@pytest.mark.parametrize("name", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_a_packed_character_is_read_as_it_was(tmp_path: Path, name: str) -> None:
    plain, file = packed_arm(name)
    a, b = poise.load_motion(plain.glb(tmp_path / "a.glb")), poise.load_motion(written(file, tmp_path / "b.glb"))
    assert a.model.poses["bind"].tolist() == b.model.poses["bind"].tolist()
    np.testing.assert_array_equal(a.q, b.q)
    again = poise.load_motion(poise.save(b, tmp_path / "c.glb"))  # a plain clip in front of the packed one
    np.testing.assert_allclose(again.model.fk(again.q), b.model.fk(b.q), atol=1e-6)
    np.testing.assert_array_equal(poise.load_motion(tmp_path / "c.glb", clip="turn").q, a.q)


@pytest.mark.parametrize("suffix", ["gltf", "glb"])
def test_a_packed_file_is_written_with_its_packed_bytes(tmp_path: Path, suffix: str) -> None:
    plain, file = packed_arm("EXT_meshopt_compression")
    # bytes of its own in front, so that the packed ones move, and the buffer that has none in between
    front, empty = {"byteLength": 3, "uri": "data:;base64,AAAA"}, file.json["buffers"][1]
    (tmp_path / "far").mkdir()
    (tmp_path / "b.bin").write_bytes(file.data)
    file.json["buffers"] = [front, empty, {"byteLength": len(file.data), "uri": "b.bin"}]
    for view in file.json["bufferViews"]:
        view["extensions"]["EXT_meshopt_compression"]["buffer"] = 2
    wrong = [{"buffer": 9}, {"buffer": []}, {"buffer": 2, "byteOffset": "x"}]  # of meshes, which nobody opens
    views = [{"buffer": 1, "byteLength": 4, "extensions": {"EXT_meshopt_compression": about}} for about in wrong]
    file.json["bufferViews"] += [*views, {"buffer": 1, "byteLength": 4, "extensions": 3}]
    (tmp_path / "b.gltf").write_text(json.dumps(file.json))
    a, b = poise.load_motion(plain.glb(tmp_path / "a.glb")), poise.load_motion(tmp_path / "b.gltf")
    np.testing.assert_array_equal(a.q, b.q)
    path = poise.save(b, tmp_path / "far" / f"c.{suffix}")
    np.testing.assert_allclose(poise.load_motion(path).q, b.q, atol=1e-6)
    np.testing.assert_array_equal(poise.load_motion(path, clip="turn").q, a.q)


BAD = {
    "mode": ({"mode": "TRIANGLES"}, "packed by"),
    "filter": ({"filter": "OCTAHEDRAL"}, "packed by"),
    "buffer": ({"buffer": 7}, "must be the number of one of the buffers"),
    "a buffer without bytes": ({"buffer": 1}, "no binary chunk for it"),
    "length": ({"byteLength": 10**9}, "of its buffer"),
    "cut short": ({"byteLength": 20}, "cannot be unpacked: it is cut short"),
    "count": ({"count": 10**9}, "more numbers than are read"),
    "fewer": ({"count": 1}, "cannot be unpacked|fewer than"),
    "stride": ({"byteStride": 6}, "cannot be unpacked"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_compression_is_rejected(tmp_path: Path, name: str) -> None:
    change, words = BAD[name]
    _, file = packed_arm("EXT_meshopt_compression")
    file.json["bufferViews"][-1]["extensions"]["EXT_meshopt_compression"].update(change)
    path = written(file, tmp_path / "a.glb")
    with pytest.raises(FormatError, match=words):
        poise.load_motion(path)
    if words == "packed by":  # then the body at least
        with pytest.warns(FormatWarning, match="npx @gltf-transform/cli copy"):
            assert poise.load(path).frames
