"""Laws of closed forms: arms of random geometry in every family, at limits and singularities as everywhere."""

import numpy as np
import pytest

import poise
from family_arms import KINDS, Line, build_arm, draw_arm, draw_lines, draw_poses, shake
from poise.goals import Reach
from poise.model import Model
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form, place_values

NAMES = {True: "spherical shoulder", False: "spherical wrist"}
CASES = [(kind, mirrored, joints) for kind in KINDS for mirrored in (False, True) for joints in (6, 7)]
PROVED, FOUND, OPEN = range(3)


def close(model: Model, frame: str = "tool") -> ClosedGoal:
    moves = np.ones(model.nv, dtype=bool)
    closed = find_closed_form(model, Reach(frame, np.eye(4)).rows(model), Freedom(moves.tobytes(), True))
    assert isinstance(closed, ClosedGoal), closed
    return closed


def decide_all(model: Model, T: np.ndarray, metres: float, radians: float, most: int = 400) -> np.ndarray:
    form = close(model).form
    R, p = np.ascontiguousarray(T[:, :3, :3]), np.ascontiguousarray(T[:, :3, 3])
    return np.array(form.decide(R, p, metres, radians, most))


def turn_axes(a: np.ndarray, b: np.ndarray, model: Model) -> np.ndarray:
    """Differences of poses, whole turns aside."""
    d = np.abs(a - b)
    return np.where(model.slides, d, np.minimum(d, np.abs(d - 2 * np.pi)))


@pytest.mark.parametrize(("kind", "mirrored", "joints"), CASES)
def test_the_family_is_read_from_the_axes(kind, mirrored, joints) -> None:
    for seed in range(5):
        model = draw_arm(np.random.default_rng(seed), kind, mirrored=mirrored, joints=joints)
        family = model.family("tool")
        assert family, str(family)
        assert family.name == ("three parallel axes" if kind.startswith("planar") else NAMES[mirrored])
        assert (family.free is None) == (joints == 6)
        assert family.point_error < 1e-9
        assert family.turn_error < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mirrored", "joints"), CASES)
def test_no_pose_within_the_tolerances_is_proved_away(kind, mirrored, joints) -> None:
    """Targets are poses' own, moved by up to the tolerances: from those of a solve to some that are huge."""
    rng = np.random.default_rng(3)
    found = 0
    for metres, radians in ((0.0, 0.0), (1e-4, 1e-3), (1e-2, 3e-2), (0.1, 0.3)):
        model = draw_arm(rng, kind, mirrored=mirrored, joints=joints)
        T = shake(model.fk(draw_poses(model, rng, 150), "tool"), rng, metres, radians)
        verdict = decide_all(model, T, metres, radians)
        assert not (verdict == PROVED).any()
        found += int((verdict == FOUND).sum())
    assert found > 200


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
def test_the_law_above_notices_tolerances_that_are_too_small(joints) -> None:
    rng = np.random.default_rng(8)
    proved = 0
    for kind in KINDS:
        model = draw_arm(rng, kind, joints=joints)
        T = shake(model.fk(draw_poses(model, rng, 100), "tool"), rng, 1e-2, 3e-2)
        proved += int((decide_all(model, T, 2e-3, 6e-3) == PROVED).sum())
    assert proved > 10


@pytest.mark.parametrize(("kind", "mirrored", "joints"), CASES)
def test_every_pose_is_among_the_branches_of_its_transform(kind, mirrored, joints) -> None:
    rng = np.random.default_rng(4)
    model = draw_arm(rng, kind, mirrored=mirrored, joints=joints)
    closed = close(model)
    poses = model.random(rng, 100)
    worst = 0.0
    for q, T in zip(poses, model.fk(poses, "tool"), strict=True):
        free = 0.0 if closed.free is None else q[closed.free]
        rows = closed.form.near(T[:3, :3].copy(), T[:3, 3].copy(), np.array([free]), True)
        listed = place_values(closed.axes, rows["joints"][:, : model.nv], q)
        assert all(np.isfinite(rows[name]).all() for name in rows.dtype.names)
        reached = model.fk(listed, "tool")
        assert np.abs(reached - T).max() < 1e-6 * (1.0 if rows["certain"].all() else 1e3)
        worst = max(worst, float(turn_axes(listed, q, model).max(axis=1).min()))
    assert worst < 1e-5


@pytest.mark.parametrize(("kind", "mirrored", "joints"), CASES)
def test_what_is_proved_away_no_search_reaches(kind, mirrored, joints) -> None:
    rng = np.random.default_rng(5)
    model = draw_arm(rng, kind, mirrored=mirrored, joints=joints)
    T = shake(model.fk(model.random(rng, 60), "tool"), rng, 0.4, 1.5)
    verdict = decide_all(model, T, 1e-4, 1e-3, 2000)
    reached = poise.solve_batch(model, Reach("tool", np.eye(4), tolerance=(1e-4, 1e-3)), T, threads=1).reached
    assert not (reached & (verdict == PROVED)).any()
    assert (verdict == PROVED).any()


