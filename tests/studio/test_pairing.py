"""Two bodies side by side: matched parts, corrected by two clicks, and their positions. No browser."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.motion import Mapping
from poise.motion.retargeting.mapping import find_mapping
from poise.studio.clips.pairs import choose_color, find_role, list_ends, mend_pair, place_beside
from poise.studio.clips.second_body import read_body
from walkers import make_character, make_machine
from walks import make_walk

pytestmark = pytest.mark.slow


@cache
def bodies() -> tuple[poise.Model, poise.Model]:
    """A humanoid that walks, and a machine."""
    return make_walk().model, make_machine()


@cache
def mapping() -> Mapping:
    """Which part is which."""
    return find_mapping(make_walk().model, bodies()[1])


def test_two_clicks_make_a_pair_and_leave_the_others() -> None:
    before, (_, target) = mapping(), bodies()
    rng = np.random.default_rng(0)
    for pair in before:
        frame = str(rng.choice(target.frames))
        after = mend_pair(before, bodies(), (pair.source, frame))
        assert after.find(pair.role).target == frame
        assert after.find(pair.role).source == pair.source
        assert [p for p in after if p.role != pair.role] == [p for p in before if p.role != pair.role]
        assert mend_pair(after, bodies(), (pair.source, pair.target)) == before  # and two more take it back


def test_a_click_next_to_a_part_counts_as_that_part() -> None:
    source = bodies()[0]
    known = {pair.role for pair in mapping()}
    for frame in source.frames:
        role = find_role(mapping(), source, frame, source=True)
        above = [r for name in source.ancestors(frame) for r in known if mapping().find(r).source == name]
        assert role in known or not above
    assert find_role(mapping(), source, "hand_l", source=True) == "wrist_l"
    after = mend_pair(mapping(), bodies(), ("hand_l", "left_elbow"))
    assert after.find("wrist_l").target == "left_elbow"


def test_a_part_that_only_one_seemed_to_have_is_added() -> None:
    assert "neck" in mapping().missing
    after = mend_pair(mapping(), bodies(), (poise.roles(bodies()[0])["neck"], "imu"))
    assert after.find("neck").target == "imu"
    assert "neck" not in after.missing
    assert len(after) == len(mapping()) + 1


def test_parts_of_neither_body_are_rejected() -> None:
    legs = replace(mapping(), pairs=tuple(p for p in mapping() if p.role == "knee_l"), missing=())
    with pytest.raises(InvalidValue, match="neither head nor imu"):
        mend_pair(legs, bodies(), ("head", "imu"))
    assert mend_pair(legs, bodies(), ("head", "left_knee")).find("knee_l").source == "head"


def test_lines_end_where_the_parts_are() -> None:
    models = bodies()
    places = tuple(model.fk(np.array(model.rest)) for model in models)
    ends = list_ends(mapping(), models, (places[0], places[1]))
    for k, pair in enumerate(mapping()):
        for body, frame, end in zip(models, (pair.source, pair.target), ends[k], strict=True):
            assert end == pytest.approx(poise.Pose(body, body.rest).position(frame), abs=1e-12)


def test_limbs_have_colors_of_their_own() -> None:
    limbs = [
        ("wrist_l", "elbow_l"),
        ("wrist_r", "elbow_r"),
        ("hip_l", "foot_l"),
        ("hip_r", "knee_r"),
        ("chest", "neck"),
    ]
    assert all(choose_color(a) == choose_color(b) for a, b in limbs)
    assert len({choose_color(a) for a, _ in limbs}) == len(limbs)
    assert choose_color("spine_1") == choose_color("pelvis")


@pytest.mark.parametrize("other", [make_machine, make_character, lambda: poise.load("humanoid", scale=0.6)])
def test_they_stand_upright_on_one_floor_next_to_each_other(other) -> None:
    clip, model = make_walk(), other()
    q = np.tile(np.array(model.rest), (len(clip), 1))
    carried = poise.Motion(model, q, clip.fps)
    T = place_beside(clip, carried, (0.2, -0.1), 3.0)
    up, theirs = clip.model.up_direction, model.up_direction
    assert T[:3, :3] @ theirs == pytest.approx(up, abs=1e-12)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    ground = T[:3, :3] @ (-0.1 * theirs) + T[:3, 3]
    assert ground @ up == pytest.approx(0.2)
    root = (T @ model.fk(q[0], poise.roles(model)["pelvis"]))[:3, 3]
    apart = root - clip.positions("pelvis")[0]
    way = clip.positions("pelvis")[-1] - clip.positions("pelvis")[0]
    apart, way = (v - (v @ up) * up for v in (apart, way))
    assert 1.0 < np.linalg.norm(apart) < 2.0
    assert abs(apart @ way) < 0.2 * np.linalg.norm(apart) * np.linalg.norm(way)


def test_a_robot_that_is_fixed_is_read_with_a_free_base(tmp_path) -> None:
    model = make_machine()
    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    assert read_body(tmp_path / "arm.urdf").nv == 7 + 6
    assert read_body(model) is model
    assert read_body("humanoid", scale=0.6).length == pytest.approx(0.6 * poise.load("humanoid").length, rel=1e-6)
