"""Hands by shape: palms, their fingers in order, the thumb, and which hand it is; grippers.

A palm is a part with two to five digits: chains of at most five joints without forks. Two digits are the jaws of a
gripper, and so are three digits of one joint each. The thumb begins or points to the side. With d along the fingers,
t towards the thumb's side of their row, and n to where the fingers bend,

    t . (d x n) > 0

for a right hand. n is the mean motion of the fingertips for joints that turn to the farther end of their ranges; of
joints without ranges, it is the side to which fingers are bent already.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from poise.anatomy.contacts import ContactPoint, map_into
from poise.anatomy.palm_axes import (
    MOST_BONES,
    SAME_PLACE,
    find_axes,
    find_knuckle,
    find_tip,
    flatten,
    measure_digit,
)
from poise.anatomy.parts import Body, BodyPart
from poise.arrays import Floats
from poise.model.attachments import UNITS
from poise.names import find_side, split_words

__all__ = ["Hand", "find_hands", "is_finger_role", "is_row"]

FINGERS = ("thumb", "index", "middle", "ring", "little")
WORDS = {"thumb": "thumb th", "index": "index ff if fore forefinger", "middle": "middle mf mid", "ring": "ring rf"} | {
    "little": "little pinky pinkie lf small"
}
LETTERS = re.compile(
    r"(?<![a-z])(th|ff|mf|rf|lf)(?=j[0-9]|base|hub|knuckle|metacarpal|proximal|middle|distal|tip)", re.IGNORECASE
)
MOST_JOINTS = 5  # of a digit; more are an arm or a leg
LONGEST_DIGIT_M = 0.3
JAW_RATIO, DIGIT_RATIO = 0.8, 0.3  # of the shortest to the longest digit of a gripper and of a hand
TIP_SHARE = 0.5  # of the length of the last bone: a frame farther out is its tip
STRAIGHT = 0.3  # of the length of a row: the knuckles of fingers are nearer to a line
CENTRED = 0.2  # of the distance of the thumb from the fingers: nearer to their middle it is on neither side
NAMED, BY_SHAPE = 0.9, 0.6  # certainties


@dataclass(frozen=True, slots=True, eq=False)
class Finger:
    """A finger, a thumb or a jaw.

    Attributes:
        name: "thumb", "index", ..., or "jaw_1".
        parts: The indices of its parts in `Body.parts`.
        bones: The frames of its bones, at most three, from the palm outwards.
        tip: Its tip.
    """

    name: str
    parts: tuple[int, ...]
    bones: tuple[str, ...]
    tip: ContactPoint


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """A hand or a gripper.

    Attributes:
        kind: "hand" or "gripper".
        side: "l" or "r"; "" for a gripper.
        palm: The frame of the palm.
        digits: The digits, the thumb first.
        axes: The axes of the palm in its frame, as columns: along the fingers, towards the thumb, and to where the
            fingers bend; (3, 3).
        certainty: The certainty of the names of its fingers, 0 to 1.
        evidence: How they were found.
    """

    kind: str
    side: str
    palm: str
    digits: tuple[Finger, ...]
    axes: Floats
    certainty: float
    evidence: str

    @property
    def roles(self) -> dict[str, str]:
        """The frames of the hand, its palm and its finger bones by role; empty for a gripper."""
        if self.kind != "hand":
            return {}
        bones = {f"{d.name}_{k}_{self.side}": frame for d in self.digits for k, frame in enumerate(d.bones, 1)}
        return {f"hand_{self.side}": self.palm, f"palm_{self.side}": self.palm, **bones}

    def __str__(self) -> str:
        own = [digit.name if self.kind == "hand" else digit.bones[-1] for digit in self.digits]
        side = {"l": "left ", "r": "right "}.get(self.side, "")
        return f"{side}{self.kind} at {self.palm!r}: {', '.join(own)}"

    @property
    def tips(self) -> dict[str, ContactPoint]:
        """The tips of the fingers by role."""
        return {f"{digit.name}_tip_{self.side}": digit.tip for digit in self.digits if self.kind == "hand"}


def is_finger_role(role: str) -> bool:
    """Return whether a role is that of a finger's bone or tip: index_2_l, thumb_tip_r."""
    return role.split("_", 1)[0] in FINGERS


