"""Missed problems, at least one for each kind of cause and remedy; their texts are in golden/why.txt.

python tests/support/why_cases.py       rewrites the file after an intended change of the texts
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import poise
from bodies import build_ball_arm, build_two_links
from poise.diagnosis import CauseKind, WayOut, WayOutKind
from poise.diagnosis.sentences import say_ways_out
from poise.goals import Align, Distance, Goal, HalfSpace, Orient, Reach
from poise.limits import Clearance, Closed, Cone, Coupled, Speed, Sphere

GOLDEN = Path(__file__).parents[1] / "golden" / "why.txt"
TIP = "panda_hand_tcp"
SMALL = re.compile(r"\b[\d.]+ [un]m\b")  # rounding of a reached solve
TIME = re.compile(r"\(\d+ us\)")


def gantry() -> poise.Model:
    """Return a gantry of two slides."""
    builder = poise.ModelBuilder("gantry")
    builder.add_joint("x", None, "prismatic", axis=(1, 0, 0), lower=0, upper=20)
    builder.add_joint("y", "x", "prismatic", axis=(0, 1, 0), lower=0, upper=20)
    return builder.add_frame("hook", "y", (0, 0, -1)).build()


def stretchy() -> poise.Model:
    """Return a hinge and a bone whose length is locked unless joints= names it."""
    builder = poise.ModelBuilder("stretchy")
    builder.add_joint("hinge", None, "revolute", lower=-3, upper=3)
    builder.add_joint("bone", "hinge", "prismatic", axis=(1, 0, 0), lower=0, upper=2, locked=True)
    return builder.add_frame("hand", "bone", (1, 0, 0)).build()


def cornered() -> tuple[poise.Model, Reach]:
    """Return two links and a target that, from folded joints at their limits, is reached only the other way round."""
    return build_two_links((-2.5, 2.5), (0.0, 2.5)), Reach("hand", (1.2 * math.cos(1.5), -1.2 * math.sin(1.5), 0.0))


def stone() -> poise.Model:
    """Return a body without joints."""
    builder = poise.ModelBuilder("stone")
    return builder.add_frame("tip", None, (1.0, 0.0, 0.0)).build()


def last_step() -> poise.Solution:
    """Return a time step at a pose from which no step makes progress."""
    model, goal = cornered()
    solver = poise.Solver(model, goal, limits=[Speed(2.0)])
    return solver.step([2.5, 2.5], 0.05)


def turned_tip() -> poise.Solution:
    """Solve for a rotation at a position where only the position can be reached."""
    model = poise.load("panda")
    T = model.fk(model.rest, TIP)
    T[:3, 3] = (0.84, 0, 0.333)
    return poise.solve(model, Reach(TIP, T))


def no_branch() -> poise.Solution:
    """Solve for a transform near the base of an arm that no branch reaches."""
    turn = poise.Rotation.from_axis_angle((0, 1, 0), math.pi / 2)
    return poise.solve(poise.load("ur5e"), Reach("tool0", poise.Transform(turn, (0.2, 0.0, 0.2))))


def still_joint() -> poise.Solution:
    """Solve with a joint outside its range that may not move."""
    model = poise.load("panda")
    start = np.array(model.rest)
    start[3] = 0.5
    return poise.solve(model, Reach(TIP, (0.6, 0.3, 0.5)), start, joints=["panda_joint1"])


def in_a_ball() -> poise.Solution:
    """Six joints, of which every branch has the tool inside a ball."""
    model = poise.load("ur5e")
    T = model.fk([0.3, -1.2, 1.4, -0.8, 0.5, 1.0], "tool0")
    ball = Sphere(T[:3, 3], 0.05, name="ball")
    return poise.solve(model, Reach("tool0", T), limits=[Clearance([], 0.0, [ball])])


def held_twice() -> poise.Solution:
    """Solve with a range and a coupled range that both prevent the goal."""
    sums = Coupled({"elbow": 1.0}, -0.2, 0.2, name="strap")
    model = build_two_links((-0.5, 0.5))
    return poise.solve(model, Reach("hand", model.fk([1.2, 0.9], "hand")[:3, 3]), limits=[sums], restarts=0)


def hands(priority: int = 0) -> list[Goal]:
    """Return goals of two hands with targets too far apart."""
    return [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1), priority=priority)]


def reach(model: poise.Model, q: list[float]) -> Reach:
    """Return a goal at the position of the hand in a pose."""
    return Reach("hand", model.fk(q, "hand")[:3, 3])


def find(solution: poise.Solution, kind: CauseKind | WayOutKind) -> Any:
    """Return the only cause or remedy of a kind, or None."""
    found = [part for part in solution.explanation.parts if part.kind is kind]
    assert len(found) < 2, found
    return found[0] if found else None


def kinds(solution: poise.Solution) -> list[CauseKind | WayOutKind]:
    """Return the kinds of all causes and remedies, in order."""
    return [part.kind for part in solution.explanation.parts]


LEVEL = Align("elbow", "x", (1, 0, 0), name="level")
DOWN = [Align("elbow", "x", (1, 1, 0), name="up"), Align("elbow", "x", (1, -1, 0), name="down")]

CASES: dict[str, Callable[[], poise.Solution]] = {
    "reached": lambda: poise.solve(build_two_links(), Reach("hand", (1.2, 0.9, 0))),
    "too far": lambda: poise.solve(build_two_links(), Reach("hand", (2.5, 0, 0))),
    "in millimetres": lambda: poise.solve(build_two_links(), Reach("hand", (400, 300, 0))),
    "too close": lambda: poise.solve(build_two_links(elbow=(0, 2)), Reach("hand", (0.2, 0, 0)), [0.3, 0.5]),
    "last joint": turned_tip,
    "no branch": no_branch,
    "in a ball": in_a_ball,
    "two targets": lambda: poise.solve(poise.load("humanoid"), hands()),
    "two targets, one served first": lambda: poise.solve(poise.load("humanoid"), hands(1)),
    "locked bones": lambda: poise.solve(stretchy(), Reach("hand", (2, 0, 0))),
    "a range": lambda: poise.solve(build_two_links((-0.5, 0.5)), reach(build_two_links(), [0.8, 0.4])),
    "a range and a sum": held_twice,
    "a cone": lambda: poise.solve(
        build_ball_arm(), Reach("hand", (0.5, 0.2, 0.2)), limits=[Cone("shoulder", swing=0.6)], restarts=0
    ),
    "a wall": lambda: poise.solve(
        build_ball_arm(),
        Reach("hand", (0.4, 0.1, 0.2)),
        [math.cos(0.2), 0, math.sin(0.2), 0, 0.1],
        limits=[Clearance([], 0.1, [HalfSpace((0.3, 0, 0), (-1, 0, 0))])],
        restarts=0,
    ),
    "one priority": lambda: poise.solve(build_two_links(), DOWN, restarts=0),
    "served first": lambda: poise.solve(
        build_two_links(), [LEVEL, Reach("hand", (0.3, 0.9, 0), priority=1)], [0.5, 0.5]
    ),
    "local minimum": lambda: poise.solve(poise.load("planar3"), Reach("tip", (1, 0, 0.3)), restarts=0),
    "no joint": lambda: poise.solve(stone(), Orient("tip", poise.Rotation.from_axis_angle((0, 0, 1), 0.5))),
    "out of time": lambda: poise.solve(poise.load("panda"), Reach(TIP, (0.1, 0.6, 0.7)), time_limit=1e-9),
    "out of steps": lambda: poise.solve(
        build_two_links(), reach(build_two_links(), [1.4, 1.9]), [-1, -1.5], max_steps=1, restarts=0
    ),
    "more searches": lambda: poise.solve(*cornered(), [2.5, 2.5], restarts=0),
    "continuous, on its way": lambda: poise.solve(
        build_two_links(), reach(build_two_links(), [1.4, 1.0]), [0, 0.3], mode="continuous"
    ),
    "continuous, at an end": lambda: poise.solve(*cornered(), [2.5, 2.5], mode="continuous"),
    "continuous, at a limit": lambda: poise.solve(
        build_two_links((-1, 0.5), (0, 1e-3)), reach(build_two_links(), [0.8, 0]), [0.5, 0], mode="continuous"
    ),
    "a step on its way": lambda: poise.Solver(
        build_two_links(), reach(build_two_links(), [1.4, 1.0]), limits=[Speed(0.5)]
    ).step([0, 0.3], 0.1),
    "a step at an end": last_step,
    "joints left out": still_joint,
    "below a range": lambda: poise.solve(
        build_two_links(), Reach("hand", (1.2, 0.9, 0)), [-3.5, 0.5], mode="continuous"
    ),
    "below a sum": lambda: poise.solve(
        gantry(), Reach("hook", (2, 3, -1)), limits=[Coupled({"x": 1}, 9, 10)], joints=["y"], restarts=0
    ),
    "beyond a cone": lambda: poise.solve(
        build_ball_arm(),
        Reach("hand", (0.5, 0.2, 0.2)),
        [math.cos(0.6), 0, math.sin(0.6), 0, 0.1],
        limits=[Cone("shoulder", swing=0.6)],
        mode="continuous",
    ),
    "inside a ball": lambda: poise.solve(
        build_ball_arm(),
        Reach("hand", (0, 0, 0.55)),
        limits=[Clearance([], world=[Sphere((0, 0, 0.3), 2.0)])],
        restarts=0,
    ),
    "an open loop": lambda: poise.solve(
        gantry(), Reach("hook", (2, 3, -1)), limits=[Closed("hook", "x", (0, 0, 0), name="bar")], restarts=0
    ),
    "a distance": lambda: poise.solve(build_two_links(), Distance("hand", (0, 0, 0), 3.0), [0.2, 0.3], restarts=0),
}

# Remedies that small problems do not show reliably: their sentences are made from records.
RECORDS = (
    WayOut(WayOutKind.OTHER_SEED, numbers={"seed": 1.0}, tried=True),
    WayOut(WayOutKind.OTHER_SEARCH, tried=True),
)


def tell(name: str) -> str:
    """Return the text of a case, without parts that differ between machines."""
    return rounded(str(CASES[name]().explanation))


def rounded(text: str) -> str:
    """Return the text without times, and without lengths that are rounding."""
    return TIME.sub("(... us)", SMALL.sub("... um", text))


def tell_records() -> str:
    """Return the sentences of the records."""
    return "\n".join(
        way.text for way in say_ways_out(poise.solve(build_two_links(), Reach("hand", (2.5, 0, 0))), RECORDS)
    )


def tell_all() -> str:
    """Return the whole golden file."""
    parts = {**{name: tell(name) for name in CASES}, "records": tell_records()}
    return "\n\n".join(f"## {name}\n{text}" for name, text in parts.items()) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(tell_all(), encoding="utf-8")
