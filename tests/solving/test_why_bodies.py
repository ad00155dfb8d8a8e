"""Explanations of whole bodies, and the claims of every explanation."""

import re
import time

import numpy as np
import pytest

import poise
from bodies import build_ball_arm, build_two_links, random_model
from poise import Status
from poise.diagnosis import WayOutKind, relax
from poise.goals import (
    Align,
    Angle,
    Balance,
    CenterOfMass,
    Custom,
    Distance,
    Goal,
    HalfSpace,
    Inside,
    LookAt,
    Range,
    Reach,
    Rest,
)
from poise.limits import Clearance, Closed, Cone, Coupled, Limit, Speed, Sphere
from why_cases import find


def pin_feet(model: poise.Model) -> list[Goal]:
    return [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]


# ------------------------------------------------------------------------------------------------ goals


OPEN = (None, None)  # a range without ends
LEVEL = Align("elbow", "x", (1, 0, 0), name="level")  # the forearm along x


def test_a_goal_gives_way_to_one_that_is_served_first() -> None:
    solution = poise.solve(build_two_links(OPEN, OPEN), [LEVEL, Reach("hand", (0.3, 0.9, 0), priority=1)], [0.5, 0.5])
    assert not solution.reached
    assert solution.errors["level"][1] < 1e-8
    why = solution.why()
    assert "'hand' has a lower priority than 'level': without 'level', 'hand' would be reached." in why
    assert "Relax first: it would be reached without the goal 'level'" in why


def test_a_level_that_only_comes_nearer_without_another() -> None:
    model = build_two_links((-0.5, 0.5), OPEN)
    why = poise.solve(model, [LEVEL, Reach("hand", (-0.5, 1.2, 0), priority=1)], [0.1, 0.5]).why()
    assert re.search(r"without 'level', 'hand' would be missed by [\d.]+ m?m instead of [\d.]+ m", why)


def test_goals_of_one_level_say_what_they_cost_each_other() -> None:
    up, down = Align("elbow", "x", (1, 1, 0), name="up"), Align("elbow", "x", (1, -1, 0), name="down")
    why = poise.solve(build_two_links(OPEN, OPEN), [up, down]).why()
    assert "'up' and 'down' are in conflict: a step towards one leads away from the other" in why
    assert "without 'down', 'up' would be reached; without 'up', 'down' would be reached" in why


def test_targets_too_far_apart_say_which_one_gives_way(humanoid: poise.Model) -> None:
    why = poise.solve(humanoid, [*pin_feet(humanoid), Reach("hand_r", (2, 1, 0.5), priority=1)]).why()
    assert "the targets of 'foot_r' and 'hand_r' are 2.399 m apart" in why
    assert "'hand_r' has a lower priority than 'foot_r'" in why


def test_balance_names_the_side(humanoid: poise.Model) -> None:
    reach = Reach("pelvis", np.asarray(humanoid.fk(humanoid.rest, "pelvis"))[:3, 3] + (0.35, -0.1, 0.0))
    solution = poise.solve(humanoid, [*pin_feet(humanoid), reach, Balance(["foot_l", "foot_r"], priority=1), Rest()])
    why = solution.why()
    assert "'balance' is missed: the centre of mass is " in why
    assert re.search(r"[\d.]+ mm \(allowed: 100 um\) outside the support, towards \+x\.", why)
    assert re.search(r"'balance' has a lower priority than '\w+': without '\w+', 'balance' would be", why)
    freed = re.search(r"without the upper limit of '.*' \(it would go to .* rad \((.*) deg\)\)", why)
    assert freed is not None
    assert abs(float(freed[1])) < 180


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (Distance("hand", (0, 0, 0), 3.0), r"the two points are 2 m apart and should be 3 m, which is off by 1 m"),
        (Distance("hand", (5, 0, 0), Range(0, 2)), r"are 3 m apart and should be 0 m to 2 m, which is off by 1 m"),
        (Angle("hand", "z", None, "x", 0.2), r"the angle should be 0.2 rad \(11.5 deg\) and is off by 1.37 rad"),
        (Align("hand", "z", (0, 1, 1)), r"its axis is off by 0.785 rad \(45 deg\)"),
        (LookAt("hand", (3, 1, 0), axis="z"), r"its gaze is off by [\d.]+ rad"),
        (CenterOfMass((0, 0, 2)), r"the centre of mass is [\d.]+ m .*away from its target"),
        (Inside("hand", [HalfSpace((0, 0, -1), (0, 0, 1))]), r"it is 1 m .*outside"),
        (Custom(lambda q: np.array([2.0 + np.sin(q[0])]), size=1), r"'custom' is missed by 1 \(allowed: 0.0001\)"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Goal) else "",
)
def test_every_goal_says_what_it_misses(goal: Goal, text: str) -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", mass=1.0)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), mass=1.0)
    model = builder.add_frame("hand", "elbow", (1, 0, 0)).build()
    solution = poise.solve(model, goal, [0.2, 0.3])
    assert not solution.reached
    assert re.search(text, solution.why())
    assert solution.conditioning.singular_values.size >= 1


