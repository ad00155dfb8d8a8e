"""Wrong calls of motions, clips, objects and retargeting: each error names the argument."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import poise
from carts import make_cart
from lifting import SIZE, lift
from poise import Motion
from poise.errors import InvalidModel, InvalidValue, ModelMismatch, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import Custom, Grasp, LookAt, Reach, Rest
from poise.limits import Box as Region
from poise.limits import HeightMap, PointCloud, Speed
from poise.model import Box, Mesh, Path
from poise.motion import Contacts, Mapping, contacts, edit, lock, quality, retarget, track
from poise.motion.retargeting.mapping import Pair, find_mapping
from walkers import make_machine
from walks import make_walk

FPS, TCP, NAN, INF = 30.0, "panda_hand_tcp", float("nan"), float("inf")
STILL, T, BOX = np.tile(np.eye(4), (3, 1, 1)), lift(), Box((0.3, 0.2, 0.2))
GOAL = Reach("hand_l", (0.0, 1.0, 0.0))
WRONG_CHANGES: tuple[Any, ...] = ({999: GOAL}, {99.0: GOAL}, {"first": GOAL}, {}, None)
WRONG_MAPPINGS: tuple[Any, ...] = (3, "auto", {}, [])
WRONG_RATES = (0.0, -1.0, NAN, "fast", None)
WRONG_POINTS = ((0, 0), "abc", None, (0, 0, NAN))
WRONG_NAMES = (None, "", 3, ["hand_l"])
WRONG_STARTS = ("abc", [None] * 53, np.full(53, NAN))
TIMES = (1.0, (2.0, 1.0), (-1.0, 1.0), ("a", "b"), (0.0, 1.0, 2.0))
FOUR, GOAL_PATH = {"look": np.zeros((4, 3))}, Reach("hand_l", np.zeros((5, 3)))
SWITCH, NO_SWITCH = r"clearance is .*True or False", ("no", 0.01, None)
KNEE, TRUNK = Pair("knee_left", "knee_l", "knee_l"), poise.load("humanoid").subtree("chest")
NO_LEGS = "has no two known legs: it has two arms and no legs"
BOTH = r"has no 'elbow_r': retargeting needs .* or a chest and two arms"
NO_SCENES = ("stairs", [1.0], [PointCloud(np.zeros((4, 3)), 0.1)])
SIDEWAYS = HeightMap(np.zeros((2, 2)), 1.0, up="y")
AROUND, FAR = Region((0.0, 0.0, 1.0), (2.0, 2.0, 2.0)), Region((0.0, 5.0, 0.0), (1.0, 1.0, 1.0))


def spoil(path: Any) -> Any:
    """Return a path with an undefined coordinate at frame 3."""
    broken = path.copy()
    broken[3, 0, 3] = NAN
    return broken


def turn_over(mapping: Mapping) -> Mapping:
    """Return a mapping whose chest and pelvis are exchanged."""
    return mapping.replace("chest", source="pelvis").replace("pelvis", source="chest")


def add_pair(mapping: Mapping, pair: Pair) -> Mapping:
    """Return a mapping with another pair, whatever its role."""
    return replace(mapping, pairs=(*mapping.pairs, pair))


class Given:
    """The bodies, clips and objects of the wrong calls, made when they are first used."""

    body, arm = poise.load("humanoid"), poise.load("panda")
    box = poise.Object(Box(SIZE), T, name="box", fps=24.0)
    still = poise.Object(BOX, STILL)
    thing = poise.Object(Box((0.3, 0.2, 0.3)), np.eye(4), name="box", fps=30)

    @cached_property
    def walk(self) -> Motion:
        """A walk of the humanoid."""
        return make_walk()

    @cached_property
    def clip(self) -> Motion:
        """Ten frames of an arm."""
        return Motion(self.arm, np.tile(self.arm.rest, (10, 1)), FPS)

    @cached_property
    def path(self) -> Any:
        """Five equal transforms of the hand of the arm."""
        return np.tile(self.arm.fk(self.arm.rest, TCP), (5, 1, 1))

    @cached_property
    def mapping(self) -> Mapping:
        """The mapping from the humanoid to itself."""
        return find_mapping(self.body, self.body)

    @cached_property
    def planned(self) -> poise.Object:
        """An object that moves for half a second."""
        return self.thing.move_through(poise.Transform(None, (0.0, 0.3, 0.0)).matrix, seconds=0.5)

    def follow(self, path: Any, **options: Any) -> Any:
        """Track a path of the arm's hand."""
        return track(self.arm, Reach(TCP, path), **{"fps": FPS, **options})

    def hold(self, *goals: Any, **options: Any) -> Any:
        """Track goals of the humanoid."""
        return track(self.body, list(goals), **options)


