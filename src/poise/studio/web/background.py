"""Long work in the background: one task at a time, in its own thread, with progress and cancellation."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from poise.errors import PoiseError

__all__ = ["Background"]


class Cancelled(Exception):
    """The work is not wanted any more; raised inside of it, where it tells its progress."""


class Task:
    """One piece of work.

    Attributes:
        name: What it is, in words.
        frames: How many frames are done in this pass, and all of them; (0, 0) before the first is known.
        passes: How often all frames have been gone through.
    """

    def __init__(
        self, name: str, work: Callable[[Callable[[int, int], None]], Any], done: Callable[[Any], object]
    ) -> None:
        self.name, self.work, self.done = name, work, done
        self.frames, self.passes = (0, 0), 0
        self.cancelled = self.claimed = False

    @property
    def share(self) -> float:
        """How much of this pass is done, from 0 to 1."""
        return self.frames[0] / self.frames[1] if self.frames[1] else 0.0


class Background:
    """Does one piece of long work at a time.

    Work that is cancelled ends where it next tells its progress; what it finds is dropped, and nobody waits for it.

    Attributes:
        changed: Called when work begins, goes on or ends.
        refused: Why the last piece could not be done, in words; "" where it could.
    """

    def __init__(self) -> None:
        self.changed: list[Callable[[], None]] = []
        self.refused = ""
        self._lock = threading.Lock()
        self._task: Task | None = None

    @property
    def task(self) -> Task | None:
        """The running work, or None."""
        return self._task

    def start(
        self, name: str, work: Callable[[Callable[[int, int], None]], Any], done: Callable[[Any], object]
    ) -> bool:
        """Begin a piece of work, and return whether it began: while another goes on, nothing does.

        Args:
            name: What it is, in words.
            work: Does it; given what to call with the frames that are done and all of them.
            done: Called with what it came to, in its thread, before other work can begin.
        """
        with self._lock:
            if self._task is not None:
                return False
            self._task = task = Task(name, work, done)
            self.refused = ""
        self._tell()
        threading.Thread(target=self._run, args=(task,), name="poise-background", daemon=True).start()
        return True

    def cancel(self) -> bool:
        """Cancel the running work, and return whether there was any; its result is dropped."""
        with self._lock:
            task = self._task
            if task is None or task.claimed:
                return False
            task.cancelled, self._task = True, None
        self._tell()
        return True

    def _run(self, task: Task) -> None:
        refused, found = "", None
        try:
            found = task.work(lambda done, total: self._go_on(task, done, total))
        except Cancelled:
            return
        except PoiseError as error:
            refused = str(error)
        except Exception as error:
            traceback.print_exc()
            refused = f"That failed: {error}"
        with self._lock:
            if task.cancelled:
                return
            task.claimed = True
        try:
            self.refused = refused
            if not refused:
                task.done(found)
        finally:
            with self._lock:
                self._task = None
            self._tell()

    def _go_on(self, task: Task, done: int, total: int) -> None:
        if task.cancelled:
            raise Cancelled
        task.frames = (done, total)
        task.passes += done >= total
        self._tell()

    def _tell(self) -> None:
        for listen in self.changed:
            try:
                listen()
            except Exception:  # who listens badly does not end the work
                traceback.print_exc()
