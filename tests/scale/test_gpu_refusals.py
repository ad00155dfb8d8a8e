"""Problems that a GPU does not support are rejected, with the unsupported feature."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise import Solver
from poise.batch.device import REFUSALS, check_served
from poise.errors import InvalidValue
from poise.goals import Custom, Distance, LookAt, Orient, Range, Reach, Rest
from poise.limits import Clearance, Closed, Cone, Coupled, Sphere
from poise.native import core

PANDA = poise.load("panda")
TOOL = PANDA.frames[-1]
REACH = Reach(TOOL, (0.4, 0.0, 0.4))
BALL = Sphere((1, 0, 0), 0.1)


def ball_arm(cone: bool = True) -> poise.Model:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("slide", None, "prismatic", lower=0.0, upper=1.0)
    limits = poise.model.BallRange(swing=0.5) if cone else None
    builder.add_joint("shoulder", "slide", "ball", cone=limits)
    return builder.add_frame("tip", "shoulder", (1, 0, 0)).build()


def rail() -> poise.Model:
    builder = poise.ModelBuilder("rail")
    builder.add_joint("slide", None, "path", path=poise.model.Path([(0, 0, 0), (1, 0, 0), (1, 1, 0)]))
    return builder.add_frame("tip", "slide").build()


def growing() -> poise.Model:
    builder = poise.ModelBuilder("growing")
    builder.add_joint("turn", None, "revolute")
    builder.add_joint("size", "turn", "uniform_scale")
    return builder.add_frame("tip", "size", (0, 1, 0)).build()


def two_limbs(kind: str) -> Solver:
    """Return a problem of one limb, whose clearance is also one of another limb."""
    builder, parent = poise.ModelBuilder("two limbs"), None
    for k in range(3):
        builder.add_joint(f"turn{k}", parent, "revolute")
        builder.add_frame(f"part{k}", f"turn{k}", (0.3, 0, 0))
        parent = f"part{k}"
    more = {"path": poise.model.Path([(0, 1, 0), (1, 1, 0), (1, 2, 0)])} if kind == "path" else {}
    builder.add_joint("other", None, kind, **more)
    builder.add_frame("end", "other", (0.2, 0, 0))
    builder.add_frame("farther", "end", (0.2, 0.1, 0))
    limit = Clearance([], world=[BALL])
    return Solver(builder.build(), Reach("part2", (0.3, 0.3, 0)), limits=[limit])


def panda(goals: Any, **options: Any) -> Solver:
    return Solver(PANDA, goals, **options)


REFUSED: dict[str, tuple[Callable[[], Solver], str]] = {
    "a distance": (lambda: panda([REACH, Distance(TOOL, (1, 0, 0), 0.5, name="far")]), "goal 'far' is a Distance"),
    "a function": (lambda: panda([REACH, Custom(lambda q: q[:1], size=1, name="mine")]), "goal 'mine' is a Custom"),
    "a range": (lambda: panda(Reach(TOOL, (0.4, Range(-1, 1), 0.4))), f"goal '{TOOL}' is a Reach with a Range"),
    "priorities": (
        lambda: panda([REACH, *(Orient(TOOL, np.eye(3), priority=k, name=f"turn{k}") for k in (1, 2))]),
        "goal 'turn2' is a Orient of a third priority",
    ),
    "a method": (lambda: panda(REACH, method="dls"), "method 'dls'"),
    "a driver": (lambda: panda(REACH, method="sequential"), "method 'sequential'"),
    "handling": (lambda: panda(REACH, limit_handling="penalty"), "limit_handling='penalty'"),
    "the model's cone": (lambda: Solver(ball_arm(), Reach("tip", (0, 1, 0))), "joint 'shoulder' has a cone"),
    "a cone": (
        lambda: Solver(ball_arm(cone=False), Reach("tip", (0, 1, 0)), limits=[Cone("shoulder", swing=0.3)]),
        "joint 'shoulder' has a cone",
    ),
    "coupled joints": (
        lambda: panda(REACH, limits=[Coupled({"panda_joint1": 1.0, "panda_joint2": 1.0}, 0.0, 1.0, name="sum")]),
        "limit 'sum'",
    ),
    "two clearances": (
        lambda: panda(REACH, limits=[Clearance(name="apart"), Clearance([], world=[BALL], name="away")]),
        "limit 'apart', 'away'",
    ),
    "a loop": (
        lambda: Solver(
            poise.load("humanoid"), Reach("hand_l", (0.3, 1, 0.2)), limits=[Closed("hand_l", "hand_r", (0, 0, 0.2))]
        ),
        "closed loops",
    ),
    "a power": (lambda: panda([REACH, Rest(power=4)]), "power above 2"),
    "continuous": (lambda: panda(REACH, mode="continuous"), "mode='continuous'"),
    "a clock": (lambda: panda(REACH, time_limit=1.0), "time_limit="),
    "a record": (lambda: panda(REACH, record=True), "record=True"),
    "a path": (lambda: Solver(rail(), Reach("tip", (0, 1, 0))), "joint 'slide' follows a path"),
    "a scale": (lambda: Solver(growing(), Reach("tip", (0, 1, 0))), "joint 'size' is a uniform_scale joint"),
    "a path of another limb": (lambda: two_limbs("path"), "joint 'other' follows a path"),
    "a scale of another limb": (lambda: two_limbs("uniform_scale"), "joint 'other' is a uniform_scale joint"),
    "nothing moves": (lambda: panda(REACH, joints=[]), "no movable joint"),
}

SERVED: dict[str, Callable[[], Solver]] = {
    "a point": lambda: panda(REACH),
    "a pose and rest": lambda: panda([Reach(TOOL, np.eye(4)), Rest()]),
    "slides and a ball": lambda: Solver(ball_arm(cone=False), Reach("tip", (0, 1, 0))),
    "a clearance": lambda: panda(REACH, limits=[Clearance(world=[BALL], name="apart")]),
    "off": lambda: panda(REACH, limit_handling="off"),
    "a look": lambda: panda([REACH, LookAt(TOOL, (1, 0, 0), name="eyes")]),
    "two priorities": lambda: panda([Orient(TOOL, np.eye(3), priority=3, name="turn"), REACH]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_served_is_named(what: str) -> None:
    make, message = REFUSED[what]
    with pytest.raises(InvalidValue) as caught:
        check_served(make(), 1)
    assert message in str(caught.value)
    assert "numpy arrays" in str(caught.value)
    assert len(str(caught.value)) < 160  # no list of all there is


@pytest.mark.parametrize("what", SERVED)
def test_supported_problems_are_not_rejected(what: str) -> None:
    solver = SERVED[what]()
    assert core.device_serves(check_served(solver, 1).problem)


def test_every_cause_has_words_and_a_case() -> None:
    causes = set()
    for make, _ in REFUSED.values():
        native = make().problem
        causes.add(core.refused_by_device(native)[0] if isinstance(native, core.Solver) else 5)
    assert causes == set(REFUSALS)
