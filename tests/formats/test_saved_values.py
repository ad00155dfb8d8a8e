"""JSON, tables and other files keep bodies, drives, poses and solutions, or say that they cannot."""

import json
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND, make_stage, random_model
from driven_bodies import drive_randomly, random_inertia
from file_cases import ignore_warnings
from poise.errors import FormatError, FormatWarning, InvalidValue
from poise.goals import Balance, Reach, Rest
from poise.model.spec import DRIVE, JointSpec
from poise.studio.downloads import pose_from_json, pose_to_json

SEEDS = range(6)


HELD_BY_URDF = ("revolute", "continuous", "prismatic", "fixed", "free", "planar", "universal", "euler")


def list_solids(model: poise.Model) -> dict[str, tuple[Any, ...]]:
    """Return mass, centre and inertia of each frame."""
    frames = (model.frame(name) for name in model.frames)
    return {frame.name: (frame.mass, frame.center.tolist(), frame.inertia.tolist()) for frame in frames}


def list_drives(model: poise.Model) -> dict[str, tuple[float, ...]]:
    return {joint.name: tuple(getattr(joint, key) for key in DRIVE) for joint in model.joints}


MAKERS: dict[str, Callable[[], poise.Model]] = {
    **{f"joints {seed}": partial(random_model, seed, len(EVERY_KIND), EVERY_KIND) for seed in SEEDS},
    **{f"drives {seed}": partial(drive_randomly, seed, joints=14, kinds=EVERY_KIND) for seed in SEEDS},
    **{name: partial(poise.load, name) for name in poise.models.names()},
}


@pytest.mark.parametrize("name", MAKERS)
def test_json_holds_every_body(name: str, tmp_path: Path) -> None:
    model = MAKERS[name]()
    again = poise.load(poise.save(model, tmp_path / "body.json"))
    assert again == model
    assert (list_solids(again), list_drives(again)) == (list_solids(model), list_drives(model))
    assert again.file_notes == model.file_notes
    q = model.random(np.random.default_rng(0), 5)
    np.testing.assert_array_equal(again.fk(q), model.fk(q))


@pytest.mark.parametrize("seed", SEEDS)
def test_urdf_keeps_solids_and_drives(seed: int, tmp_path: Path) -> None:
    model = drive_randomly(seed, kinds=HELD_BY_URDF)
    with ignore_warnings():
        again = poise.load(poise.save(model, tmp_path / "body.urdf"))
    solids, drives = list_solids(again), list_drives(again)
    assert {name: solids[name] for name in model.frames} == list_solids(model)
    chains = [joint.name for joint in model.joints if joint.kind in ("universal", "euler")]
    assert {name: values for name, values in list_drives(model).items() if name not in chains}.items() <= drives.items()
    for name in chains:  # every single joint of the chain has the drive
        assert {drives[part] for part in drives if part.startswith(f"{name}_")} == {list_drives(model)[name]}


