"""The pose and the goals of a rig at one moment. Immutable, so that undo is a list of snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from poise.arrays import Floats

if TYPE_CHECKING:
    from poise.rig.standing.stance import PlantedFoot

__all__ = ["Blend", "HandleGoal", "Pole", "Snapshot", "set_entry", "without"]

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False)
class HandleGoal:
    """The goal of a handle.

    Attributes:
        kind: "pin", "plant", "reach" or "aim".
        target: A position (3,) or a transform (4, 4), in the world.
        weight: Weight among other reaches.
        axis: For an aim, the frame's axis that points at the target.
        stance: For a planted foot, its stance.
        kept: Whether the rotation of `target` is the tool's rotation at the start of the drag.
    """

    kind: str
    target: Floats
    weight: float = 1.0
    axis: tuple[float, float, float] | None = None
    stance: PlantedFoot | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Pole:
    """The direction in which a limb bends.

    Attributes:
        direction: The direction of the limb's middle, a unit vector in the world.
        normal: The last normal of the bending plane; None before the first frame.
    """

    direction: Floats
    normal: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """A limb between its own angles (FK) and its handle's target (IK).

    Attributes:
        ik: 0 for its own angles, 1 for the handle.
        own: A configuration with the limb's own angles; other joints are ignored.
    """

    ik: float
    own: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A pose and all goals.

    Attributes:
        q: The solved configuration, before limbs are blended.
        shown: The displayed configuration.
        places: Pin, planted foot or reach by handle.
        aims: Aim by handle.
        poles: Pole by limb.
        blends: Blend by limb; other limbs follow their handles.
        strengths: Strength by handle, 0 to 1; others have 1.
        frozen: Joints that do not move.
        dragged: The handles being dragged, on the level after the pins.
        symmetric: Whether a drag on one side is mirrored to the other.
        missed: The handles that missed their targets in the last frame, in the order of `places`.
        resting: The number of frames until the next attempt at them.
        without: The snapshot without the goal, by handle, for handles with partial strength.
    """

    q: Floats
    shown: Floats
    places: Mapping[str, HandleGoal] = field(default_factory=dict)
    aims: Mapping[str, HandleGoal] = field(default_factory=dict)
    poles: Mapping[str, Pole] = field(default_factory=dict)
    blends: Mapping[str, Blend] = field(default_factory=dict)
    strengths: Mapping[str, float] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    dragged: tuple[str, ...] = ()
    symmetric: bool = False
    missed: tuple[str, ...] = ()
    resting: int = 0
    without: Mapping[str, Snapshot] = field(default_factory=dict)


def set_entry(mapping: Mapping[Key, Value], key: Key, value: Value) -> dict[Key, Value]:
    """Return a copy with one entry set."""
    return {**mapping, key: value}


def without(mapping: Mapping[Key, Value], key: Key) -> dict[Key, Value]:
    """Return a copy without one entry."""
    return {name: value for name, value in mapping.items() if name != key}
