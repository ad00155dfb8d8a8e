"""The pairs that an SRDF disables are pairs of links: random robots against an independent reading of both files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.formats.plain_values import dump_model, parse_model
from poise.limits import Clearance
from poise.limits.capsules import body_capsules
from poise.limits.convex_parts import find_convex_parts
from poise.limits.pairs import find_pairs

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
    robot, told = ET.parse(urdf).getroot(), ET.parse(srdf).getroot()
    part = {str(link.get("name")): str(link.get("name")) for link in robot.findall("link")}
    for joint in robot.findall("joint"):
        if joint.get("type") == "fixed" or joint.get("name") in fixed:
            ends = [joint.find(tag).get("link") for tag in ("child", "parent")]  # type: ignore[union-attr]
            old, new = (part[str(end)] for end in ends)
            part = {name: new if own == old else own for name, own in part.items()}
    rows = {tag: {frozenset((row.get("link1"), row.get("link2"))) for row in told.findall(f"{tag}_collisions")}
            for tag in ("disable", "enable")}  # fmt: skip
    silent = {row.get("link") for row in told.findall("disable_default_collisions")}
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
