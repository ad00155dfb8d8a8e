"""Comfort: its gradient, its minimum and its cost to goals. Style as an object: saved, compared, blended, errors."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.errors import FormatError, InvalidValue, ModelMismatch
from poise.goals import Comfort, MidRange, Reach, Rest, Style
from poise.kinematics.manipulability import manipulability

TIP = "panda_hand_tcp"


@pytest.mark.parametrize("seed", range(6))
def test_gradient_is_that_of_the_cost(seed):
    model = random_model(seed, joints=7)
    rng = np.random.default_rng(seed)
    q = model.integrate(model.rest, 0.2 * rng.normal(size=model.nv))
    goal = Comfort(gains=rng.uniform(0.1, 2.0, model.nv), manipulability=0.5, frame=model.frames[-1], weight=1.5)
    slope, bend = goal.find_slope(model, q)
    h = 1e-6
    costs = [[goal.find_cost(model, model.integrate(q, s * h * e)) for s in (1, -1)] for e in np.eye(model.nv)]
    numeric = np.diff(np.array(costs)[:, ::-1], axis=1)[:, 0] / (2 * h)
    turning = np.ones(model.nv, dtype=bool)
    assert slope[turning] == pytest.approx(numeric[turning], abs=1e-4 * max(1.0, np.abs(numeric).max()))
    assert np.linalg.eigvalsh(bend).min() >= -1e-9 * np.abs(bend).max()


@pytest.mark.parametrize("seed", range(4))
def test_no_pose_nearby_that_serves_the_goal_is_more_comfortable(seed):
    model = poise.load("panda")
    rng = np.random.default_rng(seed)
    target = model.fk(model.random(rng), TIP)
    goal = Comfort(manipulability=2.0, frame=TIP)
    reach = Reach(TIP, target, tolerance=(1e-9, 1e-9))
    solution = poise.solve(model, [reach, goal])
    assert solution.reached
    least = goal.find_cost(model, solution.q)
    tried = 0
    for turn in np.linspace(-0.3, 0.3, 13):
        start = solution.q + turn * rng.normal(size=model.nv)
        other = poise.solve(model, reach, model.clamp(start), restarts=0)
        if other.reached and np.abs(other.q - solution.q).max() < 0.5:
            tried += 1
            assert goal.find_cost(model, other.q) >= least - 1e-3 * (1 + abs(least))
    assert tried >= 6


def test_joints_leave_the_ends_of_their_ranges():
    model = poise.load("panda")
    rng = np.random.default_rng(3)
    nearer = 0
    for _ in range(20):
        target = model.fk(model.random(rng), TIP)[:3, 3]
        plain, comfortable = (poise.solve(model, [Reach(TIP, target), *more]) for more in ([], [Comfort()]))
        assert plain.reached == comfortable.reached
        room = [np.minimum(model.upper - s.q, s.q - model.lower).min() for s in (plain, comfortable)]
        nearer += room[1] > room[0]
    assert nearer >= 18


def test_manipulability_grows_where_it_counts():
    model = poise.load("panda")
    rng = np.random.default_rng(1)
    for _ in range(5):
        reach = Reach(TIP, model.fk(model.random(rng), TIP)[:3, 3])
        plain = poise.solve(model, [reach, MidRange()])
        able = poise.solve(model, [reach, Comfort(manipulability=20.0, frame=TIP)])
        assert manipulability(model, able.q, TIP).measure > manipulability(model, plain.q, TIP).measure


def test_it_never_costs_the_goals_and_keeps_the_limits():
    model = poise.load("humanoid")
    goals = [Reach("hand_l", (0.4, 1.2, 0.3)), Reach("foot_l", model.fk(model.rest, "foot_l"))]
    solution = poise.solve(model, [*goals, Comfort(gains={"elbow_l": 5.0}), Rest(weight=0.1)])
    assert solution.reached
    assert solution.q == pytest.approx(model.clamp(solution.q), abs=1e-15)
    assert "comfort" in str(solution)


def test_a_call_in_continuous_mode_is_bounded():
    model = poise.load("panda")
    reach = Reach(TIP, model.fk(model.rest, TIP)[:3, 3])
    comfort = Comfort(manipulability=5.0, frame=TIP)
    solver = poise.Solver(model, [reach, comfort], mode="continuous")
    q = np.array(model.rest)
    costs = []
    for _ in range(30):
        after = solver.solve(q).q
        assert np.abs(after - q).max() <= 0.2 + 1e-12
        q = after
        costs.append(comfort.find_cost(model, q))
    assert costs[-1] < costs[0]


def test_batches_take_it_row_by_row():
    model = poise.load("panda")
    targets = model.fk(model.random(np.random.default_rng(0), 3), TIP)[:, :3, 3]
    goals = [Reach(TIP, targets[0], name="tip"), Comfort()]
    many = poise.solve_batch(model, goals, {"tip": targets})
    for row, target in enumerate(targets):
        alone = poise.Solver(model, goals).solve(targets={"tip": target})
        assert many.q[row] == pytest.approx(alone.q, abs=1e-9)


# ------------------------------------------------- Style as an object: saved, copied, compared, blended; and its errors


def ask(model, q):
    return [Reach("pelvis", model.fk(q, "pelvis")), Reach("hand_l", model.fk(q, "hand_l")[:3, 3])]


@pytest.mark.slow
def test_saved_and_loaded_it_gives_the_same_answers(walk, style, tmp_path):
    model = walk.model
    poise.save(style, tmp_path / "walker.npz")
    again = Style.load(tmp_path / "walker.npz")
    assert len(again) == len(style)
    goals = ask(model, walk.q[5])
    assert (poise.solve(model, [*goals, style]).q == poise.solve(model, [*goals, again]).q).all()
    (tmp_path / "broken.npz").write_bytes((tmp_path / "walker.npz").read_bytes()[:400])
    with pytest.raises(FormatError):
        Style.load(tmp_path / "broken.npz")
    np.savez(tmp_path / "other.npz", kind="map")
    with pytest.raises(FormatError, match="no style"):
        Style.load(tmp_path / "other.npz")


@pytest.mark.slow
def test_blends_lie_between(walk, style):
    model = walk.model
    bent = Style.fit(
        poise.Motion(model, [p.replace({"spine_1": p.q[model.joint("spine_1").q] + 0.2}).q for p in walk[::4]])
    )
    goals = ask(model, walk.q[11])[:1]
    spine = model.joint("spine_1").q
    values = [
        poise.solve(model, [*goals, blend]).q[spine].mean()
        for blend in (style, Style.blend({style: 0.5, bent: 0.5}), bent)
    ]
    assert values[0] < values[1] < values[2]
    assert (poise.solve(model, [*goals, Style.blend({style: 2.0, bent: 0.0})]).q).tolist() == (
        poise.solve(model, [*goals, style]).q
    ).tolist()


def test_frames_of_the_clip_are_more_likely_than_others(walk, style):
    model = walk.model
    rng = np.random.default_rng(2)
    own = [style.likelihood(pose) for pose in walk[1::10]]
    bent = [
        style.likelihood(poise.Pose(model, model.integrate(p.q, 0.3 * rng.normal(size=model.nv)))) for p in walk[1::10]
    ]
    assert min(own) > max(bent)


def test_misuse_is_named(walk, style):
    with pytest.raises(InvalidValue, match="clips"):
        Style()
    with pytest.raises(InvalidValue, match="Motion"):
        Style.fit([])
    with pytest.raises(ModelMismatch, match="panda"):
        poise.solve(poise.load("panda"), [Reach("panda_hand", (0.4, 0.0, 0.4)), style])
    with pytest.raises(InvalidValue, match="two frames"):
        Style.fit(walk[:1])
    arm = poise.load("planar3")
    with pytest.raises(ModelMismatch, match="model="):
        Style.fit([walk, poise.Motion(arm, np.zeros((5, 3)))])
    with pytest.raises(InvalidValue, match="share"):
        Style.blend({style: -1.0})
    for mix in ([style], None, {"proud": 1.0}, {style: np.nan}, {style: "much"}, {style: 10**400}, {}):
        with pytest.raises(InvalidValue, match=r"Style\.blend"):
            Style.blend(mix)
    for clips in (None, walk[0], 3, [None], walk.q):
        with pytest.raises(InvalidValue, match=r"Style\.fit"):
            Style.fit(clips)
    for pose in (walk.q[0], None, "pose"):
        with pytest.raises(InvalidValue, match="likelihood"):
            style.likelihood(pose)


@pytest.mark.slow
def test_its_pickle_gives_the_same_answers(walk, style):
    goal = Reach("hand_l", walk[7].position("hand_l"))
    for other in (pickle.loads(pickle.dumps(style)), copy.deepcopy(style)):
        assert other.likelihood(walk[3]) == style.likelihood(walk[3])
        assert np.array_equal(poise.solve(walk.model, [goal, other]).q, poise.solve(walk.model, [goal, style]).q)


@pytest.mark.slow
def test_a_style_without_a_share_has_no_say_and_order_none(walk, style):
    other = Style.fit(walk[1::2], weight=3.0, neighbours=20)
    for mix in ({other: 0.0, style: 2.0}, {style: 1.0, other: 0}):
        assert Style.blend(mix) == style
    one, two = Style.blend({style: 0.5, other: 1.5}), Style.blend({other: 1.5, style: 0.5})
    assert (one.weight, one.neighbours) == (two.weight, two.neighbours)
    assert one.weight == pytest.approx(np.sqrt(0.25 * 1.0 + 0.75 * 9.0))
    assert one.neighbours == 18
    assert Style.blend({style: 0.7, replace(style, weight=1.0): 0.3}).weight == pytest.approx(style.weight)


def test_styles_are_the_same_where_every_part_of_them_is(style):
    assert replace(style) == style
    assert hash(replace(style)) == hash(style)
    for change in ({"weight": 2.0}, {"neighbours": 13}, {"name": "proud"}, {"priority": 2}, {"tolerance": 0.1}):
        assert replace(style, **change) != style, change


@pytest.mark.parametrize("weight", [1e101, 1e160, 1e200, 10**400, float("inf")])
@pytest.mark.parametrize("kind", [Reach, Rest, MidRange, Style])
def test_weights_whose_squares_are_not_numbers_are_rejected(walk, kind, weight):
    given = {Style: (walk,), Reach: ("hand_l", (0.0, 0.0, 0.0))}.get(kind, ())
    make = Style.fit if kind is Style else kind
    with pytest.raises(InvalidValue, match=rf"{kind.__name__}: weight is"):
        make(*given, weight=weight)


@pytest.mark.parametrize("weight", [1e-100, 1e100])
def test_the_greatest_and_the_smallest_weight_are_served(walk, style, weight):
    goals = ask(walk.model, walk.q[5])
    for posture in (replace(style, weight=weight), Rest(weight=weight), MidRange(weight=weight)):
        solution = poise.solve(walk.model, [*goals, posture])
        assert solution.reached
        assert np.isfinite(solution.q).all()


def build_arm(upper=1.0, extra=False, mass=0.0, name="arm"):
    builder = poise.ModelBuilder(name)
    builder.add_joint("shoulder", None, "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0)
    builder.add_joint(
        "elbow", "shoulder", "revolute", axis=(0, 0, 1), offset=(1, 0, 0), lower=-1, upper=upper, mass=mass
    )
    builder.add_frame("tip", "elbow", (1, 0, 0))
    if extra:
        builder.add_frame("tool", "tip", (0.1, 0, 0))
    return builder.build()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"upper": 0.5}, "named 'arm' too: 'elbow' has another upper"),
        ({"mass": 2.0}, "named 'arm' too: 'elbow' has another mass"),
        ({"extra": True}, "named 'arm' too: only one of the two has 'tool'"),
        ({"name": "leg"}, "of model 'arm', not of 'leg'"),
    ],
)
def test_models_of_the_same_name_are_distinguished_by_their_difference(change, words):
    arm, other = build_arm(), build_arm(**change)
    goal = Reach("tip", (1.5, 0.5, 0.0))
    style = Style.fit(poise.Motion(arm, np.linspace(-0.5, 0.5, 8)[:, None] * np.ones(2)))
    pose = poise.Pose(arm, arm.rest)
    for ask_wrongly in (
        lambda: poise.solve(other, [goal, style]),
        lambda: poise.solve(other, [goal, Rest(pose)]),
        lambda: poise.solve(other, [goal], pose),
    ):
        with pytest.raises(ModelMismatch, match=words):
            ask_wrongly()


@pytest.mark.parametrize("kind", ["free", "planar", "translation3"])
def test_a_body_that_is_its_root_alone_has_no_style(kind):
    builder = poise.ModelBuilder("stone")
    builder.add_joint("root", None, kind)
    stone = builder.build()
    clip = poise.Motion(stone, np.array([stone.integrate(stone.rest, 0.1 * k * np.ones(stone.nv)) for k in range(5)]))
    with pytest.raises(InvalidValue, match="only the root and locked joints"):
        Style.fit(clip)
