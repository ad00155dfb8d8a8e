"""Live targets: `python benchmarks/follow.py [stream turns g1 socket] [--urdf FILE] [--steps 3000]`.

stream  a hand of UR5e and Panda led along a smooth path at 100 Hz, of which 5 % of the targets are lost and 2 % jump by
        0.2 m for one step, followed within 2 rad/s and 20 rad/s^2. A part of the path of UR5e is out of its reach.
        "fast" and "sudden" count the steps in which a difference of the configurations exceeds a limit; "jerk" is the
        95th percentile of its size [rad/s^3]; errors are distances from the path without gaps [mm]; "silent" counts the
        steps that are more than 20 mm away and not reported. "average" rebuilds the method of xr_teleoperate: the cost
        50 |position|^2 + |rotation|^2 + 0.02 |q|^2 + 0.1 |q - q_before|^2 inside the ranges (SciPy instead of IPOPT),
        and the mean of the last four answers with weights 0.4, 0.3, 0.2 and 0.1; it is given the last target if one is
        lost, and reports nothing. "tracker" is ssik's Tracker (`pip install ssik`) with its limit on speed; it has none
        on accelerations, and is not called if a target is lost. Times are CPU milliseconds of a step.
turns   the loop of ManiSkill#1435, rebuilt: the hand of the Panda, or of a G1 with six joints (`--urdf`), turns by 30
        degrees about each axis in 100 steps, and stays there for 100. "held" rebuilds ManiSkill's controller: damped
        least squares from the last pose, whose answer is dropped if it has not converged to 1e-4. "missed" counts the
        steps that end outside of the tolerances, 0.1 mm and 1e-3 rad, "silent" those of them that are not reported;
        then the errors of the last step
g1      both arms and the waist of the Unitree G1 (`--urdf g1_29dof_rev_1_0.urdf` of example-robot-data), 17 joints,
        without self-clearance and with it: CPU milliseconds of a step, and the differences as above
socket  the hand of UR5e on the same path through `poise follow` on this machine: microseconds from sending a line to
        having read its answer, compared with a step in this process, and with a message that takes no step
"""

import json
import socket
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from shared.command import Options, Part, Table, run_command, summarise

import poise
from poise.arrays import Floats
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Limit, Speed
from poise.motion import Follower
from poise.spatial import Rotation, Transform

SPEED, ACCELERATION, DT = 2.0, 20.0, 0.01
LOST, JUMPS, JUMP = 0.05, 0.02, 0.2  # shares of the targets, and m
FAR = 0.02  # m
LIMITS = (Speed(SPEED), Acceleration(ACCELERATION))
BENT = {"ur5e": [0.3, -1.2, 1.6, -1.9, -1.5, 0.4], "panda": [0.3, -0.4, 0.2, -2.0, 0.1, 1.7, 0.5]}
MEAN = (0.4, 0.3, 0.2, 0.1)  # weights of the last answers, the newest first
SPEEDS = np.array([[0.7, 1.1, 1.6], [0.9, 0.5, 0.8]])  # rad/s of the path along and about three axes
OPTIONS: Options = {"steps": (3000, "steps of a stream"), "urdf": (Path, "g1_29dof_rev_1_0.urdf")}
Step = Callable[[Floats | None], tuple[Floats, bool]]  # from a target to a configuration, and whether gaps are reported


class Differences(NamedTuple):
    """What the differences of a path of configurations say.

    Attributes:
        fast: Steps above the speed.
        sudden: Steps above the acceleration.
        jerk: The 95th percentile of the jerk [rad/s^3].
    """

    fast: int
    sudden: int
    jerk: float

    @classmethod
    def measure(cls, path: Floats) -> "Differences":
        """Return the differences of a path at DT."""
        v = np.diff(path, axis=0, prepend=path[:1]) / DT
        a = np.diff(v, axis=0) / DT
        fast, sudden = np.abs(v) > SPEED * (1.0 + 1e-9), np.abs(a) > ACCELERATION * (1.0 + 1e-9)
        jerk = np.percentile(np.abs(np.diff(a, axis=0)), 95) / DT
        return cls(int(fast.any(axis=1).sum()), int(sudden.any(axis=1).sum()), float(jerk))


