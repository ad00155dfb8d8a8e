"""The goals of a hand that follows another one: a place for every joint and tip of the fingers that both have.

Both hands are read in the axes of their palms (along the fingers, towards the thumb, and to where the fingers bend), so
a left hand can move a right one. A finger goes from its own knuckle, with its own lengths, in the directions of the
same stretches of the source's finger: places, unlike directions, are continuous for fingers that bend by more than half
a turn. Thumbs begin at very different places, so the place of a thumb's tip is relative to the knuckle of the index
finger.
"""

from itertools import pairwise

import numpy as np

from poise.anatomy import roles as find_roles
from poise.anatomy.hands import Finger, Hand
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal, Reach
from poise.kinematics import Motion
from poise.model import Model
from poise.motion.clips.whole_clip import ClipGoal

__all__ = ["DigitPoints", "HandGoals", "choose_hand", "has_hand", "list_digit_joints"]

POINT_WEIGHT, THUMB_WEIGHT = 5.0, 1.0  # of the place of a joint or tip [1 / L]; thumbs of robots begin elsewhere
SAME_AXIS = 0.9  # cosine between the axes of two hinges that bend a finger


def has_hand(model: Model) -> bool:
    """Return whether a model is a hand."""
    return find_roles(model).kind == "hand"


def choose_hand(model: Model, what: str, side: str = "") -> Hand:
    """Return the hand of a model; of two, the one on the given side.

    Raises:
        InvalidValue: It has none, or two and no side is given.
    """
    hands = [hand for hand in find_roles(model).hands if hand.kind == "hand"]
    chosen = [hand for hand in hands if hand.side == side] or hands
    if len(chosen) == 1:
        return chosen[0]
    found = "two" if chosen else "no"
    raise InvalidValue(
        f"{what} {model.name!r} has {found} hands with fingers; give one hand, such as model.subtree(frame), "
        "or name its fingers by model.with_roles."
    )


def list_digit_joints(model: Model, hand: Hand) -> list[str]:
    """List the joints of the digits of a hand."""
    palm = {joint.name for joint in model.joints_above(hand.palm)}
    above = [joint for digit in hand.digits for joint in model.joints_above(digit.bones[-1]) if joint.nv]
    return list(dict.fromkeys(joint.name for joint in above if joint.name not in palm))


class DigitPoints:
    """The joints and the tips of the digits of a hand, in the axes of its palm.

    Attributes:
        hand: The hand.
        rows: The rows of the points of each digit, from its knuckle to its tip.
        rest: The points at rest, (points, 3) [m].
        bones: The lengths of the bones of each digit [m].
        length: The mean length of the digits, without the thumb [m].
    """

    def __init__(self, model: Model, hand: Hand) -> None:
        self.hand, at = hand, {name: i for i, name in enumerate(model.frames)}
        ends = {
            d.name: [*((bone, (0.0, 0.0, 0.0)) for bone in (find_knuckle(model, hand, d), *d.bones[1:])), mark(d)]
            for d in hand.digits
        }
        counts = np.cumsum([0, *(len(own) for own in ends.values())]).tolist()
        self.rows = {name: slice(a, b) for name, (a, b) in zip(ends, pairwise(counts), strict=True)}
        self.palm, self.at = at[hand.palm], np.array([at[frame] for own in ends.values() for frame, _ in own])
        self.points = np.array([point for own in ends.values() for _, point in own])[..., None]
        self.rest = self.place(np.array(model.fk(model.rest))[None])[0]
        self.bones = {name: measure_bones(self.rest[rows]) for name, rows in self.rows.items()}
        self.length = float(np.mean([bones.sum() for name, bones in self.bones.items() if name != "thumb"]))

    @property
    def by_name(self) -> dict[str, Finger]:
        """The digits by name."""
        return {digit.name: digit for digit in self.hand.digits}

    def place(self, T: Floats) -> Floats:
        """Return the points, (frames, points, 3) [m], for transforms (frames, parts, 4, 4)."""
        own, palm = T[:, self.at], T[:, self.palm]
        places = (own[..., :3, :3] @ self.points)[..., 0] + own[..., :3, 3] - palm[:, None, :3, 3]
        out: Floats = places @ (palm[:, :3, :3] @ self.hand.axes)
        return out