# ------------------------------------------------------------------------------------------------ limits


def list_held(solution: poise.Solution, kind: str) -> str:
    """The text, where the strongest active limit is of this kind and its removal is what helps."""
    strongest = solution.active_limits[0]
    assert not solution.reached
    assert strongest.kind == kind
    assert strongest.multiplier > 0
    assert solution.multipliers[strongest.name] == strongest.multiplier
    return solution.why()


def test_a_cone_binds() -> None:
    solution = poise.solve(build_ball_arm(), Reach("hand", (0.5, 0.2, 0.2)), limits=[Cone("shoulder", swing=0.6)])
    why = list_held(solution, "cone")
    assert solution.active_limits[0].name == "shoulder.swing"
    assert solution.active_limits[0].value == pytest.approx(0.6, abs=1e-6)
    assert "'shoulder' is swung to the limit of its cone, 0.6 rad (34.4 deg)" in why
    assert "Relax first: it would be reached without the limit 'cone shoulder'" in why


def test_a_twist_binds() -> None:
    model = build_ball_arm()
    T = model.fk([np.cos(0.6), 0, 0, np.sin(0.6), 0.3], "hand")
    solution = poise.solve(model, Reach("hand", T), limits=[Cone("shoulder", twist=(-0.4, 0.5))])
    assert "'shoulder' is twisted to the limit of its cone, 0.5 rad" in list_held(solution, "cone")
    assert solution.active_limits[0].side == "upper"


def test_the_world_is_in_the_way(humanoid: poise.Model) -> None:
    ground = Clearance(pairs=[], world=[HalfSpace((0, 0, 0), (0, 1, 0))], name="ground")
    solution = poise.solve(humanoid, [Reach("hand_l", (0.3, -0.2, 0.3)), Rest()], limits=[ground])
    why = list_held(solution, "clearance")
    assert "touches a half-space, and 'ground' keeps them apart" in why
    assert "Relax first: it would be reached without the limit 'ground'" in why


def test_two_parts_are_kept_apart(humanoid: poise.Model) -> None:
    apart = Clearance(pairs=[("forearm_l", "chest"), ("hand_l", "chest"), ("hand_l", "pelvis")], distance=0.05)
    chest = np.asarray(humanoid.fk(humanoid.rest, "chest"))[:3, 3]
    solution = poise.solve(
        humanoid, [*pin_feet(humanoid), Reach("hand_l", (0, 0, 0), relative_to="chest")], limits=[apart]
    )
    assert chest.shape == (3,)
    why = list_held(solution, "clearance")
    assert re.search(r"'\w+' is as close to '\w+' as 'clearance' allows, 50 mm", why)
    assert solution.active_limits[0].value == pytest.approx(0.05, abs=1e-6)


def test_a_coupled_range_binds() -> None:
    model = build_two_links(OPEN, OPEN)
    sums = Coupled({"shoulder": 1, "elbow": -2}, -0.3, 0.3, name="straps")
    target = model.fk([0.2, 1.2], "hand")[:3, 3]
    solution = poise.solve(model, Reach("hand", target), limits=[sums])
    why = list_held(solution, "coupled")
    assert "'shoulder' - 2 'elbow' is at the " in why
    assert "value that 'straps' allows" in why
    assert "without the limit 'straps'" in why


def test_a_closed_loop_binds(humanoid: poise.Model) -> None:
    bar = Closed("hand_r", "hand_l", (-0.25, 0.0, 0.0), name="bar")
    hands = [Reach("hand_l", (0.6, 1.2, 0.1)), Reach("hand_r", (-0.6, 1.2, 0.1))]
    solution = poise.solve(humanoid, hands, limits=[bar])
    assert not solution.reached
    assert solution.multipliers["bar"] > 0
    why = solution.why()
    assert "'bar' has to stay closed" in why
    assert "would be reached without the limit 'bar'" in why


