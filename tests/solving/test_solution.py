"""The result of a solve: status, errors, limits, conditioning, records, units, and how it prints."""

import math
import re
from typing import Any

import numpy as np
import pytest

import poise
from bodies import build_two_links
from poise import Status
from poise.diagnosis import WayOutKind
from poise.diagnosis.relax import Relaxation, try_relaxation
from poise.errors import GoalsMissed, InvalidValue
from poise.goals import Orient, Reach, Rest
from poise.limits import Closed
from poise.solvers import pixel_tolerance
from poise.solvers.report.show import say_length

TIP = "panda_hand_tcp"


def solve_trapped_arm() -> poise.Solution:
    """A shoulder held at its upper limit by a target beyond it."""
    model = build_two_links((-0.5, 0.5))
    return poise.solve(model, Reach("hand", model.fk([0.8, 0.4], "hand")[:3, 3]))


# ------------------------------------------------------------------------------------------------ limits


def test_multiplier_is_the_fall_of_the_best_cost_per_radian() -> None:
    solution = solve_trapped_arm()
    (limit,) = solution.active_limits
    assert (limit.joint, limit.side, limit.value, limit.exempt) == ("shoulder", "upper", 0.5, False)
    assert solution.multipliers == {"shoulder": limit.multiplier}

    def best_cost(upper: float) -> float:
        model = build_two_links((-0.5, upper))
        target = model.fk([0.8, 0.4], "hand")[:3, 3]
        return (poise.solve(model, Reach("hand", target)).errors["hand"][0] / model.length) ** 2

    h = 1e-4
    assert limit.multiplier == pytest.approx((best_cost(0.5 - h) - best_cost(0.5 + h)) / (2 * h), rel=1e-4)


def test_free_joints_are_stationary() -> None:
    solution = solve_trapped_arm()
    from poise.diagnosis.linear import linearise

    at = linearise(solution)
    pull = at.J.T @ at.r
    assert pull[0] > 1e-3
    assert abs(pull[1]) < 1e-9


def test_a_reached_solution_has_limits_without_force(panda: poise.Model) -> None:
    q = np.array(panda.rest)
    q[1] = panda.upper[1]
    solution = poise.solve(panda, Reach(TIP, panda.fk(q, TIP)), q)
    assert solution.reached
    assert [limit.name for limit in solution.active_limits] == ["panda_joint2"]
    assert solution.multipliers["panda_joint2"] == pytest.approx(0.0, abs=1e-9)


def test_exempt_joints_are_listed(panda: poise.Model) -> None:
    start = np.array(panda.rest)
    start[3] = 0.5
    solution = poise.solve(panda, Reach(TIP, (0.6, 0.3, 0.5)), start, joints=["panda_joint1"])
    (limit,) = (limit for limit in solution.active_limits if limit.exempt)
    assert (limit.joint, limit.side, limit.value) == ("panda_joint4", "upper", 0.5)
    assert "panda_joint4" not in solution.multipliers


def test_parts_of_a_joint_have_names() -> None:
    model = poise.load("humanoid")
    solution = poise.solve(model, [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1))])
    names = [limit.name for limit in solution.active_limits]
    assert "shoulder_l.rz" in names
    assert len(set(names)) == len(names)


def test_a_trial_frees_one_limit() -> None:
    solution = solve_trapped_arm()
    same = try_relaxation(solution, Relaxation(WayOutKind.MORE_TIME))
    assert same is not None
    assert not same.reached
    assert same.errors["hand"] == pytest.approx(solution.errors["hand"], rel=1e-6)
    freed = try_relaxation(solution, Relaxation(WayOutKind.WITHOUT_LIMITS, limits=solution.active_limits))
    assert freed is not None
    assert freed.reached
    assert freed.q == pytest.approx([0.8, 0.4], abs=1e-3)


# ------------------------------------------------------------------------------------------------ conditioning


