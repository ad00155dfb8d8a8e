"""What else is in people's files: props, cameras, a second person, a skin; and motions that stand on nothing."""

import json
import re
import struct
from typing import Any

import numpy as np
import pytest

import poise
from gltf_files import File
from poise import Mapping, Motion
from poise.errors import InvalidValue, NameNotFound, PoiseError
from poise.motion import Retargeter, retarget
from poise.motion.retargeting.mapping import Pair, find_mapping
from walks import make_walk

SWORD = (
    "ROOT Sword\n{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    " End Site\n {\n OFFSET 0 1 0\n }\n}\n"
)


@pytest.fixture(scope="module")
def walk():
    return make_walk(24)


@pytest.fixture(scope="module")
def recording(walk, tmp_path_factory):
    """The text of the walk as BVH: its bones, and its rows."""
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    poise.save(walk, path)
    bones, motion = path.read_text().split("MOTION\n")
    return bones.removeprefix("HIERARCHY\n"), motion.strip().splitlines()


def write_recording(path, bones, rows):
    path.write_text("HIERARCHY\n" + bones + "MOTION\n" + "\n".join(rows) + "\n")
    return path


def write_person(path, model, people=("",)):
    """A skinned character with the bones of a body, or several next to each other, with a camera and a box."""
    things = {"Camera": [3, 2, 1], "Box": [1, 0, 0]}
    nodes: list[dict[str, Any]] = [{"name": name, "translation": at} for name, at in things.items()]
    skins: list[list[int]] = []
    for k, prefix in enumerate(people):
        place = {name: model.fk(model.rest, name)[:3, 3] for name in model.frames}
        at = {name: len(nodes) + i for i, name in enumerate(model.frames)}
        for name in model.frames:
            parent = model.frame(name).parent
            shift = place[name] - (np.array([-2.0 * k, 0.0, 0.0]) if parent is None else place[parent])
            nodes.append({"name": prefix + name, "translation": shift.tolist()})
            if parent is not None:
                nodes[at[parent]].setdefault("children", []).append(at[name])
        skins.append(list(at.values()))
    file = File(nodes)
    for joints in skins:
        file.mesh(file.skin(joints), len(joints))
    file.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 0.6, "znear": 0.1}}]
    file.json["nodes"][0]["camera"] = 0
    return file, file.glb(path)


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_a_prop_in_a_recording_is_left_alone(recording, walk, small, tmp_path, first):
    bones, rows = recording
    bones = SWORD + bones if first else bones + SWORD
    held = [f"1 2 3 0 0 0 {row}" if first else f"{row} 1 2 3 0 0 0" for row in rows[2:]]
    path = write_recording(tmp_path / "sword.bvh", bones, rows[:2] + held)
    assert retarget(poise.load_motion(path), small).quality.slip_max < 0.01
    onto = retarget(walk, poise.load(path))
    assert onto.quality.slip_max < 0.01
    assert np.ptp(onto.motion.positions("Sword"), axis=0).max() < 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_two_people_in_a_recording_are_listed_and_one_can_be_chosen(recording, walk, small, tmp_path):
    bones, rows = recording
    other = re.sub(r"(ROOT|JOINT) (\S+)", r"\1 other_\2", bones)
    path = write_recording(tmp_path / "two.bvh", bones + other, rows[:2] + [f"{row} {row}" for row in rows[2:]])
    clip = poise.load_motion(path)
    for source, target in ((clip, small), (walk, clip.model)):
        with pytest.raises(InvalidValue, match=r"2 people, carried by .*other_pelvis"):
            retarget(source, target)
    one = find_mapping(walk.model, small)
    left = Mapping("two", "humanoid", tuple(Pair(p.role, f"other_{p.source}", p.target) for p in one))
    assert retarget(clip, small, left).quality.slip_max < 0.01
    right = Mapping("humanoid", "two", tuple(Pair(p.role, p.source, f"other_{p.target}") for p in one))
    carried = retarget(walk, clip.model, right).motion
    assert np.ptp(carried.positions("other_pelvis"), axis=0).max() > 0.2
    assert np.ptp(carried.positions("pelvis"), axis=0).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("prefixes", [("mixamorig:", "other_"), ("", "mixamorig:")])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_of_two_people_the_one_that_is_named_walks_and_its_feet_stand(recording, small, tmp_path, prefixes):
    """One of them has the names of a tool, which tell its parts at once: it is not taken for that."""
    bones, rows = recording
    people = [re.sub(r"(ROOT|JOINT) (\S+)", rf"\1 {prefix}\2", bones) for prefix in prefixes]
    numbers = [row.split() for row in rows[2:]]
    still = numbers[0]
    both = [" ".join([*still, *row]) for row in numbers]  # the first one stands still
    clip = poise.load_motion(write_recording(tmp_path / "two.bvh", "".join(people), rows[:2] + both))
    names = [joint.frame for joint in clip.model.joints if joint.parent is None]
    bones_called = [name.removesuffix("_position") for name in names]
    with pytest.raises(InvalidValue, match=rf"2 people, carried by '{bones_called[0]}', .*person='{bones_called[1]}'"):
        retarget(clip, small)
    first, second = sorted(bones_called)
    with pytest.raises(NameNotFound, match=rf"There are: '{first}', '{second}'\.$"):
        Mapping.between(clip.model, small, person="nobody")
    both_said = rf"subtree\('{bones_called[1]}'\), model, person='{bones_called[1]}'\)"
    with pytest.raises(InvalidValue, match=both_said):
        Mapping.between(clip.model, clip.model, person=names[0])
    between = Mapping.between(clip.model.subtree(bones_called[1]), clip.model, person=bones_called[1])
    assert all(pair.source == pair.target for pair in between)
    called = [Mapping.between(clip.model, small, person=name) for name in bones_called]
    assert called == [Mapping.between(clip.model, small, person=name) for name in names]
    first, second = (Mapping.between(clip.model, small, person=name) for name in names)
    alone = retarget(poise.load_motion(write_recording(tmp_path / "one.bvh", bones, rows)), small)
    for mode in ("clip", "online"):
        walks = retarget(clip, small, second, mode=mode)
        assert np.ptp(retarget(clip, small, first, mode=mode).motion.positions("pelvis"), axis=0).max() < 0.02
        assert np.abs(walks.motion.positions("pelvis") - alone.motion.positions("pelvis")).max() < 0.03
    assert [(c.name, c.start, c.end) for c in retarget(clip, small, second).contacts] == [
        (c.name, c.start, c.end) for c in alone.contacts
    ]


