"""Limits over a whole clip: exact in what comes back, from `track`, `lock` and `edit`."""

import numpy as np
import pytest

import poise
from bodies import random_model
from limit_oracle import check_rates, start_at_ends
from poise import Motion
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Closed, Cone, Coupled, Speed, Sphere
from poise.limits.capsules import body_capsules, capsule_distances
from poise.limits.pairs import choose_pairs
from poise.motion import Contacts, contacts, edit, lock, quality, track
from poise.motion.clips import lock as lock_file
from poise.motion.clips import lock_options, whole_clip
from walks import make_walk, put_skate_in

TCP = "panda_hand_tcp"
FPS = 30.0


@pytest.fixture(scope="module")
def arm():
    return poise.load("panda")


@pytest.fixture(scope="module")
def circle(arm):
    path = np.tile(arm.fk(arm.rest, TCP), (90, 1, 1))
    angle = np.linspace(0.0, 2.0 * np.pi, 90)
    path[:, :3, 3] += 0.15 * np.stack([np.cos(angle) - 1.0, np.sin(angle), 0.0 * angle], axis=1)
    return path


@pytest.fixture(scope="module")
def leap(circle):
    """A path with a jump in it that no arm can follow."""
    path = circle.copy()
    path[45:, :3, 3] += (0.0, 0.15, 0.1)
    return path


def measure_rates(clip):
    """The largest speed and acceleration of each velocity."""
    speed = clip.model.difference(clip.q[:-1], clip.q[1:]) * clip.fps
    return np.abs(speed).max(axis=0), np.abs(np.diff(speed, axis=0)).max(axis=0) * clip.fps


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize(
    "rules", [[Speed(0.3)], [Speed(1.0)], [Acceleration(5.0)], [Speed(0.8), Acceleration(6.0)]], ids=str
)
def test_speeds_and_accelerations_are_exact_for_any_target(arm, circle, leap, rules, mode):
    most = {type(rule): rule.max for rule in rules}
    for path in (circle, leap):
        out = track(arm, Reach(TCP, path), fps=FPS, limits=rules, mode=mode)
        speed, acceleration = measure_rates(out.motion)
        assert speed.max() <= most.get(Speed, np.inf) * (1.0 + 1e-12)
        assert acceleration.max() <= most.get(Acceleration, np.inf) * (1.0 + 1e-9)
        assert out.quality.limits_max == 0.0


def make_line(model, frame, q, way, frames):
    """A straight path of transforms from where a frame is in a pose."""
    path = np.tile(model.fk(q, frame), (frames, 1, 1))
    path[:, :3, 3] += np.linspace(0.0, 1.0, frames)[:, None] * np.asarray(way)
    return path


