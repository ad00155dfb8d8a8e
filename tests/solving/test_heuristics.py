"""The sweeping methods: CCD, FABRIK, the analytic limb, part by part."""

import math

import numpy as np
import pytest

import poise
from poise import ModelBuilder, Solver, Status
from poise.goals import Orient, Reach, Rest
from poise.methods import CCD, FABRIK, Sequential, TwoBone


def build_chain(kind="ball", n=10, length=0.9, **options):
    """Equal bones along x; hinges turn about z."""
    builder = ModelBuilder(name=f"{kind} chain")
    parent = None
    for i in range(n):
        offset = (0.0, 0.0, 0.0) if i == 0 else (length / n, 0.0, 0.0)
        builder.add_joint(f"joint_{i}", parent, kind, offset=offset, **options)
        parent = f"joint_{i}"
    builder.add_frame("tip", parent, offset=(length / n, 0.0, 0.0))
    return builder.build()


def build_fork():
    """A trunk of balls that splits in two arms: tips "left" and "right"."""
    builder = ModelBuilder(name="fork")
    builder.add_joint("a", None, "ball")
    builder.add_joint("b", "a", "ball", offset=(0.3, 0.0, 0.0))
    for name, side in (("left", 1.0), ("right", -1.0)):
        builder.add_joint(f"{name}_1", "b", "ball", offset=(0.3, 0.0, 0.0))
        builder.add_joint(f"{name}_2", f"{name}_1", "ball", offset=(0.2, 0.1 * side, 0.0))
        builder.add_frame(name, f"{name}_2", offset=(0.2, 0.0, 0.0))
    return builder.build()


def build_arm(shoulder="ball", wrist=None):
    """Upper arm 0.3 m, forearm 0.25 m, an elbow that bends one way; shoulder at (0.1, 0.2, 0.3)."""
    builder = ModelBuilder(name="arm")
    order = {"order": "ZXY"} if shoulder == "euler" else {}
    builder.add_joint("shoulder", None, shoulder, offset=SHOULDER, **order)
    builder.add_joint(
        "elbow", "shoulder", "revolute", axis=(0, 1, 0), offset=(0.3, 0, 0), lower=-2.6, upper=0.0, rest=-0.5
    )
    if wrist is None:
        builder.add_frame("hand", "elbow", offset=(0.25, 0.0, 0.0))
    else:
        builder.add_joint(
            "wrist", "elbow", wrist, offset=(0.25, 0.0, 0.0), **({"order": "XYZ"} if wrist == "euler" else {})
        )
        builder.add_frame("hand", "wrist", offset=(0.05, 0.02, 0.0))
    return builder.build()


SHOULDER = (0.1, 0.2, 0.3)
ORIGIN = np.array(SHOULDER)


def draw_directions(rng, count, planar=False):
    d = rng.normal(size=(count, 3))
    if planar:
        d[:, 2] = 0.0
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def place_along(*from_shoulder):
    return ORIGIN + np.array(from_shoulder)


def is_inside(model, q):
    return bool((q >= model.lower).all() and (q <= model.upper).all())


KINDS = {"ball": {}, "revolute": {"lower": -3.0, "upper": 3.0}, "euler": {"order": "ZYX"}, "universal": {}}


# ------------------------------------------------------------------------------------------------ chains and trees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [CCD(), CCD(order="inside_out", turn_limit=0.3), FABRIK()], ids=lambda m: m.name)
def test_a_chain_reaches_what_is_within_its_length(kind, method):
    model, rng = build_chain(kind, **KINDS[kind]), np.random.default_rng(1)
    for d in draw_directions(rng, 20, kind == "revolute"):
        solution = Solver(model, Reach("tip", 0.6 * d), method=method).solve()
        assert solution.reached, solution
        assert np.linalg.norm(model.fk(solution.q, "tip")[:3, 3] - 0.6 * d) < 1e-4


@pytest.mark.parametrize("kind", ["ball", "revolute"])
def test_fabrik_needs_fewer_iterations_than_published(kind):
    """Ten joints, 900 mm, targets at 600 mm, 1e-3 mm: 15.5 iterations in the paper, table 1."""
    model, rng = build_chain(kind), np.random.default_rng(0)
    solutions = [
        Solver(model, Reach("tip", 0.6 * d, tolerance=1e-6), method="fabrik").solve()
        for d in draw_directions(rng, 20, kind == "revolute")
    ]
    assert all(s.reached for s in solutions)
    assert np.mean([s.steps for s in solutions]) <= 12


