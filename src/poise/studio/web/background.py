"""Background tasks: one at a time, in its own thread, with progress and cancellation.

A process whose threads still solve when the interpreter ends is aborted, so tasks are cancelled and threads are waited
for before.
"""

import atexit
import threading
import traceback
from collections.abc import Callable
from typing import Any

from poise.errors import PoiseError

__all__ = ["Background", "start_thread"]

ENDING_S = 10.0  # in which a thread may end before the interpreter does


class Cancelled(Exception):
    """Raised inside a cancelled task, when it reports its progress."""


class Task:
    """One background task.

    Attributes:
        name: The name of the task, as text.
        frames: The numbers of finished and of all frames in this pass; (0, 0) before the first report.
        passes: The number of finished passes over all frames.
    """

    def __init__(
        self, name: str, work: Callable[[Callable[[int, int], None]], Any], done: Callable[[Any], object]
    ) -> None:
        self.name, self.work, self.done = name, work, done
        self.frames, self.passes = (0, 0), 0
        self.cancelled = self.claimed = False

    def cancel(self) -> None:
        """End the task at its next progress report."""
        self.cancelled = True

    @property
    def share(self) -> float:
        """The finished share of this pass, from 0 to 1."""
        return self.frames[0] / self.frames[1] if self.frames[1] else 0.0


class Background:
    """A runner of one background task at a time.

    A cancelled task ends at its next progress report; its result is dropped, and nothing waits for it.

    Attributes:
        changed: Called when a task starts, advances or ends.
        refused: The error of the last task, or "".
    """

    def __init__(self) -> None:
        self.changed: list[Callable[[], None]] = []
        self.refused = ""
        self._lock = threading.Lock()
        self._task: Task | None = None

    @property
    def task(self) -> Task | None:
        """The running task, or None."""
        return self._task

    def start(
        self, name: str, work: Callable[[Callable[[int, int], None]], Any], done: Callable[[Any], object]
    ) -> bool:
        """Start a task and return whether it was started; False while another one is running.

        Args:
            name: The name of the task, as text.
            work: The work; called with a callback that takes the numbers of finished and of all frames.
            done: Called with the result, in the task's thread, before another task can start.
        """
        with self._lock:
            if self._task is not None:
                return False
            self._task = task = Task(name, work, done)
            self.refused = ""
        self._tell()
        start_thread(self._run, task, name="poise-background", cancel=task.cancel)
        return True

    def cancel(self) -> bool:
        """Cancel the running task and drop its result; return whether a task was running."""
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
            except Exception:  # an error in a listener does not end the task
                traceback.print_exc()


def start_thread(run: Callable[..., object], *args: Any, name: str, cancel: Callable[[], object] | None = None) -> None:
    """Start a thread; before the interpreter ends, `cancel` is called, and the thread is waited for."""

    def work() -> None:
        try:
            run(*args)
        finally:
            atexit.unregister(end)

    def end() -> None:
        if cancel is not None:
            cancel()
        thread.join(ENDING_S)

    thread = threading.Thread(target=work, name=name, daemon=True)
    atexit.register(end)
    thread.start()
