"""Manipulation: a motion of a body that holds objects along their given paths.

First every frame is solved by itself, starting from the previous one: contacts first, then the grasps and other goals,
then the posture. With a clearance from objects, each frame is solved again with the objects as obstacles, as near to
that pose as they allow. Smoothed, these frames are the guide from which all frames are then solved at once: goals that
a frame reached are held exactly, the others as nearly as possible. The paths of the objects are never changed.

Source: Yamane, Kuffner and Hodgins, Synthesizing animations of human manipulation tasks, SIGGRAPH 2004. There the path
of the object is planned; here it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Balance, Custom, Goal, Grasp, Rest, Style
from poise.goals.postures.style_frames import StyleFrames
from poise.kinematics import Motion, MotionWithObjects, Pose
from poise.kinematics.motion import check_rate
from poise.limits import Clearance, Limit
from poise.limits.carried_objects import ClearOfObjects
from poise.model import Model
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.frame_by_frame import FrameByFrame
from poise.motion.clips.lock import fill_places, list_goals
from poise.motion.clips.result import Track
from poise.motion.clips.stream_solver import follow
from poise.motion.clips.whole_clip import ClipGoal, Progress, convert_path, solve_whole
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.soles import find_soles
from poise.motion.objects.grips import GraspScene, make_scene
from poise.motion.objects.held_track import HeldTrack
from poise.solvers.starts import read_start

__all__ = ["handle", "read_rate"]

GUIDE_WEIGHT = 1e-2  # cost of a displacement from the guide, relative to the residual of a soft goal
GUIDE_CUTOFF = 1.5  # Hz: the cutoff of the guide, for slow changes of posture
CLIP_CUTOFF = 6.0  # Hz: the cutoff of the guide if a clip is given as start
CARRY_WEIGHT = (
    1e-4  # relative to the default cost of moving the root, without a start clip: the body squats and walks along
)
STANDING_HEIGHT = 0.02  # relative to the model's length: sole points less than this above the lowest one stand too
CLIP_CARRY_WEIGHT = 30.0  # the same with a start clip, whose path is kept
DEFAULT_FPS = 30.0  # if neither the call nor an object has a rate


def read_rate(fps: float | None, goals: Mapping[str, Goal], start: Any) -> float:
    """Return the frame rate: `fps` if given, otherwise that of the objects or the start clip, otherwise 30.

    Raises:
        InvalidValue: The rate is invalid or missing, or the objects have different rates.
    """
    objects = [goal.object for goal in goals.values() if isinstance(goal, Grasp)]
    if fps is None and not objects:
        raise InvalidValue("fps is missing: how many targets there are a second, such as fps=30.")
    if fps is not None:
        return check_rate(fps)
    told = {each.name: each.fps for each in objects if each.fps is not None}
    if len(set(told.values())) > 1:
        raise InvalidValue(f"objects have different frame rates, {told}; resample their paths, or give fps=.")
    return next(iter(told.values()), start.fps if isinstance(start, Motion) else DEFAULT_FPS)


def handle(
    model: Model,
    named: Mapping[str, Goal],
    paths: Mapping[str, Floats],
    frames: int,
    fps: float,
    start: ArrayLike | Pose | Motion | None,
    contacts: Contacts | str | None,
    limits: tuple[Limit, ...],
    smooth: float,
    mode: str,
    progress: Progress | None,
) -> Track:
    """Solve the motion of a body and of the objects that it holds; see `track`."""
    begin = read_start(model, start, frames)
    scene = make_scene(model, {k: g for k, g in named.items() if isinstance(g, Grasp)}, frames, begin[0])
    ledger = stand(model, begin, contacts, fps)
    goals = [fit_goal(scene, name, goal) for name, goal in named.items() if not isinstance(goal, Grasp)]
    if mode == "online":
        return stream(scene, goals, paths, fps, start, ledger, limits, progress)
    rules = tuple(extend_limit(scene, limit) for limit in limits)
    guess, reached = guess_frames(scene, goals, paths, begin, ledger, rules, not isinstance(start, Motion))
    cutoff = CLIP_CUTOFF if isinstance(start, Motion) else GUIDE_CUTOFF
    return solve_all(scene, goals, paths, guess, reached, ledger, rules, fps, cutoff, smooth, progress)


def stand(model: Model, begin: Floats, given: Contacts | str | None, fps: float) -> Contacts:
    """Return the given contacts; for "auto", the soles that stand at the start, for all frames."""
    frames = len(begin)
    if given is None:
        return Contacts((), frames, fps)
    clip = Motion(model, begin, fps)
    if isinstance(given, Contacts):
        if given.frames != frames:
            raise InvalidValue(f"contacts are of a clip of {given.frames} frames; the targets have {frames}.")
        for contact in given:
            model.frame(contact.frame)
        return fill_places(clip, given)
    if given != "auto":
        raise InvalidValue(f"contacts is {given!r}; it must be 'auto', Contacts, or None.")
    soles = {sole.name: (sole, clip[0].transform(sole.frame).apply(sole.point)) for sole in find_soles(model)}
    heights = {name: float(place @ model.up_direction) for name, (_, place) in soles.items()}
    floor = min(heights.values())
    standing = [soles[name] for name, height in heights.items() if height <= floor + STANDING_HEIGHT * model.length]
    held = [
        Contact(sole.frame, 0, frames, place=tuple(place.tolist()), point=sole.point, name=sole.name)
        for sole, place in standing
    ]
    return Contacts(tuple(held), frames, fps, floor)


def fit_goal(scene: GraspScene, name: str, goal: Goal) -> Goal:
    """Return a goal rewritten for the body with its palm frames."""
    if isinstance(goal, Custom):
        raise InvalidValue(f"{name!r} is a Custom goal, which does not apply to the frames of a clip.")
    if isinstance(goal, Balance):
        goal = replace(goal, support=[(frame, tuple(point)) for frame, point in goal.contacts(scene.body)])
    if isinstance(goal, Style) and scene.gripping is not scene.body:
        goal.find_wanted(scene.body)  # raises for another body
        frames = StyleFrames.prepare_parts(scene.gripping, [part.q for _, part in goal.parts])
        goal = replace(goal, parts=tuple((share, own) for (share, _), own in zip(goal.parts, frames, strict=True)))
    if isinstance(goal, Rest) and isinstance(goal.pose, Pose) and scene.gripping is not scene.body:
        goal = replace(goal, pose=goal.find_wanted(scene.body))
    return replace(goal, name=name)


def extend_limit(scene: GraspScene, limit: Limit) -> Limit:
    """Return a limit on `whole`: a clearance also keeps clear of the objects."""
    if not isinstance(limit, Clearance):
        return limit
    return ClearOfObjects.extend(limit, scene.body, scene.list_carried())


# ------------------------------------------------------------------------------------------------ frames by themselves


def guess_frames(
    scene: GraspScene,
    goals: Sequence[Goal],
    paths: Mapping[str, Floats],
    begin: Floats,
    ledger: Contacts,
    limits: Sequence[Limit],
    still: bool,
) -> tuple[Floats, dict[str, NDArray[np.bool_]]]:
    """Solve every frame of `whole` by itself; return (frames, nq) and, by goal, flags of the frames that reach it."""
    held = {name: grip.follow(scene.paths[grip.goal.object.name]) for name, grip in scene.grips.items()}
    asked: list[Goal] = [grip.make_goal(name, held[name][0]) for name, grip in scene.grips.items()]
    asked += [goal for goal in goals if not isinstance(goal, Rest)]
    postures: list[Goal] = [goal for goal in goals if isinstance(goal, Rest)]
    first = FrameByFrame(scene.gripping, asked, {**paths, **held}, ledger, part_limits(free_limits(limits))[0])
    easy = find_easiest(scene, held, begin) if still else 0
    if postures:
        q, reached = first.run(begin, postures=postures, first=easy)
    else:
        q, reached = first.run(begin, rest=begin, carry=CARRY_WEIGHT if still else CLIP_CARRY_WEIGHT, first=easy)
    lasting = part_limits(limits)[0]
    if not any(isinstance(limit, ClearOfObjects) for limit in lasting):
        return scene.place_all(q), reached
    clear = FrameByFrame(scene.whole, list_goals_of_whole(scene, asked), paths, ledger, lasting)
    return clear.run(scene.place_all(q), rest=scene.place_all(q), carry=1.0, first=easy)


def find_easiest(scene: GraspScene, held: Mapping[str, Floats], begin: Floats) -> int:
    """Return the frame nearest to the start pose: the one with the shortest total distance of the hands.

    The solve begins there, so that distant frames are approached in small steps and no knee that must bend begins
    straight.
    """
    far = np.zeros(len(begin))
    for name, grip in scene.grips.items():
        place = scene.gripping.fk(begin[0], grip.frame)[:3, 3]
        path = held[name][:, :3, 3] if held[name].ndim == 3 else held[name]
        far += np.linalg.norm(path - place, axis=1)
    return int(np.argmin(far))


def free_limits(limits: Sequence[Limit]) -> list[Limit]:
    """Return the limits without clearances from objects."""
    return [limit for limit in limits if not isinstance(limit, ClearOfObjects)]


def list_goals_of_whole(scene: GraspScene, asked: Sequence[Goal]) -> list[Goal]:
    """List the goals, with the grasps relative to the frames of their objects."""
    own = [grip.make_goal(name, grip.target, grip.thing) for name, grip in scene.grips.items()]
    return [*own, *asked[len(own) :]]


# ------------------------------------------------------------------------------------------------ all frames at once


def solve_all(
    scene: GraspScene,
    goals: Sequence[Goal],
    paths: Mapping[str, Floats],
    guess: Floats,
    reached: Mapping[str, NDArray[np.bool_]],
    ledger: Contacts,
    limits: tuple[Limit, ...],
    fps: float,
    cutoff: float,
    smooth: float,
    progress: Progress | None,
) -> Track:
    """Solve all frames at once; each goal is held exactly at the frames that reached it by themselves."""
    clip = Motion(scene.whole, guess, fps)
    others = [goal for goal in goals if not isinstance(goal, Rest)]
    every = [*(grip.make_goal(name, grip.target, grip.thing) for name, grip in scene.grips.items()), *others]
    wanted = []
    for goal in every:
        name = str(goal.name)
        numbers = None if name not in paths else convert_path(scene.whole, goal, paths[name])
        can = reached[name]
        wanted.append(ClipGoal(goal, numbers, can.astype(np.float64), hard=True))
        wanted.append(ClipGoal(replace(goal, name=f"{name}, as near as can be"), numbers, (~can).astype(np.float64)))
    if len(ledger):
        wanted += list_goals(clip, ledger)
    guide = clip.smoothed(cutoff) if len(clip) > 2 else clip
    begin = np.array(guide.q)
    begin[:, scene.body.nq :] = guess[:, scene.body.nq :]  # the objects stay on their paths
    answer = solve_whole(guide, wanted, start=begin, hold=GUIDE_WEIGHT, smooth=smooth, limits=limits, progress=progress)
    q = np.ascontiguousarray(answer.q[:, : scene.body.nq])
    return HeldTrack(
        make_motion(scene, q, fps),
        {str(goal.name): answer.errors[:, 2 * i] for i, goal in enumerate(every)},
        {str(goal.name): goal.tolerances(scene.body, False) for goal in every},
        ledger,
        limits=limits,
        broken=answer.broken if limits else None,
        scene=scene,
        goals=tuple(others),
        paths=dict(paths),
    )


def make_motion(scene: GraspScene, q: Floats, fps: float) -> MotionWithObjects:
    """Return the motion of the body with its objects."""
    things = [each.move(scene.paths[name]) for name, each in scene.objects.items()]
    return MotionWithObjects(scene.body, q, fps, things)


# ------------------------------------------------------------------------------------------------ online


def stream(
    scene: GraspScene,
    goals: Sequence[Goal],
    paths: Mapping[str, Floats],
    fps: float,
    start: Any,
    ledger: Contacts,
    limits: Sequence[Limit],
    progress: Progress | None,
) -> Track:
    """Solve the motion online, without clearance from objects."""
    if any(isinstance(limit, Clearance) for limit in limits):
        raise InvalidValue("mode='online' does not keep objects clear of the body; leave Clearance out, or use 'clip'.")
    held = {name: grip.follow(scene.paths[grip.goal.object.name]) for name, grip in scene.grips.items()}
    asked: dict[str, Goal] = {name: grip.make_goal(name, held[name][0]) for name, grip in scene.grips.items()}
    asked |= {str(goal.name): goal for goal in goals}
    first = None if start is None else read_start(scene.body, start, ledger.frames)[0]
    made = follow(scene.gripping, asked, {**paths, **held}, fps, first, ledger, limits, progress)
    return replace(made, motion=make_motion(scene, np.array(made.motion.q), fps))
