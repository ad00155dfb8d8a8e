"""FBX files that Blender writes: bones are where Blender's own matrices say, in every frame and in the bind pose."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import poise
from paths import ROOT

pytest.importorskip("ufbx")
pytestmark = pytest.mark.slow

SCRIPT = ROOT / "tests" / "support" / "blender_fbx.py"
Z_FROM_Y = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("blender") is None:
        pytest.skip("Blender is missing: type sudo apt install blender python3-numpy")
    out = tmp_path_factory.mktemp("fbx")
    command = ["blender", "-b", "--factory-startup", "--python-exit-code", "1", "--python", str(SCRIPT), "--", str(out)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300.0)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return out


@pytest.mark.parametrize("up", ["y", "z"])
def test_bones_move_as_in_blender(folder, up) -> None:
    judge = json.loads((folder / "bones.json").read_text())
    motion = poise.load_motion(folder / f"{up}.fbx")
    model, turn = motion.model, Z_FROM_Y if up == "y" else np.eye(3)
    assert (model.up, model.units, motion.fps, len(motion)) == (up, "cm", 30.0, len(judge["frames"]))
    reached, wanted = model.fk(motion.q, judge["names"]), np.array(judge["frames"])
    np.testing.assert_allclose(0.01 * reached[..., :3, 3] @ turn.T, wanted[..., :3, 3], atol=1e-5)  # m
    scale = np.cbrt(np.linalg.det(wanted[0, 0, :3, :3]))
    np.testing.assert_allclose(turn @ reached[..., :3, :3], wanted[..., :3, :3] / scale, atol=1e-5)
    bind = 0.01 * model.fk(model.poses["bind"], judge["names"])[:, :3, 3]
    rest = np.array(judge["rest"])[:, :3, 3]
    np.testing.assert_allclose(
        np.linalg.norm(bind - bind[0], axis=1), np.linalg.norm(rest - rest[0], axis=1), atol=1e-5
    )
