"""Mappings that are wrong: refused by the pair that is, or carried over; never a number that is none."""

import random
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue, NameNotFound, PoiseError
from poise.motion import retarget
from poise.motion.retargeting.mapping import Mapping, Pair, find_mapping
from walkers import make_machine
from walks import make_walk


@pytest.fixture(scope="module")
def walk():
    return make_walk(30)[:4]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    """The humanoid, and what a recording makes of it: other joints, other axes, ends of bones as frames."""
    path = tmp_path_factory.mktemp("bodies") / "person.bvh"
    poise.save(make_walk(2), path)
    return poise.load("humanoid", scale=0.6), poise.load(path)


def spoil(found, source, target, rng):
    """Return a mapping with one to three mistakes in it: pairs swapped, doubled, lost, or drawn."""
    pairs = list(found.pairs)
    for _ in range(rng.choice((1, 1, 2, 3))):
        i, j = rng.sample(range(len(pairs)), 2)
        a, b = pairs[i], pairs[j]
        mistake, side = rng.choice(("swap", "double", "lose", "draw")), rng.choice(("source", "target"))
        if mistake == "lose":
            pairs.pop(i)
            continue
        drawn = rng.choice((source if side == "source" else target).frames)
        pairs[i] = replace(a, **{side: drawn if mistake == "draw" else getattr(b, side)})
        if mistake == "swap":
            pairs[j] = replace(b, **{side: getattr(a, side)})
    return Mapping(found.source, found.target, tuple(pairs))


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1])
def test_every_mapping_is_retargeted_or_rejected(walk, bodies, which):
    body, rng, carried = bodies[which], random.Random(which), 0
    found = find_mapping(walk.model, body)
    for _ in range(60):
        mapping = spoil(found, walk.model, body, rng)
        for mode in ("clip", "online"):
            try:
                answer = retarget(walk, body, mapping, mode=mode)
            except PoiseError:
                continue
            assert np.isfinite(answer.motion.q).all(), mapping
            assert np.isfinite(answer.quality.step_max)
            carried += 1
    assert carried >= 4


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("role", "frame", "words"),
    [
        ("chest", "pelvis", "'chest' of the .*'pelvis' too.*mapping.remove"),
        ("knee_l", "hip_l", "'knee_l' of the .*'hip_l' too"),
        ("knee_l", "knee_r", "'knee_r' .*'knee_l' too"),
        ("ankle_l", "elbow_l", "'ankle_l' of the .*'elbow_l', .*'knee_l', does not carry|'elbow_l' too"),
    ],
)
def test_a_pair_that_is_wrong_is_named(walk, bodies, side, role, frame, words):
    found = find_mapping(walk.model, bodies[0])
    with pytest.raises(InvalidValue, match=words) as caught:
        retarget(walk, bodies[0], found.replace(role, **{side: frame}))
    assert f"the {side} 'humanoid'" in str(caught.value)
    assert f"{side}=" in str(caught.value)


def test_left_and_right_are_the_same_for_arms_and_legs(walk, bodies):
    found = find_mapping(walk.model, bodies[0])
    legs = {p.role for p in found if p.role.rpartition("_")[0] in ("hip", "knee", "ankle", "foot")}
    flip = {role: role[:-1] + ("r" if role[-1] == "l" else "l") for role in legs}
    pairs = tuple(Pair(p.role, p.source, found.find(flip.get(p.role, p.role)).target) for p in found)
    with pytest.raises(InvalidValue, match="swapped"):
        retarget(walk, bodies[0], replace(found, pairs=pairs))


@pytest.mark.slow
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_correction_takes_frames_that_the_body_has_and_names_the_nearest_else(walk, bodies, side, tmp_path):
    """However a mapping came about: found, given back, or read from a file and used once."""
    found = find_mapping(walk.model, bodies[0])
    read = Mapping.load(poise.save(found, tmp_path / "map.json"))
    for mapping in (found, found.remove("head"), retarget(walk, bodies[0], read).mapping):
        for pair in mapping:
            frame = getattr(pair, side)
            assert mapping.replace(pair.role, **{side: frame}).pairs == mapping.pairs
            words = rf"mapping\.replace\('{pair.role}', {side}='{frame}x'\).*Did you mean .*'{frame}'"
            with pytest.raises(NameNotFound, match=words) as caught:
                mapping.replace(pair.role, **{side: f"{frame}x"})
            assert frame in caught.value.choices
    with pytest.raises(NameNotFound, match=r"no frame 'chezt' for its 'chest'.*Did you mean 'chest'"):
        retarget(walk, bodies[0], read.replace("chest", **{side: "chezt"}))


