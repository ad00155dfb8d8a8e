"""Planting feet: a body stands on them, and they hold where they are."""

from __future__ import annotations

from dataclasses import replace

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics.parts import find_rigid_parts
from poise.rig.standing.stance import Stance
from poise.rig.state import HandleGoal, State, set_entry
from poise.rig.undo import Undoable

__all__ = ["Planting"]


class Planting(Undoable):
    """A body with handles, whose feet can be planted."""

    def plant(self, handle: str) -> None:
        """Plants a foot where it is: its ball stays exactly, the heel may rise and never sinks.

        The foot keeps its direction, and lies flat where nothing needs the heel up. Of a foot without a joint for its
        toes the front edge of the sole stays. A foot may be named by its handle or by a frame of it. Planted feet are
        served before everything else, as pins are; one that is dragged is planted again where it came to.
        """
        name = self._foot(handle)
        if not self._handles[name].stands:
            feet = ", ".join(self._feet.names) or "none"
            raise InvalidValue(f"handle {name!r} is not a foot; type rig.pin({name!r}) to hold it. Feet: {feet}.")
        goal = self._plant_at(name, self._state.shown)
        self._change("plant", name, places=set_entry(self._state.places, name, goal), dragged=())

    def stand(self) -> tuple[str, ...]:
        """Plants the feet that the body stands on, see `standing`; those that are held already stay as they are.

        Returns:
            The handles that it planted.
        """
        names = tuple(name for name in self.standing if name not in self._state.places)
        planted = {name: self._plant_at(name, self._state.shown) for name in names}
        if planted:
            self._change("plant", " ".join(names), places={**self._state.places, **planted}, dragged=())
        return names

    def _plant_at(self, name: str, q: Floats, flat: Floats | None = None) -> HandleGoal:
        """A foot planted where it is in a pose."""
        return HandleGoal("plant", self._place(self._handles[name], q, 2), stance=Stance(self._feet, name, q, flat))

    def _stand_again(self, state: State) -> State:
        """A mirrored state whose planted feet stand where they are in it."""
        planted = {n: self._plant_at(n, state.q) for n, goal in state.places.items() if goal.kind == "plant"}
        return replace(state, places={**state.places, **planted})

    def _hold_again(self, name: str, goal: HandleGoal, q: Floats) -> HandleGoal:
        """A pin or a planted foot that holds where it is in a pose."""
        if goal.kind == "plant":
            return self._plant_at(name, q)
        return replace(goal, target=self._place(self._handles[name], q, goal.target.ndim))

    def _foot(self, name: str) -> str:
        """The handle of a foot, which may also be named by one of its frames."""
        given = str(getattr(name, "name", name))
        if given in self._handles or given not in self.model.frames:
            return self._handle(given).name
        parts = find_rigid_parts(self.model)
        for handle in self._feet.names:
            foot = self._feet[handle]
            if parts[given] in (parts[foot.frame], foot.toes):
                return handle
        return self._handle(given).name
