"""The state of a rig: the held handles, their positions and targets."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch
from poise.kinematics import Pose
from poise.model import Model
from poise.model.compare import name_mismatch
from poise.rig.handles import Handles
from poise.rig.history import RigHistory
from poise.spatial import Transform

__all__ = ["RigState", "find_first_pose", "read_pose"]


class RigState:
    """The current state of a rig.

    Args:
        handles: The handles of the rig.
        history: The snapshots of the rig.
    """

    def __init__(self, handles: Handles, history: RigHistory) -> None:
        self._handles, self._history = handles, history

    @property
    def pinned(self) -> tuple[str, ...]:
        """The pinned handles."""
        return tuple(name for name, goal in self._history.now.places.items() if goal.kind == "pin")

    @property
    def planted(self) -> tuple[str, ...]:
        """The handles of the planted feet."""
        return tuple(name for name, goal in self._history.now.places.items() if goal.kind == "plant")

    @property
    def standing(self) -> tuple[str, ...]:
        """The handles of the feet on the ground; empty if the base is fixed."""
        return self._handles.list_standing(self._history.now.shown)

    @property
    def held(self) -> tuple[str, ...]:
        """The handles with a pin, a reach or an aim."""
        return tuple(dict.fromkeys((*self._history.now.places, *self._history.now.aims)))

    @property
    def frozen(self) -> tuple[str, ...]:
        """The frozen joints."""
        return tuple(sorted(self._history.now.frozen))

    def transform(self, handle: str) -> Transform:
        """Return the transform of a handle, T_world_handle."""
        return Transform.from_matrix(self._handles.find_place(self._handles[handle].name, self._history.now.shown))

    def target(self, handle: str) -> Floats | None:
        """Return the target of a handle, a point (3,) or a transform (4, 4), or None."""
        goal = self._history.now.places.get(self._handles[handle].name)
        return None if goal is None else goal.target.copy()

    def move_body(self, pose: Pose | ArrayLike) -> None:
        """Move the body to a pose and keep all targets."""
        q = read_pose(self._handles.model, pose)
        self._history.change("whole", q=q, shown=q, dragged=())

    def copy_targets(self, other: RigState, *, keep: Container[str] = ()) -> None:
        """Copy pins, reaches and frozen joints from a rig of the same body; handles in `keep` keep their own."""
        model = self._handles.model
        if not isinstance(other, RigState) or (other._handles.model is not model and other._handles.model != model):
            raise ModelMismatch(f"other must be the state of a Rig of {model.name!r}, not {other!r}.")
        theirs = {name: goal for name, goal in other._history.now.places.items() if name not in keep}
        for name in theirs:
            if self._handles[name].frame != other._handles[name].frame:
                raise InvalidValue(f"handle {name!r} moves another frame in the other rig; name it in keep=.")
        own = {name: goal for name, goal in self._history.now.places.items() if name in keep}
        frozen = other._history.now.frozen
        self._history.now = replace(self._history.now, places={**theirs, **own}, frozen=frozen)


def find_first_pose(model: Model) -> Floats:
    """Return the pose in which a rig begins: the keyframe "home" of a robot's file, otherwise the rest pose."""
    home = model.poses.get("home")
    return model.rest if home is None else model.clamp(home)


def read_pose(model: Model, pose: Pose | ArrayLike | None) -> Floats:
    """Return the configuration of a pose of the model; the rest pose for None."""
    if isinstance(pose, Pose) and pose.model is not model and pose.model != model:
        raise ModelMismatch(f"pose is {name_mismatch(pose.model, model)}.")
    return pose.q if isinstance(pose, Pose) else Pose(model, pose).q
