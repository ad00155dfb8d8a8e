"""Count the calls between source files of Poise in one frame of a stream.

    PYTHONPATH=tests/support python tools/journey.py

A stop is a call that enters a file of `src/poise` from another file. The table lists, per frame, the stops, the
distinct files and the returns (stops in a file that was entered before), then the
median processor time of a frame.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import Any

import numpy as np

import poise
from poise.motion import Retargeter
from walkers import make_machine
from walks import make_walk

SOURCE = str(Path(poise.__file__).parent) + "/"
WARM_UP, FRAMES = 10, 300  # frames that are not counted, and frames that are timed
BODIES: dict[str, Callable[[], Any]] = {"machine": make_machine, "child": lambda: poise.load("humanoid", scale=0.6)}


def find_caller(frame: FrameType) -> str:
    """Return the source file of Poise that made a call, or ""."""
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(SOURCE):
        caller = caller.f_back
    return "" if caller is None else caller.f_code.co_filename


def count_stops(call: Callable[[], object]) -> Counter[str]:
    """Return the number of times that a call enters each source file from another one."""
    stops: Counter[str] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and name != find_caller(frame):
            stops[name.removeprefix(SOURCE)] += 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return stops


def measure_stream(name: str, detail: bool) -> None:
    """Print the stops and the time of the frames of one stream."""
    walk = make_walk(WARM_UP + FRAMES)
    live = Retargeter(walk.model, BODIES[name](), fps=walk.fps)
    counts = [count_stops(lambda q=q: live.step(q)) for q in walk.q]  # type: ignore[misc]
    order = sorted(counts[WARM_UP:], key=lambda each: each.total())
    live.reset()
    seconds = []
    for q in walk.q:
        begun = thread_time()
        live.step(q)
        seconds.append(thread_time() - begun)
    for label, stops in (("median", order[len(order) // 2]), ("most", order[-1])):
        files = len(stops)
        print(f"{name:10s}{label:8s}{stops.total():5d} stops {files:4d} files {stops.total() - files:4d} returns")
        if detail:
            print("\n".join(f"    {count:4d}  {file}" for file, count in stops.most_common()))
    print(f"{name:10s}{1e6 * float(np.median(seconds[WARM_UP:])):.0f} us a frame")


if __name__ == "__main__":
    for body in BODIES:
        measure_stream(body, "--files" in sys.argv[1:])
