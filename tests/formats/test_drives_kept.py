"""Inertia, effort, velocity, damping, friction and armature: kept by files, edits and parts of a body."""

from __future__ import annotations

import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND
from driven_bodies import drive_randomly, random_inertia
from poise.errors import FormatWarning, InvalidValue
from poise.model.spec import DRIVE, JointSpec

SEEDS = range(6)
HELD_BY_URDF = ("revolute", "continuous", "prismatic", "fixed", "free", "planar", "universal", "euler")


def list_solids(model: poise.Model) -> dict[str, tuple[Any, ...]]:
    """Return mass, centre and inertia of each frame."""
    frames = (model.frame(name) for name in model.frames)
    return {frame.name: (frame.mass, frame.center.tolist(), frame.inertia.tolist()) for frame in frames}


def list_drives(model: poise.Model) -> dict[str, tuple[float, ...]]:
    return {joint.name: tuple(getattr(joint, key) for key in DRIVE) for joint in model.joints}


def save_and_load(model: poise.Model, path: Path) -> poise.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return poise.load(poise.save(model, path))


@pytest.mark.parametrize("seed", SEEDS)
def test_json_keeps_every_kind(seed: int, tmp_path: Path) -> None:
    model = drive_randomly(seed, joints=14, kinds=EVERY_KIND)
    again = save_and_load(model, tmp_path / "body.json")
    assert list_solids(again) == list_solids(model)
    assert list_drives(again) == list_drives(model)
    assert again == model


@pytest.mark.parametrize("seed", SEEDS)
def test_urdf_keeps_solids_and_drives(seed: int, tmp_path: Path) -> None:
    model = drive_randomly(seed, kinds=HELD_BY_URDF)
    again = save_and_load(model, tmp_path / "body.urdf")
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
    assert list_drives(model) == {"j": (3.0, 2.0, 0.5, 0.1, 0.0)} == list_drives(save_and_load(model, path))


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
