"""Flesh around a skeleton: that of a figure is connected, however its file lays the bones."""

import re
from pathlib import Path

import numpy as np
import pytest

import poise
import walkers
from bvh_cases import ROOT6, ROTATIONS, write
from bvh_oracle import Bone, bones, text_of
from poise.limits.skeleton import make_skeleton_capsules
from poise.model import Box
from poise.pictures.body.arm_flesh import shape_arm
from poise.pictures.body.clay import place_core
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.joint_balls import join_balls
from poise.pictures.body.solids import find_solids

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def make_figure(joint: tuple[str, ...], root: str = "") -> tuple[Bone, dict[str, tuple[float, float, float]]]:
    """A figure all of whose bones point along x at rest, and the turns (about x, y, z) with which it stands."""
    down, aside = (0.0, 0.0, 180.0), {"Left": (0.0, 90.0, 0.0), "Right": (0.0, -90.0, 0.0)}
    turns = {"Hips": (0.0, 0.0, 90.0)}
    limbs = []
    for side, z in (("Left", -1.0), ("Right", 1.0)):
        foot = Bone(f"{side}Foot", (42.0, 0.0, 0.0), joint, [Bone(f"{side}Toe", (17.0, 0, 0), joint, end=(3.0, 0, 0))])
        leg = Bone(f"{side}UpLeg", (0.0, 0.0, 10.0 * z), joint, [Bone(f"{side}Leg", (43.0, 0.0, 0.0), joint, [foot])])
        hand = Bone(f"{side}Hand", (25.0, 0.0, 0.0), joint, end=(8.0, 0.0, 0.0))
        arm = Bone(f"{side}Arm", (11.0, 0.0, 0.0), joint, [Bone(f"{side}ForeArm", (33.0, 0.0, 0.0), joint, [hand])])
        limbs.append((leg, Bone(f"{side}Shoulder", (10.0, 0.0, 5.0 * z), joint, [arm])))
        turns |= {f"{side}UpLeg": down, f"{side}Shoulder": aside[side], f"{side}Foot": (0.0, 0.0, 90.0)}
    head = Bone("Head", (11.0, 0.0, 0.0), joint, end=(15.0, 0.0, 0.0))
    chest = Bone("Spine2", (12.0, 0, 0), joint, [Bone("Neck", (24.0, 0, 0), joint, [head]), *(a for _, a in limbs)])
    spine = Bone("Spine", (7.0, 0.0, 0.0), joint, [Bone("Spine1", (12.0, 0.0, 0.0), joint, [chest])])
    hips = Bone("Hips", (0.0, 92.0, 0.0), ROOT6, [*(leg for leg, _ in limbs), spine])
    return (Bone(root, (0.0, 0.0, 0.0), ROOT6, [hips]) if root else hips), turns


def write_clip(figure: Bone, turns: dict[str, tuple[float, float, float]], away: float = 0.0) -> str:
    """A clip of three frames in which the figure stands, and swings an arm."""
    rows = []
    for swing in (0.0, 20.0, 40.0):
        row: list[float] = []
        for bone in bones(figure):
            x, y, z = turns.get(bone.name, (0.0, 0.0, 0.0))
            place = dict(zip("XYZ", bone.offset, strict=True))
            place["Z"] += away if bone.name == "Hips" else 0.0
            angle = {"X": x, "Y": y, "Z": z + swing * (bone.name == "LeftArm")}
            row += [place[c[0]] if c.endswith("position") else angle[c[0]] for c in bone.channels]
        rows.append(row)
    return text_of(figure, np.array(rows))


