"""Bones do not stretch: translations below the root that a file animates are locked, in every way of solving."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from bvh_oracle import Bone, text_of
from gltf_files import File
from poise.goals import LookAt, Reach, Rest
from poise.kinematics import manipulability
from poise.methods import Scipy, Sequential
from poise.solvers.table import find_stiffness

SIX = ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
TREE = {  # bone: parent, translation
    "Hips": (None, (0.0, 1.0, 0.0)),
    "Spine": ("Hips", (0.0, 0.2, 0.0)),
    "Spine1": ("Spine", (0.0, 0.2, 0.0)),
    "Head": ("Spine1", (0.0, 0.3, 0.0)),
    **{
        f"{side}{bone}": (parent if parent in ("Hips", "Spine1") else f"{side}{parent}", (s * x, y, z))
        for side, s in (("Left", 1.0), ("Right", -1.0))
        for bone, parent, (x, y, z) in (
            ("Arm", "Spine1", (0.2, 0.15, 0.0)),
            ("ForeArm", "Arm", (0.25, 0.0, 0.02)),
            ("Hand", "ForeArm", (0.25, 0.0, 0.0)),
            ("UpLeg", "Hips", (0.1, -0.05, 0.0)),
            ("Leg", "UpLeg", (0.0, -0.45, 0.02)),
            ("Foot", "Leg", (0.0, -0.45, 0.0)),
        )
    },
}
FRAMES = 4
ARM = ("LeftArm", "LeftForeArm", "LeftHand")


def draw_shifts() -> dict[str, np.ndarray]:
    """The translations of every bone over a clip that stretches all of them, a little differently in each frame."""
    rng = np.random.default_rng(5)
    return {name: np.array(at) * rng.uniform(0.9, 1.1, (FRAMES, 1)) for name, (_, at) in TREE.items()}


def write_bvh(folder: Path) -> Path:
    """Six channels on every bone."""
    made: dict[str, Bone] = {}
    for name, (parent, at) in TREE.items():
        leaf = name in ("Head", "LeftHand", "RightHand", "LeftFoot", "RightFoot")
        made[name] = Bone(name, at, SIX, end=(0.0, 0.0, 0.1) if leaf else None)
        if parent is not None:
            made[parent].children.append(made[name])
    order, moved, rng = walk(made["Hips"]), draw_shifts(), np.random.default_rng(6)
    rows = [np.concatenate([[*moved[name][k], *rng.uniform(-20, 20, 3)] for name in order]) for k in range(FRAMES)]
    path = folder / "person.bvh"
    path.write_text(text_of(made["Hips"], np.array(rows)))
    return path


def walk(bone: Bone) -> list[str]:
    return [bone.name, *(name for child in bone.children for name in walk(child))]


def write_glb(folder: Path) -> Path:
    """A skin whose clip shifts and turns every bone."""
    names, rng, moved = list(TREE), np.random.default_rng(7), draw_shifts()
    nodes: list[dict[str, Any]] = [{"name": name, "translation": list(at)} for name, (_, at) in TREE.items()]
    for i, (parent, _) in enumerate(TREE.values()):
        if parent is not None:
            nodes[names.index(parent)].setdefault("children", []).append(i)
    file = File(nodes)
    file.skin(list(range(len(names))))
    times = np.arange(FRAMES) / 30
    turns = rng.normal(size=(len(names), FRAMES, 4)) * 0.2 + [0, 0, 0, 1]
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    channels = [(i, "translation", times, moved[name], "LINEAR") for i, name in enumerate(names)]
    file.clip("stretch", [*channels, *((i, "rotation", times, turns[i], "LINEAR") for i in range(len(names)))])
    return file.glb(folder / "person.glb")


@pytest.fixture(params=[write_bvh, write_glb], ids=["bvh", "glb"])
def clip(request: pytest.FixtureRequest, tmp_path: Path) -> poise.Motion:
    return poise.load_motion(request.param(tmp_path))


def find_locked(model: poise.Model) -> np.ndarray:
    """Where the locked numbers of q are."""
    return np.concatenate([np.arange(model.nq)[joint.q] for joint in model.joints if joint.locked])


def measure_length(model: poise.Model, q: np.ndarray, *bones: str) -> float:
    """Of some bones, each from its parent, in a row."""
    at = {name: model.fk(q, name)[:3, 3] for name in model.frames}
    return math.fsum(float(np.linalg.norm(at[name] - at[str(TREE[name][0])])) for name in bones)


# ------------------------------------------------------------------------------------------------ what is locked


def test_translations_below_the_root_are_locked(clip: poise.Motion) -> None:
    model = clip.model
    assert {joint.name for joint in model.joints if joint.locked} == {f"{name}_position" for name in TREE} - {
        "Hips_position"
    }
    assert all(joint.kind == "translation3" for joint in model.joints if joint.locked)
    assert not any(joint.kind == "free" and joint.parent is not None for joint in model.joints)
    spoken = str(model)
    assert "LeftArm_position  translation3 locked" in spoken
    assert f"({3 * (len(TREE) - 1)} locked)" in spoken.splitlines()[0]


def test_the_clip_still_moves_them(clip: poise.Motion) -> None:
    for k in range(FRAMES):
        for name, places in draw_shifts().items():
            parent = TREE[name][0]
            if parent is None:
                continue
            T = np.linalg.inv(clip.model.fk(clip.q[k], parent)) @ clip.model.fk(clip.q[k], name)
            np.testing.assert_allclose(T[:3, 3], places[k], atol=1e-6)


@pytest.mark.slow
def test_files_write_them_back(clip: poise.Motion, tmp_path: Path) -> None:
    """Into the own file, as a bare skeleton, and from one format into the other: the same joints, the same places."""
    for suffix, options in ((".bvh", {}), (".glb", {}), (".glb", {"like": ""})):
        target = tmp_path / f"again{len(options)}{suffix}"
        poise.save(clip, target, **options)
        again = poise.load_motion(target)
        assert [j.name for j in again.model.joints if j.locked] == [j.name for j in clip.model.joints if j.locked]
        for name in TREE:
            np.testing.assert_allclose(again.model.fk(again.q, name), clip.model.fk(clip.q, name), atol=2e-6)


def test_a_root_above_the_first_channels_is_not_a_bone(tmp_path: Path) -> None:
    """A root without channels only names the world: what slides below it carries the body, and is not locked."""
    arm = Bone("arm", (0.0, 1.0, 0.0), SIX, end=(0.0, 1.0, 0.0))
    path = tmp_path / "a.bvh"
    root = Bone("world", (0.0, 0.0, 0.0), (), [Bone("hips", (0.0, 0.0, 0.0), SIX, [arm])])
    path.write_text(text_of(root, np.zeros((1, 12))))
    assert [joint.name for joint in poise.load(path).joints if joint.locked] == ["arm_position"]


def test_a_node_above_the_bones_that_a_clip_shifts_is_free(tmp_path: Path) -> None:
    file = File([{"name": "armature", "children": [1]}, {"name": "hips", "children": [2]}, {"name": "leg"}])
    file.skin([1, 2])
    file.clip("walk", [(0, "translation", [0, 1], [[0, 0, 0], [0, 0, 2]], "LINEAR")])
    kinds = {joint.name: joint.kind for joint in poise.load(file.glb(tmp_path / "a.glb")).joints}
    assert kinds == {"armature": "free", "hips": "free", "leg": "ball"}


# ------------------------------------------------------------------------------------------------ no bit changes


def draw_goals(model: poise.Model, rng: np.random.Generator) -> list[poise.goals.Goal]:
    there = model.fk(model.random(rng), "LeftHand")[:3, 3]
    return [Reach("LeftHand", there), Reach("RightFoot", model.fk(model.rest, "RightFoot")[:3, 3], priority=0)]


WAYS: dict[str, Callable[[poise.Model, list[Any], np.ndarray], np.ndarray]] = {
    "solve": lambda m, g, q: poise.solve(m, g, q).q,
    "continuous": lambda m, g, q: poise.solve(m, g, q, mode="continuous").q,
    "posture": lambda m, g, q: poise.solve(m, [*g, LookAt("Head", (0, 2, 5)), Rest()], q).q,
    "levels": lambda m, g, q: poise.solve(m, [*g, Reach("RightHand", (0, 1, 1), priority=1)], q).q,
    "ccd": lambda m, g, q: poise.solve(m, g, q, method="ccd", restarts=1).q,
    "transpose": lambda m, g, q: poise.solve(m, g, q, method="transpose", restarts=0).q,
    "sequential": lambda m, g, q: poise.solve(m, g, q, method=Sequential()).q,
    "scipy": lambda m, g, q: poise.solve(m, g, q, method=Scipy("trf"), max_steps=20).q,
    "step": lambda m, g, q: poise.Solver(m, g).step(q, 0.1).q,
    "joints": lambda m, g, q: poise.solve(m, g, q, joints=list(ARM)).q,
    "batch": lambda m, g, q: poise.solve_batch(m, g, {"LeftHand": [g[0].target]}, q).q,
    "answers": lambda m, g, q: poise.solve_batch(m, g[:1], g[0].target, q, solutions=3).q[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_no_bone_changes_by_one_bit(clip: poise.Motion, way: str) -> None:
    model, rng = clip.model, np.random.default_rng(11)
    at = find_locked(model)
    for q in clip.q:
        found = WAYS[way](model, draw_goals(model, rng), q)
        np.testing.assert_array_equal(found.reshape(-1, model.nq)[0, at], q[at])


@pytest.mark.slow
def test_no_bone_changes_while_a_rig_is_dragged(clip: poise.Motion) -> None:
    model = clip.model
    rig = poise.Rig(model, clip.q[1])
    rig.pin("foot_l")
    at, hand = find_locked(model), rig.pose.position("LeftHand")
    rig.freeze("Head")
    for k in range(1, 40):
        q = rig.drag("hand_l", hand + k * np.array([0.05, 0.0, 0.02])).q
        np.testing.assert_array_equal(q[at], clip.q[1][at])
    rig.blend("arm_l", 0.5)
    np.testing.assert_array_equal(rig.update().q[at], clip.q[1][at])


def test_a_random_pose_has_bones_of_their_rest_length(clip: poise.Motion) -> None:
    at = find_locked(clip.model)
    many = clip.model.random(np.random.default_rng(0), 20)
    np.testing.assert_array_equal(many[:, at], np.broadcast_to(clip.model.rest[at], (20, len(at))))


def test_bones_do_not_count_in_how_well_a_frame_can_move(clip: poise.Motion) -> None:
    model = clip.model
    rigid = model.locked({joint.name: model.rest[joint.q] for joint in model.joints if joint.locked})
    ours = manipulability(model, model.rest, "LeftHand")
    same = manipulability(rigid, rigid.rest, "LeftHand")
    np.testing.assert_allclose(ours.singular_values, same.singular_values, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ proofs


@pytest.mark.slow
def test_what_bones_cannot_span_is_proved_out_of_reach(clip: poise.Motion) -> None:
    """Two targets 5 cm farther apart than the arm is long in this frame, and 5 cm nearer; alone and in a batch."""
    model = clip.model
    shoulder = clip.model.fk(clip.q, "LeftArm")[:, :3, 3]
    arm = np.array([measure_length(model, q, "LeftForeArm", "LeftHand") for q in clip.q])
    goals = [Reach("LeftArm", shoulder[0]), Reach("LeftHand", shoulder[0])]
    for more, status in ((0.05, "unreachable"), (-0.05, "reached")):
        hand = shoulder + (arm + more)[:, None] * np.array([0.6, 0.0, 0.8])
        batch = poise.solve_batch(model, goals, {"LeftArm": shoulder, "LeftHand": hand}, clip.q)
        assert [str(s.value) for s in batch.status] == [status] * FRAMES
        for k, q in enumerate(clip.q):
            one = poise.solve(model, [Reach("LeftArm", shoulder[k]), Reach("LeftHand", hand[k])], q)
            assert one.status.value == status
            if more > 0:
                assert one.proof is not None
                assert one.proof.excess == pytest.approx(more, abs=1e-6)
                assert "'LeftHand_position', 'LeftForeArm_position'" in one.why()


def test_named_joints_may_stretch(clip: poise.Motion) -> None:
    model = clip.model
    named = [*ARM, "LeftHand_position"]
    far = clip.model.fk(clip.q[0], "LeftArm")[:3, 3] + [0.0, 0.0, 1.5]
    found = poise.solve(model, Reach("LeftHand", far), clip.q[0], joints=named)
    assert found.reached
    others = np.setdiff1d(find_locked(model), np.arange(model.nq)[model.joint("LeftHand_position").q])
    np.testing.assert_array_equal(found.q[others], clip.q[0][others])
    assert not poise.solve(model, Reach("LeftHand", far), clip.q[0], joints=list(ARM)).reached


def test_lengths_count_in_the_length_of_the_body(clip: poise.Motion) -> None:
    """L is that of the same body with fixed bones, root aside: tolerances and steps are measured in it."""
    at = {name: np.linalg.norm(TREE[name][1]) for name in TREE}
    leg = at["LeftUpLeg"] + at["LeftLeg"] + at["LeftFoot"]
    assert leg <= clip.model.length <= leg + 1.0


def test_bones_count_in_the_stiffness_that_their_lengths_give(clip: poise.Motion) -> None:
    """An arm's shoulder swings more of the body than its wrist does, and is stiffer then."""
    model = clip.model
    stiff = find_stiffness(model)
    shoulder, elbow, wrist = (stiff[model.joint(name).v].mean() for name in ARM)
    assert shoulder > elbow > wrist