@pytest.mark.parametrize("kind", KINDS)
def test_axes_that_a_file_has_rounded_are_in_the_family_still(kind) -> None:
    rng = np.random.default_rng(6)
    lines = [
        Line(line.slides, line.h + 2e-6 * rng.normal(size=3), line.p + 2e-6 * rng.normal(size=3))
        for line in draw_lines(rng, kind)
    ]
    model = build_arm(lines, rng)
    family = model.family("tool")
    assert family
    assert family.turn_error < 1e-3
    assert 1e-9 < family.point_error < 1e-3
    assert "off by up to" in str(family)
    T = shake(model.fk(draw_poses(model, rng, 300), "tool"), rng, 1e-6, 1e-6)
    assert not (decide_all(model, T, 1e-6, 1e-6) == PROVED).any()


def test_general_axes_have_no_family_and_say_so() -> None:
    """Six turns have their poses all the same (tests/solving/test_general_six.py), but not with a slide among them."""
    rng = np.random.default_rng(7)
    lines = [Line(False, rng.normal(size=3), rng.normal(size=3)) for _ in range(6)]
    family = build_arm(lines, rng).family("tool")
    assert family.name == "general six joints"
    assert "no three neighbouring axes" in family.reason
    slide = build_arm([Line(True, *rng.normal(size=(2, 3))), *lines[1:]], rng).family("tool")
    assert not slide
    assert "no three neighbouring axes" in str(slide)
    arm = build_arm([Line(True, *rng.normal(size=(2, 3))), *lines], rng)
    assert "without end" in str(poise.model.family.find_family(arm, "tool", np.full(7, True), arm.rest, limited=False))
    assert "fewer than six" in str(build_arm(lines[:4], rng).family("tool"))
    assert "more than seven" in str(build_arm(lines + lines[:2], rng).family("tool"))


def test_joints_that_stand_still_are_part_of_the_chain() -> None:
    """A locked joint of seven leaves six: their family is that of the axes as they stand then."""
    model = poise.load("panda")
    family = model.family("panda_hand_tcp", joints=[f"panda_joint{k}" for k in range(1, 7)])
    assert family.name == "spherical shoulder"
    assert family.free is None
    assert len(family.joints) == 6
    assert not model.family("panda_hand_tcp", joints=["panda_joint1"])


@pytest.mark.parametrize(("name", "frame", "bend"), [("iiwa14", "iiwa_link_ee", 5), ("panda", "panda_hand_tcp", 1)])
def test_a_pose_is_within_the_bounds_of_a_branch_however_straight_the_wrist(name, frame, bend) -> None:
    """Near a straight wrist or shoulder the bend follows from a cosine that rounding moves more than all else."""
    model, rng = poise.load(name), np.random.default_rng(0)
    moves = np.ones(model.nv, dtype=bool)
    closed = find_closed_form(model, Reach(frame, np.eye(4)).rows(model), Freedom(moves.tobytes(), True))
    assert isinstance(closed, ClosedGoal)
    assert closed.free is not None
    for size in np.geomspace(1e-3, 1e-7, 200):
        q = model.random(rng)
        q[bend] = size
        T, at = model.fk(q, frame), q[closed.axes[closed.free].q]
        rows = closed.form.near(T[:3, :3].copy(), T[:3, 3].copy(), np.array([at]), False)
        off = rows["joints"] - q[[axis.q for axis in closed.axes]]
        off = np.abs(off - 2.0 * np.pi * np.round(off / (2.0 * np.pi)))
        assert (off <= rows["slacks"] + 1e-12).all(axis=1).any(), size


@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 2.0)])
def test_a_slide_without_an_end_is_proved_nothing_away(ends) -> None:
    """A Stanford arm: two turns, a slide, a wrist."""
    builder = poise.ModelBuilder("stanford")
    places, kinds = [(0, 0, 0), (0, 0.15, 0.4), (0, 0, 0.3), (0, 0, 0), (0, 0, 0), (0, 0, 0)], "RRPRRR"
    parent = None
    for k, (place, kind, axis) in enumerate(zip(places, kinds, "zyzzyz", strict=True)):
        lower, upper = ends if kind == "P" else (-2.5, 2.5)
        joint = "prismatic" if kind == "P" else "revolute"
        offset = poise.Transform(translation=place)
        direction = np.eye(3)["xyz".index(axis)]
        builder.add_joint(f"j{k}", parent, joint, offset=offset, axis=direction, lower=lower, upper=upper)
        parent = f"j{k}"
    model = builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1))).build()
    rng = np.random.default_rng(48)
    q = rng.uniform(-1.0, 1.0, (200, 6)) * [2.4, 2.4, 0.5, 2.4, 2.4, 2.4] + [0, 0, 0.6, 0, 0, 0]
    T = model.fk(q, "tool")
    assert model.family("tool")
    assert not (decide_all(model, T, 1e-4, 1e-3) == PROVED).any()
    assert poise.solve_batch(model, Reach("tool", np.eye(4)), T).reached.all()
