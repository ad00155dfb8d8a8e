"""The output of help(): every goal documents the common keywords, with units and axes; joints print."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

import poise
from bodies import random_model
from goal_cases import GOALS
from poise import goals
from poise.goals import Comfort, Goal, Grasp, Style
from poise.model import Sphere

ALL = {name: getattr(goals, name) for name in vars(goals)["__all__"]}
KINDS = {name: thing for name, thing in ALL.items() if isinstance(thing, type) and issubclass(thing, Goal)}
CLIP = poise.Motion(poise.load("planar3"), np.zeros((3, 3)))
EVERY_GOAL = {type(goal).__name__: goal for _, goal in (make() for make in reversed(GOALS.values()))}
EVERY_GOAL |= {"Comfort": Comfort(), "Style": Style.fit(CLIP)}
EVERY_GOAL |= {"Grasp": Grasp("hand_l", poise.Object(Sphere(0.1), np.eye(4)), (0.1, 0.0, 0.0))}
TURNING = {"Orient", "Align", "LookAt", "Angle"}
BY_AXIS = {"Reach": "of the world", "Relative": "own axes", "Orient": "of the target", "CenterOfMass": "of the world"}


def read_attributes(name: str) -> dict[str, str]:
    """Return the attributes that help(goal) describes."""
    text = inspect.getdoc(KINDS[name]) or ""
    parts = re.split(r"^    (\w+):", text.partition("Attributes:")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], (" ".join(part.split()) for part in parts[2::2]), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_the_help_of_every_goal_has_all_its_arguments(name: str) -> None:
    found = read_attributes(name)
    arguments = [p for p in inspect.signature(KINDS[name]).parameters if p != "_"]
    assert set(arguments) <= set(found), set(arguments) - set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"Goal", "Custom"}))
def test_weights_and_tolerances_have_units_and_axes(name: str) -> None:
    found = read_attributes(name)
    assert "[rad]" in found["tolerance"] if name in TURNING else "[m" in found["tolerance"]
    assert "one number" in found["weight"]
    if name in BY_AXIS:
        assert BY_AXIS[name] in found["weight"]
        assert "axes" in found["weight"]


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"Goal"}))
def test_a_goal_that_takes_three_weights_reports_it(name: str) -> None:
    goal = EVERY_GOAL[name]
    taken = []
    for count in (3, 6):
        try:
            taken.append(replace(goal, weight=np.arange(1.0, 1.0 + count)))
        except poise.PoiseError:
            continue
    assert bool(taken) == (name in BY_AXIS)


@pytest.mark.parametrize("seed", range(6))
def test_a_joint_prints_what_it_is(seed: int) -> None:
    model = random_model(seed)
    for joint in model.joints:
        text = str(joint)
        assert text.startswith(f"{joint.name}: {joint.kind} joint on {joint.parent or 'the world'}")
        assert ("axis" in text) == bool(joint.axis.any())
        assert f"{joint}" == joint.name  # in a sentence it is its name
        assert model.joint(joint) is joint
        assert model.frame(joint).name == joint.frame
        assert joint == joint.name
        bounds = np.atleast_1d(joint.lower)
        if joint.kind == "revolute" and np.isfinite(bounds).all():
            assert f"{np.degrees(bounds[0]):.4g} to" in text
            assert "degrees" in text


def test_joints_and_frames_serve_as_names() -> None:
    model = poise.load("humanoid")
    assert all(isinstance(name, str) for name in model.frames)
    joint, frame = model.joint("shoulder_l"), model.frame("hand_l")
    point = model.fk(model.rest, "hand_l")[:3, 3]
    solution = poise.solve(model, [goals.Reach(frame, point), goals.Balance([model.frame("foot_l")])], joints=[joint])
    assert set(solution.errors) == {"hand_l", "balance"}
    with pytest.raises(poise.errors.NameNotFound, match="no joint is called 'nothing'"):
        model.joint("nothing")
    rig = poise.Rig(model)
    assert rig.handles["hand_l"].name == "hand_l"


def test_a_printed_joint() -> None:
    assert str(poise.load("panda").joint("panda_joint4")) == (
        "panda_joint4: revolute joint on panda_link3, moves panda_link4\n"
        "  axis z\n"
        "  range -3.072 to -0.0698 rad (-176 to -3.999 degrees)"
    )
