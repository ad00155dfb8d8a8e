"""MJCF: forward kinematics are MuJoCo's to 1e-10: feature by feature, on random trees, on the files it ships."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import GEOM, agrees, mujoco, worst, write
from poise.errors import FormatWarning

pytestmark = pytest.mark.slow

END = GEOM + "</body>"
KINEMATICS = {
    "hinge": '<body name="a" pos="1 2 3" quat="1 2 3 4"><joint axis="1 1 0"/><site name="s" pos="1 0 0"/>' + END,
    "slide": '<body name="a" pos="1 2 3"><joint type="slide" axis="1 2 3" range="-1 2"/>' + END,
    "ball": '<body name="a" pos="1 2 3"><joint type="ball" pos="0.1 0.2 0.3"/>' + END,
    "free": '<body name="a" pos="1 2 3" euler="10 20 30"><freejoint/><body name="b" pos="1 0 0"><joint/>' + END + END,
    "anchors": '<body name="a"><joint pos="1 2 3" axis="0 1 0"/>'
    '<body name="b" pos="1 1 1"><joint pos="0 0 -1"/>' + END + END,
    "several joints": '<body name="a" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/>'
    '<joint name="y" axis="0 1 0" pos="0.5 0 0"/><joint name="z" axis="0.6 0 0.8"/>'
    '<joint name="w" type="ball" pos="0 0 0.25"/>' + END,
    "refs": '<body name="a"><joint ref="30" pos="1 0 0"/>'
    '<body name="b" pos="1 0 0"><joint type="slide" axis="1 1 0" ref="0.25"/>' + END + END,
    "names shared": '<body name="a"><joint name="a" pos="1 0 0"/><body name="b"><joint name="b"/>' + END + END,
    "no names": '<body pos="1 0 0"><joint/><site/>'
    '<body pos="0 1 0"><joint/><joint axis="1 0 0"/><site name="end"/>' + END + END,
    "orientations": '<body name="a" euler="10 20 30"/><body name="b" axisangle="1 1 0 45"/>'
    '<body name="c" xyaxes="1 1 0 0 1 1"/><body name="d" zaxis="1 2 3"/><site name="s" zaxis="0 1 1"/>',
    "frames": '<frame pos="1 2 3" euler="0 90 0"><frame quat="1 1 0 0">'
    '<body name="a" pos="1 0 0"><joint/>' + END + "</frame></frame>",
    "replicas": '<replicate count="3" offset="0.5 0 0" euler="0 0 30">'
    '<body name="a"><joint name="j"/>' + END + "</replicate>",
    "mocap": '<body name="m" mocap="true" pos="1 2 3" quat="1 1 0 0"/>',
    "nearly an axis": '<body name="a"><joint axis="1.3e-8 0 -1"/><body name="b" pos="5 5 5"/>' + END,
    "two trees": '<body name="a" pos="1 0 0"><joint/>' + END + '<body name="b"><freejoint/>' + END,
    "on the world": '<site name="w" pos="0 0 2"/><body name="a"/>',
}


@pytest.mark.parametrize("worldbody", KINEMATICS.values(), ids=KINEMATICS.keys())
@pytest.mark.parametrize("compiler", ["", '<compiler angle="radian" eulerseq="zyx"/>', '<compiler eulerseq="XZY"/>'])
def test_kinematics_are_mujocos(tmp_path: Path, worldbody: str, compiler: str) -> None:
    agrees(write(tmp_path, f"<mujoco>{compiler}<worldbody>{worldbody}</worldbody></mujoco>"))


def random_body(rng: np.random.Generator, depth: int, count: list[int]) -> str:
    """A body with up to three joints (a ball only as the last), a site and children."""

    def vector() -> str:
        return " ".join(f"{x:.6g}" for x in rng.normal(size=3))

    count[0] += 1
    name = f"b{count[0]}"
    kinds = [*rng.choice(["hinge", "slide"], rng.integers(0, 3)), *rng.choice(["ball", "hinge"], rng.integers(0, 2))]
    joints = "".join(
        f'<joint name="{name}_{k}" type="{kind}" axis="{vector()}" pos="{vector()}"'
        + ("/>" if kind == "ball" else f' ref="{rng.normal():.6g}"/>')
        for k, kind in enumerate(kinds)
    )
    if depth == 0 and rng.random() < 0.3:
        joints = "<freejoint/>"
    children = "".join(random_body(rng, depth + 1, count) for _ in range(rng.integers(0, 3) if depth < 4 else 0))
    site = f'<site name="s_{name}" pos="{vector()}" euler="{vector()}"/>'
    return f'<body name="{name}" pos="{vector()}" axisangle="{vector()} 0.7">{joints}{GEOM}{site}{children}</body>'


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_agree(tmp_path: Path, seed: int) -> None:
    rng, count = np.random.default_rng(seed), [0]
    bodies = "".join(random_body(rng, 0, count) for _ in range(2))
    text = f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'
    assert len(agrees(write(tmp_path, text), seed).frames) > 2 * count[0]


def test_what_mujoco_ships() -> None:
    paths = [path for path in Path(mujoco.__file__).parent.rglob("*.xml") if b"<mujoco" in path.read_bytes()[:3000]]
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # one has no bodies
            model = poise.load(path)
        m = mujoco.MjModel.from_xml_path(str(path))
        assert worst(model, m, model.rest) < 1e-10
        assert model.mass == pytest.approx(m.body_mass.sum())


def test_deep_chains(tmp_path: Path) -> None:
    chain = f'<body pos="0 0 0.1"><joint/>{GEOM}' * 400 + "</body>" * 400
    assert agrees(write(tmp_path, f"<mujoco><worldbody>{chain}</worldbody></mujoco>")).nq == 400
