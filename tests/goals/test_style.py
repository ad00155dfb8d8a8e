"""Style"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import null_space

import poise
from bodies import random_model
from poise.goals import MidRange, Reach, Rest, Style
from poise.goals.postures.pose_targets import PoseTargets
from poise.kinematics.charts import Chart
from poise.kinematics.samples import SampleLayout
from poise.limits import Speed
from poise.native import core

ASKED = ("hand_l", "hand_r", "foot_l", "foot_r", "head")


def ask(model, q):
    pelvis = Reach("pelvis", model.fk(q, "pelvis"))
    return [pelvis, *(Reach(frame, model.fk(q, frame)[:3, 3]) for frame in ASKED)]


@pytest.mark.parametrize("seed", range(8))
def test_coordinates_change_with_velocities_as_the_chart_says(seed):
    model = random_model(seed, joints=8)
    rng = np.random.default_rng(seed)
    layout = SampleLayout.read_model(model)
    at, q = (np.array(model.integrate(model.rest, 0.4 * rng.normal(size=model.nv))) for _ in range(2))
    chart = Chart.about(layout, at)
    assert chart.measure(q) == pytest.approx(layout.read(at[None]).measure(layout.read(q[None]))[0], abs=1e-12)
    assert chart.measure(at) == pytest.approx(0.0, abs=1e-12)
    h = 1e-6
    slopes = chart.differentiate(q)
    for v, step in enumerate(np.eye(model.nv)):
        ends = [chart.measure(np.array(model.integrate(q, s * h * step))) for s in (1.0, -1.0)]
        assert slopes[:, v] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)


def test_gradient_is_that_of_the_cost(walk, style):
    model = walk.model
    rng = np.random.default_rng(0)
    q = np.array(model.integrate(walk.q[7], 0.1 * rng.normal(size=model.nv)))
    focus = style.focus(model, PoseTargets.read([goal.rows(model) for goal in ask(model, walk.q[9])]), walk.q[9])
    slope, bend = focus.find_slope(model, q)
    h = 1e-5
    costs = [
        [focus.find_cost(model, np.array(model.integrate(q, s * h * e))) for s in (1, -1)] for e in np.eye(model.nv)
    ]
    numeric = (np.array(costs)[:, 0] - np.array(costs)[:, 1]) / (2 * h)
    assert slope == pytest.approx(numeric, abs=1e-5 * np.abs(numeric).max())
    assert np.linalg.eigvalsh(bend).min() >= -1e-6 * np.abs(bend).max()


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 3, 15, 60])
def test_nearest_frames_are_those_of_looking_at_all(dim):
    rng = np.random.default_rng(dim)
    for size in (1, 2, 5, 16, 17, 33, 400, 6001):
        walked, doubled = np.cumsum(rng.normal(size=(size, dim)), axis=0), np.round(rng.normal(size=(size, dim)))
        for points in (walked, doubled, np.zeros((size, dim))):
            tree = core.Points(points)
            for many in (1, 7, 60, size):
                place = points[rng.integers(size)] + rng.choice([0.0, 1.0, 100.0]) * rng.normal(size=dim)
                found, far = tree.find(place, many)
                every = np.linalg.norm(points - place, axis=1)
                assert len(set(found.tolist())) == min(many, size)
                assert far == pytest.approx(np.sort(every)[:many], rel=1e-12)
                assert every[found] == pytest.approx(far, rel=1e-12)


def test_of_points_as_far_the_first_given_counts():
    found, far = core.Points(np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1))).find(np.zeros(2), 30)
    assert found.tolist() == list(range(30))
    assert (far == 1.0).all()


def test_a_gaussian_of_frames_is_their_weighted_mean_and_covariance():
    rng = np.random.default_rng(0)
    x, least = rng.normal(size=(50, 7)), np.diag(np.linspace(0.1, 1.0, 7))
    for many in (1, 2, 5, 30):
        rows = rng.permutation(50)[:many]
        far = np.sort(rng.random(many))
        mean, spread = core.gaussian_of(x, rows, far, least, 0.9)
        weights = (1.0 - (far / far.max()) ** 2) ** 2 + 1e-9
        weights /= weights.sum()
        assert mean == pytest.approx(weights @ x[rows], abs=1e-12)
        away = x[rows] - mean
        assert spread == pytest.approx(0.9 * (away.T * weights) @ away + least, abs=1e-12)


def test_conditioning_is_newtons_step(walk, style):
    model, q = walk.model, walk.q[8]
    solver = poise.Solver(model, [*ask(model, walk.q[13]), style])
    driver = solver.problem
    driver._focus(q)
    step = driver._find_step(q)
    g, H = driver._rests[0].find_slope(model, q)
    J, _, velocities = driver.rows_jacobian(q)
    at = np.array(velocities)
    assert np.abs(J @ step[at]).max() < 1e-6
    loose = np.zeros(model.nv)
    loose[list(range(6))] = 1.0  # the root is held to where it is by a spread of 1
    B = (H + np.diag(loose))[np.ix_(at, at)]
    Z = null_space(J, 1e-9)
    by_newton = Z @ np.linalg.solve(Z.T @ B @ Z, -Z.T @ g[at])
    longest = np.abs(by_newton).max()
    assert step[at] == pytest.approx(by_newton * min(1.0, 0.5 / longest), abs=1e-4)


def test_held_out_frames_look_like_the_clip(walk, style):
    model = walk.model
    others = [
        frame for frame in ("elbow_l", "elbow_r", "knee_l", "knee_r", "chest", "spine_1") if frame in model.frames
    ]
    assert len(others) >= 4

    def measure(posture):
        errors = []
        for q in walk.q[1::8]:
            solution = poise.solve(model, [*ask(model, q), posture], q[: model.nq])
            assert solution.reached
            errors += [np.linalg.norm(solution.pose.position(f) - model.fk(q, f)[:3, 3]) for f in others]
        return float(np.mean(errors))

    assert measure(style) < 0.1 * measure(Rest())
    assert measure(style) < 0.01


def test_no_goal_is_worse_for_it_and_ranges_hold(walk, style):
    model = walk.model
    rng = np.random.default_rng(1)
    for q in walk.q[3::20]:
        goals = [Reach(frame, model.fk(q, frame)[:3, 3] + 0.05 * rng.normal(size=3)) for frame in ASKED]
        plain, styled = poise.solve(model, goals), poise.solve(model, [*goals, style])
        assert styled.reached or not plain.reached
        assert styled.q == pytest.approx(model.clamp(styled.q), abs=1e-15)
    held = Reach("pelvis", model.fk(model.rest, "pelvis"), weight=100.0)
    far = Reach("hand_l", (9.0, 9.0, 9.0))
    missed = [poise.solve(model, goals) for goals in ([held, far], [held, far, style])]
    assert not missed[0].reached
    assert missed[1].errors["hand_l"][0] <= missed[0].errors["hand_l"][0] * (1 + 1e-6) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_goal_of_any_body_is_worse_for_a_style(seed):
    """Reached without it, reached with it; missed without it, missed by no more with it."""
    model = random_model(seed, joints=9)
    rng = np.random.default_rng(seed)
    drift = np.cumsum(0.06 * rng.normal(size=(50, model.nv)), axis=0)
    clip = poise.Motion(model, [model.clamp(model.integrate(model.rest, step)) for step in drift])
    style = Style.fit(clip, neighbours=15)
    ends = [frame for frame in model.frames if not any(model.frame(f).parent == frame for f in model.frames)][:3]
    served = 0
    for k in range(6):
        truth = model.random(rng) if k % 2 else clip.q[7 * k]
        goals = [Reach(frame, model.fk(truth, frame)[:3, 3]) for frame in ends]
        plain, styled = (poise.solve(model, asked, clip.q[0]) for asked in (goals, [*goals, style]))
        served += plain.reached
        assert styled.reached or not plain.reached
        assert styled.q == pytest.approx(model.clamp(styled.q), abs=1e-12)
        if not plain.reached:
            cost = [sum(solution.errors[f][0] ** 2 for f in ends) for solution in (plain, styled)]
            assert cost[1] <= cost[0] * (1 + 1e-3) + 1e-9
    assert served >= 2


POSTURES = ("style", "blend", "with rest", "blend with mid range", "some joints")


def take_pose(what, walk, style):
    """Return postures that a Gaussian is part of, and which joints may move."""
    model = walk.model
    bent = [p.replace({"spine_1": p.q[model.joint("spine_1").q] + 0.2}).q for p in walk[::4]]
    blend = Style.blend({style: 0.6, Style.fit(poise.Motion(model, bent), neighbours=12): 0.4})
    others = {
        "style": [style],
        "blend": [blend],
        "with rest": [style, Rest(weight=3.0)],
        "blend with mid range": [blend, MidRange(weight=0.5), Rest(walk.q[3], gains={"spine_1": 5.0})],
        "some joints": [style],
    }
    still = ("clavicle_l", "neck", "wrist_r", "ankle_l")
    names = [joint.name for joint in model.joints if joint.nv and not joint.name.startswith(still)]
    assert len(names) <= len([joint for joint in model.joints if joint.nv]) - 3
    return others[what], names if what == "some joints" else None


@pytest.mark.slow
@pytest.mark.parametrize("what", POSTURES)
def test_the_likeliest_pose_is_found_whatever_finds_it(what, walk, style):
    """The kernels' steps end where Newton's steps on the exact slopes end."""
    model = walk.model
    postures, joints = take_pose(what, walk, style)
    for q in walk.q[5::25]:
        solver = poise.Solver(model, [*ask(model, q), *postures], joints=joints)
        driver = solver.problem
        assert driver._gaussian
        assert driver._bare
        start = q if joints else walk.q[0]
        quick = solver.solve(start)
        assert driver._settle(quick.q) is not None
        driver._gaussian = False
        driver._settled = 1e-6
        slow = driver._go_down(driver._run(quick.q, None, None), settled=False)
        driver._focus(quick.q)
        costs = [driver._find_cost(np.array(found.q)) for found in (quick, slow)]
        assert quick.reached
        assert costs[0] <= 1.001 * costs[1] + 1e-6


def test_a_call_in_continuous_mode_is_bounded_and_follows(walk, style):
    model = walk.model
    solver = poise.Solver(model, [*ask(model, walk.q[0]), style], mode="continuous")
    q = np.array(walk.q[0])
    for frame in walk.q[1:20]:
        targets = {goal.frame: model.fk(frame, goal.frame)[:3, 3] for goal in ask(model, frame)[1:]}
        after = solver.solve(q, {"pelvis": model.fk(frame, "pelvis"), **targets}).q
        step = model.difference(q, after) / np.where(model.slides, model.length, 1.0)
        assert np.abs(step).max() <= 0.2 + 1e-9
        q = after
    assert solver.solve(q).reached


def make_carried_body(still_above: bool) -> poise.Model:
    """Return a body of two limbs on hips that travel, below a node that does not where one is asked for."""
    builder = poise.ModelBuilder("carried")
    top = None
    if still_above:
        builder.add_joint("node_position", None, "translation3")
        builder.add_joint("node", "node_position", "euler", order="ZXY")
        top = "node"
    builder.add_joint("hips_position", top, "translation3", locked=still_above)
    builder.add_joint("hips", "hips_position", "euler", order="ZXY")
    for side, sign in (("l", 1.0), ("r", -1.0)):
        builder.add_joint(f"thigh_{side}", "hips", "ball", offset=(0.1 * sign, 0.0, 0.0))
        builder.add_joint(f"shin_{side}", f"thigh_{side}", "revolute", axis=(1, 0, 0), offset=(0.0, -0.4, 0.0))
        builder.add_frame(f"foot_{side}", f"shin_{side}", offset=(0.0, -0.4, 0.0))
    return builder.build()


@pytest.mark.parametrize("still_above", [False, True])
def test_position_and_heading_are_not_part_of_a_style(still_above):
    model = make_carried_body(still_above)
    rng = np.random.default_rng(3)
    frames = []
    for _ in range(40):
        q = np.array(model.integrate(model.rest, 0.3 * rng.normal(size=model.nv)))
        for name in ("node_position", "node"):
            if still_above:
                q[model.joint(name).q] = 0.0
        q[model.joint("hips_position").q] = rng.normal(size=3)
        frames.append(q)
    style = Style.fit(poise.Motion(model, frames))
    assert style.parts[0][1].root == "hips"
    here = frames[7]
    there = poise.Pose(model, here).replace({"hips_position": (5.0, 1.0, -3.0), "hips": (2.0, 0.1, 0.2)}).q
    likely = [style.likelihood(poise.Pose(model, q)) for q in (here, there)]
    assert likely[0] == pytest.approx(likely[1], rel=1e-9)
    looks = []
    for q in (here, there):
        goals = [Reach(f"foot_{side}", model.fk(q, f"foot_{side}")[:3, 3]) for side in "lr"]
        asked = PoseTargets.read([goal.rows(model) for goal in goals])
        looks.append(style.focus(model, asked, np.array(q)).mean)
    assert looks[0] == pytest.approx(looks[1], abs=1e-9)


OTHERS = ("elbow_l", "elbow_r", "knee_l", "knee_r", "chest", "spine_1")


def measure_roughness(q, model):
    steps = np.array([model.difference(a, b) for a, b in pairwise(q)])
    return float(np.abs(np.diff(steps, axis=0)).mean())


@pytest.mark.slow
def test_a_tracked_clip_looks_like_the_clips_and_is_smooth(walk, style):
    model, truth = walk.model, walk[:60]
    goals = [Reach("pelvis", truth.positions("pelvis"))]
    goals += [Reach(frame, truth.positions(frame)) for frame in ASKED]
    plain, styled = (poise.motion.track(model, asked, fps=truth.fps) for asked in (goals, [*goals, style]))
    others = [frame for frame in OTHERS if frame in model.frames]
    away = [
        np.mean([np.linalg.norm(made.motion.positions(f) - truth.positions(f), axis=1).mean() for f in others])
        for made in (plain, styled)
    ]
    assert away[1] < 0.5 * away[0]
    assert styled.reached.sum() >= plain.reached.sum()
    assert measure_roughness(styled.motion.q, model) < 1.1 * measure_roughness(truth.q, model)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), (Rest(weight=0.1),)])
def test_a_stream_looks_like_the_clips_and_sees_nothing_ahead(walk, style, more):
    """One frame in, one frame out: a stream that ends sooner has the same frames."""
    model, truth = walk.model, walk[:29]

    def stream(postures, frames):
        goals = [Reach(frame, truth.positions(frame)[:frames]) for frame in ("pelvis", *ASKED)]
        return poise.motion.track(model, [*goals, *postures], fps=truth.fps, mode="online", start=truth.q[0])

    plain, styled = stream((), 29), stream((style, *more), 29)
    others = [frame for frame in OTHERS if frame in model.frames]
    away = [
        np.mean([np.linalg.norm(made.motion.positions(f) - truth.positions(f), axis=1).mean() for f in others])
        for made in (plain, styled)
    ]
    assert away[1] < 0.3 * away[0]
    assert styled.reached.all()
    assert "style" not in styled.errors
    assert measure_roughness(styled.motion.q, model) < 1.1 * measure_roughness(truth.q, model)
    assert np.array_equal(stream((style, *more), 12).motion.q, styled.motion.q[:12])


def test_a_step_in_time_keeps_to_a_speed(walk, style):
    model = walk.model
    solver = poise.Solver(model, [*ask(model, walk.q[6]), style], limits=[Speed(0.5)])
    q = np.array(walk.q[0])
    for _ in range(4):
        solution = solver.step(q, 1 / 30)
        assert np.abs(solution.velocity[6:]).max() <= 0.5 * (1 + 1e-9)
        q = solution.q


@pytest.mark.slow
def test_a_rig_takes_it_as_its_rest(walk, style):
    model = walk.model
    rigs = [poise.Rig(model, pose=walk.q[0], rest=rest) for rest in (None, style)]
    where = model.fk(walk.q[0], "hand_l")[:3, 3]
    for rig in rigs:
        for k in range(12):
            rig.drag("hand_l", where + 0.01 * k * np.array([0.0, 1.0, 1.0]))
    assert [np.linalg.norm(rig.pose.position("hand_l") - rigs[0].pose.position("hand_l")) < 0.01 for rig in rigs] == [
        True,
        True,
    ]
    assert style.likelihood(rigs[1].pose) > style.likelihood(rigs[0].pose)
