"""Clips of glTF files: samplers, names, rates, and numbers packed by meshoptimizer."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from gltf_files import File, arm, glb, off, posed, quaternion
from poise.errors import FormatError, FormatWarning, PoiseError
from poise.formats.gltf.meshopt import unpack


def reference(mode: str, times: np.ndarray, values: np.ndarray, t: float, *, rotation: bool) -> np.ndarray:
    """A sampler by the letter of the specification's appendix C, one time at a time."""
    if mode == "CUBICSPLINE":
        before, middle, after = values[0::3], values[1::3], values[2::3]
    else:
        before = middle = after = values
    if t <= times[0] or len(times) == 1:
        out = middle[0]
    elif t >= times[-1]:
        out = middle[-1]
    else:
        k = max(i for i in range(len(times)) if times[i] <= t)
        d = times[k + 1] - times[k]
        u = (t - times[k]) / d
        if mode == "STEP":
            out = middle[k]
        elif mode == "CUBICSPLINE":
            out = (2 * u**3 - 3 * u**2 + 1) * middle[k] + d * (u**3 - 2 * u**2 + u) * after[k]
            out = out + (-2 * u**3 + 3 * u**2) * middle[k + 1] + d * (u**3 - u**2) * before[k + 1]
        elif rotation:
            a, b = middle[k], middle[k + 1]
            dot = float(a @ b)
            angle = np.arccos(min(abs(dot), 1.0))
            if angle < 1e-6:
                out = a
            else:
                out = (np.sin(angle * (1 - u)) * a + np.sign(dot) * np.sin(angle * u) * b) / np.sin(angle)
        else:
            out = (1 - u) * middle[k] + u * middle[k + 1]
    return out / np.linalg.norm(out) if rotation else out


@pytest.mark.parametrize("mode", ["STEP", "LINEAR", "CUBICSPLINE"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "i1", "u2"])
def test_a_clip_is_what_its_sampler_says(tmp_path: Path, mode: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.1, 0.5, 1.2], np.float32)
    rows = len(times) * (3 if mode == "CUBICSPLINE" else 1)
    quats, shifts = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 3)).astype(np.float32)
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    if dtype == "f4":
        stored = used = quats.astype(np.float32)
    else:
        most = np.iinfo(dtype).max
        stored = np.round((np.abs(quats) if dtype == "u2" else quats) * most)
        used = stored / most
    if mode != "CUBICSPLINE":
        used = used / np.linalg.norm(used, axis=1, keepdims=True)
    file = arm(scale=[2, 2, 2])
    file.skin([1, 2, 3, 4])
    file.clip("one", [(2, "rotation", times, stored, mode), (3, "translation", times, shifts, mode)], dtype)
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 30
    assert len(motion) == 37
    assert motion.model.joint("lower").kind == "ball"
    assert motion.model.joint("lower_position").locked
    for k in range(len(motion)):
        # frames that hit a key to rounding take that key, so that no STEP is late by a frame
        t = float(min(times, key=lambda key: abs(key - k / 30)))
        t = t if abs(t - k / 30) < 1e-5 else k / 30
        values = {
            (2, "rotation"): reference(mode, times.astype(float), used.astype(float), t, rotation=True),
            (3, "translation"): reference(mode, times.astype(float), shifts.astype(float), t, rotation=False),
        }
        assert off(motion.model, motion.q[k], posed(file.json, values)) < 2e-6