def make_path(start: Floats, steps: int) -> Iterator[Floats]:
    """Yield poses of a hand on a smooth path that begins at rest."""
    for t in DT * np.arange(steps):
        wave = (1.0 - np.cos(SPEEDS * t)) * min(1.0, t)
        turn = Rotation.from_vector(0.2 * wave[1]).matrix
        out = np.array(start)
        out[:3, 3] += np.array([-0.08, -0.12, 0.08]) * wave[0]
        out[:3, :3] = turn @ start[:3, :3]
        yield out


def make_follower(model: poise.Model, q: Floats) -> Step:
    """Return a step of a Follower."""
    follower = Follower(model, Reach(model.frames[-1], Transform(), name="hand"), LIMITS, q)

    def step(target: Floats | None) -> tuple[Floats, bool]:
        solution = follower.step({"hand": target}, DT)
        return solution.q, solution.state != "following"

    return step


def make_average(model: poise.Model, q: Floats) -> Step:
    """Return a step of xr_teleoperate's method."""
    answers, last = [np.array(q)], [model.fk(q, model.frames[-1])]

    def step(target: Floats | None) -> tuple[Floats, bool]:
        last[0] = last[0] if target is None else target
        before = answers[0]

        def residual(x: Floats) -> Floats:
            T = model.fk(x, model.frames[-1])
            turn = Rotation.from_matrix(last[0][:3, :3] @ T[:3, :3].T).log()
            return np.concatenate(
                [50.0**0.5 * (last[0][:3, 3] - T[:3, 3]), turn, 0.02**0.5 * x, 0.1**0.5 * (x - before)]
            )

        x0 = np.clip(before, model.lower + 1e-9, model.upper - 1e-9)
        answers.insert(0, least_squares(residual, x0, bounds=(model.lower, model.upper)).x)
        del answers[len(MEAN) :]
        weights = np.array(MEAN[: len(answers)])
        return np.average(answers, axis=0, weights=weights), False

    return step


def make_tracker(model: poise.Model, q: Floats) -> Step:
    """Return a step of ssik's Tracker, whose frames have another base or tool."""
    from ssik import Manipulator

    arm, time_s = Manipulator.from_prebuilt(model.name), [0.0]
    nq, base = len(BENT[model.name]), np.diag([-1.0, -1.0, 1.0, 1.0]) if model.name == "ur5e" else np.eye(4)
    tracker = arm.tracker(q[:nq], max_joint_speed=SPEED, t0=0.0)
    tool = np.linalg.solve(base @ model.fk(q, model.frames[-1]), arm.fk(q[:nq]))

    def step(target: Floats | None) -> tuple[Floats, bool]:
        time_s[0] += DT
        if target is None:
            return np.array([*tracker.q, *q[nq:]]), True
        found = tracker.update(base @ target @ tool, time_s[0])
        return np.array([*found.q, *q[nq:]]), found.status.name != "OK"

    return step


METHODS: dict[str, Callable[[poise.Model, Floats], Step]] = {"poise": make_follower, "average": make_average}
if find_spec("ssik"):
    METHODS["tracker"] = make_tracker


