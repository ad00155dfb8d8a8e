"""The joints of a limb by shape: its upper bone, middle joint and foot or hand.

    lever_r = |(p - r) x a|,   lever_e = |(e - p) x a|      p the joint, a its axis, r the limb's root, e its end

The middle joint bends the limb most: its smaller lever is the largest of all joints. Twist joints have no lever, joints
at the root none above them, joints of the wrist none below. A robot's hip may be up to three joints in about one place:
the last of them carries the thigh. The same holds for its ankle and its wrist.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.anatomy.parts import Body, BodyPart
from poise.arrays import Floats

__all__ = ["LimbChain", "is_twist_hinge", "measure_distance", "read_limb"]

LONGEST_BONE_RATIO = 1.35  # relative to the other bone of a limb
STRAIGHT_COSINE = 0.985  # the cosine between two pieces of one bone
STUB_SHARE = 0.5  # of a part's own length: a limb ends with a part whose branches are shorter and light
LIGHT_SHARE = 0.3  # of a part's mass: lighter children are its gears, rods and sensors, and not the rest of the limb
FINGER_SHARE = 0.25  # of what remains of a limb: a shorter branch is no finger
FORK_SHARE = 0.6  # of a limb's length: a fork before it is in a trunk or an arm, and not a hand
BEYOND_SHARE = 0.5  # of what is beyond the last joint, such as a long tool, in the length of a limb
LEAST_LEVER = 0.02  # relative to the body's size: a middle joint with a shorter lever bends nothing
LEAST_THIGH_RATIO = 0.5  # of the lower bone: a nearer joint is in the middle of the upper bone
LEAST_SHIN_SHARE = 0.45  # of the shorter bone: a nearer joint belongs to the knee or elbow, and not to the limb's end
TWIST_RANGE = (0.3, 0.7)  # of a bone's length: a joint there is a twist of the bone, and not its end
TWIST_BONE_RATIO = 1.1 * LONGEST_BONE_RATIO  # of the upper bone: a longer lower bone goes beyond the wrist or ankle
MOST_GROUP_HINGES = 4  # of a wrist or ankle
PARALLEL_COSINE = 0.7  # between the axes of two hinges of one wrist or ankle: above it they turn about the same axis
TWIST_COSINE = 0.8  # between a hinge and its bone: above it the hinge turns about the bone
WHEEL_COSINE = 0.9  # between the axis of a wheel and the direction across the body
WHEEL_OFFSET = 0.01  # relative to the body's size: distance of a wheel's centre of mass from its axis


@dataclass(frozen=True, slots=True)
class LimbChain:
    """A limb from the trunk outwards, by part indices; None for missing parts.

    Attributes:
        chain: All its parts up to its end.
        girdle: The part above the upper one, if it is a separate bone: the collar bone.
        upper: The part that carries the middle joint: the thigh, the upper arm.
        middle: The part below the middle joint: the shin, the forearm.
        last: The foot or the hand.
        beyond: The part after the last one: the toes.
        end: The outermost point of the limb [m].
        wheel: Whether it ends in a wheel.
    """

    chain: tuple[int, ...]
    girdle: int | None
    upper: int
    middle: int | None
    last: int | None
    beyond: int | None
    end: Floats
    wheel: bool


def read_limb(body: Body, first: int, across: Floats) -> LimbChain:
    """Read the limb that begins with the part `first`; `across` is the normal of the symmetry plane."""
    chain, end = follow_longest_branch(body, first)
    parts = [body.parts[k] for k in chain]
    wheel = is_wheel(body, parts, across)
    hand = find_fork(body, chain)
    whole = hand == len(chain) - 1 or parts[hand].axis is None  # the hands of robots may be as long as their arms
    middle = find_middle(parts[: hand + 1], end if whole else parts[hand].place, body.size)
    if middle is None:
        return LimbChain(chain, None, chain[-1], None, None, None, end, wheel)
    last, beyond = find_last(parts[: hand + 1], middle, find_upper(parts, middle, end), end)
    upper = find_upper(parts, middle, parts[last].place if last is not None else end)
    girdle = upper - 1 if upper > 0 and parts[upper - 1].turns > 1 else None
    return LimbChain(
        chain=chain,
        girdle=None if girdle is None else chain[girdle],
        upper=chain[upper],
        middle=chain[middle],
        last=None if last is None else chain[last],
        beyond=None if beyond is None else chain[beyond],
        end=end,
        wheel=wheel,
    )


def follow_longest_branch(body: Body, first: int) -> tuple[tuple[int, ...], Floats]:
    """Follow the longest branch from a part to its end; return its parts and the position of its end [m]."""
    length: dict[int, tuple[float, int | None]] = {}
    for k in reversed(body.list_below(first)):
        steps = [
            (length[c][0] + measure_distance(body.parts[c].place, body.parts[k].place), c) for c in body.children[k]
        ]
        own = measure_distance(find_tip(body, body.parts[k]), body.parts[k].place)
        longest = max(steps, key=lambda step: (step[0], -step[1]), default=(-1.0, None))
        length[k] = longest if steps and longest[0] > 0.0 else (own, None)
        if steps and longest[0] < STUB_SHARE * own and is_light(body, k):
            length[k] = (own, None)
    chain = [first]
    while (following := length[chain[-1]][1]) is not None:
        chain.append(following)
    return tuple(chain), find_tip(body, body.parts[chain[-1]])


def is_light(body: Body, part: int) -> bool:
    """Return whether the children of a part are light compared with it: a gear, a rod, a sensor."""
    rest = sum(body.parts[k].mass for k in body.list_below(part)[1:])
    return rest <= LIGHT_SHARE * body.parts[part].mass


def find_tip(body: Body, part: BodyPart) -> Floats:
    """Return the point of a part farthest from its joint, from frames and shapes, or from its mass."""
    off = np.linalg.norm(part.ends - part.place, axis=1)
    far = np.array(part.ends[int(np.argmax(off))])
    if not part.mass or body.children[part.index]:
        return far
    beyond = part.place + 2.0 * (find_center(body, part) - part.place)
    return beyond if measure_distance(beyond, part.place) > float(off.max()) else far


def find_center(body: Body, part: BodyPart) -> Floats:
    """Return the centre of mass of a part in the world [m]."""
    total = np.zeros(3)
    for name in part.frames:
        frame, T = body.model.frame(name), body.places[name]
        total += frame.mass * (T[:3, :3] @ frame.center + T[:3, 3])
    return np.array(total / part.mass)


def measure_distance(a: Floats, b: Floats) -> float:
    """Return the distance between two points [m]."""
    return float(np.linalg.norm(a - b))


def measure_lever(part: BodyPart, to: Floats) -> float:
    """Return the distance of a point from a joint's axis, or from its centre if it has several axes [m]."""
    offset = to - part.place
    return float(np.linalg.norm(offset if part.axis is None else np.cross(part.axis, offset)))


