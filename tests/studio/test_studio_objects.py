"""Objects and reach maps in the studio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.kinematics import MotionWithObjects
from poise.model import Box, Sphere
from poise.studio.clips.keys import PoseKey
from poise.studio.clips.timeline import ClipState, cut_clip, lock_feet, put_keys
from poise.studio.downloads import list_motion_kinds, make_motion_file
from poise.studio.scene.objects_view import sample_object
from poise.studio.showable import read_opening
from poise.studio.web.studio import Studio
from waiting import wait_until
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")


def make_scene(frames: int = 40) -> MotionWithObjects:
    """A walk next to a ball that rolls and turns, and a shelf that lies deeper than the feet."""
    walk = make_walk(frames)
    T = np.tile(np.eye(4), (frames, 1, 1))
    T[:, 2, 3] = np.linspace(0.0, 1.0, frames)
    T[:, :3, :3] = poise.Rotation.from_vector(np.linspace(0.0, 2.0, frames)[:, None] * np.eye(3)[0]).matrix
    ball = poise.Object(Sphere(0.1), T, name="ball", fps=30)
    shelf = poise.Object(Box((0.9, 0.05, 0.3)), poise.Transform(None, (1.0, -0.5, 0.0)), name="shelf", color=(1, 0, 0))
    return MotionWithObjects(walk.model, walk.q, walk.fps, [ball, shelf])


@pytest.fixture(scope="module")
def scene() -> MotionWithObjects:
    return make_scene()


@pytest.fixture(scope="module")
def studio(scene: MotionWithObjects) -> Iterator[Studio]:
    with Studio(scene, port=18073, shadows=False) as running:
        running.session.player.stop()
        yield running


def read_places(studio: Studio) -> np.ndarray:
    """Return where the objects stand in the scene, (n, 4, 4)."""
    nodes = studio.session.objects_view.nodes
    out = np.tile(np.eye(4), (len(nodes), 1, 1))
    for T, node in zip(out, nodes, strict=True):
        T[:3, :3], T[:3, 3] = poise.Rotation(node.wxyz).matrix, node.position
    return out


@pytest.mark.slow
def test_objects_stand_where_the_clip_has_them_at_every_time(studio, scene):
    for frame in (0, 7, len(scene) - 1):
        studio.session.player.show_at(frame / scene.fps)
        wanted = np.array([each.transforms[frame] for each in scene.objects])

        def is_there(wanted: np.ndarray = wanted) -> bool:
            return bool(np.abs(read_places(studio) - wanted).max() < 1e-5)

        assert wait_until(is_there)
    between = sample_object(scene, scene.objects[0], 7.25 / scene.fps)
    low, high = scene.objects[0].transforms[7:9]
    assert between[:3, 3] == pytest.approx(0.75 * low[:3, 3] + 0.25 * high[:3, 3])
    turn = [poise.Rotation.from_matrix(T[:3, :3]).angle for T in (low, between, high)]
    assert turn[1] == pytest.approx(0.75 * turn[0] + 0.25 * turn[2])
    assert sample_object(scene, scene.objects[0], 1e9) == pytest.approx(scene.objects[0].transforms[-1])


@pytest.mark.slow
def test_the_floor_lies_under_the_objects_too(studio):
    assert studio.session.scenery.floor == pytest.approx(-0.525, abs=1e-3)


@pytest.mark.slow
def test_edits_keep_the_objects_and_files_hold_them(scene, tmp_path: Path):
    state = ClipState(scene, scene, scene)
    pose = scene[10].replace({"elbow_l": -1.0}).q
    keyed = put_keys(state, [PoseKey(10, pose, names=("elbow_l",))])
    for changed in (lock_feet(state), keyed, put_keys(keyed, ()), cut_clip(keyed, 5, 20)):
        assert [each.name for each in changed.motion.objects] == ["ball", "shelf"]
        assert len(changed.motion.objects[0].transforms) == len(changed.motion)
    assert keyed.motion.objects[0].transforms is scene.objects[0].transforms
    kind = next(kind for kind in list_motion_kinds(scene.model) if "GLB" in kind or "glTF" in kind)
    (tmp_path / "both.glb").write_bytes(make_motion_file(keyed.motion, kind))
    assert {"ball", "shelf"} <= set(poise.load_motion(tmp_path / "both.glb").model.frames)


@pytest.mark.slow
def test_a_saved_file_shows_body_and_objects(studio, scene, tmp_path: Path):
    poise.save(scene, tmp_path / "both.glb")
    studio.show(tmp_path / "both.glb")
    studio.session.player.stop()
    assert not studio.session.objects_view.nodes  # they are parts of what the file describes
    assert wait_until(lambda: studio.session.view.dressed is not None)
    carried = set(studio.session.view.dressed.carried)
    assert {"ball", "shelf"} <= carried
    assert {"shoulder_l", "knee_r"} <= carried  # and the body is seen next to them
    studio.show(scene)
    studio.session.player.stop()
    assert wait_until(lambda: len(studio.session.objects_view.nodes) == 2)
    studio.show("panda")
    assert not studio.session.objects_view.nodes


UR5E = poise.load("ur5e")


@pytest.fixture(scope="module")
def found() -> poise.ReachMap:
    return poise.reach_map(UR5E, "tool0", 0.4, 4, 1)


def test_a_map_opens_its_body(found: poise.ReachMap, tmp_path: Path) -> None:
    path = poise.save(found, tmp_path / "map.npz")
    for thing in (found, path):
        opening = read_opening(thing)
        assert opening.model is UR5E
        assert opening.map is not None
        np.testing.assert_array_equal(opening.map.reached, found.reached)


def test_a_map_of_an_unknown_body_is_rejected(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("own")
    builder.add_joint("a", None, "revolute", lower=-1, upper=1)
    builder.add_frame("tip", "a", (1, 0, 0))
    own = builder.build()
    path = poise.save(poise.reach_map(own, "tip", 0.5, 0), tmp_path / "own.npz")
    with pytest.raises(InvalidValue, match="open that body first"):
        read_opening(path)
    assert read_opening(path, own).model is own


@pytest.mark.slow
def test_the_studio_draws_a_map_and_takes_it_away(found: poise.ReachMap) -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    from poise.studio.web.studio import Studio

    with Studio(found, port=18066, shadows=False) as studio:
        view = studio.session.map_view
        corners = np.concatenate([node.vertices for node in view._nodes])
        half = found.origin + 0.5 * found.spacing * (np.array(found.shape) - 1)
        assert corners[:, 0].max() <= half[0] + 0.5 * found.spacing + 1e-6  # cut open towards the camera
        view.open.value = False
        view.draw()
        whole = sum(len(node.faces) for node in view._nodes)
        assert max(node.vertices[:, 0].max() for node in view._nodes) > half[0] + found.spacing
        view.least.value = 0.6
        view.draw()
        assert 0 < sum(len(node.faces) for node in view._nodes) < whole
        view.shown.value = False
        view.draw()
        assert not view._nodes
        studio.show("planar2")
        assert view.map is None
        assert view._folder is None
