"""Mirror symmetry by shape: the symmetry plane of a body, its trunk, and its pairs of limbs.

A branch of the tree and its mirror image have the same lengths, whatever their names, and begin at mirrored points of
their common parent. The plane that pairs the greatest length of limbs is the body's symmetry plane. Parts in it are the
trunk, with neck and tail; the other branches are paired or odd.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from poise.anatomy.parts import Body
from poise.arrays import Floats

__all__ = ["IMAGE_DISTANCE", "BodySymmetry", "Branches", "LimbPair", "find_symmetry"]

LEAST_LIKENESS = 0.6  # of the two branches of a pair
IMAGE_DISTANCE = 0.12  # relative to the body's size: distance from a mirror image at which likeness fades
FAR_IMAGE = 0.55  # above -log(LEAST_LIKENESS): the exponent of `fit_images` beyond which no pair is alike
MIDDLE_FACTOR = 4.0  # the middles of two branches may be farther from their images than their first joints
MOST_SIBLINGS = 24  # of a part with more, branches shorter than LEAST_BRANCH are left out
LEAST_BRANCH = 0.1  # relative to the body's size
SAME_PLACE = 1e-3  # relative to the body's size: nearer joints show no direction across
SAME_PLANE_COSINE, SAME_PLANE_OFFSET = 0.999, 0.01  # between normals; and of offsets, relative to the body's size
AXIS_COSINE = 0.9986  # of three degrees: a normal that is nearer to an axis is that axis
HINGE_SCORE = (0.7, 0.6)  # factor of a plane without hinges across it, and its increase if all are across it
MOST_PLANES = 40
MOST_COMPARED = 64  # branches of one part, the longest ones


@dataclass(frozen=True, slots=True)
class LimbPair:
    """Two mirrored limbs: their parent part, their first parts, likeness and length [m]."""

    trunk: int
    first: int
    second: int
    alike: float
    length: float


@dataclass(frozen=True)
class BodySymmetry:
    """The symmetry plane of a body, `normal @ x == offset`, with its trunk, pairs of limbs and unpaired limbs."""

    normal: Floats
    offset: float
    trunk: tuple[int, ...]
    pairs: tuple[LimbPair, ...]
    odd: tuple[int, ...]
    score: float


class Branches:
    """The lengths of all branches of a body, and their comparison."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.compared: dict[tuple[int, int], float] = {}
        n = len(body.parts)
        self.reach = np.zeros(n)
        self.paths: list[Floats] = [np.zeros(1)] * n
        for part in reversed(body.parts):
            own = float(np.linalg.norm(part.ends - part.place, axis=1).max())
            steps = [self.step(k) + self.paths[k] for k in body.children[part.index]]
            self.paths[part.index] = np.sort(np.concatenate([np.zeros(1), *steps]))
            self.reach[part.index] = max([own, *(self.step(k) + self.reach[k] for k in body.children[part.index])])

    def step(self, part: int) -> float:
        """Return the distance of a part's joint from its parent's joint [m]."""
        at = self.body.parts[part]
        return float(np.linalg.norm(at.place - self.body.parts[at.parent].place)) if at.parent >= 0 else 0.0

    def compare(self, a: int, b: int) -> float:
        """Return the likeness of two branches, 0 to 1, by their numbers of joints and the distances along them."""
        if (a, b) not in self.compared:
            self.compared[a, b] = self.compare_paths(a, b)
        return self.compared[a, b]

    def compare_paths(self, a: int, b: int) -> float:
        """Return the likeness of two branches, without the memo."""
        one, other = self.paths[a], self.paths[b]
        longest = max(self.reach[a], self.reach[b], 1e-3 * self.body.size)
        if len(one) == len(other):
            return float(max(0.0, 1.0 - 3.0 * np.abs(one - other).mean() / longest))
        count = min(len(one), len(other))
        ends = 1.0 - 3.0 * abs(one[-1] - other[-1]) / longest
        whole = max(0.0, ends) * (count / max(len(one), len(other))) ** 0.5 * 0.8
        shared = max(one[count - 1], other[count - 1], 1e-3 * self.body.size)
        off = np.abs(one[:count] - other[:count]).mean() / shared
        return float(max(whole, 0.75 * (1.0 - 3.0 * off) if count > 1 else 0.0))

    @cached_property
    def middles(self) -> Floats:
        """The mean position of the joints of every branch, (parts, 3) [m]."""
        sums = np.array([[*part.place, 1.0] for part in self.body.parts])
        for part in reversed(self.body.parts):
            if part.parent >= 0:
                sums[part.parent] += sums[part.index]
        return np.array(sums[:, :3] / sums[:, 3:])

    def list_longest(self, siblings: Sequence[int]) -> list[int]:
        """List branches of one part in their order; at most MOST_COMPARED, the longest."""
        return sorted(sorted(siblings, key=lambda k: -self.reach[k])[:MOST_COMPARED])


def find_symmetry(body: Body) -> BodySymmetry | None:
    """Find the symmetry plane of a body, or None if no limbs are paired."""
    branches = Branches(body)
    found = [mirror_body(body, branches, normal, offset) for normal, offset in list_planes(body, branches)]
    best = max(found, key=lambda one: one.score, default=None)
    return best if best is not None and best.pairs else None


