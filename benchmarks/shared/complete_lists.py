"""Complete lists of an arm's poses, and the search for poses that they lack.

Each target is solved to 1e-9 from many random starts, without the closed form; the pose that it was made from is added.
Every pose is refined to exact poses in fifty digits (exact.py). Those inside every range must be listed:

- six joints: it is one of the answers, in fifty digits too;
- seven: it lies on an arc of its branch, or within 1e-4 of one, as `complete` promises. Its branch is the one whose
  bounds contain it at its value of the free joint. Near a singularity several may: then the pose is followed along the
  arc until the bounds of only one branch contain it, and that branch must have an arc there.

Without an exact pose, the search has ended just outside the reachable set; this is reported as `no pose`. Poses far
from any singularity and equal to a listed one are not refined to fifty digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from shared.closed_arms import ARMS, find_closed, near_edges
from shared.exact import SAME, ExactChain, differ, read_target

import poise
from poise.goals import Orient, Reach
from poise.reach.closed_forms import ClosedGoal

FINE = (1e-9, 1e-9)
PROMISED = 1e-4  # [rad, m] largest distance of a pose of seven joints from a listed arc
CLEAR = 1e-3  # smallest singular value of a pose that counts as regular
TURN = 2.0 * np.pi
OFFSETS = np.array([0.0, *(sign * 10.0**-k for k in range(5, 0, -1) for sign in (-1, 1))])
ALONG = tuple(sign * 10.0**-k for k in range(6, 1, -1) for sign in (-1, 1))


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm, the target frame, its closed form, and its chain in fifty digits."""

    model: poise.Model
    frame: str
    closed: ClosedGoal
    exact: ExactChain

    def read(self, q: np.ndarray) -> np.ndarray:
        """Return the values of the chain's joints in a pose."""
        return np.array([axis.gain * q[axis.q] + axis.bias for axis in self.closed.axes])

    def is_clear(self, q: np.ndarray) -> bool:
        """Return whether a pose with a fixed free joint is far from every singularity."""
        J = self.model.jacobian(q, self.frame)
        if self.closed.free is not None:
            J = np.delete(J, self.closed.axes[self.closed.free].q, axis=1)
        return bool(np.linalg.svd(J, compute_uv=False)[-1] > CLEAR)

    def measure(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the distances of joint values from each row, joint by joint, up to whole turns."""
        d = rows - values
        slides = np.array([axis.slides for axis in self.closed.axes])
        return np.abs(np.where(slides, d, d - TURN * np.round(d / TURN)))


@cache
def get_arm(name: str) -> Arm:
    """Return an arm by its name."""
    model = ARMS[name]()
    frame = model.frames[-1]
    closed = find_closed(model, frame)
    assert closed.family.chain is not None
    return Arm(model, frame, closed, ExactChain(closed.family.chain))


def find_poses(arm: Arm, T: np.ndarray, own: np.ndarray, rng: np.random.Generator, starts: int) -> list:
    """Return the poses of each target found from random starts, and the pose that it was made from.

    A position goal and a rotation goal have no closed form together, so only searches find these poses.
    """
    model, frame = arm.model, arm.frame
    goals = [Reach(frame, (0, 0, 0), tolerance=FINE[0]), Orient(frame, np.eye(3), tolerance=FINE[1], name="turn")]
    rows = np.repeat(T, starts, axis=0)
    begin = np.where(rng.random((len(rows), 1)) < 0.5, model.random(rng, len(rows)), near_edges(model, rng, len(rows)))
    targets = {frame: rows[:, :3, 3].copy(), "turn": rows[:, :3, :3].copy()}
    batch = poise.solve_batch(model, goals, targets, begin, restarts=0, threads=1)
    q, reached = batch.q.reshape(len(T), starts, -1), batch.reached.reshape(len(T), starts)
    return [np.vstack([first, found[good]]) for first, found, good in zip(own, q, reached, strict=True)]


class Listed:
    """The poses that `solve_all` lists for a target."""

    def __init__(self, arm: Arm, T: np.ndarray) -> None:
        self.arm, self.T = arm, T
        self.answers = poise.solve_all(arm.model, Reach(arm.frame, T), samples=1)
        self.complete = self.answers.complete
        self.target = read_target(T)
        self.judged: list[tuple[np.ndarray, str]] = []
        if arm.closed.free is None:
            self.values = np.array([arm.read(one.q) for one in self.answers]).reshape(-1, len(arm.closed.axes))

    # ------------------------------------------------------------------------------------------- six joints

    @cached_property
    def exact_answers(self) -> list:
        """The answers in fifty digits."""
        polished = [self.arm.exact.polish(values, self.target) for values in self.values]
        return [one for one in polished if one is not None]

    # ------------------------------------------------------------------------------------------- seven joints

    def scan(self, values: np.ndarray) -> float:
        """Return the free joint's value in the turn that is scanned."""
        assert self.arm.closed.free is not None
        axis, u = self.arm.closed.axes[self.arm.closed.free], float(values[self.arm.closed.free])
        return u if axis.slides else u - TURN * np.round((u - axis.middle) / TURN)

    def find_branches(self, values: np.ndarray, room: float) -> set[int]:
        """Return the branches whose bounds contain an exact pose."""
        form, n = self.arm.closed.form, len(self.arm.closed.axes)
        R, p, at = self.T[:3, :3].copy(), self.T[:3, 3].copy(), np.array([self.scan(values)])
        rows = form.near(R, p, at, False)
        off = self.arm.measure(values, rows["joints"][:, :n])
        return set(rows["branch"][(off <= rows["slacks"][:, :n] + room).all(axis=1)].tolist())

    def is_on_arc(self, branches: set[int], u: float, room: float) -> bool:
        """Return whether a value of the free joint is on an arc of one of the branches."""
        assert self.arm.closed.free is not None
        axis = self.arm.closed.axes[self.arm.closed.free]
        arcs = [arc for arc in self.answers.arcs if arc.branch in branches]
        own = [sorted(axis.gain * end + axis.bias for end in (arc.low, arc.high)) for arc in arcs]
        return any(low - room <= u <= high + room for low, high in own)

    def follow(self, pose: list) -> Iterator[list]:
        """Yield an exact pose, and exact poses inside the ranges near it along its arc."""
        exact, free = self.arm.exact, self.arm.closed.free
        assert free is not None
        yield pose
        for step in ALONG:
            start = list(pose)
            start[free] += step
            found = exact.polish(start, self.target, (free,))
            near = found is not None and differ(found, start, exact.slides) < 0.1
            if near and max(exact.measure_excesses(found)) <= 0:
                yield found

    def has_on_arc(self, pose: list) -> bool:
        """Return whether an exact pose of seven joints is on a listed arc."""
        for one in self.follow(pose):
            values = np.array([float(v) for v in one])
            branches = self.find_branches(values, 1e-12)
            if len(branches) == 1:
                return self.is_on_arc(branches, self.scan(values), PROMISED)
        values = np.array([float(v) for v in pose])
        return self.is_on_arc(self.find_branches(values, 1e-12), self.scan(values), PROMISED)

    # ------------------------------------------------------------------------------------------- both

    def has_clearly(self, q: np.ndarray) -> bool:
        """Return whether a pose is certainly listed: far from singularities, and equal to a listed pose."""
        arm, values = self.arm, self.arm.read(q)
        if not arm.is_clear(q):
            return False
        if arm.closed.free is None:
            return bool((arm.measure(values, self.values) <= 1e-6).all(axis=1).any())
        branches = self.find_branches(values, 1e-6)
        return len(branches) == 1 and self.is_on_arc(branches, self.scan(values), 0.0)

    def settle(self, q: np.ndarray) -> list[np.ndarray]:
        """Return the results of Newton's method in doubles, from a pose and from two near it: possible exact poses.

        Near a singularity there may be several, so it also starts on both sides, along the weakest direction.
        """
        arm, columns = self.arm, [axis.q for axis in self.arm.closed.axes]
        flat = np.linalg.svd(arm.model.jacobian(q, arm.frame)[:, columns])[2][5]
        offsets = OFFSETS[:1] if arm.is_clear(q) else OFFSETS
        x = np.tile(q, (len(offsets), 1))
        x[:, columns] += np.outer(offsets, flat)
        for _ in range(30):
            T, J = arm.model.fk(x, arm.frame), arm.model.jacobian(x, arm.frame)[:, :, columns]
            E = self.T[:3, :3] @ T[:, :3, :3].transpose(0, 2, 1)
            turn = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
            left = np.concatenate([self.T[:3, 3] - T[:, :3, 3], turn], axis=1)
            step = (np.linalg.pinv(J, rcond=1e-12) @ left[:, :, None])[:, :, 0]
            x[:, columns] += step * np.minimum(1.0, 0.1 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        good = np.abs(left).max(axis=1) < 1e-11
        out: list[np.ndarray] = []
        for values in (arm.read(one) for one in (x[good] if good.any() else q[None])):
            if not out or arm.measure(values, np.array(out)).max(axis=1).min() > 1e-9:
                out.append(values)
        return out

    def judge(self, q: np.ndarray) -> str:
        """Return the verdict on a pose: "listed", "exact" (in fifty digits), "no pose", or "lacking"."""
        if self.has_clearly(q):
            return "listed"
        verdicts = {self.judge_exactly(values) for values in self.settle(q)}
        return next(word for word in ("lacking", "exact", "no pose") if word in verdicts)

    def judge_exactly(self, values: np.ndarray) -> str:
        """Return the verdict on the exact poses to which Newton's method converges."""
        for at, verdict in self.judged:
            if self.arm.measure(values, at[None]).max() < 1e-9:
                return verdict
        exact = self.arm.exact.bring_inside(values, self.target)
        known = all(self.has(one) for one in exact)
        self.judged.append((values, "no pose" if not exact else "exact" if known else "lacking"))
        return self.judged[-1][1]

    def has(self, pose: list) -> bool:
        """Return whether an exact pose is listed."""
        if self.arm.closed.free is not None:
            return self.has_on_arc(pose)
        return any(differ(pose, one, self.arm.exact.slides) < SAME for one in self.exact_answers)
