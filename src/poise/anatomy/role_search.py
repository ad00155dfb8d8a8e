"""poise.roles: find the frames of a body's parts."""

from dataclasses import replace

import numpy as np

from poise.anatomy.bone_names.matcher import RoleReport, find_roles
from poise.anatomy.evidence import weigh_evidence
from poise.anatomy.four_legs import read_named_quadruped
from poise.anatomy.hands import Hand, find_hands, is_finger_role, is_row
from poise.anatomy.palm_axes import measure_digit
from poise.anatomy.parts import Body
from poise.anatomy.poses import read_best_shape
from poise.anatomy.report import Role, Roles, find_table_place
from poise.anatomy.shape import NO_LEGS, BodyShape
from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch
from poise.kinematics import Motion
from poise.model import Model
from poise.model.memo import MemoSlot

__all__ = ["roles"]

ROLES = MemoSlot[Roles]("roles")


def roles(model: Model, clip: Motion | None = None) -> Roles:
    """Find the frames of a body's parts, such as its left hand, head or right knee, with certainty and evidence.

    Names are compared with the bone names of known tools and read word by word. The shape is read from the rest pose,
    or from a clip if the rest pose does not stand: its symmetry plane, the pairs of limbs on either side, the limbs
    that reach the ground, and their bends. Roles given by the file or by `model.with_roles` have priority.

    Args:
        model: The body.
        clip: A motion of the body, if its rest pose does not stand.

    Raises:
        ModelMismatch: The clip belongs to another model.
    """
    if not isinstance(model, Model):
        raise InvalidValue(f"model must be a Model, such as poise.load returns, not {model!r}.")
    if clip is not None and clip.model != model:
        raise ModelMismatch(
            f"the clip is of {clip.model.name!r}, not of {model.name!r}; give a clip of the model itself."
        )
    if clip is not None:
        return search_roles(model, clip.q)
    if model.subject is not None:
        return roles(model.subject)
    first = None if model.example_poses is None else model.example_poses[:1]
    return model.memo.get(ROLES, lambda: search_roles(model, first))


def search_roles(model: Model, frames: Floats | None) -> Roles:
    """Find the roles by names and by shape, in the rest pose or in frames of a clip, (frames, nq)."""
    stated, names = dict(model.attachments.roles), find_roles(model)
    animal = read_named_quadruped(model, names, frames)
    if animal is not None:
        return describe_animal(model, names, stated, *animal)
    shape = read_best_shape(model, frames)
    weighed, shape = weigh_evidence(model, names, shape)
    found = keep_stated(stated, weighed.found)
    shape = correct_kind(shape, {role.role: role.frame for role in found})
    shape, found, hands = add_hands(shape, found)
    have = {role.role for role in found}
    return Roles(
        model_name=model.name,
        kind=shape.kind,
        scheme=names.scheme if names.is_known else "words" if any("name" in role.evidence for role in found) else "",
        found=tuple(sorted(found, key=lambda role: find_table_place(role.role))),
        notes=tuple(note for note in shape.notes if note.split()[0] not in have),
        disagreements=tuple(weighed.disagreements),
        facing=find_look_direction(shape, weighed.turned),
        ends=tuple(end for end in shape.ends if end.name not in have),
        hands=tuple(hands),
        _seen=shape.body,
    )


def describe_animal(
    model: Model, names: RoleReport, stated: dict[str, str], own: list[Role], body: Body, ahead: Floats
) -> Roles:
    """Return the roles of a quadruped whose bones have the names of a person's, which readers of files state too."""
    kept = [role for role in keep_stated(stated, own) if role in own or names.roles.get(role.role) != role.frame]
    found = tuple(sorted(kept, key=lambda role: find_table_place(role.role)))
    x, y, z = ahead.tolist()
    scheme = names.scheme if names.is_known else "words"
    return Roles(model.name, "quadruped", scheme, found, facing=(x, y, z), _seen=body)


def keep_stated(stated: dict[str, str], found: list[Role]) -> list[Role]:
    """Return the roles corrected by those that a model states or denies."""
    kept = [role for role in found if stated.get(role.role, role.frame) == role.frame]
    have = {role.role for role in kept}
    given = [Role(role, frame, 1.0, "given") for role, frame in stated.items() if frame and role not in have]
    return [*kept, *given]


