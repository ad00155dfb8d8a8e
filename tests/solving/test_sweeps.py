"""CCD turn by turn, and FABRIK on the constraints of a model."""

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, random_model
from poise import ModelBuilder, Solver
from poise.errors import InvalidValue
from poise.goals import Orient, Reach
from poise.limits import Closed, Cone
from poise.methods import CCD
from poise.model import BallRange
from poise.spatial import Rotation

ORDERS = ("outside_in", "inside_out")
EXACT = tuple(kind for kind in ALL_KINDS if kind != "screw")  # a screw's best turn has no closed form
GROUPS = {"ball": [(0, 3)], "free": [(0, 3), (3, 6)], "translation3": [(0, 3)]}
ROUNDING = 1e-10


def measure_cost(model, goals, q):
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


def list_turns(model, order):
    """The velocities that move together, in the order of a sweep, with what kind of motion they are."""
    found = []
    for joint in model.joints:
        if joint.nv:
            parts = GROUPS.get(joint.kind) or [(k, k + 1) for k in range(joint.nv)]
            found += [(joint, slice(joint.v.start + a, joint.v.start + b)) for a, b in parts]
    return found if order == "inside_out" else found[::-1]


def draw_steps(model, q, joint, at, taken, turn_limit, rng):
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
    for joint, at in list_turns(model, order):
        if not moves & set(range(at.start, at.stop)):
            continue
        taken = dq[at]
        others = draw_steps(model, q, joint, at, taken, turn_limit, rng)
        steps = np.zeros((len(others) + 1, model.nv))
        steps[0, at] = taken
        steps[1:, at] = others
        costs = measure_cost(model, goals, model.integrate(np.broadcast_to(q, (len(steps), model.nq)), steps))
        before = float(measure_cost(model, goals, q))
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
    assert measure_cost(model, goals, model.integrate(q, dq)) <= measure_cost(model, goals, q) * (1 + ROUNDING)


# --------------------------- FABRIK on the constraints of a model: poses, a root that is free, and cones of ball joints


NEAR = (1e-3, 1e-2)  # metres, radians
ENDS = ("hand_l", "hand_r", "foot_l", "foot_r")
CONE = BallRange(swing=0.9, twist=(-0.6, 0.6), axis=(1.0, 0.0, 0.0))


def add_limb(builder, parent, name, end, offset, bone):
    """Three balls, two bones downwards and a short one forwards."""
    builder.add_joint(f"{name}_0", parent, "ball", offset=offset)
    builder.add_joint(f"{name}_1", f"{name}_0", "ball", offset=(0.0, 0.0, -bone))
    builder.add_joint(f"{name}_2", f"{name}_1", "ball", offset=(0.02, 0.0, -bone))
    builder.add_frame(end, f"{name}_2", offset=(0.1, 0.0, -0.05))


def build_person():
    """A trunk, two arms and two legs of balls; the pelvis is free."""
    builder = ModelBuilder(name="person").add_joint("pelvis", None, "free", offset=(0.0, 0.0, 1.0))
    builder.add_joint("spine", "pelvis", "ball", offset=(0.0, 0.0, 0.1))
    builder.add_joint("chest", "spine", "ball", offset=(0.0, 0.0, 0.2))
    for side, y in (("l", 0.2), ("r", -0.2)):
        add_limb(builder, "chest", f"arm_{side}", f"hand_{side}", (0.0, y, 0.2), 0.3)
        add_limb(builder, "pelvis", f"leg_{side}", f"foot_{side}", (0.0, y / 2, 0.0), 0.4)
    return builder.build()


def draw_tree(rng):
    """A random tree of balls with two ends or three, its root free or not."""
    builder = ModelBuilder(name="tree").add_joint("j0", None, str(rng.choice(["free", "ball"])))
    count = int(rng.integers(2, 4))
    trunk = int(rng.integers(0, 2))
    for k in range(trunk):
        builder.add_joint(f"j{k + 1}", f"j{k}", "ball", offset=rng.uniform(0.1, 0.3, 3))
    for end in range(count):
        parent = f"j{trunk}"
        for k in range(3):
            builder.add_joint(f"e{end}_{k}", parent, "ball", offset=rng.uniform(-0.3, 0.3, 3))
            parent = f"e{end}_{k}"
        builder.add_frame(f"end_{end}", parent, offset=rng.uniform(0.05, 0.15, 3))
    return builder.build(), [f"end_{end}" for end in range(count)]


