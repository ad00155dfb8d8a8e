"""Wrong calls: the words of the message and the class of the error, one row each.

Settings of methods and arguments of goals that are of the wrong type are in test_wrong_arguments.py.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from bodies import build_elbow_arm, random_model
from poise import ModelBuilder, Solver, find_singularities, textbook
from poise.errors import InvalidModel, InvalidValue, ModelMismatch, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import Balance, CenterOfMass, Comfort, Custom, Orient, Range, Reach, Rest
from poise.limits import Acceleration, Clearance, Cone, ConvexMesh, HalfSpace, HeightMap, PointCloud, Speed
from poise.methods import CCD, DLS, LM, SDLS, SVD, Gradient, Halley, Inverse, Scipy, Sequential, TwoBone
from poise.model import Box, Capsule, Path, Sphere
from poise.solvers import race
from poise.spatial import Rotation, Transform, as_transform
from poise.textbook import AffineJoint, affine_jacobian, affine_point, affine_transform

BODY = random_model(0)
HUMANOID = poise.load("humanoid")
PANDA = poise.load("panda")
PLANAR2 = poise.load("planar2")
PLANAR3 = poise.load("planar3")
TREE = poise.load("tree30")
TCP = "panda_hand_tcp"
NEAR, BELOW = Reach(TCP, (0.4, 0.2, 0.5)), Reach("panda_link4", (0.4, 0.2, 0.5), priority=1)
HAND_L = Reach("hand_l", (0, 1, 0))
BENT, BEND = np.radians([30.0, 40.0, 50.0]), np.array([[0.0, 0, 0], [1, 0.4, 0], [2, -0.3, 0.5], [3, 0.2, 0.1]])
HAND, BOTTLE = PANDA.fk(PANDA.rest, "panda_hand"), Capsule((0.0, 0.0, 0.05), (0.0, 0.0, 0.35), 0.03, name="bottle")


def run_loop(**options: Any) -> Any:
    """Run the loop of the textbook on three hinges."""
    return textbook.loop(PLANAR3, BENT, **{"goals": Reach("tip", (1.2, 1.5)), **options})


def draw_one(kind: str) -> poise.Model:
    """Return a body of one joint."""
    return random_model(0, joints=1, kinds=(kind,))


Call = Callable[[], Any]
CALLS: dict[type[Exception], dict[str, Call | list[Call]]] = {
    ModelMismatch: {"iiwa14": lambda: poise.solve(PANDA, NEAR, poise.Pose(poise.load("iiwa14")))},
    InvalidValue: {
        "goals must be": lambda: poise.solve(PANDA, None),
        "below 1e": lambda: Reach(TCP, (1e160, 0, 0)),
        "seed is": lambda: poise.solve(PANDA, NEAR, seed=2**31),
        "time_limit is": lambda: poise.solve(PANDA, NEAR, time_limit="a"),
        "record is": lambda: poise.solve(PANDA, NEAR, record="yes"),
        r"write DLS\(\)": lambda: poise.solve(PANDA, NEAR, method=DLS),
        "targets must be": lambda: poise.Solver(PANDA, NEAR).solve(targets=[(0.4, 0.2, 0.5)]),
        "one priority": lambda: poise.solve(PANDA, [NEAR, BELOW], method="dls"),
        "time_limit": lambda: poise.solve(PANDA, NEAR, method=Scipy("trf"), time_limit=1.0),
        "posture": lambda: poise.solve(PANDA, [NEAR, Rest()], method=Scipy("trf")),
        "'panda_hand_tcp' is a rotation goal.*ccd": lambda: Solver(PANDA, Orient(TCP, np.eye(3)), method="fabrik"),
        "'rest' is a posture goal.*lm": lambda: Solver(PANDA, [NEAR, Rest()], method="ccd"),
        "limb.*panda_joint1.*ccd": lambda: Solver(PANDA, NEAR, method="two_bone"),
        "share.*'wrist_l'": lambda: Solver(HUMANOID, [HAND_L, Reach("thumb_l", (0, 1, 0))], method="two_bone"),
        "'hand_l' is a rotation goal": lambda: Solver(
            HUMANOID, Orient("hand_l", Rotation.identity()), method="two_bone"
        ),
        "priority": lambda: Solver(PANDA, [NEAR, BELOW], method="ccd"),
        "does not move": lambda: poise.ModelBuilder("x").add_joint("b", None, "fixed", locked=True),
        "True or False": lambda: poise.ModelBuilder("x").add_joint("b", None, "prismatic", locked="yes"),
        "order is": lambda: CCD(order="sideways"),
        "turn_limit": lambda: CCD(turn_limit=0.0),
        "pole": lambda: TwoBone(pole=(0, 0, 0)),
        "soften": lambda: TwoBone(soften=0.0),
        "parts": lambda: Sequential(parts=[]),
        "rounds": lambda: Sequential(rounds=0),
        "solutions=8": lambda: poise.solve_all(PLANAR2, Reach("tip", (Range(0.9, 1.1), 0.8, 0.0))),
        "6 goal rows and 7 degrees of freedom.*pseudoinverse.*joints=": lambda: poise.Solver(
            PANDA, Reach("panda_hand_tcp", np.eye(4)), method="inverse"
        ),
        "2 goal rows and 3 degrees": lambda: poise.Solver(PLANAR3, Reach("tip", (1, 1, 0)), method="inverse"),
        "gain": [lambda: Gradient(gain=2.0), lambda: Gradient(gain=0.0)],
        "threshold": lambda: SVD(threshold=1.0),
        "damping": [lambda: DLS(damping=0.0), lambda: DLS(damping=math.nan)],
        "gamma_max": lambda: SDLS(gamma_max=-1.0),
        "target_clamp": lambda: SDLS(target_clamp=0.0),
        "floor": lambda: Halley(floor=0.0),
        "stall_steps": lambda: Inverse(stall_steps=0),
        "problems is 0": lambda: race(PANDA, problems=0),
        "'joint_1' turns without end; type: solve": lambda: poise.solve_all(
            PLANAR2, Reach("tip", (1.0, 0.8)), turns=True
        ),
        "solutions=8, turns=True": [
            lambda: poise.solve(PLANAR2, Reach("tip", (1.0, 0.8)), turns=True),
            lambda: poise.solve_batch(PLANAR2, Reach("tip", (1.0, 0.8)), np.array([[1.0, 0.8]]), turns=True),
        ],
        "one to 7 joints.*locked": lambda: find_singularities(HUMANOID, "hand_l"),
        "rows must be": lambda: find_singularities(PLANAR2, "tip", rows="all"),
        "starts is 0": lambda: find_singularities(PLANAR2, "tip", starts=0),
        "takes a Reach": lambda: poise.solve_all(PANDA, Orient("panda_hand", np.eye(3))),
        "no joint that may move": lambda: poise.solve_all(PANDA, Reach("panda_link0", np.eye(4))),
        r"samples .*from 1 to 10000\b": lambda: poise.solve_all(PANDA, Reach("panda_hand", np.eye(4)), samples=0),
        r"samples is 1000000; .* at most 10000 .* answers\.at\(angle\)": lambda: poise.solve_all(
            PANDA, Reach("panda_hand", np.eye(4)), samples=10**6
        ),
        "angle is .*panda_joint7": [
            *(
                lambda value=value: poise.solve_all(PANDA, Reach("panda_hand", HAND)).at(value)
                for value in (np.nan, np.inf, "x", None, np.zeros(2))
            )
        ],
        "Cone of joint 'b'.*radians": [
            lambda: Cone("b", swing=60),
            lambda: Cone("b", swing=(60, 30)),
            lambda: Cone("b", swing=0.5, twist=(-45, 45)),
            lambda: Cone("b", angle=90),
        ],
        "above zero": lambda: poise.ModelBuilder().add_joint("s", None, "uniform_scale", lower=0),
        "only a scale joint": lambda: poise.ModelBuilder().add_joint("s", None, "uniform_scale", length=1.0),
        "axis": lambda: poise.ModelBuilder().add_joint("s", None, "uniform_scale", axis=(1, 0, 0)),
        "not orthonormal.*2e-05": lambda: Rotation.from_matrix(np.diag([1.0, 1.0, 1.0 + 1e-05])),
        r"matrix\[1\] is not orthonormal": lambda: Rotation.from_matrix(
            np.stack([np.eye(3), np.diag([1.0, 1.0, 1.0 + 1e-05])])
        ),
        "mirrors.*-1": lambda: Rotation.from_matrix(np.diag([1.0, 1.0, -1.0])),
        r"wxyz\[1, 2\] is nan": lambda: Rotation([[1, 0, 0, 0], [0, 0, float("nan"), 0]]),
        r"bottom row \[1.0, 1.0, 1.0, 1.0\]": lambda: Transform.from_matrix(np.ones((4, 4))),
        r"Transform\(rotation, translation\)": lambda: as_transform(Rotation.identity()),
        "unit vector": lambda: AffineJoint("axis_scale", axis=(1, 1, 0)),
        "perpendicular": lambda: AffineJoint("shear", axis=(1, 0, 0)),
        "three finite": lambda: AffineJoint("slide", offset=(1, 0, np.nan)),
        "not finite": [
            lambda: affine_transform([AffineJoint("turn")], [np.nan]),
            lambda: poise.solve(HUMANOID, Custom(lambda q: [np.nan, q[0]], size=2)),
        ],
        "desired is not a rotation": lambda: textbook.rotation_error(2 * np.eye(3), np.eye(3)),
        "current is not a rotation": lambda: textbook.rotation_error(np.eye(3), np.diag([1.0, 1.0, -1.0])),
        "step": lambda: textbook.limited_step([np.nan, 0.0], 0.1),
        "last row": lambda: textbook.inverse(np.diag([1.0, 1.0, 1.0, 2.0])),
        "length 2": lambda: textbook.axis_rotation((0, 0, 2), 1.0),
        "zero": lambda: textbook.quaternion_rotation(np.zeros(4)),
        "order": lambda: textbook.euler_axes("", ()),
        "swap": lambda: textbook.mid_range([1.0], [0.0]),
        r"f\(0\)": lambda: textbook.gradient_descent_1d(lambda _: np.nan, lambda _: 1.0, 1.0, 0.0),
        "'j0'.*adjusted_jacobian": [
            lambda: textbook.generic_jacobian(draw_one("euler"), np.zeros(3), "j0"),
            lambda: textbook.generic_jacobian(draw_one("universal"), np.zeros(2), "j0"),
        ],
        "finite": lambda: textbook.forward_kinematics(BODY, np.full(BODY.nq, np.nan), "j0"),
        "control": lambda: textbook.adjusted_jacobian(BODY, BODY.rest, "j0", control="sideways"),
        "reference": [
            lambda: textbook.numeric_jacobian(BODY, BODY.rest, "j0", reference="moon"),
            lambda: textbook.jacobian_derivative(BODY, BODY.rest, np.zeros(BODY.nv), "j0", reference="moon"),
        ],
        "epsilon": lambda: textbook.numeric_jacobian(BODY, BODY.rest, "j0", epsilon=0.0),
        "three poses": lambda: textbook.train_latent_model(np.zeros((2, 5))),
        "turns hinges": lambda: textbook.loop(
            TREE, TREE.rest, Reach("end_1", (0.0, 0.0, 1.0)), step=textbook.fabrik_step
        ),
        "letters are X, Y and Z": lambda: textbook.euler_rotation("XQZ", (0, 0, 0)),
        "held": [
            lambda: Clearance(held={"panda_hand_tcp": HalfSpace((0, 0, 0), (0, 0, 1))}),
            lambda: Clearance(held={"panda_hand_tcp": PointCloud([[0, 0, 0]], 0.1)}),
            lambda: Clearance(held={"panda_hand_tcp": "cup"}),
            lambda: Clearance(held=BOTTLE),
            lambda: Clearance(held=5),
        ],
        "name of a frame": lambda: Clearance(held={3: BOTTLE}),
        "no velocity limits; give a number": lambda: poise.Solver(
            HUMANOID, Reach("hand_l", (0, 1, 0)), limits=Speed()
        ).step(HUMANOID.rest, 0.1),
        "max": lambda: Acceleration(None),
        "has no size": lambda: Clearance().list_surfaces(
            poise.ModelBuilder("nothing").add_joint("a", None, "revolute").build()
        ),
        "sequential.*does not support time steps": lambda: poise.Solver(
            PANDA, Reach("panda_hand_tcp", (0.4, 0.2, 0.5)), method="sequential"
        ).step(PANDA.rest, 0.1),
        "PointCloud: points is empty": [lambda: PointCloud(np.zeros((0, 3)), 0.1), lambda: PointCloud([], 0.1)],
        "2 rows .* the first at 1": lambda: PointCloud([[0, 0, 0], [0, np.nan, 0], [np.inf, 0, 0]], 0.1),
        r"points\[np.isfinite\(points\).all\(axis=1\)\]": lambda: PointCloud([[np.nan, 0, 0]], 0.1),
        "PointCloud: radius": lambda: PointCloud(np.zeros((1, 3)), -0.1),
        "PointCloud: points": lambda: PointCloud("cloud.ply", 0.1),
        "ConvexMesh: vertices": lambda: ConvexMesh([[0, 0, 0], [0, np.nan, 0]]),
        "ConvexMesh: vertices is empty": lambda: ConvexMesh([]),
        r"heights\[0, 1\] is nan": lambda: HeightMap([[0.0, np.nan], [0.0, 0.0]], 0.1),
        "spacing": [
            lambda: HeightMap(np.zeros((2, 2)), 0.0),
            lambda: HeightMap(np.zeros((2, 2)), -1.0),
            lambda: HeightMap(np.zeros((2, 2)), (0.1, 0.1, 0.1)),
        ],
        "up is 'x'": lambda: HeightMap(np.zeros((2, 2)), 0.1, up="x"),
        "name": lambda: HeightMap(np.zeros((2, 2)), 0.1, name=3),
        "heights": lambda: HeightMap("hills", 0.1),
        "HeightMap": lambda: Clearance(world=[HeightMap(np.zeros((2, 2)), 0.1)]),
        "Sphere: center": lambda: Sphere((0, 0, np.nan), 0.1),
        "Sphere: radius": lambda: Sphere((0, 0, 0), -0.1),
        "Box: size": lambda: Box((0, 0, 0), (0.1, np.inf, 0.1)),
        "HalfSpace: normal": lambda: HalfSpace((0, 0, 0), (0, 0, 0)),
        "Clearance: world": lambda: Clearance(world=[None]),
        "frame": lambda: Comfort(manipulability=1.0),
        "manipulability": lambda: Comfort(manipulability=-1.0, frame="panda_hand_tcp"),
        "has no mass": [
            *(
                lambda goal=goal: poise.solve(
                    poise.ModelBuilder("stick").add_joint("a", None, "revolute").build(), goal
                )
                for goal in (CenterOfMass((0.3, 1.2, 0.3)), Balance(["a"]))
            )
        ],
        "33 contact points": lambda: poise.solve(
            HUMANOID, Balance([("hand_l", (0.01 * k, 0.0, 0.0)) for k in range(33)])
        ),
        "array of numbers": lambda: poise.solve(HUMANOID, Custom(lambda q: ["a", q], size=2)),
        r"type Box\(size\) or Box\(center, size, rotation\)": lambda: Box(*()),
        r"None, 3\) is neither form": lambda: Box((0, 0, 0), (1, 1, 1), None, 3),
        r"type Sphere\(radius\) or Sphere\(center, radius\)": lambda: Sphere(0.1, 0.2, 0.3),
        r"Sphere\(0.1, width=\) is neither form": lambda: Sphere(0.1, width=3),
        r"type Capsule\(radius, length\) or Capsule\(start, end, radius\)": lambda: Capsule(0.1),
        "list": [
            lambda: PANDA.jacobian(PANDA.rest, "panda_hand", columns="panda_joint1"),
            lambda: PANDA.jacobian_dot(PANDA.rest, np.zeros(7), "panda_hand", columns="panda_joint1"),
        ],
        "only a path joint has a path": lambda: ModelBuilder().add_joint("j", None, "revolute", path=BEND),
        "shape is 'circle'": lambda: Path(BEND, "circle"),
        "forward": lambda: Path(BEND, forward=(0, 0, 0)),
        "only a polyline has corners": lambda: Path(BEND, corner=0.1),
        "follow is 'yes'": lambda: Path(BEND, follow="yes"),
        "3 to 2000 points": lambda: Path(BEND[:2], closed=True),
        "needs length=": lambda: ModelBuilder().add_joint("s", None, "scale"),
        "length is": [
            *(
                lambda bad=bad: ModelBuilder().add_joint("s", None, "scale", length=bad)
                for bad in (0.0, -1.0, np.nan, "long")
            )
        ],
        "must be above zero": [
            *(
                lambda low=low: ModelBuilder().add_joint("s", None, "scale", length=1.0, lower=low)
                for low in (0.0, -0.5)
            )
        ],
        "only a scale joint has a length": lambda: ModelBuilder().add_joint("s", None, "prismatic", length=1.0),
    },
    InvalidModel: {
        "follows 'a'": lambda: poise.ModelBuilder("x").add_joint(
            "b", None, "prismatic", locked=True, mimic=("a", 1.0, 0.0)
        ),
        "joint 's': shear joints are not supported.*rigid.*'scale'": lambda: ModelBuilder().add_joint(
            "s", None, "shear"
        ),
    },
    NameNotFound: {
        "tail": lambda: Solver(HUMANOID, Reach("hand_l", (0, 1, 0)), method=Sequential(parts=[["tail"]])),
        "'hand'": lambda: poise.solve_all(PANDA, Reach("hand", np.eye(4))),
        "nowhere": lambda: textbook.simple_jacobian(BODY, BODY.rest, "nowhere"),
        "panda_hand": lambda: race(PANDA, "panda_hnd"),
        "lm": lambda: race(PANDA, methods=["ml"]),
        "squash": lambda: AffineJoint("squash"),
        "grip": lambda: Clearance(held={"grip": BOTTLE}).measure_gap(PANDA, PANDA.rest),
        "foot_l": lambda: poise.solve(HUMANOID, Balance(["foot_left"])),
        r"There are: 'elbow', 'shoulder'\.": lambda: build_elbow_arm().build().joint("0123456789"),
        "panda_joint9": [
            lambda: PANDA.jacobian(PANDA.rest, "panda_hand", columns=["panda_joint9"]),
            lambda: PANDA.hessian(PANDA.rest, "panda_hand", columns=["panda_joint9"]),
        ],
        "joint kind": lambda: ModelBuilder().add_joint("s", None, "stretch"),
    },
    TypeError: {
        "gain": lambda: LM(**{"gain": 0.5}),
        r"Solver\(\) has no argument 'methd'; did you mean 'method'\?": lambda: poise.Solver(
            PLANAR3, Reach(PLANAR3.frames[-1], (1, 0, 0)), **{"methd": "lm"}
        ),
    },
    PoiseError: {
        "start": [
            *(
                lambda start=start: poise.solve_all(PANDA, Reach("panda_hand", HAND), start)
                for start in ("home", [None] * 7, np.full(7, np.nan), np.zeros((1, 7)))
            )
        ],
        "empty": lambda: run_loop(goals=[]),
        "Reach and Orient": lambda: run_loop(goals=[Rest()]),
        "Range": lambda: run_loop(goals=Reach("tip", (Range(0, 1), 1.0))),
        "axes": lambda: run_loop(goals=Orient("tip", np.eye(3), axes="x")),
        "relative_to": lambda: run_loop(goals=Reach("tip", (1.0, 1.0), relative_to=PLANAR3.frames[0])),
        "nose": lambda: run_loop(goals=Reach("nose", (1.0, 1.0))),
        "damping": lambda: run_loop(step=textbook.damped_inverse),
        "not finite": lambda: run_loop(step=lambda q: q * np.nan),
        "shape": [lambda: run_loop(step=lambda: np.zeros(2)), lambda: run_loop(step=lambda: np.zeros((2, 2)))],
        "gain": lambda: run_loop(gain=0.0),
        "ranges": lambda: run_loop(ranges="none"),
        "negative": lambda: run_loop(stop=-1.0),
        "max_steps": lambda: run_loop(max_steps=-1),
        "one position": lambda: run_loop(goals=Orient("tip", np.eye(3)), step=textbook.fabrik_step),
    },
    ShapeMismatch: {
        "give one or 6": lambda: Reach(TCP, np.eye(4), weight=(1, 1, 1)),
        r"Transform\(wxyz, xyz\), or Transform\(Rotation.from_xyzw\(xyzw\), xyz\)": lambda: Reach(
            "panda_hand_tcp", (0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0)
        ),
        r"wxyz \(Rotation.from_xyzw takes xyzw\)": lambda: Orient("panda_hand_tcp", np.zeros(5)),
        "q has shape": lambda: affine_point([AffineJoint("turn")], [1.0, 2.0]),
        "point": lambda: affine_jacobian([AffineJoint("turn")], [1.0], (1.0, 2.0)),
        "goal has shape": lambda: textbook.basic_ik(PLANAR3, np.array([0.3, 0.4, 0.5]), "tip", (1.0, 1.0, 0.0, 1.0)),
        "p has shape": lambda: textbook.skew((1, 2)),
        "transform has shape": lambda: textbook.adjoint(np.eye(3)),
        "angles": lambda: textbook.euler_rotation("XYZ", (1.0, 2.0)),
        "has shape": [
            lambda: textbook.adjusted_jacobian(BODY, BODY.rest[:-1], "j0"),
            lambda: textbook.jacobian_derivative(BODY, BODY.rest, np.zeros(BODY.nv + 1), "j0"),
            lambda: textbook.integrate(BODY, BODY.rest, np.zeros(BODY.nv + 1)),
        ],
        "2 numbers": lambda: textbook.loop(PANDA, PANDA.rest, Reach("panda_hand_tcp", (0.3, 0.3))),
        "its last axis must be": lambda: Clearance().measure_gap(PANDA, np.zeros(3)),
        r"PointCloud: points has shape \(4, 4\)": lambda: PointCloud(np.zeros((4, 4)), 0.1),
        "ConvexMesh: vertices": lambda: ConvexMesh([0, 0, 0]),
        "two or more rows and columns": [lambda: HeightMap([0.0, 1.0, 2.0], 0.1), lambda: HeightMap([[0.0, 1.0]], 0.1)],
        "points": lambda: HeightMap(np.zeros((2, 2)), 0.1).measure_gaps((0.0, 0.0)),
        "residual returned shape": lambda: poise.solve(HUMANOID, Custom(lambda q: q[:3], size=2)),
    },
}
ROWS = [
    pytest.param(call, error, words, id=f"{error.__name__}: {words}")
    for error, rows in CALLS.items()
    for words, calls in rows.items()
    for call in (calls if isinstance(calls, list) else [calls])
]


@pytest.mark.parametrize(("call", "error", "words"), ROWS)
def test_a_wrong_call_raises_an_error_in_these_words(call: Call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
