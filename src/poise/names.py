"""Names of body parts: their words and their side.

LeftHand, hand.L, l_hand     words hand and a side, "l"
toe_fl, LF_toe               front left: its other side is toe_fr, RF_toe
r2/left_hand, r1_l_hand      left: r2 is a robot. Words take precedence over letters, letters over those with a number
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

__all__ = ["find_other_side", "find_side", "split_side", "split_words", "swap_side"]

SIDES = {"l": "l", "left": "l", "lft": "l", "lf": "l", "r": "r", "right": "r", "rgt": "r", "rt": "r"}

_PAIRS = {"l": "r", "left": "right", "fl": "fr", "hl": "hr", "bl": "br", "rl": "rr", "lf": "rf", "lh": "rh"}
_SWAP = _PAIRS | {right: left for left, right in _PAIRS.items()}
_SIDE = re.compile(r"left|right|(?<![a-z])([fhbr]?[lr]|[lr][fh])(?![a-z])", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def split_words(name: str) -> list[str]:
    """Split a name into its words and numbers, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def split_side(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the side in the words, "l", "r" or "", and the other words."""
    sides = [i for i, word in enumerate(words) if word in SIDES]
    if not sides:
        return "", list(words)
    numbered = {i for i in sides if i + 1 < len(words) and words[i + 1].isdecimal()}
    at = min(sides, key=lambda i: (len(words[i]) == 1, i in numbered, i))
    return SIDES[words[at]], [*words[:at], *words[at + 1 :]]


def find_side(name: str) -> str:
    """Return the side of a name: "l", "r" or ""."""
    word = next(list_sides(name), None)
    if word is None:
        return ""
    return "l" if word.group().lower() in _PAIRS else "r"


def list_sides(name: str) -> Iterator[re.Match[str]]:
    """Yield the side markers in a name, most certain first: a word, a letter, a letter followed by a number."""

    def judge(found: re.Match[str]) -> tuple[bool, bool]:
        return len(found.group()) < 4, name[found.end() : found.end() + 1].isdecimal()

    yield from sorted(_SIDE.finditer(name), key=judge)


def swap_side(name: str) -> str:
    """Return the name with its side swapped, hand_r for hand_l, or the name itself if it has no side."""
    return next(swap_each_side(name), name)


def find_other_side(name: str, names: Container[str]) -> str | None:
    """Return the name on the other side from `names`, such as RightArm for LeftArm, or None."""
    return next((other for other in swap_each_side(name) if other in names), None)


def swap_each_side(name: str) -> Iterator[str]:
    """Yield the name with one side marker swapped, in the same spelling, most certain first."""
    for match in list_sides(name):
        word = match.group()
        swapped = _SWAP[word.lower()]
        swapped = swapped.upper() if word.isupper() else swapped.capitalize() if word[0].isupper() else swapped
        yield name[: match.start()] + swapped + name[match.end() :]