def build_coned_chain():
    """Five bones along x, every ball in the same cone."""
    builder, parent = ModelBuilder(name="coned"), None
    for k in range(5):
        builder.add_joint(f"j{k}", parent, "ball", offset=(0.2 * (k > 0), 0.0, 0.0), cone=CONE)
        parent = f"j{k}"
    return builder.add_frame("tip", parent, offset=(0.2, 0.0, 0.0)).build()


def find_swing_and_twist(q, axis=(1.0, 0.0, 0.0)):
    """Angles of a quaternion's swing of the axis and twist about it, from its matrix alone."""
    q = q if q[0] >= 0 else -q
    moved = Rotation(q).matrix @ axis
    return np.arccos(np.clip(moved @ axis, -1.0, 1.0)), 2.0 * np.arctan2(q[1:] @ axis, q[0])


def make_goals(model, q, frames, pose=True):
    return [Reach(f, model.fk(q, f) if pose else model.fk(q, f)[:3, 3], tolerance=NEAR) for f in frames]


# ------------------------------------------------------------------------------------------------ poses and the root


@pytest.mark.parametrize("pose", [False, True], ids=["points", "poses"])
@pytest.mark.parametrize("frames", [ENDS[:1], ENDS[:2], ENDS[:3], ENDS], ids=len)
def test_a_person_of_balls_takes_every_pose_it_can_take(frames, pose):
    model, rng = build_person(), np.random.default_rng(0)
    for _ in range(20):
        q = model.integrate(model.rest, 0.5 * rng.normal(size=model.nv))
        solution = Solver(model, make_goals(model, q, frames, pose), method="fabrik", max_steps=500).solve()
        assert solution.reached
        for f in frames:
            off = np.linalg.inv(model.fk(q, f)) @ model.fk(solution.q, f)
            assert np.linalg.norm(off[:3, 3]) <= NEAR[0]
            assert not pose or np.linalg.norm(Rotation.from_matrix(off[:3, :3]).log()) <= NEAR[1]


@pytest.mark.slow
def test_random_trees_take_the_poses_that_lm_takes():
    rng = np.random.default_rng(3)
    lm = fabrik = 0
    for _ in range(40):
        model, frames = draw_tree(rng)
        goals = make_goals(model, model.integrate(model.rest, 0.6 * rng.normal(size=model.nv)), frames)
        lm += Solver(model, goals, method="lm", max_steps=500).solve().reached
        fabrik += Solver(model, goals, method="fabrik", max_steps=500).solve().reached
    assert lm >= 38
    assert fabrik >= 0.95 * lm


def test_feet_stay_and_the_free_root_goes():
    """Both hands go far to one side: without the pelvis they cannot."""
    model = build_person()
    away = np.array([0.5, 0.0, -0.4])
    goals = [Reach(f, model.fk(model.rest, f), tolerance=NEAR) for f in ENDS[2:]]
    goals += [Reach(f, model.fk(model.rest, f)[:3, 3] + away, tolerance=1e-3) for f in ENDS[:2]]
    solution = Solver(model, goals, method="fabrik", max_steps=500).solve()
    assert solution.reached
    assert np.linalg.norm(solution.q[:3] - model.rest[:3]) > 0.02
    held = Solver(model, goals, method="fabrik", joints=[j.name for j in model.joints if j.name != "pelvis"])
    q = held.solve().q
    assert (q[:7] == model.rest[:7]).all()


def test_a_stiff_root_goes_less():
    model = build_person()
    goal = Reach("hand_l", model.fk(model.rest, "hand_l")[:3, 3] + (0.3, 0.2, 0.3))
    free, stiff = (
        np.linalg.norm(Solver(model, goal, method="fabrik", stiffness=s).solve().q[:3] - model.rest[:3])
        for s in (None, {"pelvis": 50.0})
    )
    assert 0.0 < stiff < 0.5 * free