@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_a_tree_reaches_with_both_hands(method):
    model, rng = build_fork(), np.random.default_rng(2)
    reached = 0
    for _ in range(20):
        q = model.integrate(model.rest, 0.6 * rng.normal(size=model.nv))
        goals = [Reach(name, model.fk(q, name)[:3, 3], tolerance=1e-3) for name in ("left", "right")]
        reached += Solver(model, goals, method=method, max_steps=500).solve().reached
    assert reached >= 18


def test_ccd_serves_rotations_and_poses():
    model, rng = build_chain("ball", n=4), np.random.default_rng(3)
    poses = 0
    for _ in range(10):
        target = model.fk(model.integrate(model.rest, rng.normal(size=model.nv)), "tip")
        poses += Solver(model, Reach("tip", target), method="ccd", max_steps=1000).solve().reached
        assert Solver(model, Orient("tip", target[:3, :3]), method="ccd").solve().reached
        assert Solver(model, Orient("tip", target[:3, :3], axes="xy"), method="ccd").solve().reached
    assert poses >= 9  # one is at full stretch, where it creeps


def test_ccd_serves_every_kind_of_joint():
    builder = ModelBuilder(name="all kinds")
    builder.add_joint("base", None, "planar")
    builder.add_joint("lift", "base", "prismatic", lower=0.0, upper=0.5)
    builder.add_joint("drill", "lift", "screw", pitch=0.05, offset=(0.1, 0, 0))
    builder.add_joint("turn", "drill", "revolute", axis=(0, 1, 0), offset=(0.3, 0, 0), lower=-2.0, upper=2.0)
    builder.add_joint("twin", "turn", "revolute", axis=(0, 1, 0), offset=(0.2, 0, 0), mimic=("turn", 0.5, 0.1))
    builder.add_joint("wrist", "twin", "ball", offset=(0.2, 0, 0))
    builder.add_frame("tip", "wrist", offset=(0.1, 0, 0))
    model, rng = builder.build(), np.random.default_rng(4)
    for order in ("outside_in", "inside_out"):
        for _ in range(10):
            target = model.fk(model.random(rng), "tip")[:3, 3]
            solution = Solver(model, Reach("tip", target), method=CCD(order=order), max_steps=2000).solve()
            assert solution.reached


def test_a_target_in_a_moving_frame():
    model = build_fork()
    goal = Reach("left", (0.05, 0.0, 0.1), relative_to="right", tolerance=1e-3)
    solution = Solver(model, goal, method="ccd", max_steps=500).solve()
    left, right = (model.fk(solution.q, name) for name in ("left", "right"))
    assert np.allclose((np.linalg.inv(right) @ left)[:3, 3], (0.05, 0.0, 0.1), atol=1e-3)


# ------------------------------------------------------------------------------------------------ limits and steps


@pytest.mark.parametrize("method", ["ccd", "fabrik", "two_bone"])
def test_limits_are_never_crossed(method):
    model = build_arm("euler") if method == "two_bone" else build_chain("revolute", lower=-0.5, upper=0.7)
    frame, rng = ("hand" if method == "two_bone" else "tip"), np.random.default_rng(5)
    solver = Solver(model, Reach(frame, (0.0, 0.0, 0.0)), method=method, record=True)
    for d in draw_directions(rng, 20):
        solution = solver.solve(model.random(rng), {frame: rng.uniform(0.1, 1.2) * d})
        assert is_inside(model, solution.q)
        assert all(is_inside(model, q) for q in solution.history.q)


@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_a_start_outside_comes_back_and_never_worse(method):
    model = build_chain("revolute", lower=-0.5, upper=0.7)
    start = np.full(model.nq, 1.2)
    solver = Solver(model, Reach("tip", (0.3, 0.4, 0.0)), method=method, record=True, step_limit=0.1)
    out = np.maximum(solver.solve(start).history.q - 0.7, 0.0)
    assert (np.diff(out, axis=0) <= 1e-15).all()
    assert (np.abs(np.diff(solver.solve(start).history.q, axis=0)) <= 0.1 + 1e-12).all()


@pytest.mark.parametrize("order", ["outside_in", "inside_out"])
@pytest.mark.parametrize("kind", ["ball", "revolute"])
def test_the_turn_limit_holds(kind, order):
    model = build_chain(kind)
    solution = Solver(
        model, Reach("tip", (-0.2, 0.4, 0.0)), method=CCD(order=order, turn_limit=0.05), record=True
    ).solve()
    steps = [model.difference(a, b) for a, b in zip(solution.history.q[:-1], solution.history.q[1:], strict=True)]
    turns = np.abs(steps) if kind == "revolute" else np.linalg.norm(np.reshape(steps, (len(steps), -1, 3)), axis=-1)
    assert 0.04 < turns.max() <= 0.05 + 1e-12