WRONG: list[tuple[Any, type[Exception], str]] = [
    # whole clips
    *((lambda g, wrong=wrong: edit(g.walk, wrong), InvalidValue, "changes") for wrong in WRONG_CHANGES),
    (lambda g: edit(g.walk, {5: Rest()}), InvalidValue, "Rest"),
    (lambda g: edit(g.walk, {5: GOAL}, spread=0.0), InvalidValue, "spread"),
    (lambda g: lock(g.walk, floor=NAN), PoiseError, "floor"),
    (lambda g: lock(g.walk, floor="floor"), PoiseError, "floor"),
    (lambda g: lock(g.walk, smooth=-1.0), PoiseError, "smooth"),
    (lambda g: lock(Motion(g.body, np.full_like(g.walk.q, NAN))), PoiseError, "finite"),
    (lambda g: contacts(g.walk, floor=INF), PoiseError, "floor"),
    (lambda g: quality(g.walk, contacts="auto"), PoiseError, "contacts"),
    (lambda g: quality(g.walk, contacts=Contacts((), 5, FPS)), PoiseError, "5 frames"),
    (lambda g: quality(g.walk, source="walk.bvh"), PoiseError, "source"),
    (lambda g: Motion(g.body, g.walk.q, 0.0), PoiseError, "fps"),
    (lambda g: g.walk.joined(Motion(g.arm, np.zeros((3, 7)))), PoiseError, "one body"),
    # tracks
    (lambda g: g.follow(g.path, mode="later"), InvalidValue, "mode"),
    (lambda g: g.follow(g.path, fps=0.0), InvalidValue, "fps"),
    (lambda g: g.follow((0.4, 0.0, 0.4)), InvalidValue, "no target moves"),
    (lambda g: g.follow(g.path, targets={"elbow": g.path}), NameNotFound, "elbow"),
    (lambda g: g.follow(g.path, limits=["Speed"]), InvalidValue, "limits"),
    (lambda g: g.follow(g.path, limits=[Speed({"elbow": 1.0})]), PoiseError, "elbow"),
    (lambda g: g.follow(g.path, mode="online", contacts="auto"), InvalidValue, "feet"),
    (
        lambda g: track(g.arm, [Reach(TCP, g.path), LookAt(TCP, np.zeros(3), name="look")], fps=FPS, targets=FOUR),
        ShapeMismatch,
        "different numbers",
    ),
    (lambda g: g.follow(spoil(g.path)), PoiseError, r"finite|frame 3"),
    (lambda g: poise.solve(g.arm, Reach(TCP, g.path)), ShapeMismatch, r"poise\.motion\.track"),
    (lambda g: g.hold(Reach("hand_l", np.zeros((4, 3))), fps=FPS, smooth=NAN), PoiseError, "smooth"),
    (lambda g: g.hold(GOAL_PATH, fps=FPS, mode="online", contacts="never"), InvalidValue, "contacts"),
    (lambda g: g.hold(GOAL_PATH, fps=FPS, mode="online", contacts=Contacts((), 9, FPS)), InvalidValue, "frames"),
    # motions
    *((lambda g, wrong=wrong: g.clip.resampled(wrong), InvalidValue, "fps") for wrong in WRONG_RATES),
    *((lambda g, wrong=wrong: g.clip.smoothed(wrong), InvalidValue, "cutoff_hz") for wrong in WRONG_RATES),
    (lambda g: g.clip.joined(g.clip, blend=2.0), InvalidValue, "blend=2 s is 60 frames"),
    (lambda g: g.clip.looped(blend=-1.0), InvalidValue, "blend"),
    (lambda g: g.clip.joined(Motion(poise.load("ur5e"), np.zeros((10, 6)))), ModelMismatch, "ur5e"),
    (lambda g: g.clip.warped([[0.1]]), ShapeMismatch, "times"),
    (lambda g: g.clip.warped([NAN]), ShapeMismatch, "times"),
    (lambda g: g.clip[:0].mean(), InvalidValue, "has none"),
    (lambda g: g.clip[:0].resampled(60.0), InvalidValue, "has none"),
    (lambda g: g.clip.joined(g.clip[:0]), InvalidValue, "has none"),
    (lambda g: g.clip[:0].warped([0.0]), InvalidValue, "has none"),
    # objects and grasps
    (lambda _: poise.Object(Mesh("a.stl"), T), InvalidValue, "Mesh"),
    (lambda _: poise.Object("box", T), InvalidValue, "shape is 'box'"),
    (lambda _: poise.Object(BOX, np.zeros((2, 2))), ShapeMismatch, "Object: transform has shape"),
    (lambda _: poise.Object(BOX, np.full((4, 4), NAN)), InvalidValue, "Object: transform"),
    (lambda _: poise.Object(BOX, T, frame="hand_l"), InvalidValue, "not a Motion"),
    *((lambda _, fps=fps: poise.Object(BOX, T, fps=fps), InvalidValue, "fps is") for fps in (-1, 0, 1j)),
    *((lambda _, fps=fps: poise.Object(BOX, T, fps=fps), InvalidValue, "fps") for fps in (NAN, INF, "30", [30])),
    (lambda _: poise.Object(BOX, T, name=""), InvalidValue, r"^Object: name is"),
    (lambda _: poise.ModelBuilder().add_joint("", None, "revolute"), InvalidModel, r"^a joint's name"),
    (lambda _: Path([(0, 0, 0), (1, 0, 0)], closed=True), InvalidValue, "a closed curve needs"),
    (lambda _: Path([(0, 0, 0)]), InvalidValue, "an open curve needs"),
    *((lambda g, point=point: g.still.measure_distance(point), PoiseError, "point") for point in WRONG_POINTS),
    (lambda g: setattr(g.box, "name", "other"), AttributeError, "frozen"),
    (lambda _: Grasp("hand_l", 3), InvalidValue, r"object is 3.*poise\.Object"),
    (lambda g: Grasp("hand_l", g.box, "left"), InvalidValue, "faces of 'box'"),
    (lambda g: Grasp("hand_l", g.box, T), ShapeMismatch, "where is"),
    (lambda g: Grasp("hand_l", g.box, (NAN, 0.0, 0.0)), InvalidValue, "finite"),
    *((lambda g, hand=hand: Grasp(hand, g.still), InvalidValue, "(hand|frame) is") for hand in WRONG_NAMES),
    *((lambda g, during=during: Grasp("hand_l", g.planned, during=during), InvalidValue, "during") for during in TIMES),
    (lambda g: g.hold(Grasp("hadn_l", g.box)), NameNotFound, "hand_l"),
    (
        lambda g: g.hold(Grasp("hand_l", g.box), Grasp("hand_r", g.box.move(T))),
        InvalidValue,
        "two objects are called 'box'",
    ),
    (
        lambda g: g.hold(Grasp("hand_l", g.box), Grasp("hand_r", poise.Object(Box(SIZE), T[:5], name="other"))),
        ShapeMismatch,
        "different numbers of frames",
    ),
    (lambda g: g.hold(Grasp("hand_l", g.box.move(np.eye(4)))), InvalidValue, "no target moves"),
    (lambda g: g.hold(Reach("hand_l", T)), InvalidValue, "fps is missing"),
    (lambda g: g.hold(Grasp("hand_l", g.box), Custom(lambda q: q[:1], size=1)), InvalidValue, "Custom"),
    (lambda g: g.hold(Grasp("hand_l", g.box), contacts="none"), InvalidValue, "contacts"),
    (lambda g: g.hold(Grasp("hand_l", g.box), start=np.zeros(3)), ShapeMismatch, "start has shape"),
    *((lambda g, q=q: g.hold(Grasp("hand_l", g.still), start=q), PoiseError, "start") for q in WRONG_STARTS),
    (
        lambda g: g.hold(Grasp("hand_l", g.planned, during=(3.0, 4.0))),
        InvalidValue,
        r"is \(3.0, 4.0\); the motion has 0.5",
    ),
    (lambda g: g.hold(Grasp("hand_l", g.planned, during=(0.0, 0.2)), mode="online"), InvalidValue, "online"),
    (lambda g: g.thing.move_through(np.eye(4), seconds=0.0), InvalidValue, "seconds"),
    (lambda g: g.thing.move_through(np.eye(4), fps=-1), InvalidValue, "fps"),
    (lambda g: g.thing.move_through(np.zeros((1, 1, 4, 4)) + np.eye(4)), ShapeMismatch, "transform"),
    (
        lambda g: track(g.arm, [Grasp("panda_hand", g.still)], contacts="auto"),
        InvalidValue,
        r"motion\.contacts\(clip, points=",
    ),
    # retargeting
    (lambda g: retarget(g.walk, poise.load("hand")), InvalidValue, "two legs"),
    (lambda g: retarget(g.walk, g.body, mode="live"), InvalidValue, "mode"),
    (lambda g: retarget(g.walk, g.body, scale={"arms": -1.0}), InvalidValue, "arms"),
    (lambda g: retarget(g.walk, g.body, scale={"head": 1.0}), InvalidValue, "'head'"),
    *((lambda g, wrong=wrong: retarget(g.walk, g.body, wrong), InvalidValue, "mapping") for wrong in WRONG_MAPPINGS),
    *((lambda g, wrong=wrong: retarget(g.walk, g.body, clearance=wrong), InvalidValue, SWITCH) for wrong in NO_SWITCH),
    (lambda g: retarget(g.walk, g.body, g.mapping.replace("chest", target="tail")), NameNotFound, "tail"),
    (lambda g: retarget(g.walk, g.body, turn_over(g.mapping)), InvalidValue, "upside down"),
    (
        lambda g: retarget(g.walk, g.body, add_pair(g.mapping, g.mapping.find("head"))),
        InvalidValue,
        "two pairs for 'head'",
    ),
    (lambda g: retarget(g.walk, g.body, add_pair(g.mapping, KNEE)), NameNotFound, "knee_left"),
    (lambda g: retarget(Motion(make_cart(), make_cart().rest[None]), g.body), InvalidValue, NO_LEGS),
    (lambda g: retarget(Motion(TRUNK, TRUNK.rest[None]), g.body), InvalidValue, "it has two arms and no legs"),
    (
        lambda g: retarget(g.walk, make_cart(), retarget(g.walk[:2], make_cart()).mapping.remove("elbow_r")),
        InvalidValue,
        BOTH,
    ),
    *((lambda g, s=s: retarget(g.walk, make_machine(), scene=s), InvalidValue, "scene is") for s in NO_SCENES),
    (lambda g: retarget(g.walk, make_machine(), scene=[SIDEWAYS]), InvalidValue, "up='z'"),
    (lambda g: retarget(g.walk, make_machine(), scene=[AROUND]), InvalidValue, "begins inside"),
    (lambda g: retarget(g.walk, make_machine(), mode="online", scene=[FAR]), InvalidValue, "whole clips"),
    *(
        (
            lambda g, mode=mode: retarget(g.walk, g.body, mode=mode, progress=3),
            PoiseError,
            "progress is 3; it must be a func",
        )
        for mode in ("clip", "online")
    ),
    *(
        (
            lambda g, mode=mode, floor=floor: retarget(g.walk, make_machine(), mode=mode, floor=floor),
            InvalidValue,
            "floor",
        )
        for mode in ("clip", "online")
        for floor in ("low", NAN, [0.0])
    ),
]


@pytest.fixture(scope="module")
def given() -> Given:
    return Given()


@pytest.mark.parametrize(("call", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_call_names_its_argument(given: Given, call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(given)
