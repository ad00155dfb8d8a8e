"""Clips of glTF files: samplers, names, rates, and nodes outside of the skin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from gltf_files import arm, off, posed, quaternion
from poise.errors import FormatWarning, PoiseError


def reference(mode: str, times: np.ndarray, values: np.ndarray, t: float, *, rotation: bool) -> np.ndarray:
    """A sampler by the letter of the specification's appendix C, one time at a time."""
    if mode == "CUBICSPLINE":
        before, middle, after = values[0::3], values[1::3], values[2::3]
    else:
        before = middle = after = values
    if t <= times[0] or len(times) == 1:
        out = middle[0]
    elif t >= times[-1]:
        out = middle[-1]
    else:
        k = max(i for i in range(len(times)) if times[i] <= t)
        d = times[k + 1] - times[k]
        u = (t - times[k]) / d
        if mode == "STEP":
            out = middle[k]
        elif mode == "CUBICSPLINE":
            out = (2 * u**3 - 3 * u**2 + 1) * middle[k] + d * (u**3 - 2 * u**2 + u) * after[k]
            out = out + (-2 * u**3 + 3 * u**2) * middle[k + 1] + d * (u**3 - u**2) * before[k + 1]
        elif rotation:
            a, b = middle[k], middle[k + 1]
            dot = float(a @ b)
            angle = np.arccos(min(abs(dot), 1.0))
            if angle < 1e-6:
                out = a
            else:
                out = (np.sin(angle * (1 - u)) * a + np.sign(dot) * np.sin(angle * u) * b) / np.sin(angle)
        else:
            out = (1 - u) * middle[k] + u * middle[k + 1]
    return out / np.linalg.norm(out) if rotation else out


@pytest.mark.parametrize("mode", ["STEP", "LINEAR", "CUBICSPLINE"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "i1", "u2"])
def test_a_clip_is_what_its_sampler_says(tmp_path: Path, mode: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.1, 0.5, 1.2], np.float32)
    rows = len(times) * (3 if mode == "CUBICSPLINE" else 1)
    quats, shifts = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 3)).astype(np.float32)
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    if dtype == "f4":
        stored = used = quats.astype(np.float32)
    else:
        most = np.iinfo(dtype).max
        stored = np.round((np.abs(quats) if dtype == "u2" else quats) * most)
        used = stored / most
    if mode != "CUBICSPLINE":
        used = used / np.linalg.norm(used, axis=1, keepdims=True)
    file = arm(scale=[2, 2, 2])
    file.skin([1, 2, 3, 4])
    file.clip("one", [(2, "rotation", times, stored, mode), (3, "translation", times, shifts, mode)], dtype)
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 30
    assert len(motion) == 37
    assert motion.model.joint("lower").kind == "ball"
    assert motion.model.joint("lower_position").locked
    for k in range(len(motion)):
        # frames that hit a key to rounding take that key, so that no STEP is late by a frame
        t = float(min(times, key=lambda key: abs(key - k / 30)))
        t = t if abs(t - k / 30) < 1e-5 else k / 30
        values = {
            (2, "rotation"): reference(mode, times.astype(float), used.astype(float), t, rotation=True),
            (3, "translation"): reference(mode, times.astype(float), shifts.astype(float), t, rotation=False),
        }
        assert off(motion.model, motion.q[k], posed(file.json, values)) < 2e-6


@pytest.mark.slow
def test_clips_by_name_and_number(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    for name, angle in (("walk", 0.1), ("run", 0.2), ("", 0.3)):
        file.clip(name, [(2, "rotation", [0, 1], [quaternion([1, 0, 0], angle)] * 2, "LINEAR")])
    path = file.glb(tmp_path / "a.glb")
    model = poise.load(path)
    assert any("3 clips: 'walk', 'run', 'clip_2'" in note for note in model.notes)
    for clip, angle in ((None, 0.1), (0, 0.1), ("run", 0.2), (2, 0.3), (-1, 0.3), ("clip_2", 0.3)):
        motion = poise.load_motion(path, clip=clip)
        assert motion.model == model
        assert motion.q[0][model.joint("upper").q][0] == pytest.approx(np.cos(angle / 2), abs=1e-7)
    for clip in ("wlak", 3, True):
        with pytest.raises(PoiseError, match="walk"):
            poise.load_motion(path, clip=clip)


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 30.0, 59.94, 60.0, 120.0, 1000.0])
def test_the_rate_is_the_clips_own(tmp_path: Path, fps: float) -> None:
    file = arm()
    times = 2.0 + np.arange(200) / fps
    file.clip("c", [(2, "rotation", times, [quaternion([1, 0, 0], 0.01 * k) for k in range(200)], "STEP")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert len(motion) == 200
    assert motion.fps == pytest.approx(fps, rel=1e-5)
    angles = 2 * np.arccos(motion.q[:, motion.model.joint("upper").q][:, 0])
    np.testing.assert_allclose(angles, 0.01 * np.arange(200), atol=1e-3)


def test_keys_on_no_even_rate_are_sampled(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "rotation", [0, 0.1234, 0.77777], [quaternion([1, 0, 0], a) for a in (0, 1, 2)], "LINEAR")])
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    assert motion.fps == 60
    assert any("no even rate" in note for note in motion.model.notes)
    assert 2 * np.arccos(motion.q[-1][motion.model.joint("upper").q][0]) == pytest.approx(2.0, abs=1e-6)


def test_an_animated_scale_is_held_and_told(tmp_path: Path) -> None:
    file = arm()
    file.clip("c", [(2, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]], "LINEAR")])
    with pytest.warns(FormatWarning, match="changes the scale"):
        motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(motion.q[0], motion.q[-1])


def test_nodes_beside_the_skin_move_where_a_clip_moves_them(tmp_path: Path) -> None:
    file = arm()
    file.skin([2, 3])
    still = [file.json["nodes"][4]["translation"]] * 2
    file.clip(
        "c",
        [
            (0, "translation", [0, 1], [[0.5, 0, 0], [3, 0, 0]], "LINEAR"),
            (1, "rotation", [0, 1], [quaternion([0, 1, 0], 0.0), quaternion([0, 1, 0], 1.0)], "LINEAR"),
            (4, "translation", [0, 1], still, "LINEAR"),
        ],
    )
    motion = poise.load_motion(file.glb(tmp_path / "a.glb"))
    kinds = {joint.name: joint.kind for joint in motion.model.joints}
    assert kinds == {"armature": "free", "hips": "ball", "upper": "free", "lower": "ball"}
    last = posed(file.json, {(0, "translation"): [3, 0, 0], (1, "rotation"): quaternion([0, 1, 0], 1.0)})
    assert off(motion.model, motion.q[-1], last) < 1e-6


def test_a_single_clip_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    file = arm()
    file.skin([1, 2, 3, 4])
    file.clip("", [(2, "rotation", [0, 1], [quaternion([1, 0, 0], 0.3)] * 2, "LINEAR")])
    path = file.glb(tmp_path / "stroll.glb")
    assert any("1 clip: 'stroll'" in note for note in poise.load(path).notes)
    assert len(poise.load_motion(path, clip="stroll"))
