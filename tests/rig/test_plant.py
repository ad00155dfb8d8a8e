"""Planted feet: the ball stays exactly, the heel may rise and never sinks; what a body does over them."""

import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import poise
import walkers
from pinned_rigs import make_pinned_rig
from poise.arrays import Floats
from poise.kinematics.parts import find_place

BODIES = {
    "humanoid": lambda: poise.load("humanoid"),
    "quadruped": lambda: poise.load("quadruped"),
    "machine": walkers.make_machine,
    "scrambled": lambda: walkers.make_machine(scrambled=True),
    "balls": walkers.make_character,
    "euler": lambda: walkers.make_character("euler", bend=0.1),
    "centimetres": lambda: walkers.make_character("euler", scale=100.0),
    "toeless": lambda: walkers.make_character(toes=False),
}
BENT = {
    "machine": lambda: walkers.make_machine(bend=0.2),
    "scrambled": lambda: walkers.make_machine(scrambled=True, bend=0.2),
}
PEOPLE = [name for name in BODIES if name != "quadruped"]
EXACT = 3e-6  # of a metre: what is asked for to 1e-6 may be off by a little more on another processor


def make_rig(name: str, *, bent: bool = False) -> poise.Rig:
    """A body on its planted feet; with bent knees, if asked for and its ankles end early."""
    rig = poise.Rig((BENT.get(name, BODIES[name]) if bent else BODIES[name])())
    assert len(rig.plant()) == (4 if name == "quadruped" else 2)
    return rig


def find_unit(rig: poise.Rig) -> float:
    """How many units of length a metre is."""
    return 100.0 if rig.model.length > 50.0 else 1.0


def find_body(rig: poise.Rig) -> str:
    """The handle of the pelvis."""
    return next(handle.name for handle in rig.handles.values() if handle.kind == "body")


def find_ahead(rig: poise.Rig, foot: str, q: Floats) -> Floats:
    """Where a foot points to."""
    ahead: Floats = np.cross(rig.handles.feet[foot].find_side(q), rig.model.up_direction)
    return ahead


class Watch:
    """Holds planted feet to their law, frame by frame."""

    def __init__(self, rig: poise.Rig) -> None:
        self.rig, self.unit, self.frames = rig, find_unit(rig), 0
        self.feet = list(rig.state.planted)
        self.before = rig.q
        self.steps: list[float] = []
        self.low = {name: rig.handles.feet[name].find_ground(rig.q) for name in rig.handles.feet.names}
        self.balls = {name: rig.handles.feet[name].find_ball(rig.q) for name in self.feet}
        self.sides = {
            name: rig.handles.feet[name].find_side(rig.q) for name in self.feet if rig.handles.feet[name].side
        }

    def look(self, besides: str = "") -> None:
        """Check the frame that was made last; a foot that is dragged may go anywhere above the floor."""
        rig, q = self.rig, self.rig.q
        self.frames += 1
        step = rig.model.difference(self.before, q)
        self.steps.append(float(np.abs(np.where(rig.model.slides, step / rig.model.length, step)).max()))
        self.before = q
        floor = rig._frames.problems.floor
        assert floor is not None
        for name in rig.handles.feet.names:
            ground = self.low[name] if name in self.feet and name != besides else floor
            assert rig.handles.feet[name].find_ground(q) >= ground - EXACT * self.unit
            if name in self.feet and name != besides:
                moved = np.abs(rig.handles.feet[name].find_ball(q) - self.balls[name])
                assert moved[..., -1].max() < EXACT * self.unit
                assert moved.max() < EXACT * self.unit
                if name in self.sides:
                    assert np.abs(rig.handles.feet[name].find_side(q) - self.sides[name]).max() < EXACT


def follow(rig: poise.Rig, handle: str, ways: Floats) -> Iterator[Floats]:
    """Drag a handle along ways from where it is [m], yielding each."""
    start, unit = rig.state.transform(handle).translation, find_unit(rig)
    for way in ways:
        rig.drag(handle, start + unit * way)
        yield way


