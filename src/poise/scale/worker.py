"""A worker process: reads one clip per line, processes it, and answers with one line; see `worker_pool`."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import warnings
from pathlib import Path

from poise.errors import FormatWarning, PoiseError
from poise.scale.folder import JobFolder
from poise.scale.inputs import Input
from poise.scale.job import Job
from poise.scale.levels import run_at_level
from poise.scale.worker_pool import do_clip

__all__: list[str] = []


def serve() -> None:
    """Process the incoming clips until the input ends."""
    warnings.simplefilter("ignore", FormatWarning)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    answers, sys.stdout = sys.stdout, sys.stderr
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    head = json.loads(lines.get())
    job, folder = Job.from_values(head["job"]), JobFolder(head["folder"])
    folder.tag = head["tag"]
    with run_at_level(job.device, job.level):
        work = job.prepare()
        while True:  # ends: `read_lines` exits the process when the input ends
            clip = json.loads(lines.get())
            failure, path = "", ""
            try:
                do_clip(folder, work, Input(clip["name"], Path(clip["path"])))
            except PoiseError as error:
                failure, path = getattr(error, "message", str(error)), getattr(error, "path", "")
            print(json.dumps({"error": failure, "path": path}), file=answers, flush=True)


def read_lines(lines: queue.SimpleQueue[str]) -> None:
    """Put the input lines into a queue; exit the process when the input ends."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    serve()
