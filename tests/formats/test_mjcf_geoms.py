"""MJCF: the names of geoms, which mean frames that no list has."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import GEOM, load, mujoco, write
from poise.errors import NameNotFound

pytestmark = pytest.mark.slow

LEG = (
    '<body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-90 90"/>{}'
    '<geom name="foot" type="sphere" size="0.02" pos="0 0.1 -0.5" euler="90 0 0"/>{}</body>'
)


def test_a_geom_has_a_name_and_no_row(tmp_path: Path) -> None:
    model = load(tmp_path, LEG.format(GEOM, ""))
    plain = load(tmp_path, LEG.format(GEOM, "").replace('name="foot"', ""))
    assert model.frames == plain.frames == ("world", "leg")
    assert model.length == plain.length
    q = np.array([[0.3], [0.5]])
    assert model.fk(q).shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(model.fk(q), plain.fk(q))
    m = mujoco.MjModel.from_xml_path(
        str(write(tmp_path, f"<mujoco><worldbody>{LEG.format(GEOM, '')}</worldbody></mujoco>"))
    )
    data = mujoco.MjData(m)
    data.qpos[:] = q[0]
    mujoco.mj_kinematics(m, data)
    T = model.fk(q[0], "foot")
    np.testing.assert_allclose(T[:3, 3], data.geom("foot").xpos, atol=1e-12)
    np.testing.assert_allclose(T[:3, :3].ravel(), data.geom("foot").xmat, atol=1e-12)
    assert poise.solve(model, poise.goals.Reach("foot", T[:3, 3])).reached
    assert model.frame("foot").parent == "leg"


def test_geoms_come_after_bodies_sites_joints_and_roles(tmp_path: Path) -> None:
    named = "".join(f'<geom name="{name}" size="0.1" pos="0 0 9"/>' for name in ("leg", "tip", "hip", "head"))
    model = load(tmp_path, LEG.format(GEOM, f'<site name="tip" pos="0 0 -1"/>{named}'))
    assert [model.frame(name).name for name in ("leg", "tip", "hip")] == ["leg", "tip", "leg"]
    with pytest.raises(NameNotFound, match="head"):
        model.frame("head")
    taken = model.with_roles({"foot": "tip"})
    assert taken.frame("foot").name == "tip"
    np.testing.assert_array_equal(taken.fk(taken.rest, "foot"), taken.fk(taken.rest, "tip"))


def test_geoms_stay_with_the_body(tmp_path: Path) -> None:
    model = load(tmp_path, LEG.format(GEOM, ""))
    place = model.fk(model.rest, "foot")[:3, 3]
    poise.save(model, tmp_path / "leg.json")
    for other in (pickle.loads(pickle.dumps(model)), poise.load(tmp_path / "leg.json"), model.locked({"hip": 0.0})):
        assert other.frames == model.frames
        np.testing.assert_allclose(other.fk(other.rest, "foot")[:3, 3], place, atol=1e-12)
    larger = load(tmp_path, LEG.format(GEOM, ""), scale=2.0)
    np.testing.assert_allclose(larger.fk(larger.rest, "foot")[:3, 3], 2.0 * place, atol=1e-12)
    tool = model.with_frame("sole", "foot", (0.0, 0.0, 0.02))
    assert tool.frame("sole").parent == "leg"
    np.testing.assert_allclose(tool.fk(tool.rest, "sole"), model.fk(model.rest, "foot") @ tool_offset(), atol=1e-12)
    own = model.with_frame("foot", "leg", (0.0, 0.0, -0.6))
    assert own.frames[-1] == "foot"
    np.testing.assert_allclose(own.fk(own.rest, "foot")[:3, 3], (0.0, 0.0, 0.4), atol=1e-12)


def tool_offset() -> np.ndarray:
    offset = np.eye(4)
    offset[2, 3] = 0.02
    return offset


BONES = '<geom type="box" size="0.1 0.1 0.4" group="5" contype="0" conaffinity="0"/>'
SKIN = '<deformable><skin name="fur" file="fur.skn"/></deformable>'


@pytest.mark.parametrize(
    ("skin", "bones", "uses"),
    [
        ("", BONES, ["collision", "collision"]),
        (SKIN, BONES, ["visual", "collision"]),
        (SKIN, "", ["both"]),
    ],
)
def test_bones_are_drawn_in_place_of_a_skin(skin: str, bones: str, uses: list[str], tmp_path: Path) -> None:
    body = f'<body name="leg"><joint axis="0 1 0"/>{bones}<geom type="capsule" size="0.1 0.4" group="3"/></body>'
    path = write(tmp_path, f"<mujoco>{skin}<worldbody>{body}</worldbody></mujoco>")
    with pytest.warns(UserWarning, match="skin") if skin else contextlib.nullcontext():
        model = poise.load(path)
    assert [shape.use for shape in model.shapes] == uses
