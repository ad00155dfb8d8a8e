"""Checks of a mapping: its parts must be different frames, in anatomical order.

If a frame is used for two parts, a knee is above its hip, or a chest carries the legs, bones have no length or the
wrong direction. The error names the wrong pair.
"""

from collections.abc import Iterator
from itertools import pairwise

from poise.errors import InvalidValue
from poise.model import Model
from poise.motion.retargeting.bones import find_left, measure_legs

__all__ = ["check_parts"]

CHAINS = (("hip", "knee", "ankle", "foot"), ("clavicle", "shoulder", "elbow", "wrist"))
SWAPPED_COSINE = -0.5  # between the left directions of hips and shoulders: below it one pair is swapped


def check_parts(model: Model, names: dict[str, str], side: str) -> None:
    """Raise if frames of one body cannot be the parts that they are mapped to.

    Args:
        model: The body.
        names: The frame of each part.
        side: The body of the mapping to check: "source" or "target".

    Raises:
        InvalidValue: A frame is used for two parts of limbs, or parts are in the wrong order.
    """
    wrong = next(find_wrong(model, names), None)
    if wrong is not None:
        role, words = wrong
        needed = role.startswith(("pelvis", "hip", "knee", "ankle"))
        less = "" if needed else f", or mapping.remove({role!r})"
        raise InvalidValue(
            f"mapping: {role!r} of the {side} {model.name!r} is {names[role]!r}, {words} Type "
            f"mapping.replace({role!r}, {side}=...) with the right frame{less}."
        )


def find_wrong(model: Model, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the wrong parts: the role, and the reason."""
    yield from find_shared(names)
    yield from find_disorder(model, names)
    yield from find_turned_trunk(model, names)
    hips, shoulders = find_left(model, names, "hip"), find_left(model, names, "shoulder")
    if hips is not None and shoulders is not None and float(hips @ shoulders) < SWAPPED_COSINE:
        yield "shoulder_l", f"on the other side than {names['hip_l']!r}, its 'hip_l': left and right are swapped."
    if "knee_l" in names and measure_legs(model, names) <= 1e-6 * model.length:
        yield "knee_l", "and its legs have zero length in the rest pose."


def find_shared(names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield limbs that share a frame with another part; an ankle and a foot may, and so may parts of the trunk."""
    seen: dict[str, str] = {}
    for role, frame in names.items():
        other = seen.setdefault(frame, role)
        pair = {other, role}
        foot = {part.rpartition("_")[0] for part in pair} == {"ankle", "foot"} and other[-2:] == role[-2:]
        if other != role and not foot and any(part[-1:] in ("l", "r") and "_" in part for part in pair):
            yield role, f"which is its {other!r} too."


def find_disorder(model: Model, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield parts of limbs that are not descendants of the part before them."""
    for chain in CHAINS:
        for side in ("l", "r", "fl", "fr", "hl", "hr"):
            limb = [f"{part}_{side}" for part in chain if f"{part}_{side}" in names]
            for upper, lower in pairwise(limb):
                if names[upper] not in (names[lower], *model.ancestors(names[lower])):
                    yield lower, f"which {names[upper]!r}, its {upper!r}, does not carry."


def find_turned_trunk(model: Model, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield a chest or pelvis that is further from its limbs than the other is, or a frame wrongly used for both."""
    if "chest" not in names or "pelvis" not in names or "hip_l" not in names:
        return
    pelvis, chest = names["pelvis"], names["chest"]
    arms = [names[role] for role in ("shoulder_l", "shoulder_r") if role in names]
    if pelvis == chest and len({find_first_joint(model, chest, arm) for arm in arms}) < len(arms):
        yield "chest", "which is its 'pelvis' too, but both arms leave the trunk above it."
    for role, own, other, limbs in (
        ("chest", chest, pelvis, arms),
        ("pelvis", pelvis, chest, [names["hip_l"], names["hip_r"]]),
    ):
        if any(count_between(model, own, limb) > count_between(model, other, limb) for limb in limbs):
            kin = "arms" if role == "chest" else "legs"
            yield role, f"which is farther from its {kin} than {other!r}: the trunk is upside down."


def find_first_joint(model: Model, trunk: str, limb: str) -> str:
    """Return the first joint that moves a limb relative to its trunk; links fixed to the trunk belong to it."""
    own = list_moving(model, limb)
    return next((name for name in own[::-1] if name not in list_moving(model, trunk)), limb)


def count_between(model: Model, one: str, other: str) -> int:
    """Count the joints between two frames; frames that are fixed to each other count as one."""
    return len(set(list_moving(model, one)) ^ set(list_moving(model, other)))


def list_moving(model: Model, frame: str) -> list[str]:
    """List the joints that move a frame, the nearest first."""
    return [joint.name for joint in model.joints_above(frame) if joint.nv]
