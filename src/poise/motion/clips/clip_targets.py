"""ClipTargets: goals and their targets over the frames of a clip, with the options of `track`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal
from poise.kinematics import Motion, Pose
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.edit import reject_postures
from poise.motion.clips.lock import fill_places, list_goals, read_contacts
from poise.motion.clips.result import Track
from poise.motion.clips.whole_clip import ClipGoal, Progress, convert_path, solve_whole
from poise.motion.contact.ledger import Contacts

__all__ = ["ClipTargets"]

GUIDE_WEIGHT = 1e-6  # cost of a displacement from the first guess, relative to a goal's residual
GUIDE_CUTOFF = 3.0  # Hz: the guide is the guess below this frequency


@dataclass(frozen=True, eq=False)
class ClipTargets:
    """Goals and their targets over the frames of a clip, with the options of `track`."""

    model: Model
    goals: Mapping[str, Goal]
    paths: Mapping[str, Floats]
    frames: int
    fps: float
    start: ArrayLike | Pose | Motion | None
    contacts: Contacts | str | None
    limits: tuple[Limit, ...]
    smooth: float
    progress: Progress | None

    def read_contacts(self) -> Contacts | str:
        """Return `Contacts` of all frames, empty by default, or "auto".

        Raises:
            InvalidValue: They are of another clip, or neither.
        """
        given = self.contacts
        if given is None:
            return Contacts((), self.frames, self.fps)
        if isinstance(given, Contacts) and given.frames != self.frames:
            raise InvalidValue(f"contacts are of a clip of {given.frames} frames; the targets have {self.frames}.")
        if not isinstance(given, Contacts) and given != "auto":
            raise InvalidValue(f"contacts is {given!r}; it must be 'auto', Contacts, or None.")
        return given

    def solve(
        self, q: Floats, progress: Progress | None = None, weights: Floats | None = None, steps: int | None = None
    ) -> Track:
        """Solve all frames at once from a guess, (frames, nq); `weights` are the weights of the frames."""
        guess, wanted = Motion(self.model, q, self.fps), []
        for name, goal in self.goals.items():
            reject_postures(name, goal)
            numbers = None if name not in self.paths else convert_path(self.model, goal, self.paths[name])
            weight = np.ones(len(guess)) if weights is None else weights
            wanted.append(ClipGoal(replace(goal, name=name), numbers, weight))
        guide = guess.smoothed(GUIDE_CUTOFF) if len(guess) > 2 else guess
        ledger = Contacts((), len(guess), self.fps)
        if self.contacts is not None:
            ledger = fill_places(guess, read_contacts(guess, self.contacts))
            wanted += list_goals(guess, ledger)
        answer = solve_whole(
            guide,
            wanted,
            start=guess.q,
            hold=GUIDE_WEIGHT,
            smooth=self.smooth,
            limits=self.limits,
            steps=steps,
            progress=progress,
        )
        return Track(
            Motion(self.model, answer.q, self.fps),
            {name: answer.errors[:, i] for i, name in enumerate(self.goals)},
            {name: goal.tolerances(self.model, False) for name, goal in self.goals.items()},
            ledger,
            limits=self.limits,
            broken=answer.broken,
        )
