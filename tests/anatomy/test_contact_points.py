"""Contact points of feet: edges, heels and toes, on soles of every shape."""

import struct
from pathlib import Path

import numpy as np
import pytest

import poise
from figures import UP, Figure, Proportions
from known_bodies import Maker, Plan, scramble
from poise.anatomy import ContactPoint
from poise.anatomy.contacts import find_edge_middle, map_into
from poise.anatomy.parts import list_parts
from poise.anatomy.stance_frames import stand_on
from poise.model import Box, Model, Sphere
from poise.model.derive import with_example_poses
from poise.spatial import Rotation

SIZE = np.array([0.24, 0.1, 0.04])  # of a foot [m]
MIDDLE = np.array([0.05, 0.0, -0.06])  # of it, from the ankle
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * SIZE + MIDDLE


def place_point(model: Model, contact: ContactPoint) -> np.ndarray:
    """Where a contact point is in the rest pose."""
    T = model.fk(model.rest, contact.frame)
    where: np.ndarray = T[:3, :3] @ np.array(contact.point) + T[:3, 3]
    return where


def check_sole(model: Model, contacts: dict[str, ContactPoint], evidence: str) -> None:
    """The points of a box for a foot, under the ankles of a made robot."""
    for side, sign in (("l", 1.0), ("r", -1.0)):
        ankle = np.array([0.0, sign * 0.1, 0.9 - 0.05 - 0.38 - 0.38])
        toe, heel = (place_point(model, contacts[f"{name}_{side}"]) - ankle for name in ("toe", "heel"))
        assert np.allclose(toe, (0.17, 0.0, -0.08))
        assert np.allclose(heel, (-0.07, 0.0, -0.08))
        corners = [place_point(model, contacts[f"sole_{k}_{side}"]) - ankle for k in (1, 2, 3, 4)]
        around = ((0.17, 0.05), (0.17, -0.05), (-0.07, -0.05), (-0.07, 0.05))
        assert np.allclose(corners, [(x, y, -0.08) for x, y in around])
        assert {contacts[f"{name}_{side}"].evidence for name in ("toe", "heel", "sole_1")} == {evidence}


def test_the_corners_of_a_box_are_a_sole() -> None:
    maker = Maker(Plan())
    maker.make()
    for side in "lr":
        maker.builder.add_shape(maker.roles[f"foot_{side}"], Box(tuple(SIZE)), offset=tuple(MIDDLE))
    model, _ = scramble(maker.builder.build(), 0)
    check_sole(model, dict(poise.roles(model).contacts), "shapes")


def test_shapes_determine_the_sole_of_a_foot_with_marked_toes_and_heels() -> None:
    maker = Maker(Plan())
    maker.make()
    for side in "lr":
        foot = maker.roles[f"foot_{side}"]
        maker.builder.add_shape(foot, Box(tuple(SIZE)), offset=tuple(MIDDLE))
        for name, x in (("toe", 0.15), ("heel", -0.05)):  # inside the foot, above its sole
            maker.builder.add_frame(f"{name}_{side}", foot, (x, 0.0, -0.06))
            maker.builder.add_role(f"{name}_{side}", f"{name}_{side}")
    model = maker.builder.build()
    assert poise.roles(model)["toe_l"] == "toe_l"
    check_sole(model, dict(poise.roles(model).contacts), "shapes")


@pytest.mark.parametrize("kind", ["binary.stl", "words.stl", "words.obj"])
def test_the_bounds_of_a_mesh_are_a_sole(tmp_path: Path, kind: str) -> None:
    write_box(tmp_path / kind)
    maker = Maker(Plan())
    model, roles = maker.make()
    poise.save(model, tmp_path / "robot.urdf")
    text = (tmp_path / "robot.urdf").read_text()
    mesh = f'<visual><geometry><mesh filename="{kind}" scale="0.001 0.001 0.001"/></geometry></visual>'
    for side in "lr":
        name = f'<link name="{roles[f"foot_{side}"]}">'
        assert name in text
        text = text.replace(name, name + mesh)
    (tmp_path / "robot.urdf").write_text(text)
    read = poise.load(tmp_path / "robot.urdf")
    check_sole(read, dict(poise.roles(read).contacts), "mesh")


def write_box(path: Path) -> None:
    """Write the box of a foot in millimetres."""
    v = 1000.0 * CORNERS
    f = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4)]
    f += [(1, 5, 7), (1, 7, 3)]
    if path.suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in v] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in f]
        path.write_text("\n".join(lines) + "\n")
    elif path.name.startswith("words"):
        loops = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in v[list(t)]) for t in f]
        body = "".join(f"facet normal 0 0 0\nouter loop\n{loop}endloop\nendfacet\n" for loop in loops)
        path.write_text(f"solid foot\n{body}endsolid foot\n")
    else:
        rows = b"".join(struct.pack("<12fH", 0.0, 0.0, 0.0, *v[list(t)].ravel(), 0) for t in f)
        path.write_bytes(b"\0" * 80 + struct.pack("<I", len(f)) + rows)


