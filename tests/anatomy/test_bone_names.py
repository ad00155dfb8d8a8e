"""Bone names to roles: the tables, prefixes and spellings, words, trees that contradict a name."""

from collections.abc import Callable
from pathlib import Path

import pytest

import poise
from poise.anatomy.bone_names.matcher import find_bone_roles, find_roles
from poise.anatomy.bone_names.schemes import CORE, SCHEMES, Scheme
from poise.anatomy.bone_names.words import find_word_roles
from poise.files.source import Source
from poise.formats.roles import give_roles
from poise.model import ModelBuilder

# how skeletons are really written, bone to role: from the makers' documents and data sets
WRITTEN = {
    "Mixamo": "mixamorig:Hips=pelvis mixamorig:Spine=spine_1 mixamorig:Spine2=chest mixamorig:Head=head "
    "mixamorig:LeftShoulder=clavicle_l mixamorig:LeftArm=shoulder_l mixamorig:LeftForeArm=elbow_l "
    "mixamorig:LeftHand=hand_l mixamorig:RightUpLeg=hip_r mixamorig:RightLeg=knee_r mixamorig:RightFoot=foot_r "
    "mixamorig:RightToeBase=toe_r mixamorig:LeftHandIndex1=index_1_l",
    "CMU": "Hips=pelvis LHipJoint= LeftUpLeg=hip_l LeftLeg=knee_l LeftFoot=foot_l LeftToeBase=toe_l LowerBack=spine_1 "
    "Spine=spine_2 Spine1=chest Neck=neck Neck1= Head=head LeftArm=shoulder_l LeftForeArm=elbow_l LeftHand=hand_l "
    "RightHand=hand_r RightFoot=foot_r LThumb=",
    "CMU (ASF)": "root=pelvis lowerback=spine_1 thorax=chest head=head lhumerus=shoulder_l lradius=elbow_l "
    "lwrist=wrist_l lhand=hand_l rfemur=hip_r rtibia=knee_r rfoot=foot_r rtoes=toe_r",
    "LAFAN1": "Hips=pelvis LeftUpLeg=hip_l LeftLeg=knee_l LeftFoot=foot_l LeftToe=toe_l Spine=spine_1 Spine1=spine_2 "
    "Spine2=chest Neck=neck Head=head LeftShoulder=clavicle_l LeftArm=shoulder_l LeftForeArm=elbow_l LeftHand=hand_l",
    "Rokoko": "Hips=pelvis Spine1=spine_1 Spine4=chest Neck=neck Head=head LeftShoulder=clavicle_l LeftArm=shoulder_l "
    "LeftForeArm=elbow_l LeftHand=hand_l LeftThigh=hip_l LeftShin=knee_l LeftFoot=foot_l LeftToe=toe_l "
    "LeftFinger2Proximal=index_2_l",
    "Xsens": "Hips=pelvis Chest=spine_1 Chest4=chest Neck=neck Head=head RightCollar=clavicle_r "
    "RightShoulder=shoulder_r RightElbow=elbow_r RightWrist=hand_r LeftHip=hip_l "
    "LeftKnee=knee_l LeftAnkle=foot_l LeftToe=toe_l",
    "VRM": "hips=pelvis spine=spine_1 chest=chest neck=neck head=head leftShoulder=clavicle_l leftUpperArm=shoulder_l "
    "leftLowerArm=elbow_l leftHand=hand_l rightUpperLeg=hip_r rightLowerLeg=knee_r rightFoot=foot_r rightToes=toe_r "
    "leftIndexProximal=index_1_l",
    "VRM (VRoid)": "J_Bip_C_Hips=pelvis J_Bip_C_Head=head J_Bip_L_UpperArm=shoulder_l J_Bip_L_LowerArm=elbow_l "
    "J_Bip_L_Hand=hand_l J_Bip_R_UpperLeg=hip_r J_Bip_R_LowerLeg=knee_r J_Bip_R_Foot=foot_r J_Bip_R_ToeBase=toe_r",
    "Unreal": "root= pelvis=pelvis spine_01=spine_1 spine_02=spine_2 spine_03=chest neck_01=neck head=head "
    "clavicle_l=clavicle_l upperarm_l=shoulder_l lowerarm_l=elbow_l hand_l=hand_l thigh_r=hip_r calf_r=knee_r "
    "foot_r=foot_r ball_r=toe_r index_01_l=index_1_l",
    "Rigify": "spine=pelvis spine.001=spine_1 spine.003=chest spine.006=head shoulder.L=clavicle_l "
    "upper_arm.L=shoulder_l forearm.L=elbow_l hand.L=hand_l thigh.R=hip_r shin.R=knee_r foot.R=foot_r "
    "toe.R=toe_r f_index.01.L=index_1_l",
    "SOMA": "Root= Hips=pelvis Spine1=spine_1 Spine2=spine_2 Chest=chest Neck1=neck Neck2= Head=head "
    "HeadEnd=head_top LeftShoulder=clavicle_l LeftArm=shoulder_l LeftForeArm=elbow_l LeftHand=hand_l "
    "LeftHandThumb1=thumb_1_l LeftHandIndex1= LeftHandIndex2=index_1_l LeftHandPinky4=little_3_l "
    "LeftLeg=hip_l LeftShin=knee_l LeftFoot=foot_l LeftToeBase=toe_l LeftToeEnd= RightLeg=hip_r RightShin=knee_r",
    "SMPL": "pelvis=pelvis left_hip=hip_l left_knee=knee_l left_ankle=ankle_l left_foot=foot_l spine1=spine_1 "
    "spine3=chest neck=neck head=head left_collar=clavicle_l left_shoulder=shoulder_l left_elbow=elbow_l "
    "left_wrist=wrist_l left_hand=hand_l",
}