@pytest.mark.parametrize("links", [0, 1, 3])
def test_links_that_are_fixed_to_each_other_are_one_piece_of_the_trunk(links):
    """A robot without a waist is as good as any, however many fixed links its file puts between base and limbs."""
    builder = poise.ModelBuilder("stiff")
    builder.up = "z"
    builder.add_joint("base", None, "free", rest=(0.0, 0.0, 0.95, 1.0, 0.0, 0.0, 0.0))
    trunk = "base"
    for k in range(links):
        builder.add_joint(f"link_{k}", trunk, "fixed")
        trunk = f"link_{k}"
    for side, y in (("l", 1.0), ("r", -1.0)):
        for limb, z, long in ((("hip", "knee", "ankle"), -0.05, 0.42), (("shoulder", "elbow", "wrist"), 0.45, 0.26)):
            parent, place = trunk, (0.0, 0.12 * y, z)
            for part in limb:
                builder.add_joint(f"{part}_{side}", parent, "ball", offset=place)
                builder.add_role(f"{part}_{side}", f"{part}_{side}")
                parent, place = f"{part}_{side}", (0.0, 0.0, -long)
    for role in ("pelvis", "chest"):
        builder.add_role(role, "base")
    model, walk = builder.build(), make_walk(6)
    for trunk in {"base", f"link_{links - 1}" if links else "base"}:
        mapping = Mapping.between(walk.model, model).replace("chest", target=trunk)
        assert retarget(walk, model, mapping).quality.limits_max == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("change", ["as found", "corrected", "less a part"])
@pytest.mark.parametrize("body", ["humanoid", "machine", "no arms"])
def test_a_mapping_is_the_same_when_it_is_read_again(walk, tmp_path, body, change):
    model = poise.load("humanoid") if body == "humanoid" else make_machine(hands=body == "machine")
    found = find_mapping(walk.model, model)
    assert bool(found.missing) == (body != "humanoid")
    kept = {"as found": found, "corrected": found.replace("chest", target=found.find("pelvis").target)}.get(
        change, found.remove("foot_l")
    )
    again = Mapping.load(poise.save(kept, tmp_path / "map.json"))
    assert again == kept
    assert str(again) == str(kept)


LEG, ARM = ("UpperLeg", "LowerLeg", "Foot"), ("UpperArm", "LowerArm", "Hand")
DOWN, AHEAD, UP = (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
WAYS = {"standing": (DOWN, DOWN), "a stride": (AHEAD, DOWN), "sitting": (AHEAD, AHEAD), "a kick": (DOWN, UP)}


def make_figure(ways, legs=LEG):
    """Somebody whose legs point some way in the rest pose, left and right, and whose arms point aside."""
    builder = poise.ModelBuilder("figure")
    builder.up = "z"
    builder.add_joint("Hips", None, "free", rest=(0.0, 0.0, 0.95, 1.0, 0.0, 0.0, 0.0))
    for name, parent in (("Spine", "Hips"), ("Chest", "Spine"), ("Neck", "Chest"), ("Head", "Neck")):
        builder.add_joint(name, parent, "ball", offset=(0.0, 0.0, 0.15))
    for side, y, way in (("L", 1.0, ways[0]), ("R", -1.0, ways[1])):
        for limb, parent, z, along, long in ((ARM, "Chest", 0.1, (0, y, 0), 0.26), (legs, "Hips", -0.05, way, 0.42)):
            above, offset = parent, np.array((0.0, 0.1 * y, z))
            for part in limb:
                builder.add_joint(f"{part}_{side}", above, "ball", offset=offset)
                above, offset = f"{part}_{side}", long * np.array(along)
    return builder.build()


@pytest.mark.parametrize("ways", WAYS.values(), ids=list(WAYS))
def test_legs_that_are_named_are_legs_wherever_they_point_in_the_rest_pose(walk, ways):
    model = make_figure(ways)
    found = poise.roles(model)
    assert found.kind == "biped"
    assert not any("no legs" in note for note in found.notes)
    there, back = Mapping.between(walk.model, model), Mapping.between(model, walk.model)
    assert (there.find("hip_l").target, there.find("ankle_r").target) == ("UpperLeg_L", "Foot_R")
    assert back.find("knee_r").source == "LowerLeg_R"


@pytest.mark.parametrize("ways", WAYS.values(), ids=list(WAYS))
def test_roles_that_are_given_settle_what_kind_a_body_is(walk, ways):
    model = make_figure(ways, legs=("x1", "x2", "x3"))
    given = {f"{part}_{s.lower()}": f"x{k}_{s}" for k, part in enumerate(("hip", "knee", "ankle"), 1) for s in "LR"}
    stated = model.with_roles({"pelvis": "Hips", **given})
    assert poise.roles(stated).kind == "biped"
    assert Mapping.between(stated, walk.model).find("ankle_l").source == "x3_L"