def lower(rig: poise.Rig, depth: float, frames: int = 60) -> Floats:
    """The ways of a handle that goes down by a depth."""
    out: Floats = np.linspace(0.0, -depth, frames)[:, None] * rig.model.up_direction
    return out


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 9, 20])
@pytest.mark.parametrize("name", BODIES)
def test_planted_feet_stay_while_anything_is_dragged_anywhere(name: str, seed: int) -> None:
    rig = make_rig(name)
    rng = np.random.default_rng(seed)
    handles = [h.name for h in rig.handles.values() if not h.stands and h.kind != "pole"]
    for handle in handles[:4]:
        watch = Watch(rig)
        turn, phase = rng.normal(size=(2, 3)), np.linspace(0.0, 4.0, 50)[:, None]
        for _ in follow(rig, handle, 0.25 * (np.sin(phase * turn[0]) + 0.5 * np.sin(2.0 * phase * turn[1]))):
            watch.look()
        rig.release(handle)
    assert watch.frames == 50


@pytest.mark.slow
@pytest.mark.parametrize("frames", [25, 80, 300])
@pytest.mark.parametrize("name", PEOPLE)
def test_a_pelvis_that_is_pulled_down_is_a_squat_with_the_knees_ahead(name: str, frames: int) -> None:
    rig, depth = make_rig(name), 0.35 if name in BENT else 0.4  # there its hips end
    watch, body, unit = Watch(rig), find_body(rig), find_unit(rig)
    legs = [limb for limb in rig.handles.limbs.values() if rig.handles[limb.handle].stands]
    assert len(legs) == 2
    before = np.zeros(2)
    upright = rig.state.transform(body).rotation.matrix
    for frame, way in enumerate(follow(rig, body, lower(rig, depth, frames))):
        watch.look()
        down = -float(way @ rig.model.up_direction)
        solution = rig.solution
        assert solution is not None
        most = 0.03 if frame < 10 else 2e-3  # a straight leg bends by 0.2 rad in a frame, and lags behind at first
        assert solution.errors[body][0] < most * unit
        knees = np.array([measure_knee(rig, limb.name) for limb in legs]) / unit
        if frame > 2:
            assert (knees > before - 2e-3).all()  # they go ahead, and never back
            assert abs(knees[0] - knees[1]) < 0.02
        if down > 0.09:
            assert (knees > 0.1).all()
        before = knees
        turned = rig.state.transform(body).rotation.matrix @ upright.T
        assert np.degrees(np.arccos((np.trace(turned) - 1.0) / 2.0)) < 75.0
    assert (before > 0.2).all()


def measure_knee(rig: poise.Rig, limb: str) -> float:
    """How far a knee is ahead of the line from hip to ankle."""
    leg = rig.handles.limbs[limb]
    hip, knee, ankle = (rig.model.fk(rig.q, str(frame))[:3, 3] for frame in (leg.root, leg.middle, leg.end))
    return float((knee - 0.5 * (hip + ankle)) @ find_ahead(rig, leg.handle, rig.q))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["humanoid", "machine", "scrambled"])
def test_a_squat_is_balanced_over_what_is_on_the_ground(name: str) -> None:
    rig = make_rig(name)
    body, up = find_body(rig), rig.model.up_direction
    floor = min(rig.handles.feet[foot].find_ground(rig.q) for foot in rig.state.planted)
    for depth in (0.1, 0.2, 0.3, 0.4) if name == "humanoid" else (0.1, 0.2, 0.3):  # deeper, it cannot
        for _ in follow(rig, body, np.concatenate([lower(rig, 0.1), np.repeat(lower(rig, 0.1, 2)[1:], 15, axis=0)])):
            pass
        points = [
            find_place(rig.model, point, rig.q) for foot in rig.state.planted for point in rig.handles.feet[foot].sole
        ]
        ground = [point for point in points if point @ up < floor + 0.05]  # what is lifted higher carries nothing
        ahead = find_ahead(rig, rig.state.planted[0], rig.q)
        center = float(rig.model.center_of_mass(rig.q) @ ahead)
        along = [float(point @ ahead) for point in ground]
        assert min(along) - 2e-3 < center < max(along) + 2e-3, depth


