"""Inertias, drives and gravity, judged by Pinocchio and MuJoCo: what they read before and after Poise."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from driven_bodies import write_urdf
from poise.errors import FormatError, FormatWarning

pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
import pinocchio as pin

from pinocchio_urdf import q_there, refuses, robots

ROBOTS = robots()
LIMITS = ("effortLimit", "velocityLimit", "damping", "friction")
UNKNOWN_EFFORT = {"double_pendulum_continuous"}  # continuous with an effort of 0, which Poise reads as unknown


def save_urdf(model: poise.Model, folder: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return Path(poise.save(model, folder / "out.urdf"))


def load_quietly(path: Path) -> poise.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return poise.load(path)


def check_same(one: Any, other: Any) -> None:
    """Assert that two Pinocchio models have the same inertias and drives."""
    assert list(one.names) == list(other.names)
    for a, b in zip(one.inertias, other.inertias, strict=True):
        scale = max(1.0, a.mass, float(np.abs(a.inertia).max()))
        assert np.isclose(a.mass, b.mass, rtol=1e-12)
        assert np.allclose(a.mass * a.lever, b.mass * b.lever, atol=1e-10 * scale)
        assert np.allclose(a.inertia, b.inertia, atol=1e-10 * scale)
    for key in LIMITS:
        np.testing.assert_allclose(getattr(one, key), getattr(other, key), rtol=1e-12, err_msg=key)


@pytest.mark.parametrize("seed", range(8))
def test_generated_files_keep_what_pinocchio_reads(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "in.urdf"
    path.write_text(write_urdf(seed))
    model = poise.load(path)
    check_same(pin.buildModelFromUrdf(str(path)), pin.buildModelFromUrdf(str(save_urdf(model, tmp_path))))


@pytest.mark.parametrize("seed", range(6))
def test_locked_bodies_are_pinocchio_s_reduced_ones(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "in.urdf"
    path.write_text(write_urdf(seed, ("revolute", "prismatic", "fixed", "continuous")))
    model, rng = poise.load(path), np.random.default_rng(seed)
    q = model.random(rng)
    chosen = [joint for joint in model.joints if joint.nv and rng.random() < 0.5]
    theirs = pin.buildModelFromUrdf(str(path))
    ids = [theirs.getJointId(joint.name) for joint in chosen]
    reduced = pin.buildReducedModel(theirs, ids, q_there(theirs, model, q))
    ours = save_urdf(model.locked({joint.name: q[joint.q] for joint in chosen}), tmp_path)
    check_same(reduced, pin.buildModelFromUrdf(str(ours)))


@pytest.mark.parametrize("seed", range(6))
def test_gravity_is_pinocchio_s(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "in.urdf"
    path.write_text(write_urdf(seed, ("revolute", "prismatic", "fixed", "continuous")))
    model = poise.load(path)
    theirs = pin.buildModelFromUrdf(str(path))
    for q in model.random(np.random.default_rng(seed), 3):
        found = pin.computeGeneralizedGravity(theirs, theirs.createData(), q_there(theirs, model, q))
        own = {joint.name: model.gravity(q)[joint.v] for joint in model.joints if joint.nv}
        for name, torque in own.items():
            assert np.isclose(found[theirs.joints[theirs.getJointId(name)].idx_v], torque[0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not ROBOTS, reason="the package example-robot-data is not installed")
@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: f"{path.parents[1].name}/{path.stem}")
def test_public_robots_keep_everything(path: Path, tmp_path: Path) -> None:
    if refuses(path):
        with pytest.raises(FormatError):
            poise.load(path)
        return
    model = load_quietly(path)
    out = save_urdf(model, tmp_path)
    one, other = (pin.buildModelFromUrdf(str(file)) for file in (path, out))
    if one.nq == other.nq and path.stem not in UNKNOWN_EFFORT:  # it reads a revolute joint without a range as [0, 0]
        check_same(one, other)
    again = load_quietly(out)
    for name in model.frames:
        assert np.array_equal(model.frame(name).inertia, again.frame(name).inertia)
    for joint in model.joints:
        assert joint.mimic == again.joint(joint.name).mimic
        assert np.array_equal(
            [joint.lower, joint.upper], [again.joint(joint.name).lower, again.joint(joint.name).upper]
        )
    shapes = [sorted(repr((s.frame, s.use, s.color, s.shape)) for s in body.shapes) for body in (model, again)]
    assert shapes[0] == shapes[1]
