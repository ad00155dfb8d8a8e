"""Loading takes work in proportion to the file: twice the joints, about twice the function calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import poise
from poise.formats.roles import find_new_roles

JOINT = """<link name="l{child}"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
<joint name="j{child}" type="revolute"><parent link="l{parent}"/><child link="l{child}"/>
<origin xyz="0.01 {child} 0.1"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
BONE = "JOINT b{k}\n{{\nOFFSET {k} 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}"
BODY = '<body name="b{k}" pos="{k} 0 1"><joint name="j{k}" axis="0 0 1" range="-1 1"/><geom size="0.05"/></body>'


def write_urdf(path: Path, count: int, star: bool) -> Path:
    joints = [JOINT.format(child=k + 1, parent=0 if star else k) for k in range(count)]
    path.write_text(f'<robot name="many"><link name="l0"/>{"".join(joints)}</robot>')
    return path


def write_star(path: Path, count: int) -> Path:
    return write_urdf(path.with_suffix(".urdf"), count, star=True)


def write_chain(path: Path, count: int) -> Path:
    return write_urdf(path.with_suffix(".urdf"), count, star=False)


def write_bvh(path: Path, count: int) -> Path:
    root = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    bones = "\n".join(BONE.format(k=k) for k in range(count))
    row = " ".join(["0"] * 3 * (count + 1))
    path = path.with_suffix(".bvh")
    path.write_text(f"{root}{bones}\n}}\nMOTION\nFrames: 1\nFrame Time: 0.04\n{row}\n")
    return path


def write_mjcf(path: Path, count: int) -> Path:
    bodies = "".join(BODY.format(k=k) for k in range(count))
    path = path.with_suffix(".xml")
    path.write_text(f'<mujoco><worldbody><body name="base"><geom size="0.1"/>{bodies}</body></worldbody></mujoco>')
    return path


def count_calls(call: Callable[[], Any]) -> int:
    """Return how many functions a call enters, native ones included."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def check_linear(tmp_path: Path, write: Callable[[Path, int], Path], count: int) -> None:
    paths = [write(tmp_path / f"body{n}", n) for n in (10, count, 2 * count)]
    poise.load(paths[0])  # what is imported on the way does not count
    once, twice = (count_calls(partial(poise.load, path)) for path in paths[1:])
    assert once > count
    assert twice < 2.3 * once


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_star, write_chain, write_bvh])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_twice_the_joints_are_twice_the_work(tmp_path: Path, write: Callable[[Path, int], Path]) -> None:
    check_linear(tmp_path, write, 300)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_twice_the_bodies_of_mjcf_are_twice_the_work(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    check_linear(tmp_path, write_mjcf, 300)


@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_roles_are_found_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def find(model: poise.Model) -> tuple[dict[str, str], str]:
        asked.append(model.name)
        return find_new_roles(model)

    monkeypatch.setattr("poise.formats.roles.find_new_roles", find)
    path = tmp_path / "body.urdf"
    poise.save(poise.load("humanoid"), path)
    path.write_text("\n".join(line for line in path.read_text().splitlines() if "<role " not in line))
    model = poise.load(path)
    model.fk(model.rest, model.frames[-1])
    assert not asked
    assert model.roles["hand_l"] == "hand_l"
    assert any(note.startswith("roles: ") for note in model.notes)
    assert model == poise.load(path)
    assert asked == ["humanoid"] * 2
