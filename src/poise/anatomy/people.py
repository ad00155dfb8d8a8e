"""People: select one person in files that contain more than one body with two legs."""

from poise.anatomy.role_search import roles as find_roles
from poise.kinematics.carriers import find_first
from poise.kinematics.samples import TURNS_FREELY
from poise.model import Model
from poise.model.derive import list_specs, remodel, with_subject
from poise.model.layout import name_frame
from poise.model.memo import keep_with_model

__all__ = ["NEEDED", "cut_out", "find_carrier", "list_carried", "list_people", "name_person", "single_out"]

NEEDED = ("pelvis", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r")


@keep_with_model
def list_people(model: Model) -> tuple[str, ...]:
    """List the root frames of bodies with two legs; empty unless a file contains more than one root joint."""
    first = find_first(model)
    bodies = [joint.frame for joint in first if len(first) > 1]
    return tuple(each for each in bodies if find_roles(cut_out(model, each)).keys() >= set(NEEDED))


def name_person(model: Model, carrier: str) -> str:
    """Return the usual name of a person: the bone that its root rotates, not the joint that translates it."""
    slides = any(joint.frame == carrier and joint.kind == "translation3" for joint in model.joints)
    turned = [joint.frame for joint in model.joints if joint.parent == carrier and joint.kind in TURNS_FREELY]
    return turned[0] if slides and len(turned) == 1 else carrier


def single_out(model: Model, frame: str) -> Model:
    """Return a model whose roles and contact points are those of the person that a frame belongs to.

    Other people in the same file, and objects such as cameras, have no effect on it.
    """
    people = list_people(model)
    person = next((each for each in people if each in (frame, *model.ancestors(frame))), None)
    if len(people) < 2:
        person = find_body(model, frame)
    if person is None:
        return model
    return leave_alone(model, person)


def find_body(model: Model, frame: str) -> str | None:
    """Return the root frame of the body that a frame belongs to; None if the file contains nothing else."""
    carrier = find_carrier(model, frame)
    if carrier is None or not set(model.frames) - list_carried(model, carrier) - set(model.ancestors(carrier)):
        return None
    return carrier if dict(find_roles(cut_out(model, carrier))) == dict(find_roles(model)) else None


def find_carrier(model: Model, frame: str) -> str | None:
    """Return the nearest translating frame above a frame that moves all parts of its body, or None.

    In some rigs the legs are not descendants of the pelvis: a frame that moves the pelvis alone is skipped.
    """
    parts = find_roles(model).values()
    ways = [joint.frame for joint in model.joints_above(frame) if joint.kind in ("free", "translation3")]
    return next((each for each in ways if list_carried(model, each).issuperset(parts)), None)


def list_carried(model: Model, frame: str) -> set[str]:
    """List a frame and its descendants."""
    return {name for name in model.frames if frame in (name, *model.ancestors(name))}


@keep_with_model
def leave_alone(model: Model, person: str) -> Model:
    """Return the whole model with the roles of one person only, found without the other people."""
    subject = cut_out(model, person)
    return with_subject(model.with_roles({**dict.fromkeys(find_roles(model)), **find_roles(subject)}), subject)


@keep_with_model
def cut_out(model: Model, person: str) -> Model:
    """Return one person of several as a separate model, with its parent joints and its example poses."""
    frames = {*model.subtree(person).frames, person, *model.ancestors(person)}
    return remodel(model, [spec for spec in list_specs(model) if name_frame(spec) in frames])
