"""CCD, turn by turn: each one is the best that its joint can make at the moment it is made, by brute force.

A sweep leaves one step for all joints. It is replayed here joint after joint in the order of the sweep, and what each
joint took is held against every other turn that it had room for.
"""

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, random_model
from poise import Solver
from poise.goals import Orient, Reach
from poise.methods import CCD

ORDERS = ("outside_in", "inside_out")
EXACT = tuple(kind for kind in ALL_KINDS if kind != "screw")  # a screw's best turn has no closed form
GROUPS = {"ball": [(0, 3)], "free": [(0, 3), (3, 6)], "translation3": [(0, 3)]}
ROUNDING = 1e-10


def cost(model, goals, q):
    """What CCD brings down: squared distances in units of L, and |A - B|^2 / 2 of rotations."""
    total = 0.0
    for goal in goals:
        here = model.fk(q, goal.frame)
        base = np.eye(4) if goal.relative_to is None else model.fk(q, goal.relative_to)
        if isinstance(goal, Orient) or goal.with_rotation:
            R = (goal.rotation if isinstance(goal, Orient) else goal.target.rotation).matrix
            total = total + 0.5 * ((here[..., :3, :3] - base[..., :3, :3] @ R) ** 2).sum(axis=(-1, -2))
        if isinstance(goal, Reach):
            t = goal.target.translation if goal.with_rotation else goal.target
            place = (base[..., :3, :3] @ t[:, None])[..., 0] + base[..., :3, 3]
            total = total + ((here[..., :3, 3] - place) ** 2).sum(axis=-1) / model.length**2
    return total


def sweep(model, goals, q, **settings):
    """The step of one sweep from q, (nv,)."""
    native = Solver(model, goals, method=CCD(**settings)).problem
    moves = native.rows_jacobian(q)[2]
    native.restart(q, None)
    native.advance()
    native.advance()
    dq = np.zeros(model.nv)
    dq[moves] = native.state()["dq"]
    return dq, set(moves)


def turns_of(model, order):
    """The velocities that move together, in the order of a sweep, with what kind of motion they are."""
    found = []
    for joint in model.joints:
        if joint.nv:
            parts = GROUPS.get(joint.kind) or [(k, k + 1) for k in range(joint.nv)]
            found += [(joint, slice(joint.v.start + a, joint.v.start + b)) for a, b in parts]
    return found if order == "inside_out" else found[::-1]


def tried(model, q, joint, at, taken, turn_limit, rng):
    """Steps that the joint had room for, (n, width)."""
    width = at.stop - at.start
    slides = joint.kind in ("prismatic", "translation3") or (at.start - joint.v.start, joint.kind) in (
        (0, "free"),
        (0, "planar"),
        (1, "planar"),
    )
    if (
        width == 3 and not slides
    ):  # a ball: turns of any size about any axis, and small changes of the one that was taken
        axes = rng.normal(size=(400, 3))
        axes *= rng.uniform(0.0, min(turn_limit, np.pi), (400, 1)) / np.linalg.norm(axes, axis=1, keepdims=True)
        near = taken + rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-4, -1, (200, 1))
        return np.concatenate([axes, near[np.linalg.norm(near, axis=1) <= turn_limit]])
    if width == 3:
        return taken + rng.normal(size=(400, 3)) * model.length * 10.0 ** rng.uniform(-4, 0, (400, 1))
    low, high = -np.inf, np.inf
    if joint.nq == joint.nv:
        value = q[joint.q.start + at.start - joint.v.start]
        low, high = model.lower[at.start] - value, model.upper[at.start] - value
    most = 4.0 * model.length if slides else min(turn_limit, 2 * np.pi)
    near = taken + np.linspace(-1e-2, 1e-2, 41)
    steps = np.concatenate([np.linspace(max(low, -most), min(high, most), 721), near[(near >= low) & (near <= high)]])
    return steps[np.abs(steps) <= (np.inf if slides else turn_limit)][:, None]


def judge(model, goals, q, order, turn_limit, rng, *, several):
    """Replays a sweep; the largest gain that a single turn missed, of the cost before it."""
    dq, moves = sweep(model, goals, q, order=order, turn_limit=turn_limit)
    worst = 0.0
    for joint, at in turns_of(model, order):
        if not moves & set(range(at.start, at.stop)):
            continue
        taken = dq[at]
        others = tried(model, q, joint, at, taken, turn_limit, rng)
        steps = np.zeros((len(others) + 1, model.nv))
        steps[0, at] = taken
        steps[1:, at] = others
        costs = cost(model, goals, model.integrate(np.broadcast_to(q, (len(steps), model.nq)), steps))
        before = float(cost(model, goals, q))
        bound = 0.1 if several and at.stop - at.start == 3 else ROUNDING  # between several pulls a ball comes near it
        missed = (costs[0] - costs[1:].min()) / max(before, 1e-6)
        assert costs[0] <= before * (1 + ROUNDING) + 1e-15, (joint.name, joint.kind)
        assert missed <= bound, (joint.name, joint.kind, missed)
        worst = max(worst, missed)
        q = model.integrate(q, steps[0])
    return worst


@pytest.mark.parametrize("turn_limit", [10.0, 0.5])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(12))
def test_each_turn_is_the_best_of_its_joint(seed, order, turn_limit):
    model = random_model(seed, 12, EXACT, mimic=False)
    rng = np.random.default_rng(seed)
    q, other = model.random(rng), model.random(rng)
    tips = model.frames[-3:]
    alone = [Reach(tips[0], model.fk(other, tips[0])[:3, 3])]
    assert judge(model, alone, q, order, turn_limit, rng, several=False) <= ROUNDING
    goals = [
        Reach(tips[0], model.fk(other, tips[0])),
        Reach(tips[1], model.fk(other, tips[1])[:3, 3]),
        Orient(tips[2], model.fk(other, tips[2])[:3, :3]),
    ]
    judge(model, goals, q, order, turn_limit, rng, several=True)


@pytest.mark.slow
def test_turns_from_inside_out_are_about_where_the_joints_then_are():
    """Three equal hinges: the turns one after the other, each found by trying a million."""
    model = poise.load("planar3")
    dq, _ = sweep(
        model, [Reach("tip", (-1.2, 1.1, 0.0))], np.array([0.3, 0.4, 0.5]), order="inside_out", turn_limit=10.0
    )
    q, best = np.array([0.3, 0.4, 0.5]), []
    for k in range(3):
        x = np.linspace(-np.pi, np.pi, 200_001)
        poses = np.repeat(q[None], len(x), axis=0)
        poses[:, k] += x
        best.append(x[np.argmin(np.linalg.norm(model.fk(poses, "tip")[:, :2, 3] - (-1.2, 1.1), axis=1))])
        q[k] += best[-1]
    assert dq == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(6))
def test_screws_and_joints_that_turn_together_never_make_it_worse(seed, order):
    model = random_model(seed, 10)
    rng = np.random.default_rng(seed)
    q = model.random(rng)
    goals = [Reach(name, model.fk(model.random(rng), name)) for name in rng.permutation(model.frames)[:2].tolist()]
    dq, _ = sweep(model, goals, q, order=order, turn_limit=0.5)
    assert cost(model, goals, model.integrate(q, dq)) <= cost(model, goals, q) * (1 + ROUNDING)
