"""Former names and positions of options: accepted with a DeprecationWarning, at the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise.deprecation import accept_former
from poise.motion import Contacts, contacts, edit, lock, quality, retarget
from walks import make_walk

WALK = make_walk(6)
NONE = Contacts((), len(WALK), WALK.fps, 0.0)
SMALL = poise.load("humanoid", scale=0.6)
ARM = poise.load("planar2")
TIP = ARM.frames[-1]
Call = Callable[..., Any]
PRESENT = {"ground": "floor", "steps": "max_steps", "floor of contacts": "floor"}

FORMER: dict[str, tuple[Call, Call]] = {
    "ground": (lambda: lock(WALK, NONE, ground=0.01), lambda: lock(WALK, NONE, floor=0.01)),  # type: ignore[call-arg]
    "steps": (lambda: lock(WALK, NONE, steps=2), lambda: lock(WALK, NONE, max_steps=2)),  # type: ignore[call-arg]
    "floor": (lambda: lock(WALK, NONE, 0.01), lambda: lock(WALK, NONE, floor=0.01)),  # type: ignore[misc]
    "contacts": (lambda: quality(WALK, None, NONE), lambda: quality(WALK, contacts=NONE)),  # type: ignore[misc]
    "floor of contacts": (lambda: contacts(WALK, None, 0.0), lambda: contacts(WALK, floor=0.0)),  # type: ignore[misc]
    "scale": (
        lambda: retarget(WALK, SMALL, None, "auto", 0.7),  # type: ignore[misc]
        lambda: retarget(WALK, SMALL, scale=0.7),
    ),
    "progress": (
        lambda: poise.reach_map(ARM, TIP, 0.7, 4, 1, lambda *_: None),  # type: ignore[misc]
        lambda: poise.reach_map(ARM, TIP, 0.7, 4, 1, progress=lambda *_: None),
    ),
}


def read_numbers(found: Any) -> Any:
    """Return the numbers of an answer."""
    if isinstance(found, poise.ReachMap):
        return found.reached
    return found.motion.q if hasattr(found, "motion") else str(found)


@pytest.mark.parametrize("name", FORMER)
def test_a_former_call_warns_and_gives_the_same_answer(name: str) -> None:
    former, present = FORMER[name]
    with pytest.warns(DeprecationWarning, match=f" {PRESENT.get(name, name)}="):
        found = former()
    assert np.array_equal(read_numbers(found), read_numbers(present()))


@pytest.mark.parametrize(
    "call",
    [lambda: lock(WALK, NONE, floor=0.0, ground=0.0), lambda: lock(WALK, NONE, 0.0, floor=0.0)],  # type: ignore[call-arg, misc]
)
def test_an_argument_that_is_given_twice_is_an_error(call: Call) -> None:
    with pytest.raises(poise.errors.UnknownArgument, match="'floor' twice"):
        call()


def test_present_calls_do_not_warn_and_unknown_ones_raise() -> None:
    @accept_former("a", "b", old="b")
    def add(a: int, *, b: int = 0) -> int:
        return a + b

    assert add(1, b=2) == 3
    for wrong in (lambda: add(1, 2, 3), lambda: add(1, c=2)):  # type: ignore[call-arg, misc]
        with pytest.raises(TypeError):
            wrong()


def test_edit_moves_the_named_joints_alone() -> None:
    model = WALK.model
    arm = [joint.name for joint in model.joints_above("hand_l") if joint.name not in {"root", "pelvis"}][-4:]
    place = WALK.positions("hand_l")[3] + 0.03
    edited = edit(WALK, {3: poise.goals.Reach("hand_l", place)}, spread=0.1, contacts=NONE, joints=arm)
    moved = {joint.name for joint in model.joints if (edited.motion.q[:, joint.q] != WALK.q[:, joint.q]).any()}
    assert moved
    assert moved <= set(arm)
