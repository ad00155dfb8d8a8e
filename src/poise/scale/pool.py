"""ClipWorker processes, which prepare a job once and process its clips one by one."""

import os
import queue
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import active_children, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, ClassVar

from poise.errors import FormatError, FormatWarning
from poise.scale.folder import JobFolder, Record
from poise.scale.inputs import Part

__all__ = ["map_in_processes"]

POLL_SECONDS = 0.05  # a wait without a timeout ignores Ctrl-C on Windows
Make = Callable[..., Record]  # (clip, prepared work, folder)


class ClipWorker:
    """What a worker process prepares once.

    Attributes:
        process: Processes a clip.
    """

    process: ClassVar[Callable[[Part], Record]]


def map_in_processes(make: Make, clips: Sequence[Part], workers: int, job: Any, folder: JobFolder) -> Iterator[Record]:
    """Yield the records of clips as worker processes make them.

    Raises:
        FormatError: A disk error, or a worker has ended.
    """
    context = get_context("spawn")  # a copy of this process would lack its threads
    reader, writer = context.Pipe(duplex=False)
    prepared = reader, make, type(job).from_values, job.plain_values(), folder
    pool = ProcessPoolExecutor(workers, context, start_worker, prepared)
    done: queue.SimpleQueue[Future[Record]] = queue.SimpleQueue()
    started: list[BaseProcess] = []
    try:
        with start_alone(started):
            for clip in clips:
                pool.submit(process, clip).add_done_callback(done.put)
        left = len(clips)
        while left:  # ends: a pool finishes its calls, or breaks
            with suppress(queue.Empty):
                yield done.get(timeout=POLL_SECONDS).result()
                left -= 1
    except BrokenProcessPool:
        raise FormatError(
            "a worker process has ended; finished clips are kept, run the job again.", str(folder.path)
        ) from None
    finally:
        for worker in started:
            worker.kill()
        pool.shutdown(cancel_futures=True)
        writer.close()
        reader.close()


@contextmanager
def start_alone(started: list[BaseProcess]) -> Iterator[None]:
    """List the processes that a block starts; they do not get Ctrl-C, and do not run the caller's script.

    The script may lack `if __name__ == "__main__"`.
    """
    script, others, masks = sys.modules["__main__"], active_children(), hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        started += (process for process in active_children() if process not in others)
        sys.modules["__main__"] = script
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_worker(
    reader: Connection, make: Make, read: Callable[..., Any], values: dict[str, Any], folder: JobFolder
) -> None:
    """Prepare a job in a new process, which ends when its parent does: that closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Windows, which has no masks
    warnings.simplefilter("ignore", FormatWarning)  # the parent has issued them
    threading.Thread(target=end_with, args=(reader,), daemon=True).start()
    ClipWorker.process = staticmethod(partial(make, work=read(values).prepare(), folder=folder))


def end_with(reader: Connection) -> None:
    """End this process when a pipe is closed."""
    with suppress(EOFError, OSError):
        reader.poll(None)
    os._exit(0)


def process(clip: Part) -> Record:
    """Process a clip in a worker process."""
    return ClipWorker.process(clip)
