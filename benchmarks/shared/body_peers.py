"""Other libraries on the whole body of g1.py, each used as in its manual, with the best of a few settings.

A peer converts the problem to a `Whole`: a function from targets to its own answer, which is timed, and a function from
that answer to Pinocchio's configuration, which is not. Every solve starts in the stance; putting the body there is part
of the solve. All are loops over differential steps of one second, stopped when every end is within the tolerance, after
at most MOST steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from shared.contest import Answer, Peer, quiet_output
from shared.g1 import ENDS, TOLERANCE, Problem, Targets
from shared.robots import Array

MOST = 50
METRES, RADIANS = TOLERANCE


@dataclass(frozen=True)
class Whole:
    """A solver of whole bodies.

    Attributes:
        solve: From a start, which each has already, and targets, to an answer in the library's own numbers.
        there: From those numbers to Pinocchio's.
    """

    solve: Callable[[Any, Targets], Answer]
    there: Callable[[Any], Array]


def same(q: Any) -> Array:
    """Return the configuration unchanged, for Pinocchio's own numbers."""
    return np.asarray(q)


def placo(problem: Problem) -> Whole:
    """Placo: a soft frame task for each end, joint limits; no regularisation, which only cost time."""
    import placo as library

    with quiet_output():
        robot = library.RobotWrapper(problem.path, library.Flags.ignore_collisions)
    solver = robot.make_solver()
    solver.enable_joint_limits(True)
    solver.enable_velocity_limits(False)
    tasks = {name: solver.add_frame_task(name, np.eye(4)) for name in ENDS}
    for name, task in tasks.items():
        task.configure(name, "soft", 1.0, 1.0)
    parts = [(task.position(), task.orientation()) for task in tasks.values()]

    def missed() -> bool:
        for position, orientation in parts:
            position.update()  # otherwise its error is that before the last step
            orientation.update()
            if position.error_norm() > METRES or orientation.error_norm() > RADIANS:
                return True
        return False

    def solve(_: Any, targets: Targets) -> Answer:
        robot.state.q = problem.start
        robot.update_kinematics()
        for name, task in tasks.items():
            task.T_world_frame = targets[name]
        for step in range(MOST):
            if not missed():
                return Answer(robot.state.q.copy(), True, step)
            solver.solve(True)
            robot.update_kinematics()
        return Answer(robot.state.q.copy(), False, MOST)

    return Whole(solve, same)


def pin_loop(problem: Problem) -> Whole:
    """A loop by hand over Pinocchio: damped Gauss-Newton with Chan's damping, in the 24 rows, clipped to the ranges."""
    import pinocchio as pin

    model, start = problem.model, problem.start
    data, frames = model.createData(), [model.getFrameId(name) for name in ENDS]
    low, high = model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
    J, e, one = np.zeros((24, model.nv)), np.zeros(24), np.eye(24)
    slots = [slice(6 * i, 6 * i + 6) for i in range(4)]

    def missed(wanted: Sequence[Any]) -> bool:
        missed = False
        for frame, slot, T in zip(frames, slots, wanted, strict=True):
            here = data.oMf[frame]
            p, w = T.translation - here.translation, pin.log3(T.rotation @ here.rotation.T)
            e[slot][:3], e[slot][3:] = p, w
            missed |= p @ p > METRES**2 or w @ w > RADIANS**2
        return missed

    def solve(_: Any, targets: Targets) -> Answer:
        wanted, q = [pin.SE3(targets[name]) for name in ENDS], start
        for step in range(MOST):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            if not missed(wanted):
                return Answer(q, True, step)
            for frame, slot in zip(frames, slots, strict=True):
                J[slot] = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            y = np.linalg.solve(J @ J.T + (0.1 * (e @ e) + 1e-6) * one, e)
            q = pin.integrate(model, q, J.T @ y)
            q[7:] = np.clip(q[7:], low, high)
        return Answer(q, False, MOST)

    return Whole(solve, same)


def pink(problem: Problem) -> Whole:
    """Pink: a frame task for each end, its configuration limit, DAQP (quadprog takes as long, ProxQP twice that)."""
    import pink as library
    import pinocchio as pin

    model = problem.model
    configuration = library.Configuration(model, model.createData(), problem.start, copy_data=False)
    tasks = [library.FrameTask(name, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3) for name in ENDS]
    limits = [library.limits.ConfigurationLimit(model, config_limit_gain=1.0)]

    def solve(_: Any, targets: Targets) -> Answer:
        for task in tasks:
            task.set_target(pin.SE3(targets[task.frame]))
        configuration.update(problem.start)
        for step in range(MOST):
            if near(task.compute_error(configuration) for task in tasks):
                return Answer(configuration.q.copy(), True, step)
            velocity = library.solve_ik(
                configuration, tasks, 1.0, solver="daqp", damping=1e-6, limits=limits, safety_break=False
            )
            configuration.integrate_inplace(velocity, 1.0)
        return Answer(configuration.q.copy(), False, MOST)

    return Whole(solve, same)


def mink(problem: Problem) -> Whole:
    """Mink: a frame task for each end, its configuration limit, DAQP; MuJoCo reads the same file."""
    import mink as library
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_urdf(problem.path))
    configuration = library.Configuration(model)
    tasks = [library.FrameTask(name, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3) for name in ENDS]
    limits = [library.ConfigurationLimit(model, gain=1.0)]
    at = [int(model.jnt_qposadr[model.joint(name).id]) for name in problem.joint_names()]
    start = np.zeros(model.nq)
    start[:3], start[3:7], start[at] = problem.start[:3], problem.start[[6, 3, 4, 5]], problem.start[7:]

    def solve(_: Any, targets: Targets) -> Answer:
        for task in tasks:
            task.set_target(library.SE3.from_matrix(targets[task.frame_name]))
        configuration.update(start)
        for step in range(MOST):
            if near(task.compute_error(configuration) for task in tasks):
                return Answer(configuration.q.copy(), True, step)
            velocity = library.solve_ik(configuration, tasks, 1.0, "daqp", damping=1e-6, limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
        return Answer(configuration.q.copy(), False, MOST)

    return Whole(solve, lambda q: np.concatenate([q[:3], q[[4, 5, 6, 3]], q[at]]))


def near(errors: Any) -> bool:
    """Return whether every task is within 0.9 of the tolerance: its error is the log of a rigid motion, unlike ours."""
    return all(e[:3] @ e[:3] < (0.9 * METRES) ** 2 and e[3:] @ e[3:] < (0.9 * RADIANS) ** 2 for e in errors)


def mujoco_urdf(path: str) -> str:
    """Return the file with the floating base and the settings that MuJoCo needs."""
    from pathlib import Path

    text = Path(path).read_text()
    end = text.index(">", text.index("<robot")) + 1
    base = (
        '<mujoco><compiler fusestatic="false" balanceinertia="true"/></mujoco><link name="world"/>'
        '<joint name="floating_base" type="floating"><parent link="world"/><child link="pelvis"/></joint>'
    )
    return text[:end] + base + text[end:]


WHOLE_PEERS = (
    Peer("placo", "placo", placo),
    Peer("pin loop", "pin", pin_loop),
    Peer("mink", "mink", mink),
    Peer("pink", "pin-pink", pink),
)