def list_planes(body: Body, branches: Branches) -> list[tuple[Floats, float]]:
    """List the distinct mirror planes of similar branches, longest branches first."""
    planes: list[tuple[float, Floats, float]] = []
    for siblings in body.children:
        long = [k for k in siblings if len(siblings) <= MOST_SIBLINGS or branches.reach[k] >= LEAST_BRANCH * body.size]
        for a, b in combinations(branches.list_longest(long), 2):
            length = min(branches.reach[a], branches.reach[b])
            alike = branches.compare(a, b)
            across = body.parts[a].place - body.parts[b].place
            if np.linalg.norm(across) < SAME_PLACE * body.size:
                across = branches.middles[a] - branches.middles[b]
            wide = float(np.linalg.norm(across))
            if alike > LEAST_LIKENESS and wide > SAME_PLACE * body.size:
                normal = snap_to_axis(across / wide)
                middle = 0.5 * (body.parts[a].place + body.parts[b].place)
                inner = 0.5 * (branches.middles[a] + branches.middles[b])
                shift = body.parts[a].place - body.parts[b].place - branches.middles[a] + branches.middles[b]
                if np.linalg.norm(shift) > 1e-3 * body.size:  # not two equal arms, which are no images of each other
                    middle = 0.5 * (middle + inner)
                planes.append((alike * length, normal, float(normal @ middle)))
    planes.sort(key=lambda plane: -plane[0])
    kept: list[tuple[Floats, float]] = []
    for _, normal, offset in planes:
        if not any(
            abs(normal @ n) > SAME_PLANE_COSINE
            and abs(offset - np.sign(normal @ n) * d) < SAME_PLANE_OFFSET * body.size
            for n, d in kept
        ):
            kept.append((normal, offset))
        if len(kept) == MOST_PLANES:
            break
    return kept


def snap_to_axis(normal: Floats) -> Floats:
    """Return a direction with its largest component positive, snapped to a world axis within three degrees."""
    largest = int(np.argmax(np.abs(normal)))
    normal = normal * np.sign(normal[largest])
    return np.array(np.eye(3)[largest]) if normal[largest] > AXIS_COSINE else normal


def mirror_body(body: Body, branches: Branches, normal: Floats, offset: float) -> BodySymmetry:
    """Pair the branches of a body about a plane, from its root outwards."""
    trunk: list[int] = []
    pairs: list[LimbPair] = []
    odd: list[int] = []
    roots = [part.index for part in body.parts if part.parent < 0]
    waiting = list(roots)
    while waiting:
        at = waiting.pop(0)
        trunk.append(at)
        found, middle, single = pair_children(body, branches, at, normal, offset)
        pairs += found
        odd += single
        waiting += middle
    factor = HINGE_SCORE[0] + HINGE_SCORE[1] * measure_hinge_share(body, pairs, normal)
    score = sum(pair.length * pair.alike for pair in pairs) * factor
    return BodySymmetry(normal, offset, tuple(trunk), tuple(pairs), tuple(odd), score)


def pair_children(
    body: Body, branches: Branches, at: int, normal: Floats, offset: float
) -> tuple[list[LimbPair], list[int], list[int]]:
    """Pair the children of a trunk part; return the pairs, the children in the plane, and the rest."""
    children = list(body.children[at])
    aside = {k: float(normal @ branches.middles[k]) - offset for k in children}
    scored = [
        (fit_images(body, branches, a, b, normal, offset), a, b)
        for a, b in list_near_images(body, branches, branches.list_longest(children), normal, offset)
        if aside[a] * aside[b] < 0.0
    ]
    pairs: list[LimbPair] = []
    for alike, a, b in sorted(scored, reverse=True):
        if alike > LEAST_LIKENESS and a in aside and b in aside:
            length = 0.5 * float(branches.reach[a] + branches.reach[b])
            pairs.append(LimbPair(at, a, b, alike, length))
            del aside[a], aside[b]
    near = 0.5 * IMAGE_DISTANCE * body.size
    alone = len(children) == 1  # a root that is apart from its body
    middle = [k for k in aside if alone or abs(float(normal @ body.parts[k].place) - offset) < near]
    return pairs, middle, [k for k in aside if k not in middle]


def list_near_images(
    body: Body, branches: Branches, siblings: list[int], normal: Floats, offset: float
) -> list[tuple[int, int]]:
    """List the pairs of siblings whose mirror images may fit, with one array operation instead of a call per pair."""
    if len(siblings) < 2:
        return []
    off = np.zeros((len(siblings), len(siblings)))
    for places, scale in ((body.joint_places, IMAGE_DISTANCE), (branches.middles, MIDDLE_FACTOR * IMAGE_DISTANCE)):
        at = places[siblings]
        images = at - 2.0 * np.outer(at @ normal - offset, normal)
        off += ((images[:, None] - at) ** 2).sum(axis=2) / (scale * body.size) ** 2
    first, second = np.nonzero(np.triu(off < FAR_IMAGE, 1))
    return [(siblings[i], siblings[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def fit_images(body: Body, branches: Branches, a: int, b: int, normal: Floats, offset: float) -> float:
    """Return the likeness of two branches as mirror images, 0 to 1, reduced by the distance of the images."""
    image = body.parts[a].place - 2.0 * (normal @ body.parts[a].place - offset) * normal
    off = float(np.linalg.norm(image - body.parts[b].place)) / (IMAGE_DISTANCE * body.size)
    middle = branches.middles[a] - 2.0 * (normal @ branches.middles[a] - offset) * normal
    far = float(np.linalg.norm(middle - branches.middles[b])) / (MIDDLE_FACTOR * IMAGE_DISTANCE * body.size)
    return branches.compare(a, b) * float(np.exp(-(off**2) - far**2))


def measure_hinge_share(body: Body, pairs: list[LimbPair], normal: Floats) -> float:
    """Return the mean alignment of the paired limbs' hinges with the normal, as for knees and elbows, 0 to 1."""
    axes = [body.parts[k].axis for pair in pairs for k in body.list_below(pair.first)]
    across = [abs(float(axis @ normal)) for axis in axes if axis is not None]
    return float(np.mean(across)) if across else 0.5