def follow_streams(given: Namespace) -> bool:
    """Print the table of streams; return whether the follower kept its limits and reported every gap."""
    table = Table(
        "method:18", "fast:7", "sudden:8", "jerk:9.0f", "mm:8.2f", "p95:8.2f", "silent:8", "ms:9.3f", "p99:9.3f"
    )
    good = True
    for body, bent in BENT.items():
        model = poise.load(body)
        start = np.array([*bent, *model.rest[len(bent) :]])
        path = list(make_path(model.fk(start, model.frames[-1]), given.steps))
        for name, make in METHODS.items():
            step, rng, out, times, reports = make(model, start), np.random.default_rng(0), [start], [], []
            for target in path:
                lost, jumps = rng.random(2) < (LOST, JUMPS)
                shifted = np.array(target)
                shifted[:3, 3] += jumps * JUMP * rng.permutation([1.0, 0.0, 0.0])
                began = time.process_time()
                q, reported = step(None if lost else shifted)
                times.append(time.process_time() - began)
                out.append(q)
                reports.append(reported)
            ways = np.linalg.norm((model.fk(np.array(out[1:]), model.frames[-1]) - np.array(path))[:, :3, 3], axis=1)
            found, silent = Differences.measure(np.array(out)), int(((ways > FAR) & ~np.array(reports)).sum())
            median, p99, _ = summarise(times)
            table.add(
                f"{body} {name}", *found, 1e3 * np.median(ways), 1e3 * np.percentile(ways, 95), silent, median, p99
            )
            good = good and (name != "poise" or found.fast + found.sudden + silent == 0)
    return good


def follow_turns(given: Namespace) -> bool:
    """Print the table of turns; return whether every miss was reported."""
    table = Table("hand:18", "axis:5", "missed:7", "silent:7", "mm:8.2f", "degrees:8.2f")
    panda, good = poise.load("panda"), True
    cases: list[tuple[str, poise.Model, Floats, str, list[str] | None]] = [
        ("panda", panda, np.array([*BENT["panda"], *panda.rest[7:]]), panda.frames[-1], None)
    ]
    if given.urdf.exists():
        g1 = poise.load(given.urdf)
        names = [
            f"right_{part}_joint" for part in ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll")
        ]
        cases.append(("g1", g1, bend_arms(g1), "right_wrist_roll_link", ["waist_yaw_joint", *names]))
    for name, model, start, hand, joints in cases:
        for axis, direction in zip("xyz", np.eye(3), strict=True):
            for method, make in (("poise", make_turning), ("held", make_held)):
                step, states = make(model, start, hand, joints), []
                for k in range(200):
                    target = np.array(model.fk(start, hand))
                    target[:3, :3] = (
                        Rotation.from_vector(np.radians(0.3 * min(k, 100)) * direction).matrix @ target[:3, :3]
                    )
                    q, reported = step(target)
                    metres, angle = measure_error(model.fk(q, hand), target)
                    states.append((metres > 1e-4 * (1 + 1e-6) or angle > 1e-3 * (1 + 1e-6), reported))
                missed, silent = sum(far for far, _ in states), sum(far and not told for far, told in states)
                table.add(f"{name} {method}", axis, missed, silent, 1e3 * metres, np.degrees(angle))
                good = good and (method != "poise" or not silent)
    return good


def make_turning(model: poise.Model, q: Floats, hand: str, joints: list[str] | None) -> Step:
    """Return a step of a Follower of a hand."""
    follower = Follower(model, Reach(hand, Transform(), tolerance=(1e-4, 1e-3), name="hand"), LIMITS, q, joints=joints)

    def step(target: Floats | None) -> tuple[Floats, bool]:
        solution = follower.step({"hand": target}, DT)
        return solution.q, solution.state != "following"

    return step


def make_held(model: poise.Model, q: Floats, hand: str, joints: list[str] | None) -> Step:
    """Return a step of ManiSkill's controller."""
    free = [
        v
        for joint in model.joints
        if joint.nv and (joints is None or joint.name in joints)
        for v in range(model.nv)[joint.v]
    ]
    last = [np.array(q)]

    def step(target: Floats | None) -> tuple[Floats, bool]:
        assert target is not None
        x = np.array(last[0])
        for _ in range(100):
            T = model.fk(x, hand)
            error = np.concatenate([target[:3, 3] - T[:3, 3], Rotation.from_matrix(target[:3, :3] @ T[:3, :3].T).log()])
            if np.linalg.norm(error) < 1e-4:
                last[0] = np.clip(x, model.lower, model.upper)
                break
            J, v = model.jacobian(x, hand)[:, free], np.zeros(model.nv)
            v[free] = J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
            x = model.integrate(x, 0.5 * v)
        return last[0], False

    return step