def add_hands(shape: BodyShape, found: list[Role]) -> tuple[BodyShape, list[Role], list[Hand]]:
    """Return the shape and the roles with those of hands, and the hands.

    Fingers of a hand alone may look like the arms, or the neck, of a body: they lose those roles.
    """
    body, frames = shape.body, {role.role: role.frame for role in found}
    named = any(role.role.startswith("hip") and not role.evidence.startswith("shape") for role in found)
    alone = shape.kind in ("", "two arms") and not any(f"hip_{side}" in frames for side in "lr")
    arms = {side: body.owners[frames[f"hand_{side}"]] for side in "lr" if f"hand_{side}" in frames}
    if shape.kind in ("quadruped", "many legs") and not named:
        alone = all(is_row(body, hand) for hand in find_hands(body, None))
    hands = find_hands(body, None if alone else arms)
    fingers = {k for hand in hands for digit in hand.digits for k in digit.parts}
    wrong = [
        r for r in found if body.owners[r.frame] in fingers and not is_finger_role(r.role) and r.evidence != "given"
    ]
    if alone and wrong and hands[0].kind == "hand":
        found = [r for r in found if r not in wrong and (not shape.kind or r.evidence == "given")]
        shape = replace(shape, kind="", notes=(), ends=(), facing=None)
    if alone and not shape.kind and are_alone(body, hands):
        shape = replace(shape, kind=hands[0].kind, notes=())
    for hand in hands:
        found = [*found, *list_hand_roles(hand, {role.role for role in found})]
    own = [tip for hand in hands for tip in hand.tips.values() if tip.evidence != "frame"]
    return replace(shape, ends=(*shape.ends, *own)), found, hands


def are_alone(body: Body, hands: list[Hand]) -> bool:
    """Return whether a body is nothing but hands: what moves their palms is shorter than their digits."""
    moving = {part.index for part in body.parts if part.joint is not None}
    for hand in hands:
        palm = body.owners[hand.palm]
        above = [k for k in body.list_above(palm) if k in moving]
        moving -= {*above, *(k for digit in hand.digits for k in digit.parts), *body.list_below(palm)}
        places = np.array([body.parts[k].place for k in above]).reshape(-1, 3)
        longest = max(measure_digit(body, list(digit.parts)) for digit in hand.digits)
        if np.linalg.norm(np.diff(places, axis=0), axis=1).sum() > longest:
            return False
    return bool(hands) and not moving


def list_hand_roles(hand: Hand, have: set[str]) -> list[Role]:
    """List the roles of a hand that a body does not have yet; fingers whose bones are named keep those."""
    named = {"_".join((role.split("_")[0], role[-1])) for role in have if is_finger_role(role)}
    out = [
        Role(role, frame, hand.certainty, hand.evidence)
        for role, frame in hand.roles.items()
        if role not in have and "_".join((role.split("_")[0], role[-1])) not in named
    ]
    tips = [tip for tip in hand.tips.values() if tip.evidence == "frame" and tip.name not in have]
    return [*out, *(Role(tip.name, tip.frame, hand.certainty, "the frame at the end of the finger") for tip in tips)]


def correct_kind(shape: BodyShape, found: dict[str, str]) -> BodyShape:
    """Return the shape as a biped if only arms were detected, but legs are named or stated.

    Legs are not detected in poses in which they do not reach the ground or are not symmetric, as in a stride.
    """
    arms = {found.get(f"{part}_{side}") for part in ("shoulder", "elbow", "wrist", "hand") for side in "lr"}
    legs = {found.get(f"{part}_{side}") for part in ("hip", "knee", "ankle") for side in "lr"}
    if shape.kind != "two arms" or None in legs or len(legs) < 6 or legs & arms:
        return shape
    return replace(shape, kind="biped", notes=tuple(note for note in shape.notes if not note.startswith(NO_LEGS)))


def find_look_direction(shape: BodyShape, turned: bool) -> tuple[float, float, float] | None:
    """Return the facing of a body, reversed if `turned`, or None without a symmetry plane."""
    if shape.facing is None:
        return None
    x, y, z = (float(value) for value in (-shape.facing.forward if turned else shape.facing.forward))
    return x, y, z
