"""A rule of contact that is not ours, for judging feet."""

import numpy as np

import poise

__all__ = ["find_plain_contacts", "find_runs"]


def find_plain_contacts(clip: poise.Motion, toes: list[str]) -> dict[str, np.ndarray]:
    """Return the frames of each toe in contact.

    A toe is slower than 0.15 m/s (the larger of the two one-sided differences) and lower than the floor + 5 cm (floor:
    2nd percentile of both toes), for at least 4 frames.
    """
    up = clip.model.up_direction
    paths = {toe: clip.positions(toe) for toe in toes}
    floor = np.percentile(np.concatenate([path @ up for path in paths.values()]), 2.0)
    out = {}
    for toe, path in paths.items():
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1) * clip.fps
        speed = np.maximum(np.r_[steps[:1], steps], np.r_[steps, steps[-1:]])
        low = (speed < 0.15) & (path @ up < floor + 0.05)
        for a, b in find_runs(low):
            low[a:b] = b - a >= 4
        out[toe] = low
    return out


def find_runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """List the stretches of True: (first, one past the last)."""
    edges = np.flatnonzero(np.diff(np.r_[0, flags.astype(int), 0]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