LINES = {  # frames a second, acceleration, speed, metres
    "gentle": (100.0, 3.0, np.inf, 0.4),
    "coarse": (30.0, 3.0, 1.0, 0.4),
    "fine": (1000.0, 20.0, 2.0, 0.2),
    "far": (60.0, 5.0, np.inf, 5.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LINES)
@pytest.mark.parametrize("seed", [0, 4, 6, 7, 20])
@pytest.mark.parametrize("body", ["ur5e", "panda", "random"])
def test_joints_brake_before_their_ranges_end(body, seed, case):
    fps, acceleration, speed, metres = LINES[case]
    model = random_model(seed, joints=6) if body == "random" else poise.load(body)
    rng = np.random.default_rng(seed)
    q = start_at_ends(model, rng) if seed % 2 else model.random(rng)
    way = rng.normal(size=3)
    path = make_line(model, model.frames[-1], q, metres * way / np.linalg.norm(way), 30)
    rules = [Acceleration(acceleration), Speed(speed)]
    out = track(model, Reach(model.frames[-1], path), fps=fps, start=q, limits=rules)
    check_rates(model, out.motion.q, 1.0 / fps, speed, acceleration, at_rest=False)
    assert not out.broken.any()
    off = np.linalg.norm(path[:, :3, 3] - path[0, :3, 3], axis=1)
    assert (out.errors[model.frames[-1]] ** 2).sum() <= (off**2).sum() * (1.0 + 1e-9)  # that of standing still


@pytest.mark.slow
def test_a_limit_that_holds_nothing_back_changes_nothing_to_speak_of(arm, circle):
    free = track(arm, Reach(TCP, circle), fps=FPS)
    bounded = track(arm, Reach(TCP, circle), fps=FPS, limits=[Speed(50.0), Acceleration(5e3)])
    assert np.abs(bounded.motion.q - free.motion.q).max() < 1e-6
    assert bounded.reached.all()


@pytest.mark.slow
def test_frames_away_from_a_jump_are_reached_and_why_names_what_holds(arm, leap):
    out = track(arm, Reach(TCP, leap), fps=FPS, limits=Speed(1.0))
    assert out.reached[:30].all()
    assert out.reached[60:].all()
    assert not out.reached[44:46].all()
    assert "as fast as it may be" in out.why()


@pytest.mark.slow
def test_single_joints_may_be_bounded(arm, leap):
    out = track(arm, Reach(TCP, leap), fps=FPS, limits=[Speed({"panda_joint2": 0.2, "panda_joint4": 0.4})])
    speed, _ = measure_rates(out.motion)
    assert speed[1] <= 0.2 * (1.0 + 1e-12)
    assert speed[3] <= 0.4 * (1.0 + 1e-12)
    assert speed[[0, 2, 4, 5, 6]].max() > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_the_body_keeps_clear_of_the_world_in_every_frame(arm, circle, mode):
    ball = Sphere(circle[30, :3, 3] + (0.05, 0.0, 0.0), 0.05)
    for more in ([], [Speed(1.0)]):
        out = track(arm, Reach(TCP, circle), fps=FPS, limits=[Clearance(pairs=[], world=[ball]), *more], mode=mode)
        for q in out.motion.q:
            assert clear_of(arm, q, ball) > -1e-12
        assert out.reached[45:].all()
        assert not out.reached[28:31].any()
        assert not more or measure_rates(out.motion)[0].max() <= 1.0 + 1e-12


def clear_of(model, q, ball):
    """The gap between the capsules of a body and a ball, by forward kinematics alone."""
    gaps = []
    for capsule in body_capsules(model):
        T = model.fk(q, capsule.frame)
        a, b = (T[:3, :3] @ np.array(end) + T[:3, 3] for end in (capsule.a, capsule.b))
        along = b - a
        share = np.clip((np.array(ball.center) - a) @ along / max(along @ along, 1e-30), 0.0, 1.0)
        gaps.append(np.linalg.norm(a + share * along - np.array(ball.center)) - capsule.radius - ball.radius)
    return min(gaps[1:])  # the first is the base, which does not move


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(-0.1, 0.1), (0.05, 0.05)])
def test_coupled_joints_keep_their_sum(arm, circle, ends):
    out = track(arm, Reach(TCP, circle), fps=FPS, limits=Coupled({"panda_joint1": 1.0, "panda_joint3": 1.0}, *ends))
    total = out.motion.q[:, 0] + out.motion.q[:, 2]
    assert total.min() >= ends[0] - 1e-12
    assert total.max() <= ends[1] + 1e-12
    assert out.reached.all()


@pytest.mark.slow
def test_a_ball_joint_stays_in_its_cone():
    tree = poise.load("tree30")
    ball = next(joint for joint in tree.joints if joint.kind == "ball")
    frame = [name for name in tree.frames if ball.name in [j.name for j in tree.joints_above(name)]][-1]
    path = np.tile(tree.fk(tree.rest, frame)[:3, 3], (40, 1))
    path[:, 0] += 0.3 * tree.length * np.sin(np.linspace(0.0, np.pi, 40))
    out = track(tree, Reach(frame, path), fps=FPS, limits=Cone(ball.name, angle=0.1))
    turned = 2.0 * np.arccos(np.clip(np.abs(out.motion.q[:, ball.q.start]), 0.0, 1.0))
    assert turned.max() <= 0.1 + 1e-7
    assert turned.max() > 0.05


@pytest.mark.slow
def test_a_loop_stays_closed():
    model = poise.load("humanoid")
    seen_from = np.linalg.inv(model.fk(model.rest, "hand_r"))
    hands = Closed("hand_l", "hand_r", (seen_from @ model.fk(model.rest, "hand_l"))[:3, 3])
    path = np.tile(model.fk(model.rest, "hand_l")[:3, 3], (30, 1))
    path[:, 1] += np.linspace(0.0, 0.1, 30)
    out = track(model, Reach("hand_l", path), fps=FPS, limits=[hands])
    left, right = out.motion.positions("hand_l"), model.fk(out.motion.q, "hand_r")
    seen = np.einsum("tji,tj->ti", right[:, :3, :3], left - right[:, :3, 3])
    assert np.abs(seen - np.array(hands.transform)).max() < 1e-6


# ------------------------------------------------------------------------------------------------ lock and edit


@pytest.fixture(scope="module")
def skating():
    return put_skate_in(make_walk())[:60]


