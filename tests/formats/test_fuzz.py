"""Fuzzing of readers: mutated files of every format are read or rejected, and nothing else happens.

`make fuzz` looks further, guided by coverage; what was found that way lies in tests/fuzz/findings/, and is tried here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


CASES = [(name, i) for name in sorted(SEEDS) for i in range(len(SEEDS[name]))]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_seeds_are_read(name: str, i: int) -> None:
    assert any(attempt(name, SEEDS[name][i], verb) is not None for verb in VERBS)


@pytest.mark.parametrize(("name", "i"), CASES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutations(name: str, i: int, data: st.DataObject) -> None:
    content = data.draw(mutated(SEEDS[name][i]))
    for verb in VERBS:
        attempt(name, content, verb)


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
