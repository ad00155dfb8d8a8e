"""Background tasks: one at a time, with progress, cancellable, and never blocking the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from poise.errors import InvalidValue
from poise.studio.web.background import Background

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
    background, told = Background(), []

    def listen() -> None:
        task = background.task
        told.append(None if task is None else (task.share, task.passes))

    def work(progress: Progress) -> None:
        for _ in range(2):
            progress(5, 10)
            progress(10, 10)

    background.changed += [listen]
    background.start("two passes", work, lambda _: None)
    wait(background)
    time.sleep(0.05)
    assert told == [(0.0, 0), (0.5, 0), (1.0, 1), (0.5, 1), (1.0, 2), None]


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
