"""Worker processes for clips: each reads one clip per line, and answers with one line.

`multiprocessing` would import the caller's script again in every process, and its processes survive if the caller is
killed. A worker is `python -m poise.scale.worker`, and exits when its input ends.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import PurePosixPath
from typing import Any

from poise.errors import FormatError, PoiseError
from poise.motion import Quality
from poise.scale.folder import JobFolder, Receipt, measure
from poise.scale.inputs import Input

__all__ = ["do_clip", "do_clips"]

Worker = subprocess.Popen[str]
POLL_SECONDS = 0.05  # a wait without a timeout ignores Ctrl-C on Windows


def do_clips(job: Any, folder: JobFolder, clips: Sequence[Input], workers: int) -> Iterator[None]:
    """Process clips in worker processes, or in this process for one worker; yield after each clip."""
    if workers < 2:
        work = job.prepare()
        for clip in clips:
            do_clip(folder, work, clip)
            yield
        return
    with ExitStack() as stack:
        processes = [stack.enter_context(start_worker(job, folder)) for _ in range(workers)]
        idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        pool = ThreadPoolExecutor(workers)
        try:
            for process in processes:
                idle.put(process)
            waiting = {pool.submit(send_clip, idle, clip) for clip in clips}
            while waiting:  # ends: each worker answers or exits
                done, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for process in processes:
                end_worker(process)
            pool.shutdown(cancel_futures=True)


def start_worker(job: Any, folder: JobFolder) -> Worker:
    """Start a worker process and send it the job."""
    command = [sys.executable, "-m", "poise.scale.worker"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    send(process, {"job": job.plain_values(), "folder": str(folder.path), "tag": folder.tag})
    return process


def end_worker(process: Worker) -> None:
    """Kill a process, and drop a line that it has not read."""
    process.kill()
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def send(process: Worker, values: dict[str, Any]) -> None:
    """Send a line to a worker; ignored if the worker has exited."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(values) + "\n")
        process.stdin.flush()


def send_clip(idle: queue.SimpleQueue[Worker], clip: Input) -> None:
    """Send a clip to the next idle worker and wait for the answer.

    Raises:
        FormatError: The worker reports an error, or has exited.
    """
    process = idle.get()
    try:
        send(process, {"name": clip.name, "path": str(clip.path)})
        assert process.stdout is not None
        answer = process.stdout.readline()
        if not answer:
            raise FormatError(f"a worker process has ended with code {process.wait()}; run the job again.")
    finally:
        idle.put(process)
    values = json.loads(answer)
    if values["error"]:
        raise FormatError(values["error"], values["path"])


def do_clip(folder: JobFolder, work: Any, clip: Input) -> None:
    """Process one clip: write its motion, then its receipt with the figures."""
    file = str(PurePosixPath(clip.name).with_suffix(work.suffix)) if work.suffix else None
    receipt: Receipt = {"id": clip.name, "error": "", "file": file or "", "fingerprint": measure(clip.path)["sha256"]}
    figures: dict[str, Any] = dict.fromkeys(Quality.__dataclass_fields__)
    try:
        if file is None:
            figures = work.do(clip.path, None).to_dict()
        else:
            with folder.write(file) as temporary:
                figures = work.do(clip.path, temporary).to_dict()
    except PoiseError as error:
        if isinstance(error.__cause__, OSError):
            raise  # a disk error, not a fault of the clip
        receipt |= {"error": " ".join(str(error).split()), "file": ""}
    folder.sign(clip.name, receipt | figures)
