"""Errors of a model and its builder, each with its own message, and hostile arrays in every argument."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from operations import OPERATIONS, Case, close
from poise import ModelBuilder
from poise.errors import InvalidModel, InvalidValue, NameNotFound, PoiseError, ShapeMismatch

NAN, INF = float("nan"), float("inf")
BODY = random_model(3, joints=11)


def make_builder() -> ModelBuilder:
    """One hinge `j` that carries the frame `link`, and a ball `b`."""
    return ModelBuilder().add_joint("j", None, "revolute", frame="link").add_joint("b", "link", "ball")


def check_refusal(error: type[PoiseError], fragment: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert fragment in str(caught.value)


# ------------------------------------------------------------------------------------------------ joints

JOINTS: list[tuple[dict[str, Any], type[PoiseError], str]] = [
    ({"name": "j"}, InvalidModel, "two joints are called 'j'"),
    ({"name": "link"}, InvalidModel, "two frames are called 'link'"),
    ({"frame": "b"}, InvalidModel, "two frames are called 'b'"),
    ({"name": ""}, InvalidModel, "a joint's name must be a non-empty string"),
    ({"name": 3}, InvalidModel, "a joint's name must be a non-empty string, not 3"),
    ({"name": "\ud800"}, InvalidModel, "half of one"),
    ({"frame": ""}, InvalidModel, "a frame's name must be a non-empty string"),
    ({"parent": 3}, InvalidModel, "parent must be the name of a frame or joint"),
    ({"parent": ""}, InvalidModel, "parent must be the name of a frame or joint"),
    ({"kind": "revolut"}, NameNotFound, "no joint kind is called 'revolut'. Did you mean 'revolute'?"),
    ({"kind": None}, NameNotFound, "no joint kind is called 'None'. There are: 'ball', "),
    ({"kind": ["ball"]}, NameNotFound, "no joint kind"),
    ({"axis": (0, 0, 0)}, InvalidValue, "joint 'n': axis is zero"),
    ({"axis": (0, NAN, 0)}, InvalidValue, "axis is [0.0, nan, 0.0]; every number must be finite"),
    ({"axis": (0, INF, 0)}, InvalidValue, "every number must be finite"),
    ({"axis": (0, 1)}, ShapeMismatch, "axis has shape (2,); it must be 3 numbers"),
    ({"axis": "z"}, InvalidValue, "axis must be 3 numbers, not 'z'; type"),
    ({"axis": np.array([1j, 0, 0])}, InvalidValue, "axis must be 3 numbers"),
    ({"kind": "fixed", "axis": (0, 0, 1)}, InvalidValue, "a fixed joint has no axis"),
    ({"kind": "ball", "axis": (0, 0, 1)}, InvalidValue, "a ball joint has no axis"),
    ({"axis2": (0, 1, 0)}, InvalidValue, "only a universal joint has axis2"),
    ({"kind": "universal", "axis2": (2, 0, 0)}, InvalidValue, "axis and axis2 are parallel"),
    ({"kind": "euler"}, InvalidValue, "order is None; it must be one of XYX, XYZ"),
    ({"kind": "euler", "order": "XXY"}, InvalidValue, "order is 'XXY'"),
    ({"order": "XYZ"}, InvalidValue, "only an euler joint has an order"),
    ({"kind": "screw"}, InvalidValue, "a screw joint needs pitch="),
    ({"kind": "screw", "pitch": NAN}, InvalidValue, "pitch is [nan]"),
    ({"pitch": 1.0}, InvalidValue, "only a screw joint has a pitch"),
    ({"lower": 1, "upper": 0}, InvalidValue, "lower 1.0 is above upper 0.0"),
    (
        {"kind": "euler", "order": "XYZ", "lower": (0, 2, 0), "upper": (1, 1, 1)},
        InvalidValue,
        "lower 2.0 is above upper 1.0",
    ),
    ({"lower": NAN}, InvalidValue, "lower is [nan]; use None or -inf"),
    ({"lower": INF}, InvalidValue, "lower is [inf]; use None or -inf"),
    ({"upper": -INF}, InvalidValue, "upper is [-inf]; use None or inf"),
    ({"lower": (0, 1)}, ShapeMismatch, "lower has shape (2,); it must be 1 number."),
    ({"kind": "planar", "lower": 0}, ShapeMismatch, "lower has shape (1,); it must be 3 numbers."),
    ({"lower": "low"}, InvalidValue, "lower must be 1 number, not 'low'"),
    ({"lower": -(10**400)}, InvalidValue, "lower must be 1 number"),
    ({"kind": "ball", "lower": -1}, InvalidValue, "a ball joint has no range"),
    ({"kind": "free", "upper": 1}, InvalidValue, "a free joint has no range"),
    ({"kind": "continuous", "upper": 1}, InvalidValue, "Use kind 'revolute' for a range."),
    ({"rest": 2, "upper": 1}, InvalidValue, "rest [2.0] is outside"),
    ({"rest": NAN}, InvalidValue, "rest is [nan]"),
    ({"kind": "ball", "rest": (0, 0, 0)}, ShapeMismatch, "rest has shape (3,); it must be 4 numbers"),
    ({"kind": "ball", "rest": (0, 0, 0, 0)}, InvalidValue, "rest has a quaternion of length 0.0"),
    ({"mass": -1}, InvalidValue, "mass is -1.0; it must be zero or more"),
    ({"mass": NAN}, InvalidValue, "mass is [nan]"),
    ({"mass": None}, InvalidValue, "mass"),
    ({"mass": 1j}, InvalidValue, "mass must be 1 number, not 1j"),
    ({"center": (1, 2)}, ShapeMismatch, "center has shape (2,); it must be 3 numbers"),
    ({"center": (1, 2, INF)}, InvalidValue, "center is [1.0, 2.0, inf]"),
    ({"stiffness": -1}, InvalidValue, "stiffness is -1.0; it must be zero or more"),
    ({"offset": (1, 2)}, ShapeMismatch, "offset has shape (2,)"),
    ({"offset": (1, 2, NAN)}, InvalidValue, "offset[2] is nan"),
    ({"offset": np.zeros((2, 3))}, ShapeMismatch, "offset must be one transform, not (2,) of them"),
    ({"offset": np.diag([1, 1, -1, 1])}, InvalidValue, "its determinant is -1"),
    ({"offset": "up"}, InvalidValue, "offset is 'up'"),
    ({"mimic": ("j", NAN, 0)}, InvalidValue, "mimic ratio is [nan]"),
    ({"mimic": ("j", 1, 0, 0)}, InvalidModel, "mimic must be (joint, ratio, offset)"),
    ({"mimic": ()}, InvalidModel, "mimic must be (joint, ratio, offset)"),
    ({"mimic": 3}, InvalidModel, "mimic must be (joint, ratio, offset), not 3"),
    ({"mimic": (3, 1, 0)}, InvalidModel, "mimic must begin with a joint's name, not 3"),
    ({"kind": "ball", "mimic": ("j", 1, 0)}, InvalidModel, "only joints with one degree of freedom can mimic"),
]


@pytest.mark.parametrize(("options", "error", "fragment"), JOINTS, ids=[fragment for *_, fragment in JOINTS])
def test_a_joint_is_rejected_when_it_is_added(options: dict[str, Any], error: type[PoiseError], fragment: str) -> None:
    arguments = {"name": "n", "parent": None, "kind": "revolute"} | options
    check_refusal(error, fragment, lambda: make_builder().add_joint(**arguments))


# ------------------------------------------------------------------------------------------------ bodies

BODIES: list[tuple[Callable[[ModelBuilder], ModelBuilder], type[PoiseError], str]] = [
    (lambda _: ModelBuilder(), InvalidModel, "a model needs at least one joint or frame"),
    (lambda b: b.add_frame("f", "lnk"), NameNotFound, "no frame is called 'lnk'. Did you mean 'link'"),
    (lambda b: b.add_joint("n", "n", "fixed"), InvalidModel, "the parents form a loop: n -> n."),
    (lambda b: b.add_joint("n", "o", "fixed").add_frame("o", "n"), InvalidModel, "form a loop: n -> o -> n."),
    (lambda b: follow(b, "n", "jj"), NameNotFound, "no joint is called 'jj'. Did you mean 'j'?"),
    (lambda b: follow(b, "n", "n"), InvalidModel, "joint 'n': its mimic chain is a loop through 'n'"),
    (lambda b: follow(follow(b, "n", "o"), "o", "n"), InvalidModel, "its mimic chain is a loop"),
    (lambda b: follow(b, "n", "b"), InvalidModel, "joint 'n' mimics 'b', which is ball; it must have one coordinate"),
    (lambda b: follow(b, "n", "j", 0, 9, upper=1), InvalidModel, "mimics with ratio 0 and stands at 9.0"),
    (lambda b: follow(follow(b, "n", "j", 1e300), "o", "n", 1e300), InvalidModel, "multiply to inf"),
    (
        lambda b: follow(b.add_joint("l", None, "revolute", lower=0, upper=1), "n", "l", 1, 10, upper=9),
        InvalidModel,
        "no value of 'l' keeps both in their ranges",
    ),
]


def follow(
    b: ModelBuilder, name: str, leader: str, ratio: float = 1.0, offset: float = 0.0, **options: Any
) -> ModelBuilder:
    return b.add_joint(name, None, "revolute", mimic=(leader, ratio, offset), **options)


@pytest.mark.parametrize(("make", "error", "fragment"), BODIES)
def test_a_body_is_rejected_when_it_is_built(
    make: Callable[[ModelBuilder], ModelBuilder], error: type[PoiseError], fragment: str
) -> None:
    check_refusal(error, fragment, lambda: make(make_builder()).build())


def test_a_long_loop_is_named_shortly() -> None:
    b = ModelBuilder()
    for i in range(3000):
        b.add_frame(f"f{i}", f"f{(i + 1) % 3000}")
    with pytest.raises(InvalidModel, match=r"loop: f0 -> f1 -> f2 -> f3 -> f4 -> f5 -> \.\.\. -> f0\.$"):
        b.build()


def test_a_name_must_be_text() -> None:
    check_refusal(InvalidModel, "a model's name must be a string", lambda: ModelBuilder(3))  # type: ignore[arg-type]
    check_refusal(InvalidModel, "a frame's name must be a non-empty string", lambda: ModelBuilder().add_frame(None))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ calls

ARM = ModelBuilder("arm").add_joint("a", None, "revolute").add_joint("w", "a", "ball").add_frame("tip", "w").build()
Q = np.array([0.1, 1.0, 0, 0, 0])

CALLS: list[tuple[str, Callable[[], Any], type[PoiseError], str]] = [
    ("too short", lambda: ARM.fk(Q[:4], "tip"), ShapeMismatch, "q has shape (4,); its last axis must be 5 (model.nq)"),
    ("a number", lambda: ARM.fk(1.0, "tip"), ShapeMismatch, "q has shape (); its last axis must be 5"),
    ("nan", lambda: ARM.fk(Q * NAN, "tip"), InvalidValue, "q[0] is nan; every number must be finite"),
    ("inf of a row", lambda: ARM.fk([Q, Q + INF], "tip"), InvalidValue, "q[0] of row 1 is infinite"),
    ("zero quaternion", lambda: ARM.fk(Q * 0, "tip"), InvalidValue, "q[1:5] is a quaternion of length 0"),
    ("huge quaternion", lambda: ARM.fk(Q * 1e9, "tip"), InvalidValue, "it must be about 1 (w x y z)"),
    ("no frame", lambda: ARM.jacobian(Q, None), InvalidValue, "frame must be a name, not None"),  # type: ignore[arg-type]
    ("frame of bytes", lambda: ARM.fk(Q, b"tip"), InvalidValue, "frame must be a name, not b'tip'"),  # type: ignore[arg-type]
    ("frame 3", lambda: ARM.hessian(Q, 3), InvalidValue, "frame must be a name, not 3"),  # type: ignore[arg-type]
    ("other frame", lambda: ARM.jacobian(Q, "tipp"), NameNotFound, "Did you mean 'tip'?"),
    ("empty frame", lambda: ARM.fk(Q, ""), NameNotFound, "no frame is called ''. There are: 'a', 'tip', 'w'."),
    (
        "reference",
        lambda: ARM.jacobian(Q, "tip", reference="local"),
        InvalidValue,
        "reference must be 'world', 'body' or",
    ),
    ("point", lambda: ARM.jacobian(Q, "tip", point=(1, 2)), ShapeMismatch, "point has shape (2,); it must be 3"),
    ("point nan", lambda: ARM.jacobian(Q, "tip", point=(1, 2, NAN)), InvalidValue, "point[2] is nan"),
    ("v", lambda: ARM.jacobian_dot(Q, Q, "tip"), ShapeMismatch, "v has shape (5,); its last axis must be 4 (model.nv)"),
    ("v inf", lambda: ARM.jacobian_dot(Q, [INF] * 4, "tip"), InvalidValue, "v[0] is infinite"),
    ("dq", lambda: ARM.integrate(Q, Q), ShapeMismatch, "dq has shape (5,); its last axis must be 4 (model.nv)"),
    ("q1", lambda: ARM.difference(Q, Q[:4]), ShapeMismatch, "q1 has shape (4,)"),
    ("q0", lambda: ARM.difference(Q * 0, Q), InvalidValue, "q0[1:5] is a quaternion of length 0"),
    (
        "two batches",
        lambda: ARM.difference([Q] * 2, [Q] * 3),
        ShapeMismatch,
        "leading axes (2,) and (3,) do not broadcast",
    ),
    ("no mass", lambda: ARM.center_of_mass(Q), InvalidValue, "model 'arm' has no mass, so no centre of mass"),
    ("clamp", lambda: ARM.clamp(Q * 0), InvalidValue, "quaternion of length 0"),
    ("rng", lambda: ARM.random(0), InvalidValue, "rng must be a numpy Generator"),  # type: ignore[arg-type]
    ("size", lambda: ARM.random(np.random.default_rng(0), -1), InvalidValue, "size must be None, a count or a tuple"),
    ("size 1.5", lambda: ARM.random(np.random.default_rng(0), (1.5,)), InvalidValue, "not (1.5,)"),  # type: ignore[arg-type]
    ("joint", lambda: ARM.joint("wrist"), NameNotFound, "no joint is called 'wrist'"),
    ("lock", lambda: ARM.locked({"x": 1}), NameNotFound, "no joint is called 'x'"),
    ("lock a list", lambda: ARM.locked(["a"]), InvalidValue, "joints must be a mapping"),  # type: ignore[arg-type]
    ("lock at nan", lambda: ARM.locked({"a": NAN}), InvalidValue, "the value of joint 'a' is [nan]"),
    ("lock at 0", lambda: ARM.locked({"w": [0, 0, 0, 0]}), InvalidValue, "quaternion of length 0"),
    ("lock at two", lambda: ARM.locked({"a": (1, 2)}), ShapeMismatch, "the value of joint 'a' has shape (2,)"),
    ("same frame", lambda: ARM.with_frame("tip", "a"), InvalidValue, "already has a frame called 'tip'"),
    ("tool nowhere", lambda: ARM.with_frame("t", "tp"), NameNotFound, "Did you mean 'tip'?"),
    ("subtree", lambda: ARM.subtree("tp"), NameNotFound, "Did you mean 'tip'?"),
]


@pytest.mark.parametrize(("call", "error", "fragment"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_a_call_is_rejected(call: Callable[[], Any], error: type[PoiseError], fragment: str) -> None:
    check_refusal(error, fragment, call)


def test_lock_a_leader_not_its_follower() -> None:
    model = follow(make_builder(), "f", "j").build()
    check_refusal(InvalidValue, "joint 'f' follows 'j'; lock that one instead", lambda: model.locked({"f": 0}))


# ------------------------------------------------------------------------------------------------ hostile arrays


class Awkward:
    """Converts to no array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("not today")


