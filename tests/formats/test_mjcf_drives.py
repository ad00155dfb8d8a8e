"""Inertias and drives of an MJCF, judged by MuJoCo's mass matrix and by Pinocchio's of the saved URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import load, mujoco, qpos_of
from poise.errors import FormatWarning

pytestmark = pytest.mark.slow  # MuJoCo's compiler is a process

SOLID = '<inertial pos="{0} 0.1 -0.2" mass="{1}" fullinertia="0.9 0.8 0.7 {2} -0.1 0.2"/>'
BODIES = "".join(
    f'<body name="b{i}" pos="0.3 0.1 {i}" euler="{10 * i} 20 5"><joint name="j{i}" type="{kind}" axis="1 {i} 2" '
    f'damping="{0.1 * i}" frictionloss="{0.2 * i}" armature="{0.05 * i}"/>{SOLID.format(0.1 * i, 1 + i, 0.1 * i)}'
    for i, kind in enumerate(("hinge", "slide", "hinge", "hinge"))
)
ARM = BODIES + "</body>" * 4


def find_mass_matrix(path: str, q: np.ndarray) -> np.ndarray:
    """Return MuJoCo's mass matrix of a file at qpos = q."""
    m = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    columns = []
    for unit in np.eye(m.nv):
        column = np.zeros(m.nv)
        mujoco.mj_mulM(m, data, column, unit)
        columns.append(column)
    return np.array(columns)


def test_the_mass_matrix_is_the_one_of_the_saved_urdf(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
    from pinocchio_urdf import q_there

    model = load(tmp_path, ARM)
    with pytest.warns(FormatWarning, match="no armature"):
        path = poise.save(model, tmp_path / "arm.urdf")
    theirs = pin.buildModelFromUrdf(str(path))
    order = [theirs.joints[theirs.getJointId(joint.name)].idx_v for joint in model.joints]
    for q in model.random(np.random.default_rng(0), 5):
        M = pin.crba(theirs, theirs.createData(), q_there(theirs, model, q))
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)] + np.diag([joint.armature for joint in model.joints])
        assert np.allclose(M, find_mass_matrix(model.source, qpos_of(model, q)), atol=1e-9)


def test_gravity_is_mujoco_s_bias(tmp_path: Path) -> None:
    model = load(tmp_path, ARM, '<option gravity="1 -2 -9"/>')
    m = mujoco.MjModel.from_xml_path(model.source)
    data = mujoco.MjData(m)
    for q in model.random(np.random.default_rng(0), 5):
        data.qpos[:] = qpos_of(model, q)
        mujoco.mj_forward(m, data)
        assert np.allclose(model.gravity(q, (1, -2, -9)), data.qfrc_bias, atol=1e-9)


def test_losses_are_mujoco_s(tmp_path: Path) -> None:
    model = load(tmp_path, ARM)
    m = mujoco.MjModel.from_xml_path(model.source)
    assert [joint.damping for joint in model.joints] == m.dof_damping.tolist()
    assert [joint.friction for joint in model.joints] == m.dof_frictionloss.tolist()
    assert [joint.armature for joint in model.joints] == m.dof_armature.tolist()


@pytest.mark.parametrize(
    ("actuators", "effort"),
    [
        ("", np.inf),
        ('<motor joint="j0"/>', np.inf),
        ('<motor joint="j0" ctrlrange="-2 3" gear="5"/>', 15.0),
        ('<motor joint="j0" ctrlrange="-2 3" gear="-5" forcerange="-1 2"/>', 10.0),
        ('<position joint="j0" kp="20" ctrlrange="-1 1"/>', np.inf),
        ('<position joint="j0" kp="20" forcerange="-7 6"/>', 7.0),
        ('<motor joint="j0" ctrlrange="-1 1"/><position joint="j0" forcerange="-2 2"/>', 3.0),
        ('<motor joint="j0" ctrlrange="-1 1"/><motor joint="j0"/>', np.inf),
        ('<motor joint="j1" ctrlrange="-1 1"/>', np.inf),
    ],
)
def test_effort_is_the_largest_force_of_the_actuators(actuators: str, effort: float, tmp_path: Path) -> None:
    model = load(tmp_path, ARM, f"<actuator>{actuators}</actuator>")
    assert model.joint("j0").effort == effort
    body = ARM.replace('name="j0"', 'name="j0" actuatorfrcrange="-4 5"')
    assert load(tmp_path, body, f"<actuator>{actuators}</actuator>").joint("j0").effort == min(effort, 5.0)
