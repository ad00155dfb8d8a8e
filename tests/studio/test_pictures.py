"""Pictures: everything that can be drawn is drawn, upright, without a display; other objects raise an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Balance, CenterOfMass, Distance, LookAt, OnPlane, Range, Reach, Rest
from poise.model.geometry.convex_hull import find_ring
from poise.model.geometry.shapes import Box, Cylinder, Mesh, Sphere
from poise.pictures import Camera
from poise.pictures.body.solids import find_solids
from poise.pictures.maps.faces import find_faces, group_faces
from poise.pictures.marks import find_marks, outline_hull
from poise.solvers import race

HUMANOID = poise.load("humanoid")
PANDA = poise.load("panda")


def standing(**options) -> poise.Solution:
    """A humanoid with goals of all kinds that have a mark."""
    feet = [Reach(foot, HUMANOID.fk(HUMANOID.rest, foot)) for foot in ("foot_l", "foot_r")]
    ball = (0.4, 1.3, 0.4)
    goals = [Reach("hand_l", ball), LookAt("eyes", ball), Balance(["foot_l", "foot_r"]), Rest()]
    return poise.solve(HUMANOID, [*feet, *goals], **options)


def pixels(picture) -> np.ndarray:
    """The drawn picture, (height, width, 4)."""
    picture.figure.canvas.draw()
    return np.asarray(picture.figure.canvas.buffer_rgba())


@pytest.mark.parametrize("name", poise.models.names())
def test_every_body_is_drawn(name: str) -> None:
    seen = pixels(poise.plot(poise.load(name)))
    assert (seen[..., :3] < 200).any(axis=-1).sum() > 300


@pytest.mark.slow
def test_every_kind_of_thing_is_drawn(tmp_path: Path) -> None:
    recorded = standing(record=True)
    motion = poise.Motion(HUMANOID, recorded.history.q, 30)
    things = {
        "solution": standing(),
        "search": recorded,
        "pose": recorded.pose,
        "motion": motion,
        "single": motion[:1],
        "race": race(PANDA, methods=["lm", "dls"], problems=3),
        "map": poise.reach_map(PANDA, "panda_hand_tcp", 0.4, 4, 1),
        "flat map": poise.reach_map(poise.load("planar3"), "tip", 0.5, [(0, 0, 1)], 4),
        "bases": poise.base_map(PANDA, "panda_hand_tcp", np.diag([1.0, -1.0, -1.0, 1.0])[None], 0.4, 1),
        "several": {"lm": recorded, "again": recorded},
        "sticks": poise.Pose(poise.load("planar2")),
    }
    for name, thing in things.items():
        picture = poise.plot(thing, tmp_path / f"{name}.png", title=name)
        assert (tmp_path / f"{name}.png").stat().st_size > 3000
        assert picture._repr_png_().startswith(b"\x89PNG")
    _, section, colors = poise.plot(things["bases"]).figure.axes
    assert section.get_title(loc="left") == "section at z = 0 m"
    assert colors.get_ylabel() == "share of poses reached"
    assert poise.plot(recorded.pose).save(tmp_path / "pose.pdf").read_bytes().startswith(b"%PDF")
    assert not list(tmp_path.glob(".*"))  # nothing half-written


def test_objects_that_cannot_be_drawn_are_rejected() -> None:
    with pytest.raises(InvalidValue, match=r"cannot draw 3.*Solution"):
        poise.plot(3)
    with pytest.raises(InvalidValue, match=r"'clay'.*'body'"):
        poise.plot(HUMANOID, style="clay")


def test_a_body_stands_upright_along_its_own_up_axis() -> None:
    for model, frames in ((HUMANOID, ("foot_l", "head")), (PANDA, ("panda_link0", "panda_link4"))):
        low, high = (poise.Pose(model).position(frame) for frame in frames)
        flat = Camera().on(model).project([low, high])
        assert flat[1, 1] - flat[0, 1] > 0.3
        assert Camera().on(model).up == model.up
    assert Camera(up="x").on(HUMANOID).up == "x"


def test_depth_and_picture_are_the_two_halves_of_a_rotation() -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    for up in "xyz":
        camera = Camera(0.3, 0.4, up)
        both = np.concatenate([camera.project(points), camera.measure_depth(points)[:, None]], axis=1)
        assert np.allclose(both @ both.T, points @ points.T)


def test_goals_have_marks_where_they_have_a_place() -> None:
    kinds = [mark.kind for mark in find_marks(standing())]
    assert kinds == ["place", "place", "place", "gaze", "support", "mass"]
    placeless = [Distance("hand_l", "hand_r", 0.3), OnPlane("hand_l", (0, 0, 0.3), "z"), Rest()]
    ranged = Reach("hand_r", (-0.3, Range(1.0, 1.2), 0.3))
    assert not find_marks(poise.solve(HUMANOID, [*placeless, ranged]))
    mass = find_marks(poise.solve(HUMANOID, CenterOfMass((0.0, 1.0, 0.0))))
    assert [mark.kind for mark in mass] == ["mass"]


def test_a_missed_goal_is_marked_as_missed() -> None:
    target = (1.2, 0.0, 0.4)
    (mark,) = find_marks(poise.solve(PANDA, Reach("panda_hand_tcp", target)))
    assert not mark.reached
    assert np.allclose(mark.points[0], target)


def test_a_target_that_a_frame_carries_is_marked_where_it_is() -> None:
    goal = Reach("hand_r", (-0.3, 0.0, 0.0), relative_to="hand_l")
    solution = poise.solve(HUMANOID, [goal, Rest()])
    (mark,) = find_marks(solution)
    assert np.allclose(mark.points[0], solution.pose.transform("hand_l").apply((-0.3, 0.0, 0.0)))


def test_solids_of_a_file_are_drawn_as_they_are() -> None:
    builder = poise.ModelBuilder("box")
    builder.add_joint("a", None, "revolute")
    builder.add_joint("b", "a", "revolute", offset=(1, 0, 0))
    builder.add_frame("tip", "b", (1, 0, 0))
    builder.add_shape("a", Box((0.2, 0.4, 0.6)), color=(1, 0, 0))
    builder.add_shape("a", Cylinder(0.1, 0.5))
    builder.add_shape("a", Sphere(0.3))
    solids = find_solids(builder.build())
    assert [solid.kind for solid in solids if solid.frame == "a"] == ["box", "cylinder", "capsule"]
    assert solids[0].half == (0.1, 0.2, 0.3)
    assert solids[0].color == (1.0, 0.0, 0.0)
    assert not any(solid.frame == "b" for solid in solids)  # a part to which its file gives no looks has none
    meshed = find_solids(builder.add_shape("b", Mesh("b.stl")).build())
    assert [solid.kind for solid in meshed if solid.frame == "b"] == ["capsule"]


def test_limbs_meet_in_one_thickness() -> None:
    solids = {solid.frame: solid for solid in find_solids(HUMANOID)}
    assert solids["hip_l"].round[1] == pytest.approx(solids["knee_l"].round[0])


def test_a_hull_has_the_outer_corners_only() -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0]], dtype=float)
    assert sorted(find_ring(square)) == [0, 1, 2, 3]
    assert find_ring(square[:1]) == [0]
    assert sorted(find_ring(square[:2])) == [0, 1]
    assert np.allclose(outline_hull(np.insert(square, 1, 7.0, axis=1), 1, 0.5)[:, 1], 0.5)


@pytest.mark.slow
def test_faces_of_a_map_are_its_outside() -> None:
    found = poise.reach_map(PANDA, "panda_hand_tcp", 0.3, 4, 1)
    faces = find_faces(found)
    around = faces.corners - faces.corners.mean(axis=1, keepdims=True)
    turned = np.cross(around[:, 0], around[:, 1])  # counter-clockwise from outside
    assert ((turned * faces.normals).sum(axis=1) > 0.0).all()
    # Gauss: the flux of x / 3 through the outside is the volume inside
    flux = (faces.corners.mean(axis=1) * faces.normals).sum() / 3.0 * found.spacing**2
    assert flux == pytest.approx(found.volume)
    assert faces.shares.min() > 0.0
    half = find_faces(found, cut=(1, -1))
    middle = found.origin[1] + 0.5 * found.spacing * (found.shape[1] - 1)
    assert half.corners[..., 1].min() >= middle - 0.5 * found.spacing - 1e-9
    assert sum(len(triangles) for _, _, triangles, _ in group_faces(half)) == 2 * len(half.shares)
    assert not len(find_faces(found, least=1.0).shares)