@pytest.mark.slow
def test_heels_stay_down_until_the_ankle_ends_and_come_down_again() -> None:
    rig = make_rig("humanoid")
    body, heel = "pelvis", []
    depths = np.concatenate([np.linspace(0.0, 0.3, 60), np.linspace(0.3, 0.0, 60), np.zeros(60)])
    for _ in follow(rig, body, -depths[:, None] * rig.model.up_direction):
        heel.append(rig.pose.position("heel_l")[1])
    assert max(heel[:8]) < 2e-3
    assert 0.05 < max(heel) < 0.12
    assert heel[-1] < 2e-3


@pytest.mark.parametrize("name", PEOPLE)
def test_a_foot_dragged_aside_turns_the_hip_and_not_the_body(name: str) -> None:
    rig = make_rig(name, bent=True)
    watch, body, foot = Watch(rig), find_body(rig), rig.state.planted[0]
    before = rig.state.transform(body).rotation.matrix
    side = rig.handles.feet[foot].find_side(rig.q)
    out = np.sign(float(side @ (rig.state.transform(foot).translation - rig.state.transform(body).translation)))
    for _ in follow(rig, foot, np.linspace(0.0, 0.3, 60)[:, None] * side * out):
        watch.look(besides=foot)
    turned = rig.state.transform(body).rotation.matrix @ before.T
    assert np.degrees(np.arccos(min(1.0, (np.trace(turned) - 1.0) / 2.0))) < 10.0
    assert rig.solution is not None
    assert rig.solution.errors[foot][0] < 1e-3 * find_unit(rig)
    assert len(rig.state.planted) == 2  # both are planted still
    ahead = np.cross(side, rig.model.up_direction)
    assert find_ahead(rig, foot, rig.q) @ ahead > np.cos(np.radians(30.0))  # it may turn out where the ankle ends


@pytest.mark.parametrize("name", PEOPLE)
def test_feet_do_not_go_below_the_floor(name: str) -> None:
    for planted in (True, False):
        rig = make_rig(name)
        foot = rig.state.planted[0]
        if not planted:
            rig.release()
        watch = Watch(rig)
        for _ in follow(rig, foot, lower(rig, 0.3, 40)):
            watch.look(besides=foot)
        assert watch.frames == 40


@pytest.mark.slow
def test_the_floor_may_be_elsewhere_or_nowhere() -> None:
    model = poise.load("humanoid")
    for floor, lowest in ((-0.2, -0.2), (None, -0.3), (False, -0.3), ("auto", 0.0)):
        rig = poise.Rig(model, floor=floor)
        rig.plant("foot_r")
        start = rig.pose.position("foot_l")
        for depth in np.linspace(0.0, 0.3, 40):
            rig.drag("foot_l", start - [0.0, depth, 0.0])
        low = min(rig.pose.position(name)[1] for name in ("heel_l", "ball_l", "toe_l", "foot_l"))
        assert lowest - 0.05 < low < lowest + 1e-6
        assert low > lowest - 1e-6 or floor in (None, False)
    with pytest.raises(poise.errors.InvalidValue, match="floor"):
        poise.Rig(model, floor="deep")


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_drags_over_planted_feet_neither_jump_nor_turn_back(name: str) -> None:
    """No frame moves a joint much farther than its neighbours do, once it is under way."""
    rig = make_rig(name)
    watch, body = Watch(rig), find_body(rig)
    depths = (0.07 if name == "quadruped" else 0.15) * (1.0 - np.cos(np.linspace(0.0, np.pi, 160)))
    for _ in follow(rig, body, -depths[:, None] * rig.model.up_direction):
        watch.look()
    assert max(watch.steps) <= 0.2 + 1e-9
    later = np.array(watch.steps[20:])  # a straight leg bends fast at first: its knee goes as the root of the depth
    assert later.max() < 0.1
    mean = np.convolve(later, np.ones(9) / 9.0, mode="same")
    assert (later < 4.0 * mean + 0.01).all()


