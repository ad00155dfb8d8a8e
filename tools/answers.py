"""Record the answers of about 10,000 problems, and compare them after a change that should not alter any.

    PYTHONPATH=tests/support python tools/answers.py record build/answers.npz      before
    PYTHONPATH=tests/support python tools/answers.py compare build/answers.npz     after, on the same machine

A refactoring keeps every q, status and number of steps, bit for bit. A change of arithmetic does not; the table then
shows the affected families of problems and the largest differences.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import poise
from poise.goals import Align, Balance, Distance, LookAt, MidRange, OnPlane, Orient, Range, Reach, Rest
from poise.limits import Acceleration, Clearance, Cone, Coupled, Speed
from poise.motion import Retargeter, contacts, edit, lock, quality, retarget, track
from walkers import make_character, make_machine
from walks import make_walk, put_skate_in

Answer = NDArray[np.float64]  # q, then the status and the number of steps
ARMS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
STATUSES = {status: k for k, status in enumerate(poise.Status)}


def flatten(solution: Any) -> Answer:
    """Return q, status and steps of a Solution as one row."""
    return np.concatenate([solution.q, [STATUSES[solution.status], solution.steps]])


def tip(model: poise.Model) -> str:
    """Return the last frame of a body."""
    return str(model.frames[-1])


def pose_targets(model: poise.Model, frame: str, count: int, seed: int) -> NDArray[np.float64]:
    """Return random transforms that the body can reach."""
    return np.asarray(model.fk(model.random(np.random.default_rng(seed), count), frame))


def solve_arms() -> Iterator[Answer]:
    """Solve pose goals of arms, in every mode and with every limit handling."""
    variants: list[dict[str, Any]] = [
        *({"limit_handling": how} for how in ("active", "freeze", "penalty", "clamp", "off")),
        {"mode": "repeatable"},
        {"mode": "continuous"},
        {"stiffness": "auto", "step_limit": 0.3, "restarts": 3},
    ]
    for name in ARMS:
        model = poise.load(name)
        targets = pose_targets(model, tip(model), 140, 1)
        for options in variants:
            solver = poise.Solver(model, Reach(tip(model), targets[0], name="tip"), **options)
            q = model.rest
            for target in targets:
                solution = solver.solve(q if options.get("mode") == "continuous" else None, {"tip": target})
                q = solution.q
                yield flatten(solution)


def solve_by_every_method() -> Iterator[Answer]:
    """Solve position goals with every method."""
    for name in ("planar3", "iiwa14", "tree30"):
        model = poise.load(name)
        frame = tip(model)
        for method in poise.methods.names():
            for target in pose_targets(model, frame, 12, 2):
                try:
                    yield flatten(poise.solve(model, Reach(frame, target[:3, 3]), method=method, max_steps=60))
                except poise.PoiseError:
                    break  # the method does not support this body


def solve_figures() -> Iterator[Answer]:
    """Solve whole-body goals of the humanoid, with one priority level and with several."""
    model = poise.load("humanoid")
    rng = np.random.default_rng(3)
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    for k in range(150):
        place = model.fk(model.rest, "hand_l")[:3, 3] + rng.normal(scale=0.3, size=3)
        hand = Reach("hand_l", place, priority=k % 3)
        extras: list[Any] = [LookAt("head", place, priority=1), Balance(["foot_l", "foot_r"]), Rest(), MidRange()]
        if k % 4 == 0:
            extras += [OnPlane("hand_r", (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), priority=1), Align("chest", "y", (0, 1, 0))]
        if k % 5 == 0:
            extras += [Distance("hand_l", "hand_r", (0.2, 0.6)), Orient("head", np.eye(3), priority=2)]
        yield flatten(poise.solve(model, [*feet, hand, *extras], max_steps=60, restarts=2))


def solve_with_limits() -> Iterator[Answer]:
    """Solve with cones, coupled joints, clearances and target ranges."""
    model = poise.load("panda")
    frame = tip(model)
    limits: list[Any] = [
        Clearance(distance=0.01),
        Coupled({"panda_joint2": 1.0, "panda_joint4": 1.0}, -2.0, -1.0),
        Clearance(world=[poise.goals.HalfSpace((0, 0, 0.1), (0, 0, 1))]),
    ]
    for k, target in enumerate(pose_targets(model, frame, 90, 4)):
        wide = tuple(Range(x - 0.05, x + 0.05) for x in target[:3, 3].tolist())
        goal = Reach(frame, target) if k % 2 else Reach(frame, wide)
        yield flatten(poise.solve(model, [goal, Rest()], limits=[limits[k % 3]], restarts=3, max_steps=50))
    tree = poise.load("tree30")
    ball = next(joint.name for joint in tree.joints if joint.kind == "ball")
    for target in pose_targets(tree, tip(tree), 60, 5):
        goal = Reach(tip(tree), target[:3, 3])
        yield flatten(poise.solve(tree, goal, limits=[Cone(ball, swing=0.4)], restarts=2, max_steps=50))


def step_in_time() -> Iterator[Answer]:
    """Follow moving targets within speed and acceleration limits."""
    for name in ARMS:
        model = poise.load(name)
        targets = pose_targets(model, tip(model), 6, 6)
        for limits in ([Speed(1.0)], [Speed(1.0), Acceleration(10.0)]):
            solver = poise.Solver(model, Reach(tip(model), targets[0], name="tip"), limits=limits)
            q, v = np.array(model.rest), None
            for k in range(180):
                solution = solver.step(q, 0.02, {"tip": targets[k // 30]}, velocity=v)
                q, v = solution.q, solution.velocity
                yield flatten(solution)


def solve_batches() -> Iterator[Answer]:
    """Solve batches of reachable and unreachable targets."""
    for name in ARMS:
        model = poise.load(name)
        targets = pose_targets(model, tip(model), 1500, 7)
        targets[::3, :3, 3] *= 1.5
        found = poise.solve_batch(model, Reach(tip(model), targets[0]), targets, restarts=8)
        for q, status, steps in zip(found.q, found.status, found.steps, strict=True):
            yield np.concatenate([q, [STATUSES[status], steps]])


def drag_rigs() -> Iterator[Answer]:
    """Drag hands and feet of bodies with handles."""
    for name, handle, way in (("humanoid", "hand_l", (0.3, 0.4, 0.2)), ("quadruped", "foot_fl", (0.1, 0.1, 0.0))):
        model = poise.load(name)
        rig = poise.Rig(model)
        start = np.array(rig.pose.position(handle))
        for k in range(200):
            rig.drag(handle, start + np.sin(k / 40.0) * np.array(way))
            yield np.concatenate([rig.pose.q, [0.0, 0.0]])


def operate_rigs() -> Iterator[Answer]:
    """Plant, pin, drag, mirror, undo, release and settle rigs."""
    for name, hand, foot in (("humanoid", "hand_l", "foot_l"), ("quadruped", "foot_fl", "foot_hl")):
        rig = poise.Rig(poise.load(name))
        rig.plant()
        rig.pin(foot)
        start = np.array(rig.pose.position(hand))
        for k in range(60):
            rig.drag(hand, start + 0.3 * np.sin(k / 9.0 + np.arange(3.0)))
            if k % 20 == 10:
                rig.strength(hand, 0.5)
                rig.mirror()
            if k % 20 == 15:
                rig.history.undo()
            yield pad(rig.pose.q)
        rig.release()
        yield pad(rig.settle().q)


def pad(values: Any) -> Answer:
    """Return numbers of any shape as one answer, with zeros for status and steps."""
    return np.concatenate([np.ravel(np.asarray(values, dtype=np.float64)), [0.0, 0.0]])


def list_answers() -> Iterator[Answer]:
    """List all solutions of transforms, for arms with six and with seven joints."""
    for name, frame in ARMS.items():
        model = poise.load(name)
        for target in pose_targets(model, frame, 40, 8):
            found = poise.solve_all(model, Reach(frame, target), samples=8)
            yield pad([*[solution.q for solution in found], np.full(model.nq, len(found))])
            yield pad(poise.solve(model, Reach(frame, target), solutions=4)[-1].q)


def change_clips() -> Iterator[Answer]:
    """Find contacts, lock feet, edit, track and measure clips."""
    for clip in (put_skate_in(make_walk(90)), put_skate_in(make_walk(60), 0.006, 2)):
        model, found = clip.model, contacts(clip)
        for contact in found:
            yield pad([*np.asarray(contact.place), *np.asarray(contact.point), contact.start, contact.end])
        for limits in ([], [Speed(8.0)]):
            locked = lock(clip, found, limits=limits)
            yield pad(locked.motion.q)
            yield pad(list_figures(quality(locked.motion)))
        hand = clip.positions("hand_l")[30] + (0.0, 0.1, 0.05)
        yield pad(edit(clip, {30: Reach("hand_l", hand)}).motion.q)
        yield pad(track(model, Reach("hand_l", model.fk(clip.q, "hand_l")), start=clip.q[0], fps=clip.fps).motion.q)


def list_figures(measured: Any) -> list[float]:
    """Return the numeric fields of a clip's quality."""
    values = (getattr(measured, field.name) for field in fields(measured))
    return [value for value in values if isinstance(value, int | float)]