@pytest.mark.slow
def test_clips_by_name_and_number(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    for name, angle in (("walk", 0.1), ("run", 0.2), ("", 0.3)):
        file.clip(name, [(2, "rotation", [0, 1], [quaternion([1, 0, 0], angle)] * 2, "LINEAR")])
    path = file.glb(tmp_path / "a.glb")
    model = poise.load(path)
    assert any("3 clips: 'walk', 'run', 'clip_2'" in note for note in model.notes)
    for clip, angle in ((None, 0.1), (0, 0.1), ("run", 0.2), (2, 0.3), (-1, 0.3), ("clip_2", 0.3)):
        motion = poise.load_motion(path, clip=clip)
        assert motion.model == model
        assert motion.q[0][model.joint("upper").q][0] == pytest.approx(np.cos(angle / 2), abs=1e-7)
    for clip in ("wlak", 3, True):
        with pytest.raises(PoiseError, match="walk"):
            poise.load_motion(path, clip=clip)


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 30.0, 59.94, 60.0, 120.0, 1000.0])
def test_the_rate_is_the_clips_own(tmp_path: Path, fps: float) -> None:
    file = arm()
    times = 2.0 + np.arange(200) / fps
    file.clip("c", [(2, "rotation", times, [quaternion([1, 0, 0], 0.01 * k) for k in range(200)], "STEP")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert len(motion) == 200
    assert motion.fps == pytest.approx(fps, rel=1e-5)
    angles = 2 * np.arccos(motion.q[:, motion.model.joint("upper").q][:, 0])
    np.testing.assert_allclose(angles, 0.01 * np.arange(200), atol=1e-3)


def test_keys_on_no_even_rate_are_sampled(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "rotation", [0, 0.1234, 0.77777], [quaternion([1, 0, 0], a) for a in (0, 1, 2)], "LINEAR")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 60
    assert any("no even rate" in note for note in motion.model.notes)
    assert 2 * np.arccos(motion.q[-1][motion.model.joint("upper").q][0]) == pytest.approx(2.0, abs=1e-6)


def test_an_animated_scale_is_held_and_told(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]], "LINEAR")])
    with pytest.warns(FormatWarning, match="changes the scale"):
        motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(motion.q[0], motion.q[-1])


def test_nodes_beside_the_skin_move_where_a_clip_moves_them(tmp_path: Path) -> None:
    file = arm()
    file.skin([2, 3])
    still = [file.json["nodes"][4]["translation"]] * 2
    file.clip(
        "c",
        [
            (0, "translation", [0, 1], [[0.5, 0, 0], [3, 0, 0]], "LINEAR"),
            (1, "rotation", [0, 1], [quaternion([0, 1, 0], 0.0), quaternion([0, 1, 0], 1.0)], "LINEAR"),
            (4, "translation", [0, 1], still, "LINEAR"),
        ],
    )
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    kinds = {joint.name: joint.kind for joint in motion.model.joints}
    assert kinds == {"armature": "free", "hips": "ball", "upper": "free", "lower": "ball"}
    last = posed(file.json, {(0, "translation"): [3, 0, 0], (1, "rotation"): quaternion([0, 1, 0], 1.0)})
    assert off(motion.model, motion.q[-1], last) < 1e-6


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


BAD_PACKED = {
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


@pytest.mark.parametrize("name", BAD_PACKED)
def test_bad_compression_is_rejected(tmp_path: Path, name: str) -> None:
    change, words = BAD_PACKED[name]
    _, file = packed_arm("EXT_meshopt_compression")
    file.json["bufferViews"][-1]["extensions"]["EXT_meshopt_compression"].update(change)
    path = written(file, tmp_path / "a.glb")
    with pytest.raises(FormatError, match=words):
        poise.load_motion(path)
    if words == "packed by":  # then the body at least
        with pytest.warns(FormatWarning, match="npx @gltf-transform/cli copy"):
            assert poise.load(path).frames


@pytest.mark.parametrize("name", ["EXT_meshopt_compression", "KHR_later_compression"])
def test_a_packed_file_gives_its_body_and_says_how_to_unpack_its_clips(tmp_path: Path, name: str) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    file.clip("turn", [(2, "rotation", [0, 1], [quaternion([1, 0, 0], angle) for angle in (0.0, 0.5)], "LINEAR")])
    plain = poise.load(file.glb(tmp_path / "plain.glb"))
    for view in file.json["bufferViews"]:
        view["extensions"] = {name: {"buffer": 0, "byteLength": 1, "byteStride": 4, "count": 1, "mode": "INDICES"}}
    file.json["extensionsUsed"] = [name]
    with pytest.warns(FormatWarning, match=rf"packed by {name}") as issued:
        model = poise.load(file.glb(tmp_path / "a.glb"))
    assert len(issued) == 2  # the bind pose, and the clips
    assert all("npx @gltf-transform/cli copy" in str(warning.message) for warning in issued)
    assert model.frames == plain.frames
    np.testing.assert_array_equal(model.fk(model.rest), plain.fk(plain.rest))
    with pytest.raises(FormatError, match=rf"packed by {name}; unpack the file"):
        poise.load_motion(tmp_path / "a.glb")


def test_a_single_clip_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    file.clip("", [(2, "rotation", [0, 1], [quaternion([1, 0, 0], 0.3)] * 2, "LINEAR")])
    path = file.glb(tmp_path / "stroll.glb")
    assert any("1 clip: 'stroll'" in note for note in poise.load(path).notes)
    assert len(poise.load_motion(path, clip="stroll"))
