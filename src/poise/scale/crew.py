"""Crew: processes that do clips, one after the other; for work whose threads would wait for each other.

Each is a Python of its own (`python -m poise.scale.worker`) that reads the job and then one clip per line, and answers
with a line. It runs nothing of the caller's script, and ends when its input ends, as it does when the caller is killed.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any

from poise.errors import FormatError
from poise.scale.folder import JobFolder
from poise.scale.inputs import Input

__all__ = ["Crew"]

GRACE = 2.0  # seconds to die


class Crew:
    """So many processes; none for one worker, who works here.

    Args:
        job: The job.
        folder: Where its parts go.
        workers: How many.
        do_one: What one worker does here, with the folder, the prepared work and a clip.
    """

    def __init__(
        self, job: Any, folder: JobFolder, workers: int, do_one: Callable[[JobFolder, Any, Input], None]
    ) -> None:
        self.job, self.folder, self.workers, self.do_one = job, folder, workers, do_one
        self._hands: list[subprocess.Popen[str]] = []
        self._heard: queue.Queue[tuple[int, dict[str, Any] | None]] = queue.Queue()

    def __enter__(self) -> Crew:
        if self.workers > 1:
            self._hands = [self._hire(k) for k in range(self.workers)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            hand.kill() if kind else hand.stdin.close()  # type: ignore[union-attr]
        for hand in self._hands:
            hand.wait(GRACE)
            hand.stdout.close()  # type: ignore[union-attr]

    def do(self, clips: Sequence[Input]) -> Iterator[int]:
        """Do clips, and yield how many are done after each."""
        if not self._hands:
            work = self.job.prepare()
            for k, clip in enumerate(clips):
                self.do_one(self.folder, work, clip)
                yield k + 1
            return
        waiting = iter(clips)
        for hand in self._hands:
            self._give(hand, next(waiting, None))
        for k in range(len(clips)):
            index, answer = self._hear()
            if answer is None:
                raise FormatError(
                    f"a process of the run has ended with {self._hands[index].wait()}; run the job again."
                )
            if answer["error"]:
                raise FormatError(answer["error"], answer["path"])
            self._give(self._hands[index], next(waiting, None))
            yield k + 1

    def _hire(self, index: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "poise.scale.worker"]
        hand = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._tell(hand, {"job": self.job.plain_values(), "folder": str(self.folder.path), "tag": self.folder.tag})
        threading.Thread(target=self._listen, args=(index, hand.stdout), daemon=True).start()
        return hand

    def _listen(self, index: int, lines: IO[str]) -> None:
        for line in lines:
            self._heard.put((index, json.loads(line)))
        self._heard.put((index, None))

    def _hear(self) -> tuple[int, dict[str, Any] | None]:
        while True:  # ends: a process answers, or ends
            try:
                return self._heard.get(timeout=0.05)  # a wait without end hears no Ctrl-C on Windows
            except queue.Empty:
                continue

    def _give(self, hand: subprocess.Popen[str], clip: Input | None) -> None:
        if clip is not None:
            self._tell(hand, {"name": clip.name, "path": str(clip.path)})

    def _tell(self, hand: subprocess.Popen[str], words: dict[str, Any]) -> None:
        assert hand.stdin is not None
        try:
            hand.stdin.write(json.dumps(words) + "\n")
            hand.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, which is heard
