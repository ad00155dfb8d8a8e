"""Streams that are carried over: no jump where a contact is let go, no more haste than whole clips, no sinking."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import Retargeter, retarget
from walkers import make_machine
from walks import make_walk

STANDING = {
    "machine": (make_machine, 1e-4),
    "child": (lambda: poise.load("humanoid", scale=0.6), 1e-4),
    "feet that only nod": (lambda: make_machine(nods=True), 1e-3),
}
BODIES = {"machine": make_machine, "child": lambda: poise.load("humanoid", scale=0.6)}


@pytest.fixture(scope="module")
def walk():
    return make_walk(90).smoothed(3.0)  # the knees of the walk as it is made snap once a step


def find_standing(live, walk, frames):
    """Play a stream for some frames, and return a point that stands then."""
    for frame in walk.q[:frames]:
        live.step(frame)
    return next(hold for hold in live.contacts.holds if hold.place is not None)


def place(live, hold):
    """Where a point of the target is."""
    T = live.model.fk(live.q, hold.frame)
    return T[:3, :3] @ np.array(hold.point) + T[:3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BODIES))
def test_a_released_point_returns_over_several_frames(walk, name):
    live, plain = Retargeter(walk.model, BODIES[name]()), Retargeter(walk.model, BODIES[name]())
    still = np.tile(walk.q[8], (40, 1))  # the source stands still
    hold, other = (find_standing(each, Motion(walk.model, still), 12) for each in (live, plain))
    foot = [each for each in live.contacts.holds if each.name[-1] == hold.name[-1] and each.place is not None]
    aside = 0.01 * live.model.length / 0.9 * np.array([1.0, 0.0, 0.0])
    for frame in still[12:20]:  # the foot is dragged aside, then cannot stand where it is
        for each in foot:
            each.place = each.place + aside
        live.step(frame)
        plain.step(frame)
    before = float(np.linalg.norm(place(live, hold) - place(plain, other)))
    assert before > 5.0 * np.linalg.norm(aside)
    for each in foot:
        each.place = each.place + 5.0
    moves, last, stood = [], place(live, hold), []
    for frame in still[20:]:
        live.step(frame)
        moves.append(float(np.linalg.norm(place(live, hold) - last)))
        last = place(live, hold)
        stood.append(hold.place is not None)
    assert max(moves) < 0.4 * before
    assert sum(moves) > 0.5 * before  # it did come back
    assert np.count_nonzero(np.diff(np.array(stood, dtype=int))) <= 1  # let go once, and stands again once
    assert stood[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BODIES))
def test_a_stream_hurries_no_more_than_twice_as_much_as_the_whole_clip(walk, name):
    model = BODIES[name]()
    whole, stream = (retarget(walk, model, mode=mode) for mode in ("clip", "online"))
    steps = [np.abs(model.difference(m.q[:-1], m.q[1:]))[:, 6:].max() for m in (whole.motion, stream.motion)]
    assert steps[1] < 2.0 * steps[0]
    assert stream.quality.sink_max < 1.0
    assert stream.quality.limits_max == 0.0
    np.testing.assert_array_equal(retarget(walk[:20], model, mode="online").motion.q, stream.motion.q[:20])


@pytest.mark.slow
def test_angles_of_a_stream_have_one_name(walk):
    """A person turns round and round: no angle jumps by a turn, and no frame is thrown off by it."""
    model = poise.load("humanoid", scale=0.6)
    turn = np.linspace(0.0, 14.0, len(walk))
    q = np.array(walk.q)
    q[:, 3:7] = [np.array([np.cos(0.5 * a), 0.0, np.sin(0.5 * a), 0.0]) for a in turn]
    moved = Motion(walk.model, q, walk.fps)
    stream = retarget(moved, model, mode="online").motion
    steps = np.abs(model.difference(stream.q[:-1], stream.q[1:]))
    source = np.abs(walk.model.difference(moved.q[:-1], moved.q[1:]))
    assert steps[:, 3:].max() < 2.0 * source[:, 3:].max()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(STANDING))
def test_the_ledger_of_a_stream_has_one_line_per_stance_with_its_place(walk, name):
    """Feet swing out to the side, so that those that cannot be laid flat roll on the edge of their sole."""
    make, still = STANDING[name]
    model, q = make(), np.array(walk.q)
    q[:, 0] += 0.04 * np.sin(np.linspace(0.0, 12.0, len(q)))  # the pelvis sways
    swaying = Motion(walk.model, q, walk.fps)
    carried = retarget(swaying, model, mode="online")
    up = model.up_direction
    soles = [p for n, p in poise.roles(model).contacts.items() if n.startswith(("heel", "toe", "sole"))]
    assert len(carried.contacts) >= 6
    ends: dict[str, int] = {}
    for contact in carried.contacts:
        assert len(contact) > 1
        assert contact.start > ends.get(contact.name, -1)  # no stance is cut in two
        ends[contact.name] = contact.end
        held = carried.motion[contact.start : contact.end]
        off = held.positions(contact.frame, contact.point) - np.array(contact.place)
        heights = [held.positions(p.frame, p.point) @ up for p in soles if p.name[-1] == contact.name[-1]]
        assert np.linalg.norm(off - np.outer(off @ up, up), axis=1).max() <= still
        assert np.min(heights, axis=0).max() < 1e-3
        if name == "feet that only nod":
            assert abs(float((off @ up).mean())) < 1e-9
        else:
            assert np.abs(off @ up).max() <= still
    assert carried.quality.sink_max < 0.1
