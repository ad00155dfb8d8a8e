"""Track: a solved clip with its goals and errors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Limit
from poise.model import Joint
from poise.motion.clips.faults import find_floor_curve, tell_runs
from poise.motion.clips.labels import label_frames
from poise.motion.clips.quality import Quality, quality
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contact, Contacts, describe
from poise.motion.contact.sole_places import list_planted, measure_roll
from poise.solvers.time_step import bound_rates

__all__ = ["Released", "Track", "list_holding"]

MOST_ROLL = np.radians(3.0)  # a planted sole that rolls sideways further is reported
HOLD_ERROR = 1e-5  # m: largest error of a contact that holds
AT_BOUND_SHARE = 0.99  # share of a bound from which it counts as reached


@dataclass(frozen=True, slots=True)
class Released:
    """A contact that could not be held in some or all of its frames.

    Attributes:
        contact: The contact, over the released frames.
        reason: The reason, in words.
    """

    contact: Contact
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Track:
    """A clip that was solved as a whole.

    Attributes:
        motion: The clip.
        errors: The error of each goal in each frame, by its name, (frames, 2) [m, rad].
        tolerances: The tolerances within which each goal is reached, by its name [m, rad].
        contacts: The contacts that hold exactly.
        released: The contacts that do not hold, with the reason.
        source: The clip that this one was made from, or None.
        asked: The frames in which each goal applies, by its name, (frames,); all of them by default.
        limits: The limits in addition to the joint ranges.
        broken: Frames in which a limit could not be kept, (frames,), or None without limits.
        reconfigurations: Frames before which an arm changes branch because no route through the listed IK answers
            avoids it. Empty if nothing jumps, or if branches were not listed.
        demanded: All contacts that were to be held, at which `quality` is measured; those that hold by default.
    """

    motion: Motion
    errors: Mapping[str, Floats]
    tolerances: Mapping[str, tuple[float, float]]
    contacts: Contacts
    released: tuple[Released, ...] = ()
    source: Motion | None = None
    asked: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    broken: NDArray[np.bool_] | None = None
    reconfigurations: tuple[int, ...] = ()
    demanded: Contacts | None = None

    @property
    def reached(self) -> NDArray[np.bool_]:
        """The frames in which every goal is within its tolerance, (frames,)."""
        good = np.ones(len(self.motion), dtype=bool)
        for name in self.errors:
            good &= ~self._find_misses(name)
        return good

    @property
    def impossible(self) -> int | None:
        """The first frame that misses a goal or breaks a limit, or None."""
        bad = ~self.reached if self.broken is None else ~self.reached | self.broken
        return int(np.argmax(bad)) if bad.any() else None

    @property
    def quality(self) -> Quality:
        """The quality of the clip, measured at all contacts, released ones too; see `poise.motion.quality`."""
        ledger = self.contacts if self.demanded is None else self.demanded
        return quality(self.motion, self.source, contacts=ledger)

    def label_frames(self) -> dict[str, NDArray[Any]]:
        """Return labels for training by name, each (frames,): contacts, velocities, and balance if it has mass."""
        return label_frames(self.motion, self.contacts)

    def why(self) -> str:
        """Return a text on parts below the floor, missed goals, released contacts and soles that roll sideways."""
        return "\n".join([*find_floor_curve(self.motion, self.contacts).tell(self.motion.fps), *self.tell_goals()])

    def tell_goals(self) -> list[str]:
        """Return lines of text on missed goals, released contacts and planted soles that roll sideways."""
        return [self._tell_result(), *self._tell_rolls()]

    def _tell_result(self) -> str:
        lines = [f"{name}: {self._tell_misses(name)}" for name in self.errors if self._find_misses(name).any()]
        if self.broken is not None and self.broken.any():
            runs = tell_runs(find_runs(self.broken))
            lines.append(f"A limit could not be kept in {int(self.broken.sum())} frames ({runs}).")
        lines += [f"{describe(r.contact, self.motion.fps)} was released: {r.reason}" for r in self.released]
        if self.reconfigurations:
            without = "no path through the listed solutions avoids this"
            lines.append(f"the arm changes branch before {self._tell_flips()}; {without}.")
        if not lines:
            if not self.errors and len(self.contacts):
                return f"{len(self.contacts)} contacts were held."
            if not self.errors:
                return f"Nothing is in contact in any of the {len(self.motion)} frames."
            held = (
                f" and {len(self.contacts)} contacts hold within {1e3 * HOLD_ERROR:g} mm" if len(self.contacts) else ""
            )
            return f"Every goal is reached in all {len(self.motion)} frames{held}."
        return "\n".join(lines)

    def _tell_rolls(self) -> list[str]:
        found = []
        for heel, toe in list_planted(self.motion.model, self.contacts):
            roll, before = measure_roll(self.motion, heel, toe), np.zeros(len(heel))
            if self.source is not None and self.source.model == self.motion.model and len(self.source) >= heel.end:
                before = measure_roll(self.source, heel, toe)
            worst = int(np.argmax(np.abs(roll - before)))
            if abs(roll[worst] - before[worst]) > MOST_ROLL:
                degrees = float(np.degrees(abs(roll[worst] - before[worst])))
                when = f"frame {heel.start + worst} of {heel.start} to {heel.end - 1}"
                found.append(
                    (degrees, f"of {heel.name} and {toe.name} rolls sideways by {degrees:.1f} degrees ({when})")
                )
        if not found:
            return []
        others = f"; {len(found) - 1} other planted soles roll by less" if len(found) > 1 else ""
        return [f"The sole {max(found)[1]}{others}."]

    def _find_misses(self, name: str) -> NDArray[np.bool_]:
        metres, radians = self.tolerances[name]
        errors = self.errors[name]
        far: NDArray[np.bool_] = (errors[:, 0] > metres) | (errors[:, 1] > radians)
        asked = self.asked.get(name)
        return far if asked is None else far & asked

    def _tell_flips(self) -> str:
        frames, fps = self.reconfigurations, self.motion.fps
        listed = ", ".join(f"{t} ({t / fps:.2f} s)" for t in frames[:3])
        return f"frame{'s' * (len(frames) > 1)} {listed}{', ...' * (len(frames) > 3)}"

    def _tell_misses(self, name: str) -> str:
        runs = find_runs(self._find_misses(name))
        errors, fps = self.errors[name], self.motion.fps
        worst = int(np.argmax(np.where(self._find_misses(name), errors[:, 0] + errors[:, 1], -1.0)))
        metres, radians = errors[worst]
        mm = 1e3 * self.motion.model.metres_per_unit * metres
        what = [f"{mm:.1f} mm"] if metres > self.tolerances[name][0] else []
        what += [f"{radians:.3f} rad"] if radians > self.tolerances[name][1] else []
        held = list_holding(self.motion, self.limits, worst)
        by = f", with {' and '.join(held[:3])}" if held else ""
        return (
            f"missed in {int(self._find_misses(name).sum())} of {len(errors)} frames ({tell_runs(runs)}), "
            f"most at frame {worst} ({worst / fps:.2f} s), by {' and '.join(what)}{by}."
        )

    def __repr__(self) -> str:
        kind, released = type(self).__name__, f", {len(self.released)} released" if self.released else ""
        missed = f", {int((~self.reached).sum())} missed" if not self.reached.all() else ""
        frames = f"{len(self.motion)} frames{missed}, {len(self.contacts)} contacts{released}"
        return f"<{kind} of {self.motion.model.name!r}: {frames}>"

    def __str__(self) -> str:
        head = f"Track of {self.motion.model.name!r}: {len(self.motion)} frames, {len(self.contacts)} contacts held"
        released = f", {len(self.released)} released" if self.released else ""
        return f"{head}{released}\n{self.quality}"


def list_holding(motion: Motion, limits: Sequence[Limit], t: int, joints: Iterable[Joint] | None = None) -> list[str]:
    """List the active limits of a frame: joints at a bound of their range, speed or acceleration."""
    model, q = motion.model, motion.q
    speed, acceleration = bound_rates(model, [limit for limit in limits if limit.timed])
    out = []
    first, last = max(t - 1, 0), min(t + 1, len(q) - 1)
    around = np.asarray(model.difference(q[first:last], q[first + 1 : last + 1])) * motion.fps
    changes = np.diff(around, axis=0) * motion.fps
    for joint in model.joints if joints is None else joints:
        if not joint.nv or joint.mimic:
            continue
        if not joint.quaternion and is_at_end(q[t][joint.q], model.lower[joint.v], model.upper[joint.v]):
            out.append(f"{joint.name} at the end of its range")
        elif (np.abs(around[:, joint.v]) > AT_BOUND_SHARE * speed[joint.v]).any():
            out.append(f"{joint.name} as fast as it may be")
        elif (np.abs(changes[:, joint.v]) > AT_BOUND_SHARE * acceleration[joint.v]).any():
            out.append(f"{joint.name} at its largest acceleration")
    return out


def is_at_end(x: Floats, low: Floats, high: Floats) -> bool:
    """Return whether a joint is at an end of its range, or outside it."""
    return bool(((x <= low) | (x >= high)).any())
