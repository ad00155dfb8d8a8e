"""A drag in the studio, with meshes and without: `python benchmarks/studio.py [FILE ...]`.

A hand follows an arc of a tenth of the body. Every frame is solved, shown and queued for browsers, but none is open.
Prints the CPU time of a frame in the built-in look and with the meshes of the file, and their ratio of frame rates:
on the CPU alone, and on a screen with sixty frames per second.
Without files, a skinned strip of forty bones is used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import poise
from poise.studio import Studio, session

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

FRAMES, TURNS, PORT = 40, 5, 18072
SCREEN = 1e3 / 60.0  # [ms] faster frames wait for the screen
WAIT = 60.0  # [s] for the meshes


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("files", nargs="*", type=Path)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"{'file':<28}{'triangles':>10}{'skins':>7}{'bones':>7}"
            f"{'flesh ms':>10}{'dressed ms':>12}{'rate kept':>11}{'at 60 Hz':>10}"
        )
        for path in asked.files or [make_strip(Path(folder))]:
            print(measure(path))


def make_strip(folder: Path) -> Path:
    """Write a skinned strip."""
    import looks_files as made

    return made.strip(40, 4)[0].glb(folder / "strip.glb")


def measure(path: Path) -> str:
    """Return the row of a file."""
    model = poise.load(path)
    flesh, _ = time_drag(model, dressed=False)
    dressed, counts = time_drag(model, dressed=True)
    kept = max(flesh, SCREEN) / max(dressed, SCREEN)
    numbers = f"{counts[0]:>10}{counts[1]:>7}{counts[2]:>7}" if counts else f"{'no mesh':>24}"
    return f"{path.name:<28}{numbers}{flesh:>10.2f}{dressed:>12.2f}{flesh / dressed:>11.0%}{kept:>10.0%}"


def time_drag(model: poise.Model, *, dressed: bool) -> tuple[float, tuple[int, int, int] | None]:
    """Return the CPU milliseconds of a frame, best of several drags; and triangles, skins and bones of the meshes."""
    brings = session.brings_look
    if not dressed:
        session.brings_look = lambda _: False
    studio = Studio(model, port=PORT, shadows=False)
    session.brings_look = brings
    end = time.monotonic() + WAIT
    while dressed and studio.session.view.dressed is None and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(1.0)  # until the thread that shows the first pose rests
    hands = [name for name in studio.session.grips.frames if "hand" in name] or list(studio.session.grips.frames)
    best = min(drag_once(studio, hands[0]) for _ in range(TURNS))
    view = studio.session.view.dressed
    studio.stop()
    if view is None:
        return best, None
    faces = sum(len(part.faces) for part in (*view.dress.rigid, *view.dress.skins))
    return best, (faces, len(view.skins), len(view.bones.handles))


def drag_once(studio: Studio, handle: str) -> float:
    """Return the CPU milliseconds of a frame of one drag."""
    home = studio.puppet.transform(handle)[:3, 3].copy()
    reach = 0.1 * studio.model.length
    begin = time.process_time()
    for k in range(FRAMES):
        studio.puppet.hold(handle, home + reach * np.array((np.sin(0.1 * k), np.cos(0.1 * k) - 1.0, 0.0)))
        studio.session._frame()
    spent = time.process_time() - begin
    studio.puppet.let_go(handle)
    return 1e3 * spent / FRAMES


if __name__ == "__main__":
    main()
