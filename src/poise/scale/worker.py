"""One of a crew: does the clips that come in a line each, and answers each with a line; see `poise.scale.crew`."""

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
from poise.scale.libraries import do_clip

__all__: list[str] = []


def serve() -> None:
    """Do the clips that come in, until the input ends."""
    warnings.simplefilter("ignore", FormatWarning)
    lines: queue.Queue[str] = queue.Queue()
    answers = sys.stdout
    sys.stdout = sys.stderr
    threading.Thread(target=watch, args=(lines,), daemon=True).start()
    head = json.loads(lines.get())
    job, folder = Job.from_json(head["job"]), JobFolder(head["folder"])
    folder.tag = head["tag"]
    with run_at_level(job.device, job.level):
        work = job.prepare()
        while True:  # ends: `watch` ends the process with its input
            clip = json.loads(lines.get())
            failure, path = "", ""
            try:
                do_clip(folder, work, Input(clip["name"], Path(clip["path"])))
            except PoiseError as error:
                failure, path = getattr(error, "message", str(error)), getattr(error, "path", "")
            answers.write(json.dumps({"error": failure, "path": path}) + "\n")
            answers.flush()


def watch(lines: queue.Queue[str]) -> None:
    """Pass lines on; when the input ends, so does the process, whatever it does."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    serve()
