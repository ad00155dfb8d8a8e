"""Dirty clips: a root that drifts, jitters or moves farther than the feet, so that standing feet skate."""

import numpy as np
from numpy.typing import NDArray

from poise import Motion
from poise.arrays import Floats
from poise.kinematics.carriers import find_root
from poise.motion import Contacts

__all__ = ["add_drift", "add_jitter", "flag_frames", "measure_found", "move_root", "stretch_path"]


def add_drift(clip: Motion, size: float = 0.01, hz: float = 1.0, seed: int = 0) -> Motion:
    """Return a clip whose root moves by noise of this standard deviation per axis [m], with frequencies below `hz`."""
    frames = 4 * len(clip)
    noise = np.fft.rfft(np.random.default_rng(seed).normal(size=(frames, 3)), axis=0)
    rates = np.fft.rfftfreq(frames, 1.0 / clip.fps)
    noise[(rates == 0.0) | (rates > hz)] = 0.0
    path = np.fft.irfft(noise, frames, axis=0)[: len(clip)]
    return move_root(clip, path * size / path.std())


def add_jitter(clip: Motion, size: float = 0.002, seed: int = 0) -> Motion:
    """Return a clip whose root moves by white noise of this standard deviation per axis [m]."""
    return move_root(clip, np.random.default_rng(seed).normal(size=(len(clip), 3)) * size)


def stretch_path(clip: Motion, share: float) -> Motion:
    """Return a clip whose root travels farther by a share, so that its feet skate."""
    root, up = find_root(clip.model), clip.model.up_direction
    assert root is not None
    path = clip.positions(root.frame)
    way = path - path[0]
    return move_root(clip, share * (way - np.outer(way @ up, up)))


def move_root(clip: Motion, shift: Floats) -> Motion:
    """Return a clip whose root is moved in every frame, (frames, 3) [m]."""
    root = find_root(clip.model)
    assert root is not None
    q, at = np.array(clip.q), root.slide.q.start
    q[:, at : at + 3] += shift @ root.base[:3, :3]
    return Motion(clip.model, q, clip.fps)


def flag_frames(ledger: Contacts, names: list[str]) -> NDArray[np.bool_]:
    """Flag the frames in contact by point, (points, frames)."""
    out = np.zeros((len(names), ledger.frames), dtype=bool)
    for contact in ledger:
        if contact.name in names:
            out[names.index(contact.name), contact.start : contact.end] = True
    return out


def measure_found(clean: Contacts, found: Contacts) -> tuple[float, float]:
    """Return the share of the clean contact frames that are found, and the frames that are new, relative to them."""
    names = sorted({contact.name for contact in (*clean, *found)})
    old, new = flag_frames(clean, names), flag_frames(found, names)
    return float((old & new).sum() / max(old.sum(), 1)), float((new & ~old).sum() / max(old.sum(), 1))
