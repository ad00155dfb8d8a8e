"""FABRIK on the constraints of a model: poses, a root that is free, and cones of ball joints."""

import numpy as np
import pytest

import poise
from poise import ModelBuilder, Solver
from poise.errors import InvalidValue
from poise.goals import Orient, Reach
from poise.limits import Closed, Cone
from poise.model import BallRange
from poise.spatial import Rotation

NEAR = (1e-3, 1e-2)  # metres, radians
ENDS = ("hand_l", "hand_r", "foot_l", "foot_r")
CONE = BallRange(swing=0.9, twist=(-0.6, 0.6), axis=(1.0, 0.0, 0.0))


def add_limb(builder, parent, name, end, offset, bone):
    """Three balls, two bones downwards and a short one forwards."""
    builder.add_joint(f"{name}_0", parent, "ball", offset=offset)
    builder.add_joint(f"{name}_1", f"{name}_0", "ball", offset=(0.0, 0.0, -bone))
    builder.add_joint(f"{name}_2", f"{name}_1", "ball", offset=(0.02, 0.0, -bone))
    builder.add_frame(end, f"{name}_2", offset=(0.1, 0.0, -0.05))


def person():
    """A trunk, two arms and two legs of balls; the pelvis is free."""
    builder = ModelBuilder(name="person").add_joint("pelvis", None, "free", offset=(0.0, 0.0, 1.0))
    builder.add_joint("spine", "pelvis", "ball", offset=(0.0, 0.0, 0.1))
    builder.add_joint("chest", "spine", "ball", offset=(0.0, 0.0, 0.2))
    for side, y in (("l", 0.2), ("r", -0.2)):
        add_limb(builder, "chest", f"arm_{side}", f"hand_{side}", (0.0, y, 0.2), 0.3)
        add_limb(builder, "pelvis", f"leg_{side}", f"foot_{side}", (0.0, y / 2, 0.0), 0.4)
    return builder.build()


def tree(rng):
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


def coned():
    """Five bones along x, every ball in the same cone."""
    builder, parent = ModelBuilder(name="coned"), None
    for k in range(5):
        builder.add_joint(f"j{k}", parent, "ball", offset=(0.2 * (k > 0), 0.0, 0.0), cone=CONE)
        parent = f"j{k}"
    return builder.add_frame("tip", parent, offset=(0.2, 0.0, 0.0)).build()


def swing_and_twist(q, axis=(1.0, 0.0, 0.0)):
    """Angles of a quaternion's swing of the axis and twist about it, from its matrix alone."""
    q = q if q[0] >= 0 else -q
    moved = Rotation(q).matrix @ axis
    return np.arccos(np.clip(moved @ axis, -1.0, 1.0)), 2.0 * np.arctan2(q[1:] @ axis, q[0])


def ask(model, q, frames, pose=True):
    return [Reach(f, model.fk(q, f) if pose else model.fk(q, f)[:3, 3], tolerance=NEAR) for f in frames]


# ------------------------------------------------------------------------------------------------ poses and the root


@pytest.mark.parametrize("pose", [False, True], ids=["points", "poses"])
@pytest.mark.parametrize("frames", [ENDS[:1], ENDS[:2], ENDS[:3], ENDS], ids=len)
def test_a_person_of_balls_takes_every_pose_it_can_take(frames, pose):
    model, rng = person(), np.random.default_rng(0)
    for _ in range(20):
        q = model.integrate(model.rest, 0.5 * rng.normal(size=model.nv))
        solution = Solver(model, ask(model, q, frames, pose), method="fabrik", max_steps=500).solve()
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
        model, frames = tree(rng)
        goals = ask(model, model.integrate(model.rest, 0.6 * rng.normal(size=model.nv)), frames)
        lm += Solver(model, goals, method="lm", max_steps=500).solve().reached
        fabrik += Solver(model, goals, method="fabrik", max_steps=500).solve().reached
    assert lm >= 38
    assert fabrik >= 0.95 * lm


def test_feet_stay_and_the_free_root_goes():
    """Both hands go far to one side: without the pelvis they cannot."""
    model = person()
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
    model = person()
    goal = Reach("hand_l", model.fk(model.rest, "hand_l")[:3, 3] + (0.3, 0.2, 0.3))
    free, stiff = (
        np.linalg.norm(Solver(model, goal, method="fabrik", stiffness=s).solve().q[:3] - model.rest[:3])
        for s in (None, {"pelvis": 50.0})
    )
    assert 0.0 < stiff < 0.5 * free


def test_a_target_far_from_a_free_body_is_reached():
    model = person()
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
    model, rng = coned(), np.random.default_rng(0)
    lm = swept = 0
    for _ in range(40):
        target = Reach("tip", model.fk(model.random(rng), "tip")[:3, 3], tolerance=1e-3)
        lm += Solver(model, target, method="lm", max_steps=500).solve().reached
        solution = Solver(model, target, method=method, max_steps=500, record=True).solve()
        swept += solution.reached
        for q in solution.history.q:
            for quaternion in q.reshape(-1, 4):
                swing, twist = swing_and_twist(quaternion)
                assert swing <= 0.9 + 1e-9
                assert abs(twist) <= 0.6 + 1e-9
    assert lm >= 20
    assert swept >= 0.9 * lm


def test_poses_in_cones():
    model, rng = coned(), np.random.default_rng(2)
    reached = 0
    for _ in range(20):
        q = poise.solve(model, Reach("tip", model.fk(model.random(rng), "tip")[:3, 3])).q  # a pose in its cones
        reached += Solver(model, ask(model, q, ["tip"]), method="fabrik", max_steps=500).solve().reached
    assert reached >= 18


@pytest.mark.parametrize("method", ["fabrik", "ccd"])
def test_a_cone_that_is_given_is_kept(method):
    model = person()
    goal = Reach("hand_l", model.fk(model.rest, "hand_l")[:3, 3] + (0.3, 0.2, 0.4), tolerance=1e-3)
    options = {"method": method, "joints": ["arm_l_0", "arm_l_1"], "max_steps": 500}
    at = model.joint("arm_l_0").q
    open_swing = swing_and_twist(Solver(model, goal, **options).solve().q[at], (0.0, 0.0, 1.0))[0]
    most = 0.5 * open_swing
    held = Solver(model, goal, limits=[Cone("arm_l_0", swing=most)], record=True, **options).solve()
    assert open_swing > 0.2
    assert all(swing_and_twist(q[at], (0.0, 0.0, 1.0))[0] <= most + 1e-9 for q in held.history.q)


# ------------------------------------------------------------------------------------------------ refusals


def test_unsupported_goals_and_limits_are_rejected_by_name():
    model = person()
    with pytest.raises(InvalidValue, match=r"'hand_l' is a rotation goal.*'fabrik'.*ccd"):
        Solver(model, Orient("hand_l", np.eye(3)), method="fabrik")
    with pytest.raises(InvalidValue, match="'fabrik' keeps joint ranges and cones, not Closed"):
        Solver(model, Reach("hand_l", (0, 0, 1)), method="fabrik", limits=[Closed("hand_l", "hand_r")])
