"""Whole clips: contacts found and held, compared with a plain contact rule; frames per second, and growth with length.

    python benchmarks/clips.py                    # the walk of the tests, 100 to 20,000 frames
    python benchmarks/clips.py --data DIR         # every BVH of a folder, as LAFAN1's

Contacts are judged by a rule that is not ours: a toe slower than 0.15 m/s (the larger of the two one-sided differences)
and lower than the floor + 5 cm (floor: 2nd percentile of both toes), for at least 4 frames. On
five clips of LAFAN1, 600 frames each with 69 freedoms, 1,050 to 1,900 frames a second on one Neoverse-N1 core.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import poise
from poise.motion import Track, lock, quality

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from walks import make_walk, put_skate_in

CENTIMETRES = 0.01


def find_plain_contacts(clip: poise.Motion, toes: list[str]) -> dict[str, np.ndarray]:
    """Return the frames of each toe in contact by the plain rule."""
    up = clip.model.up_direction
    paths = {toe: clip.positions(toe) for toe in toes}
    floor = np.percentile(np.concatenate([path @ up for path in paths.values()]), 2.0)
    out = {}
    for toe, path in paths.items():
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1) * clip.fps
        speed = np.maximum(np.r_[steps[:1], steps], np.r_[steps, steps[-1:]])
        low = (speed < 0.15) & (path @ up < floor + 0.05)
        edges = np.flatnonzero(np.diff(np.r_[0, low.astype(int), 0]))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            low[a:b] = b - a >= 4
        out[toe] = low
    return out


def share_locked(track: Track, plain: dict[str, np.ndarray]) -> float:
    """Return the share of the plain rule's frames that are locked."""
    wanted = held = 0
    for toe, frames in plain.items():
        own = np.zeros(len(frames), dtype=bool)
        for contact in track.contacts:
            if contact.frame == toe:
                own[contact.start : contact.end] = True
        wanted += int(frames.sum())
        held += int((own & frames).sum())
    return held / max(wanted, 1)


def measure_file(path: Path, frames: int) -> None:
    """Lock one clip and print its row."""
    clip = poise.load_motion(path, scale=CENTIMETRES)[:frames]
    roles = poise.roles(clip.model)
    toes = [roles[role] for role in ("toe_l", "toe_r") if role in roles]
    begun = time.process_time()
    track = lock(clip)
    seconds = time.process_time() - begun
    before, after = quality(clip, contacts=track.contacts), track.quality
    print(
        f"{path.stem:<14}{100.0 * share_locked(track, find_plain_contacts(clip, toes)):7.1f} %"
        f"{before.slip_mean:8.3f}{after.slip_max:10.5f}{after.drift_max:9.5f}{after.height_mean:8.4f}{after.sink_max:8.4f}"
        f"{after.step_max / before.step_max:8.3f}{after.jerk_p95 / max(before.jerk_p95, 1e-9):8.4f}"
        f"{len(clip) / seconds:8.0f}{len(track.released):5d}"
    )


def measure_growth() -> None:
    """Print the frames per second for walks of increasing length."""
    period = put_skate_in(make_walk(144))[:144]
    for frames in (100, 500, 2_000, 5_000, 20_000):
        clip = period
        # ends: every turn makes it longer
        while len(clip) < frames:
            clip = clip.joined(clip, blend=0.2)
        clip = clip[:frames]
        begun = time.process_time()
        track = lock(clip)
        seconds = time.process_time() - begun
        print(
            f"{frames:8d} frames {frames / seconds:8.0f} a second, slip at most {track.quality.slip_max:.5f} mm a frame"
        )


def main() -> None:
    """Measure the available files, and report missing ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with BVH files in centimetres")
    parser.add_argument("--frames", type=int, default=600)
    options = parser.parse_args()
    if options.data is None:
        print("No --data: LAFAN1's clips are not measured.")
    else:
        head = "clip          locked    slip  slip max    drift  height    sink    step    jerk     fps   freed"
        print(
            f"{head}\n{'':<14}{'of plain':>8}{'before':>8}{'mm':>10}{'mm':>9}{'mm':>8}{'mm':>8}{'ratio':>8}{'ratio':>8}"
        )
        for path in sorted(options.data.glob("*.bvh")):
            try:
                measure_file(path, options.frames)
            except poise.PoiseError as error:
                print(f"{path.stem:<14}{error}")
    measure_growth()


if __name__ == "__main__":
    main()