def test_a_target_far_from_a_free_body_is_reached():
    model = build_person()
    solution = Solver(model, Reach("hand_l", (7.0, -3.0, 5.0)), method="fabrik", max_steps=500).solve()
    assert solution.reached


@pytest.mark.slow
def test_the_built_in_person_reaches_with_its_feet_pinned():
    """Its knees and elbows are hinges that rest at the ends of their ranges: CCD helps, and it takes long."""
    model, rng = poise.load("humanoid"), np.random.default_rng(1)
    reached = 0
    for _ in range(10):
        moves = {f: 0.1 * rng.normal(size=3) * (f[:4] == "hand") for f in ENDS}
        goals = [Reach(f, model.fk(model.rest, f)[:3, 3] + moves[f], tolerance=1e-3) for f in ENDS]
        solution = Solver(model, goals, method="fabrik", max_steps=500).solve()
        reached += solution.reached
        assert (np.abs(model.clamp(solution.q) - solution.q)[7:] == 0.0).all()
    assert reached >= 9


# ------------------------------------------------------------------------------------------------ cones


@pytest.mark.parametrize("method", ["fabrik", "ccd"])
def test_cones_are_kept_in_every_step_and_reach_what_lm_reaches(method):
    model, rng = build_coned_chain(), np.random.default_rng(0)
    lm = swept = 0
    for _ in range(40):
        target = Reach("tip", model.fk(model.random(rng), "tip")[:3, 3], tolerance=1e-3)
        lm += Solver(model, target, method="lm", max_steps=500).solve().reached
        solution = Solver(model, target, method=method, max_steps=500, record=True).solve()
        swept += solution.reached
        for q in solution.history.q:
            for quaternion in q.reshape(-1, 4):
                swing, twist = find_swing_and_twist(quaternion)
                assert swing <= 0.9 + 1e-9
                assert abs(twist) <= 0.6 + 1e-9
    assert lm >= 20
    assert swept >= 0.9 * lm


def test_poses_in_cones():
    model, rng = build_coned_chain(), np.random.default_rng(2)
    reached = 0
    for _ in range(20):
        q = poise.solve(model, Reach("tip", model.fk(model.random(rng), "tip")[:3, 3])).q  # a pose in its cones
        reached += Solver(model, make_goals(model, q, ["tip"]), method="fabrik", max_steps=500).solve().reached
    assert reached >= 18


@pytest.mark.parametrize("method", ["fabrik", "ccd"])
def test_a_cone_that_is_given_is_kept(method):
    model = build_person()
    goal = Reach("hand_l", model.fk(model.rest, "hand_l")[:3, 3] + (0.3, 0.2, 0.4), tolerance=1e-3)
    options = {"method": method, "joints": ["arm_l_0", "arm_l_1"], "max_steps": 500}
    at = model.joint("arm_l_0").q
    open_swing = find_swing_and_twist(Solver(model, goal, **options).solve().q[at], (0.0, 0.0, 1.0))[0]
    most = 0.5 * open_swing
    held = Solver(model, goal, limits=[Cone("arm_l_0", swing=most)], record=True, **options).solve()
    assert open_swing > 0.2
    assert all(find_swing_and_twist(q[at], (0.0, 0.0, 1.0))[0] <= most + 1e-9 for q in held.history.q)


# ------------------------------------------------------------------------------------------------ refusals


def test_unsupported_goals_and_limits_are_rejected_by_name():
    model = build_person()
    with pytest.raises(InvalidValue, match=r"'hand_l' is a rotation goal.*'fabrik'.*ccd"):
        Solver(model, Orient("hand_l", np.eye(3)), method="fabrik")
    with pytest.raises(InvalidValue, match="'fabrik' keeps joint ranges and cones, not Closed"):
        Solver(model, Reach("hand_l", (0, 0, 1)), method="fabrik", limits=[Closed("hand_l", "hand_r")])
