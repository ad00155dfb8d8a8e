"""Touch between parts of the body: hands that meet, or rest on a hip, the head, a knee or the other arm.

Hands that come near another part in the source get a goal relative to this part, which keeps

1. the gap between the surfaces, scaled with the body, in the direction from the other part to the hand,
2. the place on the other part, along its centre line and around it.

Small differences are tolerated, more if the gap is larger. A goal fades in and out over distance and time, and its
target is where the hand is anyway if the motion keeps the touch: so clips without touch are not changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Reach
from poise.kinematics import Motion
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.curves import ease, spread_peaks
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.bones import unit
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.touch.parts import TouchPart, find_parts, pair_solids, place_line

__all__ = ["KeptTouch", "Touch", "TouchKeeper", "describe_touches"]

# lengths are for a body of 1.75 m
# gaps in the source of a goal with its full weight, and without weight
GESTURE_M = (0.03, 0.1)  # of hands, and of a hand and the head
TOUCH_M = (0.01, 0.03)  # of other parts: arms that hang next to the body are often near it without touching it
FADE_S = 0.1  # half the time over which a goal begins and ends
LEAST_GAP_M = 0.002  # gap of the target where parts of the source touch
GAP_TOLERANCE, LEAST_TOLERANCE_M, MOST_TOLERANCE_M = 0.3, 0.006, 0.02  # of a gap: relative to it, and its bounds
GESTURE_PLACE_M, PLACE_M = 0.015, 0.06  # tolerance of the place on a hand or the head, and around other parts,
ALONG_TOLERANCE = 0.5  # and along them, relative to their length
DEEP_M = (-0.06, -0.02)  # gaps of the source from which its directions are not used, and used fully
MOST_SHIFT_M = 0.08  # of a hand in one round
MOST_ERROR_M = 0.25  # of a gap: a hand farther off is out of reach
TOUCH_WEIGHT = 140.0  # of a place [1 / L], relative to a displacement
MEASURED_FPS = 40.0  # gaps are measured about this often
MOST_NAMED = 4  # pairs in a report


@dataclass(frozen=True, eq=False)
class Touch:
    """A hand that comes near another part of the body in the source.

    Attributes:
        hand: The name of the hand: "hand_l".
        other: The name of the other part: "head", "thigh_r".
        weights: 1 if they touch, 0 if they are far apart, with a smooth transition, (frames,).
        gaps: The gap between the surfaces that the target keeps, (frames,) [m].
        ways: The direction from the other part's line to the hand, (frames, 3).
        shares: The place along the other part's line, from 0 to 1, (frames,).
        trust: Whether the direction and place are reliable: 0 if the hand is deep inside the other part, (frames,).
        touching: The frames in which they touch, or nearly so, (frames,).
    """

    hand: str
    other: str
    weights: Floats
    gaps: Floats
    ways: Floats
    shares: Floats
    trust: Floats
    touching: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KeptTouch:
    """A touch in a retargeted motion.

    Attributes:
        hand: The name of the hand: "hand_l".
        other: The name of the other part: "head", "thigh_r".
        touching: The frames in which they touch in the source, or nearly so, (frames,).
        errors: The gap between their surfaces minus that of the source, scaled, in frames that touch, (frames,), in the
            body's unit.
    """

    hand: str
    other: str
    touching: NDArray[np.bool_]
    errors: Floats

    @property
    def worst(self) -> int:
        """The frame with the largest error among those that touch."""
        return int(np.argmax(np.where(self.touching, np.abs(self.errors), -1.0)))

    @property
    def error(self) -> float:
        """The largest error among the frames that touch [m]."""
        return float(abs(self.errors[self.worst]))


class TouchKeeper:
    """The touches of a clip and the goals that keep them.

    Args:
        carrying: The retargeting.
        clip: The source.
        moved: The motion of the target, without these goals.
    """

    def __init__(self, carrying: CarryOver, clip: Motion, moved: Motion) -> None:
        self.model, self.size = carrying.model, measure_size(moved)
        self.at = {name: i for i, name in enumerate(self.model.frames)}
        self.most = MOST_ERROR_M * self.size
        near = find_touches(carrying, carrying.place(clip.q), measure_size(clip), clip.fps, self.size)
        # the solids of robots are computed from meshes, which takes seconds: only if something touches
        self.parts = find_parts(self.model, carrying.ours, self.size) if near else {}
        self.touches = [touch for touch in near if touch.hand in self.parts and touch.other in self.parts]
        sides = [(self.parts[touch.hand].solids, self.parts[touch.other].around) for touch in self.touches]
        self.pairs = pair_solids(self.model, sides)
        self.every = max(1, round(clip.fps / MEASURED_FPS))
        out_of_reach = {(kept.hand, kept.other) for kept in self.list_kept(moved) if kept.error > self.most}
        self.touches = [
            replace(touch, weights=0.0 * touch.weights) if (touch.hand, touch.other) in out_of_reach else touch
            for touch in self.touches
        ]

    def make_goals(self, moved: Motion) -> tuple[list[ClipGoal], Floats]:
        """Return the goals that correct a motion, and the length of the largest correction of each frame [m]."""
        T, goals, most = np.array(self.model.fk(moved.q)), [], np.zeros(len(moved))
        for touch, gaps in zip(self.touches, self.measure_gaps(T, self.every), strict=True):
            hand, other = self.parts[touch.hand], self.parts[touch.other]
            place, base = place_line(hand, T[:, self.at[hand.frame]])[:, 0], T[:, self.at[other.frame]]
            shift = touch.weights[:, None] * self._find_shift(touch, other, T, place, gaps)
            most = np.maximum(most, np.linalg.norm(shift, axis=1))
            targets = np.zeros((len(T), 12))
            targets[:, [0, 4, 8]] = 1.0
            targets[:, 9:] = np.einsum("tji,tj->ti", base[:, :3, :3], place + shift - base[:, :3, 3])
            goal = Reach(
                hand.frame,
                np.zeros(3),
                point=hand.line[0],
                relative_to=other.frame,
                name=f"{touch.hand} near {touch.other}",
            )
            goals.append(ClipGoal(goal, targets, TOUCH_WEIGHT * touch.weights))
        return goals, most

    def measure_gaps(self, T: Floats, every: int) -> Floats:
        """Return the gaps of all touches, (touches, frames) [m], interpolated between one of `every` frames.

        They are measured while something touches.
        """
        if not self.touches:
            return np.zeros((0, len(T)))
        used = np.any([(touch.weights > 0.0) | touch.touching for touch in self.touches], axis=0)
        ends = np.diff(used, prepend=False) | np.diff(used, append=False)
        at = np.flatnonzero(used & (ends | (np.arange(len(T)) % every == 0)))
        found = self.pairs.measure_gaps(T[at], self.most + GESTURE_M[1] * self.size)
        return np.stack([np.interp(np.arange(len(T)), at, row) for row in found])

    def _find_shift(self, touch: Touch, other: TouchPart, T: Floats, place: Floats, gaps: Floats) -> Floats:
        """Return the displacement of the hand that restores a touch, (frames, 3) [m]."""
        line = place_line(other, T[:, self.at[other.frame]])
        axis = line[:, 1] - line[:, 0]
        off, trust = line[:, 0] + touch.shares[:, None] * axis - place, touch.trust[:, None]
        ways = unit(trust * touch.ways - (1.0 - trust) * unit(off))
        off = trust * (off - (off * ways).sum(axis=1, keepdims=True) * ways)
        length = np.linalg.norm(axis, axis=1, keepdims=True)
        axis = axis / np.maximum(length, 1e-12)
        along = (off * axis).sum(axis=1, keepdims=True) * axis
        loose = np.clip(GAP_TOLERANCE * touch.gaps, LEAST_TOLERANCE_M * self.size, MOST_TOLERANCE_M * self.size)
        around = (GESTURE_PLACE_M if is_gesture(touch.other) else PLACE_M) * self.size + loose
        shift = shrink(along, around + ALONG_TOLERANCE * length[:, 0]) + shrink(off - along, around)
        apart = (touch.gaps - gaps)[:, None]
        shift += shrink(apart, loose) * ways
        length = np.linalg.norm(shift, axis=1, keepdims=True) / (MOST_SHIFT_M * self.size)
        out: Floats = shift * np.tanh(length) / np.maximum(length, 1e-12)
        return out

    def list_kept(self, moved: Motion) -> tuple[KeptTouch, ...]:
        """List the touches of a motion, with the differences of their gaps from those of the source."""
        found = self.measure_gaps(np.array(self.model.fk(moved.q)), 1)
        return tuple(
            KeptTouch(touch.hand, touch.other, touch.touching, gaps - touch.gaps)
            for touch, gaps in zip(self.touches, found, strict=True)
            if touch.touching.any()
        )


def describe_touches(touches: Sequence[KeptTouch], fps: float, metres: float) -> list[str]:
    """Describe in words how well hands keep touching other parts, worst pair first; empty without touches."""
    if not touches:
        return []
    ordered = sorted(touches, key=lambda touch: -touch.error)
    pairs = [f"{t.hand} and {t.other} by up to {1e3 * metres * t.error:.1f} mm" for t in ordered]
    more = f" and {len(pairs) - MOST_NAMED} other pairs" if len(pairs) > MOST_NAMED else ""
    frames, worst = int(np.any([t.touching for t in ordered], axis=0).sum()), ordered[0].worst
    kept = f"the gaps differ from those of the source: {', '.join(pairs[:MOST_NAMED])}{more}"
    who = "Fingers touch the thumb" if ordered[0].hand == "thumb" else "Hands touch other parts"
    return [f"{who} in {frames} frames; {kept} (worst at frame {worst}, {worst / fps:.2f} s)."]


def list_pairs() -> list[tuple[str, str]]:
    """List the pairs of parts that may touch, a hand first."""
    pairs = [("hand_l", "hand_r")]
    for side, far in ("lr", "rl"):
        others = ("head", "chest", "pelvis", "thigh_l", "thigh_r", "shin_l", "shin_r", f"forearm_{far}")
        pairs += [(f"hand_{side}", other) for other in (*others, f"upper_arm_{far}")]
    return pairs


def find_touches(carrying: CarryOver, T: Floats, size: float, fps: float, own_size: float) -> list[Touch]:
    """Return the touches of a source with transforms `T`, of the given sizes of both bodies."""
    parts = find_parts(carrying.source, carrying.theirs, size)
    pairs = [(hand, other) for hand, other in list_pairs() if hand in parts and other in parts]
    sides = [(parts[hand].solids, parts[other].solids) for hand, other in pairs]
    found = pair_solids(carrying.source, sides).measure_gaps(T, GESTURE_M[1] * size)
    out = list[Touch]()
    for (hand, other), gaps in zip(pairs, found, strict=True):
        full, none = GESTURE_M if is_gesture(other) else TOUCH_M
        near = np.clip((none * size - gaps) / ((none - full) * size), 0.0, 1.0)
        if not near.any():
            continue
        weights = np.minimum(spread_peaks(ease(near), max(1, round(FADE_S * fps))), 1.0)
        place, line = (place_line(parts[name], T[:, carrying.at[parts[name].frame]]) for name in (hand, other))
        place, axis = place[:, 0], line[:, 1] - line[:, 0]
        shares = ((place - line[:, 0]) * axis).sum(axis=1) / np.maximum((axis * axis).sum(axis=1), 1e-12 * size**2)
        shares = np.clip(shares, 0.0, 1.0)
        ways, (least, most) = unit(place - line[:, 0] - shares[:, None] * axis), DEEP_M
        trust = np.clip((gaps / size - least) / (most - least), 0.0, 1.0)
        around = pair_solids(carrying.source, [(parts[hand].solids, parts[other].around)])
        wanted = around.measure_gaps(T, GESTURE_M[1] * size)[0] * own_size / size
        wanted = np.maximum(wanted, LEAST_GAP_M * own_size)
        out.append(Touch(hand, other, weights, wanted, ways, shares, trust, near >= 1.0))
    return out


def is_gesture(other: str) -> bool:
    """Return whether a hand is near the other hand or the head."""
    return other.startswith(("hand", "head"))


def shrink(x: Floats, tolerance: Floats) -> Floats:
    """Return vectors (frames, n) shortened by a tolerance (frames,), zero if they are shorter."""
    length = np.linalg.norm(x, axis=1)
    out: Floats = (np.maximum(length - tolerance, 0.0) / np.maximum(length, 1e-12))[:, None] * x
    return out