def fold(q: np.ndarray[Any, Any]) -> list[Any]:
    loop: list[Any] = [*q]
    loop[0] = loop
    return loop


HOSTILE: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "a string": lambda _: "abc",
    "strings": lambda q: ["x"] * len(q),
    "complex": lambda q: q + 1j,
    "objects": lambda q: np.array([object()] * len(q)),
    "nothings": lambda q: [None] * len(q),
    "ragged": lambda q: [[1.0, 2.0], [3.0]],  # noqa: ARG005
    "bytes": lambda q: q.tobytes(),
    "a dictionary": lambda q: dict(enumerate(q)),
    "a generator": lambda q: (x for x in q),
    "dates": lambda q: np.zeros(len(q), "M8[s]"),
    "records": lambda q: np.zeros(len(q), [("a", "f8")]),
    "a loop": fold,
    "empty": lambda _: [],
    "an ellipsis": lambda _: ...,
    "a class": lambda _: float,
    "awkward": lambda _: Awkward(),
    "nan": lambda q: q * NAN,
    "one too many": lambda q: np.append(q, 0.0),
    "float16 infinities": lambda q: np.full(len(q), np.inf, np.float16),
}
FRIENDLY: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "a list": lambda q: q.tolist(),
    "a tuple": tuple,
    "every second": lambda q: np.repeat(q, 2)[::2],
    "backwards": lambda q: q[::-1].copy()[::-1],
    "big-endian": lambda q: q.astype(">f8"),
    "read-only": lambda q: np.frombuffer(q.tobytes()),
    "unaligned": lambda q: np.frombuffer(b"." + q.tobytes(), np.uint8)[1:].view(np.float64),
    "column of Fortran order": lambda q: np.asfortranarray(np.tile(q, (3, 1)))[1],
    "broadcast": lambda q: np.broadcast_to(q, (2, len(q)))[1],
    "subclass": np.ma.masked_array,
    "twenty axes": lambda q: q.reshape((1,) * 20 + q.shape),
}