def find_hands(body: Body, arms: dict[str, int] | None) -> list[Hand]:
    """Find the hands of a body.

    Args:
        body: The body.
        arms: The last part of each arm by its side, where hands are looked for; None to look everywhere.
    """
    if arms is None:
        roots = [part.index for part in body.parts if part.parent < 0]
        return [read_hand(body, *found, "") for root in roots for found in find_palms(body, root)]
    found = {side: next(find_palms(body, part), None) for side, part in arms.items()}
    return [read_hand(body, *palm, side) for side, palm in found.items() if palm is not None]


def find_palms(body: Body, first: int) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield the palms at or below a part, with their digits, as chains of parts."""
    waiting = [first]
    while waiting:
        part = waiting.pop()
        digits = list_digits(body, part)
        siblings = [] if body.parts[part].parent < 0 else body.children[body.parts[part].parent]
        if digits and (len(digits) > 2 or len(siblings) < 2):  # a rod of a gripper's linkage may carry two tips
            yield part, digits
        else:
            waiting += reversed(body.children[part])


def list_digits(body: Body, palm: int) -> list[list[int]]:
    """List the digits of a palm as chains of parts; empty for other parts."""
    chains = list[list[int]]()
    for child in body.children[palm]:
        own = list(islice(list_chains(body, child), 3))
        if len(own) > 2 or (len(own) == 2 and 1 in (len(body.children[child]), len(body.children[palm]))):
            return []
        chains += own if len(own) == 1 else [chain[1:] for chain in own]  # a bone of the palm carries two fingers
    chains = [drop_tip(body, chain) for chain in join_loops(body, chains)]
    if not 2 <= len(chains) <= len(FINGERS) or any(len(chain) > MOST_JOINTS for chain in chains):
        return []
    lengths = [measure_digit(body, chain) for chain in chains]
    if any(is_wheel(body.parts[k]) for chain in chains for k in chain):
        return []
    if not 0.0 < max(lengths) * UNITS[body.model.attachments.units] <= LONGEST_DIGIT_M:
        return []
    return chains if min(lengths) >= (JAW_RATIO if len(chains) == 2 else DIGIT_RATIO) * max(lengths) else []


def is_wheel(part: BodyPart) -> bool:
    """Return whether a part can turn or slide without end, as no finger can; a hinge also by more than a full turn."""
    if part.joint is None or part.joint.nv != 1:
        return part.joint is None
    span = float(part.joint.upper) - float(part.joint.lower)
    return np.isinf(span) or (part.turns == 1 and span > 2.0 * np.pi)


def list_chains(body: Body, first: int) -> Iterator[list[int]]:
    """Yield the chains of parts from one part to each end below it, cut where they are too long for a digit."""
    waiting = [[first]]
    while waiting:
        chain = waiting.pop()
        below = body.children[chain[-1]] if len(chain) < MOST_JOINTS + 3 else []  # two may be dropped
        waiting += [[*chain, k] for k in reversed(below)]
        if not below:
            yield chain


def join_loops(body: Body, chains: list[list[int]]) -> list[list[int]]:
    """Return one chain, the longest, of those that loops of the body join, as rods of a gripper's jaw are."""
    owners, of = body.owners, {k: i for i, chain in enumerate(chains) for k in chain}
    group = list(range(len(chains)))
    for closure in body.model.closures:
        pair = [of.get(owners.get(frame, -1)) for frame in (closure.frame, closure.other)]
        if None not in pair:
            one, other = (group[i] for i in pair if i is not None)
            group = [one if each == other else each for each in group]
    return [
        max((chain for chain, own in zip(chains, group, strict=True) if own == each), key=lambda c: (len(c), c))
        for each in dict.fromkeys(group)
    ]