def test_conditioning_names_the_lost_direction() -> None:
    model = poise.load("planar2")
    straight = poise.solve(model, Reach("tip", (3, 0, 0)), [0.0, 0.0])
    assert straight.conditioning.singular
    assert math.isinf(straight.conditioning.condition) or straight.conditioning.condition > 1e6
    bent = poise.solve(poise.load("panda"), Reach(TIP, (0.4, 0.2, 0.5)))
    assert not bent.conditioning.singular
    assert len(bent.conditioning.singular_values) == 3
    assert np.linalg.norm(bent.conditioning.direction) == pytest.approx(1.0)
    assert "moves least along" in bent.conditioning.text


def test_conditioning_counts_only_constrained_directions(panda: poise.Model) -> None:
    spin = poise.solve(panda, Orient(TIP, np.eye(3), axes="xy"))
    assert len(spin.conditioning.singular_values) == 2
    assert spin.conditioning.kind == "turn"


# ------------------------------------------------------------------------------------------------ reading it


def test_it_prints_as_a_table(panda: poise.Model) -> None:
    solution = poise.solve(panda, [Reach(TIP, panda.fk(panda.rest, TIP)), Rest(weight=0.01)])
    lines = str(solution).splitlines()
    assert lines[0].startswith("reached: ")
    assert lines[1].split() == ["goal", "position", "rotation", "reached"]
    assert lines[2].split()[0] == TIP
    assert lines[2].endswith("yes")
    assert lines[3].split() == ["rest", "posture"]
    assert lines[1].index("reached") == lines[2].index("yes") == lines[3].index("posture")


def test_html_escapes_names(panda: poise.Model) -> None:
    page = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5), name="a<b"))._repr_html_()
    assert "a&lt;b" in page
    assert page.count("<tr>") == 2


@pytest.mark.parametrize(
    ("metres", "text"),
    [(1.5, "1.5 m"), (0.0999, "99.9 mm"), (1e-3, "1 mm"), (9.99999e-4, "1 mm"), (2e-8, "20 nm"), (1e-14, "0 m")],
)
def test_lengths_read_well(metres: float, text: str) -> None:
    assert say_length(metres) == text


def test_errors_are_those_of_an_independent_fk(panda: poise.Model) -> None:
    target = np.array([1.4, 0.2, 0.5])
    solution = poise.solve(panda, Reach(TIP, target))
    assert solution.errors[TIP][0] == pytest.approx(
        np.linalg.norm(panda.fk(solution.q, TIP)[:3, 3] - target), rel=1e-12
    )
    assert np.array_equal(solution.pose.q, solution.q)


def test_raise_if_missed(panda: poise.Model) -> None:
    good = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5)))
    assert good.raise_if_missed() is good
    with pytest.raises(GoalsMissed, match="Proved out of reach"):
        poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5))).raise_if_missed()


def test_status_is_of_its_own_call(panda: poise.Model) -> None:
    solver = poise.Solver(panda, Reach(TIP, (0.4, 0.2, 0.5)))
    far = solver.solve(targets={TIP: (1.4, 0.2, 0.5)})
    near = solver.solve(targets={TIP: (0.4, 0.2, 0.5)})
    assert (far.status, near.status) == (Status.UNREACHABLE, Status.REACHED)
    assert far.proof is not None
    assert near.proof is None


# ------------------------------------------------------------------------------------------------ pixels


def test_pixel_tolerance_is_what_a_pixel_covers() -> None:
    # a 90 degree view at 2 m is 4 m wide: 1000 pixels of 4 mm
    assert pixel_tolerance(2.0, field_of_view=math.pi / 2, resolution=1000, pixels=1.0) == pytest.approx(4e-3)
    assert pixel_tolerance(2.0, field_of_view=math.pi / 2, resolution=1000) == pytest.approx(4e-4)


@pytest.mark.parametrize(
    ("name", "value"), [("distance", math.nan), ("field_of_view", math.pi), ("resolution", 0), ("pixels", -1.0)]
)
def test_pixel_tolerance_rejects_by_name(name: str, value: float) -> None:
    given = {"distance": 1.0, "field_of_view": 1.0, "resolution": 100, "pixels": 0.1, name: value}
    with pytest.raises(InvalidValue, match=name):
        pixel_tolerance(given.pop("distance"), **given)  # type: ignore[arg-type]


# --------------------- Lengths of a body whose file is in another unit than metres are printed in that unit, everywhere


