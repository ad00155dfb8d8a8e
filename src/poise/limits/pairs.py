"""The pairs of a body's parts that can collide.

Left out are parts joined by one joint, parts that overlap in at least 95 % of 10,000 random poses, and parts that
overlap in the rest pose with at most two joints between them; joints without a solid between them count once. The pairs
of an SRDF replace the last two rules. All other pairs are kept; `model.notes` lists those that overlap at rest. A body
without collision shapes has guessed capsules, so all pairs that overlap at rest are left out.

The sampling rule is that of MoveIt's setup assistant: I. Sucan and S. Chitta, MoveIt, 2012.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.capsules import BodyCapsule, capsule_distances
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = ["PairChoice", "Pairs", "choose_pairs", "count_steps", "describe_pairs", "find_next_above", "find_pairs"]

Pairs = NDArray[np.int64]
Part = str | None
PartPair = tuple[Part, Part]

TOUCH = 1e-6  # of L: gaps below this are rounding errors
POSES = 10_000  # random poses
FEW_POSES = 100  # of these, the ones that all pairs are tested in
ALWAYS = 0.95  # share of random poses in which parts overlap that are left out
OFTEN = 0.8  # share of the first poses below which the others are not tested
NEAR_STEPS = 2  # joints between parts that may overlap at rest
MOST_NAMED = 12  # pairs in a note


class PairChoice(NamedTuple):
    """The pairs of a body that can collide.

    Attributes:
        pairs: Indices of the capsules to keep apart, (m, 2), read-only.
        left_out: Pairs of frames that are left out although no joint joins them, each with the reason.
        touching: Pairs of frames that are kept although they overlap at rest.
    """

    pairs: Pairs
    left_out: dict[tuple[str, str], str]
    touching: tuple[tuple[str, str], ...]


def choose_pairs(model: Model, capsules: tuple[BodyCapsule, ...], distance: float) -> Pairs:
    """Return the pairs of capsules to keep apart, (m, 2), cached and read-only."""
    return find_pairs(model, capsules, distance).pairs


@keep_with_model
def find_pairs(model: Model, capsules: tuple[BodyCapsule, ...], distance: float) -> PairChoice:
    """Return the pairs of capsules to keep apart, and add the others to `model.notes`."""
    parts = find_rigid_parts(model)
    of = [parts[model.frame(capsule.frame).name] for capsule in capsules]
    above = find_next_above(model, parts, set(of))
    steps = {pair: count_steps(above, *pair) for pair in combinations(dict.fromkeys(of), 2)}
    rows: dict[PartPair, list[tuple[int, int]]] = {pair: [] for pair, count in steps.items() if count > 1}
    for i, j in combinations(range(len(capsules)), 2):
        pair = (of[i], of[j]) if (of[i], of[j]) in rows else (of[j], of[i])
        if pair in rows:
            rows[pair].append((i, j))
    near = OverlapTest(model, capsules, rows, distance + TOUCH * model.length)
    touching = near.find(np.array(model.rest)[None], 1.0)
    left_out = list_disabled(model, parts, rows)
    if left_out is None:
        left_out = dict.fromkeys(near.find_always(), "they overlap in nearly all poses")
        guessed = all(shape.use == "visual" for shape in model.shapes)
        resting = [pair for pair in touching if guessed or steps[pair] <= NEAR_STEPS]
        left_out |= dict.fromkeys(resting, "they overlap at rest") | left_out
    kept = np.array(sorted(row for pair in rows if pair not in left_out for row in rows[pair]), np.int64).reshape(-1, 2)
    kept = kept[np.lexsort(kept.T)] if len(kept) else kept
    kept.setflags(write=False)
    names = {part: next(c.frame for c, own in zip(capsules, of, strict=True) if own == part) for part in of}
    named = {(names[one], names[other]): reason for (one, other), reason in left_out.items()}
    choice = PairChoice(kept, named, tuple((names[a], names[b]) for a, b in touching if (a, b) not in left_out))
    for note in describe_pairs(choice):
        model.memo.note(note)
    return choice


def describe_pairs(choice: PairChoice) -> list[str]:
    """Return the pairs that are left out, and those that overlap at rest, as text."""
    out = []
    for reason in dict.fromkeys(choice.left_out.values()):
        pairs = [pair for pair, why in choice.left_out.items() if why == reason]
        out.append(f"Clearance leaves out {name_pairs(pairs)}: {reason}.")
    if choice.touching:
        out.append(f"Clearance keeps {name_pairs(list(choice.touching))}, although they overlap at rest.")
    return out


def name_pairs(pairs: list[tuple[str, str]]) -> str:
    """Return the names of pairs, at most `MOST_NAMED`."""
    more = f" and {len(pairs) - MOST_NAMED} other pairs" if len(pairs) > MOST_NAMED else ""
    return ", ".join(f"{one}/{other}" for one, other in pairs[:MOST_NAMED]) + more


class OverlapTest:
    """A test of the pairs of parts for overlaps.

    Args:
        model: The body.
        capsules: Its capsules.
        rows: The pairs of capsules of each pair of parts.
        touch: Capsules with a smaller gap overlap [m].
    """

    def __init__(
        self, model: Model, capsules: tuple[BodyCapsule, ...], rows: dict[PartPair, list[tuple[int, int]]], touch: float
    ) -> None:
        self.model, self.capsules, self.rows, self.touch = model, capsules, rows, touch

    def find(self, q: Floats, share: float, among: list[PartPair] | None = None) -> list[PartPair]:
        """Return the pairs of parts that overlap in at least this share of the poses (n, nq)."""
        wanted = list(self.rows) if among is None else among
        if not wanted:
            return []
        pairs = np.array([row for pair in wanted for row in self.rows[pair]])
        near = capsule_distances(self.model, self.capsules, pairs, q) <= self.touch
        first = np.cumsum([0, *(len(self.rows[pair]) for pair in wanted[:-1])])
        found = np.logical_or.reduceat(near, first, axis=1).mean(axis=0) >= share
        return [pair for pair, often in zip(wanted, found, strict=True) if often]

    def find_always(self) -> list[PartPair]:
        """Return the pairs of parts that overlap in at least `ALWAYS` of `POSES` random poses."""
        rng = np.random.default_rng(0)
        often = self.find(self.model.random(rng, FEW_POSES), OFTEN)
        return self.find(self.model.random(rng, POSES), ALWAYS, often) if often else []


def list_disabled(
    model: Model, parts: dict[Part, Part], rows: dict[PartPair, list[tuple[int, int]]]
) -> dict[PartPair, str] | None:
    """Return the pairs that the body's SRDF disables, or None if it has none."""
    disabled = model.attachments.disabled_pairs
    if disabled is None:
        return None
    names = {frozenset(parts[name] for name in pair) for pair in disabled}
    return {pair: "the SRDF disables them" for pair in rows if frozenset(pair) in names}


def find_next_above(model: Model, parts: dict[Part, Part], drawn: set[Part]) -> dict[Part, Part]:
    """Return the closest ancestor with capsules for each part; parts without capsules are skipped."""
    out: dict[Part, Part] = {}
    for part in drawn - {None}:
        assert part is not None
        above = parts[model.frame(part).parent]
        while above is not None and above not in drawn:
            above = parts[model.frame(above).parent]
        if above in drawn:
            out[part] = above
    return out


def count_steps(above: dict[Part, Part], one: Part, other: Part) -> int:
    """Return the number of joints between two parts, along the parts that have capsules."""
    chains = []
    for part in (one, other):
        chain = [part]
        while chain[-1] in above:
            chain.append(above[chain[-1]])
        chains.append(chain)
    shared = next((part for part in chains[0] if part in chains[1]), None)
    ends = [chain.index(shared) if shared in chain else len(chain) for chain in chains]
    return sum(ends)
