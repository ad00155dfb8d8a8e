"""Background tasks, several viewers at once, and files that a studio removes at its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import poise
from poise.errors import InvalidValue
from poise.studio.web.background import Background
from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload
from viewers import join_together
from waiting import wait_until
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

Progress = Callable[[int, int], None]


def wait(background: Background) -> None:
    """Wait until nothing goes on."""
    end = time.monotonic() + 10.0
    while background.task is not None:
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_second_click_does_not_start_it_twice() -> None:
    background, go = Background(), threading.Event()
    begun: list[int] = []
    found: list[Any] = []

    def work(_: Progress) -> int:
        begun.append(1)
        go.wait(10.0)
        return 7

    assert background.start("one", work, found.append)
    assert not any(background.start("two", work, found.append) for _ in range(5))
    assert background.task is not None
    assert background.task.name == "one"
    go.set()
    wait(background)
    assert begun == [1]
    assert found == [7]
    assert background.start("again", lambda _: 8, found.append)
    wait(background)
    assert found == [7, 8]


def test_cancelled_work_ends_at_its_next_progress_and_is_dropped() -> None:
    background, ended, go = Background(), threading.Event(), threading.Event()
    steps: list[int] = []
    found: list[Any] = []

    def work(progress: Progress) -> None:
        try:
            for k in range(1000):
                progress(k, 1000)
                steps.append(k)
                go.wait(10.0)
        finally:
            ended.set()

    assert background.start("long", work, found.append)
    assert background.cancel()
    assert background.task is None  # at once: nobody waits for the thread
    assert not background.cancel()
    assert background.start("next", lambda _: "next", found.append)
    go.set()
    assert ended.wait(10.0)
    wait(background)
    assert len(steps) <= 1
    assert found == ["next"]


@pytest.mark.parametrize("error", [InvalidValue("no feet here."), RuntimeError("odd")])
def test_failed_work_is_reported_and_removed(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    background = Background()
    found: list[Any] = []

    def fail(_: Progress) -> Any:
        raise error

    assert background.start("bad", fail, found.append)
    wait(background)
    assert str(error) in background.refused
    assert found == []
    assert background.start("good", lambda _: 1, found.append)
    wait(background)
    assert background.refused == ""
    assert found == [1]
    capsys.readouterr()


def test_progress_is_reported_in_shares_and_passes() -> None:
    background, seen = Background(), []

    def listen() -> None:
        task = background.task
        seen.append(None if task is None else (task.share, task.passes))

    def work(progress: Progress) -> None:
        for _ in range(2):
            progress(5, 10)
            progress(10, 10)

    background.changed += [listen]
    background.start("two passes", work, lambda _: None)
    wait(background)
    time.sleep(0.05)
    assert seen == [(0.0, 0), (0.5, 0), (1.0, 1), (0.5, 1), (1.0, 2), None]


def test_who_listens_badly_does_not_end_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    background = Background()
    found: list[Any] = []

    def listen() -> None:
        raise RuntimeError("a listener fails")

    background.changed.append(listen)
    assert background.start("work", lambda _: 3, found.append)
    wait(background)
    assert found == [3]
    capsys.readouterr()


CUT_SHORT = """
from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload
open_upload(Studio("planar2", port=18213).session, "arm.urdf", open({path!r}, "rb").read())
"""


@pytest.fixture
def arm(tmp_path):
    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    return tmp_path / "arm.urdf"


def test_a_stopped_studio_leaves_no_files(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with Studio("planar2", port=18212) as studio:
        open_upload(studio.session, "arm.urdf", arm.read_bytes())
        assert len(list((tmp_path / "temporary").iterdir())) == 1  # the upload, which saving needs
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_the_file_of_a_body_that_a_clip_is_carried_to_is_gone_too(tmp_path, monkeypatch):
    poise.save(poise.load("humanoid"), tmp_path / "other.glb")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with Studio(make_walk(), port=18219, shadows=False) as studio:
        second = studio.second_body
        assert second.open_upload("other.glb", (tmp_path / "other.glb").read_bytes())
        assert wait_until(lambda: second.model is not None)
        assert list((tmp_path / "temporary").rglob("other.glb"))
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_program_that_ends_without_stopping_leaves_no_files(arm, tmp_path):
    (tmp_path / "temporary").mkdir()
    code = CUT_SHORT.format(path=str(arm))
    subprocess.run([sys.executable, "-c", code], check=True, env={"TMPDIR": str(tmp_path / "temporary"), "PATH": ""})
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture(scope="module")
def studio():
    with Studio("planar3", port=18217, shadows=False) as running:
        yield running


@pytest.mark.parametrize("_", range(3))
def test_viewers_who_come_together_all_get_their_folder(studio, capfd, _):
    own = studio.panel.pose.own
    with join_together(studio, 8):
        assert wait_until(lambda: len(studio.session.server.get_clients()) == 8)
        assert wait_until(lambda: set(own) == set(studio.session.server.get_clients()), 5)
        assert "RuntimeError" not in capfd.readouterr().err
    assert wait_until(lambda: not own)


def test_a_viewer_who_is_gone_before_their_folder_is_made_gets_none(studio):
    own = studio.panel.pose.own
    with studio.session.lock:
        with join_together(studio, 1):
            assert wait_until(studio.session.server.get_clients)
        assert wait_until(lambda: not studio.session.server.get_clients())
    with studio.session.lock:
        assert not own
    assert wait_until(lambda: not own)


def test_methods_that_are_chosen_together_leave_the_settings_of_one(studio):
    tab, failures = studio.panel.solver, []

    def choose():
        try:
            tab.on_method(None)
        except Exception as failure:
            failures.append(failure)

    tab.method.value = "dls"
    threads = [threading.Thread(target=choose) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    before = len(tab.inputs)
    tab.on_method(None)
    assert len(tab.inputs) == before


QUIT_WHILE_SOLVING = """
import threading
import poise
from poise.studio.web.background import Background
solving = threading.Event()
def work(progress):
    solver = poise.Solver(poise.load("snake100"), poise.goals.Reach("tip", (99.0, 9.0, 0.0)), restarts=0)
    while True:
        progress(0, 1)
        solving.set()
        solver.solve()
Background().start("Solve", work, print)
solving.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("_", range(2))
def test_python_ends_while_a_task_solves(_) -> None:
    command = [sys.executable, "-c", QUIT_WHILE_SOLVING]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
