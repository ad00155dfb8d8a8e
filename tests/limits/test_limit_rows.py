"""Limits speak for themselves: one class says what the kernels compute, what stands in the answer, and what is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Closed, Cone, Coupled, HalfSpace, Limit, Speed
from poise.limits.limit import LimitRow, LimitRows, RateBounds, name_limits
from poise.model import Model, ModelBuilder
from poise.native import core
from poise.solvers.limit_tables import gather_limits

FIGURE = poise.load("humanoid")


@dataclass(frozen=True)
class Fold(Limit):
    """A limit that the library does not know: the turns of some joints add up to at most so much."""

    joints: tuple[str, ...]
    most: float

    def __post_init__(self) -> None:
        self.settle("fold")

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return the one row, by the operation that coupled ranges have."""
        terms = tuple((model.joint(name).q.start, model.joint(name).v.start, 1.0) for name in self.joints)
        return LimitRows((LimitRow(core.LimitOp.COUPLED, (-1.0, self.most), terms=terms, end=self.most),))


def planar() -> Model:
    """Return an arm of three turns, each of which may turn by 2 rad."""
    builder = ModelBuilder("arm")
    for k in range(3):
        parent, offset = (f"j{k - 1}", (1.0, 0.0, 0.0)) if k else (None, None)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, lower=-2.0, upper=2.0)
    return builder.add_frame("tip", "j2", (1.0, 0.0, 0.0)).build()


def test_a_custom_limit_is_kept_and_reported_by_name():
    model, limit = planar(), Fold(("j0", "j1", "j2"), 0.5)
    target = model.fk(np.array([1.0, 1.0, 0.5]), "tip")[:3, 3]
    solution = poise.solve(model, Reach("tip", target), limits=[limit])
    assert solution.q.sum() <= 0.5
    (held,) = (found for found in solution.active_limits if found.limit == "fold")
    assert (held.kind, held.side, held.end) == ("fold", "upper", 0.5)
    assert held.multiplier > 0.0
    assert held.value == pytest.approx(0.5, abs=1e-6)
    assert "at the highest value that 'fold' allows, 0.5" in solution.why()
    assert "without the limit 'fold'" in solution.why()
    with pytest.raises(poise.errors.InvalidValue, match="not Fold"):
        poise.Solver(model, Reach("tip", target), limits=[limit], method="ccd")


@pytest.mark.parametrize("order", [1, -1])
def test_every_row_is_one_number_of_the_kernels_and_says_what_it_is(order: int):
    low, high = FIGURE.joint("elbow_l"), FIGURE.joint("elbow_r")
    limits = [
        Coupled({low.name: 1.0, high.name: -2.0}, lower=-3.0, upper=4.0, name="sum"),
        Closed("hand_l", "hand_r", (0.1, 0.0, 0.0), name="bar"),
        Clearance(distance=0.01, world=[HalfSpace((0, 0, -3.0), (0, 0, 1))], name="apart"),
        Speed(2.0),
        Acceleration(9.0),
    ][::order]
    solver = poise.Solver(FIGURE, Reach("hand_l", (0.3, 0.3, 1.0)), limits=limits)
    tables = gather_limits(FIGURE, name_limits(limits), np.ones(FIGURE.nv, dtype=bool))
    q = FIGURE.random(np.random.default_rng(1))
    gaps, _, _ = solver.problem.gaps(q)
    assert len(gaps) == len(tables.rows)
    assert list(tables.loops) == ["bar"]
    assert all(rule.kind == "cone" or rule.limit in ("sum", "apart") for rule in tables.rows)
    total = q[low.q.start] - 2.0 * q[high.q.start]
    for rule, gap in zip(tables.rows, gaps, strict=True):
        if rule.limit == "sum":
            sign = 1.0 if rule.row.side == "lower" else -1.0
            assert rule.row.end + sign * gap * rule.row.unit == pytest.approx(total)
        if rule.limit == "apart":
            assert len(rule.row.between) == 2
            assert rule.row.end == 0.01