def drop_tip(body: Body, chain: list[int]) -> list[int]:
    """Return a digit without a last joint that moves nothing, as skeletons have at fingertips."""
    last = body.parts[chain[-1]]
    bare = len(chain) > 1 and last.turns == 3 and not np.ptp(last.ends, axis=0).any() and not last.mass
    return chain[:-1] if bare else chain


# ------------------------------------------------------------------------------------------------ one hand


def read_hand(body: Body, palm: int, digits: list[list[int]], side: str) -> Hand:
    """Return the hand or gripper with this palm; its side is found if it is ""."""
    tips = [find_tip(body, chain) for chain in digits]
    is_gripper = len(digits) == 2 or (len(digits) == 3 and all(len(chain) == 1 for chain in digits))
    words = name_by_words(body, [] if is_gripper else digits) or [None] * len(digits)
    order, centred = order_digits(body, body.parts[palm].place, digits, words)
    side = side or find_named_side(body, palm, digits)
    axes = find_axes(body, [digits[i] for i in order], [tips[i] for i in order])
    if centred and None in words and not side and np.linalg.det(axes) > 0.0:  # either order will do: a right hand
        order = [order[0], *reversed(order[1:])]
        axes = axes * np.array([1.0, -1.0, 1.0])
    named = None not in words
    names = [str(words[i]) for i in order] if named else list(FINGERS[: len(digits)])
    if is_gripper:
        names, side = [f"jaw_{k}" for k in range(1, len(digits) + 1)], ""
    elif not side:
        side = "l" if np.linalg.det(axes) > 0.0 else "r"
    frame = find_palm_frame(body, palm, digits)
    found = [make_finger(body, digits[i], tips[i], name, side) for name, i in zip(names, order, strict=True)]
    axes = body.places[frame][:3, :3].T @ axes
    flat = body if is_gripper else flatten(body, [digits[i] for i in order[1:]])
    if flat is not body:
        straight = find_axes(flat, [digits[i] for i in order], [find_tip(flat, digits[i]) for i in order])
        straight = flat.places[frame][:3, :3].T @ straight
        turned = np.sign(np.linalg.det(axes) * np.linalg.det(straight))  # the side to which fingers bend is known
        axes = straight * np.array([1.0, 1.0, turned])
    sure, why = (NAMED, "name and shape: on the palm") if named else (BY_SHAPE, "shape: on the palm")
    return Hand("gripper" if is_gripper else "hand", side, frame, tuple(found), axes, sure, why)


def make_finger(body: Body, chain: list[int], tip: Floats, name: str, side: str) -> Finger:
    """Return a digit with its bones and its tip."""
    return Finger(name, tuple(chain), list_bones(body, chain, tip), mark_tip(body, chain, tip, f"{name}_tip_{side}"))


def find_palm_frame(body: Body, palm: int, digits: list[list[int]]) -> str:
    """Return the last frame of the palm that carries all digits: of fixed links, the hand and not the arm."""
    above = [body.model.ancestors(body.parts[chain[0]].frame) for chain in digits]
    return next(f for f in above[0][1:] if all(f in each for each in above) and f in body.parts[palm].frames)


def name_by_words(body: Body, digits: list[list[int]]) -> list[str | None]:
    """Return the finger of each digit by the words of its frames and joints; None where they say nothing."""
    table, found = {word: name for name, words in WORDS.items() for word in words.split()}, list[str | None]()
    for chain in digits:
        words = [word for name in list_names(body, chain) for word in {*split_words(name), *find_letters(name)}]
        said = Counter(table[word] for word in words if word in table).most_common(2)
        clear = said and (len(said) == 1 or said[0][1] > said[1][1])
        found.append(said[0][0] if clear else None)
    known = [name for name in found if name is not None]
    return found if len(set(known)) == len(known) else [None] * len(digits)


def find_letters(name: str) -> list[str]:
    """Return the letters of a finger in a name such as "ffproximal"."""
    return [letters.lower() for letters in LETTERS.findall(name)]


def find_named_side(body: Body, palm: int, digits: list[list[int]]) -> str:
    """Return the side that most names of a hand give, or ""."""
    names = list_names(body, [palm, *(k for chain in digits for k in chain)])
    said = Counter(find_side(name) for name in names)
    return next((side for side in "lr" if said[side] > 0.5 * len(names)), "")