@pytest.mark.parametrize("scheme", WRITTEN)
def test_the_names_of_each_tool(scheme: str) -> None:
    pairs = dict(pair.split("=") for pair in WRITTEN[scheme].split())
    report = find_roles(pairs.keys())
    for bone, role in pairs.items():
        if role:
            assert report.roles[role] == bone, role
            assert next(match for match in report.matches if match.role == role).confidence >= 0.9


def numbered(bone: str, i: int) -> str:
    """As Sketchfab writes it."""
    return f"{bone}_0{i}"


def escaped(bone: str, _: int) -> str:
    """As Maya writes it to FBX."""
    return "".join(c if c.isalnum() or c == "_" else f"FBXASC{ord(c):03d}" for c in bone)


@pytest.mark.parametrize("spell", [numbered, escaped])
@pytest.mark.parametrize("scheme", WRITTEN)
def test_names_that_went_through_other_tools(scheme: str, spell: Callable[[str, int], str]) -> None:
    pairs = [pair.split("=") for pair in WRITTEN[scheme].split()]
    bones = {spell(bone, i): role for i, (bone, role) in enumerate(pairs)}
    report = find_roles(bones.keys())
    for bone, role in bones.items():
        assert not role or report.roles[role] == bone, report


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "capitals": str.upper,
    "a namespace": lambda name: f"subject01:{name}",
    "a path": lambda name: f"Armature|{name}",
    "a prefix": lambda name: f"Bip001 {name}",
    "deform bones": lambda name: f"DEF-{name}",
    "no dots": lambda name: name.replace(".", ""),
    "underscores": lambda name: name.replace(".", "_").replace(" ", "_"),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_every_table_knows_itself(scheme: Scheme, spelling: Callable[[str], str]) -> None:
    report = find_roles([spelling(name) for name in scheme.names])
    assert report.scheme == scheme.name
    assert report.missing == ()
    assert report.confidence >= 0.9
    assert set(report.roles) == set(find_roles(list(scheme.names)).roles)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_sides_mirror(scheme: Scheme) -> None:
    roles = {role for names in scheme.names.values() for role in names}
    assert all(role[:-2] + "_r" in roles for role in roles if role.endswith("_l"))


