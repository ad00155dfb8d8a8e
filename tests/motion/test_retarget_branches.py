"""Hips of hinges have two answers for most directions of a thigh: a whole clip stays in one of them."""

import numpy as np
import pytest

import poise
import walkers
from poise import Motion
from poise.kinematics.carriers import find_root
from poise.motion import Contacts, retarget
from poise.motion.retargeting.branch_joiner import bridge_jumps


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(walkers, "THREE", (("pitch", "y"), ("roll", "x"), ("yaw", "z")))
    return walkers.make_machine(bend=0.2)


def kick(model, seed, frames=45):
    """A leg that goes up and comes down again, past where two axes of its hip lie in one line."""
    rng, u = np.random.default_rng(seed), np.linspace(0.0, 1.0, frames)
    steps = np.zeros((frames, model.nv))
    for part, most in (("pitch", 2.0), ("roll", 2.1), ("yaw", 1.5)):
        up, sway = rng.uniform(-most, most), rng.uniform(-0.4, 0.4)
        steps[:, model.joint(f"left_hip_{part}").v.start] = up * np.sin(np.pi * u) ** 2 + sway * np.sin(2.0 * np.pi * u)
    steps[:, model.joint("left_knee").v.start] = rng.uniform(0.3, 1.6) * np.sin(np.pi * u) ** 2
    return Motion(model, model.clamp(model.integrate(model.rest, steps)), 30.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [13, 28, 41, 42, 46, 51])
def test_a_kick_does_not_jump_from_one_branch_to_the_other(machine, seed):
    clip = kick(machine, seed)
    carried = retarget(clip, machine, contacts=Contacts((), len(clip), clip.fps, 0.0)).motion
    asked, made = (np.abs(np.diff(each.q[:, 7:], axis=0)).max() for each in (clip, carried))
    assert made < 2.0 * asked
    for frame in ("left_knee", "left_foot"):
        away = clip.positions(frame) - clip.positions("pelvis") - carried.positions(frame) + carried.positions("pelvis")
        assert np.linalg.norm(away, axis=1).max() < 0.1


def test_a_frame_that_contacts_push_into_another_branch_is_bridged():
    model = poise.load("humanoid")
    free = Motion(model, np.tile(model.rest, (40, 1)), 30.0)
    knee = model.joint("knee_l").q.start
    pushed = np.array(free.q)
    pushed[:, knee] += np.linspace(0.0, 0.4, 40)
    smooth = pushed.copy()
    pushed[20, knee] += 1.5
    root = find_root(model, "pelvis")
    found = bridge_jumps(Motion(model, pushed, 30.0), free, root)
    assert found is not None
    bridged, jump = found
    assert jump == pytest.approx(1.5, abs=0.02)
    assert np.abs(bridged - smooth).max() < 1e-9
    assert bridge_jumps(Motion(model, smooth, 30.0), free, root) is None
    assert bridge_jumps(Motion(model, pushed, 30.0), Motion(model, pushed, 30.0), root) is None