# ------------------------------------------------------------------------------------------------ by hand


def test_a_builder_locks_joints() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute")
    builder.add_joint("tube", "shoulder", "prismatic", axis=(1, 0, 0), rest=0.5, lower=0.2, upper=1.0, locked=True)
    model = builder.add_frame("tip", "tube", (0.5, 0.0, 0.0)).build()
    assert model.joint("tube").locked
    assert not model.joint("shoulder").locked
    assert model.length == 1.0
    assert poise.solve(model, Reach("tip", (0.0, 1.0, 0.0))).reached
    longer = poise.solve(model, Reach("tip", (0.0, 1.2, 0.0)))
    assert longer.status.value == "unreachable"
    assert poise.solve(model, Reach("tip", (0.0, 1.2, 0.0)), joints=["shoulder", "tube"]).reached
    assert not model.locked({"tube": 0.5}).joint("tube").locked


@pytest.mark.slow
def test_locks_survive_tables_and_urdf(clip: poise.Motion, tmp_path: Path) -> None:
    poise.save(clip, tmp_path / "a.npz")
    assert poise.load_motion(tmp_path / "a.npz").model == clip.model
    with pytest.warns(poise.errors.FormatWarning):
        poise.save(clip.model, tmp_path / "a.urdf")
    again = poise.load(tmp_path / "a.urdf")
    assert sum(j.nv for j in again.joints if j.locked) == sum(j.nv for j in clip.model.joints if j.locked)
