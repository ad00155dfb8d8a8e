"""Mapping: which frame of one body plays the part of which frame of another; a small file that people may correct."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike

from poise.anatomy import Roles
from poise.anatomy import roles as find_roles
from poise.errors import FormatError, InvalidValue, NameNotFound, name_not_found
from poise.kinematics.carrying import find_first
from poise.model import Model
from poise.motion.ledger import read_kind
from poise.motion.mapping_checks import check_parts

__all__ = ["Mapping", "Pair", "find_mapping"]

KIND = "poise mapping"
NEEDED = ("pelvis", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r")
ARM = ("shoulder", "elbow", "wrist")
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
        missing: Parts that one of them does not have, which nothing is asked of.
    """

    source: str
    target: str
    pairs: tuple[Pair, ...]
    missing: tuple[str, ...] = ()

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
            InvalidValue: One of them does not walk on two legs that can be told; both hold several people.
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
        """Return the mapping with one part corrected: `mapping.replace("chest", target="torso_link")`."""
        old = self.find(role)
        new = Pair(role, source or old.source, target or old.target)
        return replace(self, pairs=tuple(new if pair.role == role else pair for pair in self.pairs))

    def remove(self, role: str) -> Mapping:
        """Return the mapping without one part: nothing is asked of it."""
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
                f"its {role!r}. Leave mapping= out and it is found, or type mapping.replace({role!r}, ...)."
            ) from error

    def __str__(self) -> str:
        width = max((len(pair.source) for pair in self.pairs), default=0) + 2
        lines = [f"{self.source} to {self.target}: {len(self)} parts"]
        lines += [f"  {pair.role:<12}{pair.source:<{width}}{pair.target}" for pair in self.pairs]
        lines += [f"  missing: {', '.join(self.missing)}"] if self.missing else []
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the mapping as the text of a JSON file, one part a line."""
        rows = [f"  {json.dumps(pair.role)}: {json.dumps([pair.source, pair.target])}" for pair in self.pairs]
        head = json.dumps({"kind": KIND, "version": 1, "source": self.source, "target": self.target})
        return head[:-1] + ', "parts": {\n' + ",\n".join(rows) + "\n}}\n"

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Mapping:
        """Read a mapping that `poise.save` wrote, corrected by hand or not.

        Raises:
            FormatError: The file is missing, or is not a mapping.
        """
        given = read_kind(path, KIND)
        try:
            pairs = tuple(Pair(str(role), str(a), str(b)) for role, (a, b) in given["parts"].items())
            return cls(str(given["source"]), str(given["target"]), pairs)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f'has a part that is not "role": ["source", "target"]: {error}.', str(path)) from None


def find_mapping(moving: Model, model: Model) -> Mapping:
    """Return which frames of a body that moves and of a model are the same part, by the roles of both.

    Raises:
        InvalidValue: One of them does not walk on two legs that can be told.
    """
    source, target = find_roles(moving), find_roles(model)
    for body in (moving, model):
        refuse_crowds(body)
    for body, roles in ((moving, source), (model, target)):
        arms = {roles[f"{part}_{side}"] for part in ARM for side in "lr" if f"{part}_{side}" in roles}
        lacking = [role for role in NEEDED if role not in roles or roles[role] in arms]
        if roles.kind not in ("biped", "") or lacking:
            what = f"it is a {roles.kind}" if roles.kind not in ("biped", "") else f"it has no {', '.join(lacking)}"
            raise InvalidValue(
                f"a motion is carried over between bodies with two legs, and {body.name!r} is none that can be told: "
                f"{what}. Give its roles with model.with_roles, or a mapping."
            )
    theirs, ours = (list_apart(roles) for roles in (source, target))
    both = [role for role in MAPPED if role in theirs and role in ours]
    missing = tuple(role for role in MAPPED if (role in theirs) != (role in ours))
    pairs = tuple(Pair(role, source[role], target[role]) for role in both)
    return Mapping(moving.name, model.name, pairs, missing)


def list_apart(roles: Roles) -> set[str]:
    """List the roles of a body without clavicles that are its shoulders too: an arm that begins there has none."""
    return {
        role
        for role, frame in roles.items()
        if not role.startswith("clavicle") or frame != roles.get(role.replace("clavicle", "shoulder"))
    }


def refuse_crowds(body: Model) -> None:
    """Refuse a file with more than one person, by their names."""
    people = list_people(body)
    if len(people) > 1:
        raise InvalidValue(
            f"{body.name!r} holds {len(people)} people, carried by {', '.join(map(repr, people))}: say which one is "
            f"meant, mapping=poise.Mapping.between(clip.model, model, person={people[1]!r}) (--person {people[1]} for "
            f"the command), or give a file for each."
        )


def choose(source: Model, target: Model, person: str) -> tuple[Model, Model]:
    """Return both bodies, that of several people cut down to the one that a frame is a part of.

    Raises:
        NameNotFound: There is no such person.
        InvalidValue: The person is not given by a name, or both bodies hold several people.
    """
    if not isinstance(person, str):
        raise InvalidValue(f"person is {person!r}; it must be the name of a frame, such as 'B_Hips', or None.")
    theirs, ours = (list_people(body) for body in (source, target))
    if len(theirs) > 1 and len(ours) > 1:
        raise InvalidValue(
            f"person is {person!r}, but {source.name!r} holds {len(theirs)} people and {target.name!r} {len(ours)}: "
            f"say both, poise.Mapping.between(clip.model.subtree({theirs[1]!r}), model, person={ours[1]!r})."
        )
    if len(theirs) > 1:
        return source.subtree(find_person(source, theirs, person)), target
    if len(ours) > 1:
        return source, target.subtree(find_person(target, ours, person))
    if person in source.frames:  # no crowd: at most there are things beside the body
        return source.subtree(person), target
    if person in target.frames:
        return source, target.subtree(person)
    raise name_not_found("person", person, {*source.frames, *target.frames})


def find_person(body: Model, people: list[str], frame: str) -> str:
    """Return the one of several people that a frame is a part of."""
    around = (frame, *body.ancestors(frame)) if frame in body.frames else ()
    for each in people:
        if each in around:
            return each
    raise name_not_found("person", frame, people)


def list_people(model: Model) -> list[str]:
    """List the frames that carry a body with two legs through the world, where a file holds more than one body."""
    people: tuple[str, ...] = model.keep("people", lambda: tuple(find_people(model)))
    return list(people)


def find_people(model: Model) -> Iterator[str]:
    """Find the frames that carry a body with two legs, where more than one joint is moved by nothing else."""
    first = find_first(model)
    for joint in first if len(first) > 1 else []:
        roles = find_roles(model.subtree(joint.frame))
        if all(role in roles for role in NEEDED):
            yield joint.frame


def single_out(model: Model, frame: str) -> Model:
    """Return a model of several people in which only the one that a frame is a part of has roles."""
    people = list_people(model)
    person = next((each for each in people if each in (frame, *model.ancestors(frame))), None)
    if len(people) < 2 or person is None:
        return model
    alone: Model = model.keep(f"only {person}", lambda: leave_alone(model, person))
    return alone


def leave_alone(model: Model, person: str) -> Model:
    """Return a model in which only what one person's own frames play has roles."""
    return model.with_roles({**dict.fromkeys(find_roles(model)), **find_roles(model.subtree(person))})