def measure_error(T: Floats, target: Floats) -> tuple[float, float]:
    """Return the distance and the angle between two transforms [m, rad]."""
    turn = Rotation.from_matrix(target[:3, :3] @ T[:3, :3].T)
    return float(np.linalg.norm(target[:3, 3] - T[:3, 3])), float(turn.angle)


def bend_arms(model: poise.Model) -> Floats:
    """Return the rest pose of the G1 with bent arms."""
    start = np.array(model.rest)
    for name, angle in {
        "left_shoulder_roll": 0.3,
        "right_shoulder_roll": -0.3,
        "left_elbow": 0.8,
        "right_elbow": 0.8,
    }.items():
        start[model.joint(f"{name}_joint").q] = angle
    return start


def follow_arms(given: Namespace) -> bool:
    """Print the table of the G1; return whether all limits held."""
    model, table = poise.load(given.urdf), Table("limits:18", "fast:7", "sudden:8", "jerk:9.0f", "ms:9.3f", "p99:9.3f")
    names, ends = ("shoulder", "elbow", "wrist", "waist"), ("left_wrist_yaw_link", "right_wrist_yaw_link")
    arms = [joint.name for joint in model.joints if any(name in joint.name for name in names)]
    start, good = bend_arms(model), True
    limits: dict[str, tuple[Limit, ...]] = {"rates": LIMITS, "and self-clearance": (*LIMITS, Clearance())}
    for what, kept in limits.items():
        follower = Follower(model, [Reach(end, Transform()) for end in ends], kept, start, joints=arms)
        paths = [make_path(model.fk(start, end), given.steps) for end in ends]
        out, times = [start], list[float]()
        for targets in zip(*paths, strict=True):
            aims: dict[str, Any] = dict(zip(ends, targets, strict=True))
            began = time.process_time()
            out.append(follower.step(aims, DT).q)
            times.append(time.process_time() - began)
        found = Differences.measure(np.array(out))
        table.add(what, *found, *summarise(times)[:2])
        good = good and found.fast + found.sudden == 0
    return good


def time_socket(given: Namespace) -> None:
    """Print the table of round trips."""
    model, start = poise.load("ur5e"), np.array(BENT["ur5e"])
    path = [target.tolist() for target in make_path(model.fk(start, "tool0"), given.steps)]
    follower = Follower(model, Reach("tool0", Transform()), LIMITS, start)
    words = ["follow", "ur5e", "--rotation", "--speed", str(SPEED), "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen([sys.executable, "-m", "poise.cli", *words], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers.readline()

            def ask(message: dict[str, Any]) -> Any:
                connection.sendall(json.dumps(message).encode() + b"\n")
                return json.loads(answers.readline())

            ask({"reset": True, "measured": BENT["ur5e"]})
            steps: dict[str, Callable[[Any], Any]] = {
                "step in this process": lambda target: follower.step({"tool0": target}, DT),
                "step over the socket": lambda target: ask({"targets": {"tool0": target}, "dt": DT}),
                "no step": lambda _: ask({"resume": True}),
            }
            table = Table("message:24", "median:9.0f", "p99:9.0f")
            for name, step in steps.items():
                times = []
                for target in path:
                    began = time.perf_counter()
                    step(target)
                    times.append(time.perf_counter() - began)
                table.add(name, *summarise(times, 1e6)[:2])
        server.terminate()


PARTS = {
    "stream": Part(follow_streams),
    "turns": Part(follow_turns),
    "g1": Part(follow_arms, "urdf"),
    "socket": Part(time_socket),
}

if __name__ == "__main__":
    run_command(__doc__, PARTS, OPTIONS, ["scipy"])
