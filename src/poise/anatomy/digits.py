"""Fingers by shape: the branches of a hand, and its thumb."""

from __future__ import annotations

import numpy as np

from poise.anatomy.limbs import LimbChain
from poise.anatomy.parts import Body

__all__ = ["name_digits"]

FINGERS = ("index", "middle", "ring", "little")


def name_digits(body: Body, limb: LimbChain, side: str, sure: float) -> dict[str, tuple[str, float, str]]:
    """Name the finger bones of a hand with three to five fingers: thumb_1_l, index_2_r."""
    if limb.last is None:
        return {}
    branches = [follow_first_branch(body, k) for k in body.children[limb.last] if body.parts[k].turns]
    if not 3 <= len(branches) <= 5:
        return {}
    thumb, row = split_thumb(body, limb.last, branches)
    found = {}
    for name, branch in zip(("thumb", *FINGERS), (thumb, *row), strict=False):
        for count, k in enumerate(branch[:3], 1):
            found[f"{name}_{count}_{side}"] = (body.parts[k].frame, sure, "a branch of the hand")
    return found


def follow_first_branch(body: Body, first: int) -> list[int]:
    """List the parts from `first` outwards, along first children."""
    out = [first]
    while body.children[out[-1]]:
        out.append(body.children[out[-1]][0])
    return out


def split_thumb(body: Body, hand: int, branches: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Split the thumb, which begins or points to the side, from the fingers, listed from the thumb's side."""
    begins = np.array([body.parts[branch[0]].place for branch in branches])
    ways = np.array([body.parts[branch[-1]].ends.mean(axis=0) for branch in branches]) - begins
    ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
    wide = max(float(np.ptp(begins, axis=0).max()), 1e-9)
    apart = []
    for i in range(len(branches)):
        others = [j for j in range(len(branches)) if j != i]
        aside = 1.0 - float(ways[i] @ ways[others].mean(axis=0))
        off = float(np.linalg.norm(begins[i] - begins[others].mean(axis=0))) / wide
        near = float(np.linalg.norm(begins[i] - body.parts[hand].place)) / wide
        apart.append(aside + 0.5 * off - 0.5 * near)
    thumb = int(np.argmax(apart))
    rest = [i for i in range(len(branches)) if i != thumb]
    begins = np.array([np.mean([body.parts[k].place for k in branch[:2]], axis=0) for branch in branches])
    row = begins[rest] - begins[rest].mean(axis=0)
    along = np.linalg.svd(row)[2][0]
    middle = np.mean([body.parts[k].place for k in branches[thumb]], axis=0) - begins[rest].mean(axis=0)
    sign = 1.0 if middle @ along > 0.0 else -1.0
    rest.sort(key=lambda i: -sign * float(begins[i] @ along))
    return branches[thumb], [branches[i] for i in rest]