# what is done with the array as it comes; some operations do arithmetic on it first
DOORS = OPERATIONS | {
    "difference": lambda c: c.model.difference(c.q, c.q),
    "clamp": lambda c: c.model.clamp(c.q),
}
TAKES_VELOCITY = [name for name in DOORS if name.startswith(("jacobian_dot", "integrate"))]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_arrays_are_rejected(hostile: str) -> None:
    case = Case.of(BODY, 1)
    for operation in DOORS:
        with pytest.raises(PoiseError):
            DOORS[operation](replace(case, q=HOSTILE[hostile](case.q)))
    for operation in TAKES_VELOCITY:
        with pytest.raises(PoiseError):
            DOORS[operation](replace(case, v=HOSTILE[hostile](case.v)))


@pytest.mark.parametrize("friendly", FRIENDLY)
def test_unusual_arrays_are_understood(friendly: str) -> None:
    case = Case.of(BODY, 1)
    for run in DOORS.values():
        expected = run(case)
        answer = np.asarray(run(replace(case, q=FRIENDLY[friendly](case.q))))
        close(answer.reshape(expected.shape), expected, 1e-13)


def test_batches_in_fortran_order_are_accepted() -> None:
    case = Case.of(BODY, 1, (5,))
    for run in DOORS.values():
        np.testing.assert_array_equal(run(replace(case, q=np.asfortranarray(case.q))), run(case))