@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_stiff_joints_move_less(method):
    model, target = build_chain("ball", n=4), (0.3, 0.5, 0.0)
    turn = [
        np.linalg.norm(
            model.difference(model.rest, Solver(model, Reach("tip", target), method=method, stiffness=s).solve().q)[:3]
        )
        for s in (None, {"joint_0": 20.0})
    ]
    assert turn[1] < 0.5 * turn[0]


@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_excluded_joints_do_not_change(method):
    model = build_chain("ball")
    start = model.integrate(model.rest, np.random.default_rng(6).normal(size=model.nv))
    names = [f"joint_{i}" for i in (2, 4, 5, 8, 9)]
    target = model.fk(start, "tip")[:3, 3] * 0.9
    solution = Solver(model, Reach("tip", target), method=method, joints=names).solve(start)
    assert solution.reached
    for i in (0, 1, 3, 6, 7):
        at = model.joint(f"joint_{i}").q
        assert (solution.q[at] == start[at]).all()


# ------------------------------------------------------------------------------------------------ special targets


@pytest.mark.parametrize("x", [0.6, 0.3, -0.6])
@pytest.mark.parametrize("kind", ["ball", "revolute"])
@pytest.mark.parametrize("method", ["ccd", "fabrik"])
def test_a_target_on_the_chains_own_line(method, kind, x):
    solution = Solver(build_chain(kind), Reach("tip", (x, 0.0, 0.0), tolerance=1e-6), method=method).solve()
    assert solution.reached


@pytest.mark.parametrize("kind", ["ball", "revolute", "euler"])
def test_fabrik_answers_the_unreachable_at_once(kind):
    model, rng = build_chain(kind, **({"order": "XYZ"} if kind == "euler" else {})), np.random.default_rng(7)
    for d in draw_directions(rng, 5, kind == "revolute"):
        solver = Solver(model, Reach("tip", 2.0 * d), method="fabrik")
        for start in (None, model.random(rng)):
            solution = solver.solve(start)
            assert solution.status is Status.UNREACHABLE
            assert solution.steps <= 1
            assert solution.errors["tip"][0] == pytest.approx(2.0 - 0.9, abs=1e-12)


def test_the_same_bits_every_time():
    model = build_chain("ball")
    for method in ("ccd", "fabrik"):
        q = [Solver(model, Reach("tip", (0.1, 0.5, 0.2)), method=method).solve().q for _ in range(2)]
        assert (q[0] == q[1]).all()


# ------------------------------------------------------------------------------------------------ the analytic limb


@pytest.mark.parametrize("shoulder", ["ball", "euler"])
@pytest.mark.parametrize("wrist", [None, "ball", "euler"])
def test_a_limb_is_exact_in_one_step(shoulder, wrist):
    model, rng = build_arm(shoulder, wrist), np.random.default_rng(8)
    for _ in range(30):
        target = model.fk(model.random(rng), "hand")
        solution = Solver(model, Reach("hand", target, tolerance=(1e-9, 1e-8)), method="two_bone").solve()
        assert solution.reached
        assert solution.steps == 1


def test_the_elbow_points_to_the_pole():
    """Exactly, where the line to the target is 15 degrees or more from the pole's."""
    model, rng = build_arm(), np.random.default_rng(9)
    angles = np.radians(np.linspace(15.01, 164.99, 20))
    for d, other, angle in zip(draw_directions(rng, 20), draw_directions(rng, 20), angles, strict=True):
        side = np.cross(d, other) / np.linalg.norm(np.cross(d, other))
        pole = math.cos(angle) * d + math.sin(angle) * side
        solution = Solver(model, Reach("hand", ORIGIN + 0.4 * d), method=TwoBone(pole=pole)).solve()
        assert solution.reached
        elbow = model.fk(solution.q, "elbow")[:3, 3] - ORIGIN
        elbow -= d * (elbow @ d)
        assert elbow == pytest.approx(np.linalg.norm(elbow) * side, abs=1e-9)


