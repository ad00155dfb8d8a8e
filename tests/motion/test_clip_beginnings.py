"""The beginning of a clip is locked alike, whatever follows; T-poses and contacts just out of reach cause no jump."""

import numpy as np
import pytest

import poise
from dirt import add_drift, move_root, stretch_path
from poise import Motion
from poise.motion import Contact, Contacts, contacts, lock
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.detector import find_locked_floor
from poise.motion.contact.soles import find_soles
from poise.motion.contact.standing_heights import level_contacts
from walks import make_walk, put_skate_in


def lift(walk, metres):
    """A floor that rises over the whole clip."""
    return move_root(walk, np.outer(np.linspace(0.0, metres, len(walk)), walk.model.up_direction))


def begin_with_t_pose(walk):
    """A first frame that stands lower and elsewhere, as in CMU's recordings."""
    q = np.array(walk.q)
    q[0] = walk.model.rest
    q[0, 1] -= 0.05
    q[0, 2] -= 0.4
    return Motion(walk.model, q, walk.fps)


def raise_arms(walk):
    """Arms that are raised at the end make a body taller, but not its feet faster."""
    q = np.array(walk.q)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        q[100:, walk.model.joint(f"shoulder_{side}").q] = walk.model.rest[walk.model.joint(f"shoulder_{side}").q] + sign
    return Motion(walk.model, q, walk.fps)


DIRT = {
    "rises": lambda walk: lift(walk, 0.08),
    "sinks": lambda walk: lift(walk, -0.08),
    "skates": lambda walk: stretch_path(put_skate_in(walk), 0.1),
    "drifts": lambda walk: add_drift(walk, hz=3.0),
    "begins with a T-pose": lambda walk: begin_with_t_pose(lift(walk, 0.06)),
    "raises its arms": raise_arms,
}


def place_feet(clip):
    known = poise.roles(clip.model).contacts
    return np.stack([clip.positions(p.frame, p.point) for n, p in known.items() if n.startswith(("heel", "toe"))])


@pytest.mark.parametrize("name", list(DIRT))
def test_the_first_part_of_a_clip_is_locked_as_in_the_whole(name):
    clip, cut = DIRT[name](make_walk(150)), 90
    whole, part = (place_feet(lock(each).motion) for each in (clip, clip[:cut]))
    away = cut - round(clip.fps)
    assert np.linalg.norm(whole[:, :away] - part[:, :away], axis=2).max() < 5e-3


def test_a_floor_that_is_level_stays_level_in_spite_of_noise():
    clip = add_drift(make_walk(150), size=0.004, hz=3.0)
    up = clip.model.up_direction
    for kind in ("heel", "toe"):
        heights = [np.array(c.place) @ up for c in contacts(clip) if c.name.startswith(kind)]
        assert len(heights) > 3
        assert np.ptp(heights) < 1e-9


def test_contacts_on_stairs_keep_their_heights_and_those_on_a_slope_follow_it():
    up = np.array([0.0, 0.0, 1.0])

    def level(heights):
        found = [Contact("foot", 30 * i, 30 * i + 20, place=(0.0, 0.0, h), name="toe_l") for i, h in enumerate(heights)]
        return np.array([contact.place for contact in level_contacts(found, up, 30.0, 1.0)]) @ up

    assert level([0.0, 0.004, 0.17, 0.34, 0.172, 0.003]) == pytest.approx([0.002, 0.002, 0.17, 0.34, 0.17, 0.002])
    slope = np.linspace(0.0, 0.2, 21)
    assert np.abs(level(slope) - slope).max() < 0.015 + 1e-9
    assert np.abs(np.diff(level(slope))).max() < 0.01 + 1e-9


def test_a_t_pose_is_a_cut_that_displaces_nothing_after_it():
    walk = make_walk(90)
    clip = begin_with_t_pose(walk)
    assert find_cuts(clip) == [1]
    assert not find_cuts(walk)
    assert all(contact.start > 0 for contact in contacts(clip))
    plain, posed = (place_feet(lock(each).motion) for each in (walk, clip))
    assert np.linalg.norm(plain[:, 1:] - posed[:, 1:], axis=2).max() < 2e-3


