"""The bone names of tools and data sets, and their roles.

A role is named as in the built-in humanoid: `hand_l`, `foot_r`, `pelvis`, `spine_1`. A bone's frame is at its start, so
the upper arm bone is at the shoulder and has the role `shoulder_l`. A hand bone starts at the wrist and carries the
hand: it has both roles. In the names ``{}`` is the side, ``{f}`` a finger, ``{k}`` a count.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["CORE", "PARENTS", "SCHEMES", "Scheme"]

FINGERS = ("thumb", "index", "middle", "ring", "little")

# the main roles of a body, and the parent of each role, independent of the root of the body
CORE = (
    "pelvis",
    "head",
    *(f"{part}_{side}" for part in ("shoulder", "elbow", "hand", "hip", "knee", "foot") for side in "lr"),
)
PARENTS = {
    "head_top": "head",
    "shoulder": "clavicle",
    "elbow": "shoulder",
    "wrist": "elbow",
    "hand": "elbow",
    "knee": "hip",
    "ankle": "knee",
    "foot": "knee",
    "ball": "ankle",
    "toe": "ankle",
}


@dataclass(frozen=True)
class Scheme:
    """The bone names of one tool.

    Attributes:
        name: The name of the tool.
        sides: The spelling of left and right.
        middle: Bones of the trunk: name to roles.
        limbs: Bones with a side: name to parts of roles, ``hand`` for `hand_l` and `hand_r`.
        spine: Bones of the back from below, of which some may be missing: the first is `spine_1`, the last `chest`.
        finger: The name of a finger's bones, from the palm outwards.
        fingers: The spelling of thumb, index, middle, ring and little finger.
        counts: The numbering of the bones of a finger.
    """

    name: str
    sides: tuple[str, str]
    middle: Mapping[str, str]
    limbs: Mapping[str, str]
    spine: tuple[str, ...] = ()
    finger: str = ""
    fingers: tuple[str, ...] = ("Thumb", "Index", "Middle", "Ring", "Pinky")
    counts: tuple[str, ...] = ("1", "2", "3")
    names: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for name, roles in self._pairs():
            self.names[name] = (*self.names.get(name, ()), *roles)

    def _pairs(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name, roles in self.middle.items():
            yield name, tuple(roles.split())
        for name in self.spine:
            yield name, ()
        for written, side in zip(self.sides, "lr", strict=True):
            for name, parts in self.limbs.items():
                yield name.replace("{}", written), tuple(f"{part}_{side}" for part in parts.split())
            for finger, word in zip(FINGERS, self.fingers, strict=True):
                for k, count in enumerate(self.counts, 1):
                    if self.finger:
                        bone = self.finger.replace("{}", written).replace("{f}", word).replace("{k}", count)
                        yield bone, (f"{finger}_{k}_{side}",)


ARM = {"{}Shoulder": "clavicle", "{}Arm": "shoulder", "{}ForeArm": "elbow", "{}Hand": "wrist hand"}
LEG = {"{}UpLeg": "hip", "{}Leg": "knee", "{}Foot": "ankle foot"}
LEFT_RIGHT = ("Left", "Right")
POISE_PARTS = (
    *("clavicle", "shoulder", "elbow", "forearm", "wrist", "hand", "fingertip", "thumb"),
    *("hip", "knee", "ankle", "ball", "foot", "heel", "toe"),
)

SCHEMES = (
    Scheme(
        "Mixamo",
        LEFT_RIGHT,
        {"Hips": "pelvis", "Neck": "neck", "Head": "head", "HeadTop_End": "head_top"},
        ARM | LEG | {"{}ToeBase": "ball toe", "{}Toe_End": "", "{}Eye": "eye"},
        spine=("Spine", "Spine1", "Spine2", "Spine3"),
        finger="{}Hand{f}{k}",
    ),
    Scheme(
        "CMU",
        LEFT_RIGHT,
        {"Hips": "pelvis", "LowerBack": "spine_1", "Spine": "spine_2", "Spine1": "chest", "Neck": "neck"}
        | {"Neck1": "", "Head": "head", "LHipJoint": "", "RHipJoint": "", "LThumb": "", "RThumb": ""},
        ARM | LEG | {"{}ToeBase": "ball toe", "{}FingerBase": "", "{}HandIndex1": "fingertip"},
    ),
    Scheme(
        "CMU (ASF)",
        ("l", "r"),
        {"root": "pelvis", "lowerback": "spine_1", "upperback": "spine_2", "thorax": "chest", "lowerneck": "neck"}
        | {"upperneck": "", "head": "head"},
        {"{}clavicle": "clavicle", "{}humerus": "shoulder", "{}radius": "elbow", "{}wrist": "wrist", "{}hand": "hand"}
        | {"{}fingers": "fingertip", "{}thumb": "thumb", "{}hipjoint": "", "{}femur": "hip", "{}tibia": "knee"}
        | {"{}foot": "ankle foot", "{}toes": "ball toe"},
    ),
    Scheme(
        "LAFAN1",
        LEFT_RIGHT,
        {"Hips": "pelvis", "Neck": "neck", "Head": "head"},
        ARM | LEG | {"{}Toe": "ball toe"},
        spine=("Spine", "Spine1", "Spine2"),
    ),
    Scheme(
        "Rokoko",
        LEFT_RIGHT,
        {"Hips": "pelvis", "Neck": "neck", "Head": "head", "HeadTop": "head_top"},
        ARM | {"{}Thigh": "hip", "{}Shin": "knee", "{}Foot": "ankle foot", "{}Toe": "ball toe", "{}ToeEnd": ""},
        spine=("Spine1", "Spine2", "Spine3", "Spine4"),
        finger="{}Finger{f}{k}",
        fingers=("1", "2", "3", "4", "5"),
        counts=("Metacarpal", "Proximal", "Distal"),
    ),
    Scheme(
        "Xsens",
        LEFT_RIGHT,
        {"Hips": "pelvis", "Neck": "neck", "Head": "head"},
        {"{}Collar": "clavicle", "{}Shoulder": "shoulder", "{}Elbow": "elbow", "{}Wrist": "wrist hand"}
        | {"{}Hip": "hip", "{}Knee": "knee", "{}Ankle": "ankle foot", "{}Toe": "ball toe"},
        spine=("Chest", "Chest2", "Chest3", "Chest4"),
    ),
    Scheme(
        "Xsens (MVN)",
        LEFT_RIGHT,
        {"Pelvis": "pelvis", "Neck": "neck", "Head": "head"},
        {"{}Shoulder": "clavicle", "{}UpperArm": "shoulder", "{}ForeArm": "elbow", "{}Hand": "wrist hand"}
        | {"{}UpperLeg": "hip", "{}LowerLeg": "knee", "{}Foot": "ankle foot", "{}Toe": "ball toe"},
        spine=("L5", "L3", "T12", "T8"),
    ),
    Scheme(
        "VRM",
        ("left", "right"),
        {"hips": "pelvis", "spine": "spine_1", "chest": "chest", "upperChest": "upper_chest", "neck": "neck"}
        | {"head": "head", "jaw": "jaw"},
        {"{}Shoulder": "clavicle", "{}UpperArm": "shoulder", "{}LowerArm": "elbow", "{}Hand": "wrist hand"}
        | {"{}UpperLeg": "hip", "{}LowerLeg": "knee", "{}Foot": "ankle foot", "{}Toes": "ball toe", "{}Eye": "eye"}
        | {"{}ThumbMetacarpal": "thumb_1"},
        finger="{}{f}{k}",
        fingers=("Thumb", "Index", "Middle", "Ring", "Little"),
        counts=("Proximal", "Intermediate", "Distal"),
    ),
    Scheme(
        "VRM (VRoid)",
        ("L", "R"),
        {"J_Bip_C_Hips": "pelvis", "J_Bip_C_Spine": "spine_1", "J_Bip_C_Chest": "chest"}
        | {"J_Bip_C_UpperChest": "upper_chest", "J_Bip_C_Neck": "neck", "J_Bip_C_Head": "head"},
        {"J_Bip_{}_Shoulder": "clavicle", "J_Bip_{}_UpperArm": "shoulder", "J_Bip_{}_LowerArm": "elbow"}
        | {"J_Bip_{}_Hand": "wrist hand", "J_Bip_{}_UpperLeg": "hip", "J_Bip_{}_LowerLeg": "knee"}
        | {"J_Bip_{}_Foot": "ankle foot", "J_Bip_{}_ToeBase": "ball toe", "J_Adj_{}_FaceEye": "eye"},
        finger="J_Bip_{}_{f}{k}",
        fingers=("Thumb", "Index", "Middle", "Ring", "Little"),
    ),
    Scheme(
        "Unreal",
        ("l", "r"),
        {"pelvis": "pelvis", "neck_01": "neck", "neck_02": "", "head": "head", "root": ""},
        {"clavicle_{}": "clavicle", "upperarm_{}": "shoulder", "lowerarm_{}": "elbow", "hand_{}": "wrist hand"}
        | {"thigh_{}": "hip", "calf_{}": "knee", "foot_{}": "ankle foot", "ball_{}": "ball toe"},
        spine=("spine_01", "spine_02", "spine_03", "spine_04", "spine_05"),
        finger="{f}_{k}_{}",
        fingers=("thumb", "index", "middle", "ring", "pinky"),
        counts=("01", "02", "03"),
    ),
    Scheme(
        "Rigify",
        ("L", "R"),
        {"spine": "pelvis", "spine.001": "spine_1", "spine.002": "spine_2", "spine.003": "chest"}
        | {"spine.004": "neck", "spine.005": "", "spine.006": "head"},
        {"shoulder.{}": "clavicle", "upper_arm.{}": "shoulder", "forearm.{}": "elbow", "hand.{}": "wrist hand"}
        | {"thigh.{}": "hip", "shin.{}": "knee", "foot.{}": "ankle foot", "toe.{}": "ball toe", "eye.{}": "eye"}
        | {"heel.02.{}": "heel", "pelvis.{}": "", "breast.{}": ""}
        | {f"thumb.0{k}.{{}}": f"thumb_{k}" for k in (1, 2, 3)},
        finger="f_{f}.{k}.{}",
        fingers=("thumb", "index", "middle", "ring", "pinky"),
        counts=("01", "02", "03"),
    ),
    Scheme(
        "SMPL",
        ("left", "right"),
        {"pelvis": "pelvis", "neck": "neck", "head": "head", "jaw": "jaw"},
        {
            "{}_collar": "clavicle",
            "{}_shoulder": "shoulder",
            "{}_elbow": "elbow",
            "{}_wrist": "wrist",
            "{}_hand": "hand",
        }
        | {"{}_hip": "hip", "{}_knee": "knee", "{}_ankle": "ankle", "{}_foot": "foot ball toe"},
        spine=("spine1", "spine2", "spine3"),
        finger="{}_{f}{k}",
        fingers=("thumb", "index", "middle", "ring", "pinky"),
    ),
    Scheme(
        "SOMA",  # a leg is the thigh; the first bone of four fingers is in the palm
        LEFT_RIGHT,
        {"Root": "", "Hips": "pelvis", "Neck1": "neck", "Neck2": "", "Head": "head", "HeadEnd": "head_top"}
        | {"Jaw": "jaw"},
        {"{}Shoulder": "clavicle", "{}Arm": "shoulder", "{}ForeArm": "elbow", "{}Hand": "wrist hand", "{}Eye": "eye"}
        | {"{}Leg": "hip", "{}Shin": "knee", "{}Foot": "ankle foot", "{}ToeBase": "ball toe", "{}ToeEnd": ""}
        | {f"{{}}HandThumb{k}": f"thumb_{k}" for k in (1, 2, 3)}
        | {f"{{}}Hand{f}1": "" for f in ("Index", "Middle", "Ring", "Pinky")}
        | {f"{{}}Hand{f}{k + 1}": f"{f.lower()}_{k}" for f in ("Index", "Middle", "Ring") for k in (1, 2, 3)}
        | {f"{{}}HandPinky{k + 1}": f"little_{k}" for k in (1, 2, 3)},
        spine=("Spine1", "Spine2", "Chest"),
    ),
    Scheme(
        "SMPL (L_, R_)",
        ("L", "R"),
        {"Pelvis": "pelvis", "Neck": "neck", "Head": "head", "Jaw": "jaw", "Torso": "spine_1", "Chest": "chest"},
        {"{}_Collar": "clavicle", "{}_Thorax": "clavicle", "{}_Shoulder": "shoulder", "{}_Elbow": "elbow"}
        | {"{}_Wrist": "wrist", "{}_Hand": "hand", "{}_Hip": "hip", "{}_Knee": "knee", "{}_Ankle": "ankle"}
        | {"{}_Foot": "foot", "{}_Toe": "ball toe"},
        spine=("Spine1", "Spine2", "Spine3"),
    ),
    Scheme(
        "3ds Max Biped",
        ("L", "R"),
        {"Pelvis": "pelvis", "Neck": "neck", "Head": "head"},
        {"{} Clavicle": "clavicle", "{} UpperArm": "shoulder", "{} Forearm": "elbow", "{} Hand": "wrist hand"}
        | {"{} Thigh": "hip", "{} Calf": "knee", "{} Foot": "ankle foot", "{} Toe0": "ball toe"},
        spine=("Spine", "Spine1", "Spine2", "Spine3"),
    ),
    Scheme(
        "Poise",
        ("l", "r"),
        {name: name for name in ("pelvis", "spine_1", "spine_2", "chest", "neck", "head", "head_top", "eyes")},
        {f"{part}_{{}}": part for part in POISE_PARTS},
    ),
)