@pytest.mark.slow
def test_a_character_keeps_its_skin_its_camera_and_its_props(walk, small, tmp_path):
    file, path = write_person(tmp_path / "person.glb", small)
    carried = retarget(walk, poise.load(path, base="free"))
    assert carried.quality.slip_max < 0.01
    out = poise.save(carried.motion, tmp_path / "walking.glb", like=path)
    data = out.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    header, rest = json.loads(data[20 : 20 + length]), data[28 + length :]
    assert rest[: len(file.data)] == file.data  # points, weights, bind matrices: byte by byte
    for key in ("meshes", "skins", "materials", "cameras"):
        assert header[key] == file.json[key]
    assert header["accessors"][: len(file.json["accessors"])] == file.json["accessors"]
    assert header["animations"]
    again = poise.load_motion(out)
    assert np.abs(again.positions("wrist_l") - carried.motion.positions("wrist_l")).max() < 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_of_two_characters_in_a_file_one_walks_whole(walk, small, tmp_path):
    _, path = write_person(tmp_path / "two.glb", small, ("a_", "b_"))
    body = poise.load(path, base="free")
    with pytest.raises(InvalidValue, match=r"2 people, carried by 'a_pelvis', 'b_pelvis'"):
        retarget(walk, body)
    carried = retarget(walk, body, Mapping.between(walk.model, body, person="b_pelvis"))
    walker = carried.mapping.find("pelvis").target[:2]
    assert {pair.target[:2] for pair in carried.mapping} == {walker} == {"b_"}
    other = "b_" if walker == "a_" else "a_"
    assert carried.quality.slip_max < 0.01
    assert np.ptp(carried.motion.positions(f"{other}wrist_l"), axis=0).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("person", ["a_", "b_"])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_of_two_characters_in_a_file_the_one_that_is_named_stands_as_it_would_alone(
    walk, small, tmp_path, person, mode
):
    body = poise.load(write_person(tmp_path / "two.glb", small, ("a_", "b_"))[1], base="free")
    alone = poise.load(write_person(tmp_path / "one.glb", small, (person,))[1], base="free")
    parts = Mapping.between(walk.model, body, person=f"{person}pelvis")
    both, one = retarget(walk, body, parts, mode=mode), retarget(walk, alone, mode=mode)
    assert both.motion.model is body
    assert both.source is walk
    assert {contact.frame[:2] for contact in both.contacts} == {person}
    held = [[(c.frame, c.start, c.end, c.name) for c in each.contacts] for each in (both, one)]
    assert held[0] == held[1]
    np.testing.assert_allclose(both.quality.slip_max, one.quality.slip_max, atol=1e-3)
    np.testing.assert_allclose(
        both.motion.positions(f"{person}ankle_l"), one.motion.positions(f"{person}ankle_l"), atol=1e-3
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_a_person_is_chosen_in_the_body_that_holds_several(walk, small, tmp_path):
    """Whatever the frames of the other body are called; by any frame of theirs."""
    two = poise.load(write_person(tmp_path / "two.glb", small, ("", "b_"))[1], base="free")
    assert "pelvis" in walk.model.frames
    for name, prefix in (("pelvis", ""), ("wrist_l", ""), ("b_pelvis", "b_"), ("b_knee_r", "b_")):
        onto, back = Mapping.between(walk.model, two, person=name), Mapping.between(two, walk.model, person=name)
        assert all(pair.target == prefix + pair.source for pair in onto)
        assert all(pair.source == prefix + pair.target for pair in back)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_an_unknown_person_is_rejected_with_the_known_ones(walk, small, tmp_path):
    two = poise.load(write_person(tmp_path / "two.glb", small, ("a_", "b_"))[1], base="free")
    for source, target in ((walk.model, two), (two, walk.model)):
        for wrong in ("nobody", "Camera"):
            with pytest.raises(
                NameNotFound, match=rf"no person is called '{wrong}'\. There are: 'a_pelvis', 'b_pelvis'\.$"
            ):
                Mapping.between(source, target, person=wrong)
        for nothing in (3, 1.5, ["b_pelvis"]):
            with pytest.raises(InvalidValue, match=r"person is .*; it must be the name of a frame"):
                Mapping.between(source, target, person=nothing)
    with pytest.raises(NameNotFound, match=r"no person is called 'wist_l'\. Did you mean 'wrist_l'"):
        Mapping.between(walk.model, small, person="wist_l")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_files_with_several_people_each_need_both_names(small, tmp_path):
    two = poise.load(write_person(tmp_path / "two.glb", small, ("a_", "b_"))[1], base="free")
    with pytest.raises(InvalidValue, match=r"subtree\('b_pelvis'\), model, person='b_pelvis'\)"):
        Mapping.between(two, two, person="a_pelvis")
    parts = Mapping.between(two.subtree("b_pelvis"), two, person="a_pelvis")
    assert {(pair.source[:2], pair.target[:2]) for pair in parts} == {("b_", "a_")}
    stands = Motion(two, np.tile(two.rest, (6, 1)), 30.0)
    assert {contact.frame[:2] for contact in retarget(stands, two, parts).contacts} == {"a_"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_who_stands_on_nothing_floats(walk, small, mode):
    """Swimmers and astronauts: nothing is held, and bones look where the source's do."""
    model = walk.model
    q = walk.q.copy()
    q[:, 1] += np.linspace(2.0, 9.0, len(q))
    carried = retarget(Motion(model, q, walk.fps), small, mode=mode)
    assert not len(carried.contacts)
    assert carried.quality.limits_max == 0.0
    rise = carried.motion.positions("pelvis")[:, 1]
    assert rise[-1] - rise[0] == pytest.approx(0.6 * 7.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_single_frame_is_retargeted(walk, small, mode):
    carried = retarget(walk[:1], small, mode=mode)
    assert len(carried.motion) == 1
    assert np.isfinite(carried.motion.q).all()
    assert "1 at" in str(carried.quality)
    assert carried.why()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_never_come_in(walk, small, wrong):
    q = walk.q.copy()
    q[3, 10] = wrong
    with pytest.raises(PoiseError, match=r"q\[10\] of row 3"):
        Motion(walk.model, q, walk.fps)
    with pytest.raises(PoiseError, match="finite"):
        Retargeter(walk.model, small).step(q[3])


@pytest.mark.slow
def test_a_character_on_nodes_that_turn_its_axes_stands_upright_all_the_same(walk, small, tmp_path):
    """Exporters hang bodies whose up is z on a node that turns them: results are those of the body without it."""
    file, plain = write_person(tmp_path / "plain.glb", small)
    roots = [i for i in file.json["scenes"][0]["nodes"] if file.json["nodes"][i]["name"] == "pelvis"]
    pelvis = file.json["nodes"][roots[0]]
    x, y, z = pelvis["translation"]
    pelvis |= {"translation": [x, -z, y], "rotation": [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]}
    file.json["nodes"].append({"name": "Z_UP", "rotation": [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)], "children": roots})
    file.json["scenes"][0]["nodes"] = [i for i in file.json["scenes"][0]["nodes"] if i not in roots]
    file.json["scenes"][0]["nodes"].append(len(file.json["nodes"]) - 1)
    turned = file.glb(tmp_path / "turned.glb")
    one, other = (retarget(walk, poise.load(path, base="free")).motion for path in (plain, turned))
    for frame in ("spine_1", "chest", "head", "knee_l", "wrist_r"):
        np.testing.assert_allclose(other.positions(frame), one.positions(frame), atol=5e-3)


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_rest_pose_before_a_clip_is_left_out_and_reported(walk: Motion, mode: str) -> None:
    q = np.array(walk.q)
    q[:, 3:7] = (0.0, 0.0, 1.0, 0.0)
    clip = Motion(walk.model, np.concatenate([np.array(walk.model.rest)[None], q]), walk.fps)
    carried, kept = (retarget(clip, walk.model, mode=mode, keep_rest=keep, touch=False) for keep in (False, True))
    assert (len(carried.motion), len(kept.motion)) == (len(walk), len(clip))
    assert ["keep_rest=True" in each.why() for each in (carried, kept)] == [True, False]
    assert len(retarget(clip, walk.model, contacts=kept.contacts, touch=False).motion) == len(clip) or mode == "online"