def list_targets() -> dict[str, poise.Model]:
    """Return target bodies with other proportions and other joints than the humanoid."""
    return {
        "child": poise.load("humanoid", scale=0.6),
        "character": make_character(),
        "machine": make_machine(),
        "nods": make_machine(nods=True),
    }


def retarget_clips() -> Iterator[Answer]:
    """Retarget a walk to other bodies as a whole clip."""
    for clip in (make_walk(90), put_skate_in(make_walk(60), 0.006, 2)):
        for model in list_targets().values():
            out = retarget(clip, model)
            yield pad(out.motion.q)
            for contact in out.contacts:
                yield pad([*np.asarray(contact.place), *np.asarray(contact.point), contact.start, contact.end])


def retarget_streams() -> Iterator[Answer]:
    """Retarget a walk to other bodies frame by frame."""
    clip = put_skate_in(make_walk(90))
    for model in list_targets().values():
        live = Retargeter(clip.model, model)
        yield from (pad(live.step(frame).q) for frame in clip.q)
        yield pad(retarget(clip, model, mode="online").motion.q)


FAMILIES: dict[str, Callable[[], Iterator[Answer]]] = {
    "arms": solve_arms,
    "methods": solve_by_every_method,
    "figures": solve_figures,
    "limits": solve_with_limits,
    "steps in time": step_in_time,
    "batches": solve_batches,
    "rigs": drag_rigs,
    "rig operations": operate_rigs,
    "lists": list_answers,
    "clips": change_clips,
    "retargeted clips": retarget_clips,
    "streams": retarget_streams,
}