def test_a_ball_for_a_foot_is_one_point() -> None:
    builder = poise.ModelBuilder("dog")
    builder.add_joint("base", None, "free", offset=(0.0, 0.0, 0.4), mass=10.0)
    for name, x, y in (("a", 0.2, 0.1), ("b", 0.2, -0.1), ("c", -0.25, 0.1), ("d", -0.25, -0.1)):
        builder.add_joint(
            f"{name}0", "base", "revolute", offset=(x, y, 0.0), axis=(1, 0, 0), mass=0.5, lower=-2.0, upper=2.0
        )
        builder.add_joint(
            f"{name}1", f"{name}0", "revolute", offset=(0, 0, 0), axis=(0, 1, 0), mass=0.5, lower=-2.0, upper=2.0
        )
        builder.add_joint(
            f"{name}2", f"{name}1", "revolute", offset=(0, 0, -0.2), axis=(0, 1, 0), mass=0.3, lower=-2.0, upper=2.0
        )
        builder.add_shape(f"{name}2", Sphere(0.02), offset=(0.0, 0.0, -0.18))
    model = builder.build()
    found = poise.roles(model)
    assert found.kind == "quadruped"
    assert found["knee_fl"] == "a2"
    assert {name for name in found.contacts if name.endswith("fl")} == {"sole_1_fl"}
    assert np.allclose(place_point(model, found.contacts["sole_1_fl"]), (0.2, 0.1, 0.0))


def test_bones_have_a_heel_behind_the_ankle_and_a_toe_at_their_end() -> None:
    human = poise.load("humanoid")
    model, old = scramble(human, 4)
    contacts = poise.roles(model).contacts
    for side in "lr":
        toe, heel = (place_point(model, contacts[f"{name}_{side}"]) for name in ("toe", "heel"))
        assert np.linalg.norm(toe - human.fk(human.rest, f"toe_{side}")[:3, 3]) < 0.03
        assert np.linalg.norm(heel - human.fk(human.rest, f"heel_{side}")[:3, 3]) < 0.03
        assert old[contacts[f"toe_{side}"].frame] == f"ball_{side}"
        assert old[contacts[f"heel_{side}"].frame] == f"ankle_{side}"
        palm = place_point(model, contacts[f"palm_{side}"])
        assert np.linalg.norm(palm - human.fk(human.rest, f"hand_{side}")[:3, 3]) < 0.05
    assert poise.roles(human).contacts["heel_l"] == ContactPoint("heel_l", "heel_l", (0.0, 0.0, 0.0), "frame")


@pytest.mark.parametrize("seed", range(4))
def test_toes_are_ahead_of_heels_on_the_floor(seed: int) -> None:
    model, _ = Figure(Proportions.draw(seed)).make()
    contacts = poise.roles(model).contacts
    floor = model.fk(model.rest)[:, 2, 3].min()
    for side in "lr":
        toe, heel = (place_point(model, contacts[f"{name}_{side}"]) for name in ("toe", "heel"))
        assert toe[0] > heel[0]
        assert toe[1] == pytest.approx(heel[1])
        assert (toe[2], heel[2]) == pytest.approx((floor, floor))
        assert contacts[f"toe_{side}"].evidence == "bones"


@pytest.mark.parametrize("turn", [0.4, 2.0, -2.5])
def test_contacts_turn_with_the_body(turn: float) -> None:
    plain, turned = (Figure(turn=angle).make()[0] for angle in (0.0, turn))
    about = Rotation.from_axis_angle((0.0, 0.0, 1.0), turn).matrix
    contacts = poise.roles(turned).contacts
    for name, contact in poise.roles(plain).contacts.items():
        assert place_point(turned, contacts[name]) == pytest.approx(about @ place_point(plain, contact), abs=1e-9)


def test_a_point_of_the_world_is_mapped_into_a_frame_and_back() -> None:
    model = poise.load("humanoid")
    body = list_parts(model, model.random(np.random.default_rng(0)), UP)
    for frame in model.frames:
        point = map_into(body, frame, np.array([0.3, -0.2, 0.5]))
        T = body.places[frame]
        assert T[:3, :3] @ point + T[:3, 3] == pytest.approx((0.3, -0.2, 0.5))


def test_the_middle_of_an_edge_is_between_its_ends() -> None:
    points = np.array([[0.0, -1.0, 0.0], [0.5, 0.2, 0.0], [1.0, 3.0, 0.0]])
    assert find_edge_middle(points, np.array([0.0, 1.0, 0.0])) == pytest.approx((0.5, 1.0, 0.0))


def test_a_sole_of_any_frame_is_found() -> None:
    model, roles = Figure().make()
    assert {p.name for p in poise.anatomy.find_sole(model, roles["foot_l"])} == {"heel_l", "toe_l"}
    hand = poise.anatomy.find_sole(model, roles["hand_l"])
    assert hand
    assert {point.frame for point in hand} == {roles["hand_l"]}
    with pytest.raises(poise.errors.NameNotFound):
        poise.anatomy.find_sole(model, "tail")


def test_the_frame_in_which_a_foot_stands_is_low_and_slow() -> None:
    model, roles = Figure().make()
    lifted = np.array(model.rest)
    knee, hip = model.joint(roles["knee_l"]), model.joint(roles["hip_l"])
    lifted[knee.q] = 1.2
    lifted[hip.q] = (np.cos(0.4), 0.0, -np.sin(0.4), 0.0)
    poses = [lifted, lifted, lifted, lifted, model.rest, model.rest]  # pairs: a frame, and the one after it
    shown = with_example_poses(model, np.stack(poses))
    body, rest = list_parts(shown, lifted, UP), list_parts(shown, model.rest, UP)
    standing = stand_on(body, roles, roles["foot_l"])
    assert standing.places[roles["foot_l"]] == pytest.approx(model.fk(model.rest, roles["foot_l"]))
    assert stand_on(rest, roles, roles["foot_l"]) is rest
    unshown = list_parts(model, lifted, UP)
    assert stand_on(unshown, roles, roles["foot_l"]) is unshown
