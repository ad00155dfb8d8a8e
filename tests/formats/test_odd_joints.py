"""Bodies with paths and stretching bones: JSON and tables hold them, to the bit; other formats say that they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND, make_stage, random_model
from poise.errors import FormatError

STAGE = make_stage()


@pytest.mark.parametrize("seed", range(6))
def test_json_holds_every_joint(seed, tmp_path):
    model = random_model(seed, len(EVERY_KIND), EVERY_KIND)
    again = poise.load(poise.save(model, tmp_path / "body.json"))
    assert again == model
    q = model.random(np.random.default_rng(seed), 5)
    np.testing.assert_array_equal(again.fk(q), model.fk(q))


@pytest.mark.parametrize("name", poise.models.names())
def test_json_holds_the_built_in_bodies(name, tmp_path):
    model = poise.load(name)
    again = poise.load(poise.save(model, tmp_path / "body.json"))
    assert again == model
    assert again.file_notes == model.file_notes


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
