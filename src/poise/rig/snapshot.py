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
        target: A place (3,) or a transform (4, 4), in the world.
        weight: Importance among other reaches.
        axis: Of an aim: the frame's axis that points at the target.
        stance: Of a planted foot: where it stands.
        kept: Whether the rotation of `target` is the one that a tool had when it was taken hold of.
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
        direction: Where its middle should point, a unit vector of the world.
        normal: The last normal of its plane of bending; None before the first frame.
    """

    direction: Floats
    normal: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """A limb between its own angles (FK) and its handle's target (IK).

    Attributes:
        ik: 0 for its own angles, 1 for the handle.
        own: A configuration that has the limb's own angles (and anything else elsewhere).
    """

    ik: float
    own: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A pose and all goals.

    Attributes:
        q: The solved configuration, before limbs are blended.
        shown: The configuration that is seen.
        places: Handle to pin, planted foot or reach.
        aims: Handle to aim.
        poles: Limb to pole.
        blends: Limb to blend; those that are not there follow their handles.
        strengths: Handle to strength, 0 to 1; those that are not there have 1.
        frozen: Joints that do not move.
        dragged: The handles that are being dragged, served right after the pins.
        symmetric: Whether a drag on one side is also made on the other.
        missed: The handles that missed their targets in the last frame, in the order of `places`.
        resting: The number of frames without another attempt at them.
        without: Handle to the snapshot without its goal, for handles with part of their strength.
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
