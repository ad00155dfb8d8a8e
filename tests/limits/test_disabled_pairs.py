"""The pairs of parts that are measured: convex parts, and the pairs that an SRDF disables."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import Motion
from poise.arrays import Floats
from poise.formats.plain_values import dump_model, parse_model
from poise.limits import Clearance
from poise.limits.capsules import body_capsules
from poise.limits.convex_parts import ConvexParts, choose_ways, find_convex_parts
from poise.limits.pairs import find_pairs
from poise.limits.support_points import find_support_points
from poise.model import Model
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from poise.motion.clips.collisions import find_hull_collisions
from poise.spatial import Rotation, Transform


def make_pair(one: object, other: object) -> ConvexParts:
    """Two solids; the first moves freely."""
    builder = poise.ModelBuilder("pair").add_joint("mover", None, "free")
    builder.add_frame("base", None)
    shapes = [Shape("mover", one, Transform(), "collision"), Shape("base", other, Transform(), "collision")]
    model = with_shapes(builder.build(), shapes)
    return ConvexParts(model, find_support_points(model, 1e-4), np.array([[0, 1]]))


def place(parts: ConvexParts, xyz: tuple[float, float, float], rotation: Rotation | None = None) -> np.ndarray:
    """The configuration with the first solid at a place."""
    q = np.array(parts.model.rest)
    q[:3], q[3:] = xyz, (Rotation.identity() if rotation is None else rotation).wxyz
    return q


@pytest.mark.parametrize("gap", [-0.03, -0.004, 0.004, 0.02])
def test_depths_of_boxes_are_exact(gap: float) -> None:
    parts = make_pair(Box((0.2, 0.1, 0.3)), Box((0.1, 0.4, 0.2)))
    found = parts.measure(place(parts, (0.02, 0.25 + gap, 0.03))[None], 0.05)
    assert found.depth == pytest.approx([-gap], abs=5e-4)
    if gap < 0.0:
        np.testing.assert_allclose(found.normal[0], (0.0, 1.0, 0.0), atol=0.03)


@pytest.mark.parametrize("gap", [-0.03, -0.004, 0.004, 0.02])
def test_depths_of_round_solids_are_exact(gap: float) -> None:
    parts = make_pair(Capsule(0.05, 0.3), Sphere(0.1))
    way = np.array([0.6, 0.8, 0.0])
    found = parts.measure(place(parts, tuple((0.15 + gap) * way))[None], 0.05)
    assert found.depth == pytest.approx([-gap], abs=1e-3)
    np.testing.assert_allclose(found.normal[0], way, atol=0.1)


def test_rotated_solids() -> None:
    """An edge of a box above a cylinder."""
    parts = make_pair(Box((0.2, 0.2, 0.2)), Cylinder(0.1, 0.2))
    for gap in (-0.02, 0.01):
        q = place(
            parts, (0.0, 0.0, 0.1 + 0.1 * np.sqrt(2.0) + gap), Rotation.from_axis_angle((1.0, 0.0, 0.0), np.pi / 4)
        )
        assert parts.measure(q[None], 0.05).depth == pytest.approx([-gap], abs=1e-3)


def test_only_near_pairs_are_returned() -> None:
    parts = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2)))
    q = np.stack([place(parts, (x, 0.0, 0.0)) for x in (0.19, 0.21, 0.23, 1.0)])
    assert parts.measure(q, 0.02).pose.tolist() == [0, 1]
    assert parts.measure(q, -0.005).pose.tolist() == [0]
    assert not len(parts.measure(q, -0.02).pose)


def test_following_keeps_the_plane_of_a_contact() -> None:
    parts = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2)))
    found = parts.measure(place(parts, (0.19, 0.0, 0.0))[None], 0.02)
    assert parts.follow(found, place(parts, (0.195, 0.03, 0.0))).depth == pytest.approx([0.005], abs=2e-3)


def test_displacements_end_overlaps_and_stay_near_the_wanted_one() -> None:
    """Along the normal, d minimises weight^2 (depth - (d - moved))^2 + (d - wanted)^2; elsewhere it is `wanted`."""
    parts, weight, columns = make_pair(Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))), 30.0, np.arange(3)
    moved, wanted = np.array([0.02, 0.0, 0.01]), np.array([0.015, 0.03, 0.0])
    q = place(parts, (0.19, 0.0, 0.0))
    found = parts.measure(q[None], 0.02)
    d = parts.displace(q, found, columns, moved, wanted, weight)
    n = found.axes[0] @ found.normal[0]
    least = found.depth[0] + n @ moved
    np.testing.assert_allclose(d, wanted + (least - n @ wanted) / (1.0 + weight**-2) * n, atol=1e-12)
    for heavy in (1e3, 1e5):  # what is left of the overlap is less than rounding
        np.testing.assert_allclose(parts.displace(q, found, columns, moved, wanted, heavy) @ n, least, rtol=2e-6)
    clear = wanted + 0.1 * n
    np.testing.assert_allclose(parts.displace(q, found, columns, moved, clear, weight), clear, atol=1e-12)


def test_directions_do_not_flip_between_poses() -> None:
    """Alone, the middle pose would part the other way."""
    overlaps = np.full((3, 70), 0.1)
    overlaps[:, 3], overlaps[1, 3], overlaps[1, 40] = 0.01, 0.02, 0.015
    assert overlaps.argmin(axis=1).tolist() == [3, 40, 3]
    assert choose_ways(overlaps, np.array([0, 1, 2]), 0.05).tolist() == [3, 3, 3]
    assert choose_ways(overlaps, np.array([0, 2, 4]), 0.05).tolist() == [3, 40, 3]


def test_directions_begin_anew_after_a_gap_in_time() -> None:
    """A cube inside a flat plate, nearer to one face and then to the other."""
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.6, 0.6, 0.02)))
    q = np.stack([place(parts, (0.0, 0.0, z)) for z in (0.04, 0.03, -0.005, -0.01)])
    assert (parts.measure(q, 0.0).normal[:, 2] > 0.5).all()
    assert np.sign(parts.measure(q, 0.0, times=np.array([0, 1, 7, 8])).normal[:, 2]).tolist() == [1, 1, -1, -1]


def test_the_least_depth_does_not_depend_on_other_poses() -> None:
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.6, 0.6, 0.02)))
    q = np.stack([place(parts, (0.0, 0.0, z)) for z in (0.04, 0.0, -0.035)])
    assert parts.measure(q, 0.0, steady=False).depth == pytest.approx([0.02, 0.06, 0.025], abs=1e-3)
    found = find_hull_collisions(Motion(parts.model, q, 30.0), parts)
    assert found.depths == pytest.approx([0.02, 0.06, 0.025], abs=1e-3)


def test_the_least_depth_is_never_above_the_first_one_found() -> None:
    parts, rng = make_pair(Box((0.6, 0.6, 0.02)), Box((0.1, 0.1, 0.1))), np.random.default_rng(5)
    turns = [Rotation.from_axis_angle(axis / np.linalg.norm(axis), 1.0) for axis in rng.normal(size=(40, 3))]
    q = np.stack([place(parts, tuple(0.02 * turn.matrix[:, 2]), turn) for turn in turns])
    first = parts.hulls.find(parts.model.fk(q)[:, parts.at], 0.0, np.zeros((1, 3)))[0]["depth"]
    found = parts.measure(q, 0.0, steady=False).depth
    assert len(found) == len(q)
    assert (found <= first + 1e-12).all()
    edges = np.array([np.abs(turn.matrix[:, 2]).sum() for turn in turns])
    assert found == pytest.approx(0.05 * edges + 0.01 - 0.02, abs=5e-4)


def test_many_pairs_are_measured_at_once() -> None:
    parts = make_pair(Box((0.1, 0.1, 0.1)), Box((0.1, 0.1, 0.1)))
    many = ConvexParts(parts.model, parts.solids, np.tile(parts.pairs, (5000, 1)))
    q = np.tile(place(parts, (1.0, 0.0, 0.0)), (1024, 1))
    q[700] = place(parts, (0.09, 0.0, 0.0))
    found = many.measure(q, 0.0)
    assert found.pair.tolist() == list(range(5000))
    assert set(found.pose.tolist()) == {700}


def add_boxes(model: Model, sizes: dict[str, tuple[float, float, float]]) -> Model:
    """The model with boxes around the origins of frames."""
    return with_shapes(model, [Shape(name, Box(size), Transform(), "collision") for name, size in sizes.items()])


def test_neighbours_and_parts_that_touch_at_rest_are_left_out() -> None:
    body = add_boxes(
        poise.load("humanoid"),
        {
            "chest": (0.3, 0.3, 0.2),
            "hand_l": (0.1, 0.1, 0.1),
            "elbow_l": (0.1, 0.1, 0.1),
            "clavicle_l": (0.1, 0.1, 0.1),
        },
    )
    parts = find_convex_parts(body)
    assert parts is not None
    names = {frozenset(parts.solids[i].frame for i in pair) for pair in parts.pairs}
    assert frozenset(("chest", "hand_l")) in names
    assert frozenset(("chest", "clavicle_l")) not in names
    assert find_convex_parts(poise.load("humanoid")) is None


def test_remembered_directions_change_no_result() -> None:
    """Boxes that approach, collide and part again, with a direction of the pose before."""
    parts = make_pair(Box((0.2, 0.1, 0.3)), Box((0.1, 0.4, 0.2)))
    path = [place(parts, (x, 0.1, 0.05)) for x in (0.4, 0.18, 0.16, 0.14, 0.2, 0.3)]
    last = np.zeros((1, 3))
    for q, near in zip(path, (False, False, True, True, False, False), strict=True):
        with_last, alone = parts.measure(q[None], 0.02, last=last), parts.measure(q[None], 0.02)
        assert len(with_last.depth) == len(alone.depth) == near
        np.testing.assert_array_equal(with_last.depth, alone.depth)
    assert last[0, 0] == pytest.approx(1.0, abs=0.1)


# ------- The pairs that an SRDF disables are pairs of links: random robots against an independent reading of both files


SEEDS = range(12)
LINKS = 12
Pairs = set[frozenset[str]]


def write_link(name: str, radius: float, at: Iterable[float] = (0, 0, 0)) -> str:
    """A link with a collision sphere, or none if the radius is 0."""
    place = f"<origin xyz='{' '.join(map(str, at))}'/><geometry><sphere radius='{radius}'/></geometry>"
    return f"<link name='{name}'>{f'<collision>{place}</collision>' if radius else ''}</link>"


def write_joint(kind: str, parent: str, child: str, at: Iterable[float]) -> str:
    """A joint about z, named after its child."""
    return (
        f"<joint name='to_{child}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><axis xyz='0 0 1'/>"
        f"<origin xyz='{' '.join(map(str, at))}'/><limit lower='-2' upper='2' effort='1' velocity='1'/></joint>"
    )


def draw_vector(rng: np.random.Generator) -> Floats:
    """A vector 0.3 to 1 m long."""
    way = rng.normal(size=3)
    return np.asarray(way * rng.uniform(0.3, 1.0) / np.linalg.norm(way))


def write_robot(folder: Path, rng: np.random.Generator) -> Path:
    """A random tree of small spheres, half of its joints fixed, the first ones on the trunk."""
    names = [f"link{k}" for k in rng.permutation(LINKS)]
    parts = [write_link(name, 0.01 * (rng.random() > 0.2), draw_vector(rng)) for name in names]
    for k, child in enumerate(names[1:]):
        parent = names[0] if k < 3 else names[rng.integers(k + 1)]
        kind = "fixed" if k < 3 or rng.random() < 0.4 else "revolute"
        parts.append(write_joint(kind, parent, child, draw_vector(rng)))
    path = folder / "tree.urdf"
    path.write_text(f"<robot name='tree'>{''.join(parts)}</robot>")
    return path


def write_srdf(path: Path, rng: np.random.Generator, share: float) -> None:
    """A random SRDF that disables a share of the pairs, with defaults, exceptions and unknown links."""
    names = [*(f"link{k}" for k in range(LINKS)), "missing"]
    rows = [f"<disable_default_collisions link='{name}'/>" for name in names if rng.random() < 0.15]
    for one, other in combinations(names, 2):
        for tag, chance in (("disable", share), ("enable", 0.3)):
            if rng.random() < chance:
                a, b = (one, other) if rng.random() < 0.5 else (other, one)
                rows.append(f"<{tag}_collisions link1='{a}' link2='{b}' reason='Never'/>")
    rng.shuffle(rows)
    path.write_text(f"<robot name='tree'><group name='arm'/>{''.join(rows)}</robot>")


def read_pairs(urdf: Path, srdf: Path, fixed: Iterable[str] = ()) -> Pairs:
    """The pairs of links that can collide as MoveIt reads them, with `fixed` joints locked too."""
    robot, listed = ET.parse(urdf).getroot(), ET.parse(srdf).getroot()
    part = {str(link.get("name")): str(link.get("name")) for link in robot.findall("link")}
    for joint in robot.findall("joint"):
        if joint.get("type") == "fixed" or joint.get("name") in fixed:
            ends = [joint.find(tag).get("link") for tag in ("child", "parent")]  # type: ignore[union-attr]
            old, new = (part[str(end)] for end in ends)
            part = {name: new if own == old else own for name, own in part.items()}
    rows = {tag: {frozenset((row.get("link1"), row.get("link2"))) for row in listed.findall(f"{tag}_collisions")}
            for tag in ("disable", "enable")}  # fmt: skip
    silent = {row.get("link") for row in listed.findall("disable_default_collisions")}
    solid = [str(link.get("name")) for link in robot.findall("link") if link.find("collision") is not None]
    both = {frozenset(pair) for pair in combinations(solid, 2) if part[pair[0]] != part[pair[1]]}
    return {pair for pair in both if pair not in rows["disable"] and (pair in rows["enable"] or not pair & silent)}


def list_kept(model: poise.Model) -> Pairs:
    """The pairs of links that a clearance keeps apart, and the same of the hulls."""
    capsules, hulls = body_capsules(model), find_convex_parts(model)
    kept = {frozenset((capsules[i].frame, capsules[j].frame)) for i, j in Clearance().index_pairs(model).tolist()}
    solids = hulls.pairs.tolist() if hulls else []
    assert kept == {frozenset((hulls.solids[i].frame, hulls.solids[j].frame)) for i, j in solids if hulls}
    return kept


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_srdf_disables_exactly_its_pairs_of_links(tmp_path, seed, share) -> None:
    rng = np.random.default_rng(seed)
    path, srdf = write_robot(tmp_path, rng), tmp_path / "tree.srdf"
    write_srdf(srdf, rng, share)
    wanted = read_pairs(path, srdf)
    (tmp_path / "other").mkdir()
    far = tmp_path / "other" / "far.urdf"
    far.write_text(path.read_text())
    model = poise.load(far, srdf=srdf)
    assert list_kept(poise.load(path)) == list_kept(model) == list_kept(poise.load(path, base="free")) == wanted
    assert list_kept(poise.fit_spheres(model)) == list_kept(parse_model(dump_model(model))) == wanted
    assert list_kept(model.with_frame("tool", "link3")) == wanted
    poise.save(model, tmp_path / "other" / "again.urdf")
    assert list_kept(poise.load(tmp_path / "other" / "again.urdf")) == wanted
    moving = [joint.name for joint in model.joints if joint.kind != "fixed"]
    locked = [name for name in moving if rng.random() < 0.5]
    assert list_kept(model.locked(dict.fromkeys(locked, 0.1))) == read_pairs(path, srdf, locked)
    top = model.joint(moving[int(rng.integers(len(moving)))]).frame
    below = model.subtree(top)
    assert list_kept(below) == {pair for pair in wanted if pair <= {*below.frames}}


def test_the_random_robots_have_all_kinds_of_pairs(tmp_path) -> None:
    kept = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        path, srdf = write_robot(tmp_path, rng), tmp_path / "tree.srdf"
        write_srdf(srdf, rng, 0.3)
        kept.append(len(read_pairs(path, srdf)))
    assert min(kept) > 0
    assert max(kept) > 20


def write_trunk(folder: Path, head: float) -> Path:
    """A trunk with a head of some size, and an arm of two hinges next to it."""
    parts = [write_link("trunk", 0.2), write_link("head", head), write_link("upper", 0.1), write_link("fore", 0.1)]
    parts += [
        write_joint("fixed", "trunk", "head", (0.5, 0, 0)),
        write_joint("revolute", "trunk", "upper", (0, 0.1, 0)),
    ]
    parts += [write_joint("revolute", "upper", "fore", (0.5, 0, 0))]
    path = folder / "trunk.urdf"
    path.write_text(f"<robot name='trunk'>{''.join(parts)}</robot>")
    return path


def test_pairs_that_block_every_pose_are_left_out_and_noted(tmp_path) -> None:
    path = write_trunk(tmp_path, 0.31)
    (tmp_path / "trunk.srdf").write_text("<robot name='trunk'/>")
    model = poise.load(path)
    choice = find_pairs(model, body_capsules(model), 0.0)
    assert set(choice.left_out) == {("trunk", "head"), ("trunk", "upper")}
    assert list_kept(model) == {
        frozenset(p) for p in (("trunk", "fore"), ("head", "upper"), ("head", "fore"), ("upper", "fore"))
    }
    assert any("trunk/head" in note and "no joint" in note for note in model.notes)
    assert any("trunk/upper" in note and "one joint joins" in note for note in model.notes)
    assert any("keeps" in note and "head/fore" in note for note in model.notes)


def test_an_arm_inside_a_head_is_not_clear(tmp_path) -> None:
    path = write_trunk(tmp_path, 0.15)
    (tmp_path / "trunk.srdf").write_text(
        "<robot name='trunk'>"
        + "".join(f"<disable_collisions link1='trunk' link2='{name}'/>" for name in ("head", "upper", "fore"))
        + "<disable_collisions link1='upper' link2='fore'/></robot>"
    )
    model = poise.load(path)
    fore, head = model.fk([0.0, 0.0], "fore")[:3, 3], model.fk([0.0, 0.0], "head")[:3, 3]
    gap = np.linalg.norm(fore - head) - 0.25
    assert gap < 0.0
    assert np.isclose(Clearance().measure_gap(model, [0.0, 0.0]), gap)


def test_a_link_without_a_readable_mesh_keeps_its_own_pairs(tmp_path) -> None:
    """The capsules along the bones of a part stand for all its links: one that is not disabled keeps them."""
    path = write_trunk(tmp_path, 0.15)
    mesh = "<mesh filename='missing.stl'/>"
    text = path.read_text().replace("<sphere radius='0.2'/>", mesh).replace("<sphere radius='0.15'/>", mesh)
    path.write_text(text)
    rows = ["<disable_collisions link1='trunk' link2='fore'/>", "<disable_collisions link1='fore' link2='head'/>"]
    for count, kept in ((1, True), (2, False)):
        (tmp_path / "trunk.srdf").write_text(f"<robot name='trunk'>{''.join(rows[:count])}</robot>")
        model = poise.load(path)
        capsules = body_capsules(model)
        pairs = {frozenset((capsules[i].frame, capsules[j].frame)) for i, j in Clearance().index_pairs(model).tolist()}
        assert (frozenset(("trunk", "fore")) in pairs) == kept


def test_many_defaults_are_refused(tmp_path) -> None:
    names = [f"link{k}" for k in range(1100)]
    joints = [write_joint("fixed", names[0], name, (0, 0, 1)) for name in names[1:]]
    path = tmp_path / "many.urdf"
    path.write_text(f"<robot name='many'>{''.join(write_link(n, 0) for n in names)}{''.join(joints)}</robot>")
    (tmp_path / "all.srdf").write_text(
        f"<robot name='x'>{''.join(f'<disable_default_collisions link={n!r}/>' for n in names)}</robot>"
    )
    with pytest.raises(poise.errors.FormatError, match="1000000 pairs"):
        poise.load(path, srdf=tmp_path / "all.srdf")
