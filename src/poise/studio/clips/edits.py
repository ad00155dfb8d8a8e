"""Edits of the open clip: one undo step for each operation, long work in the background."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from poise.motion import Quality
from poise.studio.clips.keys import PoseKey, is_same, make_key
from poise.studio.clips.player import Player, sample
from poise.studio.clips.timeline import (
    ClipState,
    Timeline,
    compare_quality,
    find_feet,
    lock_feet,
    merge_key,
    put_keys,
    remove_key,
    set_spread,
)
from poise.studio.puppet import Puppet
from poise.studio.web.background import Background

__all__ = ["ClipEditor"]

FIND, LOCK, KEY, COMPARE = "Finding contacts", "Locking feet", "Making a key", "Measuring"


class ClipEditor:
    """Edits the clip of a player.

    Attributes:
        background: The long work; its listeners are called when it begins, advances and ends.
        compared: The quality of the original and of the edited clip, once measured; otherwise None.
        note: What the last operation had to say.

    Args:
        player: Whose clip.
        find_puppet: Returns the body that hands move.
        lock: Held while the pose or the clip is changed.
    """

    def __init__(self, player: Player, find_puppet: Callable[[], Puppet], lock: AbstractContextManager[Any]) -> None:
        self.player, self.find_puppet, self.lock = player, find_puppet, lock
        self.background = Background()
        self.compared: tuple[Quality, Quality] | None = None
        self.note = ""
        self._known: Timeline | None = None
        self._pending: list[PoseKey] = []  # keys that are not part of the clip yet
        self._kept: Any = None  # the pose that the last key was made of
        player.changed.append(self._watch)
        self.background.changed.append(self._go_on)

    @property
    def state(self) -> ClipState | None:
        """The state of the clip that is open."""
        return None if self.player.timeline is None else self.player.timeline.state

    # ------------------------------------------------------------------------------------------ operations

    def find_contacts(self) -> bool:
        """Find the contacts of the clip; return whether the search began."""
        return self._start(FIND, lambda state, _: find_feet(state))

    def lock_feet(self) -> bool:
        """Hold the contacts exactly; return whether it began."""
        return self._start(LOCK, lock_feet)

    def compare(self) -> bool:
        """Measure the clip before and after; return whether it began."""
        state = self.state
        if state is None:
            return False

        def done(found: tuple[Quality, Quality]) -> None:
            self.compared, self.note = found, ""

        return self.background.start(COMPARE, lambda _: compare_quality(state), done)

    def remove_key(self, frame: int) -> bool:
        """Take a key out of the clip; return whether it began."""
        return self._start(
            KEY, lambda state, progress: put_keys(state, remove_key(state, frame), progress, "Remove a key")
        )

    def set_spread(self, spread: float) -> bool:
        """Let keys reach so far before and after their frames [s]; return whether that is done or has begun."""
        timeline = self.player.timeline
        if timeline is None or self.background.task is not None or timeline.state.spread == spread:
            return False
        if not timeline.state.keys:
            timeline.state = replace(timeline.state, spread=spread)  # nothing is seen of it: no step of undo
            return True
        return self._start(KEY, lambda state, progress: set_spread(state, spread, progress))

    def change(self, do: Callable[[ClipState], ClipState], going_on: str = "") -> bool:
        """Do something short to the clip, and return whether it was done: not while long work goes on.

        Raises:
            InvalidValue: It cannot be done; nothing has changed.
        """
        timeline = self.player.timeline
        if timeline is None or self.background.task is not None:
            return False
        self._commit(timeline, do(timeline.state), going_on)
        return True

    def cancel(self) -> bool:
        """Cancel the running work and drop its result; return whether there was any."""
        self._pending.clear()
        return self.background.cancel()

    def undo(self) -> bool:
        """Take the last thing back: work that goes on, a drag that is not in the clip yet, or an operation."""
        with self.lock:
            player, puppet = self.player, self.find_puppet()
            if player.timeline is None:
                return puppet.undo()
            if self.cancel() or self._differs():
                player.show_at(player.seconds)
                return True
            if puppet.undo():
                return True
            return self._show_state(bool(player.timeline.undo()))

    def redo(self) -> bool:
        """Make the last thing again that was taken back."""
        with self.lock:
            timeline = self.player.timeline
            again = self.find_puppet().redo()
            if again or timeline is None:
                return again
            return self._show_state(self.background.task is None and bool(timeline.redo()))

    # ------------------------------------------------------------------------------------------ keys

    def keep(self) -> None:
        """Make a key of the pose that was changed by hand while the clip was paused."""
        with self.lock:
            state, player, puppet = self.state, self.player, self.find_puppet()
            if state is None or player.playing or player.recording or not self._differs():
                return
            if self._is_kept():
                return
            q, frame = puppet.q, player.frame
            key = make_key(puppet, state.motion.q[frame], frame)
            self._kept = frame, q
            if key is not None:
                self._pending.append(key)
        self._lay_keys()

    def _differs(self) -> bool:
        """Whether the body stands in another pose than the clip has at this time."""
        motion, player, puppet = self.player.motion, self.player, self.find_puppet()
        if motion is None or player.playing or motion.model is not puppet.model:
            return False
        return not is_same(puppet.model, sample(motion, player.seconds), puppet.q)

    def _is_kept(self) -> bool:
        """Whether the pose in which the body stands is the one that the last key was made of."""
        puppet = self.find_puppet()
        if self._kept is None or self._kept[0] != self.player.frame:
            return False
        return is_same(puppet.model, self._kept[1], puppet.q)

    def _lay_keys(self) -> None:
        """Begin to make the keys that wait; where others are being made, all are made together."""
        timeline, task = self.player.timeline, self.background.task
        if timeline is None or not self._pending or (task is not None and task.name != KEY):
            return
        if task is not None and not self.background.cancel():
            return  # it ends at this moment, and asks for the next
        pending = tuple(self._pending)

        def work(state: ClipState, progress: Any) -> ClipState:
            for key in pending:
                state = replace(state, keys=merge_key(state, key))
            return put_keys(state, state.keys, progress)

        def done() -> None:
            self._pending = [key for key in self._pending if key not in pending]

        self._start(KEY, work, done)

    # ------------------------------------------------------------------------------------------ inside

    def _start(
        self, name: str, work: Callable[[ClipState, Any], ClipState], done: Callable[[], None] = lambda: None
    ) -> bool:
        timeline = self.player.timeline
        if timeline is None:
            return False
        state = timeline.state

        def finish(found: ClipState) -> None:
            done()
            self._commit(timeline, found)

        return self.background.start(name, lambda progress: work(state, progress), finish)

    def _commit(self, timeline: Timeline, state: ClipState, going_on: str = "") -> None:
        """Make this the state of the clip, unless another one was opened meanwhile."""
        with self.lock:
            if timeline is not self.player.timeline:
                return
            waits = bool(self._pending or self.find_puppet().held) or (self._differs() and not self._is_kept())
            timeline.commit(state, going_on)
            self.compared, self.note = None, state.note
            self._kept = self._kept if waits else None
            self.player.refresh(place=not waits)

    def _show_state(self, done: bool) -> bool:
        """Show the clip after undo or redo; under the lock, or a frame in between would make a key of the old pose."""
        if done:
            self.compared, self.note, self._kept = None, "", None
            self.player.refresh()
        return done

    def _watch(self, what: str) -> None:
        """Forget the state of another clip."""
        if self.player.timeline is not self._known:
            self._known = self.player.timeline
            self.cancel()
            self.compared, self.note, self._kept = None, "", None

    def _go_on(self) -> None:
        """Make the keys that wait; drop them if they cannot be made."""
        if self.background.task is not None:
            return
        if self.background.refused:
            self._pending.clear()
        self._lay_keys()
