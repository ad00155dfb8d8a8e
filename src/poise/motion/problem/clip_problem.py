"""A clip as one problem over all frames, solved by sequential quadratic steps.

    minimise    sum_t |w r(q_t)|^2 + hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2,   d_t = q_t - free_t
    subject to  the joint ranges and limits, and the members: contacts, floor, parts apart, touch (`members`)

r are the directions of bones and parts in the free motion, which has no members. Each round linearises the members
about the motion found so far, takes Gauss-Newton steps on the frames around those that violate one
(`solve_whole`), and measures again. Limbs move alone while that suffices, then the whole body. A run of frames is
accepted if its merit falls,

    merit_t = violations_t + SOFT_COST (hold |d_t|^2 + hold (tau fps)^4 |d_{t-1} - 2 d_t + d_{t+1}|^2),

and every frame has a trust region: the cost of a step there grows where the merit around it rose, and falls elsewhere.
Frames around which the merit falls too little are left as they are. At the end, places that are missed by rounding are
held exactly. Source: Nocedal and Wright, Numerical Optimization, 2006, chapter 18.
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
from poise.motion.contact.soles import measure_size
from poise.motion.problem.members import CapsulesApart, ContactPlaces, Member
from poise.motion.problem.near_parts import Flags, bound_shot, cut_goals, flag_around

__all__ = ["ClipProblem"]

ROUNDS, RELEASE_ROUND = 20, 4  # at most, and after which contacts that are out of reach are released
FIRST_STEPS, STEPS = 10, 8  # at most: Gauss-Newton steps of the first round, and of the others
REST = 1e-4  # rad, or lengths of the body: a shorter step ends a round
STILL = 5e-3  # rad, or lengths of the body: a frame whose last step was longer is solved again
FIRST_WEIGHT, NEXT_WEIGHT, LAST_WEIGHT = 1e2, 1e5, 2e6  # of contacts: in the first step, of later rounds, and the last
TIMED_WEIGHT = 1e10  # the last one with rate limits: far above the directions of bones, which would exceed the rates
MOST_CORRECTION = 0.2  # rad: of a frame to its contacts at the end; those that contradict each other may lead anywhere
HOLD_WEIGHT = 1.0  # of a displacement, relative to the direction of a bone or part, squared
SLIDE_COST = 5.0  # of a translation relative to a rotation: the hips move all other parts
SOFT_COST = 1e-3  # of the cost of displacements in the merit [m]

LEAST_DAMPING, MORE, LESS = 1.0, 10.0, 0.1  # of a step: at first, and its factors where the merit rose and fell
TRUST_S = 0.05  # half the time over which the merit of a frame is measured
SPREAD_S = 0.25  # time before and after a violation in which frames may move
FROZEN_FRAMES = 3  # beyond it, for a smooth end
MOST_FAILURES = 6  # rounds that do not improve a frame before it is left as it is
LEAST_GAIN, KEPT_FAILURE = 0.05, 3  # of the merit around a frame, and how much less counts where members are kept
MOST_FRAMES = 600  # solved at once around violations
EXACT_ROUNDS = 3  # in which places that are missed by rounding move, and are held


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
        limbs: Those of them that move first where only members that limbs can keep are violated.
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
        limbs: Sequence[str] = (),
    ) -> None:
        self.free, self.contacts, self.bones, self.joints, self.limbs = free, contacts, bones, joints, tuple(limbs)
        own = [limit for limit in limits if isinstance(limit, Clearance) and is_of_itself(limit)]
        self.members: list[Member] = [*members, *([CapsulesApart(own)] if own else [])]
        self.rules, self.limits = tuple(limits), tuple(limit for limit in limits if limit not in own)
        self.size, self.lengths = measure_size(free), np.sqrt(measure_units(free.model))
        self.smooth, self.timed = smooth, bool(part_limits(limits)[1])
        self.cuts = [] if self.timed else list(find_cuts(free))  # rates hold across cuts
        self.reach = round(SPREAD_S * free.fps)
        self.broken = np.zeros(len(free), dtype=bool)
        self.breaks = np.zeros(len(free), dtype=bool)  # the same of the last steps, accepted or not
        self.moving = np.zeros(len(free), dtype=bool)  # frames that the last steps still moved
        self.whole = np.full(len(free), not limbs)  # frames in which limbs alone do not suffice
        self.shifted = True  # whether more than limbs moved in the last round
        self.bodily = np.zeros(len(free))  # violations that limbs alone cannot end
        self.released: list[Released] = []

    def solve(self, progress: Progress | None = None) -> Track:
        """Return the motion, in which each run of frames is the best of all rounds."""
        frames, fps = len(self.free), self.free.fps
        q, every = np.array(self.free.q), np.ones(frames, dtype=bool)
        self.contacts.settle(self.free)
        early, late = ([member for member in self.members if member.waits is waits] for waits in (False, True))
        asked = self.update(q, every, early).any() or self.limits or self.contacts.list_contact_goals()
        if not (asked or self.update(q, every, late).any()):
            return self.make_track(q)  # nothing moves the body
        self.accept(every, early)
        damping = np.full(frames, LEAST_DAMPING)
        q, _ = self.solve_frames(q, every, damping, progress)
        self.broken = self.breaks.copy()
        violated, cost = self.update(q, every, self.members), self.measure_cost(q)
        self.accept(every, self.members)
        failures, half = np.zeros(frames, dtype=np.intp), max(1, round(TRUST_S * fps))
        for round_ in range(1, ROUNDS):
            if round_ == RELEASE_ROUND:
                self.release(q, MOST_RELEASE_ERROR)
            settled = Motion(self.free.model, q, fps)
            missed = (
                self.contacts.settle(settled) if self.shifted else self.contacts.update(settled, every)
            ) / self.size
            merit = violated.sum(axis=0) + missed + cost
            wrong = (violated.any(axis=0) | (missed > 0.0) | self.moving) & (failures < MOST_FAILURES)
            moves = flag_around(frames, np.flatnonzero(wrong), self.reach, self.cuts)
            if not moves.any():
                break
            moves |= self.timed  # rates hold between frames of all runs
            new, solved = self.solve_frames(q, moves, damping, first=False)
            moved = Motion(self.free.model, new, fps)
            new_violated, new_cost = self.update(new, solved, self.members), self.measure_cost(new)
            new_missed = self.contacts.update(moved, solved) / self.size
            gain = np.where(solved, merit - new_violated.sum(axis=0) - new_cost - new_missed, 0.0)
            gained, merits = (np.convolve(each, np.ones(2 * half + 1))[half : half + frames] for each in (gain, merit))
            damping[solved] = np.maximum(damping * np.where(gained < 0.0, MORE, LESS), LEAST_DAMPING)[solved]
            rejected, slow = np.zeros(frames, dtype=bool), solved & (gained <= LEAST_GAIN * merits)
            for first, end in part_at_cuts(find_runs(moves), self.cuts, 1):
                run = slice(first, end)
                if gain[run].sum() > 0.0:
                    q[run], violated[:, run], cost[run] = new[run], new_violated[:, run], new_cost[run]
                    self.broken[run] = self.breaks[run]
                else:
                    rejected[run] = True
            failures[slow] += np.where((violated[0] + missed)[slow] > 0.0, 1, KEPT_FAILURE)
            self.whole |= self.bodily + missed + new_missed > 0.0
            self.whole |= slow & (violated[0] > 0.0)
            self.moving &= ~rejected
            self.contacts.restore(rejected)
            self.accept(solved & ~rejected, self.members)
        return self.make_track(q)

    def update(self, q: Floats, solved: Flags, members: Sequence[Member]) -> Floats:
        """Linearise members about a motion.

        Returns:
            The sums of the violations of those that must be kept, and of wishes, (2, frames) [m of a body of 1.75 m].
        """
        moved, out = Motion(self.free.model, q, self.free.fps), np.zeros((2, len(q)))
        self.bodily = np.zeros(len(q))
        for member in members:
            found = member.update(moved, solved) / self.size
            out[int(member.wish)] += found
            self.bodily += 0.0 if member.of_limbs else found
        return out

    def accept(self, frames: Flags, members: Sequence[Member]) -> None:
        """Use the last linearisation of members in some frames."""
        for member in members:
            member.accept(frames)

    def measure_cost(self, q: Floats) -> Floats:
        """Return the share of displacements in the merit, (frames,) [m]."""
        moved = np.asarray(self.free.model.difference(self.free.q, q)) / self.lengths
        bend = np.zeros_like(moved)
        bend[1:-1] = moved[:-2] - 2.0 * moved[1:-1] + moved[2:]
        bend[[frame for cut in self.cuts for frame in (cut - 1, cut)]] = 0.0
        spread = count_frames(self.smooth, self.free.fps) ** 4
        cost: Floats = SOFT_COST * HOLD_WEIGHT * ((moved**2).sum(axis=1) + spread * (bend**2).sum(axis=1))
        return cost

    def list_windows(self, moves: Flags, first: bool) -> Iterator[tuple[slice, Flags, bool]]:
        """List the frames to solve at once, which of them are frozen, and whether limbs alone move.

        In the first round these are all frames.
        """
        if first or self.timed:
            for a, b, solved in cut_windows(len(moves), self.cuts):
                frozen = np.arange(b - a) < solved
                yield slice(a, b), frozen, False
            return
        wide = flag_around(len(moves), np.flatnonzero(self.whole & moves), self.reach, self.cuts) & moves
        for alone, some in (False, wide), (True, moves & ~wide):
            for first_frame, end in part_at_cuts(find_runs(some), self.cuts, 1):
                for a, b in cut_run(first_frame, end, max(MOST_FRAMES, 4 * self.reach), 2 * self.reach):
                    shot = bound_shot(a, range(len(moves)), self.cuts)
                    window = slice(max(a - FROZEN_FRAMES, shot.start), min(b + FROZEN_FRAMES, shot.stop))
                    frozen = np.ones(window.stop - window.start, dtype=bool)
                    frozen[a - window.start : b - window.start] = False
                    yield window, frozen, alone

    def solve_frames(
        self, q: Floats, moves: Flags, damping: Floats, progress: Progress | None = None, *, first: bool = True
    ) -> tuple[Floats, Flags]:
        """Solve the flagged frames; return all frames, and flags of those that were solved."""
        out, solved, self.shifted = np.array(q), np.zeros(len(q), dtype=bool), False
        every: list[Member] = [self.contacts, *self.members]
        members = [each for each in every if not (first and each.waits)]
        steps, last = FIRST_STEPS if first else STEPS, TIMED_WEIGHT if self.timed else LAST_WEIGHT
        for at, frozen, alone in self.list_windows(moves, first):
            joints = self.limbs if alone else self.joints
            limits = self.list_limits(members, joints)
            answer = solve_whole(
                self.free[at],
                [*(goal for each in members for goal in each.list_goals(at)), *cut_goals(self.bones, at)],
                start=out[at],
                hold=HOLD_WEIGHT,
                slide=SLIDE_COST,
                smooth=self.smooth,
                frozen=frozen,
                joints=joints,
                limits=limits,
                steps=None if self.timed else steps,
                rest=REST,
                steady=Steady(damping[at], FIRST_WEIGHT if first else NEXT_WEIGHT, last, MOST_CORRECTION),
                progress=progress,
            )
            self.shifted |= not alone
            out[at] = answer.q
            solved[at] |= ~frozen
            self.breaks[at][~frozen] = answer.broken[~frozen]
            self.moving[at][~frozen] = (answer.lengths[~frozen] > STILL) & (not self.timed)
        return out, solved

    def list_limits(self, members: Sequence[Member], joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """List the limits of a solve in which some joints move, those of members too."""
        return (*self.limits, *(limit for member in members for limit in member.list_limits(joints)))

    def release(self, q: Floats, most: float) -> None:
        """Release the contacts that are missed by more than `most` [m]; their frames are solved again."""
        gone = self.contacts.release(Motion(self.free.model, q, self.free.fps), self.rules, most)
        self.released += gone
        for each in gone:
            at = slice(each.contact.start, each.contact.end)
            self.moving[at] = self.whole[at] = self.shifted = True

    def hold_exactly(self, q: Floats) -> Floats:
        """Return the motion with places that are missed by rounding held exactly: directions of bones yield to them."""
        for _ in range(EXACT_ROUNDS):
            motion = Motion(self.free.model, q, self.free.fps)
            self.contacts.settle(motion)
            missed = np.flatnonzero(self.contacts.flag_missed(motion))
            moves = flag_around(len(q), missed, self.reach, self.cuts)
            if not moves.any():
                break
            goals, limits = self.contacts.list_contact_goals(), self.list_limits(self.members, self.joints)
            found = solve_whole(motion, goals, frozen=~moves, joints=self.joints, limits=limits, cuts=self.cuts)
            q, self.broken[moves] = found.q, found.broken[moves]
        return q

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


def cut_run(first: int, end: int, most: int, shared: int) -> Iterator[tuple[int, int]]:
    """List windows of at most so many frames; the last frames of each are solved again by the next one."""
    while end - first > most:
        yield first, first + most
        first += most - shared
    yield first, end