def test_a_kilometre_of_axes_and_no_rows() -> None:
    assert ARM.fk(np.zeros((0, 2**40, 5)), "tip").shape == (0, 2**40, 4, 4)


MOST_AXES = (1,) * (63 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 31) + (5,)
OPEN: dict[str, Callable[[], Any]] = {
    "q is None": lambda: ARM.fk(None, "tip"),  # type: ignore[arg-type]
    "dq is None": lambda: ARM.integrate(Q, None),  # type: ignore[arg-type]
    "q1 is None": lambda: ARM.difference(Q, None),  # type: ignore[arg-type]
    "v is None": lambda: ARM.jacobian_dot(Q, None, "tip"),  # type: ignore[arg-type]
    "an integer beyond float": lambda: ARM.fk([10**400] * 5, "tip"),
    "all axes that numpy has": lambda: ARM.fk(Q.reshape(MOST_AXES), "tip"),
    "all axes, and a step": lambda: ARM.integrate(Q.reshape(MOST_AXES), np.zeros(4)),
    "a step whose length overflows": lambda: ARM.integrate(Q, np.full(4, 1e200)),
    "half a character": lambda: ARM.fk(Q, "\ud800"),
    "half a character of reference": lambda: ARM.jacobian(Q, "tip", reference="\ud800"),
}


@pytest.mark.parametrize("call", OPEN.values(), ids=OPEN)
def test_the_native_door_speaks_in_poise_errors(call: Callable[[], Any]) -> None:
    with pytest.raises(PoiseError):
        call()


@pytest.mark.parametrize("operation", TAKES_VELOCITY)
def test_the_configuration_decides_the_width(operation: str) -> None:
    case = Case.of(BODY, 1)
    narrow = replace(case, q=case.q.astype(np.float32))
    assert OPERATIONS[operation](narrow).dtype == np.float32


@pytest.mark.parametrize("size", [1e3, 1e6, 1e12, 1e22, 1e100, 1e308])
def test_huge_angles_are_turns_like_any_other(size: float) -> None:
    model = poise.load("panda")
    here = model.fk(np.full(7, size), "panda_hand")
    close(here[:3, :3] @ here[:3, :3].T, np.eye(3), 1e-14)
    close(model.fk(np.full((9, 7), size), "panda_hand")[4], here, 1e-13)
    hinge = ModelBuilder().add_joint("j", None, "revolute").build()
    close(hinge.fk([size], "j")[:2, 0], [np.cos(size), np.sin(size)], 1e-15)