def test_the_order_of_limits_does_not_change_the_kernels_table():
    """Between the kinds: within one kind limits stand as they are given."""
    limits = {"sum": Coupled({"elbow_l": 1.0}, upper=1.0), "apart": Clearance(distance=0.01)}
    moves = np.ones(FIGURE.nv, dtype=bool)
    one = gather_limits(FIGURE, limits, moves).make_native(FIGURE)
    other = gather_limits(FIGURE, dict(reversed(limits.items())), moves).make_native(FIGURE)
    np.testing.assert_equal(one, other)


def test_cones_have_a_row_for_each_rule_and_the_last_limit_names_them():
    builder = ModelBuilder("ball")
    builder.add_joint("a", None, "ball", cone=poise.model.BallRange(swing=0.5, twist=(-0.2, 0.3)))
    builder.add_joint("b", "a", "ball", offset=(0, 0, 1.0), cone=poise.model.BallRange())
    model = builder.build()
    moves = np.ones(model.nv, dtype=bool)
    own = gather_limits(model, {}, moves)
    assert [(rule.limit, rule.row.part, rule.row.side) for rule in own.rows] == [
        ("", "swing", "upper"),
        ("", "twist", "lower"),
        ("", "twist", "upper"),
    ]
    limits = name_limits([Cone("a", angle=1.0, name="one"), Cone("a", swing=(0.3, 0.2), name="two")])
    found = gather_limits(model, limits, moves)
    assert {rule.limit for rule in found.rows} == {"two"}
    assert [(rule.row.part, rule.row.end) for rule in found.rows if rule.row.part in ("swing", "angle")] == [
        ("swing", 0.2),
        ("angle", 1.0),
    ]
    assert not gather_limits(model, limits, np.zeros(model.nv, dtype=bool)).rows


def test_names_that_hold_the_word_and_stay_whole():
    builder = ModelBuilder("condiments").add_joint("salt and pepper", None, "free")
    model = builder.add_shape("salt and pepper", poise.model.Sphere(0.1)).build()
    limits = name_limits([Clearance(pairs=[], distance=0.01, world=[HalfSpace((0, 0, -3.0), (0, 0, 1))])])
    rows = gather_limits(model, limits, np.ones(model.nv, dtype=bool)).rows
    assert rows
    assert all(rule.row.between == ("salt and pepper", "a half-space") for rule in rows)


def test_limits_about_time_say_so_and_have_no_rows():
    for limit in (Speed(1.0), Acceleration(1.0)):
        assert limit.timed
        assert limit.rows(FIGURE, np.ones(FIGURE.nv, dtype=bool)) == LimitRows()
    for name in vars(poise.limits)["__all__"]:
        kind = getattr(poise.limits, name)
        if isinstance(kind, type) and issubclass(kind, Limit):
            assert kind.timed == (name in ("Speed", "Acceleration"))


@dataclass(frozen=True)
class Gentle(Limit):
    """A limit about time that the library does not know: slow joints, that change their speed slowly."""

    most: float
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.settle("gentle")

    def bound_rates(self, model: Model) -> RateBounds:
        return RateBounds(np.full(model.nv, self.most), np.full(model.nv, 10.0 * self.most))


def test_a_limit_about_time_that_the_library_does_not_know_is_kept():
    arm, dt, most = poise.load("panda"), 0.01, 0.5
    solver = poise.Solver(arm, [Reach("panda_hand", (0.4, 0.3, 0.6))], limits=[Gentle(most)])
    q, v, fastest = np.array(arm.rest), np.zeros(arm.nv), 0.0
    for _ in range(60):
        found = solver.step(q, dt, velocity=v)
        change = np.abs(found.velocity - v).max()
        assert change <= 10.0 * most * dt * (1.0 + 1e-9)
        q, v, fastest = found.q, found.velocity, max(fastest, float(np.abs(found.velocity).max()))
    assert 0.99 * most < fastest <= most * (1.0 + 1e-9)
    with pytest.raises(poise.errors.InvalidValue, match="Gentle"):
        poise.solve(arm, Reach("panda_hand", (0.4, 0.3, 0.6)), limits=[Gentle(most)])
