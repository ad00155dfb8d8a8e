"""Fuzzing of readers: mutated files of every format are read or rejected, and nothing else happens.

`make fuzz` looks further, guided by coverage; what was found that way lies in tests/fuzz/findings/, and is tried here.
"""

import io
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import poise
from gltf_files import glb, make_character
from paths import FUZZ
from reading import attempt
from seeds import NASTY, SEEDS

pytestmark = pytest.mark.slow

FINDINGS = sorted((FUZZ / "findings").glob("*.*")) if (FUZZ / "findings").is_dir() else []
VERBS = ("read_model", "read_motion")


@st.composite
def mutated(draw: st.DrawFn, seed: bytes) -> bytes:
    """The seed with up to eight pieces cut out, doubled, moved, or replaced by something nasty."""
    data = seed
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(["cut", "double", "nasty", "byte", "token", "truncate", "move"]))
        if kind == "cut":
            data = data[:start] + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:]
        elif kind == "nasty":
            data = data[:start] + draw(st.sampled_from(NASTY)) + data[end:]
        elif kind == "byte":
            data = data[:start] + draw(st.binary(min_size=1, max_size=3)) + data[start + 1 :]
        elif kind == "token":
            data = with_token(data, start, draw(st.sampled_from(NASTY)))
        elif kind == "truncate":
            data = data[: max(end, 1)]
        else:
            piece = data[start:end]
            rest = data[:start] + data[end:]
            at = draw(st.integers(0, len(rest)))
            data = rest[:at] + piece + rest[at:]
    return data


def with_token(data: bytes, start: int, word: bytes) -> bytes:
    """The word or number at or after `start` replaced whole, as a hand that edits would."""
    marks = b" \t\n,;:\"'<>=[]{}"
    while start < len(data) and data[start : start + 1] in marks:
        start += 1
    end = start
    while end < len(data) and data[end] not in marks:
        end += 1
    return data[:start] + word + data[end:]


@cache
def make_files() -> dict[str, bytes]:
    """Return files that a library packs: glTF with its buffer, poses of AMASS, and tables with a body or for one."""
    character = make_character()
    amass = io.BytesIO()
    np.savez_compressed(amass, poses=np.zeros((2, 66)), trans=np.zeros((2, 3)), mocap_framerate=30.0)
    files = {"fuzz.glb": glb(character.with_buffer(None), character.data), "poses.npz": amass.getvalue()}
    motion = poise.Motion(poise.load("planar2"), [[0.1, 0.2], [0.3, 0.4]], 7.0)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in TABLES:
            files[f"m{suffix}"] = poise.save(motion, Path(folder) / f"m{suffix}").read_bytes()
    return files


TABLES = (".csv", ".npz", ".parquet") if find_spec("pyarrow") else (".csv", ".npz")
CASES = [(name, i) for name in sorted(SEEDS) for i in range(len(SEEDS[name]))]
CASES += [(name, -1) for name in ("fuzz.glb", "poses.npz", *(f"m{suffix}" for suffix in TABLES))]


def read(name: str, i: int, data: bytes | None = None) -> list[Any]:
    """Return what the readers make of a seed, or of other bytes with its name; tables are read for their body too."""
    content = (SEEDS[name][i] if i >= 0 else make_files()[name]) if data is None else data
    bodies = [None, poise.load("planar2")] if name.startswith("m.") else [None]
    return [attempt(name, content, verb, body) for verb in VERBS for body in bodies]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_seeds_are_read(name: str, i: int) -> None:
    assert any(result is not None for result in read(name, i))


@pytest.mark.parametrize(("name", "i"), CASES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutations(name: str, i: int, data: st.DataObject) -> None:
    read(name, i, data.draw(mutated(SEEDS[name][i] if i >= 0 else make_files()[name])))


WORDS = (
    *("HIERARCHY", "ROOT", "JOINT", "End", "Site", "OFFSET", "CHANNELS", "MOTION", "Frames:", "Frame", "Time:"),
    *("{", "}", "0", "1", "3", "-1", "1e999", "nan", "1_0", "Xrotation", "Xposition", "a", "\n", "\r", "\t", "\0", "é"),
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=40))
@example(["hierarchy\r" + SEEDS["walk.bvh"][0][9:].decode()])
def test_words_of_bvh(words: list[str]) -> None:
    attempt("words.bvh", " ".join(words).encode(), "read_motion")


@settings(max_examples=100)
@given(name=st.sampled_from(sorted(SEEDS)), content=st.binary(max_size=300))
def test_noise(name: str, content: bytes) -> None:
    for verb in VERBS:
        attempt(name, content, verb)


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.name)
def test_findings(path: Path) -> None:
    for verb in VERBS:
        attempt(path.name, path.read_bytes(), verb)


# ------------------------------------------------------------------------------------------------ robots by grammar

NAMES = st.sampled_from(["base", "a", "b", "c", "", " ", "a b", "\u00e4"])
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from([w.decode("latin-1") for w in NASTY[:14]]),
)
TRIPLES = st.lists(NUMBERS, min_size=2, max_size=4).map(" ".join)


def element(tag: str, attributes: dict[str, str], inside: str = "") -> str:
    from xml.sax.saxutils import quoteattr

    given_ = "".join(f" {key}={quoteattr(''.join(c for c in value if c >= ' '))}" for key, value in attributes.items())
    return f"<{tag}{given_}>{inside}</{tag}>"


@st.composite
def joints(draw: st.DrawFn) -> str:
    kinds = st.sampled_from(("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "hi"))
    name = draw(st.sampled_from(["j0", "j1", "j2", "j3", "base"]))
    parts = [element("parent", {"link": draw(NAMES)}), element("child", {"link": draw(NAMES)})]
    if draw(st.booleans()):
        parts.append(element("origin", {"xyz": draw(TRIPLES), "rpy": draw(TRIPLES)}))
    if draw(st.booleans()):
        parts.append(element("axis", {"xyz": draw(TRIPLES)}))
    if draw(st.booleans()):
        parts.append(element("limit", {"lower": draw(NUMBERS), "upper": draw(NUMBERS)}))
    if draw(st.booleans()):
        leader = draw(st.sampled_from(["j0", "j1", "j2", "j3", "k"]))
        parts.append(element("mimic", {"joint": leader, "multiplier": draw(NUMBERS), "offset": draw(NUMBERS)}))
    return element("joint", {"name": name, "type": draw(kinds)}, "".join(parts))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(links=st.lists(NAMES, max_size=5, unique=True), rows=st.lists(joints(), max_size=4))
def test_robots_of_a_grammar(links: list[str], rows: list[str]) -> None:
    body = "".join(element("link", {"name": name}) for name in links) + "".join(rows)
    attempt("robot.urdf", f'<robot name="r">{body}</robot>'.encode())
