"""The pairs of a body's links that can collide.

Without an SRDF, left out are links on parts joined by one joint, links that overlap in at least 95 % of 10,000 random
poses, and links that overlap in the rest pose with at most two joints between them; joints without a solid between them
count once. A body without collision shapes has guessed capsules, so all pairs that overlap at rest are left out.

With an SRDF, left out are exactly the pairs of links that it disables, as in MoveIt, and pairs that would block every
pose: links on parts joined by one joint that overlap in at least 95 % of random poses, and overlapping links that no
joint moves relative to each other. `model.notes` lists them, and the pairs that are kept although they overlap at rest.

The sampling rule is that of MoveIt's setup assistant: I. Sucan and S. Chitta, MoveIt, 2012.
"""

from collections.abc import Collection, Iterable
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.capsules import BodyCapsule, capsule_distances
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = [
    "LinkPairs",
    "PairChoice",
    "Pairs",
    "choose_pairs",
    "describe_pairs",
    "find_next_above",
    "find_pairs",
    "name_pairs",
]

Pairs = NDArray[np.int64]
Part = str | None
LinkPair = tuple[str, str]

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
    guessed = {capsule.frame for capsule in capsules if capsule.guessed}
    tree = LinkPairs(model, (capsule.frame for capsule in capsules), guessed)
    rows, disabled = tree.list_rows(), tree.list_disabled()
    near = OverlapTest(model, capsules, rows, distance + TOUCH * model.length)
    touching = near.find(np.array(model.rest)[None], 1.0)
    if disabled is None:
        left_out = dict.fromkeys(near.find_always(), "they overlap in nearly all poses")
        bare = all(shape.use == "visual" for shape in model.shapes)
        resting = [pair for pair in touching if bare or tree.steps[pair] <= NEAR_STEPS]
        left_out |= dict.fromkeys(resting, "they overlap at rest") | left_out
    else:
        left_out = dict.fromkeys(disabled, "the SRDF disables them")
        still = [pair for pair in touching if pair not in left_out and tree.steps[pair] == 0]
        left_out |= dict.fromkeys(still, "they overlap, and no joint moves them relative to each other")
        joined = [pair for pair in rows if pair not in left_out and tree.steps[pair] == 1]
        left_out |= dict.fromkeys(
            near.find_always(joined), "one joint joins them, and they overlap in nearly all poses"
        )
    kept = [row for pair in rows if pair not in left_out and tree.steps[pair] > 0 for row in rows[pair]]
    pairs = np.array(sorted(kept, key=lambda row: row[::-1]), np.int64).reshape(-1, 2)
    pairs.setflags(write=False)
    choice = PairChoice(pairs, left_out, tuple(pair for pair in touching if pair not in left_out))
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
    """A test of the pairs of links for overlaps.

    Args:
        model: The body.
        capsules: Its capsules.
        rows: The pairs of capsules of each pair of links.
        touch: Capsules with a smaller gap overlap [m].
    """

    def __init__(
        self, model: Model, capsules: tuple[BodyCapsule, ...], rows: dict[LinkPair, list[tuple[int, int]]], touch: float
    ) -> None:
        self.model, self.capsules, self.rows, self.touch = model, capsules, rows, touch

    def find(self, q: Floats, share: float, among: list[LinkPair] | None = None) -> list[LinkPair]:
        """Return the pairs of links that overlap in at least this share of the poses (n, nq)."""
        wanted = list(self.rows) if among is None else among
        if not wanted:
            return []
        pairs = np.array([row for pair in wanted for row in self.rows[pair]])
        near = capsule_distances(self.model, self.capsules, pairs, q) <= self.touch
        first = np.cumsum([0, *(len(self.rows[pair]) for pair in wanted[:-1])])
        found = np.logical_or.reduceat(near, first, axis=1).mean(axis=0) >= share
        return [pair for pair, often in zip(wanted, found, strict=True) if often]

    def find_always(self, among: list[LinkPair] | None = None) -> list[LinkPair]:
        """Return the pairs of links that overlap in at least `ALWAYS` of `POSES` random poses."""
        rng = np.random.default_rng(0)
        often = self.find(self.model.random(rng, FEW_POSES), OFTEN, among)
        return self.find(self.model.random(rng, POSES), ALWAYS, often) if often else []


class LinkPairs:
    """The pairs of a body's links with solids: the joints between them, and whether its SRDF disables them.

    Args:
        model: The body.
        frames: The frame of each solid.
        guessed: The frames whose solids are guessed from bones.
        solid: The frames of collision shapes, if others are only drawn: joints without one between them count once.

    Attributes:
        links: The link of each solid.
        steps: The number of joints between any two links, along the parts with solids; 0 on the same rigid part.
    """

    def __init__(
        self, model: Model, frames: Iterable[str], guessed: Collection[str] = (), solid: Collection[str] = ()
    ) -> None:
        self.model, self.links, self.guessed = model, [model.frame(frame).name for frame in frames], guessed
        self.parts = find_rigid_parts(model)
        drawn = {self.parts[link] for link in self.links}
        among = drawn & {self.parts[model.frame(frame).name] for frame in solid}
        trees = [find_next_above(model, self.parts, drawn, each) for each in (drawn, among) if each]
        both = combinations(dict.fromkeys(self.links), 2)
        self.steps = {
            pair: min(count_steps(tree, *(self.parts[link] for link in pair)) for tree in trees) for pair in both
        }

    def list_rows(self) -> dict[LinkPair, list[tuple[int, int]]]:
        """Return the pairs of solids of each pair of links; without an SRDF, of links more than one joint apart."""
        least = 2 if self.model.attachments.disabled_pairs is None else 0
        rows: dict[LinkPair, list[tuple[int, int]]] = {pair: [] for pair, count in self.steps.items() if count >= least}
        for i, j in combinations(range(len(self.links)), 2):
            one, other = self.links[i], self.links[j]
            pair = (one, other) if (one, other) in rows else (other, one)
            if pair in rows:
                rows[pair].append((i, j))
        return rows

    def list_disabled(self) -> list[LinkPair] | None:
        """Return the pairs of links that the body's SRDF disables, or None if it has none."""
        if self.model.attachments.disabled_pairs is None:
            return None
        disabled = {frozenset(pair) for pair in self.model.attachments.disabled_pairs}
        solid = {shape.frame for shape in self.model.shapes if shape.use != "visual"}
        shown = {link: self.list_shown(link, solid) for link in self.links}
        enough = all if solid else any
        return [
            (one, other)
            for one, other in self.steps
            if enough(frozenset(pair) in disabled for pair in product(shown[one], shown[other]))
        ]

    def list_shown(self, link: str, solid: set[str]) -> list[str]:
        """Return the links that the solids of a link stand for: those of its part if they are guessed from bones."""
        if link not in self.guessed:
            return [link]
        own = [name for name, part in self.parts.items() if name is not None and part == self.parts[link]]
        return [name for name in own if name in solid] or own


def find_next_above(model: Model, parts: dict[Part, Part], drawn: set[Part], among: set[Part]) -> dict[Part, Part]:
    """Return the closest ancestor of each part `drawn` that is `among` given ones; other parts are skipped."""
    out: dict[Part, Part] = {}
    for part in drawn - {None}:
        assert part is not None
        above = parts[model.frame(part).parent]
        while above is not None and above not in among:
            above = parts[model.frame(above).parent]
        if above in among:
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
