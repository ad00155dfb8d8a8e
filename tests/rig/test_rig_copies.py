"""Copies of a rig continue in the same frames, bit for bit; frozen joints and first poses."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import poise
from poise.limits import Clearance

COPIES: dict[str, Callable[[poise.Rig], poise.Rig]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda rig: pickle.loads(pickle.dumps(rig)),
}


def busy_rig() -> poise.Rig:
    """A rig in the middle of things: every kind of wish, a blend, something frozen, something to undo."""
    rig = poise.Rig(poise.load("humanoid"), limits=[Clearance(distance=0.0)])
    rig.handles.add("thumb", "thumb_l", "end")
    rig.pin("foot_l")
    rig.pin("foot_r")
    rig.look_at("head", (0.3, 1.2, 1.0))
    rig.pole("arm_r", (-1.0, -1.0, 0.0))
    rig.strength("hand_r", 0.7)
    rig.freeze("neck")
    for height in np.linspace(0.8, 1.2, 6):
        rig.drag("hand_r", (-0.3, height, 0.35))
    rig.blend("arm_r", 0.5)
    rig.update()
    return rig


def frames(rig: poise.Rig) -> list[np.ndarray]:
    """What the rig does next: every verb that makes a frame, and back."""
    out = [rig.drag("hand_l", (0.3, height, 0.3)).q for height in np.linspace(0.9, 1.1, 4)]
    rig.blend("arm_r", 1.0)
    out += [rig.update().q, rig.mirror().q]
    rig.history.undo()
    rig.history.undo()
    out += [rig.q, rig.update().q]
    rig.history.reset()
    return [*out, rig.q]


@pytest.mark.slow
@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_alike(way: str) -> None:
    rig = busy_rig()
    twin = COPIES[way](rig)
    assert twin.state.held == rig.state.held
    assert twin.state.frozen == rig.state.frozen
    assert list(twin.handles) == list(rig.handles)
    for a, b in zip(frames(twin), frames(rig), strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("way", COPIES)
def test_copies_are_their_own(way: str) -> None:
    rig = busy_rig()
    before = rig.q
    twin = COPIES[way](rig)
    twin.handles.add("other", "thumb_r", "end")
    twin.release()
    twin.settle(20)
    assert (rig.q == before).all()
    assert "other" not in rig.handles
    assert "foot_l" in rig.state.pinned
    assert (twin.model is rig.model) == (way == "copy")


POSES = """
import numpy as np, poise
for seed in range(2):
    rng, rig = np.random.default_rng(seed), poise.Rig(poise.load("humanoid"))
    for name in ("foot_r", "knee_r", "foot_l", "knee_l", "hand_r", "elbow_l", "pelvis"):
        rig.reach(name, rig.state.transform(name).translation + rng.normal(size=3) * 0.3)
    for _ in range(10):
        rig.update()
    print(rig.q.tobytes().hex())
"""


def test_a_limb_whose_foot_and_knee_are_both_missed_is_bent_once_in_a_frame() -> None:
    model = poise.load("humanoid")
    rng, rig = np.random.default_rng(0), poise.Rig(model)
    for name in ("foot_r", "knee_r", "foot_l", "hand_r", "elbow_l", "pelvis"):
        rig.reach(name, rig.state.transform(name).translation + rng.normal(size=3) * 0.3)
    for _ in range(15):
        before = rig.q
        rig.drag("knee_l", rig.state.transform("knee_l").translation + rng.normal(size=3) * 0.2)
        assert np.abs(model.difference(before, rig.q))[3:].max() <= 0.2 + 1e-9


@pytest.mark.slow
def test_poses_do_not_depend_on_the_seed_of_hashes() -> None:
    found = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", POSES], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        found.add(run.stdout)
    assert len(found) == 1


def test_a_frozen_joint_of_a_blended_limb_stays_where_it_is_seen() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    elbow = rig.model.joint("elbow_r").q
    for share in (0.0, 0.5):
        rig.blend("arm_r", share)
        for _ in range(20):
            rig.drag("hand_r", (-0.35, 1.3, 0.35))
    before = rig.q
    rig.freeze("elbow_r")
    assert (rig.q == before).all()
    for share in (0.5, 0.2, 0.0, 1.0):  # nor does it move when the limb is blended otherwise
        rig.blend("arm_r", share)
        rig.update()
        assert (rig.q[elbow] == before[elbow]).all()
    assert rig.history.undo()


def test_a_frozen_root_keeps_its_quaternion_to_the_bit_while_a_limb_is_bent() -> None:
    model = poise.load("humanoid")
    root = model.joint("pelvis").q
    for seed in (82, 88, 124):
        rng, q = np.random.default_rng(seed), np.array(model.rest)
        turn = np.array([1.0, *(rng.normal(size=4) * (1.0, 0.05, 0.3, 0.05))[1:]])
        q[3:7] = turn / np.linalg.norm(turn)
        rig = poise.Rig(model, q)
        rig.mirror()
        rig.freeze("pelvis")
        before, hip = rig.q, model.fk(rig.q, "hip_r")[:3, 3]
        for name in ("foot_r", "knee_r", "foot_l"):
            rig.reach(name, hip + rng.normal(size=3) * 0.1)
        for _ in range(6):
            rig.update()
            assert (rig.q[root] == before[root]).all()


def test_a_rig_begins_in_the_pose_called_home():
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", axis=(0, 1, 0), lower=-1.0, upper=1.0)
    builder.add_joint("elbow", "shoulder", "revolute", axis=(0, 1, 0), lower=-1.0, upper=1.0, offset=(1, 0, 0))
    builder.add_frame("hand", "elbow", (1, 0, 0))
    rest = builder.build().rest
    builder.add_pose("home", [0.5, 2.0])
    model = builder.build()
    assert np.array_equal(model.rest, rest)
    assert poise.Rig(model).q == pytest.approx([0.5, 1.0])  # within the joint ranges
    assert poise.Rig(model, model.rest).q == pytest.approx(rest)
