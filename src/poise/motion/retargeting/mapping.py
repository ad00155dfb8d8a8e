"""Mapping: which frame of one body plays the part of which frame of another; a small file that people may correct."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from poise.anatomy import Roles
from poise.anatomy import roles as find_roles
from poise.errors import FormatError, InvalidValue, NameNotFound, name_not_found
from poise.formats.json_files import read_kind
from poise.model import Model
from poise.motion.retargeting.mapping_checks import check_parts
from poise.motion.retargeting.people import NEEDED, choose, list_people, name_person

__all__ = ["Mapping", "Pair", "find_mapping"]

KIND = "poise mapping"
ARM = ("shoulder", "elbow", "wrist")
KINDS = {"quadruped": "it is a quadruped", "many legs": "it has many legs", "two arms": "it has two arms and no legs"}
MAPPED = (
    *("pelvis", "spine_1", "chest", "neck", "head"),
    *(f"{part}_{side}" for part in ("clavicle", *ARM) for side in "lr"),
    *(f"{part}_{side}" for part in ("hip", "knee", "ankle", "foot") for side in "lr"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One part of both bodies.

    Attributes:
        role: The part: "knee_l".
        source: The frame that plays it in the body that moves.
        target: The frame that plays it in the body that the motion is carried to.
    """

    role: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which frames of two bodies are the same part.

    Attributes:
        source: The name of the body that moves.
        target: The name of the body that the motion is carried to.
        pairs: The parts that both have.
        missing: Parts that one of them does not have; they get no goals.
        bodies: Both bodies, by whose frames corrections are checked; None for a mapping that was read from a file.
    """

    source: str
    target: str
    pairs: tuple[Pair, ...]
    missing: tuple[str, ...] = ()
    bodies: tuple[Model, Model] | None = field(default=None, repr=False, compare=False)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, role: object) -> bool:
        return any(pair.role == role for pair in self.pairs)

    @classmethod
    def between(cls, source: Model, target: Model, person: str | None = None) -> Mapping:
        """Return which frames of two bodies are the same part, as `poise.retarget` finds them.

        Args:
            source: The body that moves.
            target: The body that its motion is carried to.
            person: Where one of them is a file of several people, the one that is meant: the frame that carries it, or
                any other of its frames. It is looked for in the body that holds several, whatever the other one's
                frames are called. Where both do, one name cannot tell: give one person of the source,
                `Mapping.between(source.subtree("B_Hips"), target, person="C_Hips")`.

        Raises:
            NameNotFound: There is no such person.
            InvalidValue: One of them has no two known legs; both hold several people.
        """
        for body, what in ((source, "source"), (target, "target")):
            if not isinstance(body, Model):
                raise InvalidValue(f"{what} is of type {type(body).__name__}; it must be a poise.Model.")
        return find_mapping(source, target) if person is None else find_mapping(*choose(source, target, person))

    def find(self, role: str) -> Pair:
        """Return the pair of a role.

        Raises:
            NameNotFound: The mapping has none.
        """
        for pair in self.pairs:
            if pair.role == role:
                return pair
        raise name_not_found("role", role, [pair.role for pair in self.pairs])

    def replace(self, role: str, *, source: str | None = None, target: str | None = None) -> Mapping:
        """Return the mapping with one part corrected: `mapping.replace("chest", target="torso_link")`.

        Raises:
            NameNotFound: The mapping has no such part, or a body no such frame. A mapping that was read from a file
                does not know its bodies: its frames are checked when a motion is carried over.
        """
        old = self.find(role)
        new = Pair(role, self._read_frame(0, role, source, old.source), self._read_frame(1, role, target, old.target))
        return replace(self, pairs=tuple(new if pair.role == role else pair for pair in self.pairs))

    def _read_frame(self, which: int, role: str, given: str | None, old: str) -> str:
        """Return the frame that was given for a part of one of both bodies, or the old one where none was."""
        if given is None:
            return old
        if self.bodies is None:
            return str(given)
        body, side = self.bodies[which], ("source", "target")[which]
        try:
            return body.frame(given).name
        except NameNotFound as error:
            raise NameNotFound(
                f"mapping.replace({role!r}, {side}={given!r}): {body.name!r}: {error}", str(given), error.choices
            ) from error

    def remove(self, role: str) -> Mapping:
        """Return the mapping without one part."""
        self.find(role)
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair.role != role))

    def check(self, source: Model, target: Model) -> None:
        """Refuse a mapping of other bodies, or one whose parts are none, by the first frame that is wrong."""
        seen: set[str] = set()
        for pair in self.pairs:
            if pair.role not in MAPPED:
                raise name_not_found("role", pair.role, MAPPED)
            if pair.role in seen:
                raise InvalidValue(f"the mapping has two pairs for {pair.role!r}; leave one.")
            seen.add(pair.role)
            self._check_frame(source, pair.role, pair.source)
            self._check_frame(target, pair.role, pair.target)
        for role in NEEDED:
            if role not in self:
                raise InvalidValue(f"the mapping has no {role!r}: a motion is carried over by its pelvis and two legs.")
        check_parts(source, {pair.role: pair.source for pair in self.pairs}, "source")
        check_parts(target, {pair.role: pair.target for pair in self.pairs}, "target")

    def _check_frame(self, body: Model, role: str, frame: str) -> None:
        """Refuse a frame that a body does not have: the mapping is one of other bodies."""
        try:
            body.frame(frame)
        except NameNotFound as error:
            raise NameNotFound(
                f"mapping is one of {self.source!r} to {self.target!r}, and {body.name!r} has no frame {frame!r} for "
                f"its {role!r}: {error} Leave mapping= out and it is found, or type mapping.replace({role!r}, ...).",
                frame,
                error.choices,
            ) from error

    def __str__(self) -> str:
        width = max((len(pair.source) for pair in self.pairs), default=0) + 2
        lines = [f"{self.source} to {self.target}: {len(self)} parts"]
        lines += [f"  {pair.role:<12}{pair.source:<{width}}{pair.target}" for pair in self.pairs]
        lines += [f"  missing: {', '.join(self.missing)}"] if self.missing else []
        return "\n".join(lines)

    def plain_values(self) -> dict[str, Any]:
        """Return the mapping as a JSON file holds it."""
        head = {"kind": KIND, "version": 1, "source": self.source, "target": self.target}
        parts = {pair.role: [pair.source, pair.target] for pair in self.pairs}
        return {**head, "parts": parts, "missing": list(self.missing)}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Mapping:
        """Read a mapping that `poise.save` wrote, corrected by hand or not.

        Raises:
            FormatError: The file is missing, or is not a mapping.
        """
        given = read_kind(path, KIND)
        try:
            pairs = tuple(Pair(str(role), str(a), str(b)) for role, (a, b) in given["parts"].items())
            missing = tuple(str(role) for role in given.get("missing", ()))
            return cls(str(given["source"]), str(given["target"]), pairs, missing)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f'has a part that is not "role": ["source", "target"]: {error}.', str(path)) from None


def find_mapping(moving: Model, model: Model) -> Mapping:
    """Return which frames of a body that moves and of a model are the same part, by the roles of both.

    Raises:
        InvalidValue: One of them has no two known legs.
    """
    source, target = find_roles(moving), find_roles(model)
    for body in (moving, model):
        refuse_crowds(body)
    for body, roles in ((moving, source), (model, target)):
        arms = {roles[f"{part}_{side}"] for part in ARM for side in "lr" if f"{part}_{side}" in roles}
        lacking = [role for role in NEEDED if role not in roles or roles[role] in arms]
        if roles.kind in ("quadruped", "many legs") or lacking:
            what = KINDS.get(roles.kind, f"it has no {', '.join(lacking)}")
            raise InvalidValue(
                f"a motion is carried over between bodies with two legs, and {body.name!r} has no two known legs: "
                f"{what}. Give its roles with model.with_roles, or a mapping."
            )
    theirs, ours = (list_apart(roles) for roles in (source, target))
    both = [role for role in MAPPED if role in theirs and role in ours]
    missing = tuple(role for role in MAPPED if (role in theirs) != (role in ours))
    pairs = tuple(Pair(role, source[role], target[role]) for role in both)
    return Mapping(moving.name, model.name, pairs, missing, (moving, model))


def list_apart(roles: Roles) -> set[str]:
    """List the roles of a body without clavicles that are its shoulders too: an arm that begins there has none."""
    return {
        role
        for role, frame in roles.items()
        if not role.startswith("clavicle") or frame != roles.get(role.replace("clavicle", "shoulder"))
    }


def refuse_crowds(body: Model) -> None:
    """Refuse a file with more than one person, by their names."""
    people = [name_person(body, each) for each in list_people(body)]
    if len(people) > 1:
        raise InvalidValue(
            f"{body.name!r} holds {len(people)} people, carried by {', '.join(map(repr, people))}: say which one is "
            f"meant, mapping=poise.Mapping.between(clip.model, model, person={people[1]!r}) (--person {people[1]} for "
            f"the command), or give a file for each."
        )