def count_islands(pose: poise.Pose) -> int:
    """How many groups of solids there are that do not touch one another."""
    solids = find_solids(pose.model)
    assert all(solid.kind == "capsule" for solid in solids)
    t = np.linspace(0.0, 1.0, 41)[:, None]
    cores = [place_core(pose, solid) for solid in solids]
    points = [(1 - t) * a + t * b for a, b in cores]
    radii = [(1 - t[:, 0]) * solid.round[0] + t[:, 0] * solid.round[1] for solid in solids]
    label = list(range(len(solids)))
    for i in range(len(solids)):
        for j in range(i):
            gap = np.linalg.norm(points[i][:, None] - points[j][None], axis=-1) - radii[i][:, None] - radii[j][None]
            if gap.min() < 0.005 * pose.model.length:
                old, new = label[i], label[j]
                label = [new if k == old else k for k in label]
    return len(set(label))


@pytest.mark.slow
@pytest.mark.parametrize("away", [0.0, 450.0])
@pytest.mark.parametrize("root", ["", "Reference"])
@pytest.mark.parametrize("joint", [ROTATIONS, ROOT6])
def test_the_flesh_of_a_figure_hangs_together(joint: tuple[str, ...], root: str, away: float, tmp_path: Path) -> None:
    motion = poise.load_motion(write(tmp_path, write_clip(*make_figure(joint, root), away)))
    model = motion.model
    assert {"pelvis", "chest", "shoulder_l", "head", "ankle_r"} <= set(model.roles)
    standing = motion[0]
    assert standing.position("Head")[1] > standing.position("Hips")[1] + 40
    for pose in motion:
        assert count_islands(pose) == 1
    # the chest is as wide as a chest: it reaches beyond half the way to a shoulder
    half = abs(standing.position("LeftArm")[2] - standing.position("Head")[2])
    wide = max(
        abs(place_core(standing, solid)[:, 2] - standing.position("Head")[2]).max() + max(solid.round)
        for solid in find_solids(model)
        if solid.frame == model.roles["chest"]
    )
    assert wide > 0.6 * half


