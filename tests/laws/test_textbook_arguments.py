"""Every function of the textbook rejects wrong shapes, numbers that are not finite, and non-rotations."""

import inspect
from typing import Any

import numpy as np
import pytest

import poise
from poise import textbook
from poise.errors import PoiseError
from poise.goals import Reach

ARM = poise.load("planar3")
Q = np.array([0.3, 0.4, 0.5])
HINGE = ARM.joints[0]
RNG = np.random.default_rng(0)
X, Y, Z = np.eye(3)
J, E = RNG.normal(size=(3, 5)), np.array([0.1, -0.2, 0.3])
TWISTS = RNG.normal(size=(6, 5))
TURN = textbook.axis_rotation(Z, 0.7)
PLACE = textbook.rigid(TURN, (1.0, 2.0, 3.0))
GROWING = [textbook.AffineJoint(kind) for kind in ("turn", "axis_scale", "shear")]
GOALS = textbook.loop(ARM, Q, Reach("tip", (1.2, 1.5)), max_steps=0).goals
POSES = RNG.normal(size=(6, 4))

# valid arguments of every function; those that are arrays or floats are spoilt one by one
CALLS: dict[str, dict[str, Any]] = {
    "adjoint": {"transform": PLACE},
    "adjoint_derivative": {"transform": PLACE, "twist": np.ones(6)},
    "adjusted_jacobian": {"model": ARM, "q": Q, "frame": "tip"},
    "affine_jacobian": {"joints": GROWING, "q": X, "point": X},
    "affine_point": {"joints": GROWING, "q": X, "point": X},
    "affine_transform": {"joints": GROWING, "q": X},
    "axis_rotation": {"axis": Z, "angle": 0.3},
    "basic_ik": {"model": ARM, "q": Q, "frame": "tip", "goal": np.array([1.2, 1.5, 0.0]), "threshold": 0.1},
    "best_axis_column": {"pivot": X, "effector": Y, "goal": Z},
    "ccd_angle": {"axis": Z, "pivot": X, "effector": Y, "goal": Z},
    "ccd_step": {"model": ARM, "q": Q, "goals": GOALS, "k": 0},
    "configuration": {"model": ARM, "q": Q},
    "control_term": {"jacobian": J, "gradient": np.ones(5)},
    "controlled_step": {"jacobian": J, "error": E, "variation": np.ones(5)},
    "controlled_step_by_elimination": {"jacobian": J, "error": E, "gradient": np.ones(5)},
    "count_passes": {"model": ARM, "frame": "tip"},
    "damped_inverse": {"jacobian": J, "damping": 0.1},
    "damped_svd_inverse": {"jacobian": J, "damping": 0.1},
    "euler_axes": {"order": "ZXY", "angles": Q},
    "euler_rotation": {"order": "ZXY", "angles": Q},
    "exponential_jacobian": {"model": ARM, "q": Q, "frame": "tip"},
    "exponentials": {"model": ARM, "q": Q, "frame": "tip"},
    "fabrik_step": {"model": ARM, "q": Q, "goals": GOALS},
    "find_blocks": {"model": ARM, "q": Q, "frames": "tip"},
    "find_chain": {"model": ARM, "q": Q, "frame": "tip"},
    "find_latent_cost": {"X": RNG.normal(size=(6, 2)), "Y": POSES, "scales": np.zeros(7)},
    "find_parallel_turns": {"h": Z, "p1": np.zeros(3), "p2": X, "p": 2 * X, "q": Y},
    "find_turn_onto": {"k": Z, "p": X, "q": Y},
    "find_turns_to_distance": {"k": Z, "p": X, "q": Y, "distance": 0.5},
    "find_turns_to_height": {"h": X, "k": Z, "p": X, "height": 0.5},
    "find_two_turns": {"k1": Z, "k2": X, "p": X, "q": Y},
    "find_wrist": {"h4": Z, "h5": X, "h6": Z, "R": TURN},
    "forward_kinematics": {"model": ARM, "q": Q, "frame": "tip"},
    "frame_velocity": {"model": ARM, "q": Q, "v": Q, "frame": "tip"},
    "frozen_step": {"jacobian": J, "error": E, "theta": np.zeros(5), "lower": -np.ones(5), "upper": np.ones(5)},
    "generic_jacobian": {"model": ARM, "q": Q, "frame": "tip"},
    "gradient_descent_1d": {"f": lambda x: x, "slope": lambda _: 1.0, "goal": 2.0, "start": 0.0, "beta": 0.5},
    "integrate": {"model": ARM, "q": Q, "step": Q},
    "inverse": {"transform": PLACE},
    "jacobian_derivative": {"model": ARM, "q": Q, "v": Q, "frame": "tip"},
    "joint_axes": {"joint": HINGE, "value": np.array([0.3])},
    "joint_motions": {"joint": HINGE, "value": np.array([0.3])},
    "joint_transform": {"joint": HINGE, "value": np.array([0.3])},
    "joint_value": {"model": ARM, "joint": HINGE, "q": Q},
    "left_pseudoinverse": {"jacobian": J.T},
    "limited_step": {"step": Q, "threshold": 0.1},
    "loop": {"model": ARM, "q": Q, "goals": Reach("tip", (1.2, 1.5)), "gain": 0.5, "stop": 1e-3},
    "mid_range": {"lower": -np.ones(3), "upper": np.ones(3)},
    "null_space_projector": {"jacobian": J},
    "numeric_jacobian": {"model": ARM, "q": Q, "frame": "tip", "epsilon": 1e-5},
    "path": {"model": ARM, "q": Q, "frame": "tip"},
    "plane_axes": {"normal": Z},
    "point_jacobian": {"jacobian": TWISTS, "point": X},
    "posture_cost": {"theta": Q, "desired": Q + 1, "gains": Q},
    "posture_gradient": {"theta": Q, "desired": Q + 1, "gains": Q},
    "priority_step": {"jacobians": [J], "errors": [E]},
    "product_of_exponentials": {"model": ARM, "q": Q, "frame": "tip"},
    "quaternion_exponential": {"vector": X},
    "quaternion_product": {"a": np.ones(4), "b": np.ones(4)},
    "quaternion_rotation": {"wxyz": np.ones(4)},
    "quaternion_vector": {"wxyz": np.ones(4)},
    "reach_along": {"points": np.eye(3), "start": X},
    "right_pseudoinverse": {"jacobian": J},
    "rigid": {"rotation": TURN, "translation": X},
    "rotation_error": {"desired": TURN, "current": TURN},
    "rotation_quaternion": {"rotation": TURN},
    "rotation_vector": {"rotation": TURN},
    "run_rules": {"model": ARM, "q": Q, "goals": Reach("tip", (1.2, 1.5)), "max_steps": 1},
    "selectively_damped_step": {"jacobian": J, "error": E, "gamma_max": 0.5},
    "simple_jacobian": {"model": ARM, "q": Q, "frame": "tip"},
    "skew": {"p": X},
    "solve_lu": {"jacobian": J, "error": E, "damping": 0.1},
    "solve_qr": {"jacobian": J, "error": E},
    "spatial_jacobian": {"jacobian": TWISTS, "transform": PLACE},
    "study_gains": {
        "rules": {"transpose": textbook.transpose_step},
        "model": ARM,
        "q": Q,
        "goals": Reach("tip", (1.2, 1.5)),
        "gains": np.ones(1),
    },
    "trace_descent": {"f": lambda x: x, "slope": lambda _: 1.0, "goal": 2.0, "start": 0.0, "beta": 0.5},
    "train_latent_model": {"Y": POSES, "steps": 1},
    "transpose_step": {"jacobian": J, "error": E},
    "truncated_svd_inverse": {"jacobian": J, "threshold": 1e-9},
    "twist_bracket": {"twist": np.ones(6)},
    "twist_exponential": {"twist": np.ones(6), "amount": 0.5},
    "twist_matrix": {"twist": np.ones(6)},
    "unit_velocity_jacobian": {"model": ARM, "q": Q, "frame": "tip"},
    "unskew": {"matrix": np.eye(3)},
    "weighted_pseudoinverse": {"jacobian": J, "stiffness": np.ones(5)},
    "world_jacobian": {"jacobian": TWISTS, "transform": PLACE},
}
SPOILT = [
    (name, argument)
    for name, call in CALLS.items()
    for argument, value in call.items()
    if isinstance(value, (float, np.ndarray))
]