def test_a_t_pose_shows_no_floor_even_if_no_foot_is_slow():
    model = poise.load("humanoid")
    q = np.tile(model.rest, (40, 1))
    q[:, 2] += 2.0 * np.arange(40) / 30.0
    plain = Motion(model, q, 30.0)
    posed = move_root(plain, -0.5 * np.outer(np.arange(40) == 0, model.up_direction))
    assert find_cuts(posed) == [1]
    assert contacts(posed).floor == pytest.approx(contacts(plain).floor, abs=1e-6)


def test_a_leap_at_few_frames_per_second_is_no_cut():
    """0.9 m in 0.35 s: a long step of a person, however few frames it has."""
    model = poise.load("humanoid")
    q, times = np.tile(model.rest, (24, 1)), np.arange(24) / 8.0
    q[:, 2] += 0.45 - 0.45 * np.cos(np.pi * np.clip((times - 1.0625) / 0.35 + 0.5, 0.0, 1.0))
    assert not find_cuts(Motion(model, q, 8.0))


def test_feet_that_leave_a_high_place_between_two_contacts_on_it_are_not_raised():
    model = poise.load("humanoid")
    heights = np.interp(np.arange(91), [14, 27, 39, 52, 68], [0.0, 0.5, 0.5, 0.1, 0.5])
    clip = move_root(Motion(model, np.tile(model.rest, (91, 1)), 30.0), np.outer(heights, model.up_direction))
    ledger = [
        Contact(point.frame, start, end, point=point.point, name=name)
        for name, point in poise.roles(model).contacts.items()
        for start, end in ((0, 15), (27, 40), (68, 91))
        if name.startswith(("heel", "toe"))
    ]
    locked = lock(clip, Contacts(tuple(ledger), len(clip), clip.fps, 0.0)).motion
    assert np.abs(place_feet(locked) - place_feet(clip)).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("legs", [False, True])
def test_a_contact_that_a_straight_leg_misses_by_a_hair_makes_no_knee_jump(legs):
    """At 120 frames per second; if the hips may move, they pay, otherwise the places of the feet do."""
    walk = make_walk(240, fps=120.0).smoothed(3.0)
    clip = move_root(walk, np.full((len(walk), 1), 0.01) * walk.model.up_direction)
    joints = [j.name for j in walk.model.joints if j.nv and j.name.startswith(("hip", "knee", "ankle", "toe"))]
    track = lock(clip, contacts(walk), joints=joints if legs else None)
    assert bool(track.released) == legs
    steps = [np.abs(walk.model.difference(m.q[:-1], m.q[1:]))[:, 3:].max() for m in (clip, track.motion)]
    assert steps[1] < (0.12 if legs else 1.05 * steps[0])


def test_a_contact_that_shows_only_after_others_are_held_is_held_too():
    walk = make_walk(120)
    quick = add_drift(Motion(walk.model, walk.q[::3][:30], walk.fps), 0.03, 1.0, 1)
    once = lock(quick)
    again = lock(once.motion)
    assert len(once.contacts) > len(contacts(quick))
    for sole in find_soles(quick.model):
        paths = [track.motion.positions(sole.frame, sole.point) for track in (once, again)]
        assert np.linalg.norm(paths[0] - paths[1], axis=1).max() < 1e-4


def test_the_floor_of_a_locked_clip_is_below_all_points():
    """Heels that never stand may be lower than toes that do."""
    up, names, moving = np.array([0.0, 1.0, 0.0]), ["heel_l", "toe_l"], np.ones(5, dtype=bool)
    held = [Contact("foot", 0, 3, place=(0.0, 0.02, 0.0), name="toe_l")]
    heights = np.array([[0.3, 0.2, 0.01, 0.2, 0.3], [0.02, 0.02, 0.02, 0.1, 0.2]])
    assert find_locked_floor(held, names, heights, moving, up) == 0.01
    assert find_locked_floor([], names, heights, moving, up) == np.inf
    heights[0, 3] = 0.01  # twice at the lowest height
    assert find_locked_floor([], names, heights, moving, up) == 0.01
    heights[1, 4] = 0.015  # a toe that stands at another time dips: not a locked clip
    assert find_locked_floor(held, names, heights, moving, up) == np.inf
