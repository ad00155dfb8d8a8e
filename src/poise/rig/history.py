"""Undo and redo of a rig: a list of snapshots, restored exactly."""

from dataclasses import replace
from typing import Any

from poise.rig.snapshot import Snapshot
from poise.solvers import Solution

__all__ = ["RigHistory"]

MAX_UNDO_STEPS = 1000
GESTURES = frozenset({"drag", "look_at", "point", "strength", "blend"})  # repeated calls of these are one change


class RigHistory:
    """The changes of a rig: the current snapshot, those before each change, and those undone.

    The frames of a drag or a slider are one change, even if aims follow the drag.

    Attributes:
        now: The current snapshot.
        solution: The solution of the last frame; None before the first one and after `undo`, `redo` and `reset`.
    """

    def __init__(self, first: Snapshot) -> None:
        self.now = first
        self.solution: Solution | None = None
        self._done: list[Snapshot] = []
        self._undone: list[Snapshot] = []
        self._open: set[tuple[str, str]] = set()
        self._begun: bool | None = None  # inside `begin`: whether its snapshot is already recorded
        self.mark_start()

    def undo(self) -> bool:
        """Undo the last change of pose and targets; return whether there was one."""
        return self._move(self._done, self._undone)

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        return self._move(self._undone, self._done)

    def begin(self) -> None:
        """Begin a gesture (mouse down): everything until `commit` is one change."""
        if self._begun is None:
            self._begun = False

    def commit(self) -> None:
        """End a gesture (mouse up): the next drag or slider move is a separate change."""
        self._open, self._begun = set(), None

    def reset(self) -> None:
        """Return to the first pose and its targets; `undo` reverts this."""
        self.record("whole")
        self.now, self.solution = self._first, None

    def mark_start(self) -> None:
        """Make the current state the start: `reset` returns to it, and `undo` stops at it."""
        self._first = replace(self.now, dragged=())
        self._done, self._undone = [], []
        self.commit()

    def change(self, verb: str, what: str = "", **fields: Any) -> None:
        """Record the current snapshot, then change some of its fields."""
        self.record(verb, what)
        self.now = replace(self.now, **fields)

    def record(self, verb: str, what: str = "") -> None:
        """Record the current snapshot before a change, unless the change continues a gesture."""
        if (verb, what) in self._open or self._begun:
            return
        self._begun = None if self._begun is None else True
        others = {gesture for gesture in self._open if gesture[0] != verb}
        self._open = {*others, (verb, what)} if verb in GESTURES else set()
        self._done.append(replace(self.now, dragged=()))
        del self._done[:-MAX_UNDO_STEPS]
        self._undone.clear()

    def _move(self, source: list[Snapshot], target: list[Snapshot]) -> bool:
        self.commit()
        if not source:
            return False
        target.append(replace(self.now, dragged=()))
        self.now, self.solution = source.pop(), None
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "solution": None}
