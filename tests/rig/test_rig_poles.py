"""Poles of rigs and of TwoBone: exact away from their line, and no swing where a path crosses it."""

import itertools
import math

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.goals import Reach
from poise.methods import TwoBone
from poise.model import Model
from tiers import mostly_slow

Place = tuple[float, float, float]
ARM: list[Place] = [(0.0, -1.0, 0.2), (0.3, -0.2, 1.0), (1.0, -0.2, 0.4), (0.3, 1.0, 0.3), (0.5, -0.6, 0.6)]
LEG: list[Place] = [(0.0, -1.0, 0.1), (0.1, -1.0, 0.6), (0.2, -0.6, 1.0)]
CASES = [("arm_l", line, far) for line in ARM for far in (0.35, 0.5)] + [("leg_l", line, 0.7) for line in LEG]
PARTS = {"arm_l": ("hand_l", "shoulder_l", "elbow_l"), "leg_l": ("foot_l", "hip_l", "knee_l")}
NEAR = 0.35  # sine of the angle between a limb and its pole's line: within it the plane of the pole fades
TIMES = 6.0  # as far as its end moves, the middle of a limb does near the line


def swings(limb: str, pole: Place, centre: Place, side: Place, step: float) -> tuple[float, float]:
    """How far the limb's middle moves in a frame at most, near the pole's line and elsewhere, when its end goes across.

    The end goes 0.5 m in frames of `step`; all in metres.
    """
    model = poise.load("humanoid")
    handle, root, middle = PARTS[limb]
    rig = poise.Rig(model, floor=None)  # some of the ways lead below it
    for foot in {"foot_l", "foot_r"} - {handle}:
        rig.pin(foot)
    rig.pole(limb, pole)
    first = model.fk(model.rest, root)[:3, 3] + centre + 0.25 * np.array(side)
    for _ in range(80):
        rig.drag(handle, first)
    path = first - np.arange(0.0, 0.5, step)[:, None] * np.array(side)
    seen = [rig.drag(handle, place) for place in path]
    at = np.array([pose.position(middle) for pose in seen])
    lines = np.array([pose.position(handle) - pose.position(root) for pose in seen])
    sine = np.linalg.norm(np.cross(pole, lines), axis=1) / np.linalg.norm(lines, axis=1)
    near, moved = sine[1:] < NEAR, np.linalg.norm(np.diff(at, axis=0), axis=1)
    return float(moved[near].max(initial=0.0)), float(moved[~near].max(initial=0.0))


def check_crossing(limb: str, line: Place, far: float, step: float) -> None:
    """Both ends of the pole's line, crossed and passed by."""
    along = np.array(line) / np.linalg.norm(line)
    rng = np.random.default_rng(1)
    for sign in (1.0, -1.0):
        side = np.cross(along, rng.normal(size=3))
        side /= np.linalg.norm(side)
        for aside in (0.0, 0.015):
            centre = far * along + aside * np.cross(along, side)
            near, away = swings(limb, tuple(sign * along), tuple(centre), tuple(side), step)
            assert near < TIMES * step, f"{near:.4f} m near the line, in a frame in which the end moved {step} m"
            assert away < 0.07, f"{away:.3f} m in a frame in which the end moved {step} m"


@pytest.mark.slow
@pytest.mark.parametrize(("limb", "line", "far"), CASES)
def test_nothing_swings_round(limb: str, line: Place, far: float) -> None:
    check_crossing(limb, line, far, 0.005)


@pytest.mark.parametrize("step", mostly_slow([0.02, 0.001], 1))
@pytest.mark.parametrize(("limb", "line", "far"), [CASES[0], CASES[8], CASES[11]])
def test_what_moves_near_the_line_goes_with_the_speed(limb: str, line: Place, far: float, step: float) -> None:
    check_crossing(limb, line, far, step)


BONE = 0.3  # metres, both
ZONE = math.sin(math.radians(15.0))  # of the angle between the pole's line and the limb's
MOST = 6.0 / ZONE  # radians of the elbow about the line for a radian of the line


def arm(shoulder: str) -> Model:
    """A shoulder that turns any way at the origin, an elbow with one axis, a hand."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, shoulder, **({"order": "XYZ"} if shoulder == "euler" else {}))
    builder.add_joint("elbow", "shoulder", "revolute", offset=(0, 0, BONE), axis=(1, 0, 0), lower=-2.8, rest=(-0.8,))
    builder.add_frame("hand", "elbow", (0, 0, BONE))
    return builder.build()


def unit(v: Floats) -> Floats:
    out: Floats = v / np.linalg.norm(v)
    return out


def sine(pole: Floats, target: Floats) -> float:
    return float(np.linalg.norm(np.cross(pole, unit(target))))


def misses_pole(model: Model, q: Floats, pole: Floats, target: Floats) -> float:
    """The angle about the line from shoulder to target between the elbow and the pole."""
    d = unit(target)
    elbow, wanted = (unit(x - d * (x @ d)) for x in (model.fk(q, "elbow")[:3, 3], pole))
    return math.atan2(float(np.linalg.norm(np.cross(elbow, wanted))), float(elbow @ wanted))


def crossing(rng: np.random.Generator, pole: Floats, step: float, aside: float) -> Floats:
    """A straight path past the pole's line at a distance, from one side of its zone to the other and back."""
    far = rng.uniform(0.25, 0.45)
    across = unit(np.cross(pole, rng.normal(size=3)))
    out = rng.choice([-1.0, 1.0]) * far * pole + aside * np.cross(pole, across)
    tilt = rng.uniform(-0.3, 0.3) * pole
    along = np.arange(-0.2, 0.2, step)
    path: Floats = out + np.concatenate([along, along[-2::-1]])[:, None] * (across + tilt)
    return path


