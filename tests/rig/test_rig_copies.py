"""A copy of a rig, or one that came out of a pickle, goes on in the same frames, bit for bit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import poise
from poise.limits import Clearance

COPIES: dict[str, Callable[[poise.Rig], poise.Rig]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda rig: pickle.loads(pickle.dumps(rig)),
}


def busy_rig() -> poise.Rig:
    """A rig in the middle of things: every kind of wish, a blend, something frozen, something to undo."""
    rig = poise.Rig(poise.load("humanoid"), limits=[Clearance(distance=0.0)])
    rig.handles.add("thumb", "thumb_l", "end")
    rig.pin("foot_l")
    rig.pin("foot_r")
    rig.look_at("head", (0.3, 1.2, 1.0))
    rig.pole("arm_r", (-1.0, -1.0, 0.0))
    rig.strength("hand_r", 0.7)
    rig.freeze("neck")
    for height in np.linspace(0.8, 1.2, 6):
        rig.drag("hand_r", (-0.3, height, 0.35))
    rig.blend("arm_r", 0.5)
    rig.update()
    return rig


def frames(rig: poise.Rig) -> list[np.ndarray]:
    """What the rig does next: every verb that makes a frame, and back."""
    out = [rig.drag("hand_l", (0.3, height, 0.3)).q for height in np.linspace(0.9, 1.1, 4)]
    rig.blend("arm_r", 1.0)
    out += [rig.update().q, rig.mirror().q]
    rig.history.undo()
    rig.history.undo()
    out += [rig.q, rig.update().q]
    rig.history.reset()
    return [*out, rig.q]


@pytest.mark.slow
@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_alike(way: str) -> None:
    rig = busy_rig()
    twin = COPIES[way](rig)
    assert twin.state.held == rig.state.held
    assert twin.state.frozen == rig.state.frozen
    assert list(twin.handles) == list(rig.handles)
    for a, b in zip(frames(twin), frames(rig), strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("way", COPIES)
def test_copies_are_their_own(way: str) -> None:
    rig = busy_rig()
    before = rig.q
    twin = COPIES[way](rig)
    twin.handles.add("other", "thumb_r", "end")
    twin.release()
    twin.settle(20)
    assert (rig.q == before).all()
    assert "other" not in rig.handles
    assert "foot_l" in rig.state.pinned
    assert (twin.model is rig.model) == (way == "copy")
