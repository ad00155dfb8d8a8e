"""MJCF files for tests, and a comparison with MuJoCo's forward kinematics."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from file_cases import written
from poise.model import Model

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" mass="1"/>'


def write(folder: Path, text: str, name: str = "model.xml") -> Path:
    return written(folder / name, text)


def load(folder: Path, worldbody: str, rest: str = "", **options: Any) -> Model:
    return poise.load(write(folder, f"<mujoco>{rest}<worldbody>{worldbody}</worldbody></mujoco>"), **options)


def qpos_of(model: Model, q: np.ndarray, base: bool = False) -> np.ndarray:
    """Return MuJoCo's qpos for our q, with followers restored."""
    parts = []
    for joint in model.joints[1 if base else 0 :]:
        values = q[joint.q]
        parts.append(joint.mimic.ratio * values + joint.mimic.offset if joint.mimic else values)
    return np.concatenate([np.zeros(0), *parts])


def worst(model: Model, m: Any, q: np.ndarray) -> float:
    """Return the largest difference to MuJoCo over named bodies and sites, in metres and in rotation entries."""
    data = mujoco.MjData(m)
    data.qpos[:] = qpos_of(model, q)
    mujoco.mj_kinematics(m, data)
    out = 0.0
    rows = (
        (mujoco.mjtObj.mjOBJ_BODY, data.xpos, data.xmat),
        (mujoco.mjtObj.mjOBJ_SITE, data.site_xpos, data.site_xmat),
    )
    for kind, positions, turns in rows:
        for i, (position, turn) in enumerate(zip(positions, turns, strict=True)):
            name = mujoco.mj_id2name(m, kind, i)
            if name:
                site = f"{name}_site"  # a site that has a body's name
                T = model.fk(q, site if kind == mujoco.mjtObj.mjOBJ_SITE and site in model.frames else name)
                out = max(out, np.abs(T[:3, 3] - position).max(), np.abs(T[:3, :3] - turn.reshape(3, 3)).max())
    return out


def agrees(path: Path, seed: int = 0) -> Model:
    """Load a file with both libraries, and compare at rest and in random poses."""
    model, m = poise.load(path), mujoco.MjModel.from_xml_path(str(path))
    rng = np.random.default_rng(seed)
    for q in (model.rest, *model.random(rng, 5)):
        assert worst(model, m, q) < 1e-10
    return model
