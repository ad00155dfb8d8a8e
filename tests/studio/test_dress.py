"""A body's own meshes in the studio: viser's rigid bones bend them as skinning does, and little is sent."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import looks_files as made
import poise
from poise.model import Model
from poise.model.geometry.looks import deform
from poise.pictures.body.pieces import find_pieces
from poise.pictures.rays import find_hit
from poise.studio.scene.mesh_parts import ImageShelf, SkinPart, make_dress
from poise.studio.scene.node_moves import Movers, make_quick_sender
from poise.studio.scene.rigid_skins import split_stiff

HALVES = made.png([[(200, 30, 30)] * 2 + [(30, 30, 200)] * 2] * 4)
TOPS = [{}, {"scale": [2, 2, 2]}, {"scale": [0.01, 0.01, -0.01]}, {"scale": [1, 2, 1]}]


def bent(part: SkinPart, model: Model, q: Any) -> np.ndarray:
    """Where viser puts the vertices: sum_k w_k T_k C_k^-1 u."""
    T = model.fk(q)[[model.frames.index(frame) for frame in part.frames]]
    C = np.tile(np.eye(4), (len(part.frames), 1, 1))
    C[:, :3, :3], C[:, :3, 3] = poise.Rotation(part.wxyz).matrix, part.positions
    moves = T @ np.linalg.inv(C)
    points = np.column_stack([part.vertices, np.ones(len(part.vertices))])
    return np.einsum("nb,bij,nj->ni", part.table(), moves, points)[:, :3]


def farthest(found: np.ndarray, among: np.ndarray) -> float:
    return float(np.linalg.norm(found[:, None] - among[None], axis=-1).min(axis=1).max())


@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
@pytest.mark.parametrize("top", TOPS)
def test_skins_bend_as_linear_blend_skinning_does(top: dict[str, Any], tmp_path: Path) -> None:
    file, *_ = made.strip(4, 4, **top)
    path = file.glb(tmp_path / "strip.glb")
    model, motion = poise.load(path), poise.load_motion(path)
    dress = make_dress(model)
    assert dress is not None
    (part,) = dress.skins
    (piece,) = find_pieces(model)
    poses = [model.rest] if top.get("scale") == [1, 2, 1] else [model.rest, motion.q[len(motion) // 2]]
    for q in poses:
        wanted = deform(piece, model.frames, model.fk(q))
        assert farthest(bent(part, model, q), wanted) < 1e-4 * np.ptp(wanted)


def test_a_texture_is_painted_on_one_part(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    file, *_ = made.strip(texture=HALVES)
    model = poise.load(file.glb(tmp_path / "strip.glb"))
    dress = make_dress(model)
    assert dress is not None
    (part,), (image,), (piece,) = dress.skins, dress.images, find_pieces(model)
    assert part.paint is not None
    assert piece.patch.uv is not None
    assert image.shape == (4, 4, 3)
    assert tuple(image[0, 0]) == (200, 30, 30)
    assert part.color == (255, 255, 255)
    for q in (model.rest, poise.load_motion(tmp_path / "strip.glb").q[15]):
        wanted = deform(piece, model.frames, model.fk(q))
        assert bent(part, model, q) == pytest.approx(wanted, abs=1e-4 * np.ptp(wanted)), "vertex by vertex, as uv is"
    np.testing.assert_array_equal(part.paint.uv, piece.patch.uv)
    assert part.paint.normals == pytest.approx(np.asarray(piece.patch.normals), abs=1e-6)


def test_links_share_a_texture_and_cut_out_what_is_transparent(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    dress = make_dress(poise.load(made.painted_glb().glb(tmp_path / "squares.glb")))
    assert dress is not None
    (part,) = dress.rigid
    assert part.paint is not None
    assert part.paint.image == 0
    assert part.paint.normals == pytest.approx(np.tile([0, 0, 1], (len(part.vertices), 1)), abs=1e-6)
    (piece,) = find_pieces(poise.load(tmp_path / "squares.glb"))
    assert piece.patch.material is not None
    shelf = ImageShelf()
    assert [shelf.find_image(replace(piece.patch.material, cutout=limit)) for limit in (None, 0.5, None)] == [0, 1, 0]
    assert all(image.shape[2] == 3 for image in shelf.images), "nothing of it is transparent"


def test_eight_influences_become_the_four_heaviest(tmp_path: Path) -> None:
    file, *_ = made.strip(6, 8)
    dress = make_dress(poise.load(file.glb(tmp_path / "strip.glb")))
    assert dress is not None
    for part in dress.skins:
        assert part.joints.shape[1] == 4
        np.testing.assert_allclose(part.weights.sum(axis=1), 1.0, atol=1e-5)


def test_links_of_one_color_are_one_part(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    dress = make_dress(model)
    assert dress is not None
    assert sorted(part.frame for part in dress.rigid) == ["base", "hand", "lower", "upper"]
    assert {part.color for part in dress.rigid if part.frame in ("base", "upper")} == {(0, 0, 255), (255, 0, 0)}
    assert make_dress(poise.load("humanoid")) is None


def test_a_ray_finds_the_frame_that_moves_what_it_meets(tmp_path: Path) -> None:
    model = poise.load(made.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    T = model.fk(model.rest)
    for frame in ("base", "hand"):
        place = T[model.frames.index(frame)][:3, 3]
        start = place + np.array([-20.0, 0.0, 3.0 if frame == "hand" else 0.0])
        assert find_hit(model, T, start, np.array([1.0, 0, 0])) == frame
    assert find_hit(model, T, np.array([0.0, 90, 0]), np.array([1.0, 0, 0])) is None


# ------------------------------------------------------------------------------------------------ in a studio


@pytest.fixture
def studio() -> Any:
    from poise.studio.web.studio import Studio

    pytest.importorskip("viser")
    opened: list[Any] = []

    def open_studio(thing: Any) -> Any:
        opened.append(Studio(thing, port=18480, shadows=False))
        return opened[-1]

    yield open_studio
    for each in opened:
        each.stop()


def wait_for(truth: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_the_studio_dresses_a_body_and_sends_only_what_moves(tmp_path: Path, studio: Any) -> None:
    file, *_ = made.strip(8, 4, texture=HALVES)
    opened = studio(poise.load(file.glb(tmp_path / "strip.glb")))
    wait_for(lambda: opened.session.view.dressed is not None)
    view = opened.session.view.dressed
    assert view.skins
    assert all(len(node.faces) == 1 for node in opened.session.view.nodes), "the flesh below is seen no more"
    model = opened.model
    T = model.fk(model.rest)
    view.show(T)
    sent = note_messages(opened.session.server)
    view.show(T)
    assert not list_moved(sent)
    q = np.array(model.rest)
    q[model.joint("bone_7").q] = np.roll([0.3, 0, 0, 0.95], 1) / np.linalg.norm([0.3, 0, 0, 0.95])
    view.show(model.fk(q))
    assert len(list_moved(sent)) == 1, "one bone turned"


def note_messages(server: Any) -> list[Any]:
    """The messages that a server sends from now on."""
    sent: list[Any] = []
    door = server.scene._websock_interface
    queue = door.queue_message
    door.queue_message = lambda message: (sent.append(message), queue(message))
    return sent


def list_moved(sent: list[Any]) -> list[Any]:
    """Those about bones and nodes; the panel may send its own meanwhile."""
    return [message for message in sent if hasattr(message, "wxyz") or hasattr(message, "position")]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["wxyz", "position"])
def test_nodes_and_bones_are_moved_as_their_setters_move_them(what: str) -> None:
    viser = pytest.importorskip("viser")
    server = viser.ViserServer(port=18480, verbose=False)
    corners, bones = np.eye(3, dtype=np.float32), np.tile(np.eye(4)[:1], (2, 1))
    skin = server.scene.add_mesh_skinned(
        "/skin",
        corners,
        np.array([[0, 1, 2]], np.uint32),
        bone_wxyzs=bones,
        bone_positions=bones[:, 1:],
        skin_weights=np.full((3, 2), 0.5, np.float32),
    )
    count = 4 if what == "wxyz" else 3
    first, second = np.eye(4)[1][:count], np.eye(4)[2][:count]
    for handle in (server.scene.add_frame("/node"), skin.bones[1]):
        send = make_quick_sender(handle, what)
        setattr(handle, what, first)
        sent = note_messages(server)
        setattr(handle, what, second)
        send(tuple(first.tolist()))
        assert tuple(getattr(handle, what)) == tuple(first), "viser knows what was sent"
        send(tuple(second.tolist()))
        by_setter, _, quick = sent
        assert quick == by_setter, "the same message, whoever made it"
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("top", [{}, {"scale": [2, 2, 2]}])
def test_a_skin_hangs_on_what_carries_most_of_it_and_bends_as_before(top: dict[str, Any], tmp_path: Path) -> None:
    viser = pytest.importorskip("viser")
    from poise.studio.scene.body_view import BodyView

    path = made.strip(10, 4, **top)[0].glb(tmp_path / "strip.glb")
    model, motion = poise.load(path), poise.load_motion(path)
    server = viser.ViserServer(port=18481, verbose=False)
    view = BodyView(server.scene, "/body", model, offset=np.array([0.3, 0.0, 1.0]))
    dress = make_dress(model)
    assert dress is not None
    view.dress(dress)
    assert view.dressed is not None
    assert view.dressed.carrier == "bone_3", "the deepest that carries more than six of ten"
    nodes = {node.name: node for node in (view.dressed.roots[0], *view.dressed.movers.handles)}
    (skin,), (part,) = view.dressed.skins, dress.skins
    for q in (model.rest, motion.q[len(motion) // 2], motion.q[-1]):
        view.show(model.fk(q))
        T = np.eye(4)
        steps = skin.name.split("/")
        for k in range(2, len(steps) + 1):
            T = T @ read_place(skin if k == len(steps) else nodes["/".join(steps[:k])])
        C = np.tile(np.eye(4), (len(part.frames), 1, 1))
        C[:, :3, :3], C[:, :3, 3] = poise.Rotation(part.wxyz).matrix, part.positions
        moves = T @ np.array([read_place(bone) for bone in skin.bones]) @ np.linalg.inv(C)
        points = np.column_stack([part.vertices, np.ones(len(part.vertices))])
        seen = np.einsum("nb,bij,nj->ni", part.table(), moves, points)[:, :3] - view.offset
        assert seen == pytest.approx(bent(part, model, q), abs=2e-4 * model.length)
    q = np.array(motion.q[-1])
    for joint, moved in (("bone_0", set()), ("bone_2", {"bone_0", "bone_1"}), ("bone_9", {"bone_9"})):
        sent = note_messages(server)
        q[model.joint(joint).q][-4:] = poise.Rotation.from_vector((0.2, 0.1, 0.3)).wxyz
        view.show(model.fk(q))
        seen_bones = {part.frames[message.bone_index] for message in sent if hasattr(message, "bone_index")}
        assert seen_bones == moved, "what turns with its carrier is not sent"
    sent = note_messages(server)
    view.remove()
    gone = {message.name for message in sent if type(message).__name__ == "RemoveSceneNodeMessage"}
    assert {"/body", skin.name} <= gone
    server.stop()


def read_place(handle: Any) -> np.ndarray:
    """Return where a node or a bone is, as its parent sees it."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = poise.Rotation(handle.wxyz).matrix, handle.position
    return T


