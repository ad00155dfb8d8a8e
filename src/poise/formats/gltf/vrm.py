"""Names of VRM's humanoid bones as roles of a body.

Sources: VRM 0.x, https://github.com/vrm-c/vrm-specification/tree/master/specification/0.0; VRM 1.0,
.../specification/VRMC_vrm-1.0/humanoid.md. The two name the bones of the thumb differently.
"""

from __future__ import annotations

__all__ = ["roles_of"]

MIDDLE = {
    "hips": "pelvis",
    "spine": "spine_1",
    "chest": "spine_2",
    "upperChest": "chest",
    "neck": "neck",
    "head": "head",
    "jaw": "jaw",
}
SIDES = {
    "Shoulder": "clavicle",
    "UpperArm": "shoulder",
    "LowerArm": "elbow",
    "Hand": "hand",
    "UpperLeg": "hip",
    "LowerLeg": "knee",
    "Foot": "foot",
    "Toes": "ball",
    "Eye": "eye",
}
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = {"Metacarpal": 0, "Proximal": 1, "Intermediate": 2, "Distal": 3}


def roles_of(bones: dict[str, int]) -> dict[str, int]:
    """Roles such as ``hand_l`` for VRM's bones such as ``leftHand``; names that VRM does not know are left out."""
    table = dict(MIDDLE)
    for side, letter in (("left", "l"), ("right", "r")):
        table |= {f"{side}{bone}": f"{role}_{letter}" for bone, role in SIDES.items()}
        for finger in FINGERS:
            for bone, number in PHALANGES.items():
                table[f"{side}{finger}{bone}"] = f"{finger.lower()}_{max(number, 1)}_{letter}"
    roles: dict[str, int] = {}
    for bone, node in bones.items():
        if bone in table:
            roles.setdefault(table[bone], node)
    if "chest" not in roles and "chest" in bones:
        roles["chest"] = bones["chest"]
    return roles
