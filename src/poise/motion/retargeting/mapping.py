"""Mapping: the frames of two bodies that are the same part, stored in a small file that can be edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from poise.anatomy import Roles
from poise.anatomy import roles as find_roles
from poise.anatomy.people import NEEDED, cut_out, list_people, name_person
from poise.errors import FormatError, InvalidValue, NameNotFound, name_not_found
from poise.files.json_kinds import read_kind
from poise.model import Model
from poise.motion.retargeting.mapping_checks import check_parts

__all__ = ["Mapping", "Pair", "find_mapping"]

KIND = "poise mapping"
ARM = ("shoulder", "elbow", "wrist")
UPPER = ("chest", "shoulder_l", "shoulder_r", "elbow_l", "elbow_r")  # needed of bodies without legs
KINDS = {"quadruped": "it is a quadruped", "many legs": "it has many legs", "two arms": "it has two arms and no legs"}
MAPPED = (
    *("pelvis", "spine_1", "chest", "neck", "head"),
    *(f"{part}_{side}" for part in ("clavicle", *ARM) for side in "lr"),
    *(f"{part}_{side}" for part in ("hip", "knee", "ankle", "foot") for side in "lr"),
)
FOUR_NEEDED = ("pelvis", *(f"{part}_{side}" for part in ("hip", "knee") for side in ("fl", "fr", "hl", "hr")))
FOUR_MAPPED = (
    *("pelvis", "spine_1", "chest", "neck", "head", "clavicle_fl", "clavicle_fr"),
    *(f"{part}_{side}" for part in ("hip", "knee", "ankle", "foot") for side in ("fl", "fr", "hl", "hr")),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One part of both bodies.

    Attributes:
        role: The part: "knee_l".
        source: The frame of this part in the source.
        target: The frame of this part in the target.
    """

    role: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Mapping:
    """The frames of two bodies that are the same part.

    Attributes:
        source: The name of the body that moves.
        target: The name of the body that the motion is retargeted to.
        pairs: The parts that both bodies have.
        missing: The parts that only one of them has; these get no goals.
        bodies: Both bodies, used to check the frames of corrections; None for a mapping read from a file.
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
        """Return the mapping between two bodies that `poise.retarget` uses by default.

        Args:
            source: The body that moves.
            target: The body that the motion is retargeted to.
            person: The person to use if one of the bodies is a file of several people: the root frame of that person,
                or any of its other frames. The name is looked up in the body with several people. If both have
                several, give a single person of the source:
                `Mapping.between(source.subtree("B_Hips"), target, person="C_Hips")`.

        Raises:
            NameNotFound: The person does not exist.
            InvalidValue: A body does not have two known legs, or both contain several people.
        """
        for body, what in ((source, "source"), (target, "target")):
            if not isinstance(body, Model):
                raise InvalidValue(f"{what} is of type {type(body).__name__}; it must be a poise.Model.")
        return find_mapping(source, target) if person is None else find_mapping(*choose_person(source, target, person))

    @property
    def trunk(self) -> Pair:
        """The pair of the trunk: the pelvis, or the chest for bodies without legs."""
        return self.find("pelvis" if "pelvis" in self else "chest")

    @property
    def upper(self) -> bool:
        """Whether it maps the upper body only, because the target has no legs."""
        return "pelvis" not in self

    @property
    def of_hands(self) -> bool:
        """Whether it maps the fingers of one hand to those of another."""
        return "pelvis" not in self and "chest" not in self

    @property
    def four(self) -> bool:
        """Whether it maps a quadruped to another one."""
        return any(pair.role in FOUR_NEEDED[1:] for pair in self)

    def find(self, role: str) -> Pair:
        """Return the pair of a role.

        Raises:
            NameNotFound: The mapping does not have the role.
        """
        for pair in self.pairs:
            if pair.role == role:
                return pair
        raise name_not_found("role", role, [pair.role for pair in self.pairs])

    def replace(self, role: str, *, source: str | None = None, target: str | None = None) -> Mapping:
        """Return the mapping with one part corrected: `mapping.replace("chest", target="torso_link")`.

        Raises:
            NameNotFound: The mapping has no such part, or a body has no such frame. The frames of a mapping read from a
                file are only checked by `poise.retarget`.
        """
        old = self.find(role)
        new = Pair(role, self._read_frame(0, role, source, old.source), self._read_frame(1, role, target, old.target))
        return replace(self, pairs=tuple(new if pair.role == role else pair for pair in self.pairs))

    def _read_frame(self, which: int, role: str, given: str | None, old: str) -> str:
        """Return the frame given for a part of one of the bodies, or the old one if `given` is None."""
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
        """Raise if the mapping does not fit the bodies or its parts are invalid; the error names the wrong frame."""
        seen: set[str] = set()
        for pair in self.pairs:
            if pair.role not in (FOUR_MAPPED if self.four else MAPPED):
                raise name_not_found("role", pair.role, FOUR_MAPPED if self.four else MAPPED)
            if pair.role in seen:
                raise InvalidValue(f"the mapping has two pairs for {pair.role!r}; leave one.")
            seen.add(pair.role)
            self._check_frame(source, pair.role, pair.source)
            self._check_frame(target, pair.role, pair.target)
        for role in FOUR_NEEDED if self.four else UPPER if self.upper else NEEDED:
            if role not in self:
                needs = "a pelvis and two legs, or a chest and two arms"
                raise InvalidValue(
                    f"the mapping has no {role!r}: retargeting needs "
                    f"{'the pelvis and the hips and knees of all four legs' if self.four else needs}."
                )
        check_parts(source, {pair.role: pair.source for pair in self.pairs}, "source")
        check_parts(target, {pair.role: pair.target for pair in self.pairs}, "target")

    def _check_frame(self, body: Model, role: str, frame: str) -> None:
        """Raise `NameNotFound` if a body does not have a frame, because the mapping belongs to other bodies."""
        try:
            body.frame(frame)
        except NameNotFound as error:
            raise NameNotFound(
                f"mapping is one of {self.source!r} to {self.target!r}, and {body.name!r} has no frame {frame!r} for "
                f"its {role!r}: {error} Leave mapping= out to find it, or type mapping.replace({role!r}, ...).",
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
        """Return the content of a JSON file of the mapping."""
        head = {"kind": KIND, "version": 1, "source": self.source, "target": self.target}
        parts = {pair.role: [pair.source, pair.target] for pair in self.pairs}
        return {**head, "parts": parts, "missing": list(self.missing)}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Mapping:
        """Read a mapping from a file written by `poise.save`, possibly edited by hand.

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
    """Return the mapping from a moving body to a model, by the roles of both; of the upper body if it has no legs.

    Raises:
        InvalidValue: A body has neither two known legs nor, as a target, two arms, or contains several people.
    """
    source, target = find_roles(moving), find_roles(model)
    for body in (moving, model):
        refuse_crowds(body)
    if source.kind == target.kind == "quadruped":
        return pair_four_legs(moving, model)
    if target.kind in KINDS and all(role in roles for role in UPPER for roles in (source, target)):
        return pair_roles(moving, model, (role for role in MAPPED if role not in NEEDED))
    for body, roles in ((moving, source), (model, target)):
        arms = {roles[f"{part}_{side}"] for part in ARM for side in "lr" if f"{part}_{side}" in roles}
        lacking = [role for role in NEEDED if role not in roles or roles[role] in arms]
        if roles.kind in ("quadruped", "many legs") or lacking:
            what = KINDS.get(roles.kind, f"it has no {', '.join(lacking)}")
            if target.kind == "quadruped":
                what = KINDS.get(source.kind, "it has two legs" if "hip_l" in source else "it has no known legs")
                raise InvalidValue(
                    f"{model.name!r} is a quadruped, and {moving.name!r} has no four known legs: {what}. Choose a body "
                    "with as many legs, or give the roles hip_fl, knee_fl, ... with model.with_roles, or a mapping."
                )
            raise InvalidValue(
                f"retargeting needs bodies with two legs, or a target with two arms, and {body.name!r} has no two "
                f"known legs: {what}. Choose another body, or give its roles with model.with_roles, or a mapping."
            )
    return pair_roles(moving, model, MAPPED)


