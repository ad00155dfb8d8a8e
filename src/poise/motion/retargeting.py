"""Retarget: carry a motion over onto another body, with no configuration.

1. Parts are mapped by the roles of both bodies (`Mapping`), bones by their directions, trunks by axes of their own, so
   no rest pose and no offset is tuned.
2. Legs set the pace: the path of the hips is scaled by the lengths of the legs, heights above the soles with it.
3. All frames are solved at once: every bone of the target looks where the source's does, pelvis and chest turn with it.
4. What stands still in the source stands still in the result, exactly (`lock`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import Roles
from poise.anatomy import roles as find_roles
from poise.errors import InvalidValue, ModelMismatch
from poise.goals import Align, Goal, Orient, Reach
from poise.kinematics import Motion
from poise.kinematics.carrying import Root, find_root
from poise.kinematics.samples import name_angles
from poise.limits import Limit
from poise.model import Model
from poise.motion.bones import BONES, find_axes, find_bone, find_bone_start, find_middle, measure_legs
from poise.motion.finding import contacts as find_contacts
from poise.motion.ledger import Contact, Contacts
from poise.motion.locking import lock, read_contacts
from poise.motion.mapping import Mapping, find_mapping
from poise.motion.measures import Quality
from poise.motion.result import Track
from poise.motion.whole_clip import ClipGoal, Progress, solve_whole
from poise.spatial import Rotation

__all__ = ["Retargeted", "retarget"]

Floats = NDArray[np.float64]
HOLD = 1e-3  # what a displacement from a standing body costs beside a bone's direction
WEIGHTS = {"pelvis": 1.0, "chest": 0.5, "bone": 1.0, "foot": 0.5, "root": 1.0}
SPREADS = (4.0, 1.0)  # of `smooth`
STEPS = 16


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A motion that was carried over onto another body.

    Attributes:
        motion: The motion of the target.
        mapping: Which frames of both bodies were taken for the same part.
        contacts: The contacts that hold, exactly.
        scale: Metres of the target's path for one of the source's.
        track: What was solved, with what was let go.
    """

    motion: Motion
    mapping: Mapping
    contacts: Contacts
    scale: float
    track: Track

    @property
    def quality(self) -> Quality:
        """How good the motion is, judged by the contacts of the source."""
        return self.track.quality

    def why(self) -> str:
        """Return in words what is not exact, and what was left out."""
        lines = [self.track.why()]
        if self.mapping.missing:
            lines.append(f"Only one of both bodies has: {', '.join(self.mapping.missing)}.")
        return "\n".join(lines)

    def __str__(self) -> str:
        words = f"legs set the pace: 1 m of the source is {self.scale:.3f} m"
        return f"{self.mapping.source} on {self.mapping.target}, {len(self.mapping)} parts; {words}\n{self.track}"


def retarget(
    clip: Motion,
    model: Model,
    mapping: Mapping | None = None,
    contacts: Contacts | str = "auto",
    scale: float | str = "auto",
    joints: Sequence[str] | None = None,
    limits: Iterable[Limit] = (),
    smooth: float = 1.0,
    mode: str = "clip",
    progress: Progress | None = None,
) -> Retargeted:
    """Carry a motion over onto another body on two legs.

    Args:
        clip: The motion.
        model: The body to carry it to; it must move freely, as characters do and robots loaded with `base="free"`.
        mapping: Which frames are the same part; found by the roles of both bodies unless given.
        contacts: What stands still in the source; "auto" finds it.
        scale: Metres of the path for one of the source's; "auto" is the ratio of the legs.
        joints: The only joints that may move, such as those of the upper body.
        limits: None yet: the joints' own ranges hold.
        smooth: Over how long changes spread; 1 is a tenth of a second.
        mode: "clip": all frames at once.
        progress: Called with the frames that are done, and all of them.

    Raises:
        InvalidValue: A body has no two legs that can be told, or does not move freely; an option is unknown.
        NameNotFound: The mapping is one of other bodies.
    """
    check_arguments(clip, model, scale, tuple(limits), mode)
    parts = find_mapping(clip, model) if mapping is None else mapping
    parts.check(clip.model, model)
    root = find_root(model)
    if root is None:
        raise InvalidValue(f"model {model.name!r} is fixed to the world: load it with base='free', and it can walk.")
    ledger = find_contacts(clip) if contacts == "auto" else read_contacts(clip, contacts)
    carried = Carrying(clip, model, parts, ledger, scale, root)
    guide, wanted = carried.make_guide(), carried.list_goals()
    start: Floats | None = None
    for spread in SPREADS:  # far first, so that all frames take one branch; then as near as asked
        start = solve_whole(
            guide, wanted, start=start, hold=HOLD, smooth=spread * smooth, joints=joints, steps=STEPS, progress=progress
        ).q
    assert start is not None
    free = Motion(model, start, clip.fps)
    track = lock(free, carried.find_contacts(free), smooth=smooth, joints=joints, progress=progress)
    return Retargeted(track.motion, parts, track.contacts, carried.scale, track)