def find_fork(body: Body, chain: tuple[int, ...]) -> int:
    """Return the index in the chain at which fingers begin: the first fork near the end of a limb."""
    steps = [measure_distance(body.parts[a].place, body.parts[b].place) for a, b in pairwise(chain)]
    far = np.cumsum([0.0, *steps])
    for i, k in enumerate(chain[:-1]):
        rest = far[-1] - far[i]
        long = [c for c in body.children[k] if measure_reach(body, c) > FINGER_SHARE * rest]
        many = len(long) > 1 or len(body.children[k]) > 2
        if i and (many or not body.parts[chain[i + 1]].turns) and far[i] > FORK_SHARE * far[-1]:
            return i
    return len(chain) - 1


def measure_reach(body: Body, part: int) -> float:
    """Return the largest distance of a branch's points from its first joint [m]."""
    at = body.parts[part].place
    return max(measure_distance(end, at) for k in body.list_below(part) for end in body.parts[k].ends)


def find_middle(parts: list[BodyPart], end: Floats, size: float) -> int | None:
    """Return the index in the chain of the joint that bends the limb most, or None.

    The end is that of the last joint: anything beyond it, such as a long tool, counts half.
    """
    root, last = parts[0].place, parts[-1].place
    levers = {
        i: min(measure_lever(p, root), measure_lever(p, last) + BEYOND_SHARE * measure_lever(parts[-1], end))
        for i, p in enumerate(parts)
        if i and p.turns
    }
    best = max(levers, key=lambda i: levers[i], default=None)
    return best if best is not None and levers[best] > LEAST_LEVER * size else None


