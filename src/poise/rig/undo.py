"""Back and forth: a rig remembers the states before each change, and comes back to them to the bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from poise.kinematics import Pose
from poise.model import Model
from poise.rig.held import Held
from poise.rig.state import Memory, State

__all__ = ["Undoable"]


class Undoable(Held):
    """A body with handles whose changes can be taken back."""

    def __init__(self, model: Model, pose: Pose | ArrayLike | None) -> None:
        super().__init__(model, pose)
        self._first = self._state
        self._memory = Memory()

    def undo(self) -> bool:
        """Takes the last change back, pose and goals, to the bit; whether there was one."""
        return self._restore(self._memory.back(self._state))

    def redo(self) -> bool:
        """Makes the change again that was taken back last; whether there was one."""
        return self._restore(self._memory.forth(self._state))

    def begin(self) -> None:
        """Begins a gesture (the mouse is down): everything until `commit` is one change for `undo`."""
        self._memory.begin()

    def commit(self) -> None:
        """Ends a gesture (the mouse is up): the next drag or slide is a change of its own for `undo`."""
        self._memory.end_gesture()

    def reset(self) -> Pose:
        """The pose of the beginning and no goals; `undo` takes it back."""
        self._memory.before(self._state, "whole")
        self._state, self._solution = self._first, None
        return self.pose

    def mark_start(self) -> None:
        """Makes this moment the beginning: `reset` comes back to it, and `undo` does not go beyond it."""
        self._first, self._memory = replace(self._state, dragged=()), Memory()

    def _change(self, verb: str, what: str = "", **fields: Any) -> None:
        self._memory.before(self._state, verb, what)
        self._state = replace(self._state, **fields)

    def _restore(self, state: State | None) -> bool:
        if state is None:
            return False
        self._state, self._solution = state, None
        return True
