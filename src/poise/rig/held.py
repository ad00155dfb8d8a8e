"""What a rig is: a body, its handles and limbs, and the state in which it holds them. To look at and to look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, name_not_found
from poise.kinematics import Pose
from poise.kinematics.pose import check_model
from poise.model import Model
from poise.model.compare import name_mismatch
from poise.names import find_other_side
from poise.rig.handles import GROUND, KINDS, Handle, find_handles, has_free_base, make_handle
from poise.rig.limbs.limb import Limb, find_limbs, limb_for
from poise.rig.standing.stance import Feet
from poise.rig.state import State
from poise.solvers import Solution
from poise.spatial import Transform

__all__ = ["Held"]


class Held:
    """A body with handles, and what they are asked for.

    Attributes:
        model: The body.
    """

    def __init__(self, model: Model, pose: Pose | ArrayLike | None) -> None:
        check_model(model)
        self.model = model
        start = self._configuration(pose)
        self._handles = find_handles(model)
        self._limbs = find_limbs(model, self._handles)
        self._feet = Feet(model, self._handles, start)
        self._attach()
        self._state = State(q=start, shown=start)
        self._solution: Solution | None = None

    # -------------------------------------------------------------------------------------------- to look at

    @property
    def handles(self) -> Mapping[str, Handle]:
        """The handles by name."""
        return MappingProxyType(self._handles)

    @property
    def limbs(self) -> Mapping[str, Limb]:
        """The limbs by name."""
        return MappingProxyType(self._limbs)

    @property
    def pose(self) -> Pose:
        """Where the body is."""
        return Pose(self.model, self._state.shown)

    @property
    def q(self) -> Floats:
        """The configuration of `pose`, (nq,)."""
        return self._state.shown.copy()

    @property
    def solution(self) -> Solution | None:
        """The solution of the last frame, before limbs were blended: errors by handle, why(); None before the first."""
        return self._solution

    @property
    def pinned(self) -> tuple[str, ...]:
        """The handles that are pinned."""
        return tuple(name for name, goal in self._state.places.items() if goal.kind == "pin")

    @property
    def planted(self) -> tuple[str, ...]:
        """The handles of the feet that are planted."""
        return tuple(name for name, goal in self._state.places.items() if goal.kind == "plant")

    @property
    def standing(self) -> tuple[str, ...]:
        """The handles that the body stands on now: those to stand on that are on the ground under a free base."""
        if not has_free_base(self.model):
            return ()
        q, axis = self._state.shown, self.model.up_axis
        ground = {name: self._feet.find_ground(name, q) for name in self._feet.names}
        others = [float(self.model.fk(q, handle.frame)[axis, 3]) for handle in self._handles.values()]
        lowest = min((*others, *ground.values()), default=0.0)
        return tuple(name for name, height in ground.items() if height <= lowest + GROUND * self.model.length)

    @property
    def held(self) -> tuple[str, ...]:
        """The handles that have a pin, a reach or an aim."""
        return tuple(dict.fromkeys((*self._state.places, *self._state.aims)))

    @property
    def frozen(self) -> tuple[str, ...]:
        """The joints that are frozen."""
        return tuple(sorted(self._state.frozen))

    def transform(self, handle: str) -> Transform:
        """Where a handle is: T_world_handle."""
        return Transform.from_matrix(self.model.fk(self._state.shown, self._handle(handle).frame))

    def target(self, handle: str) -> Floats | None:
        """Where a handle is asked to be: a place (3,) or a transform (4, 4); None where it is free."""
        goal = self._state.places.get(self._handle(handle).name)
        return None if goal is None else goal.target.copy()

    def add_handle(self, name: str, frame: str, kind: str = "end") -> Handle:
        """One more handle: on a frame, of a kind ("end", "body", "gaze" or "pole")."""
        if not isinstance(name, str) or not name or name in self._handles:
            raise InvalidValue(f"a handle must have a name of its own, not {name!r}.")
        if kind not in KINDS:
            raise name_not_found("kind of handle", str(kind), KINDS)
        handle = make_handle(self.model, name, self.model.frame(frame).name, kind)
        self._handles[name] = handle
        if kind == "end" and not any(handle.frame == self._handles[limb.handle].frame for limb in self._limbs.values()):
            limb = limb_for(self.model, handle)
            if limb is not None:
                self._limbs[limb.name] = limb
        self._attach()
        return self._handles[name]

    # -------------------------------------------------------------------------------------------- to look up

    def _place(self, handle: Handle, q: Floats, ndim: int) -> Floats:
        T = self.model.fk(q, handle.frame)
        return np.array(T if ndim == 2 else T[:3, 3])

    def _attach(self) -> None:
        """Gives every handle its limb, and the handle of the same kind on the other side."""
        limbs = {limb.handle: limb.name for limb in self._limbs.values()}
        middles = {limb.middle: limb.name for limb in reversed(self._limbs.values()) if limb.middle is not None}
        for name, handle in self._handles.items():
            limb = limbs.get(name) or (middles.get(handle.frame) if handle.kind == "pole" else None)
            alike = [n for n, h in self._handles.items() if (h.kind, h.stands) == (handle.kind, handle.stands)]
            self._handles[name] = replace(handle, limb=limb, mirror=find_other_side(name, alike))

    def _configuration(self, pose: Pose | ArrayLike | None) -> Floats:
        if isinstance(pose, Pose) and pose.model is not self.model and pose.model != self.model:
            raise ModelMismatch(f"pose is {name_mismatch(pose.model, self.model)}.")
        return pose.q if isinstance(pose, Pose) else Pose(self.model, pose).q

    def _handle(self, name: str) -> Handle:
        found = self._handles.get(str(getattr(name, "name", name)))
        if found is None:
            raise name_not_found("handle", f"{name}", self._handles)
        return found

    def _limb(self, name: str, *, bends: bool = False) -> Limb:
        handle = self._handles.get(f"{name}")
        found = self._limbs.get(f"{name}" if handle is None or handle.limb is None else handle.limb)
        if found is None:
            raise name_not_found("limb", f"{name}", self._limbs)
        if bends and found.middle is None:
            raise InvalidValue(f"limb {found.name!r} has nothing in its middle that bends, so no pole.")
        return found

    def _joints(self, names: Sequence[str]) -> frozenset[str]:
        found = [self.model.joint(name) for name in names]
        for joint in found:
            if joint.mimic:
                raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; name that one instead.")
        return frozenset(joint.name for joint in found if joint.nv)
