"""Streams: each frame is solved from the frames before it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from poise.arrays import Floats
from poise.goals import Orient, Reach
from poise.limits import Speed
from poise.motion import Contact, Contacts, track
from poise.motion.clips.whole_clip import Window
from walks import make_walk, put_skate_in, stands

FPS = 30.0
TCP = "panda_hand_tcp"
FEET = ("heel_l", "toe_l", "heel_r", "toe_r")


@pytest.fixture(scope="module")
def skating():
    return put_skate_in(make_walk())[:70]


def follow_walk(clip, frames, **options):
    """The walk followed by its feet and pelvis, frame by frame."""
    feet = {name: clip.model.fk(clip.q, name)[:frames] for name in ("foot_l", "foot_r", "pelvis")}
    goals = [Reach(name, path, name=name) for name, path in feet.items()]
    return track(clip.model, goals, fps=clip.fps, mode="online", **options)


@pytest.mark.slow
@pytest.mark.parametrize("contacts", [None, "auto"])
def test_no_frame_sees_the_ones_after_it(skating, contacts):
    """What comes out of the first k frames does not change by a bit when more of them follow."""
    whole = follow_walk(skating, 60, contacts=contacts)
    for k in (1, 2, 17, 40):
        part = follow_walk(skating, k, contacts=contacts)
        np.testing.assert_array_equal(part.motion.q, whole.motion.q[:k])
        for name, errors in part.errors.items():
            np.testing.assert_array_equal(errors, whole.errors[name][:k])


@pytest.mark.slow
def test_no_frame_sees_the_ones_after_it_within_limits():
    arm = poise.load("panda")
    path = np.tile(arm.fk(arm.rest, TCP), (60, 1, 1))
    path[:, 1, 3] += 0.3 * np.sin(np.linspace(0.0, 6.0, 60))
    whole = track(arm, Reach(TCP, path), fps=FPS, mode="online", limits=Speed(0.5))
    part = track(arm, Reach(TCP, path[:31]), fps=FPS, mode="online", limits=Speed(0.5))
    np.testing.assert_array_equal(part.motion.q, whole.motion.q[:31])


@pytest.mark.slow
def test_contacts_are_decided_by_what_was_seen(skating):
    out = follow_walk(skating, 70, contacts="auto")
    held = {name: np.zeros(70, dtype=bool) for name in FEET}
    for contact in out.contacts:
        held[contact.name][contact.start : contact.end] = True
        path = out.motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        assert np.abs(path - np.array(contact.place)).max() < 1e-4
    for name in FEET:
        known = stands(name[-1], 70, FPS)
        assert held[name][known].mean() > 0.6, (
            name
        )  # a foot is held two frames late, and not while the knee snaps straight
        early = np.flatnonzero(held[name] & ~known)
        ends = np.flatnonzero(np.diff(np.r_[known.astype(int), 0]) == -1)
        assert all((frame - ends[ends < frame]).min() <= 2 for frame in early), (name, early, ends)


@pytest.mark.slow
def test_a_ledger_is_followed_as_it_says(skating):
    model = skating.model
    ledger = Contacts((Contact("toe_l", 5, 15), Contact("toe_l", 20, 30), Contact("toe_r", 8, 25)), 40, FPS)
    path = np.tile(model.fk(model.rest, "hand_l")[:3, 3], (40, 1))
    path[:, 0] += 0.1 * np.sin(np.linspace(0.0, 9.0, 40))
    out = track(model, Reach("hand_l", path), fps=FPS, mode="online", contacts=ledger)
    assert [(c.frame, c.start, c.end) for c in out.contacts] == [(c.frame, c.start, c.end) for c in ledger]
    for contact in out.contacts:
        points = out.motion.positions(contact.frame)[contact.start : contact.end]
        assert np.abs(np.diff(points, axis=0)).max() < 1e-5


@pytest.mark.slow
def test_a_frame_costs_the_same_however_many_came_before():
    arm = poise.load("panda")
    path = np.tile(arm.fk(arm.rest, TCP), (4000, 1, 1))
    path[:, 1, 3] += 0.2 * np.sin(np.linspace(0.0, 200.0, 4000))

    def spend(frames):
        begun = time.process_time()
        track(arm, Reach(TCP, path[:frames]), fps=FPS, mode="online")
        return (time.process_time() - begun) / frames

    short, long = (min(spend(frames) for _ in range(3)) for frames in (400, 4000))
    assert long < 1.5 * short


@pytest.mark.slow
def test_one_frame_is_a_stream_too():
    arm = poise.load("panda")
    path = arm.fk(arm.rest, TCP)[None]
    for mode in ("clip", "online"):
        out = track(
            arm, [Reach(TCP, path), Orient("panda_link4", arm.fk(arm.rest, "panda_link4")[:3, :3])], fps=FPS, mode=mode
        )
        assert out.reached.all()
        assert len(out.motion) == 1


STIFF = 3000.0


@dataclass
class Targets:
    """The targets of a frame."""

    numbers: Floats
    weights: Floats
    hard: Floats


def test_still_knees_do_not_stiffen_an_arm() -> None:
    model = poise.load("humanoid")
    rest = np.array(model.rest)
    window = Window(model, [Reach("hand_l", (0.0, 0.0, 0.0))], hold=1e-3, smooth=1.0, fps=30.0, joints=None)
    legs = [joint.v for side in "lr" for joint in model.joints_above(f"foot_{side}") if joint.name != "pelvis"]
    knees = np.isin(np.arange(model.nv), [v for own in legs for v in range(own.start, own.stop)])
    place = model.fk(rest, "hand_l")[:3, 3] + (0.0, 0.05, 0.05)
    numbers = np.concatenate([np.eye(3).ravel(), place])[None]
    asked = Targets(numbers, np.ones(1), np.zeros(1))
    window.keep(rest, rest)

    def measure(still: tuple[float, NDArray[np.bool_]] | None) -> float:
        q, _ = window.solve(rest, rest, asked, 40, still=still)
        assert still is None or np.abs(model.difference(rest, q)[knees]).max() < 1e-6
        return float(np.linalg.norm(model.fk(q, "hand_l")[:3, 3] - place))

    free, held = measure(None), measure((STIFF, knees))
    assert abs(held - free) < 0.01 * np.linalg.norm((0.05, 0.05))