def pair_four_legs(moving: Model, model: Model) -> Mapping:
    """Return the mapping between two quadrupeds.

    Raises:
        InvalidValue: A leg has no knee.
    """
    for body in (moving, model):
        lacking = [role for role in FOUR_NEEDED if role not in find_roles(body)]
        if lacking:
            raise InvalidValue(
                f"retargeting to four legs needs all hips and knees, and {body.name!r} has no {', '.join(lacking)}. "
                "Give its roles with model.with_roles, or a mapping."
            )
    return pair_roles(moving, model, FOUR_MAPPED)


def pair_roles(moving: Model, model: Model, roles: Iterable[str]) -> Mapping:
    """Return the mapping of some roles; those that only one body has are missing."""
    source, target, wanted = find_roles(moving), find_roles(model), list(roles)
    theirs, ours = (list_apart(roles) for roles in (source, target))
    both = [role for role in wanted if role in theirs and role in ours]
    known = FOUR_MAPPED if "hip_fl" in both else MAPPED
    missing = tuple(role for role in known if (role in theirs) != (role in ours))
    pairs = tuple(Pair(role, source[role], target[role]) for role in both)
    return Mapping(moving.name, model.name, pairs, missing, (moving, model))


def list_apart(roles: Roles) -> set[str]:
    """List the roles of a body, excluding clavicles that are the same frame as the shoulder."""
    return {
        role
        for role, frame in roles.items()
        if not role.startswith("clavicle") or frame != roles.get(role.replace("clavicle", "shoulder"))
    }


