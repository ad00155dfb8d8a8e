"""Other libraries on the same problem, each used as in its manual, with the best of a few settings.

A peer converts an `Arm` (robots.py) to a function `solve(start, T) -> Answer`; this is not timed. All of them are
optional: the tables list those that are not installed, with the command that installs them.
"""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from shared.contest import Answer, Peer, Solve, quiet_output
from shared.robots import PI, TOLERANCE, Arm, Array, place


@contextmanager
def urdf_file(arm: Arm) -> Iterator[str]:
    """Yield the path of a URDF file of the arm."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{arm.name}.urdf"
        path.write_text(arm.urdf())
        yield str(path)


# ------------------------------------------------------------------------------------------ compiled solvers


def toolbox(arm: Arm) -> Solve:
    """Roboticstoolbox: its C++ Levenberg-Marquardt with Chan's damping, 100 searches of 30 steps.

    Its error is one number, e^T W e / 2; with 100 on lengths, 5e-7 holds both tolerances.
    """
    from roboticstoolbox import ET, ETS

    parts = []
    for a, alpha, d, lower, upper in arm.rows:
        parts += [ET.SE3(place(a, alpha, d)), ET.Rz(qlim=np.array([lower, upper]))]
    ets = ETS([*parts, ET.SE3(place(0.0, 0.0, arm.flange))])
    mask = np.array([100.0, 100.0, 100.0, 1.0, 1.0, 1.0])

    def solve(start: Array, T: Array) -> Answer:
        out = ets.ik_LM(T, q0=start, ilimit=30, slimit=100, tol=5e-7, mask=mask, k=0.1, method="chan")
        return Answer(out.q, bool(out.success), out.iterations, out.searches)

    return solve


def closed_form(arm: Arm) -> Solve | None:
    """EAIK: all answers in closed form; a seventh joint is locked at up to 40 values, the middle ones first."""
    from eaik.IK_Homogeneous import HomogeneousRobot

    T = np.eye(4)
    frames = [T := T @ place(a, alpha, d) for a, alpha, d, _, _ in arm.rows]
    zero = np.array([*frames, T @ place(0.0, 0.0, arm.flange)])
    if arm.locked is None:
        robots = [HomogeneousRobot(zero)]
    else:
        low, middle, high = (float(at[arm.locked]) for at in (arm.lower, arm.middle, arm.upper))
        values = sorted(np.linspace(low, high, 42)[1:-1], key=lambda x: abs(x - middle))
        robots = [HomogeneousRobot(zero, [(arm.locked, float(x))]) for x in values]
    if not robots[0].hasKnownDecomposition():
        return None

    def solve(_start: Array, T: Array) -> Answer:
        for tried, robot in enumerate(robots, 1):
            found = robot.IK(T)
            if not found.num_solutions():
                continue
            q = np.asarray(found.Q)  # angles within half a turn
            q = q + (q < arm.lower) * (2 * PI)
            good = (q <= arm.upper).all(axis=1) & np.logical_not(found.is_LS)
            if good.any():
                return Answer(q[good.argmax()], True, 0, tried)
        return Answer(None, False, 0, len(robots))

    return solve


def ssik_branches(arm: Arm) -> Solve | None:
    """Ssik: its compiled solver of the arm, the first of its poses inside the ranges.

    Its frames may differ from ours by a half turn of the base and by a constant transform of the tool.
    """
    import ssik

    robot = ssik.Manipulator.from_prebuilt({"panda": "franka_panda"}.get(arm.name, arm.name))
    poses = np.linspace(arm.lower, arm.upper, 5)[1:4]
    for base in (np.eye(4), np.diag([-1.0, -1.0, 1.0, 1.0])):
        ends = np.array([np.linalg.inv(arm.fk(q)) @ base @ robot.fk(q) for q in poses])
        if np.ptp(ends, axis=0).max() < 1e-5:
            break
    else:
        return None

    def solve(_start: Array, T: Array) -> Answer:
        found = robot.solve(base @ T @ ends[0], max_solutions=1)
        return Answer(np.asarray(found[0].q), True) if found else Answer(None, False)

    return solve


def klampt(arm: Arm) -> Solve:
    """Klampt's Newton-Raphson solver, 100 searches of 30 steps; its tolerance is on every row, so half of ours."""
    from klampt import IKSolver, WorldModel
    from klampt.math import so3
    from klampt.model import ik

    world = WorldModel()
    with urdf_file(arm) as path, quiet_output():
        world.loadElement(path)
    robot = world.robot(0)
    tool, joints = robot.link("tool"), [robot.link(f"link{i + 1}").getIndex() for i in range(len(arm.rows))]
    whole = np.array(robot.getConfig())

    def solve(start: Array, T: Array, _alive: Any = world) -> Answer:  # a robot does not keep its world
        solver = IKSolver(robot)
        solver.add(ik.objective(tool, R=so3.from_matrix(T[:3, :3].tolist()), t=T[:3, 3].tolist()))
        solver.setActiveDofs(joints)
        solver.setMaxIters(30)
        solver.setTolerance(0.5 * TOLERANCE[0])
        whole[joints] = start
        robot.setConfig(whole.tolist())
        steps = searches = 0
        reached = False
        while not reached and searches < 100:
            if searches:
                solver.sampleInitial()
            reached = solver.solve()
            steps += solver.lastSolveIters()
            searches += 1
        return Answer(np.array(robot.getConfig())[joints], reached, steps, searches)

    return solve


