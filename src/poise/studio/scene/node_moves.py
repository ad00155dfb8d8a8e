"""Fast updates of many scene nodes.

viser's setters compare every value with the last one, which costs as much as ten messages. Unchanged nodes are
already skipped here, so the messages are queued directly, as the setters do. If viser's internals differ, its setters
are used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.spatial import Rotation

__all__ = ["Movers"]

Send = Callable[[tuple[float, ...]], None]


class Movers:
    """Nodes or bones of viser that are moved together; only those that moved are sent.

    Args:
        handles: The viser handles.
        fine: Rotations below this [rad], and translations below this times `length`, are sent once they add up.
        length: The length of the body [m].
    """

    def __init__(self, handles: Sequence[Any], *, fine: float, length: float) -> None:
        self.handles = tuple(handles)
        self._turns = [make_sender(handle, "wxyz") for handle in self.handles]
        self._slides = [make_sender(handle, "position") for handle in self.handles]
        self._fine = np.array((fine, fine * length))
        self._shown: tuple[Floats, Floats] | None = None

    def show(self, T: Floats) -> None:
        """Set the transforms of all handles, (handles, 4, 4), relative to their parents in the scene."""
        if not self.handles:
            return
        wxyz, positions = np.array(Rotation.from_matrix(T[:, :3, :3]).wxyz), T[:, :3, 3].copy()
        turned = slid = np.ones(len(self.handles), dtype=bool)
        if self._shown is not None:
            turned = np.abs(wxyz - self._shown[0]).max(axis=1) > self._fine[0]
            slid = np.abs(positions - self._shown[1]).max(axis=1) > self._fine[1]
            # skipped values stay as last sent, so that slow drifts add up
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
    """Return a function that queues the message of a viser setter; raises if viser's internals differ."""
    from viser import _messages as messages

    state = handle._impl
    bone = hasattr(state, "bone_index")
    node = state.mesh_impl if bone else state
    kind = {"wxyz": "Orientation", "position": "Position"}[what]
    make = getattr(messages, f"Set{'Bone' if bone else ''}{kind}Message")
    address = (state.name, state.bone_index) if bone else (state.name,)
    queue, current = node.api._queue_scene_message, getattr(state, what)
    make(*address, tuple(current.tolist()))  # raises here, not during a drag, if the message differs

    def send(value: tuple[float, ...]) -> None:
        if not node.removed:
            current[:] = value
            queue(make(*address, value))

    return send
