"""What a rig holds at one moment: a pose and goals. Never changed, so that undo is a list of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from poise.arrays import Floats

if TYPE_CHECKING:
    from poise.rig.standing.stance import Stance

__all__ = ["Blend", "HandleGoal", "Memory", "Pole", "State", "set_entry", "without"]

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_STEPS = 1000
GESTURES = frozenset({"drag", "look_at", "point", "strength", "blend"})


@dataclass(frozen=True, slots=True, eq=False)
class HandleGoal:
    """What a handle is asked for.

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
    stance: Stance | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Pole:
    """Which way a limb bends.

    Attributes:
        direction: Where its middle shall point, a unit vector of the world.
        normal: The normal of the plane in which it was asked to bend last; None before the first time.
    """

    direction: Floats
    normal: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """A limb between its own angles and what its handle asks for.

    Attributes:
        ik: 0 for its own angles, 1 for the handle.
        own: A configuration that has the limb's own angles (and anything else elsewhere).
    """

    ik: float
    own: Floats


@dataclass(frozen=True, slots=True, eq=False)
class State:
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
        missed: The handles that the last frame did not bring to their places, in the order of `places`.
        resting: For how many frames nothing else is tried to bring them there.
        without: Handle to how the body would be without its goal; for those that have part of their strength.
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
    without: Mapping[str, State] = field(default_factory=dict)


def set_entry(mapping: Mapping[Key, Value], key: Key, value: Value) -> dict[Key, Value]:
    """A copy with one entry set."""
    return {**mapping, key: value}


def without(mapping: Mapping[Key, Value], key: Key) -> dict[Key, Value]:
    """A copy with one entry left out."""
    return {name: value for name, value in mapping.items() if name != key}


class Memory:
    """Undo and redo: the states before each change, and those that were undone.

    The frames of a drag, or of a slider, are one change; aims may follow the drag meanwhile.
    """

    __slots__ = ("_begun", "_done", "_open", "_undone")

    def __init__(self) -> None:
        self._done: list[State] = []
        self._undone: list[State] = []
        self._open: set[tuple[str, str]] = set()
        self._begun: bool | None = None  # inside `begin`: whether its state is remembered already

    def begin(self) -> None:
        """Make everything until `end_gesture` one change."""
        if self._begun is None:
            self._begun = False

    def before(self, state: State, verb: str, what: str = "") -> None:
        """Remembers the state before a change, unless it goes on with one."""
        if (verb, what) in self._open or self._begun:
            return
        self._begun = None if self._begun is None else True
        others = {gesture for gesture in self._open if gesture[0] != verb}
        self._open = {*others, (verb, what)} if verb in GESTURES else set()
        self._done.append(replace(state, dragged=()))
        del self._done[:-MOST_STEPS]
        self._undone.clear()

    def end_gesture(self) -> None:
        """The next change is one of its own."""
        self._open, self._begun = set(), None

    def back(self, state: State) -> State | None:
        """The state before the last change; None where there is none."""
        return self._move(state, self._done, self._undone)

    def forth(self, state: State) -> State | None:
        """The state that was undone last; None where there is none."""
        return self._move(state, self._undone, self._done)

    def _move(self, state: State, source: list[State], target: list[State]) -> State | None:
        self.end_gesture()
        if not source:
            return None
        target.append(replace(state, dragged=()))
        return source.pop()