def list_names(body: Body, parts: list[int]) -> list[str]:
    """List the names of the frames and joints of some parts."""
    own = [body.parts[k] for k in parts]
    return [*(frame for part in own for frame in part.frames), *(part.joint.name for part in own if part.joint)]


def order_digits(body: Body, palm: Floats, digits: list[list[int]], words: list[str | None]) -> tuple[list[int], bool]:
    """Return the indices of the digits, the thumb first, and whether the thumb is opposite the middle of the others.

    The thumb begins or points to the side; the fingers follow from its side on.
    """
    begins = np.array([body.parts[chain[0]].place for chain in digits])
    ways = np.array([body.parts[chain[-1]].ends.mean(axis=0) for chain in digits]) - begins
    ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
    wide = max(float(np.ptp(begins, axis=0).max()), 1e-9)
    apart = []
    for i in range(len(digits)):
        others = [j for j in range(len(digits)) if j != i]
        aside = 1.0 - float(ways[i] @ ways[others].mean(axis=0))
        off = float(np.linalg.norm(begins[i] - begins[others].mean(axis=0))) / wide
        near = float(np.linalg.norm(begins[i] - palm)) / wide
        apart.append(aside + 0.5 * off - 0.5 * near)
    thumb = words.index("thumb") if "thumb" in words else int(np.argmax(apart))
    rest = [i for i in range(len(digits)) if i != thumb]
    if None not in words:
        return [thumb, *sorted(rest, key=lambda i: FINGERS.index(str(words[i])))], False
    row = np.array([find_knuckle(body, digits[i]) for i in rest])
    to_thumb = find_middle(body, digits[thumb]) - row.mean(axis=0)
    along = np.linalg.svd(row - row.mean(axis=0))[2][0]
    toward = float(to_thumb @ along)
    rest.sort(key=lambda i: -np.copysign(1.0, toward) * float(find_knuckle(body, digits[i]) @ along))
    return [thumb, *rest], abs(toward) < CENTRED * float(np.linalg.norm(to_thumb))


def list_bones(body: Body, chain: list[int], tip: Floats) -> tuple[str, ...]:
    """List the frames of a digit's bones, at most three: of joints in one place, the last."""
    near = SAME_PLACE * measure_digit(body, chain)
    places = [*(body.parts[k].place for k in chain[1:]), tip]
    bones = [k for k, after in zip(chain, places, strict=True) if np.linalg.norm(after - body.parts[k].place) > near]
    return tuple(body.parts[k].frame for k in bones[-MOST_BONES:] or chain[-1:])


def mark_tip(body: Body, chain: list[int], tip: Floats, name: str) -> ContactPoint:
    """Return the tip of a digit: the frame there, if it has one, else a point of its last bone."""
    last = body.parts[chain[-1]]
    frames = [*last.frames[1:], *(body.parts[k].frame for k in body.children[last.index])]
    off = {frame: float(np.linalg.norm(body.places[frame][:3, 3] - last.place)) for frame in frames}
    far = max(off, key=lambda frame: off[frame], default=None)
    if far is not None and off[far] > TIP_SHARE * float(np.linalg.norm(tip - last.place)):
        return ContactPoint(name, far, (0.0, 0.0, 0.0), "frame")
    return ContactPoint(name, last.frame, map_into(body, last.frame, tip), "shapes")


def is_row(body: Body, hand: Hand) -> bool:
    """Return whether the fingers begin in a row, as those of hands do, and not at corners, as legs do."""
    row = np.array([find_knuckle(body, list(digit.parts)) for digit in hand.digits[1:]])
    sizes = np.linalg.svd(row - row.mean(axis=0), compute_uv=False)
    return bool(len(row) > 2 and sizes[1] < STRAIGHT * sizes[0])


def find_middle(body: Body, chain: list[int]) -> Floats:
    """Return the mean place of some joints, (3,) [m]."""
    return np.array(np.mean([body.parts[k].place for k in chain], axis=0))
