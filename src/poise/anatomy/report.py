"""Roles: the frames of a body's parts, with certainty and evidence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from poise.anatomy.bone_names.matcher import CORE
from poise.anatomy.contacts import ContactPoint, find_contacts, find_touch
from poise.anatomy.hands import Hand
from poise.anatomy.parts import Body
from poise.anatomy.stance_frames import stand_on
from poise.arrays import Floats
from poise.errors import name_not_found

__all__ = ["Role", "Roles", "find_table_place", "is_role_name"]

TRUNK = ("pelvis", "spine_1", "spine_2", "chest", "upper_chest", "neck", "head", "head_top", "eyes", "jaw")
LIMBS = (
    *("clavicle", "shoulder", "elbow", "forearm", "wrist", "hand"),
    *("hip", "knee", "ankle", "foot", "heel", "ball", "toe"),
)
FINGERS_PLACE = 2  # of roles that are neither trunk nor limbs, in tables


@dataclass(frozen=True, slots=True)
class Role:
    """A role and its frame.

    Attributes:
        role: The name of the role, such as "hand_l".
        frame: The frame that has the role.
        certainty: The certainty, 0 to 1.
        evidence: The name, the shape, or both, with the reason.
    """

    role: str
    frame: str
    certainty: float
    evidence: str


@dataclass(frozen=True, repr=False)
class Roles(Mapping[str, str]):
    """The roles of a body: a mapping from role to frame with its evidence. Made by `poise.roles`.

    Attributes:
        model_name: The name of the body.
        kind: "biped", "quadruped", "many legs", "two arms", "hand", "gripper"; "" if the shape is none of them.
        scheme: The tool whose bone names are used; "words" if names were read word by word, "" if they are unknown.
        found: All roles, the trunk first.
        notes: Remarks: parts without a frame of their own, wheels in place of legs.
        disagreements: Disagreements between names and shape, and the one that was followed.
        facing: The direction that the body faces, a unit vector in world coordinates, or None if unknown.
        ends: The ends of limbs and fingers without a frame there, named by their roles; `load` makes frames of them.
        hands: The hands and grippers: kind, side, palm and its axes, digits with bones and tips.
    """

    model_name: str
    kind: str
    scheme: str
    found: tuple[Role, ...]
    notes: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    facing: tuple[float, float, float] | None = None
    ends: tuple[ContactPoint, ...] = ()
    hands: tuple[Hand, ...] = ()
    _seen: Any = field(default=None, compare=False)  # its parts in the pose that was read
    _frames: dict[str, str] = field(init=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._frames.update({role.role: role.frame for role in self.found})

    def __getitem__(self, role: str) -> str:
        if role not in self._frames:
            raise name_not_found("role", role, self._frames)
        return self._frames[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, role: object) -> bool:
        return role in self._frames

    def __hash__(self) -> int:
        return hash((self.model_name, self.found))

    def get(self, role: str, default: Any = None) -> Any:
        """Return the frame of a role, or `default`."""
        return self._frames.get(role, default)

    def role(self, name: str) -> Role:
        """Return a role with its certainty and its evidence.

        Raises:
            NameNotFound: No frame has the role; the message lists the known roles.
        """
        _ = self[name]
        return next(role for role in self.found if role.role == name)

    def list_roles(self, frame: str) -> tuple[str, ...]:
        """Return the roles of a frame."""
        return tuple(role.role for role in self.found if role.frame == frame)

    @cached_property
    def contacts(self) -> Mapping[str, ContactPoint]:
        """The contact points of the body: heel_l, toe_l, the corners sole_1_l to sole_4_l, palm_l, ...

        They come from the solids of feet and hands, else from their meshes (read on first access), else from bones.
        """
        return MappingProxyType(find_contacts(self._frames, self._seen, self._ahead))

    def find_touch(self, frame: str, toes: str | None = None) -> list[ContactPoint]:
        """Return the contact points of any frame, treated as a foot with these toes."""
        return find_touch(self._seen, self._ahead, frame, toes)

    def stand_on(self, foot: str) -> Body:
        """Return the body in a pose in which a foot stands: the pose that was read, or an example pose."""
        return stand_on(self._seen, self._frames, foot)

    @property
    def _ahead(self) -> Floats:
        """The facing of the body, or any horizontal direction if it is unknown."""
        up: Floats = self._seen.up
        return up[[1, 2, 0]] if self.facing is None else np.array(self.facing)

    @property
    def missing(self) -> tuple[str, ...]:
        """The main roles of a biped that the body lacks."""
        return tuple(role for role in CORE if role not in self._frames)

    @property
    def certainty(self) -> float:
        """The mean certainty of the main roles that were found, 0 to 1."""
        main = [role.certainty for role in self.found if role.role in CORE] or [r.certainty for r in self.found]
        return sum(main) / len(main) if main else 0.0

    def __repr__(self) -> str:
        return f"<Roles of {self.model_name!r}: {len(self)} roles, {self.kind or 'no known kind of body'}>"

    def __str__(self) -> str:
        known = {"words": ", names read word by word", "": ""}.get(self.scheme, f", {self.scheme} names")
        lines = [f"{self.model_name}: {self.kind or 'no known kind of body'}{known}, {len(self)} roles"]
        wide = max((len(role.role) for role in self.found), default=0)
        long = max((len(role.frame) for role in self.found), default=0)
        lines += [f"  {r.role:{wide}}  {r.frame:{long}}  {r.certainty:.2f}  {r.evidence}" for r in self.found]
        lines += [f"  {hand}" for hand in self.hands]
        if self.missing and self.kind in ("biped", "two arms", ""):
            lines.append(f"  missing: {', '.join(self.missing)}")
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  names and shape disagree: {words}" for words in self.disagreements]
        return "\n".join(lines)


def is_role_name(name: str) -> bool:
    """Return whether a name means a part of the trunk or of a limb, such as "head" or "hand_l"."""
    return find_table_place(name)[0] < FINGERS_PLACE


def find_table_place(role: str) -> tuple[int, int, str, str]:
    """Return the sort key of a role in tables: trunk, then limbs from the body outwards, then fingers."""
    if role in TRUNK:
        return 0, TRUNK.index(role), "", role
    part, _, side = role.rpartition("_")
    if part in LIMBS:
        return 1, LIMBS.index(part), side, role
    return FINGERS_PLACE, 0, side, role