def refuse_crowds(body: Model) -> None:
    """Raise `InvalidValue` if a file contains more than one person; the message lists their names."""
    people = [name_person(body, each) for each in list_people(body)]
    if len(people) > 1:
        raise InvalidValue(
            f"{body.name!r} holds {len(people)} people, carried by {', '.join(map(repr, people))}: say which one is "
            f"meant, mapping=poise.Mapping.between(clip.model, model, person={people[1]!r}) (--person {people[1]} for "
            f"the command), or give a file for each."
        )


def choose_person(source: Model, target: Model, person: str) -> tuple[Model, Model]:
    """Return both bodies, with the one that contains several people reduced to the person that has the frame `person`.

    Raises:
        NameNotFound: The person does not exist.
        InvalidValue: `person` is not a string, or both bodies contain several people.
    """
    if not isinstance(person, str):
        raise InvalidValue(f"person is {person!r}; it must be the name of a frame, such as 'B_Hips', or None.")
    theirs, ours = (list_people(body) for body in (source, target))
    if len(theirs) > 1 and len(ours) > 1:
        one, other = name_person(source, theirs[1]), name_person(target, ours[1])
        raise InvalidValue(
            f"person is {person!r}, but {source.name!r} holds {len(theirs)} people and {target.name!r} {len(ours)}: "
            f"say both, poise.Mapping.between(clip.model.subtree({one!r}), model, person={other!r})."
        )
    if len(theirs) > 1:
        return cut_out(source, find_person(source, theirs, person)), target
    if len(ours) > 1:
        return source, cut_out(target, find_person(target, ours, person))
    if person in source.frames:  # only one person: at most there are objects next to the body
        return source.subtree(person), target
    if person in target.frames:
        return source, target.subtree(person)
    raise name_not_found("person", person, {*source.frames, *target.frames})


def find_person(body: Model, people: Sequence[str], frame: str) -> str:
    """Return the root frame of the person that a frame belongs to."""
    around = (frame, *body.ancestors(frame)) if frame in body.frames else ()
    for each in people:
        if each in around:
            return each
    raise name_not_found("person", frame, [name_person(body, each) for each in people])