def roboplan(arm: Arm) -> Solve:
    """RoboPlan's simple solver on Pinocchio, up to 100 searches of 100 half steps, 0.1 s, without collisions."""
    from roboplan.core import CartesianConfiguration, JointConfiguration, Scene, loadUrdfSceneDescriptionFromXml
    from roboplan.simple_ik import SimpleIk, SimpleIkOptions

    solver = SimpleIk(
        Scene(arm.name, loadUrdfSceneDescriptionFromXml(arm.urdf())),
        SimpleIkOptions(
            max_time=0.1,
            max_restarts=100,
            step_size=0.5,
            max_linear_error_norm=TOLERANCE[0],
            max_angular_error_norm=TOLERANCE[1],
            check_collisions=False,
        ),
    )
    names = [f"joint{i + 1}" for i in range(len(arm.rows))]

    def solve(start: Array, T: Array) -> Answer:
        found = JointConfiguration()
        goal = CartesianConfiguration("base", "tool", T)
        reached = solver.solveIk(goal, JointConfiguration(names, start), found)
        return Answer(np.array(found.positions) if reached else start, reached)

    return solve


def trac_ik(arm: Arm) -> Solve:
    """TRAC-IK through tracikpy, 5 ms, "Speed"."""
    from tracikpy import TracIKSolver

    bounds = [TOLERANCE[0] / 2] * 3 + [TOLERANCE[1] / 2] * 3
    with urdf_file(arm) as path:
        solver = TracIKSolver(path, "base", "tool", timeout=0.005, epsilon=1e-5)

    def solve(start: Array, T: Array) -> Answer:
        q = solver.ik(T, qinit=start, **dict(zip(("bx", "by", "bz", "brx", "bry", "brz"), bounds, strict=True)))
        return Answer(q, q is not None)

    return solve


# ------------------------------------------------------------------------------------------ loops in Python


def pin_loop(arm: Arm) -> Solve:
    """The loop of Pinocchio's manual with Chan's damping, clipped to the ranges, up to 20 searches of 100 steps."""
    import pinocchio as pin

    model = pin.buildModelFromXML(arm.urdf())
    data, tool = model.createData(), model.getFrameId("tool")
    rng, one = np.random.default_rng(0), np.eye(6)

    def search(q: Array, wanted: Any) -> tuple[Array, bool, int]:
        for step in range(100):
            pin.framesForwardKinematics(model, data, q)
            here = data.oMf[tool].actInv(wanted)
            error = pin.log6(here).vector
            if np.linalg.norm(error[:3]) < TOLERANCE[0] and np.linalg.norm(error[3:]) < TOLERANCE[1]:
                return q, True, step
            J = pin.Jlog6(here.inverse()) @ pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL)
            y = np.linalg.solve(J @ J.T + (0.1 * (error @ error) + 1e-6) * one, error)
            q = np.clip(q + np.clip(J.T @ y, -1.0, 1.0), arm.lower, arm.upper)
        return q, False, 100

    def solve(start: Array, T: Array) -> Answer:
        wanted, total = pin.SE3(T), 0
        for k in range(1, 21):
            q, reached, steps = search(start if k == 1 else rng.uniform(arm.lower, arm.upper), wanted)
            total += steps
            if reached:
                break
        return Answer(q, reached, total, k)

    return solve


