"""Many nodes of a scene moved at once, quickly.

viser compares every number that it is given with the last one, at a cost of ten messages; what has not moved was
already left out here, so the messages are queued as its setters queue them. Where a viser is built otherwise, its
setters are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.spatial import Rotation

__all__ = ["Movers"]

Send = Callable[[tuple[float, ...]], None]


class Movers:
    """Nodes or bones of viser that are moved together; those that have not moved are not sent.

    Args:
        handles: What viser gave for them.
        fine: Turns smaller than this, and slides smaller than this times `length`, wait until they add up.
        length: How long the body is [m].
    """

    def __init__(self, handles: Sequence[Any], *, fine: float, length: float) -> None:
        self.handles = tuple(handles)
        self._turns = [make_sender(handle, "wxyz") for handle in self.handles]
        self._slides = [make_sender(handle, "position") for handle in self.handles]
        self._fine = np.array((fine, fine * length))
        self._shown: tuple[Floats, Floats] | None = None

    def show(self, T: Floats) -> None:
        """Move all of them, (handles, 4, 4): each as its parent in the scene sees it."""
        if not self.handles:
            return
        wxyz, positions = np.array(Rotation.from_matrix(T[:, :3, :3]).wxyz), T[:, :3, 3].copy()
        turned = slid = np.ones(len(self.handles), dtype=bool)
        if self._shown is not None:
            turned = np.abs(wxyz - self._shown[0]).max(axis=1) > self._fine[0]
            slid = np.abs(positions - self._shown[1]).max(axis=1) > self._fine[1]
            # what was not sent stays as it was, so that slow drifts are not lost
            wxyz[~turned], positions[~slid] = self._shown[0][~turned], self._shown[1][~slid]
        send_rows(self._turns, wxyz, turned)
        send_rows(self._slides, positions, slid)
        self._shown = wxyz, positions


def send_rows(senders: list[Send], values: Floats, chosen: NDArray[np.bool_]) -> None:
    """Send the chosen rows."""
    rows = np.flatnonzero(chosen)
    for k, value in zip(rows.tolist(), values[rows].tolist(), strict=True):
        senders[k](tuple(value))


def make_sender(handle: Any, what: str) -> Send:
    """Return a function that sends a handle's `wxyz` or `position`: by a message of viser, or by its setter."""
    try:
        return make_quick_sender(handle, what)
    except (ImportError, AttributeError, TypeError):
        return lambda value: setattr(handle, what, value)


def make_quick_sender(handle: Any, what: str) -> Send:
    """Return a function that queues the message of a viser setter; raises if viser has another structure."""
    from viser import _messages as messages

    state = handle._impl
    bone = hasattr(state, "bone_index")
    node = state.mesh_impl if bone else state
    kind = {"wxyz": "Orientation", "position": "Position"}[what]
    make = getattr(messages, f"Set{'Bone' if bone else ''}{kind}Message")
    address = (state.name, state.bone_index) if bone else (state.name,)
    queue, current = node.api._queue_scene_message, getattr(state, what)
    make(*address, tuple(current.tolist()))  # a message of another make is found here, not in a drag

    def send(value: tuple[float, ...]) -> None:
        if not node.removed:
            current[:] = value
            queue(make(*address, value))

    return send