def test_no_flip_when_the_target_crosses_the_line():
    """The hand goes out along the line to full stretch, beyond, and back, and swings across it."""
    model = build_arm()
    solver = Solver(model, Reach("hand", ORIGIN), method=TwoBone(pole=(0, 0, 1)))
    q, elbows = None, []
    for t in np.linspace(0.0, 1.0, 201):
        target = place_along(0.35 + 0.25 * math.sin(math.pi * t), 0.05 * math.cos(7 * t), 0.05 * math.sin(9 * t))
        q = solver.solve(q, {"hand": target}).q
        elbows.append(model.fk(q, "elbow")[:3, 3])
    moves = np.linalg.norm(np.diff(elbows, axis=0), axis=1)
    assert moves.max() < 0.03
    assert min(e[2] for e in elbows) > SHOULDER[2] - 0.05


def test_without_a_pole_the_plane_is_kept():
    model = build_arm()
    solver = Solver(model, Reach("hand", ORIGIN), method="two_bone")
    q = model.rest
    for x in (*np.linspace(0.3, 0.6, 31), *np.linspace(0.6, 0.3, 31)):
        q = solver.solve(q, {"hand": place_along(x, 0.0, 0.1)}).q
        assert model.fk(q, "elbow")[1, 3] == pytest.approx(SHOULDER[1], abs=1e-9)


def test_soft_stretch_is_monotone_and_never_straight():
    model = build_arm()
    solver = Solver(model, Reach("hand", ORIGIN), method=TwoBone(soften=0.9))
    reached = []
    for x in np.linspace(0.4, 2.0, 161):
        q = solver.solve(None, {"hand": place_along(x, 0.0, 0.0)}).q
        reached.append(np.linalg.norm(model.fk(q, "hand")[:3, 3] - ORIGIN))
    reach = np.array(reached)
    assert (np.diff(reach) > 0).all()
    assert reach[0] == pytest.approx(0.4)
    assert 0.549 < reach[-1] < 0.55
    assert np.abs(np.diff(reach, 2)).max() < 2e-3  # no snap


@pytest.mark.slow
def test_the_arms_and_legs_of_a_person():
    model, rng = poise.load("humanoid"), np.random.default_rng(10)
    limbs = {"hand_l": ("shoulder_l", "elbow_l"), "foot_r": ("hip_r", "knee_r")}
    for frame, names in limbs.items():
        reached = 0
        for _ in range(40):
            q, other = np.array(model.rest), model.random(rng)
            for name in names:
                q[model.joint(name).q] = other[model.joint(name).q]
            solution = Solver(model, Reach(frame, model.fk(q, frame)[:3, 3]), method="two_bone").solve()
            reached += solution.reached
            still = [j for j in model.joints if j.name[-2:] != frame[-2:] and j.nv]
            assert all((solution.q[j.q] == model.rest[j.q]).all() for j in still)
        assert reached >= 36


# ------------------------------------------------------------------------------------------------ part by part


@pytest.mark.slow
def test_a_person_reaches_with_both_hands_part_by_part():
    model = poise.load("humanoid")
    feet = [Reach(name, model.fk(model.rest, name)) for name in ("foot_l", "foot_r")]
    near = [Reach("hand_l", (0.3, 1.2, 0.3)), Reach("hand_r", (-0.3, 1.2, 0.3))]
    low = [Reach("hand_l", (0.3, 0.3, 0.5)), Reach("hand_r", (-0.3, 0.3, 0.5))]
    solution = Solver(model, near + feet, method="sequential").solve()
    assert solution.reached
    assert (solution.q[:7] == model.rest[:7]).all()  # the arms can do it alone
    solution = Solver(model, [*low, *feet, Rest()], method="sequential", record=True).solve()
    assert solution.reached
    assert np.linalg.norm(solution.q[:3] - model.rest[:3]) > 0.1  # the arms cannot
    assert len(solution.history) > 5
    assert len(Solver(model, near, method="sequential").copy().solve().q) == model.nq


def test_parts_by_name_move_nothing_else():
    model = poise.load("humanoid")
    parts = [["spine_1", "spine_2", "chest"], ["shoulder_l", "elbow_l"]]
    solution = Solver(model, Reach("hand_l", (0.3, 1.2, 0.5)), method=Sequential(parts=parts)).solve()
    assert solution.reached
    moved = {j.name for j in model.joints if j.nv and (solution.q[j.q] != model.rest[j.q]).any()}
    assert moved <= {name for part in parts for name in part}


def test_new_targets_reach_every_part():
    model = poise.load("humanoid")
    solver = Solver(model, Reach("hand_l", (0.3, 1.2, 0.3)), method="sequential")
    solution = solver.solve(targets={"hand_l": (0.2, 1.0, 0.4)})
    assert solution.reached
    assert np.allclose(model.fk(solution.q, "hand_l")[:3, 3], (0.2, 1.0, 0.4), atol=1e-4)
