"""Meshes on the links of robots: found in packages, turned upright, and never outside of an upload."""

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
from poise.errors import FormatWarning, InvalidValue
from poise.formats import load_within
from poise.formats.meshes.looks import find_look
from poise.model.geometry.looks import deform
from poise.model.geometry.surfaces import open_surfaces, read_vertices
from poise.spatial import Rotation


def frames_of(path: Path, **options: object) -> set[str]:
    return {piece.frame for piece in find_look(poise.load(path, **options)).pieces}  # type: ignore[arg-type]


def test_packages_are_found_above_the_file_and_where_they_are_said_to_be(tmp_path, monkeypatch) -> None:
    path = made.robot(tmp_path)
    assert frames_of(path) == {"base", "upper", "lower"}
    for where in (tmp_path / "elsewhere", tmp_path / "elsewhere" / "hand_description"):
        assert frames_of(path, package_path=[where]) == {"base", "upper", "lower", "hand"}
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join(["/nowhere", str(tmp_path / "elsewhere")]))
    assert frames_of(path) == {"base", "upper", "lower", "hand"}
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    prefix = tmp_path / "prefix"
    shutil.copytree(tmp_path / "elsewhere", prefix / "share")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    assert frames_of(path) == {"base", "upper", "lower", "hand"}
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    shutil.copytree(tmp_path / "elsewhere", tmp_path / "site" / "cmeel.prefix" / "share")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert frames_of(path) == {"base", "upper", "lower", "hand"}


