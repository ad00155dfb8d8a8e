"""A figure that is driven by four keys: feet that stand do not slide, ranges hold, and it comes to rest at home."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from walker import STEP, Walker

import poise
from poise.errors import InvalidValue
from poise.spatial import Rotation
from walkers import make_character, make_machine

DT = 1.0 / 30.0
BODIES = ("humanoid", "quadruped")


def find_feet(walker: Walker) -> np.ndarray:
    """Where the feet are, (feet, 3)."""
    return np.array([walker.model.fk(walker.q, foot)[:3, 3] for foot in walker.feet])


def drive(walker: Walker, seconds: float, ahead: float, turn: float) -> None:
    """Drive for a while, and hold every law of walking in every frame."""
    model, up = walker.model, walker.axes[:, 2]
    first = np.array([walker.home[foot][:3, 3] for foot in walker.feet])
    for _ in range(round(seconds / DT)):
        before, stood = find_feet(walker), [k for k in range(len(walker.feet)) if k not in walker.swinging]
        walker.step(DT, ahead, turn)
        after, aired = find_feet(walker), set(walker.swinging)
        still = [k for k in stood if k not in aired]
        assert np.abs(after[still] - before[still]).max(initial=0.0) < 1e-4 * walker.leg, "a foot that stands slides"
        assert ((after - first) @ up).min() > -1e-4 * walker.leg, "a foot is under the floor"
        assert len(aired) <= len(walker.feet) // 2
        assert model.clamp(walker.q) == pytest.approx(walker.q, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_it_walks_where_it_is_driven_and_stands_still_again(name: str) -> None:
    walker = Walker(poise.load(name))
    at = walker.model.fk(walker.q, walker.root)
    drive(walker, 1.5, 1.0, 0.0)
    went = (walker.model.fk(walker.q, walker.root) - at)[:3, 3] @ walker.axes
    assert went[0] > 1.0 * walker.leg
    assert abs(went[1]) < 0.05 * walker.leg
    drive(walker, 1.0, 0.0, 1.0)  # to the left, on the spot
    turned = Rotation.from_matrix(walker.model.fk(walker.q, walker.root)[:3, :3] @ at[:3, :3].T).log() @ walker.axes
    assert turned[2] == pytest.approx(walker.at[2], abs=0.05)
    assert walker.at[2] > 1.0
    drive(walker, 1.0, -1.0, -1.0)
    drive(walker, 2.5, 0.0, 0.0)
    assert not walker.swinging
    assert walker.settled
    q = walker.q.copy()
    drive(walker, 0.5, 0.0, 0.0)
    assert walker.model.difference(q, walker.q) == pytest.approx(0.0, abs=0.02)
    home = np.array([walker.place(walker.home[foot], walker.at, 0.0)[:3, 3] for foot in walker.feet])
    assert find_feet(walker) == pytest.approx(home, abs=0.05 * walker.leg)


def make_spider() -> poise.Model:
    """A body with eight legs of three hinges, whose feet are points."""
    builder = poise.ModelBuilder("spider")
    builder.up = "z"
    builder.add_joint("body", None, "free", offset=(0.0, 0.0, 0.12))
    for k in range(8):
        side = 1.0 if k % 2 else -1.0
        way = side * (0.5 * np.pi + 0.45 * (k // 2 - 1.5))
        out, across = np.array((np.cos(way), np.sin(way), 0.0)), (-np.sin(way), np.cos(way), 0.0)
        name = f"{'rl'[k % 2]}{k // 2}"
        parent = "body"
        steps = ((0.08, 0.0, (0.0, 0.0, 1.0)), (0.03, 0.0, across), (0.12, 0.06, across))
        for number, (far, high, axis) in enumerate(steps):
            own = f"hinge_{name}_{number}"
            place = (*(far * out[:2]), high)
            builder.add_joint(own, parent, "revolute", axis=axis, offset=place, lower=-1.5, upper=1.5)
            parent = own
        builder.add_frame(f"foot_{name}", parent, (*(0.08 * out[:2]), -0.18))
    return builder.build()


def record(walker: Walker, fps: float, seconds: float, ahead: float, turn: float = 0.0) -> np.ndarray:
    """Drive for a while; return the origins of the root and of every frame, (steps, 1 + frames, 3) [leg lengths]."""
    model, out = walker.model, []
    for _ in range(round(seconds * fps)):
        walker.step(1.0 / fps, ahead, turn)
        out.append([model.fk(walker.q, walker.root)[:3, 3], *model.fk(walker.q)[:, :3, 3]])
    return np.array(out) / walker.leg


def find_speeds(places: np.ndarray, fps: float) -> np.ndarray:
    """How fast frames move, (steps - 1, frames) [leg lengths per second]."""
    return np.asarray(np.linalg.norm(np.diff(places, axis=0), axis=2) * fps)


MOST_SPEED = (
    7.0  # leg lengths per second: 3 * STRIDE / STEP = 3.5 of a foot that walks straight, and as much for turning
)


@pytest.mark.slow
@pytest.mark.parametrize("fps", [30, 60, 120, 480])
def test_the_pelvis_and_every_joint_move_smoothly_at_every_frame_rate(fps: int) -> None:
    speeds = find_speeds(record(Walker(poise.load("humanoid")), fps, 1.75, 1.0), fps)
    pelvis = speeds[fps:, 0]
    assert pelvis.mean() == pytest.approx(0.357 / STEP, rel=0.05)
    assert pelvis.max() < 1.05 * pelvis.mean()
    assert speeds.max() < 0.6 * MOST_SPEED


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [lambda: poise.load("quadruped"), make_spider, make_machine, make_character, lambda: make_character(toes=False)],
    ids=["quadruped", "spider", "machine", "character", "no toes"],
)
def test_other_bodies_start_turn_reverse_and_stop_without_leaps(make: Callable[[], poise.Model]) -> None:
    walker, fps = Walker(make()), 60
    assert walker.full[0] > 0.2 * walker.leg, "a body that can walk takes steps"
    runs = [
        record(walker, fps, seconds, ahead, turn)
        for seconds, ahead, turn in ((1.2, 1.0, 0.0), (0.5, -1.0, 0.0), (0.7, 0.4, -0.5), (1.7, 0.0, 0.0))
    ]
    speeds = find_speeds(np.concatenate(runs), fps)
    assert speeds.max() < MOST_SPEED
    assert np.abs(speeds[1:] - speeds[:-1]).max() < 0.4 * MOST_SPEED
    assert speeds[-1].max() < 0.05
    assert walker.settled


@pytest.mark.slow
def test_feet_are_lifted_across_by_turns() -> None:
    assert Walker(poise.load("humanoid")).groups == ((0,), (1,))
    trot = Walker(poise.load("quadruped"))
    assert [{trot.feet[k] for k in group} for group in trot.groups] == [{"foot_fl", "foot_hr"}, {"foot_fr", "foot_hl"}]


@pytest.mark.slow
def test_what_has_no_feet_cannot_walk() -> None:
    with pytest.raises(InvalidValue, match="two feet"):
        Walker(poise.load("panda"))


# ------------------------------------------------------------------------------------------------ in the studio


@pytest.mark.slow
def test_four_keys_drive_the_body_in_the_studio() -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    from drive import Drive

    from poise.studio import Studio

    with Studio("humanoid", port=18065, shadows=False) as studio:
        drive, start = Drive(studio), studio.puppet.q.copy()
        drive.switch(True)
        assert studio.panel.keys.commands["in"].disabled
        drive.press("I")
        drive.press("J")
        assert drive.find_way() == (1.0, 1.0)  # who walks ahead and then turns, walks on
        drive.press("L")
        assert drive.find_way() == (1.0, -1.0)  # not both ways at once
        end = time.monotonic() + 30.0
        while (drive.walker is not None or drive.find_way() != (0, 0)) and time.monotonic() < end:
            time.sleep(0.02)
        assert drive.walker is None, "it comes to rest once no key is heard"
        assert np.linalg.norm(studio.model.difference(start, studio.puppet.q)[:3]) > 0.1
        drive.switch(False)
        assert not studio.panel.keys.commands["in"].disabled
        assert studio.undo()
        assert studio.puppet.q == pytest.approx(start)  # a walk is one change
        drive.switch(True)
        studio.show("panda")
        while drive.box.value and time.monotonic() < end:
            time.sleep(0.02)
        drive.switch(True)
        assert not drive.box.value, "an arm does not walk"