def test_a_joint_of_several_turns_is_named_in_words(humanoid: poise.Model) -> None:
    why = poise.solve(humanoid, Reach("hand_l", (0.185, 1.433, -0.6)), joints=["shoulder_l", "elbow_l"]).why()
    assert re.search(r"'shoulder_l' \(its rotation about [xyz]\) is at its (lower|upper) limit", why)
    assert "multiplier" not in why


@pytest.mark.parametrize(
    ("kind", "hair", "nearly"),
    [("cone", 0.03, 0.2), ("coupled", 1e-3, 0.05), ("clearance", 1e-3, 0.05), ("range", 1e-5, 0.01)],
)
def test_multipliers_are_what_the_cost_falls_by(kind: str, hair: float, nearly: float) -> None:
    """Moving a limit out by a hair, and solving again, lowers the cost by the multiplier times the hair."""

    def solved(room: float) -> poise.Solution:
        wall = HalfSpace((0.3, 0, 0), (-1, 0, 0))
        limits: dict[str, list[Limit]] = {
            "cone": [Cone("shoulder", swing=0.6 + room)],
            "coupled": [Coupled({"elbow": 1.0}, 0.0, 0.2 + room)],
            "clearance": [Clearance([], 0.1 - room, [wall])],
        }
        model = build_ball_arm(upper=0.3 + room) if kind == "range" else build_ball_arm()
        target = {"cone": (0.5, 0.2, 0.2), "clearance": (0.4, 0.1, 0.2)}.get(kind, (0.2, 0.1, 0.05))
        start = np.array([np.cos(0.2), 0.0, np.sin(0.2), 0.0, 0.1])
        if kind == "coupled":  # the same range as the joint's own: start where that one ends
            start = poise.solve(build_ball_arm(upper=0.2 + room), Reach("hand", target), start).q
        return poise.solve(model, Reach("hand", target), start, limits=limits.get(kind, []))

    before, after = (solved(room) for room in (0.0, hair))
    costs = [(solution.errors["hand"][0] / solution.model.length) ** 2 for solution in (before, after)]
    strongest = before.active_limits[0]
    assert strongest.kind == kind
    total = sum(limit.multiplier for limit in before.active_limits if limit.kind == kind)
    assert total == pytest.approx((costs[0] - costs[1]) / hair, rel=nearly)


def test_limits_that_only_touch_hold_nothing_back() -> None:
    model = build_two_links((-0.5, 0.5), OPEN)
    solution = poise.solve(model, Reach("hand", model.fk([0.5, 0.4], "hand")[:3, 3]), [0.5, 0.3])
    assert solution.reached
    assert all(limit.multiplier == 0.0 for limit in solution.active_limits)


# ------------------------------------------------------------------------------------------------ the way there


def test_one_step_in_time() -> None:
    model = build_two_links(OPEN, OPEN)
    solver = poise.Solver(model, Reach("hand", (0.0, 1.9, 0.0)), limits=[Speed(0.5)])
    why = solver.step([0.1, 0.2], 0.02).why()
    assert "one time step within the limits of speed: step again from this pose" in why


def test_conditioning_of_directions_and_numbers() -> None:
    model = poise.load("panda")
    look = poise.solve(model, LookAt("panda_hand_tcp", (0.5, 0.5, 0.5)))
    assert look.reached
    assert len(look.conditioning.singular_values) == 2
    assert not look.conditioning.singular  # turning about the line of sight is no wish
    apart = poise.solve(model, Distance("panda_hand_tcp", (0, 0, 0.3), 0.5)).conditioning
    assert apart.kind == "change"
    assert "changes least" in apart.text


@pytest.mark.slow
def test_asking_is_quick(humanoid: poise.Model) -> None:
    reach = Reach("hand_r", (1.5, 1.0, 0.5), priority=1)
    why = poise.solve(humanoid, [*pin_feet(humanoid), reach, LookAt("head", (1, 1, 1), priority=2), Rest()]).why()
    assert "'hand_r' is missed by" in why
    assert "Relax first:" in why


# ------------- The claims of `why()` hold: the tolerance that it names accepts the pose, and unproved claims are marked


UNITS = {"m": 1.0, "mm": 1e-3, "um": 1e-6, "nm": 1e-9}
CLAIM = re.compile(r"tolerance of (?:([\d.e+-]+) (m|mm|um|nm)\b)?(?: and )?(?:([\d.e+-]+) rad)?.* for 'tip'")
BOUNDED = ("revolute", "prismatic", "universal", "euler", "ball", "continuous")