def test_a_package_that_was_renamed_is_found_by_the_rest_of_the_path(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    moved = path.parents[1].rename(tmp_path / "ws" / "my_arm_download")
    assert frames_of(moved / "urdf" / "arm.urdf") == {"base", "upper", "lower"}


@pytest.mark.parametrize("inside", ["", "meshes/", "arm_description/meshes/"])
def test_a_package_without_a_name_is_where_the_file_is(inside: str, tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    shutil.copy(path.parents[1] / "meshes" / "base.stl", path.parent / "base.stl")
    shutil.copytree(path.parents[1] / "meshes", path.parent / "meshes")
    path.write_text(made.ROBOT.replace("package://arm_description/meshes/base.stl", f"package:///{inside}base.stl"))
    assert frames_of(path) == {"base", "upper", "lower"}
    assert "base.stl" not in " ".join(find_look(poise.load(path)).notes)


def test_the_file_is_found_from_any_folder(tmp_path, monkeypatch) -> None:
    path = made.robot(tmp_path)
    monkeypatch.chdir(path.parent)
    model = poise.load("arm.urdf")
    monkeypatch.chdir(tmp_path)
    assert {piece.frame for piece in find_look(model).pieces} == {"base", "upper", "lower"}


def test_missing_meshes_are_reported_once_with_the_searched_paths(tmp_path: Path) -> None:
    look = find_look(poise.load(made.robot(tmp_path)))
    (note,) = look.notes
    for word in ("hand_description", "hand.glb", str(tmp_path), "ROS_PACKAGE_PATH", "package_path"):
        assert word in note
    assert look.bare == {"hand"}


def test_a_mesh_that_its_package_lacks_is_reported_with_the_package(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    (path.parents[1] / "meshes" / "base.stl").unlink()
    (note,) = find_look(poise.load(path, package_path=[tmp_path / "elsewhere"])).notes
    assert f"package 'arm_description' in {str(path.parents[2])!r} does not have it" in note
    assert "package_path" not in note


def test_pieces_stand_where_the_file_puts_them(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    q = np.array([0.3, -0.2, 0.5])
    T = model.fk(q)
    for piece in find_look(model).pieces:
        shape = next(s for s in model.shapes if s.frame == piece.frame and s.use != "collision")
        scale = 0.5 if piece.frame == "upper" else 1.0
        box = np.array(shape.offset.apply(scale * np.array([[0, 0, 0], [1, 2, 3]])))
        whole = T[model.frames.index(piece.frame)]
        np.testing.assert_allclose(np.linalg.det(whole[:3, :3]), 1.0)
        local = (deform(piece, model.frames, T) - whole[:3, 3]) @ whole[:3, :3]
        np.testing.assert_allclose([local.min(axis=0), local.max(axis=0)], box, atol=1e-5)
    colors = {p.frame: p.patch.material and p.patch.material.color for p in find_look(model).pieces}
    assert colors["base"] == (0, 0, 1, 1), "the robot's file says blue"
    assert colors["upper"] == (1, 0, 0, 1), "the mesh says red, the robot's file nothing"
    assert colors["lower"] is None


def test_a_scaled_or_turned_body_keeps_its_look(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    plain, large = poise.load(path), poise.load(path, scale=10.0, up="y")
    for a, b in zip(find_look(plain).pieces, find_look(large).pieces, strict=True):
        here = deform(a, plain.frames, plain.fk(plain.rest))
        there = deform(b, large.frames, large.fk(large.rest))
        np.testing.assert_allclose(np.sort(10 * np.ptp(here, axis=0)), np.sort(np.ptp(there, axis=0)), rtol=1e-4)


def test_loading_opens_no_mesh(tmp_path, monkeypatch) -> None:
    path = made.robot(tmp_path)
    opened: list[str] = []
    usual = Path.open

    def noted(self: Path, *args, **kwargs):
        opened.append(self.suffix)
        return usual(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", noted)
    model = poise.load(path)
    assert opened == [".urdf"]
    find_look(model)
    assert sorted(opened) == [".dae", ".obj", ".stl", ".urdf"]
    find_look(model)
    assert len(opened) == 4, "a second look reads nothing"


def test_collision_shapes_are_drawn_only_where_there_is_nothing_to_see(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    text = made.ROBOT.replace("<visual>", "<collision>").replace("</visual>", "</collision>")
    path.write_text(text)
    assert frames_of(path) == {"base", "upper", "lower"}
    broken = made.ROBOT.replace("meshes/base.stl", "meshes/gone.stl").replace(
        '<box size="1 1 1"/>', '<mesh filename="package://arm_description/meshes/base.stl"/>'
    )
    path.write_text(broken)
    assert frames_of(path) == {"base", "upper", "lower"}, "the collision mesh stands in for a visual that is not there"
    path.write_text(broken.replace("meshes/gone.stl", "meshes/base.stl"))
    assert len([p for p in find_look(poise.load(path)).pieces if p.frame == "base"]) == 1


# ------------------------------------------------------------------------------------------------ hostile


OUTSIDE = ("{0}/elsewhere/hand_description/hand.glb", "file://{0}/elsewhere/hand_description/hand.glb")


CLIMBING = ("../../../elsewhere/hand_description/hand.glb", "package://hand_description/hand.glb")


@pytest.mark.parametrize("reference", OUTSIDE + CLIMBING)
def test_an_upload_reads_nothing_outside_of_itself(reference: str, tmp_path, monkeypatch) -> None:
    path = made.robot(tmp_path)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    path.write_text(made.ROBOT.replace("package://hand_description/hand.glb", reference.format(tmp_path)))
    folder = path.parents[1]
    look = find_look(load_within(path, folder))
    assert {piece.frame for piece in look.pieces} == {"base", "upper", "lower"}
    assert "upload" in look.notes[0]
    (folder / "link.glb").symlink_to(tmp_path / "elsewhere" / "hand_description" / "hand.glb")
    path.write_text(made.ROBOT.replace("package://hand_description/hand.glb", "../link.glb"))
    assert "hand" not in {piece.frame for piece in find_look(load_within(path, folder)).pieces}, "nor through a link"


@pytest.mark.parametrize(
    "reference", ["package://", "package:///", "package://../x.stl", "x\0.stl", "/etc/passwd", "."]
)
def test_references_that_are_none_are_missing(reference: str, tmp_path: Path) -> None:
    from poise.formats.urdf.packages import PackageFinder
    from poise.model.geometry.looks import LookSource

    finder = PackageFinder(LookSource(str(tmp_path / "arm.urdf")))
    assert finder.find(reference) is None
    assert finder.missing == [reference]


def test_package_path_must_be_a_list_of_folders(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    with pytest.raises(InvalidValue, match=r"package_path=\["):
        poise.load(path, package_path=str(tmp_path))
    with pytest.raises(InvalidValue, match="not a folder"):
        poise.load(path, package_path=[tmp_path / "nowhere"])


def test_the_look_is_not_part_of_model_equality(tmp_path: Path) -> None:
    path = made.robot(tmp_path)
    one, two = poise.load(path), poise.load(path, package_path=[tmp_path / "elsewhere"])
    assert one == two
    assert find_look(pickle.loads(pickle.dumps(two))).bare == frozenset()
    assert find_look(two.with_frame("tool", "hand")).bare == frozenset()


# ------------------------------------------------------------------------------------------------ MJCF

MJCF = """<mujoco><compiler meshdir="assets" angle="radian"/><asset>
  <mesh name="a" file="base.stl" scale="0.5 0.5 0.5" refpos="0.1 0.2 0.3" refquat="0.8 0.6 0 0"/>
  <mesh name="b" file="lower.obj" scale="1 2 -0.5" refpos="1 0 0"/><material name="gold" rgba="1 0.8 0 1"/></asset>
<worldbody><body name="one" pos="0 0 1" euler="0.1 0.2 0.3"><joint axis="0 1 0"/><inertial pos="0 0 0" mass="1"
  diaginertia="1 1 1"/><geom type="mesh" mesh="a" pos="0.3 0 0" euler="0.5 0 0" material="gold"/>
  <body name="two" pos="0 1 0"><joint axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <geom type="mesh" mesh="b" pos="0 0.3 0"/></body></body></worldbody></mujoco>"""


@pytest.mark.slow
@pytest.mark.parametrize("given", ["absolute", "relative"])
def test_meshes_of_mjcf_stand_where_mujoco_puts_them(given: str, tmp_path, monkeypatch) -> None:
    mujoco = pytest.importorskip("mujoco")
    folder = tmp_path / "robot"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "base.stl").write_bytes(made.stl())
    (folder / "assets" / "lower.obj").write_bytes(made.obj().replace(b"//1", b"").replace(b"vn 0 0 1\n", b""))
    (folder / "robot.xml").write_text(MJCF)
    monkeypatch.chdir(tmp_path)
    model = poise.load(folder / "robot.xml" if given == "absolute" else Path("robot") / "robot.xml")
    theirs = mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    data = mujoco.MjData(theirs)
    data.qpos[:] = q = np.array([0.4, -0.7])
    mujoco.mj_kinematics(theirs, data)
    pieces = {piece.frame: piece for piece in find_look(model).pieces}
    for i, body in enumerate(("one", "two")):
        k = theirs.geom_dataid[i]
        start = theirs.mesh_vertadr[k]
        points = theirs.mesh_vert[start : start + theirs.mesh_vertnum[k]]
        wanted = points @ data.geom_xmat[i].reshape(3, 3).T + data.geom_xpos[i]
        found = deform(pieces[body], model.frames, model.fk(q))
        far = np.linalg.norm(found[:, None] - wanted[None], axis=-1)
        assert far.min(axis=1).max() < 1e-5
        assert far.min(axis=0).max() < 1e-5
    assert pieces["one"].patch.material is not None
    assert pieces["one"].patch.material.color == pytest.approx((1, 0.8, 0, 1))


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
    model = poise.load(chain(tmp_path, "Y_UP", meant=meant, use=use))
    points = read_vertices(next(shape for shape in model.shapes if shape.frame == "link4"), open_surfaces(model))
    assert points is not None
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