@pytest.mark.slow
def test_planted_feet_are_undone_copied_pickled_and_set_with_a_pose() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant("foot_l")
    assert list(rig.state.planted) == ["foot_l"]
    assert rig.history.undo()
    assert not rig.state.planted
    assert rig.history.redo()
    assert rig.plant() == ("foot_r",)
    assert list(rig.state.planted) == ["foot_l", "foot_r"]
    for ways in (lower(rig, 0.2), lower(rig, 0.05)):
        for _ in follow(rig, "pelvis", ways):
            pass
        rig.history.commit()
    twins = [copy.copy(rig), pickle.loads(pickle.dumps(rig))]
    target = rig.pose.position("pelvis") + np.array([0.0, 0.1, 0.0])
    after = rig.drag("pelvis", target).q
    for twin in twins:
        assert twin.state.planted == rig.state.planted
        assert (twin.drag("pelvis", target).q == after).all()
    before = rig.q
    rig.history.commit()
    rig.drag("foot_l", rig.pose.position("foot_l") + np.array([0.05, 0.1, 0.0]))
    assert rig.history.undo()
    assert (rig.q == before).all()
    rig.pose = rig.model.rest
    assert list(rig.state.planted) == ["foot_l", "foot_r"]
    watch = Watch(rig)
    for _ in follow(rig, "hand_r", lower(rig, 0.2)):
        watch.look()


def test_a_foot_is_named_by_its_handle_or_by_its_frames() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    for frame in ("foot_l", "heel_l", "toe_l", "ankle_l", "ball_l"):
        rig.plant(frame)
        assert list(rig.state.planted) == ["foot_l"]
        rig.release()
    with pytest.raises(poise.errors.NameNotFound, match="elbow"):
        rig.plant("elbow")


def test_the_mirror_image_of_planted_feet_is_planted() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant("foot_l")
    for _ in follow(rig, "pelvis", np.linspace(0.0, 1.0, 30)[:, None] * np.array([0.05, -0.15, 0.02])):
        pass
    rig.mirror()
    assert list(rig.state.planted) == ["foot_r"]
    watch = Watch(rig)
    rig.release("pelvis")
    rig.update()
    watch.look()
    assert max(watch.steps) < 0.2


@pytest.mark.slow
def test_a_blend_of_a_planted_leg_goes_from_its_angles_to_its_foot_without_a_jump() -> None:
    rig = make_rig("humanoid")
    rig.blend("leg_l", 0.0)
    for _ in follow(rig, "pelvis", lower(rig, 0.15, 40)):
        pass
    watch = Watch(rig)
    for share in np.linspace(0.0, 1.0, 60):
        rig.blend("leg_l", share)
        rig.update()
        watch.steps.append(float(np.abs(rig.model.difference(watch.before, rig.q)).max()))
        watch.before = rig.q
    rig.settle()
    assert max(watch.steps) < 0.2
    assert rig.solution is not None
    assert rig.solution.errors["foot_l"][0] < EXACT
    rig.strength("foot_l", 0.5)
    rig.settle()
    assert list(rig.state.planted) == ["foot_l", "foot_r"]


def test_a_foot_may_be_planted_on_a_step() -> None:
    rig = make_rig("humanoid")
    for _ in follow(rig, "foot_l", np.linspace(0.0, 1.0, 50)[:, None] * np.array([0.0, 0.2, 0.2])):
        pass
    assert list(rig.state.planted) == ["foot_l", "foot_r"]
    watch = Watch(rig)
    assert watch.low["foot_l"] > 0.1
    for _ in follow(rig, "pelvis", lower(rig, 0.2)):
        watch.look()


def test_a_pin_stays_exact_in_six() -> None:
    rig = make_pinned_rig("foot_l")
    rig.plant("foot_r")
    before = rig.state.transform("foot_l").matrix
    for _ in follow(rig, "pelvis", lower(rig, 0.3)):
        assert np.abs(rig.state.transform("foot_l").matrix - before).max() < EXACT