def test_urdf_keeps_the_range_of_a_leader(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("hand").add_joint("a", None, "revolute", lower=-1, upper=2)
    builder.add_joint("b", "a", "revolute", lower=0, upper=1, mimic=("a", 2.0))
    model = builder.build()
    path = poise.save(model, tmp_path / "hand.urdf")
    assert 'lower="-1" upper="2"' in path.read_text()
    assert poise.load(path).joint("a").upper == model.joint("a").upper == 0.5


def test_urdf_names_what_it_cannot_hold(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm").add_joint("turn", None, "revolute", lower=-1, upper=1, armature=0.1)
    builder.add_joint("lift", "turn", "prismatic", lower=-1, upper=1).add_closure("lift", "turn", (0, 0, 0.5))
    with pytest.warns(FormatWarning) as issued:
        poise.save(builder.build(), tmp_path / "arm.urdf")
    words = " ".join(str(warning.message) for warning in issued)
    assert "no armature" in words
    assert "no closed loops" in words


def test_urdf_keeps_the_limits_of_a_fixed_joint(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    text = '<limit effort="3" velocity="2"/><dynamics damping="0.5" friction="0.1"/>'
    text = f'<joint name="j" type="fixed"><parent link="a"/><child link="b"/>{text}</joint>'
    path.write_text(f'<robot name="r"><link name="a"/><link name="b"/>{text}</robot>')
    model = poise.load(path)
    assert list_drives(model) == {"j": (3.0, 2.0, 0.5, 0.1, 0.0)} == list_drives(poise.load(poise.save(model, path)))


@pytest.mark.parametrize("seed", SEEDS)
def test_gltf_names_the_drives_and_loops_that_it_cannot_hold(seed: int, tmp_path: Path) -> None:
    model = drive_randomly(seed, kinds=("revolute", "prismatic"))
    with pytest.warns(FormatWarning, match="drives.*masses"):
        poise.save(model, tmp_path / "driven.glb")
    plain = poise.ModelBuilder("arm").add_joint("a", None, "ball").add_joint("b", "a", "ball")
    with pytest.warns(FormatWarning, match="not closed loops of 'arm'"):
        poise.save(plain.add_closure("a", "b", (0, 0, 0.5)).build(), tmp_path / "loop.glb")


@pytest.mark.parametrize("seed", SEEDS)
def test_edits_keep_solids_and_drives(seed: int) -> None:
    model = drive_randomly(seed, joints=14, kinds=EVERY_KIND)
    solids, drives = list_solids(model), list_drives(model)
    for edited in (model.with_frame("tool", model.frames[-1]), model.with_roles({"head": model.frames[0]})):
        assert solids.items() <= list_solids(edited).items()
        assert list_drives(edited) == drives
    part = model.subtree(model.frames[3])
    assert list_solids(part).items() <= solids.items()
    assert list_drives(part).items() <= drives.items()


@pytest.mark.parametrize("seed", SEEDS)
def test_locked_joints_keep_solids_and_lose_drives(seed: int) -> None:
    model = drive_randomly(seed, joints=14, kinds=EVERY_KIND)
    chosen = {joint.name: model.rest[joint.q] for joint in model.joints if joint.nq and joint.name < "j5"}
    locked = model.locked(chosen)
    assert list_solids(locked) == list_solids(model)
    fixed = [joint.name for joint in locked.joints if joint.kind == "fixed"]
    assert set(chosen) <= set(fixed)
    assert all(np.isinf(locked.joint(name).effort) for name in fixed)
    kept = {name: drive for name, drive in list_drives(model).items() if name not in fixed}
    assert kept.items() <= list_drives(locked).items()


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_scale_changes_units_consistently(kind: str, tmp_path: Path) -> None:
    """Lengths are multiplied by f: energies, and the powers of all forces, by f squared."""
    drive = {"effort": 7.0, "velocity": 3.0, "damping": 2.0, "friction": 0.5, "armature": 0.2}
    inertia = random_inertia(np.random.default_rng(0))
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, kind, lower=-1, upper=1, mass=2, center=(1, 2, 3), inertia=inertia, **drive)
    path, f = poise.save(builder.build(), tmp_path / "arm.json"), 0.01
    joint = poise.load(path, scale=f).joint("a")
    speed = f if kind == "prismatic" else 1.0
    assert np.allclose(joint.inertia, f**2 * inertia, rtol=1e-12)
    assert np.isclose(joint.velocity, 3.0 * speed)
    assert np.allclose(np.array([joint.effort, joint.friction]) * speed, f**2 * np.array([7.0, 0.5]))
    assert np.allclose(np.array([joint.damping, joint.armature]) * speed**2, f**2 * np.array([2.0, 0.2]))


def test_zero_effort_means_unknown_and_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    limit = '<limit lower="-1" upper="1" effort="0" velocity="0"/><dynamics damping="-1"/>'
    text = f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{limit}</joint>'
    path.write_text(f'<robot name="r"><link name="a"/><link name="b"/>{text}</robot>')
    with pytest.warns(FormatWarning, match="negative damping"):
        model = poise.load(path)
    assert np.isinf([model.joint("j").effort, model.joint("j").velocity]).all()
    assert any("unknown" in note for note in model.notes)


@pytest.mark.parametrize("wrong", [{"effort": 0.0}, {"velocity": -1.0}, {"damping": -1.0}, {"armature": np.nan}])
def test_the_builder_rejects_impossible_drives(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        poise.ModelBuilder().add_joint("a", None, "revolute", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.triu(np.ones((3, 3))), [np.inf, 1, 1], "heavy"])
def test_the_builder_rejects_impossible_inertias(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="inertia"):
        poise.ModelBuilder().add_frame("a", inertia=wrong)


def test_joints_have_every_field_of_their_declaration() -> None:
    assert {field.name for field in fields(JointSpec)} <= {field.name for field in fields(poise.Joint)}


STAGE = make_stage()


def test_json_takes_the_options_of_load(tmp_path):
    path = poise.save(STAGE, tmp_path / "stage.json")
    large = poise.load(path, scale=10.0)
    assert large.joint("carriage").path.length == pytest.approx(10 * STAGE.joint("carriage").path.length)
    assert large.joint("upper").length == pytest.approx(3.0)
    assert large.upper[large.joint("upper").v][0] == 1.5  # a factor stays what it is
    q = np.array(STAGE.rest)
    scaled = np.array(large.rest)
    np.testing.assert_allclose(large.fk(scaled, "hand")[:3, 3], 10 * STAGE.fk(q, "hand")[:3, 3], atol=1e-6)
    assert poise.load(path, base="free").nv == STAGE.nv + 6


def test_a_pose_is_not_a_body(tmp_path):
    path = poise.save(poise.Pose(STAGE, STAGE.rest), tmp_path / "pose.json")
    with pytest.raises(FormatError, match="no body"):
        poise.load(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_tables_carry_the_body_along(suffix, tmp_path):
    q = STAGE.random(np.random.default_rng(0), 6)
    clip = poise.load_motion(poise.save(poise.Motion(STAGE, q, fps=30), tmp_path / f"clip{suffix}"))
    assert clip.model == STAGE
    np.testing.assert_allclose(clip.q, q, atol=1e-12)


@pytest.mark.parametrize("suffix", [".urdf", ".bvh", ".glb", ".gltf"])
def test_other_formats_reject_the_body_by_the_joints_name(suffix, tmp_path):
    with pytest.raises(FormatError, match=r"joint 'carriage' is a path joint, which .* cannot hold.*\.json"):
        poise.save(STAGE, tmp_path / f"body{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
def test_a_motion_is_written_frame_by_frame(suffix, tmp_path):
    rng = np.random.default_rng(2)
    q = np.array([STAGE.integrate(STAGE.rest, 0.02 * k * rng.normal(size=STAGE.nv)) for k in range(8)])
    q = STAGE.clamp(q)
    poise.save(poise.Motion(STAGE, q, fps=24), tmp_path / f"clip{suffix}")
    clip = poise.load_motion(tmp_path / f"clip{suffix}")
    there = clip.model.fk(clip.q, "hand")[:, :3, 3]
    here = STAGE.fk(q, "hand")[:, :3, 3]
    if clip.model.up == "y":
        here = here @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]).T
    np.testing.assert_allclose(there, here, atol=2e-5)


HUMAN = poise.load("humanoid")


def solved(reachable: bool = True) -> poise.Solution:
    feet = [Reach(foot, HUMAN.fk(HUMAN.rest, foot), weight=10) for foot in ("foot_l", "foot_r")]
    hand = Reach("hand_l", (0.4, 1.2, 0.3) if reachable else (3.0, 1.2, 0.3))
    return poise.solve(HUMAN, [hand, *feet, Balance(["foot_l", "foot_r"]), Rest()])


@pytest.mark.slow
@pytest.mark.parametrize("reachable", [True, False])
def test_a_solution_is_written_with_all_it_came_to(tmp_path: Path, reachable: bool) -> None:
    solution = solved(reachable)
    saved = json.loads(poise.save(solution, tmp_path / "x.json").read_text("utf-8"))
    assert saved["poise"] == "pose"
    assert saved["q"] == solution.q.tolist()
    assert saved["status"] == str(solution.status)
    assert saved["reached"] is solution.reached
    assert saved["goals"]["hand_l"]["metres"] == solution.errors["hand_l"][0]
    assert bool(saved["why"]) is not reachable
    assert saved["goals"]["hand_l"]["reached"] is reachable
    assert pose_from_json(HUMAN, json.dumps(saved)).q == pytest.approx(solution.q)


def test_the_command_line_writes_the_same(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from poise.cli.app import app

    words = ["solve", "panda", "--reach", "panda_hand_tcp", "0.4", "0.1", "0.5", "--no-rest", "--json"]
    shown = testing.CliRunner().invoke(app, [*words, "--out", str(tmp_path / "shell.json")])
    assert shown.exit_code == 0, shown.output
    written = json.loads((tmp_path / "shell.json").read_text("utf-8"))
    solution = poise.solve(poise.load("panda"), Reach("panda_hand_tcp", (0.4, 0.1, 0.5)))
    saved = json.loads(poise.save(solution, tmp_path / "python.json").read_text("utf-8"))
    changing = {"microseconds": 0.0}
    assert {**written, **changing} == {**saved, **changing}
    assert list(written) == list(saved)


def test_a_pose_is_written_as_the_studio_does(tmp_path: Path) -> None:
    pose = poise.Pose(HUMAN, HUMAN.random(np.random.default_rng(0)))
    text = poise.save(pose, tmp_path / "pose.json").read_text("utf-8")
    assert json.loads(text) == json.loads(pose_to_json(pose))
    assert (pose_from_json(HUMAN, text).q == pose.q).all()


def test_values_that_json_cannot_store_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"cannot be saved as \.json"):
        poise.save(poise.Motion(HUMAN, np.tile(HUMAN.rest, (3, 1)), fps=30), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())
    path = poise.save(solved(), tmp_path / "x.json")
    with pytest.raises(FormatError, match="holds a pose or a solution and no body"):
        poise.load(path)
    for text in ("{", "[]", "{}", '{"poise": 1}'):
        path.write_text(text)
        with pytest.raises(FormatError, match="holds no body"):
            poise.load(path)


@pytest.mark.parametrize(
    "options", [{"separators": (",", ":")}, {"sort_keys": True, "indent": 4}, {"separators": (" ,", " : ")}]
)
def test_a_body_is_read_however_another_tool_wrote_its_json(tmp_path: Path, options: dict[str, Any]) -> None:
    for name in ("panda", "snake100"):
        model = poise.load(name)
        path = poise.save(model, tmp_path / "body.json")
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), **options), "utf-8")
        assert poise.load(path) == model
