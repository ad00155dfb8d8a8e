"""Looks for false completeness: a dense numeric search must find no pose that a list called complete lacks.

    python benchmarks/complete.py --targets 10000 --starts 40 --arms ur5e,panda

Targets are poses' own transforms, a third of their joints at the edge of a range or at a quarter turn (decide.py). From
many random starts each is solved to 1e-9; every pose found must be a branch that is listed (six joints), or lie in an
arc of its branch (seven), unless the list says that it may lack something. Near a singularity a pose whose errors are
1e-9 may be far from where they are none: it is the branch if all the way there is as good (six joints), or if some arc
has its value of the free joint (seven).
"""

from __future__ import annotations

import argparse

import numpy as np
from decide import ARMS, near_edges

import poise
from poise.goals import Reach
from poise.reach.bounds import Freedom
from poise.reach.closed import ClosedGoal, close_goal
from poise.solvers.every import CERTAIN, EXCESS, FINEST, FREE, JOINTS, KNOWN, MOST_CELLS, NEAR, SLACKS

FINE = (1e-9, 1e-9)
ALIKE = 1e-4  # [rad, m] a pose that was found is the branch that comes so near
TURN = 2.0 * np.pi
BESIDE = np.array([0.0, *(sign * 10.0 ** (-0.5 * k) for k in range(8, 15) for sign in (-1, 1))])


def find_poses(model: poise.Model, frame: str, T: np.ndarray, rng: np.random.Generator, starts: int) -> list:
    """Return the poses that searches from random starts find, of each target."""
    goal = Reach(frame, np.eye(4), tolerance=FINE)
    rows = np.repeat(T, starts, axis=0)
    batch = poise.solve_batch(model, goal, rows, model.random(rng, len(rows)), restarts=0)
    q, reached = batch.q.reshape(len(T), starts, -1), batch.reached.reshape(len(T), starts)
    return [own[good] for own, good in zip(q, reached, strict=True)]


def measure(closed: ClosedGoal, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return how far values of the joints are from each row, whole turns aside."""
    n = len(closed.axes)
    d = rows[:, JOINTS][:, :n] - values
    slides = np.array([axis.slides for axis in closed.axes])
    return np.abs(np.where(slides, d, d - TURN * np.round(d / TURN))).max(axis=1, initial=0.0)


def is_one(
    model: poise.Model, frame: str, T: np.ndarray, q: np.ndarray, values: np.ndarray, closed: ClosedGoal
) -> bool:
    """Whether all the way from a pose to a branch is as good as the pose: it was found for a pose that it is not."""
    end = q.copy()
    for k, axis in enumerate(closed.axes):
        off = values[k] - (axis.gain * q[axis.q] + axis.bias)
        end[axis.q] += (off if axis.slides else off - TURN * np.round(off / TURN)) / axis.gain
    way = model.fk(q + np.linspace(0.0, 1.0, 9)[:, None] * (end - q), frame)
    return bool(np.abs(way - T).max() <= 20.0 * FINE[0])


def turns_fast(model: poise.Model, frame: str, q: np.ndarray, closed: ClosedGoal) -> bool:
    """Whether a pose, the free joint held, is so near to a singularity that its branch is not told by its joints."""
    J = np.delete(model.jacobian(q, frame), closed.axes[closed.free or 0].q, axis=1)
    return bool(np.linalg.svd(J, compute_uv=False)[-1] < 1e-4)


def look(model: poise.Model, frame: str, T: np.ndarray, poses: np.ndarray, closed: ClosedGoal) -> tuple[bool, int]:
    """Return whether the list of a target is complete, and how many of the poses it lacks."""
    R, p, none, unit = T[:3, :3].copy(), T[:3, 3].copy(), np.zeros(7), np.ones(7)
    n = len(closed.axes)
    found = np.stack([axis.gain * poses[:, axis.q] + axis.bias for axis in closed.axes], axis=1)
    if closed.free is None:
        rows = closed.form.near(R, p, np.zeros(1), False, none, unit)
        excess, slack = rows[:, EXCESS][:, :n], rows[:, SLACKS][:, :n]
        doubt = (rows[:, CERTAIN] == 0.0) | (slack.max(axis=1, initial=0.0) > KNOWN)
        doubt |= (np.abs(excess) <= slack + NEAR).any(axis=1) & (excess <= slack + NEAR).all(axis=1)
        listed = rows[(excess <= 0.0).all(axis=1)]
        lacks = 0
        for x, q in zip(found, poses, strict=True):
            far = measure(closed, x, listed)
            lacks += far.min(initial=9.0) > ALIKE and not (
                len(far) and is_one(model, frame, T, q, listed[far.argmin(), JOINTS], closed)
            )
        return not doubt.any(), lacks
    *arcs, last = closed.form.whole_arcs(R, p, FINEST, MOST_CELLS)
    lacking, free = 0, closed.axes[closed.free]
    for x, q in zip(found, poses, strict=True):
        u = x[closed.free]
        u -= 0.0 if free.slides else TURN * np.round((u - free.middle) / TURN)  # the turn that is scanned
        near = u + BESIDE  # a branch may end, or turn fast, within what was found
        rows = closed.form.near(R, p, near, False, none, unit)
        own = rows[measure(closed, x, rows) <= 0.1]
        inside = any(arc[1] == row[2] and arc[2] - ALIKE <= row[FREE] <= arc[3] + ALIKE for arc in arcs for row in own)
        # in line, joints turn by radians within a millionth of the free one: an arc there has them all
        if not inside and turns_fast(model, frame, q, closed):
            inside = any(arc[2] - ALIKE <= u <= arc[3] + ALIKE for arc in arcs)
        lacking += not inside
    return bool(last[2] == 1.0) and closed.family.turn_error <= 1e-6, lacking


def main() -> None:
    """Print, for each arm, how many lists are complete and how many poses those lack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--starts", type=int, default=30)
    parser.add_argument("--arms", default=",".join(ARMS))
    given = parser.parse_args()
    for name in given.arms.split(","):
        model = ARMS[name]()
        frame, rng = model.frames[-1], np.random.default_rng(0)
        moves = np.ones(model.nv, dtype=bool)
        closed = close_goal(model, Reach(frame, np.eye(4)).rows(model), Freedom(moves.tobytes(), True))
        assert isinstance(closed, ClosedGoal)
        T = model.fk(near_edges(model, rng, given.targets), frame)
        complete = lacking = searched = 0
        for target, poses in zip(T, find_poses(model, frame, T, rng, given.starts), strict=True):
            whole, missing = look(model, frame, target, poses, closed)
            complete += whole
            searched += len(poses)
            lacking += missing if whole else 0
        print(
            f"{name:8} {given.targets} targets, {complete / given.targets:.2%} complete; of {searched} poses found "
            f"by search those lack {lacking}",
            flush=True,
        )


if __name__ == "__main__":
    main()