@pytest.mark.slow
@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_the_flesh_of_built_in_figures_hangs_together(name: str) -> None:
    assert count_islands(poise.Pose(poise.load(name))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_a_body_without_bones_is_seen_as_balls(apart: float) -> None:
    builder = poise.ModelBuilder("parts")
    for k in range(3):
        builder.add_joint(f"part_{k}", None, "free", offset=(apart * k, 0.0, 0.0))
    model = builder.build()
    assert len(find_solids(model)) == len(find_flesh(model)) == (3 if apart else 1)
    figure = poise.plot(model).figure
    figure.canvas.draw()
    assert (np.asarray(figure.canvas.buffer_rgba())[..., 0] < 225).mean() > 0.004


@pytest.mark.parametrize("use", ["collision", "visual", "both"])
def test_a_shape_on_one_part_does_not_stand_for_the_body(use: str, tmp_path) -> None:
    """A test shape of a file is not drawn if it is for contact; one for the eye is, with flesh around the rest."""
    plain = walkers.make_machine(hands=False)
    poise.save(plain, tmp_path / "robot.urdf")
    text = (tmp_path / "robot.urdf").read_text()
    text = re.sub(r"<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL)
    huge = "<geometry><cylinder radius='3' length='1'/></geometry>"
    kinds = ("visual", "collision") if use == "both" else (use,)
    solids = "".join(f"<{kind}>{huge}</{kind}>" for kind in kinds)
    (tmp_path / "robot.urdf").write_text(text.replace('<link name="pelvis">', f'<link name="pelvis">{solids}'))
    model = poise.load(tmp_path / "robot.urdf", base="free")
    drawn = {name for part in find_flesh(model) for name in part.parts}
    assert {"left_knee", "right_knee"} <= drawn
    sizes = [float(np.abs(part.surface.vertices).max()) for part in find_flesh(model)]
    assert (max(sizes) >= 3.0) == (use != "collision")
    assert len(find_solids(model)) >= 4


def test_shapes_on_most_parts_are_the_body() -> None:
    model = poise.load("humanoid")
    for frames, grown in ((["knee_l"], True), ([joint.frame for joint in model.joints], False)):
        builder = poise.ModelBuilder("shapes")
        builder.extend(model.layout.specs)
        for frame in frames:
            builder.add_shape(frame, Box((0.05, 0.05, 0.05)))
        found = find_flesh(builder.build())
        assert (len(found) > len(frames)) == grown


def test_heavy_parts_without_bones_hang_together_with_the_rest() -> None:
    """Links of a hip, whose mass is beside them, and a foot that is known by its mass alone."""
    builder = poise.ModelBuilder("masses")
    builder.add_joint("base", None, "free", mass=5.0)
    above, offset = "base", (0.0, 0.0, -0.1)
    for name, axis, far in (("yaw", "z", 0.0), ("roll", "x", 0.2), ("pitch", "y", 0.3), ("knee", "y", 0.0)):
        center = (far, 0.0, 0.0)
        builder.add_joint(name, above, "revolute", offset=offset, axis=AXES[axis], mass=6.0, center=center)
        above, offset = name, (0.0, 0.0, -0.4) if name == "pitch" else (0.0, 0.0, 0.0)
    builder.add_joint("ankle", "knee", "revolute", offset=(0, 0, -0.4), axis=(0, 1, 0), mass=1.0, center=(0.2, 0, 0))
    model = builder.build()
    given = make_skeleton_capsules(model)
    joined = {capsule.frame: capsule for capsule in join_balls(model, given)}
    bones = max(capsule.radius for capsule in given if capsule.a != capsule.b)
    origin = (0.0, 0.0, 0.0)
    for name in ("yaw", "roll"):
        assert (joined[name].a, joined[name].b) == (origin, origin)
        assert joined[name].radius <= bones
    assert joined["ankle"].a == origin
    assert joined["ankle"].b == pytest.approx((0.2, 0.0, 0.0), abs=0.1)
    assert {capsule.frame for capsule in given} == set(joined)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
def test_the_links_of_an_arm_are_where_their_masses_are(name: str) -> None:
    """The upper arm of a UR is beside its shoulder; its bone, from joint to joint, is not."""
    model = poise.load(name)
    world, solids = dict(zip(model.frames, model.fk(model.rest), strict=True)), shape_arm(model)
    assert solids == find_solids(model)
    assert {part.frame for part in find_flesh(model)} == {solid.frame for solid in solids}
    for frame, T in list(world.items())[1:]:  # without the pedestal
        center = T[:3, :3] @ model.frame(frame).center + T[:3, 3]
        far = []
        for solid in solids:
            x, y, z = np.linalg.inv(world[solid.frame] @ solid.T_frame_solid)[:3] @ [*center, 1.0]
            far.append(np.hypot(*np.maximum((np.hypot(x, y), abs(z)) - np.array(solid.half)[::2], 0)) - solid.round[0])
        assert model.frame(frame).mass < 0.7 or min(far) < 0.02, frame


def test_an_arm_is_drawn_on_its_axes_wherever_the_origins_of_its_joints_are() -> None:
    """A hinge whose origin is far along its axis has its drum where the links meet the axis."""
    builder = poise.ModelBuilder(name="arm")
    builder.add_joint("a", None, "revolute", offset=(0.0, 0.0, 0.3), axis=(0.0, 0.0, 1.0))
    builder.add_joint("b", "a", "revolute", offset=(0.2, 0.5, 0.0), axis=(0.0, 1.0, 0.0))
    builder.add_joint("c", "b", "revolute", offset=(0.0, -0.5, 0.4), axis=(1.0, 0.0, 0.0))
    drum = next(solid for solid in shape_arm(builder.build()) if solid.frame == "b")
    assert drum.T_frame_solid[:3, 3] == pytest.approx((0.0, -0.5, 0.0), abs=1e-9)


def test_a_snake_and_a_planar_arm_stay_as_they_were() -> None:
    for name in ("snake100", "planar3"):
        assert shape_arm(poise.load(name)) == ()