def spoil(value: Any) -> dict[str, Any]:
    array = np.asarray(value, dtype=float)
    broken = array.copy()
    broken[(0,) * array.ndim] = np.nan
    spoilt = {"more axes": array[None], "not a number": broken, "a text": "one"}
    if array.ndim:
        spoilt["less axes"] = array[0]
        spoilt["fewer rows"] = array[:-1] if array.ndim == 1 else np.zeros((0, 0))
    if array.shape in ((3, 3), (4, 4)) and np.allclose(array[:3, :3] @ array[:3, :3].T, np.eye(3)):
        spoilt["scaled"] = 2.0 * array
    return spoilt


def test_every_function_is_listed() -> None:
    functions = {name for name in textbook.__all__ if inspect.isfunction(getattr(textbook, name))}
    assert functions == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_valid_call_is_valid(name: str) -> None:
    if name == "train_latent_model":
        pytest.importorskip("scipy")
    getattr(textbook, name)(**CALLS[name])


@pytest.mark.parametrize(("name", "argument"), SPOILT)
def test_bad_arrays_are_rejected(name: str, argument: str) -> None:
    free = (name, argument) in {("unskew", "matrix"), ("reach_along", "points")}
    any_length = name in ("limited_step", "posture_cost", "posture_gradient") and argument != "theta"
    for what, value in spoil(CALLS[name][argument]).items():
        if (what == "scaled" and free) or (any_length and what in ("less axes", "fewer rows")):
            continue
        if what == "fewer rows" and (argument in ("jacobian", "gains") or (name, argument) == ("basic_ik", "goal")):
            continue  # of any size; a planar arm takes two numbers
        try:
            getattr(textbook, name)(**{**CALLS[name], argument: value})
        except PoiseError:
            continue
        except Exception as error:  # an error of NumPy or Python
            pytest.fail(f"{name}({argument}: {what}) raises {type(error).__name__}: {error}")
        pytest.fail(f"{name}({argument}: {what}) is accepted")
