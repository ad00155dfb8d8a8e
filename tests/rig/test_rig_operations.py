"""Random sequences of all public operations of a rig.

After an accepted call a frame solves; after a rejected one the rig is as before, and still solves.
"""

import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.goals import Rest
from poise.rig.history import RigHistory
from poise.rig.solver_factory import make_solver
from poise.rig.solvers import RigSolvers
from poise.rig.state import RigState

BODIES: dict[str, Callable[[], poise.Model]] = {
    "humanoid": lambda: poise.load("humanoid"),
    "quadruped": lambda: poise.load("quadruped"),
    "panda": lambda: poise.load("panda"),
    "hand": lambda: poise.load("hand"),
    "random": lambda: random_model(7),
}
BAD_TARGETS = ((np.nan, 0.0, 0.0), "there", None, (1.0,), np.zeros((4, 4)), np.ones((2, 3)))
BAD_AXES = ("w", (0.0, 0.0, 0.0), (np.inf, 0.0, 0.0), (1.0, 2.0))
BAD_SHARES = (-0.1, 1.1, np.nan, "half", None, True)
SHARES = (0.0, 0.25, 0.7, 1.0)


class Player:
    """A rig, and one random call of each of its public operations."""

    def __init__(self, model: poise.Model, seed: int) -> None:
        self.rig, self.rng = poise.Rig(model), np.random.default_rng(seed)
        self.other = poise.Rig(model)
        self.accepted: list[str] = []

    def choose(self, good: Any, bad: Any) -> Any:
        """Return one of the good values, and now and then a bad one."""
        values = list(bad if len(good) == 0 or self.rng.random() < 0.1 else good)
        return values[int(self.rng.integers(len(values)))]

    def name_handle(self) -> Any:
        return self.choose(list(self.rig.handles), ("nobody", "", 3, None, self.rig.model.frames[-1]))

    def name_limb(self) -> Any:
        return self.choose([*self.rig.handles.limbs, *self.rig.handles], ("nothing", None))

    def name_joints(self) -> list[str]:
        names = [joint.name for joint in self.rig.model.joints]
        if self.rng.random() < 0.1:
            return [joint.name for joint in self.rig.model.joints if not joint.mimic]
        return [self.choose(names, ("no joint",)) for _ in range(int(self.rng.integers(0, 3)))]

    def make_target(self, handle: Any) -> Any:
        """Return a place or a transform, near the handle or far away."""
        size = self.rig.model.length * self.choose((0.01, 0.1, 0.3, 1.0), (1e-9, 1e3, 1e9))
        at = np.eye(4)
        if handle in self.rig.handles:
            at = self.rig.state.transform(handle).matrix
        turned = poise.Rotation.from_vector(self.rng.normal(size=3))
        turned = at @ poise.Transform(turned, self.rng.normal(size=3) * size).matrix
        return self.choose((turned, turned[:3, 3], at, at[:3, 3]), BAD_TARGETS)

    def make_pose(self) -> Any:
        model = self.rig.model
        good = (model.random(self.rng), model.rest, poise.Pose(model, model.random(self.rng)))
        return self.choose(
            good, (np.zeros(model.nq + 1), np.full(model.nq, np.nan), poise.Pose(poise.load("planar2")), "up")
        )

    def make_axis(self) -> Any:
        return self.choose(("x", "-z", (1.0, 2.0, 3.0), self.rng.normal(size=3)), BAD_AXES)

    # -------------------------------------------------------------------------------------------- operations

    def pin(self) -> None:
        handle = self.name_handle()
        self.rig.pin(handle, None if self.rng.random() < 0.5 else self.make_target(handle))

    def reach(self) -> None:
        handle = self.name_handle()
        self.rig.reach(handle, self.make_target(handle), self.choose((1.0, 0.1, 30.0), (0.0, -1.0, np.inf, "much")))

    def drag(self) -> None:
        if self.rng.random() < 0.2:
            handles = [self.name_handle() for _ in range(int(self.rng.integers(0, 4)))]
            self.rig.drag({handle: self.make_target(handle) for handle in handles})
        else:
            handle = self.name_handle()
            self.rig.drag(handle, self.make_target(handle))

    def look_at(self) -> None:
        handle = self.name_handle()
        axis = None if self.rng.random() < 0.5 else self.make_axis()
        self.rig.look_at(handle, self.choose((self.rng.normal(size=3),), BAD_TARGETS), axis)

    def point(self) -> None:
        handle = self.name_handle()
        axis = None if self.rng.random() < 0.5 else self.make_axis()
        target = self.choose((self.rng.normal(size=3),), BAD_TARGETS)
        self.rig.look_at(handle, target, "bone" if axis is None else axis)

    def plant(self) -> None:
        self.rig.plant(self.choose(list(self.rig.state.standing or self.rig.handles), self.rig.model.frames))

    def stand(self) -> None:
        self.rig.plant()

    def release(self) -> None:
        self.rig.release(None if self.rng.random() < 0.1 else self.name_handle())

    def strength(self) -> None:
        self.rig.strength(self.name_handle(), self.choose(SHARES, BAD_SHARES))

    def blend(self) -> None:
        self.rig.blend(self.name_limb(), self.choose(SHARES, BAD_SHARES))

    def pole(self) -> None:
        self.rig.pole(self.name_limb(), None if self.rng.random() < 0.3 else self.make_axis())

    def freeze(self) -> None:
        self.rig.freeze(*self.name_joints())

    def unfreeze(self) -> None:
        self.rig.unfreeze(*self.name_joints())

    def move_body(self) -> None:
        self.rig.state.move_body(self.make_pose())

    def assign_pose(self) -> None:
        self.rig.pose = self.make_pose()

    def assign_rest(self) -> None:
        self.rig.solvers.rest = self.choose(
            (None, False, Rest(), self.rig.model.random(self.rng)), ("bed", np.zeros(2), 5)
        )

    def assign_solver(self) -> None:
        self.rig.solvers.make_solver = self.choose((make_solver, functools.partial(make_solver)), (None, "dls"))

    def assign_symmetric(self) -> None:
        self.rig.symmetric = bool(self.rng.random() < 0.5)

    def mirror(self) -> None:
        self.rig.mirror()

    def mirror_handle(self) -> None:
        self.rig.mirror(self.name_handle())

    def add_handle(self) -> None:
        if len(self.rig.handles) < 30:
            frame = self.choose(self.rig.model.frames, ("no frame", None))
            names = [
                f"more_{k}_{side}" for k in range(9) for side in "lr" if f"more_{k}_{side}" not in self.rig.handles
            ]
            kind = self.choose(("end", "body", "gaze", "pole"), ("grip", None))
            self.rig.handles.add(self.choose(names, ("", 3, *self.rig.handles)), frame, kind)

    def copy_targets(self) -> None:
        names = list(self.other.handles)
        if self.rng.random() < 0.5:
            self.other = copy.copy(self.rig)
        keep = [self.choose(names, ("nobody",))] if self.rng.random() < 0.5 else ()
        others = poise.Rig(poise.load("planar2")).state, None
        self.rig.state.copy_targets(self.choose((self.other.state,), others), keep=keep)

    def update(self) -> None:
        self.rig.update()

    def settle(self) -> None:
        self.rig.settle(self.choose((0, 1, 3), ("long", -1, 2.5)))

    def undo(self) -> None:
        self.rig.history.undo()

    def redo(self) -> None:
        self.rig.history.redo()

    def begin(self) -> None:
        self.rig.history.begin()

    def commit(self) -> None:
        self.rig.history.commit()

    def reset(self) -> None:
        if self.rng.random() < 0.3:
            self.rig.history.reset()

    def mark_start(self) -> None:
        self.rig.history.mark_start()

    def copy(self) -> None:
        self.rig = copy.copy(self.rig)

    def pickle(self) -> None:
        self.rig = pickle.loads(pickle.dumps(self.rig))

    def look(self) -> None:
        """Read everything that a rig tells."""
        rig, handle = self.rig, self.name_handle()
        assert rig.why() is not None
        assert repr(rig)
        read = (
            rig.misses,
            rig.solvers.problem,
            rig.state.pinned,
            rig.state.planted,
            rig.state.standing,
            rig.state.held,
            rig.state.frozen,
            rig.handles.limbs,
            rig.solvers.rest,
        )
        assert len(read) == 9
        assert rig.state.target(handle) is None or rig.state.transform(handle) is not None

    def play(self, count: int) -> None:
        """Call operations, one after another, and hold the two laws."""
        for _ in range(count):
            self.call(self.choose(GOAL_OPERATIONS if self.rng.random() < 0.5 else OPERATIONS, OPERATIONS))

    def call(self, name: str) -> None:
        before = describe(self.rig)
        try:
            getattr(self, name)()
            self.accepted.append(name)
        except poise.PoiseError:
            assert describe(self.rig) == before, f"a rejected call changed the rig: {name}"
        if self.rng.random() < 0.8:
            self.rig.update()
            assert np.isfinite(self.rig.q).all()


