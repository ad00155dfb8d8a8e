"""Track: goals along a whole motion.

In clip mode every frame is first solved by itself, so the answer does not depend on the first frame; then frames on
another branch than the previous ones are moved to theirs; then all frames are solved at once, with contacts held
exactly. For an arm along transforms all IK answers of each frame are listed, and its branch is chosen over the whole
path (`branches`). In online mode frames are solved one by one, without look-ahead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.batch import solve_batch
from poise.batch.maps import shift_progress
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.goals import Goal, Grasp, Rest
from poise.goals.reach import OverTime, Reach
from poise.kinematics import Motion, Pose
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_limits import Rates, find_broken, part_limits, read_limits, read_number
from poise.motion.clips.clip_targets import ClipTargets
from poise.motion.clips.result import Track
from poise.motion.clips.stream_solver import follow
from poise.motion.clips.whole_clip import Progress
from poise.motion.contact.ledger import Contacts
from poise.motion.objects.manipulation import Manipulation, read_rate
from poise.motion.paths.branches import Route, find_route
from poise.motion.paths.midpoints import bring_home, find_jumps
from poise.solvers import Solver
from poise.solvers.starts import read_start
from poise.solvers.table import name_goals

__all__ = ["track"]

BRANCH_JUMP = 0.6  # rad per frame: a larger step is a change of branch
UNANSWERED_WEIGHT = 1e-6  # weight of a waypoint without an answer, which is interpolated from its neighbours
SAME_COST_RATIO = 1.01  # ratio of two costs that count as equal


def track(
    model: Model,
    goals: Goal | Iterable[Goal],
    *,
    fps: float | None = None,
    targets: Mapping[str, ArrayLike] | None = None,
    start: ArrayLike | Pose | Motion | None = None,
    contacts: Contacts | str | None = None,
    limits: Iterable[Limit] | Limit = (),
    smooth: float = 1.0,
    mode: str = "clip",
    progress: Progress | None = None,
) -> Track:
    """Return the motion that satisfies goals with moving targets.

    Args:
        model: The body.
        goals: One goal or several. A target over time has one axis more than usual: `Reach("tcp", transforms)` with
            transforms (frames, 4, 4), or points (frames, 3). `Grasp(hand, object)` follows the path of its object.
            Postures (`Rest`, `Style`, ...) shape the remaining freedom.
        fps: Frames per second of the targets. With grasps the default is the rate of the objects or of the start clip,
            or 30.
        targets: Targets over time by the name of a goal, (frames, ...), as in `solve_batch`.
        start: The pose from which the search of every frame starts, or the first frame in online mode; by default the
            rest pose. With grasps also a clip, whose frames the body stays near to.
        contacts: Points that stand exactly still. "auto" detects them in the frames solved one by one, or in online
            mode in the frames so far; with grasps, the soles that stand at the start are held to the end.
        limits: Limits in addition to the joint ranges: `Speed(2.0)`, `Acceleration(20.0)`, `Clearance()`, ... A
            clearance also keeps clear of held objects, except for the hands that hold them.
        smooth: The spread of changes in time; 1 is 0.1 s.
        mode: "clip" solves all frames at once; "online" one after the other, without look-ahead.
        progress: Called with the number of frames done and the total.

    Raises:
        InvalidValue: No target moves, an option is unknown, or a goal does not apply to the frames of a clip.
        ShapeMismatch: Targets have different numbers of frames.
    """
    if mode not in ("clip", "online"):
        raise InvalidValue(f"mode is {mode!r}; it must be 'clip' or 'online'.")
    named = name_goals([goals] if isinstance(goals, Goal) else goals)
    rate, smooth = read_rate(fps, named, start), read_number(smooth, "smooth", 0.0)
    moving, frames = read_paths(named, targets or {}, start)
    for name, path in moving.items():
        named[name], moving[name] = move_to_world(model, named[name], path)
    rules, still = read_limits(limits), {name: aim_first(goal, moving.get(name)) for name, goal in named.items()}
    clip = ClipTargets(model, still, moving, frames, rate, start, contacts, rules, smooth, progress)
    if any(isinstance(goal, Grasp) for goal in still.values()):
        return Manipulation(clip).solve(mode)
    clip = replace(clip, start=start[0] if isinstance(start, Motion) else start)
    if mode == "online":
        return follow(clip, clip.read_contacts())
    postures = {name: goal for name, goal in still.items() if isinstance(goal, Rest)}
    return track_clip(replace(clip, goals={k: goal for k, goal in still.items() if k not in postures}), postures)


def track_clip(clip: ClipTargets, postures: Mapping[str, Goal]) -> Track:
    """Track goals in clip mode: along the route of an arm if it has one, otherwise from guesses of all frames."""
    lasting, timed = part_limits(clip.limits)
    plain = clip.contacts is None and not lasting and not postures
    route = find_route(clip.model, clip.goals, clip.paths, clip.start) if plain else None
    if route is not None:
        whole = solve_route(clip, route)
        rates = Rates.read(clip.model, timed, clip.fps)
        broken = find_broken(clip.model, whole.motion.q, np.zeros(clip.frames), rates)
        if not broken.any():  # otherwise branches are chosen again, within the rate limits
            return replace(whole, limits=clip.limits, broken=broken if clip.limits else None)
    first = guess_frames(clip, lasting) if route is None else route.q
    if postures:
        first = pose_frames(clip.model, {**clip.goals, **postures}, clip.paths, first, lasting)
    made = clip.solve(first, clip.progress)
    if not timed or clip.contacts is not None or made.reached.all():
        return made
    return choose_track([made, *retry_from_start(clip, first[0], route is not None)], clip.goals)


def retry_from_start(clip: ClipTargets, first: Floats, guess_too: bool) -> list[Track]:
    """Solve all frames from the start pose, with and without steps, and from guesses if `guess_too`."""
    frames = clip.frames
    rest = (
        np.tile(first, (frames, 1))
        if clip.start is None
        else np.asarray(clip.model.clamp(read_start(clip.model, clip.start, frames)))
    )
    tracks = [clip.solve(rest), clip.solve(rest, steps=0)]
    return [*tracks, clip.solve(guess_frames(clip))] if guess_too else tracks


def choose_track(tracks: Sequence[Track], goals: Mapping[str, Goal]) -> Track:
    """Return the track with the fewest broken frames, then the lowest cost; of equal costs, the most frames reached."""

    def measure(track: Track) -> float:
        return sum(float(((np.max(goals[k].weight) * e) ** 2).sum()) for k, e in track.errors.items())

    broken = [0 if track.broken is None else int(track.broken.sum()) for track in tracks]
    costs = np.where(np.array(broken) == min(broken), [measure(track) for track in tracks], np.inf)
    near = [track for track, cost in zip(tracks, costs, strict=True) if cost <= SAME_COST_RATIO * costs.min()]
    return max(near, key=lambda track: int(track.reached.sum()))


def read_paths(
    named: Mapping[str, Goal], targets: Mapping[str, ArrayLike], start: Any = None
) -> tuple[dict[str, Floats], int]:
    """Return the targets over time by the name of their goal, and the number of frames."""
    for name in targets:
        if name not in named:
            raise name_not_found("goal", name, named)
    own = {name: getattr(goal, "target", None) for name, goal in named.items()}
    paths = {name: target.values for name, target in own.items() if isinstance(target, OverTime)}
    paths |= {name: np.asarray(values, dtype=np.float64) for name, values in targets.items()}
    lengths = {name: len(values) for name, values in paths.items() if values.ndim > 1}
    things = {goal.object.name: goal.object.frames for goal in named.values() if isinstance(goal, Grasp)}
    lengths |= {name: count for name, count in things.items() if count is not None}
    if things and isinstance(start, Motion):
        lengths["start"] = len(start)
    if not lengths:
        raise InvalidValue("no target moves: give a goal an array with a row for each frame, or targets={name: array}.")
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name!r} {count}" for name, count in lengths.items())
        raise ShapeMismatch(f"targets have different numbers of frames: {counts}.")
    for name, values in paths.items():
        if not np.isfinite(values).all():
            frame = int(np.argwhere(~np.isfinite(values))[0][0])
            raise InvalidValue(f"the target of {name!r} is not finite at frame {frame}; leave such frames out.")
    frames = next(iter(lengths.values()))
    if not frames:
        raise InvalidValue("the targets have no frame.")
    return paths, frames


def aim_first(goal: Goal, path: Floats | None) -> Goal:
    """Return a goal with the target of its first frame in place of a whole path."""
    if path is None or not isinstance(goal, Reach):
        return goal
    return replace(goal, target=path[0])


def move_to_world(model: Model, goal: Goal, path: Floats) -> tuple[Goal, Floats]:
    """Return a goal relative to a fixed frame, and its targets, in world coordinates."""
    if not isinstance(goal, Reach) or goal.relative_to is None or not isinstance(goal.weight, float):
        return goal, path
    if path.ndim < 2 or path.shape[-1] == 2:  # one target, or targets in a plane
        return goal, path
    if any(joint.nv or joint.mimic for joint in model.joints_above(goal.relative_to)):
        return goal, path
    T = model.fk(model.rest, goal.relative_to)
    world = T @ path if path.ndim == 3 else path @ T[:3, :3].T + T[:3, 3]
    return replace(goal, relative_to=None, target=world[0]), world


def guess_frames(clip: ClipTargets, limits: Sequence[Limit] = ()) -> Floats:
    """Solve every frame by itself, then again from the previous frame wherever a frame changed branch."""
    model, listed = clip.model, [replace(goal, name=name) for name, goal in clip.goals.items()]
    first = clip.start.q if isinstance(clip.start, Pose) else clip.start
    batch = solve_batch(model, listed, dict(clip.paths), first, limits=limits)
    q, reached = np.array(batch.q), np.array(batch.reached)
    solver = Solver(model, listed, limits=limits)
    for t in range(1, len(q)):
        if np.abs(model.difference(q[t - 1], q[t])).max(initial=0.0) > BRANCH_JUMP:
            again = solver.solve(q[t - 1], {name: path[t] for name, path in clip.paths.items()})
            nearer = np.abs(model.difference(q[t - 1], again.q)).max() < np.abs(model.difference(q[t - 1], q[t])).max()
            if nearer and (again.reached or not reached[t]):
                q[t] = again.q
    return q


def pose_frames(
    model: Model, goals: Mapping[str, Goal], paths: Mapping[str, Floats], guess: Floats, limits: Sequence[Limit]
) -> Floats:
    """Solve every frame with its postures, in sequence; the result guides the remaining freedom."""
    solver = Solver(model, [replace(goal, name=name) for name, goal in goals.items()], limits=limits)
    out = np.array(guess)
    for t in range(len(out)):
        before = out[max(t - 1, 0)]
        found = solver.solve(out[t] if t == 0 else before, {name: path[t] for name, path in paths.items()}).q
        if t == 0 or np.abs(model.difference(before, found)).max(initial=0.0) <= BRANCH_JUMP:
            out[t] = found
    return out


def solve_route(clip: ClipTargets, route: Route) -> Track:
    """Solve the route of an arm, each part between two reconfigurations at once."""
    parts, progress = [], clip.progress
    for a, b in pairwise((0, *route.flips, clip.frames)):
        report = None if progress is None else shift_progress(progress, a, clip.frames)
        own = replace(clip, paths={name: path[a:b] for name, path in clip.paths.items()}, frames=b - a, limits=())
        parts.append(own.solve(route.q[a:b], report, np.where(route.listed[a:b], 1.0, UNANSWERED_WEIGHT)))
    ((name, goal),) = clip.goals.items()
    assert isinstance(goal, Reach)
    whole = np.concatenate([part.motion.q for part in parts])
    off = np.concatenate([part.errors[name] for part in parts])
    q, errors = bring_home(clip.model, goal, clip.paths[name], whole, off, route.q)
    made = Motion(clip.model, q, clip.fps)
    jumps = find_jumps(clip.model, goal, clip.paths[name], made.q)
    return replace(
        parts[0],
        motion=made,
        errors={name: errors},
        contacts=Contacts((), clip.frames, clip.fps),
        reconfigurations=tuple(sorted({*route.flips, *jumps})),
    )