def read_claim(why: str, default: tuple[float, float]) -> tuple[float, float]:
    """The tolerance in the last sentence, as a reader would type it."""
    match = CLAIM.search(why.rsplit("\n", 1)[-1])
    assert match, why
    metres = float(match[1]) * UNITS[match[2]] if match[1] else default[0]
    return metres, float(match[3]) if match[3] else default[1]


@pytest.mark.slow
def test_the_tolerance_that_is_named_accepts_the_pose() -> None:
    """Over random misses of points and transforms, from micrometres to metres."""
    misses = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        model = random_model(seed, int(rng.integers(1, 5)), BOUNDED)
        frame = str(rng.choice(model.frames))
        target = np.array(model.fk(model.random(rng), frame))
        target[:3, 3] += rng.normal(size=3) * 10 ** rng.uniform(-3.5, 0.5)
        goal = Reach(frame, target if seed % 2 else target[:3, 3], name="tip", tolerance=(1e-6, 1e-6))
        answer = poise.solve(model, goal, restarts=2)
        if answer.reached:
            continue
        misses += 1
        accepted = read_claim(answer.why(), (1e-6, 1e-6))
        loose = Reach(frame, goal.target, name="tip", tolerance=accepted)
        assert poise.solve(model, loose, answer.q, restarts=0).reached, (seed, answer.why())
    assert misses > 40


def test_a_bound_is_reported_as_a_least_distance() -> None:
    arm = poise.load("planar3")
    why = poise.solve(arm, Reach("tip", (3.2, 1.4, 0.0))).why()
    assert "move the target of 'tip' at least 493 mm closer" in why


def test_a_body_without_joints_reports_it() -> None:
    builder = poise.ModelBuilder("stone")
    builder.add_frame("tip", None, (1.0, 0.0, 0.0))
    why = poise.solve(builder.build(), Reach("tip", (0.0, 1.0, 0.0))).why()
    assert "''" not in why
    assert "(0, 0, 0)" not in why or "which cannot move" in why


def test_a_start_that_breaks_a_clearance_speaks_of_that_alone() -> None:
    body = poise.load("humanoid")
    ball = Sphere(body.fk(body.rest, "hand_l")[:3, 3], 3.0)
    goal = Reach("hand_l", body.fk(body.rest, "hand_l")[:3, 3], tolerance=1.0)
    answer = poise.solve(body, goal, limits=[Clearance([], world=[ball])], joints=["wrist_l"], restarts=0)
    assert not answer.reached
    assert answer.why().startswith("Every goal is within its tolerance.")
    assert "local minimum" not in answer.why()


# ------------------------------------------------------------------------------------------------ effort


def build_figure() -> tuple[poise.Model, list[Goal]]:
    """Feet that stay, and a hand that is asked for what no body could reach from there."""
    model = poise.load("humanoid")
    stand: list[Goal] = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    return model, [*stand, Reach("hand_l", (0.4, 1.2, 2.5), priority=1)]


def test_a_proof_ends_the_searches_of_levels() -> None:
    model, goals = build_figure()
    answer = poise.solve(model, goals)
    assert answer.status is Status.UNREACHABLE
    assert answer.searches == 1
    spent = time.process_time()
    assert "Proved out of reach" in answer.why()
    assert time.process_time() - spent < 0.5


def test_what_a_proof_rules_out_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[WayOutKind] = []
    own = relax.try_relaxation

    def watched(solution: poise.Solution, way: relax.Relaxation) -> relax.RelaxedAnswer | None:
        tried.append(way.kind)
        return own(solution, way)

    monkeypatch.setattr(relax, "try_relaxation", watched)
    model, goals = build_figure()
    poise.solve(model, goals).why()
    assert not tried


def test_limits_are_not_blamed_for_what_is_not_proved() -> None:
    """Where a pose is only missed, its limits are named with the reserve that others may be found inside them."""
    model, rng = poise.load("panda"), np.random.default_rng(1)
    blamed = 0
    for q in model.random(rng, 60):
        answer = poise.solve(model, Reach("panda_hand_tcp", model.fk(q, "panda_hand_tcp")), restarts=0)
        ways = {way.kind for way in answer.explanation.ways_out}
        if WayOutKind.WITHOUT_RANGE in ways:
            blamed += 1
            assert ways & {WayOutKind.UNPROVED, WayOutKind.MORE_SEARCHES}
    assert blamed >= 3
    for q in model.random(rng, 3):
        far = poise.solve(model, Reach("panda_hand_tcp", model.fk(q, "panda_hand_tcp")[:3, 3] * 3))
        assert find(far, WayOutKind.UNPROVED) is None
