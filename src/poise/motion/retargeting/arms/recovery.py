"""Arms of a stream that are in a wrong branch: if another one is in range, they return to the source within a second.

A fast motion, such as a cartwheel, may leave an arm made of hinges in a branch whose best pose misses the source, and
one frame after the other it stays there and drags the trunk along. If an arm misses its bones for `WAIT_S`, it is
solved from poses spread over its range, a few per frame, on the trunk of the guide, which no arm drags. If one of them
is much better, the arm moves there no faster than its motors, and meanwhile has no weight. There is no other search
until its targets have turned: they may be out of range.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats, Ints
from poise.motion.clips.whole_clip import Window
from poise.motion.retargeting.arms.branches import RobotLimb, find_arms, list_seeds
from poise.motion.retargeting.arms.hinges import FASTEST_RAD_S
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.result import HOLD_WEIGHT

__all__ = ["ArmRecovery"]

WRONG_RAD = 0.35  # error of a bone that may be due to a wrong branch
WAIT_S = 0.1  # time after which such an error is not a matter of speed
RETRY_S = 0.5  # least time between two searches for the same arm
SEEDS_PER_FRAME = 2
SEED_STEPS, FOLLOW_STEPS = 16, 4
BETTER_COST = 0.4  # of the arm, relative to that of its present branch
BONE_WEIGHT = 0.5  # goals with less weight, such as the rotation of a hand, do not show a wrong branch


@dataclass(eq=False)
class ArmState:
    """An arm of a stream.

    Attributes:
        arm: The arm.
        seeds: The poses from which it is solved, (seeds, columns).
        rows: The rows of its goals among those of all arms.
        missed: The number of frames for which it has missed its bones; negative while it waits.
        tried: The number of seeds tried in the present search.
        best: The cost and pose of the best one; None without a search.
        aim: The pose of the branch that it moves to; None if it follows the source.
        away: Whether it has not arrived there yet.
        searched: The rotations of its targets at the end of the latest search, (goals, 9).
    """

    arm: RobotLimb
    seeds: Floats
    rows: Ints
    missed: int = 0
    tried: int = 0
    best: tuple[float, Floats] | None = None
    aim: Floats | None = None
    away: bool = False
    searched: Floats | None = None


@dataclass(eq=False)
class ArmGoals:
    """The targets of the arms in one frame, as the kernel reads them."""

    numbers: Floats
    weights: Floats
    hard: Floats


class ArmRecovery:
    """The arms of a stream, which change branches if they miss the source for a while.

    Attributes:
        left_out: The rows of goals of arms without weight, because they change branches.

    Args:
        carrying: The two bodies.
        fps: Frames per second.
        limited: Whether the stream has limits: then arms stay in their branches, because the way to another one may
            break the limits.
    """

    def __init__(self, carrying: CarryOver, fps: float, limited: bool) -> None:
        self.carrying, self.fps, self.most = carrying, fps, FASTEST_RAD_S / fps
        arms = [] if limited else [arm for arm in find_arms(carrying) if arm.hinged]
        self.rows = np.array([i for arm in arms for i in arm.rows], dtype=np.int64)
        ends = np.cumsum([0, *(len(arm.rows) for arm in arms)])
        self.states = [
            ArmState(arm, list_seeds(carrying.model, arm), np.arange(*ends[k : k + 2])) for k, arm in enumerate(arms)
        ]
        self.columns = np.concatenate([arm.columns for arm in arms]) if arms else self.rows
        self.forget()
        if arms:
            goals = [carrying.goals[i] for i in self.rows]
            joints = [joint.name for arm in arms for joint in arm.joints]
            self.window = Window(carrying.model, goals, hold=HOLD_WEIGHT, smooth=0.0, fps=fps, joints=joints)

    def forget(self) -> None:
        """Reset to the state before the first frame."""
        self.left_out, self.calm = self.rows[:0], True
        for state in self.states:
            state.missed, state.tried, state.away = 0, 0, False
            state.best = state.aim = state.searched = None

    def watch(self, q: Floats, last: Floats | None, guide: Floats, targets: Floats, errors: Floats) -> None:
        """Process a solved pose: find arms in wrong branches, and the poses that they move to.

        Args:
            q: The solved pose.
            last: The pose of the previous frame.
            guide: The guide of this frame.
            targets: The targets of the goals, (goals, 12).
            errors: The errors of the goals, (goals, 2).
        """
        off = errors[self.rows, 1] * (self.carrying.targets.weights[self.rows] >= BONE_WEIGHT)
        if self.calm and float(off.max(initial=0.0)) <= WRONG_RAD:
            return
        for state in self.states:
            if state.best is not None:
                self._search(state, q, guide, targets)
            elif state.away and state.aim is not None:
                state.aim = self._solve(state, q, state.aim, targets, FOLLOW_STEPS)[0]
                if (
                    last is not None
                    and np.abs(state.arm.subtract(state.aim, last[state.arm.columns])).max() < self.most
                ):
                    state.away, state.missed = False, 0
            else:
                state.aim = None
                self._count(state, q, off[state.rows], targets)
        away = [state.rows for state in self.states if state.away]
        self.left_out = self.rows[np.concatenate(away)] if away else self.rows[:0]
        self.calm = all(state.missed == 0 and state.best is None and state.aim is None for state in self.states)

    def limit(self, q: Floats, last: Floats | None) -> Floats:
        """Return a pose whose arms move to their new branches, no faster than motors turn."""
        if last is None or (self.calm and (np.abs(q - last)[self.columns] <= self.most).all()):
            return q
        out = q.copy()
        for state in self.states:
            columns = state.arm.columns
            way = state.arm.subtract(q[columns] if state.aim is None else state.aim, last[columns])
            out[columns] = last[columns] + np.clip(way, -self.most, self.most)
        return out

    def _count(self, state: ArmState, q: Floats, off: Floats, targets: Floats) -> None:
        """Count the frames in which an arm misses its bones, (goals,) [rad], and begin a search after a while."""
        wrong = float(off.max(initial=0.0)) > WRONG_RAD
        state.missed = state.missed + 1 if wrong or state.missed < 0 else 0
        if state.missed >= WAIT_S * self.fps and self._have_moved(state, targets):
            state.tried, state.best = 0, (np.inf, q[state.arm.columns].copy())

    def _have_moved(self, state: ArmState, targets: Floats) -> bool:
        """Return whether the targets of an arm have turned since its latest search, so that another one may succeed."""
        if state.searched is None:
            return True
        chords = np.linalg.norm(targets[self.rows[state.rows], :9] - state.searched, axis=1)
        return bool(chords.max(initial=0.0) > np.sqrt(8.0) * np.sin(0.5 * WRONG_RAD))

    def _search(self, state: ArmState, q: Floats, guide: Floats, targets: Floats) -> None:
        """Solve an arm from a few more seeds on the guide's trunk; after the last, decide on that frame's targets."""
        assert state.best is not None
        _, now = self._solve(state, guide, q[state.arm.columns], targets, SEED_STEPS)
        for seed in state.seeds[state.tried : state.tried + SEEDS_PER_FRAME]:
            pose, cost = self._solve(state, guide, seed, targets, SEED_STEPS)
            if cost < min(BETTER_COST * now, state.best[0]):
                state.best = cost, pose
        state.tried += SEEDS_PER_FRAME
        if state.tried >= len(state.seeds):
            if np.isfinite(state.best[0]):
                pose, cost = self._solve(state, guide, state.best[1], targets, SEED_STEPS)
                if cost < BETTER_COST * now:
                    state.aim, state.away = pose, True
            state.best, state.missed = None, -round(RETRY_S * self.fps)
            state.searched = targets[self.rows[state.rows], :9].copy()

    def _solve(self, state: ArmState, q: Floats, start: Floats, targets: Floats, steps: int) -> tuple[Floats, float]:
        """Return the columns of an arm solved from a start, and the sum of its squared weighted errors."""
        pose, weights = q.copy(), self.carrying.targets.weights[self.rows]
        pose[state.arm.columns] = start
        asked = ArmGoals(targets[self.rows], weights, np.zeros(len(self.rows)))
        found, errors = self.window.solve(pose, pose, asked, steps)
        return found[state.arm.columns], float(((weights * errors[:, 1])[state.rows] ** 2).sum())
