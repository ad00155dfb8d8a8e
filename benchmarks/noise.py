"""Contacts of clips with added noise: the share of the clean clip's contact frames that are found and held.

    python benchmarks/noise.py                    # the walk of the tests
    python benchmarks/noise.py --data DIR         # every BVH of a folder, as LAFAN1's and CMU's

Noise is added to the root: 1 cm (standard deviation per axis) below 1, 2 and 4 Hz, 2 mm of white noise, and a path that
is 10 % and 20 % longer than the steps, so that standing feet skate. The columns are the frames found and, after the
slash, held by `lock`, in percent of the clean clip's; then new frames. The last columns are the largest motion of a
heel or toe if the clip is locked twice, and the largest difference if only its first 60 % are locked, a second or more
before their end [mm].
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import poise
from poise.arrays import Floats
from poise.motion import contacts, lock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from dirt import add_drift, add_jitter, measure_found, stretch_path
from walks import make_walk, put_skate_in

DIRT: dict[str, Callable[[poise.Motion], poise.Motion]] = {
    "1 Hz": lambda clip: add_drift(clip, hz=1.0),
    "2 Hz": lambda clip: add_drift(clip, hz=2.0),
    "4 Hz": lambda clip: add_drift(clip, hz=4.0),
    "white": add_jitter,
    "10 %": lambda clip: stretch_path(clip, 0.1),
    "20 %": lambda clip: stretch_path(clip, 0.2),
}
SHARE = 0.6  # of a clip that is locked alone


def measure_dirt(clip: poise.Motion) -> str:
    """Return the shares of contact frames for all kinds of noise."""
    clean, out = contacts(clip), ""
    for add in DIRT.values():
        dirty = add(clip)
        found, new = measure_found(clean, contacts(dirty))
        held, _ = measure_found(clean, lock(dirty).contacts)
        out += f"{100 * found:5.0f}/{100 * held:3.0f}{100 * new:+4.0f}"
    return out


def place_feet(clip: poise.Motion) -> Floats:
    """Return the paths of heels and toes, (points, frames, 3) [m]."""
    known = poise.roles(clip.model).contacts
    names = [name for name in known if name.startswith(("heel", "toe"))]
    return np.stack([clip.positions(known[name].frame, known[name].point) for name in names])


def measure_repeats(clip: poise.Motion) -> tuple[float, float]:
    """Return how far feet move if the clip is locked twice, and if only its first part is locked [mm]."""
    once, cut = lock(clip).motion, int(SHARE * len(clip))
    away = max(cut - round(clip.fps), 1)
    feet = place_feet(once)
    twice, part = place_feet(lock(once).motion), place_feet(lock(clip[:cut]).motion)
    moved = np.linalg.norm(twice - feet, axis=2).max()
    return 1e3 * float(moved), 1e3 * float(np.linalg.norm(part - feet[:, :cut], axis=2)[:, :away].max())


def measure_clip(name: str, clip: poise.Motion) -> None:
    """Print the row of one clip."""
    twice, part = measure_repeats(clip)
    print(f"{name:<12}{len(contacts(clip)):4d}{measure_dirt(clip)}{twice:9.3f}{part:8.1f}", flush=True)


def main() -> None:
    """Measure the walk of the tests, or all clips of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with BVH files")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    print(f"{'clip':<12}{'':>4}{''.join(f'{name:>13}' for name in DIRT)}{'twice':>9}{'part':>8}")
    if options.data is None:
        measure_clip("walk", put_skate_in(make_walk(144)))
        return
    for path in sorted(options.data.glob("*.bvh")):
        clip = poise.load_motion(path, scale="auto")
        measure_clip(path.stem, clip[: round(options.seconds * clip.fps)])


if __name__ == "__main__":
    main()
