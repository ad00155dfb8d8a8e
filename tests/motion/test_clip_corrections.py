"""Solves of whole clips: corrections, measures, progress, and Ctrl-C, which ends them within 0.2 s."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import poise
from poise import Motion
from poise.goals import HalfSpace, Inside, Reach
from poise.limits import Speed
from poise.motion import contacts, edit, lock, quality, retarget, track
from poise.motion.clips.whole_clip import ClipGoal, RepeatedProgress, solve_whole
from walkers import make_machine
from walks import make_walk, put_skate_in


@pytest.mark.slow
@pytest.mark.parametrize("ends", [1, 2, 3])
def test_a_frame_finds_the_answer_that_has_joints_at_their_ends(ends):
    """Of seven joints some are at an end of their range where the hand is asked to be; all begin a little off it."""
    model, rng, frames = poise.load("panda"), np.random.default_rng(5), 200
    frame = model.frames[-1]
    q = rng.uniform(model.lower + 0.3, model.upper - 0.3, (frames, model.nq))
    for row in q:
        at = rng.choice(model.nq, ends, replace=False)
        row[at] = np.where(rng.random(ends) < 0.5, model.lower[at], model.upper[at])
    T = np.asarray(model.fk(q, frame))
    targets = np.concatenate([T[:, :3, :3].reshape(frames, 9), T[:, :3, 3]], axis=1)
    begin = Motion(model, model.clamp(q + rng.uniform(-0.05, 0.05, q.shape)), 30.0)
    held = ClipGoal(Reach(frame, T[0], name="hand"), targets, np.ones(frames), hard=True)
    answer = solve_whole(begin, [held], steps=0)
    assert (answer.errors[:, 0, 0] < 1e-9).mean() > 0.85  # the others are singular
    assert (answer.q >= model.lower).all()
    assert (answer.q <= model.upper).all()


@pytest.mark.slow
@pytest.mark.parametrize("nods", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_a_frame_keeps_all_that_has_one_side_above_the_floor_at_once(nods, held):
    """What lifts one foot lowers the other: corners that were above the floor are kept there in the same step."""
    model, rng, frames = make_machine(nods=nods), np.random.default_rng(3), 200
    shake = rng.normal(size=(frames, model.nv)) * np.where(model.slides, 0.01, 0.15)
    begin = Motion(model, model.clamp(model.integrate(model.rest, shake)), 30.0)
    corners = [p for n, p in poise.roles(model).contacts.items() if n.startswith("sole")]
    assert len(corners) == 8
    floor = HalfSpace((0.0, 0.0, 0.0), -model.up_direction)
    asked = [
        ClipGoal(Inside(p.frame, floor, point=p.point, name=p.name), None, np.ones(frames), hard=True) for p in corners
    ]
    if held:  # the hips stay where they are: legs alone make room
        frame, places = model.frames[0], begin.positions(model.frames[0])
        targets = np.concatenate([np.tile(np.eye(3).ravel(), (frames, 1)), places], axis=1)
        asked.append(ClipGoal(Reach(frame, places[0], name="hips"), targets, np.ones(frames), hard=True))
    answer = solve_whole(begin, asked, steps=0)
    lowest = [Motion(model, answer.q, 30.0).positions(p.frame, p.point) @ model.up_direction for p in corners]
    low = [begin.positions(p.frame, p.point) @ model.up_direction for p in corners]
    assert (np.min(low, axis=0) < 0.0).mean() > 0.5
    assert (np.min(lowest, axis=0) > -1e-9).all()
    assert answer.errors[..., 0].max() < 1e-9


def test_frames_that_nothing_couples_do_not_depend_on_each_other():
    """One frame begins far from its target: the others take the steps that they take without it."""
    model, rng, frames = poise.load("panda"), np.random.default_rng(2), 6
    frame, hidden = model.frames[-1], np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    begin = Motion(model, rng.uniform(model.lower, model.upper, (frames, model.nq)), 30.0)
    T = np.asarray(model.fk(rng.uniform(model.lower, model.upper, (frames, model.nq)), frame))
    targets = np.concatenate([T[:, :3, :3].reshape(frames, 9), T[:, :3, 3]], axis=1)
    hand = ClipGoal(Reach(frame, T[0], name="hand"), targets, hidden)
    together = solve_whole(begin, [hand], hold=1e-3, smooth=0.0, steps=3)
    for t in range(frames):
        one = ClipGoal(hand.goal, targets[t : t + 1], hidden[t : t + 1])
        alone = solve_whole(Motion(model, begin.q[t : t + 1], 30.0), [one], hold=1e-3, smooth=0.0, steps=3)
        np.testing.assert_array_equal(alone.q[0], together.q[t])
        np.testing.assert_array_equal(alone.errors[0], together.errors[t])
    assert together.errors[2, 0, 0] > 0.01  # a goal that is left out reports its error


@pytest.fixture(scope="module")
def skating():
    return put_skate_in(make_walk())


@pytest.mark.slow
def test_lock_and_quality_measure_the_same(skating, tmp_path):
    """Also if the locked clip was saved under another name, and if contacts were released."""
    poise.save(skating, tmp_path / "before.bvh")
    before = poise.load_motion(tmp_path / "before.bvh")
    track = lock(before)
    poise.save(track.motion, tmp_path / "after.bvh")
    own, found = track.quality, quality(poise.load_motion(tmp_path / "after.bvh"), before)
    for name in ("contact_share", "slip_max", "drift_max", "height_mean", "sink_max"):
        assert getattr(found, name) == pytest.approx(getattr(own, name), abs=1e-2)
    stiff = lock(skating, joints=["spine_1"])
    assert stiff.released
    assert stiff.quality.drift_max == pytest.approx(quality(stiff.motion, skating).drift_max)
    assert stiff.quality.drift_max > 1.0


@pytest.mark.parametrize("work", ["lock", "retarget"])
def test_progress_ends_once(work: str) -> None:
    seen = list[tuple[int, int]]()
    clip = put_skate_in(make_walk(24))
    if work == "lock":
        lock(clip, progress=lambda *each: seen.append(each))
    else:
        retarget(clip, poise.load("humanoid", scale=0.6), touch=False, progress=lambda *each: seen.append(each))
    done = [each for each, _ in seen]
    assert {total for _, total in seen} == {24}
    assert done == sorted(done)
    assert done.count(24) == 1


def test_passes_cover_half_of_the_rest() -> None:
    seen = list[int]()
    report = RepeatedProgress(lambda done, _: seen.append(done))
    for done in (50, 100, 50, 100, 100):
        report(done, 100)
    assert seen == [25, 50, 62, 75, 87]


TCP = "panda_hand_tcp"


@pytest.fixture(scope="module")
def long():
    clip = put_skate_in(make_walk(144))[:144]
    for _ in range(5):
        clip = clip.joined(clip, blend=0.2)
    return clip


def follow(mode, **options):
    arm = poise.load("panda")
    path = np.tile(arm.fk(arm.rest, TCP), (40_000, 1, 1))
    path[:, 1, 3] += 0.2 * np.sin(np.linspace(0.0, 2000.0, len(path)))
    return lambda _: track(arm, Reach(TCP, path), fps=30.0, mode=mode, **options)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.05, 0.5, 2.0])
@pytest.mark.parametrize(
    "call",
    [
        lock,
        lambda clip: lock(clip, limits=Speed(2.0)),
        contacts,
        quality,
        lambda clip: edit(clip, {1000: Reach("hand_l", (0.3, 1.4, 0.3))}, spread=20.0),
        follow("clip"),
        follow("online"),
    ],
    ids=["lock", "lock slowly", "contacts", "quality", "edit", "track", "online"],
)
def test_ctrl_c_ends_it_at_once(long, call, after):
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        for _ in range(100):  # short calls are made again until it comes
            call(long)
    except KeyboardInterrupt:
        assert time.process_time() - sent[0] < 0.2  # of the processor, because the machine may be busy
        return
    finally:
        timer.cancel()
    pytest.fail("it was not called off")
