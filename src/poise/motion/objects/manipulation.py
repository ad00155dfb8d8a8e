"""Manipulation: a motion of a body that holds objects along their given paths.

First every frame is solved separately, starting from the previous one: contacts first, then the grasps and other goals,
then the posture. With a clearance from objects, each frame is solved again with the objects as obstacles, as near to
that pose as they allow. Smoothed, these frames are the guide from which all frames are then solved at once: goals that
a frame reached are held exactly, the others as nearly as possible. The paths of the objects are never changed. A grasp
applies to the frames of its interval; in between, the hand is free.

Source: Yamane, Kuffner and Hodgins, Synthesizing animations of human manipulation tasks, SIGGRAPH 2004. There a search
plans the path of the object; here it is given, or joins poses (`Object.move_through`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Balance, Custom, Goal, Grasp, Rest, Style
from poise.goals.postures.style_frames import StyleFrames
from poise.kinematics import Motion, MotionWithObjects, Pose
from poise.limits import Clearance, Limit
from poise.limits.carried_objects import ClearOfObjects
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.clip_targets import ClipTargets
from poise.motion.clips.frame_by_frame import FrameByFrame
from poise.motion.clips.lock import fill_places, list_goals
from poise.motion.clips.result import Track
from poise.motion.clips.stream_solver import follow
from poise.motion.clips.whole_clip import ClipGoal, convert_path, solve_whole
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.sole_places import hold_soles
from poise.motion.contact.soles import find_soles
from poise.motion.objects.grips import GraspScene, make_scene
from poise.motion.objects.held_track import HeldTrack
from poise.solvers.starts import read_start

__all__ = ["Manipulation", "read_rate"]

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
        return check_positive(fps, "fps")
    told = {each.name: each.fps for each in objects if each.fps is not None}
    if len(set(told.values())) > 1:
        raise InvalidValue(f"objects have different frame rates, {told}; resample their paths, or give fps=.")
    return next(iter(told.values()), start.fps if isinstance(start, Motion) else DEFAULT_FPS)


class Manipulation:
    """The motion of a body and of the objects that it holds.

    Attributes:
        clip: The goals of `track`, with their targets and options.
        begin: The start pose of every frame, (frames, nq).
        scene: The body with its objects.
        held: The targets of the grasps over time, by name.
        asked: The frames of each grasp, by name.
        goals: The goals that are not grasps.
    """

    def __init__(self, clip: ClipTargets) -> None:
        self.clip, self.begin = clip, read_start(clip.model, clip.start, clip.frames)
        grasps = {name: goal for name, goal in clip.goals.items() if isinstance(goal, Grasp)}
        self.asked = {name: goal.list_held(clip.frames, clip.fps) for name, goal in grasps.items()}
        firsts = {name: int(np.argmax(held)) for name, held in self.asked.items()}
        self.scene = scene = make_scene(clip.model, grasps, clip.frames, self.begin[0], firsts)
        self.ledger = self._stand()
        self.goals = [fit_goal(scene, name, goal) for name, goal in clip.goals.items() if name not in grasps]
        self.held = {name: grip.follow(scene.paths[grip.goal.object.name]) for name, grip in scene.grips.items()}

    def solve(self, mode: str) -> Track:
        """Solve the motion; see `track`."""
        if mode == "online":
            return self._stream()
        limits = tuple(extend_limit(self.scene, limit) for limit in self.clip.limits)
        return self._solve_all(*self._guess_frames(limits), limits)

    def _stand(self) -> Contacts:
        """Return the given contacts, for "auto" those that stand at the start, with the whole soles of planted feet."""
        model, frames, given = self.clip.model, self.clip.frames, self.clip.read_contacts()
        clip = Motion(model, self.begin, self.clip.fps)
        if isinstance(given, Contacts):
            for contact in given:
                model.frame(contact.frame)
            return hold_soles(clip, fill_places(clip, given))
        soles = {sole.name: (sole, clip[0].transform(sole.frame).apply(sole.point)) for sole in find_soles(model)}
        heights = {name: float(place @ model.up_direction) for name, (_, place) in soles.items()}
        floor = min(heights.values())
        standing = [soles[name] for name, height in heights.items() if height <= floor + STANDING_HEIGHT * model.length]
        held = [
            Contact(sole.frame, 0, frames, place=tuple(place.tolist()), point=sole.point, name=sole.name)
            for sole, place in standing
        ]
        return hold_soles(clip, Contacts(tuple(held), frames, clip.fps, floor))

    def _list_grasps(self) -> list[Goal]:
        """List the grasps, relative to the frames of their objects."""
        return [grip.make_goal(name, grip.target, grip.thing) for name, grip in self.scene.grips.items()]

    def _list_held(self) -> list[Goal]:
        """List the grasps, with the targets of the first frame."""
        return [grip.make_goal(name, self.held[name][0]) for name, grip in self.scene.grips.items()]

    def _guess_frames(self, limits: Sequence[Limit]) -> tuple[Floats, dict[str, NDArray[np.bool_]]]:
        """Solve every frame of `whole` by itself; return (frames, nq) and flags of the frames that reach each goal."""
        scene, begin, paths, still = self.scene, self.begin, self.clip.paths, not isinstance(self.clip.start, Motion)
        others = [goal for goal in self.goals if not isinstance(goal, Rest)]
        postures: list[Goal] = [goal for goal in self.goals if isinstance(goal, Rest)]
        free = [limit for limit in limits if not isinstance(limit, ClearOfObjects)]
        asked = [*self._list_held(), *others]
        first = FrameByFrame(
            scene.gripping, asked, {**paths, **self.held}, self.ledger, part_limits(free)[0], asked=self.asked
        )
        easy = self._find_easiest() if still else 0
        if postures:
            q, reached = first.run(begin, postures=postures, first=easy)
        else:
            q, reached = first.run(begin, rest=begin, carry=CARRY_WEIGHT if still else CLIP_CARRY_WEIGHT, first=easy)
        lasting = part_limits(limits)[0]
        if not any(isinstance(limit, ClearOfObjects) for limit in lasting):
            return scene.place_all(q), reached
        clear = FrameByFrame(
            scene.whole, [*self._list_grasps(), *others], paths, self.ledger, lasting, asked=self.asked
        )
        return clear.run(scene.place_all(q), rest=scene.place_all(q), carry=1.0, first=easy)

    def _find_easiest(self) -> int:
        """Return the frame nearest to the start pose: the one with the shortest total distance of the hands.

        The solve begins there, so that distant frames are approached in small steps and no knee that must bend begins
        straight.
        """
        far = np.zeros(len(self.begin))
        for name, grip in self.scene.grips.items():
            place = self.scene.gripping.fk(self.begin[0], grip.frame)[:3, 3]
            path = self.held[name][:, :3, 3] if self.held[name].ndim == 3 else self.held[name]
            far += np.where(self.asked[name], np.linalg.norm(path - place, axis=1), 0.0)
        return int(np.argmin(far))

    def _solve_all(
        self, guess: Floats, reached: Mapping[str, NDArray[np.bool_]], limits: tuple[Limit, ...]
    ) -> HeldTrack:
        """Solve all frames at once; each goal is held exactly at the frames that reached it by themselves."""
        scene, paths, clip = self.scene, self.clip.paths, Motion(self.scene.whole, guess, self.clip.fps)
        others = [goal for goal in self.goals if not isinstance(goal, Rest)]
        every = [*self._list_grasps(), *others]
        wanted = []
        for goal in every:
            name = str(goal.name)
            numbers = None if name not in paths else convert_path(scene.whole, goal, paths[name])
            can = reached[name]
            wanted.append(ClipGoal(goal, numbers, can.astype(np.float64), hard=True))
            near = replace(goal, name=f"{name}, as near as can be")
            wanted.append(ClipGoal(near, numbers, (~can & self.asked.get(name, True)).astype(np.float64)))
        if len(self.ledger):
            wanted += list_goals(clip, self.ledger)
        cutoff = CLIP_CUTOFF if isinstance(self.clip.start, Motion) else GUIDE_CUTOFF
        guide = clip.smoothed(cutoff) if len(clip) > 2 else clip
        begin = np.array(guide.q)
        begin[:, scene.body.nq :] = guess[:, scene.body.nq :]  # the objects stay on their paths
        smooth, progress = self.clip.smooth, self.clip.progress
        answer = solve_whole(
            guide, wanted, start=begin, hold=GUIDE_WEIGHT, smooth=smooth, limits=limits, progress=progress
        )
        return HeldTrack(
            self._make_motion(np.ascontiguousarray(answer.q[:, : scene.body.nq])),
            {str(goal.name): answer.errors[:, 2 * i] for i, goal in enumerate(every)},
            {str(goal.name): goal.tolerances(scene.body, False) for goal in every},
            self.ledger,
            asked=self.asked,
            limits=limits,
            broken=answer.broken if limits else None,
            scene=scene,
            goals=tuple(others),
            paths=dict(paths),
        )

    def _make_motion(self, q: Floats) -> MotionWithObjects:
        """Return the motion of the body with its objects."""
        things = [each.move(self.scene.paths[name]) for name, each in self.scene.objects.items()]
        return MotionWithObjects(self.scene.body, q, self.clip.fps, things)

    def _stream(self) -> Track:
        """Solve the motion online, without clearance from objects."""
        if any(isinstance(limit, Clearance) for limit in self.clip.limits):
            raise InvalidValue(
                "mode='online' does not keep objects clear of the body; leave Clearance out, or use 'clip'."
            )
        if not all(held.all() for held in self.asked.values()):
            raise InvalidValue("mode='online' does not support Grasp(during=...); leave it out, or use 'clip'.")
        goals = {str(goal.name): goal for goal in [*self._list_held(), *self.goals]}
        first = None if self.clip.start is None else self.begin[0]
        paths = {**self.clip.paths, **self.held}
        clip = replace(self.clip, model=self.scene.gripping, goals=goals, paths=paths, start=first)
        made = follow(clip, self.ledger)
        return replace(made, motion=self._make_motion(np.array(made.motion.q)))


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
