"""People: files that hold more than one body on two legs, and the one of them that is meant."""

from __future__ import annotations

from collections.abc import Iterator

from poise.anatomy import roles as find_roles
from poise.errors import InvalidValue, name_not_found
from poise.kinematics.carriers import find_first
from poise.kinematics.samples import TURNS_FREELY
from poise.model import Model
from poise.model.derive import remodel, with_subject
from poise.model.memo import MemoSlot, MemoTable
from poise.model.spec import FrameSpec, JointSpec

__all__ = ["NEEDED", "choose", "cut_out", "find_carrier", "list_carried", "list_people", "name_person", "single_out"]

PEOPLE = MemoSlot[list[str]]("people")
ALONE = MemoTable[str, Model]("the whole model with the roles of one person")
CUT_OUT = MemoTable[str, Model]("models of one person")
NEEDED = ("pelvis", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r")


def choose(source: Model, target: Model, person: str) -> tuple[Model, Model]:
    """Return both bodies, that of several people cut down to the one that a frame is a part of.

    Raises:
        NameNotFound: The person does not exist.
        InvalidValue: The person is not given by a name, or both bodies hold several people.
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
    if person in source.frames:  # no crowd: at most there are things next to the body
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
    raise name_not_found("person", frame, [name_person(body, each) for each in people])


def list_people(model: Model) -> list[str]:
    """List the frames that carry a body with two legs through the world, where a file holds more than one body."""
    return model.memo.get(PEOPLE, lambda: list(find_people(model))).copy()


def name_person(model: Model, carrier: str) -> str:
    """Return what people call a person: the bone that its root turns, not the joint that slides it there."""
    slides = any(joint.frame == carrier and joint.kind == "translation3" for joint in model.joints)
    turned = [joint.frame for joint in model.joints if joint.parent == carrier and joint.kind in TURNS_FREELY]
    return turned[0] if slides and len(turned) == 1 else carrier


def find_people(model: Model) -> Iterator[str]:
    """Find the frames that carry a body with two legs, where more than one joint is moved by nothing else."""
    first = find_first(model)
    for joint in first if len(first) > 1 else []:
        roles = find_roles(cut_out(model, joint.frame))
        if all(role in roles for role in NEEDED):
            yield joint.frame


def single_out(model: Model, frame: str) -> Model:
    """Return a model whose roles and contact points are those of the person that a frame belongs to.

    Others in the same file, and things next to it such as cameras, change nothing about it.
    """
    people = list_people(model)
    person = next((each for each in people if each in (frame, *model.ancestors(frame))), None)
    if len(people) < 2:
        person = find_body(model, frame)
    if person is None:
        return model
    return model.memo.look_up(ALONE, person, lambda: leave_alone(model, person))


def find_body(model: Model, frame: str) -> str | None:
    """Return the frame that carries the body that a frame is a part of; None if it is alone."""
    carrier = find_carrier(model, frame)
    if carrier is None or not set(model.frames) - list_carried(model, carrier) - set(model.ancestors(carrier)):
        return None
    return carrier if dict(find_roles(cut_out(model, carrier))) == dict(find_roles(model)) else None


def find_carrier(model: Model, frame: str) -> str | None:
    """Return the nearest frame that slides and carries a frame with all parts of its body; None where none does.

    There are rigs whose legs do not hang on the pelvis: what carries that alone is not meant.
    """
    parts = find_roles(model).values()
    ways = [joint.frame for joint in model.joints_above(frame) if joint.kind in ("free", "translation3")]
    return next((each for each in ways if list_carried(model, each).issuperset(parts)), None)


def list_carried(model: Model, frame: str) -> set[str]:
    """List a frame and all that it carries."""
    return {name for name in model.frames if frame in (name, *model.ancestors(name))}


def leave_alone(model: Model, person: str) -> Model:
    """Return a model in which only what one person's own frames play has roles: those that it has by itself."""
    subject = cut_out(model, person)
    return with_subject(model.with_roles({**dict.fromkeys(find_roles(model)), **find_roles(subject)}), subject)


def cut_out(model: Model, person: str) -> Model:
    """Return one person of several as a model of its own, with the joints that carry it, and as a clip showed it."""
    return model.memo.look_up(CUT_OUT, person, lambda: make_alone(model, person))


def make_alone(model: Model, person: str) -> Model:
    """Return the frames under one frame, and those above it."""
    frames = {*model.subtree(person).frames, person, *model.ancestors(person)}
    return remodel(model, [spec for spec in model.layout.specs if name_frame(spec) in frames])


def name_frame(spec: JointSpec | FrameSpec) -> str:
    """Return the frame that a spec makes."""
    return spec.frame if isinstance(spec, JointSpec) else spec.name
