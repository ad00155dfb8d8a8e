"""Track: a solved clip, with what was asked of it and what came of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Motion
from poise.motion.finding import find_runs
from poise.motion.ledger import Contact, Contacts, describe
from poise.motion.measures import Quality, quality

__all__ = ["Released", "Track"]

Floats = NDArray[np.float64]
HOLDS = 1e-5  # m: a lock that is further off does not hold


@dataclass(frozen=True, slots=True)
class Released:
    """A contact that could not be held, or not over all of its frames.

    Attributes:
        contact: What was asked, over the frames that were let go.
        reason: Why, in words.
    """

    contact: Contact
    reason: str


@dataclass(frozen=True, eq=False)
class Track:
    """A clip that was solved as a whole.

    Attributes:
        motion: The clip.
        errors: By the name of a goal, how far it is off at each frame, (frames, 2): metres and radians.
        tolerances: By the name of a goal, metres and radians within which it counts as reached.
        contacts: The contacts that hold, exactly.
        released: Those that do not, with the reason.
        source: What the clip was made from; None where there was nothing.
        reconfigurations: Frames before which an arm takes another branch: among the answers that the waypoints of its
            path have, no way does without. Empty where nothing jumps, and where branches were not listed.
    """

    motion: Motion
    errors: Mapping[str, Floats]
    tolerances: Mapping[str, tuple[float, float]]
    contacts: Contacts
    released: tuple[Released, ...] = ()
    source: Motion | None = None
    asked: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    reconfigurations: tuple[int, ...] = ()

    @property
    def reached(self) -> NDArray[np.bool_]:
        """At which frames every goal is within its tolerance, (frames,)."""
        good = np.ones(len(self.motion), dtype=bool)
        for name in self.errors:
            good &= ~self._find_misses(name)
        return good

    @property
    def quality(self) -> Quality:
        """How good the clip is, judged by its own contacts; see `poise.motion.quality`."""
        return quality(self.motion, self.source, self.contacts)

    def why(self) -> str:
        """Return in one paragraph which frames miss what, and what was let go."""
        lines = [f"{name}: {self._tell_misses(name)}" for name in self.errors if self._find_misses(name).any()]
        lines += [f"{describe(r.contact, self.motion.fps)} was let go: {r.reason}" for r in self.released]
        if self.reconfigurations:
            lines.append(f"the arm takes another branch before {self._tell_flips()}; no way does without.")
        if not lines:
            held = f" and {len(self.contacts)} contacts hold exactly" if len(self.contacts) else ""
            return f"Every goal is reached in all {len(self.motion)} frames{held}."
        return "\n".join(lines)

    def _find_misses(self, name: str) -> NDArray[np.bool_]:
        metres, radians = self.tolerances[name]
        errors = self.errors[name]
        far: NDArray[np.bool_] = (errors[:, 0] > metres) | (errors[:, 1] > radians)
        asked = self.asked.get(name)
        return far if asked is None else far & asked

    def _tell_flips(self) -> str:
        frames, fps = self.reconfigurations, self.motion.fps
        told = ", ".join(f"{t} ({t / fps:.2f} s)" for t in frames[:3])
        return f"frame{'s' * (len(frames) > 1)} {told}{', ...' * (len(frames) > 3)}"

    def _tell_misses(self, name: str) -> str:
        runs = find_runs(self._find_misses(name))
        errors, fps = self.errors[name], self.motion.fps
        worst = int(np.argmax(np.where(self._find_misses(name), errors[:, 0] + errors[:, 1], -1.0)))
        metres, radians = errors[worst]
        what = [f"{1e3 * metres:.1f} mm"] if metres > self.tolerances[name][0] else []
        what += [f"{radians:.3f} rad"] if radians > self.tolerances[name][1] else []
        first = ", ".join(f"{a} to {b - 1}" for a, b in runs[:3]) + (", ..." if len(runs) > 3 else "")
        return (
            f"missed in {int(self._find_misses(name).sum())} of {len(errors)} frames ({first}), "
            f"most at frame {worst} ({worst / fps:.2f} s), by {' and '.join(what)}."
        )

    def __str__(self) -> str:
        head = f"Track of {self.motion.model.name!r}: {len(self.motion)} frames, {len(self.contacts)} contacts held"
        let_go = f", {len(self.released)} let go" if self.released else ""
        return f"{head}{let_go}\n{self.quality}"