def wandering(rng: np.random.Generator, pole: Floats, step: float) -> Floats:
    """A path that winds about the pole's line, inside its zone, along the zone's edge and through the line."""
    across = unit(np.cross(pole, rng.normal(size=3)))
    aside = np.cross(pole, across)
    t = np.linspace(0.0, 1.0, 20_000)
    turns, waves, first = rng.uniform(1, 5), rng.uniform(1, 5), rng.uniform(0, 2 * np.pi)
    r = rng.uniform(0.5, 1.3) * ZONE * np.cos(2 * np.pi * waves * t)
    angle = first + 2 * np.pi * turns * t
    path = 0.4 * pole + 0.4 * r[:, None] * (np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * aside)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    found: Floats = path[np.searchsorted(length, np.arange(0.0, length[-1], step))]
    return found


def check_path(model: Model, pole: Floats, path: Floats) -> None:
    """The pole is exact outside its zone; everywhere the elbow moves at most so many times as far as the target."""
    solver = poise.Solver(model, Reach("hand", path[0], tolerance=1e-7), method=TwoBone(pole=pole), restarts=0)
    q = solver.solve().q
    for before, target in itertools.pairwise(path):
        first, answer = q, solver.solve(q, {"hand": target})
        q = answer.q
        assert answer.reached
        if sine(pole, target) > 1.001 * ZONE:
            assert misses_pole(model, q, pole, target) < 1e-5
        # the line's turn, and the elbow's opening, of which the bones are BONE and the line d long
        d, moved = min(np.linalg.norm(before), np.linalg.norm(target)), float(np.linalg.norm(target - before))
        height = math.sqrt(max(BONE**2 - d**2 / 4, 0.0))
        most = moved * (MOST * height / d + BONE / d + d / (4 * height) + 1.0)
        elbow = [model.fk(x, "elbow")[:3, 3] for x in (first, q)]
        assert np.linalg.norm(elbow[1] - elbow[0]) < most, f"{np.linalg.norm(elbow[1] - elbow[0]):.3f} m for {moved} m"


@pytest.mark.slow
@pytest.mark.parametrize("shoulder", ["ball", "euler"])
@pytest.mark.parametrize("step", [0.001, 0.004, 0.015])
@pytest.mark.parametrize("aside", [0.0, 1e-6, 0.002, 0.01, 0.03, 0.06])
def test_no_swing_where_a_path_crosses_the_line(shoulder: str, step: float, aside: float) -> None:
    model, rng = arm(shoulder), np.random.default_rng(1)
    for pole in (unit(rng.normal(size=3)) for _ in range(3)):
        check_path(model, pole, crossing(rng, pole, step, aside))


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.001, 0.005])
def test_no_swing_where_a_path_winds_about_the_line(step: float) -> None:
    model, rng = arm("ball"), np.random.default_rng(2)
    for pole in (unit(rng.normal(size=3)) for _ in range(8)):
        check_path(model, pole, wandering(rng, pole, step))


def test_from_one_start_the_elbow_goes_with_the_target() -> None:
    """Targets on both sides of the line, each from the rest pose: neighbours have neighbouring elbows."""
    model, pole = arm("ball"), np.array([0.0, 1.0, 0.0])
    for step in (1e-3, 1e-4):
        places = [np.array([x, 0.4, 0.0]) for x in np.arange(-0.01, 0.01, step)]
        found = [poise.solve(model, Reach("hand", place), method=TwoBone(pole=pole), restarts=0).q for place in places]
        elbow = np.array([model.fk(q, "elbow")[:3, 3] for q in found])
        assert np.linalg.norm(np.diff(elbow, axis=0), axis=1).max() < 200 * step


def test_at_rest_nothing_moves() -> None:
    """A solve from its own answer stays there, near the line too."""
    model, rng = arm("ball"), np.random.default_rng(3)
    for _ in range(50):
        pole = unit(rng.normal(size=3))
        target = 0.4 * unit(pole + 0.1 * rng.normal(size=3))
        solver = poise.Solver(model, Reach("hand", target), method=TwoBone(pole=pole), restarts=0)
        q = solver.solve().q
        np.testing.assert_allclose(solver.solve(q).q, q, atol=1e-9)
        far = solver.solve(q, {"hand": 3.0 * target}).q  # out of reach: stretched, in as many steps as it takes
        np.testing.assert_allclose(solver.solve(far, {"hand": 3.0 * target}).q, far, atol=1e-7)