@pytest.mark.slow
@pytest.mark.parametrize("rules", [[Speed(3.0)], [Acceleration(60.0)], [Speed(1.0)]], ids=str)
def test_a_lock_keeps_speeds_exactly_and_lists_released_contacts(skating, rules):
    out = lock(skating, limits=rules)
    speed, acceleration = measure_rates(out.motion)
    most = {type(rule): rule.max for rule in rules}
    assert speed.max() <= most.get(Speed, np.inf) * (1.0 + 1e-12)
    assert acceleration.max() <= most.get(Acceleration, np.inf) * (1.0 + 1e-9)
    assert out.quality.limits_max == 0.0
    for contact in out.contacts:
        path = out.motion.positions(contact.frame, contact.point)[contact.start : contact.end]
        assert np.abs(np.diff(path, axis=0)).max(initial=0.0) < 1e-5
    assert bool(out.released) == ("released" in out.why())


def make_dog(frames):
    """A four-legged body that swings all its joints."""
    dog, phases = poise.load("quadruped"), np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 41)
    swing = np.where(np.arange(dog.nv) < 6, 0.02, 0.3) * np.sin(np.arange(frames)[:, None] / 4.8 + phases[: dog.nv])
    return Motion(dog, [dog.clamp(dog.integrate(dog.rest, each)) for each in swing], FPS)


@pytest.mark.parametrize("speed", [0.18, 1.0])
@pytest.mark.parametrize("body", ["dog", "person"])
def test_the_work_of_a_lock_is_bounded(body, speed, skating, monkeypatch):
    """Linear systems over all frames: at most 96 a call of the kernel, and nine calls where contacts are let go."""
    counts, solve = [], whole_clip.solve_whole

    def count(*args, **options):
        answer = solve(*args, **options)
        counts.append(answer.systems)
        return answer

    monkeypatch.setattr(lock_options, "solve_whole", count)
    out = lock(make_dog(20) if body == "dog" else skating[:30], limits=Speed(speed))
    assert measure_rates(out.motion)[0].max() <= speed * (1.0 + 1e-12)
    assert len(counts) <= lock_file.RELEASE_ROUNDS * lock_file.SHIFT_ROUNDS
    assert max(counts) <= (50 if body == "dog" else 96)  # those of the dog: 44, once more of its paws are held


@pytest.mark.slow
def test_a_clip_without_contacts_may_be_slowed_down(skating):
    out = lock(skating, Contacts((), len(skating), skating.fps), limits=Speed(2.0))
    assert measure_rates(out.motion)[0].max() <= 2.0 * (1.0 + 1e-12)


@pytest.mark.slow
def test_an_edit_keeps_speeds_where_it_changes(skating):
    slow = lock(skating, limits=Speed(3.0)).motion
    goal = Reach("hand_l", slow.positions("hand_l")[30] + (0.0, 0.3, 0.1))
    out = edit(slow, {30: goal}, spread=0.6, limits=Speed(3.0))
    assert measure_rates(out.motion)[0].max() <= 3.0 * (1.0 + 1e-12)
    away = np.abs(np.arange(len(slow)) - 30) > 18
    np.testing.assert_array_equal(out.motion.q[away], slow.q[away])


def list_arm(model):
    return [joint.name for joint in model.joints_above("hand_l") if joint.nv and joint.name.endswith("_l")]


@pytest.mark.slow
def test_hands_that_run_into_the_body_stay_out_of_it(skating):
    """A clip whose arm swings through the trunk is brought out of it, with feet that stay."""
    model = skating.model
    folded = poise.solve(model, [Reach("hand_l", model.fk(model.rest, "chest")[:3, 3])], joints=list_arm(model)).q
    share = np.sin(np.linspace(0.0, np.pi, len(skating)))[:, None]
    inside = Motion(model, model.integrate(skating.q, share * model.difference(model.rest, folded)), skating.fps)
    capsules = body_capsules(model)
    pairs = choose_pairs(model, capsules, 0.0)
    deepest = min(capsule_distances(model, capsules, pairs, q).min() for q in inside.q)
    assert deepest < -1e-3
    assert quality(inside).collision_max == pytest.approx(-1e3 * deepest, rel=1e-9)
    out = lock(inside, contacts(skating), limits=Clearance())
    assert min(capsule_distances(model, capsules, pairs, q).min() for q in out.motion.q) > -1e-9, out.why()
    assert out.quality.collision_max < 1e-6


@pytest.mark.slow
def test_quality_reports_speeds_and_missing_capsules():
    arm = poise.load("planar2")
    q = np.zeros((10, 2))
    q[5:, 1] = 1.0
    found = quality(Motion(arm, q, 30.0))
    assert found.speed_max == pytest.approx(30.0)
    assert found.speed_share == pytest.approx(0.1)
    assert "rad/s at most" in str(found)
    assert set(found.to_dict()) >= {"speed_max", "speed_share", "collision_max", "collision_share"}
