"""Editing of the open clip: one undo step per operation, long operations in the background."""

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
    """The editor of a player's clip.

    Attributes:
        background: The runner of long tasks; its listeners are called when a task starts, advances and ends.
        compared: The quality of the original and of the edited clip, once measured; otherwise None.
        note: The report of the last operation.

    Args:
        player: The player of the clip.
        find_puppet: Returns the body that is dragged.
        lock: A lock, held while the pose or the clip is changed.
    """

    def __init__(self, player: Player, find_puppet: Callable[[], Puppet], lock: AbstractContextManager[Any]) -> None:
        self.player, self.find_puppet, self.lock = player, find_puppet, lock
        self.background = Background()
        self.compared: tuple[Quality, Quality] | None = None
        self.note = ""
        self._known: Timeline | None = None
        self._pending: list[PoseKey] = []  # keys that are not part of the clip yet
        self._kept: Any = None  # the frame and pose of the last key
        player.changed.append(self._watch)
        self.background.changed.append(self._go_on)

    @property
    def state(self) -> ClipState | None:
        """The current state of the open clip, or None."""
        return None if self.player.timeline is None else self.player.timeline.state

    # ------------------------------------------------------------------------------------------ operations

    def find_contacts(self) -> bool:
        """Start to find the contacts of the clip; return whether it was started."""
        return self._start(FIND, lambda state, _: find_feet(state))

    def lock_feet(self) -> bool:
        """Start to hold the contacts exactly; return whether it was started."""
        return self._start(LOCK, lock_feet)

    def compare(self) -> bool:
        """Start to measure the clip before and after its edits; return whether it was started."""
        state = self.state
        if state is None:
            return False

        def done(found: tuple[Quality, Quality]) -> None:
            self.compared, self.note = found, ""

        return self.background.start(COMPARE, lambda _: compare_quality(state), done)

    def remove_key(self, frame: int) -> bool:
        """Start to remove a key from the clip; return whether it was started."""
        return self._start(
            KEY, lambda state, progress: put_keys(state, remove_key(state, frame), progress, "Remove a key")
        )

    def set_spread(self, spread: float) -> bool:
        """Set the spread of keys around their frames [s]; return whether it was applied or started."""
        timeline = self.player.timeline
        if timeline is None or self.background.task is not None or timeline.state.spread == spread:
            return False
        if not timeline.state.keys:
            timeline.state = replace(timeline.state, spread=spread)  # no visible change, so no undo step
            return True
        return self._start(KEY, lambda state, progress: set_spread(state, spread, progress))

    def change(self, do: Callable[[ClipState], ClipState], going_on: str = "") -> bool:
        """Apply a short operation to the clip; return whether it was applied, which a running task prevents.

        Raises:
            InvalidValue: The operation failed; the clip is unchanged.
        """
        timeline = self.player.timeline
        if timeline is None or self.background.task is not None:
            return False
        self._commit(timeline, do(timeline.state), going_on)
        return True

    def cancel(self) -> bool:
        """Cancel the running task and drop its result; return whether a task was running."""
        self._pending.clear()
        return self.background.cancel()

    def undo(self) -> bool:
        """Undo the last step: a running task, a drag that is not in the clip yet, or an operation."""
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
        """Redo the last undone step."""
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
        """Return whether the body's pose differs from that of the clip at the current time."""
        motion, player, puppet = self.player.motion, self.player, self.find_puppet()
        if motion is None or player.playing or motion.model is not puppet.model:
            return False
        return not is_same(puppet.model, sample(motion, player.seconds), puppet.q)

    def _is_kept(self) -> bool:
        """Return whether the body is in the pose of the last key."""
        puppet = self.find_puppet()
        if self._kept is None or self._kept[0] != self.player.frame:
            return False
        return is_same(puppet.model, self._kept[1], puppet.q)

    def _lay_keys(self) -> None:
        """Start to apply the pending keys; if others are being applied, restart with all of them."""
        timeline, task = self.player.timeline, self.background.task
        if timeline is None or not self._pending or (task is not None and task.name != KEY):
            return
        if task is not None and not self.background.cancel():
            return  # it is just ending, and will start the pending keys
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
        """Set the state of the clip, unless another clip was opened meanwhile."""
        with self.lock:
            if timeline is not self.player.timeline:
                return
            waits = bool(self._pending or self.find_puppet().held) or (self._differs() and not self._is_kept())
            timeline.commit(state, going_on)
            self.compared, self.note = None, state.note
            self._kept = self._kept if waits else None
            self.player.refresh(place=not waits)

    def _show_state(self, done: bool) -> bool:
        """Show the clip after undo or redo. Call under the lock, or a frame in between makes a key of the old pose."""
        if done:
            self.compared, self.note, self._kept = None, "", None
            self.player.refresh()
        return done

    def _watch(self, what: str) -> None:
        """Reset the editor if another clip was opened."""
        if self.player.timeline is not self._known:
            self._known = self.player.timeline
            self.cancel()
            self.compared, self.note, self._kept = None, "", None

    def _go_on(self) -> None:
        """Apply the pending keys, or drop them if the last task failed."""
        if self.background.task is not None:
            return
        if self.background.refused:
            self._pending.clear()
        self._lay_keys()