def test_a_viser_of_another_make_is_moved_by_its_setters() -> None:
    class Handle:
        wxyz, position = (0.0,) * 4, (0.0,) * 3

    handle = Handle()
    movers = Movers([handle], fine=1e-6, length=1.0)
    T = np.eye(4)[None].copy()
    T[0, :3, 3] = 1, 2, 3
    movers.show(T)
    assert handle.position == (1, 2, 3)
    assert handle.wxyz == (1, 0, 0, 0)


def test_a_skin_that_does_not_bend_is_rigid_parts_that_move_as_it_does(tmp_path: Path) -> None:
    file, *_ = made.strip(4, 4)
    path = file.glb(tmp_path / "strip.glb")
    model, motion = poise.load(path), poise.load_motion(path)
    (piece,) = find_pieces(model)
    assert split_stiff(piece) == [piece], "it bends"
    assert piece.skin is not None
    loose = piece.patch.triangles.ravel()
    bones = np.repeat(np.arange(len(loose) // 3) % 4, 3)
    skin = replace(
        piece.skin, joints=bones[:, None].astype(np.uint16), weights=np.ones((len(loose), 1), dtype=np.float32)
    )
    faces = np.arange(len(loose), dtype=np.uint32).reshape(-1, 3)
    patch = replace(piece.patch, vertices=piece.patch.vertices[loose], triangles=faces, normals=None, uv=None)
    whole = replace(piece, patch=patch, skin=skin)
    parts = split_stiff(whole)
    assert {part.frame for part in parts} == set(skin.frames)
    for q in (model.rest, motion.q[len(motion) // 2]):
        T = model.fk(q)
        wanted = deform(whole, model.frames, T)
        found = np.concatenate([deform(part, model.frames, T)[part.patch.triangles.ravel()] for part in parts])
        order = np.concatenate([part.patch.triangles.ravel() for part in parts])
        assert found == pytest.approx(wanted[order], abs=1e-6)
        assert sorted(order.tolist()) == list(range(len(loose)))


@pytest.mark.slow
def test_a_robot_is_dressed_lit_and_faded(tmp_path: Path, studio: Any) -> None:
    opened = studio(poise.load(made.robot(tmp_path)))
    wait_for(lambda: opened.session.view.dressed is not None)
    view = opened.session.view
    assert len(view.dressed.links) == 3, "three meshes; the hand is missing and has no length"
    wait_for(lambda: bool(opened.session.look_notes))
    assert "hand_description" in opened.session.look_notes[0]
    view.light({"upper": (1, 2, 3)})
    colors = {part.frame: node.color for part, node in zip(view.dressed.dress.rigid, view.dressed.links, strict=True)}
    assert tuple(colors["upper"]) == (1, 2, 3)
    view.light({})
    view.fade(0.3)
    assert all(node.opacity == 0.3 for node in view.dressed.links)
    low = view.sample_points(opened.model.fk(opened.model.rest))[:, 2].min()
    assert opened.session.scenery.floor == pytest.approx(low, abs=1e-6)


@pytest.mark.slow
def test_an_upload_opens_nothing_outside_of_itself(tmp_path, studio: Any, monkeypatch) -> None:
    from poise.formats.meshes.looks import find_look
    from poise.studio.web.uploads import open_upload

    made.robot(tmp_path)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    opened = studio(poise.load("planar3"))
    open_upload(opened.session, "arm.urdf", made.ROBOT.encode())
    assert opened.model.name == "arm"
    assert find_look(opened.model).pieces == ()
    assert "same upload" in find_look(opened.model).notes[0]


@pytest.mark.slow
def test_a_body_without_bones_is_dressed_too(tmp_path: Path, studio: Any) -> None:
    opened = studio(poise.load(made.box_file().glb(tmp_path / "box.glb")))
    wait_for(lambda: opened.session.view.dressed is not None)
    opened.session.view.show(opened.model.fk(opened.model.rest))
    assert len(opened.session.view.dressed.links) == 1
    assert np.ptp(opened.session.scenery.find_points(), axis=0) == pytest.approx([1, 2, 3], abs=1e-5)


def make_faint(folder: Path, opacity: float) -> poise.Model:
    """Make a body of a box on a mesh's triangle, the box as faint as is asked."""
    (folder / "part.stl").write_bytes(made.stl())
    path = folder / "faint.urdf"
    path.write_text(
        f"""<robot name="faint">
        <link name="base"><visual><geometry><mesh filename="part.stl"/></geometry></visual></link>
        <link name="glass"><visual><geometry><box size="1 1 1"/></geometry>
        <material name="glass"><color rgba="0.1 0.4 0.9 {opacity}"/></material></visual></link>
        <joint name="j" type="revolute"><parent link="base"/><child link="glass"/><origin xyz="0 0 4"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>"""
    )
    return poise.load(path)


@pytest.mark.slow
@pytest.mark.parametrize(("opacity", "seen"), [(1.0, None), (0.3, 0.3), (0.1, 0.1), (0.0, 0.0)])
def test_what_is_faint_is_drawn_faintly_and_what_is_unseen_not_at_all(
    opacity: float, seen: float | None, tmp_path: Path
) -> None:
    model = make_faint(tmp_path, opacity)
    dress = make_dress(model)
    assert dress is not None
    glass = [part for part in dress.rigid if part.frame == "glass"]
    assert [part.opacity for part in glass] == ([] if seen == 0.0 else [seen])
    picture = poise.plot(poise.Pose(model))
    images = [np.asarray(image.get_array()) for axes in picture.figure.axes for image in axes.get_images()]
    body = max(images, key=lambda image: image.shape[0])
    blue = body[..., 2] > body[..., 0] + 0.2
    assert bool(blue.any()) == (opacity > 0.0)
    if 0.0 < opacity < 1.0:
        assert np.median(body[..., 3][blue]) == pytest.approx(opacity, abs=0.02)