def test_a_robot_is_read_word_by_word() -> None:
    names = ["pelvis", "torso_link", "head_link"]
    for side in ("left", "right"):
        names += [f"{side}_{part}_link" for part in ("hip_yaw", "hip_pitch", "knee", "ankle_roll")]
        names += [f"{side}_{part}_link" for part in ("shoulder_pitch", "shoulder_yaw", "elbow", "rubber_hand", "wrist")]
    report = find_roles(names)
    assert report.scheme == "words"
    assert 0.4 <= report.confidence <= 0.7
    assert report.roles["foot_l"] == "left_ankle_roll_link"
    assert report.roles["hip_r"] == "right_hip_pitch_link"  # the outermost
    assert report.roles["hand_l"] == "left_wrist_link"
    assert [find_word_roles(name)[0] for name in ("lshin", "RForearm")] == [("knee_l",), ("elbow_r",)]


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14", "snake100", "planar3"])
def test_an_arm_has_no_roles(name: str) -> None:
    report = find_roles(poise.load(name))
    assert report.confidence < 0.2


def test_our_own_humanoid() -> None:
    model = poise.load("humanoid")
    report = find_roles(model)
    assert report.scheme == "Poise"
    assert report.confidence == 1.0
    assert report.roles == dict(model.roles)


def test_a_tree_that_contradicts_its_names() -> None:
    chain = ["LeftArm", "LeftForeArm", "LeftHand"]
    good = dict(zip(chain, ["Hips", *chain[:2]], strict=True)) | {"Hips": None}
    bad = good | {"LeftHand": "Hips"}
    sure = {match.role: match.confidence for match in find_roles(good).matches}
    less = {match.role: match.confidence for match in find_roles(bad).matches}
    assert sure["hand_l"] == 1.0
    assert less["hand_l"] == 0.5


@pytest.mark.slow
def test_loops_and_nonsense_do_no_harm() -> None:
    assert find_roles({"LeftArm": "LeftForeArm", "LeftForeArm": "LeftArm"}).confidence < 0.4
    assert find_roles([]).matches == ()
    assert find_roles(["", " ", ":", "|", "é", "a" * 10_000]).confidence == 0.0
    assert find_roles([f"bone_{i}" for i in range(5000)]).confidence == 0.0


def test_the_report_reads_well() -> None:
    text = str(find_roles(list(SCHEMES[0].names)))
    assert text.startswith("Mixamo names, confidence 1.00")
    assert "hand_l" in text
    assert "missing" in str(find_roles(["Hips", "Head"]))
    assert set(find_roles(["Hips", "Head"]).missing) == set(CORE) - {"pelvis", "head"}


def test_roles_reach_the_model() -> None:
    builder, source = ModelBuilder(), Source("x.bvh", b"")
    above = None
    for name in SCHEMES[0].names:
        builder.add_joint(name, above, "ball")
        above = above or name
    builder.add_role("hand_l", "Hips")  # what a file says itself stays
    model = give_roles(builder.build(), source)
    assert model.roles["hand_l"] == "Hips"
    assert model.roles["hand_r"] == "RightHand"
    assert any("Mixamo" in note for note in model.notes)


def test_one_bone() -> None:
    assert find_bone_roles("VRM", "leftHand") == ("wrist_l", "hand_l")
    assert find_bone_roles("VRM", "tail") == ()
    assert find_bone_roles("nobody", "leftHand") == ()


@pytest.mark.slow
def test_a_file_brings_roles(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    limbs = "".join(
        f'<body name="{side}_thigh"><joint/><geom size="1"/>'
        f'<body name="{side}_shin"><body name="{side}_foot"/></body></body>'
        f'<body name="{side}_upper_arm"><body name="{side}_lower_arm"><body name="{side}_hand"/></body></body>'
        for side in ("left", "right")
    )
    path = tmp_path / "body.xml"
    path.write_text(f'<mujoco><worldbody><body name="pelvis">{limbs}<body name="head"/></body></worldbody></mujoco>')
    model = poise.load(path)
    assert model.roles["hand_l"] == "left_hand"
    assert model.roles["foot_r"] == "right_foot"
    assert any(note.startswith("roles:") for note in model.notes)
