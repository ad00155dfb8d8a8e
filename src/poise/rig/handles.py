"""The handles of a rig: by name, with the limbs and the feet that they move."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue, name_not_found
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.names import find_other_side
from poise.rig.handle import GROUND_LAYER, KINDS, Handle, find_handles, has_free_base, make_handle
from poise.rig.limbs.limb import Limb, find_added_limb, find_limbs
from poise.rig.snapshot import HandleGoal, Snapshot, set_entry
from poise.rig.standing.stance import Feet, PlantedFoot

__all__ = ["Handles"]

BARE_LAYER = 0.06  # relative to L: the same of a foot that ends at its last joint, above an unknown sole


class Handles(Mapping[str, Handle]):
    """The handles of a body, by name.

    Args:
        model: The body.
        q: The pose in which it stands.

    Attributes:
        model: The body.
        by_name: Handle by name, as a plain dict.
        limbs: Limb by name.
        feet: The feet among the handles.
    """

    def __init__(self, model: Model, q: Floats) -> None:
        self.model = model
        self.by_name = find_handles(model)
        self.limbs = find_limbs(model, self.by_name)
        self.feet = Feet(model, self.by_name, q)
        self._attach()

    def __getitem__(self, name: str) -> Handle:
        found = self.by_name.get(str(getattr(name, "name", name)))
        if found is None:
            raise name_not_found("handle", f"{name}", self.by_name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def add(self, name: str, frame: str, kind: str = "end") -> Handle:
        """Add a handle on a frame, of a kind ("end", "body", "gaze" or "pole")."""
        if not isinstance(name, str) or not name or name in self.by_name:
            raise InvalidValue(f"a handle must have a name of its own, not {name!r}.")
        if kind not in KINDS:
            raise name_not_found("kind of handle", str(kind), KINDS)
        handle = make_handle(self.model, name, self.model.frame(frame).name, kind)
        self.by_name[name] = handle
        if kind == "end" and not any(handle.frame == self.by_name[limb.handle].frame for limb in self.limbs.values()):
            limb = find_added_limb(self.model, handle)
            if limb is not None:
                self.limbs[limb.name] = limb
        self._attach()
        return self.by_name[name]

    def find_limb(self, name: str, *, bends: bool = False) -> Limb:
        """Return a limb by its name or by one of its handles; with `bends`, raise if it has no middle joint."""
        handle = self.by_name.get(f"{name}")
        found = self.limbs.get(f"{name}" if handle is None or handle.limb is None else handle.limb)
        if found is None:
            raise name_not_found("limb", f"{name}", self.limbs)
        if bends and found.middle is None:
            raise InvalidValue(f"limb {found.name!r} has no joint in its middle, so it has no pole.")
        return found

    def find_foot(self, name: str) -> str:
        """Return the handle of a foot, which may also be named by one of its frames.

        Raises:
            InvalidValue: It is not a foot.
        """
        found = self[self._name_foot(str(getattr(name, "name", name)))]
        if not found.stands:
            feet = ", ".join(self.feet.names) or "none"
            raise InvalidValue(
                f"handle {found.name!r} is not a foot; type rig.pin({found.name!r}) to hold it. Feet: {feet}."
            )
        return found.name

    def list_joints(self, names: Sequence[str]) -> frozenset[str]:
        """Return the joints of these names that can move; raise for those that follow another one."""
        found = [self.model.joint(name) for name in names]
        for joint in found:
            if joint.mimic:
                raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; name that one instead.")
        return frozenset(joint.name for joint in found if joint.nv)

    def list_standing(self, q: Floats) -> tuple[str, ...]:
        """Return the feet that are on the ground in a pose; none if the base is fixed."""
        if not has_free_base(self.model):
            return ()
        axis = self.model.up_axis
        ground = {name: self.feet[name].find_ground(q) for name in self.feet.names}
        others = [float(self.model.fk(q, handle.frame)[axis, 3]) for handle in self.by_name.values()]
        lowest = min((*others, *ground.values()), default=0.0)
        layers = {name: BARE_LAYER if self.feet[name].is_bare else GROUND_LAYER for name in ground}
        return tuple(name for name, at in ground.items() if at <= lowest + layers[name] * self.model.length)

    # -------------------------------------------------------------------------------------------- goals in a pose

    def find_place(self, name: str, q: Floats, ndim: int = 2) -> Floats:
        """Return the transform (4, 4) of a handle in a pose, or its position (3,) if `ndim` is 1."""
        T = self.model.fk(q, self.by_name[name].frame)
        return np.array(T if ndim == 2 else T[:3, 3])

    def make_plant(self, name: str, q: Floats, flat: Floats | None = None) -> HandleGoal:
        """Make the goal of a foot planted at its position in a pose."""
        return HandleGoal("plant", self.find_place(name, q), stance=PlantedFoot(self.feet[name], q, flat))

    def hold_again(self, name: str, goal: HandleGoal, q: Floats) -> HandleGoal:
        """Return a pin or a planted foot, moved to the position of its handle in a pose."""
        if goal.kind == "plant":
            return self.make_plant(name, q)
        return replace(goal, target=self.find_place(name, q, goal.target.ndim))

    def take(self, state: Snapshot, name: str, target: Floats) -> Snapshot:
        """Return a snapshot in which a dragged handle has a target; a tool keeps its rotation."""
        before = state.places.get(name)
        kept = self.by_name[name].tool and target.ndim == 1
        if kept:
            T = self.find_place(name, state.q) if before is None or before.target.ndim == 1 else before.target.copy()
            T[:3, 3], target = target, T
        goal = HandleGoal("reach", target, kept=kept)
        if before is not None:
            goal = HandleGoal(before.kind, target, before.weight, before.axis, before.stance, kept)
        return replace(state, places=set_entry(state.places, name, goal))

    def pin_again(self, state: Snapshot) -> Snapshot:
        """Return a snapshot in which dragged pins and planted feet are held at their own positions, not the mouse's."""
        for name in state.dragged:
            goal = state.places[name]
            if goal.kind == "pin":
                held = HandleGoal("pin", self.find_place(name, state.q))
            elif goal.kind == "plant":
                held = self.make_plant(name, state.q, None if goal.stance is None else goal.stance.flat)
            else:
                continue
            state = replace(state, places=set_entry(state.places, name, held))
        return state

    def _attach(self) -> None:
        """Give every handle its limb, and the handle of the same kind on the other side."""
        limbs = {limb.handle: limb.name for limb in self.limbs.values()}
        middles = {limb.middle: limb.name for limb in reversed(self.limbs.values()) if limb.middle is not None}
        for name, handle in self.by_name.items():
            limb = limbs.get(name) or (middles.get(handle.frame) if handle.kind == "pole" else None)
            alike = [n for n, h in self.by_name.items() if (h.kind, h.stands) == (handle.kind, handle.stands)]
            self.by_name[name] = replace(handle, limb=limb, mirror=find_other_side(name, alike))

    def _name_foot(self, given: str) -> str:
        """Return the name of the foot that a frame is part of; otherwise the name as given."""
        if given in self.by_name or given not in self.model.frames:
            return given
        parts = find_rigid_parts(self.model)
        feet = ((handle, self.feet[handle]) for handle in self.feet.names)
        return next((h for h, foot in feet if parts[given] in (parts[foot.frame], foot.toes)), given)
