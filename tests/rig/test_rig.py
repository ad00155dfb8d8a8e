"""Rig: pins hold, drags arrive without jumps, released handles return, undo restores every bit."""

import numpy as np
import pytest

import poise
from pinned_rigs import make_pinned_rig
from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, NameNotFound
from poise.goals import Balance, Rest
from poise.model import Model
from poise.solvers.options import CONTINUOUS_SPAN

FRAMES = 300
X, Y = (1, 0, 0), (0, 1, 0)
BODIES = ("humanoid", "quadruped", "hand", "panda", "tree30")


def stick_figure() -> Model:
    """A body without roles or masses: a floating trunk, two arms of hinges and one of ball joints."""
    builder = poise.ModelBuilder("stick")
    builder.add_joint("trunk", None, "free")
    for name, side in (("a", 0.3), ("b", -0.3)):
        place, low, high = (side, 0, 0), (-2, -2), (2, 2)
        builder.add_joint(f"{name}1", "trunk", "universal", offset=place, axis=X, axis2=Y, lower=low, upper=high)
        builder.add_joint(f"{name}2", f"{name}1", "revolute", offset=(0, 0, 0.3), axis=Y, lower=-2, upper=2)
        builder.add_frame(f"{name}_end", f"{name}2", (0, 0, 0.3))
    builder.add_joint("c1", "trunk", "ball", offset=(0, 0.3, 0))
    builder.add_joint("c2", "c1", "ball", offset=(0, 0.3, 0))
    builder.add_frame("c_end", "c2", (0, 0.3, 0))
    return builder.build()


def body(name: str) -> Model:
    return stick_figure() if name == "stick" else poise.load(name)


def bound(model: Model) -> Floats:
    """The bound of a frame; turns of a ball about several axes do not simply add up, and may be some percent more."""
    most = np.where(~model.slides, CONTINUOUS_SPAN, CONTINUOUS_SPAN * model.length) * (1 + 1e-9)
    for joint in model.joints:
        if joint.nq != joint.nv:
            most[joint.v] *= 1.06
    return most


def inside(model: Model, q: Floats) -> bool:
    plain = [joint for joint in model.joints if joint.nq and joint.nq == joint.nv and not joint.mimic]
    return all((model.lower[j.v] <= q[j.q]).all() and (q[j.q] <= model.upper[j.v]).all() for j in plain)


