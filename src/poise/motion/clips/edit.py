"""Edit: change a clip at single frames, and spread each change smoothly over the frames around it.

The goals of a key hold exactly at its frame. Between there and the unchanged frames, the displacement from the clip
bends as little as possible, and points in contact keep their paths.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Custom, Goal, MidRange, Reach, Rest
from poise.kinematics import Motion
from poise.kinematics.motion import check_motion
from poise.limits import Limit
from poise.motion.clips.clip_limits import read_limits
from poise.motion.clips.lock import list_keys, read_contacts
from poise.motion.clips.result import Track
from poise.motion.clips.whole_clip import ClipGoal, Progress, solve_whole
from poise.motion.contact.detector import contacts as find_contacts
from poise.motion.contact.ledger import Contacts
from poise.solvers.table import name_goals

__all__ = ["edit", "reject_postures"]

GUIDE_WEIGHT = 1e-3  # cost of a displacement relative to its bending
FROZEN_FRAMES = 3  # fixed frames beyond the spread, for a smooth end of the change


def edit(
    clip: Motion,
    changes: Mapping[int | float, Goal | Iterable[Goal]],
    spread: float = 0.5,
    *,
    contacts: Contacts | str = "auto",
    joints: Sequence[str] | None = None,
    limits: Iterable[Limit] | Limit = (),
    progress: Progress | None = None,
) -> Track:
    """Return a clip that satisfies goals at some frames, changed no further than `spread` seconds from them.

    Args:
        clip: The motion.
        changes: Goals by frame: an integer is a frame index, any other number a time from the first frame [s].
        spread: The reach of a change before and after its frame [s]; frames beyond it stay exactly as they are.
        contacts: The contacts, whose points keep their paths; "auto" detects them.
        joints: The only joints that may move; by default all.
        limits: Limits in addition to the joint ranges. Frames that do not change need not keep them.
        progress: Called with the number of frames done and the total.

    Raises:
        InvalidValue: A frame is outside the clip, or a goal does not apply to a single frame.
    """
    check_motion(clip)
    if not (isinstance(spread, Real) and np.isfinite(spread) and spread > 0):
        raise InvalidValue(f"spread is {spread!r}; it must be a positive number of seconds.")
    keys, rules = read_keys(clip, changes), read_limits(limits)
    moves = find_moving(len(clip), keys, round(float(spread) * clip.fps))
    a, b = find_ends(moves)
    part = clip[a:b]
    wanted = list_key_goals(part, {frame - a: goals for frame, goals in keys.items()})
    ledger = find_standing(clip, contacts)
    wanted += keep_paths(part, ledger, a)
    answer = solve_whole(
        part, wanted, hold=GUIDE_WEIGHT, frozen=~moves[a:b], joints=joints, limits=rules, progress=progress
    )
    q = np.array(clip.q)
    q[a:b][moves[a:b]] = answer.q[moves[a:b]]
    broken = np.zeros(len(clip), dtype=bool)
    broken[a:b] = answer.broken
    out = make_track(clip, Motion(clip.model, q, clip.fps), wanted, answer.errors, a, ledger)
    return replace(out, limits=rules, broken=broken)


def read_keys(clip: Motion, changes: Mapping[Any, Any]) -> dict[int, dict[str, Goal]]:
    """Return the goals by frame and name."""
    if not isinstance(changes, Mapping) or not changes:
        raise InvalidValue(f"changes is {changes!r}; it must map frames to goals: {{80: [Reach('hand_l', place)]}}.")
    keys: dict[int, dict[str, Goal]] = {}
    for when, goals in changes.items():
        frame = read_frame(clip, when)
        given = [goals] if isinstance(goals, Goal) else list(goals)
        for name, goal in name_goals(given).items():
            reject_postures(name, goal)
            keys.setdefault(frame, {})[name] = goal
    return keys


def read_frame(clip: Motion, when: Any) -> int:
    """Return the frame of a key, given as an index or in seconds."""
    if isinstance(when, Real) and not isinstance(when, bool):
        frame = int(when) if isinstance(when, Integral) else round(float(when) * clip.fps)
        frame += len(clip) if isinstance(when, Integral) and frame < 0 else 0
        if 0 <= frame < len(clip):
            return frame
    raise InvalidValue(
        f"changes at {when!r}: the clip has frames 0 to {len(clip) - 1} (whole numbers), or 0 to "
        f"{(len(clip) - 1) / clip.fps:g} seconds (numbers with a point)."
    )


def reject_postures(name: str, goal: Goal) -> None:
    """Reject posture goals and goals written in Python."""
    if isinstance(goal, (Rest, MidRange, Custom)):
        raise InvalidValue(f"{name!r} is a {type(goal).__name__} goal, which does not apply to the frames of a clip.")


def find_moving(frames: int, keys: Mapping[int, Any], reach: int) -> NDArray[np.bool_]:
    """Flag the frames that may change."""
    at = np.arange(frames)
    return np.asarray(np.any([np.abs(at - key) <= reach for key in keys], axis=0))


def find_ends(moves: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the range of frames to solve."""
    found = np.flatnonzero(moves)
    return max(int(found[0]) - FROZEN_FRAMES, 0), min(int(found[-1]) + 1 + FROZEN_FRAMES, len(moves))


def list_key_goals(part: Motion, keys: Mapping[int, Mapping[str, Goal]]) -> list[ClipGoal]:
    """List the goals of all keys, each at its own frame."""
    out = []
    for frame, goals in keys.items():
        for name, goal in goals.items():
            weights = np.zeros(len(part))
            weights[frame] = 1.0
            out.append(ClipGoal(replace(goal, name=f"{name} at {frame}"), None, weights, hard=True))
    return out


def find_standing(clip: Motion, contacts: Contacts | str) -> Contacts:
    """Return the contacts of a clip, empty if the body has no feet."""
    if contacts != "auto":
        return read_contacts(clip, contacts)
    try:
        return find_contacts(clip)
    except InvalidValue:
        return Contacts((), len(clip), clip.fps)


def keep_paths(part: Motion, ledger: Contacts, first: int) -> list[ClipGoal]:
    """List goals that keep the path of each point while it is in contact."""
    out = []
    for frame, point in list_keys(ledger):
        path = part.positions(frame, point)
        weights, targets = np.zeros(len(part)), np.zeros((len(part), 12))
        targets[:, [0, 4, 8]] = 1.0
        targets[:, 9:] = path
        for contact in ledger:
            if (contact.frame, contact.point) == (frame, point):
                weights[max(contact.start - first, 0) : max(contact.end - first, 0)] = 1.0
        if weights.any():
            goal = Reach(frame, path[0], point=point, name=f"{frame} {point}")
            out.append(ClipGoal(goal, targets, weights, hard=True))
    return out


def make_track(
    clip: Motion, edited: Motion, wanted: list[ClipGoal], errors: Floats, first: int, ledger: Contacts
) -> Track:
    """Return the track, with the errors of all goals over all frames of the clip."""
    every, tolerances, asked = {}, {}, {}
    for i, each in enumerate(wanted):
        name = str(each.goal.name)
        whole, flags = np.zeros((len(clip), 2)), np.zeros(len(clip), dtype=bool)
        whole[first : first + len(errors)] = errors[:, i]
        flags[first : first + len(errors)] = each.weights > 0.0
        every[name], asked[name] = whole, flags
        tolerances[name] = each.goal.tolerances(clip.model, True)
    return Track(edited, every, tolerances, ledger, (), clip, asked)
