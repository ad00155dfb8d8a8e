"""Mirror images of a rig: of its handles, goals and snapshots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Mirror, find_partner_joint
from poise.rig.handle import Handle
from poise.rig.limbs.limb import Limb
from poise.rig.snapshot import Blend, HandleGoal, Pole, Snapshot, set_entry

__all__ = ["Images"]


class Images:
    """The mirror images of a rig: left and right are swapped, and the middle is its own image."""

    def __init__(self, mirror: Mirror, handles: Mapping[str, Handle], limbs: Mapping[str, Limb]) -> None:
        self.mirror, self.handles, self.limbs = mirror, handles, limbs

    def reflect_target(self, q: Floats, handle: Handle, target: Floats) -> Floats:
        """Return the image of a handle's target in the plane of the body at q."""
        if target.ndim == 1:
            return self.mirror.reflect_point(q, target)
        return self.mirror.reflect_transform(q, handle.frame, target)

    def reflect_goal(self, q: Floats, handle: Handle, goal: HandleGoal) -> HandleGoal:
        """Return the image of a goal."""
        axis = None
        if goal.axis is not None:
            image = self.mirror.reflect_axis(handle.frame, np.array(goal.axis))
            axis = (float(image[0]), float(image[1]), float(image[2]))
        return replace(goal, target=self.reflect_target(q, handle, goal.target), axis=axis)

    def mirror_handle(self, state: Snapshot, handle: Handle) -> dict[str, Any]:
        """Return the snapshot fields that give the other side the image of a handle's target and aim."""
        if handle.mirror is None:
            raise InvalidValue(f"handle {handle.name!r} has no other side.")
        here = HandleGoal("reach", np.array(self.mirror.model.fk(state.shown, handle.frame)))
        goal = state.places.get(handle.name) or here
        image = self.reflect_goal(state.shown, handle, replace(goal, stance=None))
        if image.kind == "plant":  # the other foot is dragged there first, then planted
            image = replace(image, kind="reach")
        changed: dict[str, Any] = {"places": set_entry(state.places, handle.mirror, image), "dragged": ()}
        if handle.name in state.aims:
            aim = self.reflect_goal(state.shown, handle, state.aims[handle.name])
            changed["aims"] = set_entry(state.aims, handle.mirror, aim)
        return changed

    def reflect_state(self, state: Snapshot, about: Floats | None = None) -> Snapshot:
        """Return the image of a state, in the plane of its own body or of the pose `about`."""
        mirror, q, other = self.mirror, state.q if about is None else about, self.swap_handle
        return replace(
            state,
            q=mirror.reflect_pose(state.q, about),
            shown=mirror.reflect_pose(state.shown, about),
            places={other(name): self.reflect_goal(q, self.handles[name], w) for name, w in state.places.items()},
            aims={other(name): self.reflect_goal(q, self.handles[name], w) for name, w in state.aims.items()},
            poles={self.swap_limb(name): self.reflect_pole(q, pole) for name, pole in state.poles.items()},
            blends={self.swap_limb(name): self.reflect_blend(blend) for name, blend in state.blends.items()},
            strengths={other(name): strength for name, strength in state.strengths.items()},
            frozen=frozenset(find_partner_joint(mirror.model, name) for name in state.frozen),
            dragged=(),
            without={other(name): self.reflect_state(before, q) for name, before in state.without.items()},
        )

    def reflect_pole(self, q: Floats, pole: Pole) -> Pole:
        """Return the image of a pole; a normal is a cross product, so its sign also changes."""
        normal = None if pole.normal is None else -self.mirror.reflect_direction(q, pole.normal)
        return Pole(self.mirror.reflect_direction(q, pole.direction), normal)

    def reflect_blend(self, blend: Blend) -> Blend:
        """Return the image of a blend."""
        return Blend(blend.ik, self.mirror.reflect_pose(blend.own))

    def swap_handle(self, name: str) -> str:
        """Return the handle on the other side."""
        return self.handles[name].mirror or name

    def swap_limb(self, name: str) -> str:
        """Return the limb on the other side, if both have a middle or neither."""
        own = self.limbs[name]
        other = next((limb for limb in self.limbs.values() if limb.handle == self.swap_handle(own.handle)), own)
        return other.name if (other.middle is None) == (own.middle is None) else name