def task_loop(begin: Any, error: Any, step: Any, most: int = 100) -> Solve:
    """One search of differential steps until the task's error is within tolerance."""

    def solve(start: Array, T: Array) -> Answer:
        begin(start, T)
        for k in range(most):
            e = error()
            if np.linalg.norm(e[:3]) < 0.9 * TOLERANCE[0] and np.linalg.norm(e[3:]) < 0.9 * TOLERANCE[1]:
                return Answer(step(None), True, k)
            step(1.0)
        return Answer(step(None), False, most)

    return solve


def pink_loop(arm: Arm) -> Solve:
    """Pink: a frame task, its default limits, DAQP, steps of one second."""
    import pink
    import pinocchio as pin

    model = pin.buildModelFromXML(arm.urdf())
    configuration = pink.Configuration(model, model.createData(), arm.middle)
    task = pink.FrameTask("tool", position_cost=1.0, orientation_cost=0.3, lm_damping=1e-3)

    def begin(start: Array, T: Array) -> None:
        task.set_target(pin.SE3(T))
        configuration.update(np.clip(start, arm.lower, arm.upper))

    def step(dt: float | None) -> Array:
        if dt is not None:
            velocity = pink.solve_ik(configuration, [task], dt, solver="daqp", safety_break=False)
            configuration.update(np.clip(configuration.integrate(velocity, dt), arm.lower, arm.upper))
        return np.array(configuration.q)

    return task_loop(begin, lambda: task.compute_error(configuration), step)


def mink_loop(arm: Arm) -> Solve:
    """Mink: a frame task, its configuration limit, DAQP, steps of one second."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(arm.urdf())
    configuration = mink.Configuration(model)
    task = mink.FrameTask("tool", "body", position_cost=1.0, orientation_cost=0.3, lm_damping=1e-2)
    limits = [mink.ConfigurationLimit(model)]

    def begin(start: Array, T: Array) -> None:
        task.set_target(mink.SE3.from_matrix(T))
        configuration.update(np.clip(start, arm.lower, arm.upper))

    def step(dt: float | None) -> Array:
        if dt is not None:
            velocity = mink.solve_ik(configuration, [task], dt, "daqp", limits=limits)
            configuration.integrate_inplace(velocity, dt)
        return np.array(configuration.q)

    return task_loop(begin, lambda: task.compute_error(configuration), step)


def ikpy_chain(arm: Arm) -> Solve:
    """Ikpy: SciPy's bounded least squares on position and rotation, one search; it has no flag of its own."""
    from ikpy.chain import Chain

    with urdf_file(arm) as path, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moves = [False, *[True] * len(arm.rows), False]
        chain = Chain.from_urdf_file(path, base_elements=["base"], active_links_mask=moves)

    def solve(start: Array, T: Array) -> Answer:
        begin = np.concatenate([[0.0], start, [0.0]])
        q = chain.inverse_kinematics_frame(T, initial_position=begin, orientation_mode="all")[1:-1]
        return Answer(q, arm.serves(q, T))

    return solve


PEERS = (
    Peer("roboticstoolbox", "roboticstoolbox-python", toolbox),
    Peer("EAIK", "eaik", closed_form, tracks=False),
    Peer("ssik", "ssik", ssik_branches, tracks=False),
    Peer("klampt", "klampt", klampt, share=0.2),
    Peer("roboplan", "roboplan", roboplan, share=0.2),
    Peer("TRAC-IK", "tracikpy", trac_ik, share=0.2),
    Peer("pin loop", "pin", pin_loop, share=0.05),
    Peer("pink", "pin-pink", pink_loop, share=0.03),
    Peer("mink", "mink", mink_loop, share=0.03),
    Peer("ikpy", "ikpy", ikpy_chain, share=0.01, tracks=False),
)
