"""Pages: single files with a viewer, and two bodies next to each other."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.formats.units import scale_model
from poise.goals import Balance, LookAt, Reach, Rest
from poise.model.derive import with_example_poses
from poise.model.geometry.shapes import Box, Cylinder
from poise.motion import retarget
from poise.pages import Page, searches
from poise.pages.page import write_html
from poise.pages.pairs import find_places
from poise.pages.scene import LONGEST, leave_out_settings
from poise.pages.scenes import make_scene
from poise.pages.searches import thin_out
from poise.solvers import race
from walks import make_walk

HUMANOID = poise.load("humanoid")
PANDA = poise.load("panda")


def scene(page: Page) -> dict:
    """What the page plays."""
    (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(text)


def tracks(found: dict) -> np.ndarray:
    """Positions and quaternions, (frames, tracks, 7)."""
    numbers = np.frombuffer(base64.b64decode(found["data"]), dtype="<f4")
    return numbers.reshape(found["frames"], found["tracks"], 7)


def test_a_page_shows_the_pose() -> None:
    pose = poise.Pose(HUMANOID, HUMANOID.random(np.random.default_rng(3)))
    found = scene(poise.show(pose, browser=False))
    ways = tracks(found)
    assert found["up"] == "y"
    assert np.allclose(np.linalg.norm(ways[..., 3:], axis=-1), 1.0, atol=1e-6)
    assert np.abs(ways[0, :, :3] - pose.position("pelvis")).sum(axis=-1).min() < 1e-5


def test_a_search_plays_to_its_answer_and_brings_its_table() -> None:
    goals = [Reach("hand_l", (0.4, 1.3, 0.4)), LookAt("eyes", (0.4, 1.3, 0.4)), Balance(["foot_l", "foot_r"]), Rest()]
    solution = poise.solve(HUMANOID, goals, record=True)
    found = scene(poise.show(solution, browser=False, title="A hand"))
    assert found["frames"] == len(solution.history)  # the answer is its last pose, once
    assert found["title"] == "A hand"
    assert found["table"]["rows"][0][0] == "hand_l"
    assert {curve["name"] for curve in found["curves"]} >= {"hand_l [m]", "eyes [rad]"}
    assert found["words"] == ""


def test_a_miss_is_explained_on_the_page() -> None:
    missed = poise.solve(PANDA, Reach("panda_hand_tcp", (1.2, 0.0, 0.4)))
    assert "Proved out of reach" in scene(poise.show(missed, browser=False))["words"]
    words = leave_out_settings(
        "It is reached with max_steps=9.\nOr it would be reached with seed=1.\nAnother (seed=) might."
    )
    assert words == "It is reached by a longer search.\nAnother might."


def test_a_motion_plays_at_its_own_pace_and_a_long_one_is_thinned() -> None:
    q = np.repeat(np.array(PANDA.rest)[None], 9000, axis=0)
    found = scene(poise.show(poise.Motion(PANDA, q[:60], 24), browser=False))
    assert (found["frames"], found["fps"]) == (60, 24)
    long = scene(poise.show(poise.Motion(PANDA, q, 90), browser=False))
    assert (long["frames"], long["fps"]) == (3000, 30)
    assert "one in 3" in long["note"]


def test_a_race_shows_who_raced() -> None:
    found = scene(poise.show(race(PANDA, methods=["lm", "dls", "inverse"], problems=3), browser=False))
    assert [row[0] for row in found["table"]["rows"]] == ["lm", "dls"]
    assert [label["text"] for label in found["labels"]] == ["lm", "dls"]
    with pytest.raises(InvalidValue, match="nothing to show"):
        poise.show(race(PANDA, methods=["lm"], problems=1, recorded=0), browser=False)


def test_a_race_of_planar_arms_is_seen_from_above_with_thick_arms_and_names_apart() -> None:
    model = poise.load("planar3")
    found = scene(poise.show(race(model, methods=["lm", "dls", "qr", "svd", "sdls"], problems=3), browser=False))
    assert (found["azimuth"], found["elevation"]) == (pytest.approx(-np.pi / 2), 1.5), "x to the right, y up"
    radii = [solid[4] for solid in found["solids"] if solid[0] >= 0]
    assert np.min(radii) >= 0.019 * model.length
    at = np.array([label["at"] for label in found["labels"]])
    apart = np.abs(at[:, None] - at[None])[..., :2].max(axis=-1)[~np.eye(len(at), dtype=bool)]
    assert apart.min() > 0.5 * model.length
    assert found["box"][2] < 0.1 * model.length, "a table in the plane of the arms"


def test_a_page_asks_for_nothing_and_no_text_leaves_its_place(tmp_path: Path) -> None:
    page = poise.show(
        PANDA, tmp_path / "arm.html", title="</script><img src=http://a.b/c onerror=alert(1)>", note="<b>"
    )
    text = (tmp_path / "arm.html").read_text("utf-8")
    assert text == page.html
    assert page.path == tmp_path / "arm.html"
    assert "</script><img" not in text
    assert text.count("<script") == 2
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=\"?(?!data:)[^>\s]*//", text.split('id="scene"')[0])
    assert not list(tmp_path.glob(".*"))


def test_solids_of_a_file_and_their_colours_are_there() -> None:
    builder = poise.ModelBuilder("box")
    builder.add_joint("a", None, "revolute")
    builder.add_frame("tip", "a", (1, 0, 0))
    builder.add_shape("a", Box((0.2, 0.4, 0.6)), color=(1, 0, 0))
    builder.add_shape("a", Cylinder(0.1, 0.5))
    found = scene(poise.show(builder.build(), browser=False))
    box, cylinder = found["solids"]
    assert (box[1], cylinder[1]) == (2, 1)
    assert box[3] == [0.1, 0.2, 0.3]
    assert box[5] == [1, 0, 0, 1]
    assert found["box"] == pytest.approx([0.1, 0.2, 0.3])


def test_objects_that_cannot_be_shown_are_rejected() -> None:
    with pytest.raises(InvalidValue, match=r"cannot show 'humanoid'.*Motion"):
        poise.show("humanoid", browser=False)


def test_a_browser_opens_only_where_there_is_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("poise.pages.page.has_display", lambda: False)
    assert poise.show(PANDA).path is None
    monkeypatch.setattr("poise.pages.page.has_display", lambda: True)
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: str(tmp_path))
    assert poise.show(PANDA).path == tmp_path / "page.html"
    poise.show(PANDA, tmp_path / "quiet.html")
    assert opened == [(tmp_path / "page.html").as_uri()]


def test_a_notebook_gets_a_frame() -> None:
    page = poise.show(PANDA, browser=False)
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "kB, not written" in repr(page)


def test_a_notebook_cell_shows_the_body() -> None:
    model = poise.load("planar3")
    motion = poise.Motion(model, np.zeros((2, 3)))
    for thing in (poise.Pose(model), motion):
        message = thing._repr_html_()
        assert message is not None
        assert "<iframe" in message
    assert poise.Motion(model, np.zeros((0, 3)))._repr_html_() is None


@pytest.mark.parametrize("name", poise.models.names())
def test_a_notebook_cell_shows_a_model_and_its_joints(name: str) -> None:
    model = poise.load(name)
    message = model._repr_html_()
    assert "<iframe" in message
    assert f"<td>{model.joints[0].name}</td>" in message
    assert len(message) < 200_000
    assert message == model._repr_html_()  # made once


@pytest.mark.slow
def test_a_notebook_keeps_a_still_picture_of_a_body_with_large_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'poise-ik[studio]'")
    monkeypatch.setattr("poise.pages.notebook.MOST_CHARACTERS", 1000)
    message = poise.load("planar3").with_frame("here", "tip", np.eye(4))._repr_html_()
    assert '<img src="data:image/png;base64,' in message
    assert "<iframe" not in message


def test_a_notebook_says_a_model_in_words_where_nothing_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.pages.notebook.MOST_CHARACTERS", 1000)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = poise.load("planar3").with_frame("there", "tip", np.eye(4))._repr_html_()
    assert "<td>joint_1</td>" in message
    assert "<img" not in message


def test_long_clips_are_thinned_out_and_keep_their_ends() -> None:
    assert thin_out(10).tolist() == list(range(10))
    many = thin_out(28884)
    assert len(many) == LONGEST
    assert many[0] == 0
    assert many[-1] == 28883


def test_a_search_and_its_curves_have_the_same_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "LONGEST", 5)
    model = poise.load("planar3")
    solution = poise.solve(model, [Reach("tip", (1.2, 1.5))], method="gradient", record=True)
    found = searches.show_solution(solution)
    assert {len(curve["values"]) for curve in found.curves} == {found.frames} == {5}


def test_numbers_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(InvalidValue, match="not finite"):
        write_html({"x": float("inf")})


@pytest.fixture(scope="module")
def data():
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += np.linspace(0.0, 20.0, 60)  # far away
    return make_scene(retarget(poise.Motion(walk.model, q, walk.fps), poise.load("humanoid", scale=0.9))).to_data()


@pytest.mark.slow
def test_the_camera_goes_along_with_both_bodies(data):
    path = np.frombuffer(base64.b64decode(data["follow"]), "<f4").reshape(-1, 3)
    assert len(path) == data["frames"]
    assert np.ptp(path, axis=0).max() > 10.0
    assert max(data["box"]) < 3.0  # m: half of what is seen
    assert data["radius"] > 8.0  # the ground is as long as the way


def test_a_scene_that_follows_nothing_sees_everything():
    data = make_scene(make_walk(60)).to_data()
    assert data["follow"] == ""
    assert data["ground"] == data["middle"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_both_are_seen_in_whatever_unit_the_source_is(unit):
    """A recording in centimetres is no giant, and one in kilometres no dot, beside the body that it is carried to."""
    walk = make_walk(20)
    q = np.array(walk.q)
    q[:, :3] /= unit
    source = poise.Motion(poise.load("humanoid", scale=1.0 / unit), q, walk.fps)
    both = make_scene(retarget(source, poise.load("humanoid"))).to_data()
    assert 0.8 < max(both["box"]) < 3.0  # m: half of what is seen


@pytest.mark.slow
def test_both_go_in_step_however_far():
    """A body that is half as large goes half as far: the page does not have to show more for a longer way."""
    walk = make_walk(60)
    q = np.array(walk.q)
    q[:, 2] += np.linspace(0.0, 20.0, 60)
    carried = retarget(poise.Motion(walk.model, q, walk.fps), poise.load("humanoid", scale=0.5))
    assert max(make_scene(carried).to_data()["box"]) < 1.5  # m: half of what is seen


def test_what_stands_still_does_not_count():
    builder = poise.ModelBuilder("on a stage")
    builder.add_frame("world", None)
    builder.add_joint("pelvis", "world", "free")
    builder.add_frame("head", "pelvis", (0.0, 0.0, 0.5))
    model = builder.build()
    q = np.tile(model.rest, (5, 1))
    q[:, 0] = 7.0
    places = find_places(poise.Motion(model, q, 30.0))
    assert places[..., 0] == pytest.approx(np.full((5, 2), 7.0))


def test_a_body_in_another_unit_looks_the_same():
    """Also one whose rest pose does not stand, so that its clip tells its parts, as recordings of LAFAN1."""
    clip = make_walk(5)
    model = with_example_poses(clip.model, clip.q)
    other = scale_model(model, 0.5)
    heads = [body.fk(body.example_poses, "head")[:, :3, 3] for body in (model, other)]
    assert heads[1] == pytest.approx(0.5 * heads[0])
