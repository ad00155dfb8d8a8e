"""The frame rate of a clip: keys may be at any time, but a `Motion` has a constant rate.

The rate is the first on which every key falls, so that no key is lost: the clip's own rate if its keys are evenly
spaced and dense, otherwise one of the usual rates. A clip that fits none is sampled at 60 Hz, with a note.
"""

import numpy as np

from poise.arrays import Floats
from poise.formats.gltf.clips import GltfAnimation
from poise.formats.gltf.document import Document

__all__ = ["find_frame_times"]


USUAL = (30.0, 24.0, 25.0, 60.0, 50.0, 48.0, 72.0, 90.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0, 250.0, 500.0, 1000.0)
OTHERWISE = 60.0
MAX_NUMBERS = 60_000_000
"""Numbers in the q of one motion above which a clip is rejected: half a gigabyte."""
MAX_FRAMES = 100_000
"""Frames that a few keys may be spread over; more only where there are keys for them."""
DENSE = 20.0  # Hz, a rate above this is used as it is; below, a usual rate is chosen
OFF = 2e-3  # frames, tolerance of a key's time; times are single precision


def find_frame_times(document: Document, keys: list[Floats], numbers: int, clip: GltfAnimation) -> tuple[Floats, float]:
    """Return the times of the frames of a clip [s], and the frame rate.

    Args:
        document: The file.
        keys: The times of all its channels [s].
        numbers: The number of values per frame.
        clip: The clip.
    """
    times = np.unique(np.concatenate(keys))
    start, end = float(times[0]), float(times[-1])
    if end <= start:
        return times[:1], clip.fps or 30.0
    where = clip.where
    stated = clip.fps is not None and is_on_grid(times, clip.fps)
    rate, fits = (clip.fps, True) if clip.fps is not None and stated else find_rate(times)
    frames = (end - start) * rate
    if frames * max(numbers, 1) > MAX_NUMBERS or frames > max(MAX_FRAMES, 20 * len(times)):
        raise document.fail(
            where, f"lasts {end - start:g} s, {frames:.3g} frames at {rate:g}; that is too long to read."
        )
    if not fits:
        document.source.note(f"{where}: its keys lie on no even rate; it was sampled at {rate:g} frames a second")
    if start > 0:
        document.source.note(f"{where}: its first key is at {start:g} s, which became the motion's time zero")
    count = round(frames) if fits else int(np.ceil(frames - OFF))
    grid = np.minimum(start + np.arange(count + 1) / rate, end)
    return snap_times(grid, times, OFF / rate), rate


def find_rate(times: Floats) -> tuple[float, bool]:
    """Return the rate [Hz], and whether every key falls on a frame."""
    start, steps = times[0], np.diff(times)
    own = (len(times) - 1) / float(times[-1] - start)
    slack = 2e-7 * float(np.abs(times).max()) + 1e-4 / own
    if own > DENSE and np.abs(steps - 1 / own).max() <= slack:
        whole = round(own)
        return (float(whole) if abs(own - whole) < 1e-4 * own and own < 1e4 else own), True
    for rate in USUAL:
        if is_on_grid(times, rate):
            return rate, True
    return OTHERWISE, False


def is_on_grid(times: Floats, rate: float) -> bool:
    """Return whether every key falls on a different frame, within single precision."""
    frames = (times - times[0]) * rate
    tolerance = min(OFF + 2e-7 * float(np.abs(times).max()) * rate, 0.05)
    return bool(np.abs(frames - np.round(frames)).max() <= tolerance and (np.diff(frames) > 0.5).all())


def snap_times(grid: Floats, times: Floats, reach: float) -> Floats:
    """Return the grid with times snapped to keys within `reach`, so that rounding misses no STEP."""
    k = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
    nearest = np.where(grid - times[k - 1] < times[k] - grid, times[k - 1], times[k])
    return np.where(np.abs(nearest - grid) <= max(reach, 1e-6), nearest, grid)