@pytest.mark.parametrize(("units", "size"), [("m", 1.0), ("cm", 100.0), ("in", 39.37), ("unknown", 7.0)])
def test_a_solution_and_its_reasons_have_the_unit_of_the_file(units: str, size: float) -> None:
    solution = poise.solve(
        build_two_links(elbow=(-2.0, 2.0), size=size, units=units), Reach("hand", (3.0 * size, 0.0, 0.0))
    )
    named = "units" if units == "unknown" else units
    for text in (str(solution), solution.why()):
        shown = re.findall(r"\d (m|dm|cm|mm|um|nm|in|ft|units)\b", text)
        assert shown
        assert set(shown) <= ({"m", "mm", "um", "nm"} if units == "m" else {named}), text
    assert f"{size:.3g} {named}" in solution.why()  # what is missing: one link


# ----------- A recorded solve has the same columns whoever ran it: the search, the levels, SciPy or the parts of a body


ARM = poise.load("iiwa14")
TARGET = ARM.fk(ARM.random(np.random.default_rng(2)), ARM.frames[-1])
FIGURE = poise.load("humanoid")
LOW = Reach("hand_l", (0.3, 0.3, 1.0))


@pytest.mark.parametrize(
    ("model", "goals", "options"),
    [
        (ARM, Reach(ARM.frames[-1], TARGET), {}),
        (ARM, [Reach(ARM.frames[-1], TARGET[:3, 3]), Orient(ARM.frames[-1], TARGET[:3, :3], priority=1)], {}),
        (ARM, Reach(ARM.frames[-1], TARGET), {"method": poise.methods.Scipy()}),
        (FIGURE, LOW, {"method": "sequential"}),
        (FIGURE, LOW, {"limits": Closed("hand_l", "hand_r", (0.0, -0.4, 0.0))}),
    ],
)
def test_every_row_says_what_the_pose_has(model: poise.Model, goals: Any, options: dict[str, Any]) -> None:
    if isinstance(options.get("method"), poise.methods.Scipy):
        pytest.importorskip("scipy")
    solver = poise.Solver(model, goals, record=True, **options)
    solution = solver.solve()
    history = solution.history
    assert history is not None
    assert len(history) >= 1
    assert history.q.shape == (len(history), model.nq)
    assert history.errors.shape == (len(history), len(solver.row_names), 2)
    assert history.search.min() >= 1
    assert (history.damping >= 0.0).all()
    for row in range(0, len(history), 1 + len(history) // 5):
        for k, name in enumerate(solver.row_names):
            goal = solver.goals[name]
            if isinstance(goal, Reach):
                wanted = np.asarray(goal.rows(model).target[9:12])
                apart = float(np.linalg.norm(model.fk(history.q[row], goal.frame)[:3, 3] - wanted))
                assert history.errors[row, k, 0] == pytest.approx(apart, abs=1e-9)


FLAT = poise.load("planar3")
NEAR, FAR = Reach("tip", (1.2, 1.5)), Reach("tip", (3.5, 0.0))
ALL = ["auto", "transpose", "dls", "sdls", "qr", "ccd", "fabrik", "halley"]
CASES = [(name, goal) for name in ALL for goal in (NEAR, FAR)] + [(name, [NEAR, Rest()]) for name in ("auto", "qr")]


@pytest.mark.parametrize(("method", "goals"), CASES)
@pytest.mark.parametrize("options", [{}, {"max_steps": 3, "restarts": 0}, {"max_steps": 5, "restarts": 2}])
def test_no_pose_is_in_two_rows_after_each_other(method: str, options: dict[str, Any], goals: Any) -> None:
    solution = poise.solve(FLAT, goals, method=method, record=True, **options)
    history = solution.history
    assert history is not None
    moved = (np.diff(history.q, axis=0) != 0.0).any(axis=1) | (np.diff(history.search) != 0)
    assert moved.all()
    assert len(history.cost) == len(history.damping) == len(history.errors) == len(history)
    path = history.end_at(solution.q)
    assert (path[-1] == solution.q).all()
    assert len(path) - len(history) == int((history.q[-1] != solution.q).any())