def check_arguments(clip: Motion, model: Model, scale: float | str, limits: tuple[Limit, ...], mode: str) -> None:
    """Refuse what cannot be retargeted, by name."""
    if not isinstance(clip, Motion) or not len(clip):
        raise InvalidValue(f"clip is {clip!r}; it must be a poise.Motion with a frame.")
    if not isinstance(model, Model):
        hint = f"; type: poise.load({model!r})" if isinstance(model, str) else ""
        raise ModelMismatch(f"model must be a poise.Model, not {type(model).__name__}{hint}.")
    if scale != "auto" and not (isinstance(scale, Real) and np.isfinite(scale) and scale > 0):
        raise InvalidValue(f"scale is {scale!r}; it must be 'auto' or a positive number.")
    if limits:
        raise InvalidValue("limits= cannot be kept over a whole clip yet: the joints' own ranges hold.")
    if mode != "clip":
        raise InvalidValue(f"mode is {mode!r}; a motion is carried over as a whole: mode='clip'.")


class Carrying:
    """What a motion asks of another body, frame by frame, in the target's world."""

    def __init__(
        self, clip: Motion, model: Model, parts: Mapping, ledger: Contacts, scale: float | str, root: Root
    ) -> None:
        self.clip, self.model, self.parts, self.ledger, self.root = clip, model, parts, ledger, root
        self.roles = find_roles(model), find_roles(clip.model)
        self.theirs = {**self.roles[1], **{pair.role: pair.source for pair in parts}}
        self.ours = {**self.roles[0], **{pair.role: pair.target for pair in parts}}
        self.turn = Rotation.between(clip.model.up_direction, model.up_direction).matrix
        legs = measure_legs(model, self.ours) / measure_legs(clip.model, self.theirs)
        self.scale = legs if isinstance(scale, str) else float(scale)
        self.hips = self._scale_hips()
        self.turns = {part: self._turn(part) for part in ("pelvis", "chest")}

    def make_guide(self) -> Motion:
        """Return the target standing where the source is, and turned as it is, at every frame."""
        q = np.tile(self.model.rest, (len(self.clip), 1))
        turns, middle = self.turns["pelvis"], find_middle(self.model, self.ours)
        rest = self.model.fk(self.model.rest, self.ours["pelvis"])
        if turns is None:
            turns = np.tile(rest[:3, :3], (len(q), 1, 1))
        carrier = self.model.fk(self.model.rest, self.root.frame)
        between = rest[:3, :3].T @ carrier[:3, :3]
        R = turns @ between
        to_carrier = rest[:3, :3].T @ (carrier[:3, 3] - rest[:3, 3])
        places = self.hips + turns @ (to_carrier - middle)
        base = self.root.slide.offset.matrix
        q[:, self.root.slide.q.start : self.root.slide.q.start + 3] = (places - base[:3, 3]) @ base[:3, :3]
        own = np.swapaxes(np.tile(base[:3, :3], (len(q), 1, 1)), 1, 2) @ R
        if self.root.turn.quaternion:
            q[:, self.root.turn.q.stop - 4 : self.root.turn.q.stop] = Rotation.from_matrix(own).wxyz
        else:
            at = self.root.turn.q
            q[:, at] = name_angles(Rotation.from_matrix(own), self.root.turn.order, q[:, at])
        return Motion(self.model, q, self.clip.fps)

    def list_goals(self) -> list[ClipGoal]:
        """List what is asked of every frame."""
        middle = tuple(find_middle(self.model, self.ours).tolist())
        out = [self._ask(Reach(self.ours["pelvis"], self.hips[0], point=middle, name="hips"), self.hips, "root")]
        for part, turns in self.turns.items():
            if turns is not None:
                out.append(self._ask(Orient(self.ours[part], turns[0], name=f"{part} turned"), turns, part))
        for root, end in BONES:
            out += [goal for side in "lr" if (goal := self._aim(f"{root}_{side}", f"{end}_{side}")) is not None]
        out += [goal for side in "lr" if (goal := self._aim_foot(side)) is not None]
        return out

    def find_contacts(self, moved: Motion) -> Contacts:
        """Return the contacts of the source as those of the target, on its floor at height 0, where it came to."""
        up, known = self.model.up_direction, self.roles[0].contacts
        found = []
        for contact in self.ledger:
            point = known.get(contact.name) or known.get(f"sole_1_{contact.name[-1:]}")
            if point is None:
                continue
            place = moved[contact.start : contact.end].positions(point.frame, point.point).mean(axis=0)
            place = place - (place @ up) * up + self._rise(contact) * up
            found.append(
                Contact(
                    point.frame,
                    contact.start,
                    contact.end,
                    place=(place[0], place[1], place[2]),
                    point=point.point,
                    name=contact.name,
                )
            )
        return Contacts(tuple(found), len(moved), moved.fps, 0.0)

    def _rise(self, contact: Contact) -> float:
        """How high above the usual ground a contact stands, in the target's world: a stair."""
        up, kind = self.clip.model.up_direction, contact.name.rpartition("_")[0]
        heights = [np.array(c.place) @ up for c in self.ledger if c.name.startswith(kind)]
        own = float(np.array(contact.place) @ up - np.median(heights))
        return self.scale * own if abs(own) > 0.03 else 0.0

    def _scale_hips(self) -> Floats:
        """The path of the middle of the hips: shifts scaled, heights counted from the ankles when they stand."""
        clip, up = self.clip, self.model.up_direction
        middle = find_middle(clip.model, self.theirs)
        hips = clip.positions(self.theirs["pelvis"], middle) @ self.turn.T
        floor = 0.0 if self.ledger.floor is None else self.ledger.floor
        ankle = measure_standing_ankle(clip, self.theirs, self.ledger) - floor
        own = measure_ankle(self.model, self.ours, self.roles[0])
        heights = self.scale * (hips @ up - floor - ankle) + own
        path: Floats = self.scale * hips
        path += np.outer(heights - path @ up, up)
        return path

    def _turn(self, part: str) -> Floats | None:
        theirs, ours = find_axes(self.clip.model, self.theirs, part), find_axes(self.model, self.ours, part)
        if theirs is None or ours is None or part not in self.parts:
            return None
        turned: Floats = self.turn @ self.clip.model.fk(self.clip.q, self.theirs[part])[:, :3, :3] @ theirs @ ours.T
        return turned

    def _aim(self, root: str, end: str) -> ClipGoal | None:
        if root not in self.parts or end not in self.parts:
            return None
        axis = find_bone(self.model, self.ours, root, end)
        first = find_bone_start(self.clip.model, self.theirs, root)
        ways = (self.clip.positions(self.theirs[end]) - self.clip.positions(first)) @ self.turn.T
        lengths = np.linalg.norm(ways, axis=1, keepdims=True)
        if axis is None or lengths.min() <= 0.0:
            return None
        ways = ways / lengths
        return self._ask(Align(self.ours[root], axis, ways[0], name=f"{root} to {end}"), ways, "bone")

    def _aim_foot(self, side: str) -> ClipGoal | None:
        names = f"heel_{side}", f"toe_{side}"
        ours, theirs = self.roles[0].contacts, self.roles[1].contacts
        if any(name not in ours or name not in theirs for name in names) or f"foot_{side}" not in self.parts:
            return None
        ways = self.clip.positions(theirs[names[1]].frame, theirs[names[1]].point)
        ways = (ways - self.clip.positions(theirs[names[0]].frame, theirs[names[0]].point)) @ self.turn.T
        ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        rest = Motion(self.model, self.model.rest[None], 1.0)
        along = rest.positions(ours[names[1]].frame, ours[names[1]].point)[0]
        along = along - rest.positions(ours[names[0]].frame, ours[names[0]].point)[0]
        frame = self.ours[f"foot_{side}"]
        axis = self.model.fk(self.model.rest, frame)[:3, :3].T @ (along / np.linalg.norm(along))
        return self._ask(Align(frame, axis, ways[0], name=f"foot_{side} ahead"), ways, "foot")

    def _ask(self, goal: Goal, targets: Floats, kind: str) -> ClipGoal:
        convert = goal.rows(self.model).convert
        numbers = np.stack([np.asarray(convert(target), dtype=np.float64) for target in targets])
        return ClipGoal(goal, numbers, np.full(len(targets), WEIGHTS[kind]))


def measure_standing_ankle(clip: Motion, names: dict[str, str], ledger: Contacts) -> float:
    """Return how high the ankles of a clip are when they stand: the 20th percentile of their heights in contact."""
    up, heights = clip.model.up_direction, []
    for side in "lr":
        path = clip.positions(names[f"ankle_{side}"]) @ up
        own = [path[c.start : c.end] for c in ledger if c.name.endswith(f"_{side}")]
        heights += own or [path]
    return float(np.percentile(np.concatenate(heights), 20.0))


def measure_ankle(model: Model, names: dict[str, str], roles: Roles) -> float:
    """Return how high the ankles of a body are above its soles."""
    rest, up = Motion(model, model.rest[None], 1.0), model.up_direction
    heights = []
    for side in "lr":
        points = [roles.contacts[n] for n in (f"heel_{side}", f"toe_{side}", f"sole_1_{side}") if n in roles.contacts]
        ankle = rest.positions(names[f"ankle_{side}"])[0] @ up
        heights += [float(ankle - min(rest.positions(p.frame, p.point)[0] @ up for p in points))] if points else []
    return float(np.mean(heights)) if heights else 0.0
