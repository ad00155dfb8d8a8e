"""A clip carried over in the studio: both bodies play in step, a pair is mended, the result is saved."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue
from poise.studio import Studio
from poise.studio.clips.player import sample
from poise.studio.clips.second_body import SecondBody
from poise.studio.downloads import list_motion_kinds, make_motion_file, name_motion_file
from waiting import wait_until
from walkers import make_character, make_machine
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with Studio(make_walk(), port=18065, shadows=False, onto=make_machine()) as running:
        running.session.player.stop()
        yield running


@pytest.fixture
def second(studio: Studio) -> SecondBody:
    """The machine next to the body that walks, with the clip on it."""
    found = studio.second_body
    assert wait_until(lambda: found.background.task is None)
    if found.model is None or found.model.name != "machine":
        assert studio.carry(make_machine())
    assert wait_until(lambda: found.carried is not None and found.background.task is None)
    return found


def read_lines(second: SecondBody) -> np.ndarray:
    """Return where the lines between parts end."""
    return np.array(second._lines[0].points)


def test_both_play_in_step_and_lines_join_their_parts(studio: Studio, second: SecondBody) -> None:
    assert second.carried is not None
    assert second.mapping is not None
    for seconds in (0.0, 1.1, 3.2):
        studio.session.player.show_at(seconds)
        q = sample(second.carried.result.motion, studio.session.player.seconds)
        knee = second.mapping.find("knee_l")
        line = list(second.mapping).index(knee)

        def is_there(q: Any = q, line: int = line, knee: Any = knee) -> bool:
            assert second.model is not None
            assert second.view is not None
            row = second.model.frames.index(knee.target)
            wanted = (second._world @ second.model.fk(q, knee.target))[:3, 3]
            shown = np.abs(second.view.places[row, :3, 3] - wanted).max() < 1e-9
            own = studio.puppet.pose.position(knee.source)
            ends = read_lines(second)[line]
            return bool(shown and np.abs(ends - [own, wanted]).max() < 1e-5)

        assert wait_until(is_there)
    assert len(read_lines(second)) == len(second.mapping)


def test_the_view_frames_both_bodies(studio: Studio, second: SecondBody) -> None:
    assert second.view is not None
    assert second.model is not None
    scenery = studio.session.scenery
    points, both = scenery.view.sample_points(studio.model.fk(studio.puppet.q)), scenery.find_points()
    other = second.view.sample_points(second._world @ second.model.fk(np.array(second.model.rest)))
    middle = np.array([points.mean(axis=0), other.mean(axis=0)])
    assert np.linalg.norm(np.ptp(middle, axis=0)) > 0.3
    assert (both.min(axis=0) <= middle.min(axis=0)).all()
    assert (both.max(axis=0) >= middle.max(axis=0)).all()


def test_the_result_holds_its_feet_and_the_table_says_so(studio: Studio, second: SecondBody) -> None:
    assert second.carried is not None
    assert second.carried.after.slip_max < 0.01
    report = studio.panel.motion.carry.report
    assert wait_until(lambda: "slip, mean" in report.content)  # the panel follows the background task
    assert "source" in report.content


def test_a_mended_pair_is_solved_again(studio: Studio, second: SecondBody) -> None:
    carry, before = studio.panel.motion.carry, second.carried
    assert second.mapping is not None
    assert before is not None
    usual = second.mapping.find("elbow_l")
    carry.picked = usual.source
    carry.on_second("left_wrist_yaw", None)  # the second of two clicks
    assert second.mapping.find("elbow_l").target == "left_wrist_yaw"
    assert wait_until(lambda: second.carried is not before and second.background.task is None)
    assert second.carried is not None
    assert second.carried.result.mapping.find("elbow_l").target == "left_wrist_yaw"
    assert carry.part.value == "elbow_l"
    assert carry.target.value == "left_wrist_yaw"
    mended = second.carried
    carry.target.value = usual.target  # the same by the lists
    carry.on_pair(None)
    assert wait_until(lambda: second.carried is not mended and second.background.task is None)
    assert second.carried is not None
    assert np.abs(second.carried.result.motion.q - before.result.motion.q).max() < 1e-9


def test_a_second_click_does_not_solve_it_twice(second: SecondBody) -> None:
    assert second.solve()
    assert not second.solve()
    assert second.background.cancel()
    assert second.background.task is None


def test_the_clip_that_changed_is_reported(studio: Studio, second: SecondBody) -> None:
    assert not second.stale
    studio.session.editing.find_contacts()
    assert wait_until(lambda: studio.session.editing.background.task is None)
    assert studio.session.editing.state is not None
    assert studio.session.editing.state.contacts is not None
    assert not second.stale  # contacts are found, the motion is the same
    assert studio.session.editing.lock_feet()
    assert wait_until(lambda: studio.session.player.edited)
    assert second.stale
    assert wait_until(lambda: "has changed" in studio.panel.motion.carry.words.content)
    while studio.undo():
        pass


def test_a_body_that_does_not_walk_is_rejected_in_words(studio: Studio, second: SecondBody) -> None:
    model = second.model
    assert studio.carry("quadruped")
    assert wait_until(lambda: second.background.refused)
    assert "two legs" in second.background.refused
    assert second.model is model  # what stood there stays
    assert wait_until(lambda: "two legs" in studio.panel.motion.carry.words.content)


def test_a_second_body_is_opened_from_a_file_and_removed(studio: Studio, tmp_path: Path) -> None:
    walk = make_walk()
    poise.save(walk[0:5], tmp_path / "walker.bvh")
    found = studio.second_body
    assert wait_until(lambda: found.background.task is None)
    assert found.open_upload("walker.bvh", (tmp_path / "walker.bvh").read_bytes())
    assert wait_until(lambda: found.carried is not None and found.background.task is None and found.model is not None)
    assert found.model is not None
    assert found.model.name == "walker"
    folder = Path(found.model.source).parent
    assert folder.exists()
    studio.panel.motion.carry.on_leave()
    assert found.model is None
    assert found.view is None
    assert not folder.exists()


def test_the_result_is_saved_as_others_write_it(second: SecondBody, tmp_path: Path) -> None:
    assert second.carried is not None
    motion = second.carried.result.motion
    kinds = list_motion_kinds(motion.model)
    assert {"BVH", "GLB", "Unitree (CSV)", "GMR (NPZ)", "Table (CSV)"} <= set(kinds)
    rows = np.loadtxt(io.BytesIO(make_motion_file(motion, "Unitree (CSV)")), delimiter=",")
    assert rows.shape == (len(motion), 7 + motion.model.nq - 7)
    with np.load(io.BytesIO(make_motion_file(motion, "GMR (NPZ)"))) as found:
        assert set(found) == {"fps", "root_pos", "root_rot", "dof_pos", "joint_names"}
    for kind, ending in kinds.items():
        path = tmp_path / name_motion_file(motion.model, kind, "_carried")
        assert path.suffix == ending
        if kind in ("BVH", "GLB"):
            path.write_bytes(make_motion_file(motion, kind))
            assert len(poise.load_motion(path)) == len(motion)


def test_a_motion_is_saved_in_its_own_format_first() -> None:
    assert next(iter(list_motion_kinds(make_character()))) == "BVH"
    assert "Unitree (CSV)" not in list_motion_kinds(poise.load("panda"))


def test_carrying_needs_a_clip(studio: Studio) -> None:
    studio.second_body.remove()
    motion = studio.session.player.motion
    studio.session.player.open(None)
    with pytest.raises(InvalidValue, match="no motion"):
        studio.carry("humanoid")
    studio.session.player.open(motion)


def test_a_studio_that_cannot_retarget_raises_before_it_opens(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no motion"):
        Studio("humanoid", port=18067, onto="humanoid")
    with pytest.raises(FormatError, match="nowhere"):
        Studio(make_walk(), port=18067, onto=tmp_path / "nowhere.urdf")


def test_the_command_carries_a_clip_onto_another_body(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from poise.cli.app import app
    from poise.studio.web import studio

    opened: list[Any] = []

    class Nothing:
        """A studio that opens nothing."""

        def __init__(self, thing: poise.Motion, *, onto: str | None = None, **_: object) -> None:
            opened.append((thing, onto))
            self.url, self.port, self.model = "", 0, thing.model

        def wait(self) -> None:
            """Come back at once."""

    monkeypatch.setattr(studio, "Studio", Nothing)
    poise.save(make_walk(), tmp_path / "walk.bvh")
    shown = CliRunner().invoke(app, ["studio", str(tmp_path / "walk.bvh"), "--no-open", "--onto", "g1.xml"])
    assert shown.exit_code == 0, shown.output
    assert opened[0][1] == "g1.xml"