def find_upper(parts: list[BodyPart], middle: int, end: Floats) -> int:
    """Find the part that carries the middle joint; of joints with several angles, the one a bone's length away."""
    above = middle - 1
    if parts[above].turns < 2:
        return above
    knee = parts[middle].place
    lower = measure_distance(end, knee)
    long = [i for i in range(above, -1, -1) if measure_distance(parts[i].place, knee) > LEAST_THIGH_RATIO * lower]
    found = next((i for i in long if parts[i].turns > 1), above)
    while (
        found
        and is_straight(parts[found - 1 : found + 1], knee)
        and measure_distance(parts[found - 1].place, knee) < LONGEST_BONE_RATIO * lower
    ):
        found -= 1  # a bone in two pieces that share its twist
    return found


def find_last(parts: list[BodyPart], middle: int, upper: int, end: Floats) -> tuple[int | None, int | None]:
    """Find the foot or hand and the part beyond it: the last joint of the group at the end of the lower bone."""
    at = parts[middle].place
    long = min(measure_distance(parts[upper].place, at), measure_distance(end, at))
    far = [
        i
        for i in range(middle + 1, len(parts))
        if measure_distance(parts[i].place, at) > LEAST_SHIN_SHARE * long and parts[i].turns
    ]
    while len(far) > 1 and is_twist_joint(parts, middle, far[0], upper):
        far = far[1:]
    if not far:
        tail = [i for i in range(middle + 1, len(parts)) if parts[i].turns]
        return (tail[-1] if tail and not is_twist_hinge(parts[tail[-1]], end - parts[tail[-1]].place) else None), None
    bone = parts[far[-1]].place - at
    last = next((i for i in far if not is_twist_hinge(parts[i], bone)), far[0])
    group = [parts[last]]
    for i in range(last + 1, len(parts)):
        if not belongs_to_group(parts[i], group, bone):
            break
        last = i
        group.append(parts[i])
    tool, near = end - parts[-1].place, measure_distance(parts[-1].place, parts[last].place) < 0.35 * long
    if len(parts) == last + 2 and near and np.linalg.norm(tool) > 0.01 * long and is_twist_hinge(parts[-1], tool):
        last += 1  # a flange
    return last, (last + 1 if last + 1 < len(parts) else None)


def is_straight(parts: list[BodyPart], to: Floats) -> bool:
    """Return whether two joints with several angles and a point lie on a line, in this order."""
    one, other = parts
    first, second = other.place - one.place, to - other.place
    sizes = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    return (
        one.turns > 1
        and other.turns > 1
        and min(sizes) > 0.0
        and float(first @ second) > STRAIGHT_COSINE * sizes[0] * sizes[1]
    )


def is_twist_joint(parts: list[BodyPart], middle: int, at: int, upper: int) -> bool:
    """Return whether the joint sits mid-bone (a forearm or shin twist), not at the wrist or ankle."""
    if at + 1 >= len(parts) or not is_straight([parts[middle], parts[at]], parts[at + 1].place):
        return False
    whole = measure_distance(parts[at + 1].place, parts[middle].place)
    share = measure_distance(parts[at].place, parts[middle].place) / whole
    bone = measure_distance(parts[upper].place, parts[middle].place)
    return TWIST_RANGE[0] < share < TWIST_RANGE[1] and whole < TWIST_BONE_RATIO * bone


def belongs_to_group(part: BodyPart, group: list[BodyPart], bone: Floats) -> bool:
    """Return whether a hinge belongs to the joints of a wrist or ankle: at most four, each with its own axis.

    A twist about the bone may occur twice, as in a wrist with roll, pitch and roll. Toes turn about the ankle's axis.
    """
    if part.axis is None or group[0].axis is None or len(group) >= MOST_GROUP_HINGES:
        return False
    others = group[-1 if is_twist_hinge(part, bone) else 0 :]
    return all(one.axis is not None and abs(float(one.axis @ part.axis)) < PARALLEL_COSINE for one in others)


def is_twist_hinge(part: BodyPart, bone: Floats) -> bool:
    """Return whether a hinge turns about the length of a bone."""
    return part.axis is not None and abs(float(part.axis @ bone)) > TWIST_COSINE * float(np.linalg.norm(bone))


def is_wheel(body: Body, parts: list[BodyPart], across: Floats) -> bool:
    """Return whether a limb ends in a wheel: an unlimited hinge across the body, about its own centre of mass."""
    last = parts[-1]
    joint = last.joint
    if joint is None or last.axis is None or body.children[last.index] or abs(float(last.axis @ across)) < WHEEL_COSINE:
        return False
    center = find_center(body, last) if last.mass else last.ends.mean(axis=0)
    return (
        bool(np.isinf(joint.lower) and np.isinf(joint.upper)) and measure_lever(last, center) < WHEEL_OFFSET * body.size
    )
