"""A DAE says which axis is up; whether that is meant is seen on the whole robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
from poise.errors import FormatWarning
from poise.formats.meshes.looks import find_look
from poise.model.geometry.looks import deform
from poise.model.geometry.surfaces import read_points
from poise.spatial import Rotation

TURNS = {
    "X_UP": np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]]),
    "Y_UP": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "Z_UP": np.eye(3),
}
LINK = """<link name="link{0}"><{use}><origin xyz="{1}"/><geometry><mesh filename="link.dae"/></geometry></{use}></link>
<joint name="joint{0}" type="revolute"><parent link="{parent}"/><child link="link{0}"/><origin xyz="{2}" rpy="{3}"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>"""


def write(*numbers: float) -> str:
    return " ".join(f"{x:.9f}" for x in numbers)


def chain(folder: Path, up: str, *, meant: bool, use: str = "visual") -> Path:
    """A robot of five boxes, end to end, whose DAE says that `up` is up, and means it or not."""
    turn = TURNS[up] if meant else np.eye(3)
    (folder / "link.dae").write_bytes(made.dae().replace(b"Z_UP", up.encode()))
    rng = np.random.default_rng(3)
    text, parent, offset = '<robot name="chain"><link name="base"/>', "base", np.zeros(3)
    for k in range(5):
        at = turn @ (-0.5, -1.0, 0.0)
        text += LINK.format(k, write(*at), write(*offset), write(*rng.uniform(-1, 1, 3)), use=use, parent=parent)
        parent, offset = f"link{k}", turn @ (0.0, 0.0, 3.0)
    path = folder / "chain.urdf"
    path.write_text(text + "</robot>")
    return path


def box_of(up: str, meant: bool) -> np.ndarray:
    """The two far corners of each link's box in its own axes."""
    turn = TURNS[up] if meant else np.eye(3)
    corners = (made.CORNERS - (0.5, 1.0, 0.0)) @ turn.T
    return np.array([corners.min(axis=0), corners.max(axis=0)])


@pytest.mark.parametrize("meant", [True, False])
@pytest.mark.parametrize("up", TURNS)
def test_links_meet_at_their_joints_whatever_their_files_say(up: str, meant: bool, tmp_path: Path) -> None:
    model = poise.load(chain(tmp_path, up, meant=meant))
    look = find_look(model)
    T = model.fk(model.rest)
    for piece in look.pieces:
        whole = T[model.frames.index(piece.frame)]
        local = (deform(piece, model.frames, T) - whole[:3, 3]) @ whole[:3, :3]
        np.testing.assert_allclose([local.min(axis=0), local.max(axis=0)], box_of(up, meant), atol=1e-5)
    said = " ".join(look.assumed)
    assert ("turned so" in said) == (meant and up != "Z_UP")
    assert ("ignored" in said) == (not meant and up != "Z_UP")
    assert up == "Z_UP" or f"say that {up[0]} is up" in said


@pytest.mark.parametrize("use", ["visual", "collision"])
@pytest.mark.parametrize("meant", [True, False])
def test_points_of_a_mesh_are_read_as_it_is_drawn(meant: bool, use: str, tmp_path: Path) -> None:
    path = chain(tmp_path, "Y_UP", meant=meant, use=use)
    points = read_points(poise.load(path), ["link4"])["link4"]
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], box_of("Y_UP", meant), atol=1e-5)


def test_files_without_evidence_are_unchanged(tmp_path: Path) -> None:
    (tmp_path / "box.dae").write_bytes(made.dae().replace(b"Z_UP", b"Y_UP"))
    path = tmp_path / "box.urdf"
    seen = '<visual><geometry><mesh filename="box.dae"/></geometry></visual>'
    path.write_text(f'<robot name="box"><link name="base">{seen}</link></robot>')
    look = find_look(poise.load(path))
    np.testing.assert_allclose(look.pieces[0].matrix, np.eye(4))
    assert look.assumed == ()


@pytest.mark.slow
def test_a_picture_says_once_how_the_files_were_read(tmp_path: Path) -> None:
    model = poise.load(chain(tmp_path, "Y_UP", meant=True))
    with pytest.warns(FormatWarning, match=r"Y is up: they were turned so.*gaps of"):
        poise.plot(model, tmp_path / "chain.png")
    poise.plot(model, tmp_path / "again.png")


def test_the_turns_are_rotations_that_bring_the_axis_up() -> None:
    from poise.formats.urdf.up_axes import TURNS as OURS

    for axis, turn in OURS.items():
        Rotation.from_matrix(turn[:3, :3])
        np.testing.assert_allclose(turn[:3, :3] @ np.eye(3)["xyz".index(axis)], (0.0, 0.0, 1.0))
        np.testing.assert_allclose(turn[:3, :3], TURNS[f"{axis.upper()}_UP"])