def collect() -> dict[str, Answer]:
    """Solve all problems; return a flat array of answers and the sizes of the answers for each family."""
    out: dict[str, Answer] = {}
    for family, run in FAMILIES.items():
        answers = list(run())
        out[family] = np.concatenate(answers)
        out[f"{family} sizes"] = np.array([len(answer) for answer in answers], dtype=np.float64)
    return out


def compare(before: Any, now: dict[str, Answer]) -> int:
    """Print a row for each family; return the number of answers that differ."""
    different = 0
    for family in FAMILIES:
        sizes = now[f"{family} sizes"].astype(int)
        if not np.array_equal(before[f"{family} sizes"].astype(int), sizes):
            print(f"{family:<16} other problems than before")
            different += len(sizes)
            continue
        cuts = np.cumsum(sizes)[:-1]
        pairs = list(zip(np.split(before[family], cuts), np.split(now[family], cuts), strict=True))
        changed = [(a, b) for a, b in pairs if a.tobytes() != b.tobytes()]
        worst = max((float(np.nanmax(np.abs(a[:-2] - b[:-2]))) for a, b in changed), default=0.0)
        print(f"{family:<16} {len(sizes):>6} answers, {len(changed):>5} differ, by up to {worst:.2g}")
        different += len(changed)
    return different


def main() -> None:
    """Record or compare, depending on the command line."""
    verb, path = sys.argv[1], Path(sys.argv[2])
    now = collect()
    if verb == "record":
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **now)  # type: ignore[arg-type]
        print(f"{sum(len(now[f'{family} sizes']) for family in FAMILIES)} answers are in {path}.")
        return
    with np.load(path) as before:
        sys.exit(1 if compare(before, now) else 0)


if __name__ == "__main__":
    main()