class HandGoals:
    """The goals of the digits that two hands share.

    Args:
        source: The hand that moves.
        model: The hand that follows it, or a body with one.

    Attributes:
        source, target: The digits of both hands.
        goals: The goals: the places of the joints and the tip of every digit.
        weights: Their weights, (goals,).
    """

    def __init__(self, source: Model, model: Model) -> None:
        theirs = choose_hand(source, "the source")
        ours = choose_hand(model, "model", theirs.side)
        self.source, self.target = one, other = DigitPoints(source, theirs), DigitPoints(model, ours)
        self.shared = [digit for digit in ours.digits if digit.name in one.rows]
        if not self.shared:
            raise InvalidValue(f"{source.name!r} and {model.name!r} have no finger in common.")
        goals, weights = list[Goal](), list[float]()
        for digit in self.shared:
            ends = [*((bone, None) for bone in digit.bones[1:]), mark(digit)]
            for k, (frame, point) in enumerate(ends, 1):
                name = f"{digit.name} {k}"
                goals.append(Reach(frame, (0, 0, 0), point=point, relative_to=ours.palm, name=name))
                is_thumb = digit.name == "thumb" and k < len(ends)
                weights.append(THUMB_WEIGHT if is_thumb else POINT_WEIGHT)
        self.goals, self.weights, count = tuple(goals), np.array(weights), len(goals)
        self.stretches, self.sums = np.zeros((count, len(one.rest))), np.zeros((count, count))
        self.base, self.turn, first = np.zeros((count, 3)), ours.axes.T, 0
        for name in (digit.name for digit in self.shared):
            bones = other.bones[name]
            rows, first = slice(first, first + len(bones)), first + len(bones)
            self.stretches[rows, one.rows[name]] = cut_path(one.bones[name], bones)
            self.sums[rows, rows] = np.tril(np.tile(bones, (len(bones), 1)))
            self.base[rows] = other.rest[other.rows[name]][0]
        self.opposes = {"thumb", "index"} <= {digit.name for digit in self.shared}
        self.tip = max((k for k, goal in enumerate(goals) if str(goal.name).startswith("thumb")), default=0)

    def make_targets(self, T: Floats) -> Floats:
        """Return the targets of all goals, (frames, goals, 12), for transforms of the source (frames, parts, 4, 4)."""
        points, out = self.source.place(T), np.zeros((len(T), len(self.goals), 12))
        out[..., [0, 4, 8]] = 1.0
        paths = self.base + self.sums @ self.point_ways(points)
        if self.opposes:
            knuckle, scale = self.source.rows["index"].start, self.target.length / self.source.length
            from_knuckle = points[:, self.source.rows["thumb"].stop - 1] - points[:, knuckle]
            paths[:, self.tip] = self.target.rest[self.target.rows["index"].start] + scale * from_knuckle
        out[..., 9:] = paths @ self.turn
        return out

    def point_ways(self, points: Floats) -> Floats:
        """Return the directions of the stretches of the source's digits that the bones follow, (frames, goals, 3)."""
        ways = self.stretches @ points
        out: Floats = ways / np.maximum(np.sqrt((ways**2).sum(axis=2, keepdims=True)), 1e-12)
        return out

    def list_goals(self, clip: Motion) -> list[ClipGoal]:
        """List the goals of a clip of the source."""
        targets = self.make_targets(np.array(clip.model.fk(clip.q)))
        every = np.ones(len(clip))
        return [
            ClipGoal(goal, targets[:, k], weight * every)
            for k, (goal, weight) in enumerate(zip(self.goals, self.weights, strict=True))
        ]

    def compare_bones(self, clip: Motion, moved: Motion) -> dict[str, Floats]:
        """Return the angle between each bone and the same stretch of the source's finger, (frames,) [rad].

        Bones of thumbs are left out: only the places of their tips correspond.
        """
        theirs = self.point_ways(self.source.place(np.array(clip.model.fk(clip.q))))
        ours, out = self.target.place(np.array(moved.model.fk(moved.q))), dict[str, Floats]()
        ways = np.concatenate([np.diff(ours[:, self.target.rows[d.name]], axis=1) for d in self.shared], axis=1)
        ways /= np.maximum(np.linalg.norm(ways, axis=2, keepdims=True), 1e-12)
        angles = np.arccos(np.clip((ways * theirs).sum(axis=2), -1.0, 1.0))
        for k, goal in enumerate(self.goals):
            if not str(goal.name).startswith("thumb"):
                out[str(goal.name)] = angles[:, k]
        return out


def mark(digit: Finger) -> tuple[str, tuple[float, float, float]]:
    """Return the frame and the point of a digit's tip."""
    return digit.tip.frame, digit.tip.point


def find_knuckle(model: Model, hand: Hand, digit: Finger) -> str:
    """Return the frame where a finger begins to bend: that of the joint before, if its first bone only leans it."""
    palm = {joint.name for joint in model.joints_above(hand.palm)}
    hinges = [joint for joint in model.joints_above(digit.bones[-1]) if joint.nv == 1 and joint.name not in palm]
    axes = {joint.frame: model.fk(model.rest, joint.frame)[:3, :3] @ np.array(joint.axis) for joint in hinges}
    first, last = digit.bones[0], axes.get(digit.bones[-1])
    if digit.name == "thumb" or first not in axes or last is None:
        return first
    order = list(axes)  # the last joint first
    bends = (frame for frame in order[order.index(first) :] if abs(axes[frame] @ last) > SAME_AXIS)
    return next(bends, first)


def measure_bones(points: Floats) -> Floats:
    """Return the distances between the points of a digit, (points - 1,) [m]."""
    return np.asarray(np.linalg.norm(np.diff(points, axis=0), axis=1))


def cut_path(bones: Floats, others: Floats) -> Floats:
    """Return the matrix from the points of a digit to the stretches that bones of another digit follow.

    Args:
        bones: The lengths of the digit's bones.
        others: Those of the other digit: the stretches have the same shares of the whole length. With as many bones,
            they are the bones.
    """
    ends, cuts = (np.concatenate([[0.0], np.cumsum(each)]) / each.sum() for each in (bones, others))
    cuts = ends if len(cuts) == len(ends) else cuts
    at = np.clip(np.searchsorted(ends, cuts, side="right") - 1, 0, len(bones) - 1)
    part = (cuts - ends[at]) / (ends[at + 1] - ends[at])
    places = np.zeros((len(cuts), len(ends)))
    places[np.arange(len(cuts)), at], places[np.arange(len(cuts)), at + 1] = 1.0 - part, part
    return np.diff(places, axis=0)
