"""A clip as one problem over all frames, solved by sequential quadratic steps.

    minimise    sum_t |w r(q_t)|^2 + hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2,   d_t = q_t - free_t
    subject to  the joint ranges and limits, and the members: contacts, floor, parts apart, touch (`members`)

r are the directions of bones and parts in the free motion, which has no members. Each round linearises the members
about the motion found so far, takes Gauss-Newton steps on the frames around those that violate one
(`solve_whole`), and measures again. A run of frames is accepted if its merit falls,

    merit_t = violations_t + SOFT_COST (hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2),

and every frame has a trust region: the cost of a step there grows where the merit rose, and falls elsewhere. Source:
Nocedal and Wright, Numerical Optimization, 2006, chapter 18.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Clearance, Limit
from poise.limits.near_pairs import is_of_itself
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.lock import CONTACT_TOLERANCE, MOST_RELEASE_ERROR
from poise.motion.clips.result import HOLD_ERROR, Released, Track
from poise.motion.clips.whole_clip import (
    ClipGoal,
    Progress,
    Steady,
    count_frames,
    cut_windows,
    measure_units,
    solve_whole,
)
from poise.motion.contact.cuts import find_cuts, part_at_cuts
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import flag_contact
from poise.motion.problem.members import CapsulesApart, ContactPlaces, Member
from poise.motion.problem.near_parts import Flags, cut_goals, flag_around

__all__ = ["ClipProblem"]

ROUNDS, RELEASE_ROUND = 14, 4  # at most, and after which contacts that are out of reach are released
FIRST_STEPS, STEPS = 24, 16  # at most: Gauss-Newton steps of the first round, and of the others
REST = 1e-4  # rad, or lengths of the body: a shorter step ends a round
FIRST_WEIGHT, NEXT_WEIGHT, LAST_WEIGHT = 1e2, 1e5, 2e6  # of contacts: in the first step, of later rounds, and the last
MOST_CORRECTION = 0.2  # rad: of a frame to its contacts at the end; those that contradict each other may lead anywhere
HOLD_WEIGHT = 0.3  # of a displacement, relative to the direction of a bone or part, squared
SLIDE_COST = 5.0  # of a translation relative to a rotation: the hips move all other parts
SOFT_COST = 1e-3  # of the cost of displacements in the merit [m]

LEAST_DAMPING, MORE, LESS = 1.0, 4.0, 0.3  # of a step: at first, and its factors where the merit rose and fell
TRUST_S = 0.05  # half the time over which the merit of a frame is measured
SPREAD_S = 0.25  # time before and after a violation in which frames may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
MOST_FAILURES = 7  # rounds that do not improve a run before it is left as it is
LEAST_GAIN, KEPT_FAILURE = (
    0.05,
    3,
)  # of the merit of a run whose members are kept, and how much a round with less counts
MOST_FRAMES = 600  # solved at once around violations


class ClipProblem:
    """The frames of a clip, what they keep, and their solution.

    Args:
        free: The motion without members.
        contacts: Its contacts; they are members too.
        members: The other members.
        bones: The goals of the directions of bones and parts.
        limits: Limits in addition to the joint ranges.
        smooth: The spread of displacements in time; 1 is 0.1 s.
        joints: The only joints that may move.
    """

    def __init__(
        self,
        free: Motion,
        contacts: ContactPlaces,
        members: Sequence[Member],
        bones: Sequence[ClipGoal],
        limits: Sequence[Limit],
        smooth: float,
        joints: Sequence[str] | None,
    ) -> None:
        self.free, self.contacts, self.bones, self.joints = free, contacts, bones, joints
        own = [limit for limit in limits if isinstance(limit, Clearance) and is_of_itself(limit)]
        self.members: list[Member] = [*members, *([CapsulesApart(own)] if own else [])]
        self.rules, self.limits = tuple(limits), tuple(limit for limit in limits if limit not in own)
        self.smooth, self.timed = smooth, bool(part_limits(limits)[1])
        self.cuts = [] if self.timed else list(find_cuts(free))  # rates hold across cuts
        self.reach = round(SPREAD_S * free.fps)
        self.broken = np.zeros(len(free), dtype=bool)
        self.moving = np.zeros(len(free), dtype=bool)  # frames that the last steps still moved
        self.released: list[Released] = []

    def solve(self, progress: Progress | None = None) -> Track:
        """Return the motion, in which each run of frames is the best of all rounds."""
        frames, fps = len(self.free), self.free.fps
        q, every = np.array(self.free.q), np.ones(frames, dtype=bool)
        missed = self.contacts.settle(self.free)
        if not (self.update(q, every).any() or self.limits or self.contacts.goals):
            return self.make_track(q)  # nothing moves the body
        damping = np.full(frames, LEAST_DAMPING)
        q, _ = self.solve_frames(q, every, damping, progress)
        violated, cost = self.update(q, every), self.measure_cost(q)
        failures, half = np.zeros(frames, dtype=np.intp), max(1, round(TRUST_S * fps))
        for round_ in range(1, ROUNDS):
            if round_ == RELEASE_ROUND:
                self.release(q, MOST_RELEASE_ERROR)
            missed = self.contacts.settle(Motion(self.free.model, q, fps))
            merit, hard = violated.sum(axis=0) + missed + cost, violated[0] + missed
            wrong = (violated.any(axis=0) | (missed > 0.0) | self.moving) & (failures < MOST_FAILURES)
            moves = flag_around(frames, np.flatnonzero(wrong), self.reach, self.cuts)
            if not moves.any():
                break
            new, solved = self.solve_frames(q, moves, damping, first=False)
            moved = Motion(self.free.model, new, fps)
            new_violated, new_cost = self.update(new, solved), self.measure_cost(new)
            gain = merit - new_violated.sum(axis=0) - new_cost - self.contacts.update(moved, solved)
            around = np.convolve(gain, np.ones(2 * half + 1))[half : half + frames]
            damping[solved] = np.maximum(damping * np.where(around < 0.0, MORE, LESS), LEAST_DAMPING)[solved]
            rejected = np.zeros(frames, dtype=bool)
            for first, end in part_at_cuts(find_runs(moves), self.cuts, 1):
                run = slice(first, end)
                kept = not hard[run].any()
                if gain[run].sum() <= (LEAST_GAIN * merit[run].sum() if kept else 0.0):
                    failures[run] += KEPT_FAILURE if kept else 1
                if gain[run].sum() > 0.0:
                    q[run], violated[:, run], cost[run] = new[run], new_violated[:, run], new_cost[run]
                else:
                    rejected[run] = True
            self.contacts.restore(rejected)
        return self.make_track(q)

    def update(self, q: Floats, solved: Flags) -> Floats:
        """Linearise the members about a motion.

        Returns:
            The sums of the violations of those that must be kept, and of wishes, (2, frames) [m].
        """
        moved, out = Motion(self.free.model, q, self.free.fps), np.zeros((2, len(q)))
        for member in self.members:
            out[int(member.wish)] += member.update(moved, solved)
        return out

    def measure_cost(self, q: Floats) -> Floats:
        """Return the share of displacements in the merit, (frames,) [m]."""
        moved = np.asarray(self.free.model.difference(self.free.q, q)) / np.sqrt(measure_units(self.free.model))
        bend = np.zeros_like(moved)
        bend[1:-1] = moved[:-2] - 2.0 * moved[1:-1] + moved[2:]
        spread = count_frames(self.smooth, self.free.fps) ** 4
        cost: Floats = SOFT_COST * HOLD_WEIGHT * ((moved**2).sum(axis=1) + spread * (bend**2).sum(axis=1))
        return cost

    def list_windows(self, moves: Flags, first: bool) -> Iterator[tuple[slice, Flags]]:
        """List the frames to solve at once, and which of them are frozen; in the first round all frames."""
        if first or self.timed:
            for a, b, solved in cut_windows(len(moves), self.cuts):
                frozen = np.arange(b - a) < solved
                yield slice(a, b), frozen
            return
        for first_frame, end in part_at_cuts(find_runs(moves), self.cuts, 1):
            a = first_frame
            while True:  # the last frames of a window end at the motion before: the next one solves them again
                b = end if end - a <= MOST_FRAMES else a + MOST_FRAMES
                window = slice(max(a - FROZEN_FRAMES, 0), min(b + FROZEN_FRAMES, len(moves)))
                frozen = np.ones(window.stop - window.start, dtype=bool)
                frozen[a - window.start : b - window.start] = False
                yield window, frozen
                if b == end:
                    break
                a = b - 2 * self.reach

    def solve_frames(
        self, q: Floats, moves: Flags, damping: Floats, progress: Progress | None = None, *, first: bool = True
    ) -> tuple[Floats, Flags]:
        """Solve the flagged frames; return all frames, and flags of those that were solved."""
        out, solved = np.array(q), np.zeros(len(q), dtype=bool)
        every: list[Member] = [self.contacts, *self.members]
        members = [each for each in every if not (first and each.waits)]
        limits = (*self.limits, *(limit for member in members for limit in member.list_limits()))
        steps = FIRST_STEPS if first else STEPS
        for at, frozen in self.list_windows(moves, first):
            answer = solve_whole(
                self.free[at],
                [*(goal for each in members for goal in each.list_goals(at)), *cut_goals(self.bones, at)],
                start=out[at],
                hold=HOLD_WEIGHT,
                slide=SLIDE_COST,
                smooth=self.smooth,
                frozen=frozen,
                joints=self.joints,
                limits=limits,
                steps=None if self.timed else steps,
                rest=REST,
                steady=Steady(damping[at], FIRST_WEIGHT if first else NEXT_WEIGHT, LAST_WEIGHT, MOST_CORRECTION),
                progress=progress,
            )
            out[at], self.broken[at] = answer.q, answer.broken
            solved[at] |= ~frozen
            self.moving[at] = ~frozen & (not self.timed and answer.systems >= steps)
        return out, solved

    def release(self, q: Floats, most: float) -> None:
        """Release the contacts that are missed by more than `most` [m]."""
        self.released += self.contacts.release(Motion(self.free.model, q, self.free.fps), self.rules, most)

    def hold_exactly(self, q: Floats) -> Floats:
        """Return the motion with places that are missed by rounding held exactly: directions of bones yield to them."""
        motion, goals = Motion(self.free.model, q, self.free.fps), self.contacts.list_contact_goals()
        missed = np.flatnonzero(self.contacts.update(motion, np.ones(len(q), dtype=bool)))
        moves = flag_around(len(q), missed, self.reach, self.cuts)
        if not moves.any():
            return q
        return solve_whole(motion, goals, frozen=~moves, joints=self.joints, limits=self.limits, cuts=self.cuts).q

    def make_track(self, q: Floats) -> Track:
        """Return the result."""
        q, places = self.hold_exactly(q), self.contacts
        motion = Motion(self.free.model, q, self.free.fps)
        self.release(q, HOLD_ERROR)
        far = places.measure(motion)
        names = {contact.name: far[contact.frame, contact.point] for contact in places.ledger}
        return Track(
            motion,
            {name: np.stack([far, np.zeros(len(far))], axis=1) for name, far in names.items()},
            dict.fromkeys(names, (places.size * CONTACT_TOLERANCE[0], CONTACT_TOLERANCE[1])),
            places.ledger,
            tuple(self.released),
            self.free,
            {name: flag_contact(places.ledger, name) for name in names},
            self.rules,
            self.broken,
        )