def wander(center: Floats, size: float, rng: np.random.Generator, frames: int) -> Floats:
    """A path of mouse moves: smooth loops about a place, with a few leaps."""
    phases, rates = rng.uniform(0, 2 * np.pi, (2, 3)), rng.uniform(0.5, 1.5, (2, 3))
    t = np.linspace(0, 4 * np.pi, frames)[:, None]
    path = center + size * np.sum([np.sin(rates[k] * t + phases[k]) - np.sin(phases[k]) for k in range(2)], axis=0) / 2
    leaps = np.repeat(rng.normal(0, 0.5 * size, (6, 3)), -(-frames // 6), axis=0)[:frames]
    out: Floats = path + leaps
    return out


# ------------------------------------------------------------------------------------------ pins and drags


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_pinned_feet_stay_and_no_joint_jumps_over_a_random_drag(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rig = make_pinned_rig()
    model, most = rig.model, bound(rig.model)
    feet = {foot: rig.state.transform(foot).matrix for foot in ("foot_l", "foot_r")}
    for point in wander(rig.state.transform("hand_r").translation, 0.4, rng, FRAMES):
        before = rig.q
        pose = rig.drag("hand_r", point)
        assert (np.abs(model.difference(before, pose.q)) <= most).all()
        for foot, T in feet.items():
            assert np.abs(pose.transform(foot).matrix - T).max() < 1e-6
        assert inside(model, pose.q)


@pytest.mark.parametrize("name", [*BODIES, "stick"])
def test_every_body_is_pinned_dragged_and_released(name: str) -> None:
    model = body(name)
    rig = poise.Rig(model)
    most, rng = bound(model), np.random.default_rng(1)
    ends = [handle.name for handle in rig.handles.values() if handle.kind == "end"]
    assert ends
    first, last = ends[0], ends[-1]
    if first != last:
        rig.pin(first)
    held = rig.state.transform(first).matrix
    for point in wander(rig.state.transform(last).translation, 0.1 * model.length, rng, 60):
        before = rig.q
        pose = rig.drag(last, point)
        assert (np.abs(model.difference(before, pose.q)) <= most).all()
        if first != last:
            assert np.abs(pose.transform(first).matrix - held).max() < 1e-6
    rig.release()
    rig.settle()
    assert np.abs(model.difference(rig.q, model.rest)).max() < 1e-5


def test_a_far_target_is_reached_in_a_few_calls() -> None:
    rig = make_pinned_rig()
    target = (-0.35, 1.45, 0.35)
    calls = 0
    while calls == 0 or np.linalg.norm(rig.state.transform("hand_r").translation - target) > 1e-4:
        rig.drag("hand_r", target)
        calls += 1
        assert calls < 20
    assert rig.solution is not None
    assert rig.solution.errors["hand_r"][0] < 1e-4


def test_a_dragged_transform_is_held_with_its_rotation() -> None:
    rig = make_pinned_rig()
    T = rig.state.transform("hand_l").matrix
    T[:3, 3] += (0.05, 0.2, 0.2)
    T[:3, :3] = T[:3, :3] @ poise.Rotation.from_vector((0.2, 0.1, -0.3)).matrix
    for _ in range(20):
        rig.drag("hand_l", T)
    assert np.abs(rig.state.transform("hand_l").matrix - T).max() < 1e-4


def test_the_dragged_handle_is_served_before_other_reaches() -> None:
    rig = make_pinned_rig()
    apart = np.add(rig.state.transform("hand_l").translation, (0.9, 0.3, 0.0))
    rig.reach("hand_l", apart)  # out of reach together with the other
    target = np.add(rig.state.transform("hand_r").translation, (-0.6, 0.4, 0.2))
    for _ in range(30):
        rig.drag("hand_r", target)
    with_reach = float(np.linalg.norm(rig.state.transform("hand_r").translation - target))
    alone = make_pinned_rig()
    for _ in range(30):
        alone.drag("hand_r", target)
    assert with_reach < np.linalg.norm(alone.state.transform("hand_r").translation - target) + 1e-3
    assert np.linalg.norm(rig.state.transform("hand_l").translation - apart) > 1e-2


@pytest.mark.parametrize("down", [0.02, 0.03, 0.05, 0.06])
def test_the_pelvis_goes_down_between_pinned_feet_and_comes_back(down: float) -> None:
    rig = make_pinned_rig()
    feet = rig.state.transform("foot_l").matrix
    low = np.subtract(rig.state.transform("pelvis").translation, (0.0, down, 0.0))
    for _ in range(20):
        rig.drag("pelvis", low)
    assert np.allclose(rig.state.transform("pelvis").translation, low, atol=1e-4)
    assert np.abs(rig.state.transform("foot_l").matrix - feet).max() < 1e-6
    rig.release("pelvis")
    rig.settle()
    assert np.abs(rig.model.difference(rig.q, rig.model.rest)).max() < 1e-4


def test_a_dragged_pin_is_pinned_where_it_came_to() -> None:
    rig = make_pinned_rig()
    target = np.add(rig.state.transform("foot_r").translation, (-0.1, 0.15, 0.2))
    for _ in range(20):
        rig.drag("foot_r", target)
    assert "foot_r" in rig.state.pinned
    there = rig.state.transform("foot_r").matrix
    assert np.allclose(there[:3, 3], target, atol=1e-4)
    for _ in range(5):
        rig.drag("hand_l", np.add(rig.state.transform("hand_l").translation, (0.0, 0.05, 0.0)))
    assert np.abs(rig.state.transform("foot_r").matrix - there).max() < 1e-6


def test_a_dragged_handle_stays_until_it_is_released() -> None:
    rig = make_pinned_rig()
    target = np.add(rig.state.transform("hand_r").translation, (0.0, 0.3, 0.2))
    for _ in range(15):
        rig.drag("hand_r", target)
    for _ in range(5):
        rig.update()
    assert np.allclose(rig.state.transform("hand_r").translation, target, atol=1e-4)
    rig.release("hand_r")
    assert rig.state.target("hand_r") is None
    rig.settle()
    assert np.linalg.norm(rig.state.transform("hand_r").translation - target) > 0.1


# ------------------------------------------------------------------------------------------ aims, balance, strengths


def test_the_head_looks_and_the_hand_points() -> None:
    rig = make_pinned_rig()
    rig.look_at("head", (1.0, 1.2, 1.5))
    rig.look_at("hand_l", (1.0, 1.0, 1.5), "bone")
    rig.settle()
    eyes = rig.model.fk(rig.q, "eyes")
    to = np.array((1.0, 1.2, 1.5)) - eyes[:3, 3]
    assert eyes[:3, 2] @ to / np.linalg.norm(to) > 1 - 1e-6
    hand = rig.state.transform("hand_l").matrix
    to = np.array((1.0, 1.0, 1.5)) - hand[:3, 3]
    assert -hand[:3, 1] @ to / np.linalg.norm(to) > 1 - 1e-6


def test_balance_is_over_the_pinned_feet_and_can_be_disabled() -> None:
    target = (-0.3, 0.7, 0.75)
    errors = {}
    for balance in ("auto", None, ["foot_l", "foot_r"], Balance(["foot_l", "foot_r"], margin=0.02)):
        rig = poise.Rig(poise.load("humanoid"), balance=balance)
        rig.pin("foot_l")
        rig.pin("foot_r")
        for _ in range(25):
            rig.drag("hand_r", target)
        assert rig.solution is not None
        errors[str(balance)[:4]] = rig.solution.errors.get("balance")
    assert errors.pop("None") is None
    assert all(error is not None and error[0] < 1e-3 for error in errors.values())


def test_strength_is_continuous_from_free_to_full() -> None:
    rig = make_pinned_rig()
    start = rig.state.transform("hand_r").translation
    target = np.add(start, (-0.1, 0.3, 0.3))
    rig.reach("hand_r", target)
    ways = []
    for strength in (0.0, 0.25, 0.5, 0.75, 1.0):
        rig.strength("hand_r", strength)
        rig.settle()
        ways.append(np.linalg.norm(rig.state.transform("hand_r").translation - start) / np.linalg.norm(target - start))
    assert np.allclose(ways, (0.0, 0.25, 0.5, 0.75, 1.0), atol=0.05)


def test_the_rest_pose_is_the_start_by_default() -> None:
    model = poise.load("humanoid")
    bent = poise.Pose(model).replace({"elbow_l": -1.0, "knee_r": 0.8})
    rig = poise.Rig(model, bent)
    rig.settle()
    assert np.abs(model.difference(rig.q, bent.q)).max() < 1e-6
    rig = poise.Rig(model, bent, rest=Rest())
    rig.settle()
    assert np.abs(model.difference(rig.q, model.rest)).max() < 1e-5
    rig = poise.Rig(model, bent, rest=False)
    rig.settle()
    assert np.abs(model.difference(rig.q, bent.q)).max() < 1e-9


# ------------------------------------------------------------------------------------------ frozen joints


def test_frozen_joints_do_not_change_by_one_bit() -> None:
    rig = make_pinned_rig()
    frozen = ("spine_1", "elbow_r", "pelvis")
    rig.freeze(*frozen)
    at = np.concatenate([np.arange(rig.model.nq)[rig.model.joint(name).q] for name in frozen])
    before = rig.q[at]
    for i in range(40):
        rig.drag("hand_r", (-0.4, 1.0 + 0.01 * i, 0.3))
        assert (rig.q[at] == before).all()
    assert set(rig.state.frozen) == set(frozen)
    rig.unfreeze("elbow_r")
    rig.drag("hand_r", (-0.4, 1.3, 0.3))
    assert rig.state.frozen == ("pelvis", "spine_1")
    assert (rig.q[at] == before).mean() < 1
    rig.unfreeze()
    assert not rig.state.frozen


# ------------------------------------------------------------------------------------------ undo


def test_undo_restores_bits_and_redo_too() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    poses, pins = [rig.q], [rig.state.pinned]

    def remember() -> None:
        poses.append(rig.q)
        pins.append(rig.state.pinned)

    rig.pin("foot_l")
    remember()
    for i in range(10):
        rig.drag("hand_r", (-0.3, 1.0 + 0.02 * i, 0.3))
    remember()
    rig.pin("hand_r")
    remember()
    for i in range(10):
        rig.look_at("head", (0.3, 1.0, 1.0 + i))
        rig.drag("hand_l", (0.3, 1.0 + 0.02 * i, 0.3))
    remember()
    assert rig.history.undo()  # the drag; the gaze began before it
    assert rig.history.undo()
    for k in (3, 2, 1, 0):
        assert (rig.q == poses[k]).all()
        assert rig.state.pinned == pins[k]
        assert rig.history.undo() == (k > 0)
    while rig.history.redo():
        pass
    assert (rig.q == poses[-1]).all()
    assert rig.state.pinned == pins[-1]
    rig.history.commit()
    rig.drag("hand_l", (0.3, 1.3, 0.3))
    assert rig.history.undo()
    assert (rig.q == poses[-1]).all()
    assert rig.history.redo()
    rig.history.undo()
    rig.pin("foot_r")
    assert not rig.history.redo(), "a new change forgets what was undone"


def test_reset_goes_to_the_beginning_and_can_be_undone() -> None:
    rig = make_pinned_rig()
    rig.drag("hand_r", (-0.3, 1.3, 0.3))
    q = rig.q
    rig.history.reset()
    assert (rig.q == rig.model.rest).all()
    assert rig.state.held == ()
    rig.history.undo()
    assert (rig.q == q).all()
    assert rig.state.pinned == ("foot_l", "foot_r")


def test_a_pose_that_is_set_is_pinned_there() -> None:
    rig = make_pinned_rig()
    model = rig.model
    bent = rig.pose.replace({"knee_l": 1.0})
    rig.pose = bent
    assert (rig.q == bent.q).all()
    foot = bent.transform("foot_l").matrix
    rig.update()
    assert np.abs(rig.state.transform("foot_l").matrix - foot).max() < 1e-6
    with pytest.raises(ModelMismatch):
        rig.pose = poise.Pose(poise.load("panda"))
    assert rig.history.undo()
    assert (rig.q == model.rest).all()


def test_the_same_calls_give_the_same_bits_whatever_was_done_and_undone() -> None:
    plain, wild = make_pinned_rig(), make_pinned_rig()
    for i in range(20):
        wild.drag("hand_l", (0.5, 1.0 + 0.03 * i, 0.2))
    wild.history.undo()
    for i in range(20):
        target = (-0.3, 1.0 + 0.02 * i, 0.3)
        assert (plain.drag("hand_r", target).q == wild.drag("hand_r", target).q).all()


# ------------------------------------------------------------------------------------------ misuse


def test_misuse_is_rejected_by_name() -> None:
    rig = make_pinned_rig()
    with pytest.raises(NameNotFound, match="no handle is called 'hand_x'"):
        rig.drag("hand_x", (0, 0, 0))
    with pytest.raises(NameNotFound, match="joint"):
        rig.freeze("elbows")
    with pytest.raises(NameNotFound, match="limb"):
        rig.blend("tail", 0.5)
    for bad in (-0.1, 1.1, True, np.nan, "all"):
        with pytest.raises(InvalidValue, match="strength"):
            rig.strength("hand_r", bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidValue, match="ik"):
            rig.blend("arm_r", bad)  # type: ignore[arg-type]
    for bad in (0.0, -1.0, np.inf, "heavy"):
        with pytest.raises(InvalidValue, match="weight"):
            rig.reach("hand_r", (0, 1, 0), weight=bad)  # type: ignore[arg-type]
    with pytest.raises(poise.PoiseError):
        rig.drag("hand_r", (np.nan, 0, 0))
    with pytest.raises(poise.PoiseError):
        rig.drag("hand_r", np.full(3, np.inf))
    with pytest.raises(InvalidValue, match="name of its own"):
        rig.handles.add("hand_r", "hand_r")
    with pytest.raises(NameNotFound, match="kind of handle"):
        rig.handles.add("thumb", "thumb_r", "finger")
    with pytest.raises(ModelMismatch):
        poise.Rig("humanoid")  # type: ignore[arg-type]
    assert rig.state.pinned == ("foot_l", "foot_r")


def test_a_handle_can_be_added_and_dragged() -> None:
    rig = make_pinned_rig()
    assert rig.handles.add("fingertip_r", "fingertip_r") is rig.handles["fingertip_r"]
    target = np.add(rig.state.transform("fingertip_r").translation, (0.0, 0.2, 0.2))
    for _ in range(10):
        rig.drag("fingertip_r", target)
    assert np.allclose(rig.state.transform("fingertip_r").translation, target, atol=1e-4)


def test_solvers_are_prepared_once_for_a_set_of_wishes() -> None:
    rig = make_pinned_rig()
    for i in range(10):
        rig.drag("hand_r", (-0.3, 1.0 + 0.01 * i, 0.3))
    for i in range(10):
        rig.drag("hand_r", (-0.3, 1.1 - 0.01 * i, 0.3))
        rig.update()
    assert len(rig._frames.problems._solvers) == 2