OPERATIONS = [name for name in vars(Player) if not name.startswith(("_", "make", "name", "choose", "play", "call"))]

GOAL_OPERATIONS = [
    "pin",
    "reach",
    "drag",
    "plant",
    "look_at",
    "strength",
    "blend",
    "pole",
    "freeze",
    "mirror",
    "update",
]


def describe(value: Any) -> Any:
    """Return a rig's state, and its history, as nested tuples that compare by value."""
    if isinstance(value, poise.Rig):
        problems = value._frames.problems
        own = (value.history.now, value.history._first, value.handles, value.handles.limbs, value.solution)
        past = (value.history._done, value.history._undone, value.history._open, value.history._begun)
        return describe((own, past, (problems.rest, problems.maker, problems.floor, problems.balance)))
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, Mapping):
        return tuple((key, describe(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(describe(each) for each in value)
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("poise.rig"):
        return tuple(describe(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value if isinstance(value, str | float | int | set | frozenset) else id(value)


@pytest.mark.parametrize("body", BODIES)
def test_no_short_sequence_of_calls_leaves_a_dead_rig(body: str) -> None:
    Player(BODIES[body](), 0).play(15)


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_no_sequence_of_calls_leaves_a_dead_rig(body: str) -> None:
    players = [Player(BODIES[body](), seed) for seed in (1, 2)]
    for player in players:
        player.play(60)
    accepted = {name for player in players for name in player.accepted}
    assert len(accepted) > 0.7 * len(OPERATIONS), "the calls are hardly ever valid"


def test_every_public_operation_is_called() -> None:
    called = {*OPERATIONS, "pose", "rest", "make_solver", "symmetric"}  # those four are assigned
    read = {"model", "handles", "history", "solvers", "state", "q", "solution", "pinned", "planted", "standing"}
    read |= {"held", "frozen", "transform", "target", "problem", "misses", "why"}  # by `look`
    inside = {"change", "record"}  # called by all others
    inside |= {"make_catalogue"}  # reads only, see tests/studio/test_drag_pages.py
    parts = (poise.Rig, RigHistory, RigSolvers, RigState)
    public = {name for part in parts for name in dir(part) if not name.startswith("_")}
    assert public - called - read - inside == set()


def test_only_feet_are_planted() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    with pytest.raises(poise.errors.InvalidValue, match="pin"):
        rig.plant("hand_l")
    assert rig.state.planted == ()
    rig.update()


def test_a_pole_is_removed_while_another_handle_has_part_of_its_strength() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.reach("hand_r", (-0.3, 1.2, 0.4))
    rig.strength("hand_r", 0.5)
    rig.pole("arm_l", (0.0, -1.0, 0.0))
    rig.update()
    rig.pole("arm_l")
    rig.update()


@pytest.mark.parametrize(
    "options",
    [
        {"limits": "fast"},
        {"limits": [3]},
        {"limits": poise.limits.Cone("nobody", angle=1.0)},
        {"balance": ["nobody"]},
        {"rest": Rest(gains=[1.0, 2.0])},
        {"make_solver": 3},
    ],
)
def test_a_rig_rejects_options_that_no_frame_could_use(options: dict[str, Any]) -> None:
    with pytest.raises(poise.PoiseError):
        poise.Rig(poise.load("humanoid"), **options)


def test_a_frame_that_fails_leaves_the_rig_as_it_was() -> None:
    def reject(_: poise.rig.RigProblem) -> poise.Solver:
        raise poise.errors.InvalidValue("this method does not support these goals.")

    player = Player(poise.load("humanoid"), 0)
    player.rig.solvers.make_solver = reject
    before = describe(player.rig)
    for call in (lambda: player.rig.drag("hand_l", (0.3, 1.0, 0.3)), player.rig.update, player.rig.settle):
        with pytest.raises(poise.errors.InvalidValue):
            call()
        assert describe(player.rig) == before


def test_a_planted_foot_is_not_mirrored_to_a_handle_that_is_not_a_foot() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.handles.add("mark_l", "toe_l")
    rig.handles.add("mark_r", "head")
    rig.plant("mark_l")
    rig.mirror()
    rig.update()
    assert rig.state.planted == ("mark_l",)
