"""Click a part of the body and turn it: the ray finds the part, the rings turn its joint inside its range, alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
from poise.model.geometry.looks import deform
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import find_pieces
from poise.pictures.rays import find_hit, meet_triangles
from poise.spatial import Rotation
from poise.studio import Studio
from poise.studio.panel.coordinates import find_dials
from poise.studio.scene.joint_turn import Turn, find_turning_joint

BODIES = ("humanoid", "panda", "quadruped", "tree30", "hand")


def test_a_ray_meets_the_nearest_triangle() -> None:
    rng = np.random.default_rng(2)
    points, triangles = rng.normal(size=(60, 3)), rng.integers(0, 60, (40, 3))
    triangles = triangles[[len(set(row)) == 3 for row in triangles.tolist()]]
    for _ in range(50):
        origin, direction = rng.normal(size=3) * 5.0, rng.normal(size=3)
        far, first = meet_triangles(points, triangles, origin, direction)
        known = []
        for k, (a, b, c) in enumerate(points[triangles]):
            t, u, v = np.linalg.solve(np.stack([-direction, b - a, c - a], axis=1), origin - a)
            if t > 0 and u >= 0 and v >= 0 and u + v <= 1:
                known.append((t, k))
        assert (far, first) == pytest.approx(min(known, default=(np.inf, -1)))
    assert meet_triangles(points, np.zeros((0, 3), int), np.zeros(3), np.ones(3)) == (np.inf, -1)


@pytest.mark.parametrize("name", BODIES)
def test_a_click_on_a_part_that_nothing_hides_finds_it(name: str) -> None:
    model = poise.load(name)
    T = model.fk(np.array(model.rest))
    found = 0
    for part in find_flesh(model):
        at = T[model.frames.index(part.frame)]
        corners = part.surface.vertices @ at[:3, :3].T + at[:3, 3]
        a, b, c = corners[part.surface.faces[len(part.surface.faces) // 2]]
        out = np.cross(b - a, c - a)
        middle = (a + b + c) / 3
        out *= np.sign(out @ (middle - corners.mean(axis=0))) / np.linalg.norm(out)
        found += find_hit(model, T, middle + 1e-4 * model.length * out, -out) == part.frame
        assert find_hit(model, T, middle + 50.0 * model.length * out, out) is None
    assert found >= 0.8 * len(find_flesh(model))  # joints are covered by the flesh next to them


@pytest.mark.slow
def test_a_click_on_a_skin_finds_the_bone_that_moves_it_most(tmp_path: Path) -> None:
    file, _, joints, weights = made.strip(4, 4)
    model = poise.load(file.glb(tmp_path / "strip.glb"))
    bend, ahead = np.array(model.rest), np.array((0.0, 0.0, 1.0))
    for q in (bend, model.integrate(bend, 0.1 * np.random.default_rng(1).standard_normal(model.nv))):
        T = model.fk(q)
        piece = next(piece for piece in find_pieces(model) if piece.skin is not None)
        placed = deform(piece, model.frames, T)
        for corners in np.asarray(piece.patch.triangles)[::3]:
            middle = placed[corners].mean(axis=0)
            sums = np.bincount(joints[corners].ravel(), weights[corners].ravel())
            assert find_hit(model, T, middle + 9.0 * ahead, -ahead) == f"bone_{sums.argmax()}"


def test_a_click_on_a_robots_mesh_finds_its_link(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    T = model.fk(np.array(model.rest))
    for piece in find_pieces(model):
        placed = deform(piece, model.frames, T)
        a, b, c = placed[np.asarray(piece.patch.triangles)[0]]
        out = np.cross(b - a, c - a)
        out *= 1e-5 / np.linalg.norm(out)
        start = (a + b + c) / 3 + out
        assert find_hit(model, T, start, -out) == piece.frame


def is_at_end(model: poise.Model, joint: str, q: np.ndarray) -> bool:
    """Tell whether a hinge stands at an end of its range."""
    found = model.joint(joint)
    return bool(np.isclose(q[found.q], found.lower).any() or np.isclose(q[found.q], found.upper).any())


@pytest.mark.parametrize("name", BODIES)
def test_rings_turn_their_joint_alone_and_inside_its_range(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(4)
    turning = sorted({dial.joint for dial in find_dials(model, 1.0) if not dial.slides})
    for joint in rng.choice(np.array(turning), min(8, len(turning)), replace=False).tolist():
        q = model.clamp(model.integrate(np.array(model.rest), 0.1 * rng.standard_normal(model.nv)))
        turn = Turn(model, joint, 1.0)
        turn.begin(q)
        first = turn.place(model.fk(q))
        axis = first[:3, 2]
        for angle in (0.05, -0.05, 9.0):
            after = turn.follow(q, Rotation.from_vector(angle * axis).matrix @ first[:3, :3])
            now = turn.place(model.fk(after))
            if turn.hinge and abs(angle) < 1.0 and not is_at_end(model, joint, after):
                done = (Rotation.from_matrix(now[:3, :3]) @ Rotation.from_matrix(first[:3, :3]).inverse()).log() @ axis
                assert done == pytest.approx(angle, abs=1e-6)
            moved = np.abs(model.difference(q, after)) > 1e-9
            assert not np.delete(moved, range(*model.joint(joint).v.indices(model.nv))).any()
            assert model.clamp(after) == pytest.approx(after, abs=1e-9)


def test_a_hinge_that_is_pulled_far_beyond_its_end_stays_there() -> None:
    model = poise.load("panda")
    turn, q = Turn(model, "panda_joint4", 1.0), np.array(model.rest)
    assert turn.hinge
    turn.begin(q)
    first = turn.place(model.fk(q))[:3, :3]
    index = model.joint("panda_joint4").q.start
    values = []
    for angle in np.linspace(0.0, 7.0, 40):
        q = turn.follow(q, Rotation.from_vector(angle * first[:, 2]).matrix @ first)
        values.append(q[index])
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] == pytest.approx(model.upper[index])


def test_a_ball_joint_reaches_its_target_rotation() -> None:
    model = poise.load("tree30")
    joint = next(j.name for j in model.joints if j.kind == "ball")
    turn, q = Turn(model, joint, 1.0), np.array(model.rest)
    assert not turn.hinge
    turn.begin(q)
    R = Rotation.from_vector((0.3, -0.2, 0.4)).matrix @ turn.place(model.fk(q))[:3, :3]
    assert turn.place(model.fk(turn.follow(q, R)))[:3, :3] == pytest.approx(R, abs=1e-3)


def test_a_part_that_slides_is_turned_by_the_joint_above() -> None:
    builder = poise.ModelBuilder()
    builder.add_joint("turn", None, "revolute")
    builder.add_joint("slide", "turn", "prismatic", lower=0.0, upper=1.0)
    builder.add_joint("only", None, "prismatic", lower=0.0, upper=1.0)
    model = builder.build()
    assert find_turning_joint(model, "slide", 1.0) == "turn"
    assert find_turning_joint(model, "only", 1.0) is None


# ------------------------------------------------------------------------------------------------ in the studio


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio("panda", port=18063, shadows=False) as running:
        yield running


def click(studio: Studio, frame: str) -> None:
    """Click where a frame is, from the side on which the flesh is its own."""
    part = next(part for part in find_flesh(studio.model) if frame in part.parts)
    at = studio.session.view.places[studio.model.frames.index(part.frame)]  # what is seen
    middle = at[:3, :3] @ part.surface.vertices.mean(axis=0) + at[:3, 3]
    studio.panel.joints.rings.click(7, middle + np.array((0.0, -9.0, 0.0)), np.array((0.0, 1.0, 0.0)))


@pytest.mark.slow
def test_one_drag_of_a_ring_is_one_change_and_moves_the_sliders(studio: Studio) -> None:
    tab, rings = studio.panel.joints, studio.panel.joints.rings
    click(studio, "panda_link5")
    turn = rings.turns[7]
    assert [dial.joint for dial, slider in zip(tab.dials, tab.sliders, strict=True) if slider.visible] == [turn.joint]
    before = studio.puppet.q.copy()
    for drag in range(2):
        first = turn.place(studio.model.fk(studio.puppet.q))[:3, :3]
        for k, phase in enumerate(("start", "update", "update", "end")):
            rings.turn(7, phase, Rotation.from_vector(0.1 * k * first[:, 2]).matrix @ first)
        index = studio.model.joint(turn.joint).q.start
        assert studio.puppet.q[index] == pytest.approx(before[index] + 0.3 * (drag + 1), abs=1e-6)
    end = time.monotonic() + 10.0
    slider = next(s for d, s in zip(tab.dials, tab.sliders, strict=True) if d.joint == turn.joint)
    while abs(slider.value - np.degrees(studio.puppet.q[index])) > 0.2 and time.monotonic() < end:
        time.sleep(0.02)
    assert slider.value == pytest.approx(np.degrees(studio.puppet.q[index]), abs=0.2)
    assert studio.undo()
    assert studio.puppet.q[index] == pytest.approx(before[index] + 0.3, abs=1e-6)
    assert studio.undo()
    assert studio.puppet.q == pytest.approx(before)


@pytest.mark.slow
def test_rings_are_put_away(studio: Studio) -> None:
    rings = studio.panel.joints.rings
    for away in (
        lambda: rings.click(7, np.array((90.0, 90.0, 90.0)), np.array((1.0, 0.0, 0.0))),
        lambda: studio.panel.select(7, "panda_hand_tcp"),
        lambda: rings.put_away(7),
        lambda: studio.show("planar3"),
    ):
        click(studio, "panda_link5")
        assert 7 in rings.turns
        away()
        assert 7 not in rings.turns
    assert all(slider.visible for slider in studio.panel.joints.sliders)


@pytest.mark.slow
def test_a_click_on_a_handle_pins_it_or_turns_the_part_beneath(studio: Studio) -> None:
    studio.show("panda")
    rings, handle = studio.panel.joints.rings, "panda_hand_tcp"
    for heard in (True, False):
        rings.listen(heard)
        studio.show("panda")  # another body keeps what was asked
        studio.session.grips.click(handle, 7)
        assert (handle in studio.puppet.fixed) is not heard
    studio.puppet.release()
    studio.session.grips.owners[handle] = 7
    click(studio, "panda_link5")
    assert 7 not in rings.turns  # the mouse has something else in hand
    studio.session.grips.owners[handle] = 8
    click(studio, "panda_link5")
    assert 7 in rings.turns  # somebody else's mouse
    studio.session.grips.owners.clear()


def test_a_click_that_is_waited_for_turns_nothing(studio: Studio) -> None:
    rings = studio.panel.joints.rings
    rings.put_away(7)
    studio.session.view.pick([].append)
    click(studio, "panda_link5")
    assert 7 not in rings.turns
    studio.session.view.stop_picking()
    click(studio, "panda_link5")  # the click that was waited for is heard by the scene as well
    assert 7 not in rings.turns
