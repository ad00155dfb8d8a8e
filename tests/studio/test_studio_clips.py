"""Clips in the studio: opened and played, edited by hand, saved as they are seen, in their own format."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import PoiseError
from poise.studio import Studio
from poise.studio.clips.edits import ClipEditor
from poise.studio.clips.player import Player
from poise.studio.clips.timeline import ClipState, cut_clip
from poise.studio.puppet import Puppet
from waiting import wait_until
from walks import make_swing, make_walk, put_skate_in

FPS = 30.0


class Stand:
    """A body that is put somewhere, as a session does."""

    def __init__(self) -> None:
        self.q = np.zeros(0)

    def place(self, q: np.ndarray) -> None:
        """Note where the body is put."""
        self.q = q


@pytest.fixture
def stand() -> Stand:
    return Stand()


@pytest.fixture
def player(stand: Stand) -> Player:
    made = Player(stand.place)
    made.open(make_swing())
    return made


def seen(player: Player) -> poise.Motion:
    """Return the motion that is played."""
    assert player.motion is not None
    return player.motion


# ------------------------------------------------------------------------------------------------ the player


def test_standing_still_is_on_a_frame_and_steps_by_frames(player: Player, stand: Stand) -> None:
    player.show_at(0.5 + 0.4 / FPS)
    assert np.array_equal(stand.q, seen(player).q[15])
    player.step_frames(1)
    assert np.array_equal(stand.q, seen(player).q[16])
    player.step_frames(-100)
    assert np.array_equal(stand.q, seen(player).q[0])


@pytest.mark.slow
def test_only_the_part_between_in_and_out_is_played(player: Player) -> None:
    player.set_part(0.5, 1.0)
    seen_at: list[float] = []
    player.changed.append(lambda what: seen_at.append(player.seconds) if player.playing and what == "time" else None)
    player.speed = 2.0
    player.play()
    assert wait_until(lambda: len(seen_at) > 60)
    player.stop()
    assert min(seen_at) >= 0.5
    assert max(seen_at) <= 1.0
    player.set_part(start=1.5)  # an in point behind the out point takes it along
    assert player.start < player.end <= player.duration
    player.set_part(end=0.0)
    assert 0.0 <= player.start < player.end


@pytest.mark.slow
def test_a_clip_that_does_not_loop_stops_at_the_out_point(player: Player, stand: Stand) -> None:
    player.loop, player.speed = False, 2.0
    player.set_part(0.0, 0.5)
    player.play()
    assert wait_until(lambda: not player.playing)
    assert player.seconds == pytest.approx(0.5)
    assert np.array_equal(stand.q, seen(player).q[15])


class TurnLock:
    """A lock after each release of which another thread takes its turn."""

    def __init__(self) -> None:
        self.depth, self.turn = 0, lambda: None

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        if self.depth == 1:
            self.turn()  # which takes the lock once more
        self.depth -= 1


def test_a_frame_during_undo_and_redo_makes_no_key() -> None:
    clip, lock = make_swing(), TurnLock()
    puppet = Puppet(clip.model)
    player = Player(puppet.start_at, lock)
    editing = ClipEditor(player, lambda: puppet, lock)
    player.open(clip)
    player.show_at(1.0)
    assert editing.change(lambda state: cut_clip(state, 10, 50))
    lock.turn = editing.keep  # as the thread of a session does after a frame
    assert editing.undo()
    assert editing.background.task is None
    assert not editing.undo()
    assert editing.redo()
    assert editing.background.task is None
    assert not editing.redo()


# ------------------------------------------------------------------------------------------------ in the studio


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio(make_swing(), port=18060, shadows=False) as running:
        yield running


def wait_still(studio: Studio) -> None:
    """Wait until what is seen of the clip has not changed for a while: the body settles after it is let go."""
    shown = seen(studio.session.player).q.copy()
    for _ in range(100):
        time.sleep(0.2)
        before, shown = shown, seen(studio.session.player).q.copy()
        if np.array_equal(before, shown):
            return


def drag_hand(studio: Studio, by: tuple[float, float, float]) -> np.ndarray:
    """Drag the right hand at one second of the clip, let go, and return where to."""
    studio.session.player.open(make_swing())
    studio.session.player.show_at(1.0)
    place = studio.puppet.transform("hand_r")[:3, 3] + np.array(by)
    studio.puppet.hold("hand_r", place)
    studio.session.touch(time.perf_counter())
    assert wait_until(lambda: np.linalg.norm(studio.puppet.transform("hand_r")[:3, 3] - place) < 1e-3)
    assert not studio.session.player.edited  # it is still in hand
    studio.puppet.let_go("hand_r")
    studio.session.touch()
    assert wait_until(lambda: studio.session.player.edited)
    return place


@pytest.mark.slow
def test_a_clip_is_played_when_it_is_opened(studio: Studio) -> None:
    assert studio.session.player.playing
    before = studio.session.player.seconds
    assert wait_until(lambda: studio.session.player.seconds != before)
    assert studio.panel.motion.play.value
    studio.session.player.stop()
    assert wait_until(lambda: not studio.panel.motion.play.value)


@pytest.mark.slow
def test_a_drag_becomes_part_of_the_clip(studio: Studio) -> None:
    place = drag_hand(studio, (0.0, 0.25, 0.15))
    edited, before = seen(studio.session.player), make_swing()
    assert np.linalg.norm(edited[30].position("hand_r") - place) < 2e-3
    assert np.array_equal(edited.q[0], before.q[0])
    assert np.array_equal(edited.q[-1], before.q[-1])
    studio.session.player.show_at(0.0)
    studio.session.player.show_at(1.0)  # what is seen at that time is the edit
    assert np.linalg.norm(studio.puppet.transform("hand_r")[:3, 3] - place) < 2e-3


@pytest.mark.slow
def test_undo_takes_the_edit_back_and_a_drag_is_one_change(studio: Studio) -> None:
    drag_hand(studio, (0.0, 0.2, 0.15))
    edited = seen(studio.session.player)
    assert studio.undo()
    assert not studio.session.player.edited
    assert not studio.undo()
    assert studio.redo()
    assert seen(studio.session.player) is edited
    assert not studio.redo()


@pytest.mark.slow
def test_undo_drops_a_drag_that_is_not_part_of_the_clip_yet(studio: Studio) -> None:
    studio.session.player.open(make_swing())
    studio.session.player.show_at(1.0)
    q = studio.puppet.q
    studio.puppet.hold("hand_r", studio.puppet.transform("hand_r")[:3, 3] + np.array((0.0, 0.2, 0.1)))
    studio.session.touch(time.perf_counter())
    assert wait_until(lambda: np.abs(studio.puppet.q - q).max() > 0.05)
    assert studio.undo()
    assert np.array_equal(studio.puppet.q, q)
    time.sleep(0.2)
    assert not studio.session.player.edited
    assert studio.session.editing.background.task is None


@pytest.mark.slow
def test_a_drag_while_feet_are_locked_becomes_a_key_afterwards(studio: Studio) -> None:
    studio.session.player.open(put_skate_in(make_walk()))
    assert studio.session.editing.lock_feet()
    assert not studio.session.editing.lock_feet()  # a second click
    studio.session.player.show_at(1.0)
    place = studio.puppet.transform("hand_r")[:3, 3] + np.array((0.0, 0.2, 0.1))
    studio.puppet.hold("hand_r", place)
    studio.session.touch(time.perf_counter())
    assert wait_until(lambda: np.linalg.norm(studio.puppet.transform("hand_r")[:3, 3] - place) < 1e-3)
    studio.puppet.let_go("hand_r")
    studio.session.touch()

    def state() -> ClipState:
        found = studio.session.editing.state
        assert found is not None
        return found

    assert wait_until(lambda: state().keys, 60.0)
    assert state().base is not state().original  # locked first
    assert np.linalg.norm(seen(studio.session.player)[30].position("hand_r") - place) < 2e-3
    assert studio.undo()
    assert not state().keys
    assert studio.undo()
    assert not state().edited


@pytest.mark.slow
def test_cancel_frees_the_page_at_once_and_changes_nothing(studio: Studio) -> None:
    studio.session.player.open(put_skate_in(make_walk()))
    assert studio.session.editing.lock_feet()
    begun = time.perf_counter()
    assert studio.session.editing.cancel()
    assert time.perf_counter() - begun < 0.5
    assert studio.session.editing.background.task is None
    time.sleep(0.2)
    assert not studio.session.player.edited


@pytest.mark.slow
def test_opening_another_clip_ends_what_was_done_to_the_last(studio: Studio) -> None:
    studio.session.player.open(put_skate_in(make_walk()))
    assert studio.session.editing.lock_feet()
    studio.session.player.open(make_swing())
    assert studio.session.editing.background.task is None
    time.sleep(0.2)
    assert not studio.session.player.edited


@pytest.mark.slow
def test_the_ghost_is_the_original_at_the_same_frame(studio: Studio) -> None:
    drag_hand(studio, (0.0, 0.25, 0.15))
    tab = studio.panel.motion
    tab.ghost_on.value = True
    assert wait_until(lambda: tab.ghost.view is not None)
    view = tab.ghost.view
    assert view is not None
    studio.session.player.show_at(1.0)
    row = studio.model.frames.index("hand_r")
    wanted = make_swing()[30].position("hand_r")
    assert wait_until(lambda: np.abs(view.model.fk(studio.puppet.q)[row, :3, 3] - wanted).max() > 0.1)
    assert wait_until(lambda: np.abs(view.places[row, :3, 3] - wanted).max() < 1e-9)
    tab.ghost_on.value = False
    assert wait_until(lambda: tab.ghost.view is None)


@pytest.mark.slow
def test_a_second_file_waits_until_the_first_is_on_the_stage(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    session, play, failed, other = studio.session, studio.session.play, [], threading.Event()
    arm = poise.load("panda")
    clips = [make_swing(), poise.Motion(arm, np.tile(np.array(arm.rest), (30, 1)), 30.0)]

    def play_late(motion: poise.Motion | None) -> None:
        other.wait(0.0 if session.model is arm else 1.0)
        play(motion)

    def show(clip: poise.Motion) -> None:
        try:
            session.show(clip)
        except PoiseError as error:
            failed.append(error)
        other.set()

    session.show(poise.load("planar2"))
    monkeypatch.setattr(session, "play", play_late)
    threads = [threading.Thread(target=show, args=(clip,)) for clip in clips]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    assert failed == []
    assert session.model is arm
    assert seen(session.player).model is arm


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".bvh", ".glb"])
def test_what_was_uploaded_is_saved_edited_in_its_own_format(studio: Studio, ending: str, tmp_path: Path) -> None:
    from poise.studio.downloads import find_kind, make_file, name_file
    from poise.studio.web.uploads import open_upload

    poise.save(make_swing(), tmp_path / f"swing{ending}")
    open_upload(studio.session, f"swing{ending}", (tmp_path / f"swing{ending}").read_bytes())
    studio.session.player.stop()
    studio.session.player.show_at(1.0)
    before = studio.puppet.transform("hand_r")[:3, 3].copy()
    studio.puppet.hold("hand_r", before + np.array((0.0, 0.2, 0.15)))
    studio.session.touch()
    assert wait_until(lambda: np.linalg.norm(studio.puppet.transform("hand_r")[:3, 3] - before) > 0.2)
    studio.puppet.let_go("hand_r")
    studio.session.touch()
    assert wait_until(lambda: studio.session.player.edited)
    wait_still(studio)
    kind = find_kind(studio.model)
    assert name_file(studio.session, kind) == f"swing_edited{ending}"
    (tmp_path / f"again{ending}").write_bytes(make_file(studio.session, kind))
    again, original = (poise.load_motion(tmp_path / f"{name}{ending}") for name in ("again", "swing"))
    shown, saved, first = (m.model.fk(m.q[30])[:, :3, 3] for m in (seen(studio.session.player), again, original))
    assert shown == pytest.approx(saved, abs=2e-4)
    assert np.abs(first - saved).max() > 0.1


@pytest.mark.slow
def test_the_floor_lies_under_the_whole_clip(studio: Studio) -> None:
    clip = make_swing()
    q = clip.q.copy()
    q[15:25, 1] -= 0.7  # deeper for a while
    studio.show(poise.Motion(clip.model, q, FPS))
    studio.session.player.stop()
    low = studio.session.scenery.find_points()[:, 1].min()
    assert low == pytest.approx(studio.session.view.sample_points(clip.model.fk(q[20]))[:, 1].min(), abs=0.05)


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.slow
def test_the_command_opens_a_clip_with_the_options_of_info(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from poise.cli.app import app
    from poise.studio.web import studio

    opened: list[object] = []

    class Nothing:
        """A studio that opens nothing."""

        def __init__(self, thing: poise.Motion, **_: object) -> None:
            opened.append(thing)
            self.url, self.port, self.model = "", 0, thing.model

        def wait(self) -> None:
            """Come back at once."""

    monkeypatch.setattr(studio, "Studio", Nothing)
    poise.save(make_swing(), tmp_path / "swing.bvh")
    given = ["studio", str(tmp_path / "swing.bvh"), "--no-open", "--scale", "0.5", "--tool", "hand_l", "0", "0.1", "0"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    (motion,) = opened
    assert isinstance(motion, poise.Motion)
    assert "tool" in motion.model.frames
    assert motion.model.length == pytest.approx(0.5 * make_swing().model.length, rel=0.2)
    assert CliRunner().invoke(app, ["studio", "humanod", "--no-open"]).exit_code == 2
