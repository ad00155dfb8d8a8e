"""Limits speak for themselves, in answers and over time: rows, closures, braking, speeds of files."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from bodies import random_model
from driven_bodies import drive_randomly
from limit_oracle import check_rates, start_at_ends
from mjcf_files import load, mujoco
from poise import Solver
from poise.errors import FormatWarning, InvalidValue
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Closed, Cone, Coupled, HalfSpace, Limit, Speed
from poise.limits.limit import LimitRow, LimitRows, RateBounds, name_limits
from poise.model import Closure, Model, ModelBuilder
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


def build_planar() -> Model:
    """Return an arm of three turns, each of which may turn by 2 rad."""
    builder = ModelBuilder("arm")
    for k in range(3):
        parent, offset = (f"j{k - 1}", (1.0, 0.0, 0.0)) if k else (None, None)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, lower=-2.0, upper=2.0)
    return builder.add_frame("tip", "j2", (1.0, 0.0, 0.0)).build()


def test_a_custom_limit_is_kept_and_reported_by_name():
    model, limit = build_planar(), Fold(("j0", "j1", "j2"), 0.5)
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


# ----------------------------------------------------- Closures: the loops of a file, and solvers that keep them closed


BAR = '<geom type="capsule" size="0.01" fromto="0 0 0 {0}"/>'
RANGE = 'range="-150 150"'
LEFT = (
    f'<body name="crank"><joint name="a" axis="0 1 0" {RANGE}/>{BAR.format("0 0 1")}'
    f'<body name="rod" pos="0 0 1"><joint name="b" axis="0 1 0" {RANGE}/>{BAR.format("2 0 0")}'
    '<site name="tip" pos="2 0 0"/></body></body>'
)
RIGHT = (
    f'<body name="rocker" pos="2 0 0"><joint name="c" axis="0 1 0" {RANGE}/>{BAR.format("0 0 1")}'
    '<site name="end" pos="0 0 1"/><body name="cap" pos="0 0 1" euler="0 20 0">'
    f'<joint name="d" axis="0 1 0" {RANGE}/>{BAR.format("0 0 0.1")}</body></body>'
)
JOININGS = {
    "connect": '<connect body1="rod" body2="rocker" anchor="2 0 0"/>',
    "connect sites": '<connect site1="tip" site2="end"/>',
    "weld": '<weld body1="rod" body2="cap"/>',
    "weld turned": '<weld body1="cap" body2="rod" anchor="0.3 0 0.2" relpose="-1.6 0 0.3 0.99 0 0.1 0"/>',
    "weld sites": '<weld site1="tip" site2="end"/>',
}


def build_four_bar(folder: Path, joining: str, **options: Any) -> poise.Model:
    return load(folder, LEFT + RIGHT, f"<equality>{JOININGS[joining]}</equality>", **options)


def measure_opening(model: poise.Model, q: np.ndarray) -> float:
    """Return the largest residual of MuJoCo's equality constraints."""
    m = mujoco.MjModel.from_xml_path(model.source)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    return float(np.abs(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]).max())


@pytest.mark.slow
@pytest.mark.parametrize("joining", JOININGS)
def test_solutions_are_closed_for_mujoco(joining: str, tmp_path: Path) -> None:
    model = build_four_bar(tmp_path, joining)
    assert len(model.closures) == 1
    rng, reached = np.random.default_rng(0), 0
    for angle in rng.uniform(-0.4, 0.4, 6):
        wanted = model.fk([angle, 0, 0, 0], "rod")[:3, 3]
        solution = poise.solve(model, Reach("rod", wanted))
        reached += solution.reached
        assert measure_opening(model, solution.q) < 1e-7
    assert reached == (0 if joining == "weld sites" else 6)  # these make the four bars rigid


@pytest.mark.slow
def test_batches_and_steps_hold_it_too(tmp_path: Path) -> None:
    model = build_four_bar(tmp_path, "connect")
    wanted = model.fk(np.outer(np.linspace(-0.4, 0.4, 9), [1, 0, 0, 0]), "rod")[:, :3, 3]
    batch = poise.solve_batch(model, Reach("rod", wanted[0]), wanted)
    assert batch.reached.all()
    assert max(measure_opening(model, q) for q in batch.q) < 1e-7
    solver, q = poise.Solver(model, Reach("rod", wanted[0])), model.rest
    for _ in range(20):
        q = solver.step(q, 0.02).q
        assert measure_opening(model, q) < 1e-7
    assert solver.copy().solve().reached
    assert all(poise.solve(model, Reach("rod", target)).reached for target in wanted)  # the cached problem


@pytest.mark.slow
@pytest.mark.parametrize("joining", JOININGS)
@pytest.mark.parametrize("suffix", ["json", "urdf"])
def test_files_keep_it(joining: str, suffix: str, tmp_path: Path) -> None:
    model = build_four_bar(tmp_path, joining)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        again = poise.load(poise.save(model, tmp_path / f"bars.{suffix}"))
    assert again.closures == model.closures
    scaled = build_four_bar(tmp_path, joining, scale=0.1)
    T = scaled.fk(scaled.rest, "rod")
    assert np.allclose(T[:3, 3], 0.1 * model.fk(model.rest, "rod")[:3, 3])
    if joining in ("connect", "weld"):
        assert poise.solve(scaled, Reach("rod", T[:3, 3])).reached


@pytest.mark.slow
def test_edits_keep_it_and_parts_without_it_say_so(tmp_path: Path) -> None:
    model = build_four_bar(tmp_path, "connect")
    assert model.with_frame("tool", "rod").with_roles({"hand": "tool"}).closures == model.closures
    part = model.subtree("crank")
    assert part.closures == ()
    assert any("rod" in note and "open" in note for note in part.notes)
    rigid = model.locked(dict.fromkeys("abcd", 0.0))
    assert replace(rigid.closures[0]) == model.closures[0]
    arm = poise.ModelBuilder("arm").add_joint("x", None, "revolute", lower=-1, upper=1)
    arm.add_frame("one", "x").add_frame("two", "x").add_closure("one", "two")  # on one rigid part: nothing to hold
    assert poise.solve(arm.build(), Reach("one", (0, 0, 0))).reached


@pytest.mark.slow
def test_it_can_be_replaced_and_switched_off(tmp_path: Path) -> None:
    model = build_four_bar(tmp_path, "connect")
    own = model.closures[0]
    other = Closed(own.frame, own.other, (0.0, 0.0, 0.9), point=own.point)
    assert poise.Solver(model, Reach("rod", (0, 0, 1)), limits=other).options.limits == (other,)
    assert poise.Solver(model, Reach("rod", (0, 0, 1)), limit_handling="off").options.limits == ()
    with pytest.raises(InvalidValue, match="Closed"):
        poise.solve(model, Reach("rod", (0, 0, 1)), method="ccd")


@pytest.mark.slow
def test_other_constraints_are_named(tmp_path: Path) -> None:
    mocap = '<body name="handle" mocap="true"/>'
    idle = JOININGS["connect"].replace("/>", ' active="false"/>')
    equality = f'<equality><weld body1="rod" body2="handle"/>{idle}</equality>'
    with pytest.warns(FormatWarning, match="left out"):
        model = load(tmp_path, LEFT + RIGHT + mocap, equality)
    assert model.closures == ()
    assert any("not active" in note for note in model.notes)


@pytest.mark.slow
def test_a_builder_closes_loops() -> None:
    builder = poise.ModelBuilder().add_joint("a", None, "revolute").add_joint("b", "a", "revolute", offset=(1, 0, 0))
    model = (
        builder.add_frame("tip", "b", (1, 0, 0))
        .add_frame("post", None, (1, 1, 0))
        .add_closure("tip", "post", (0, 0, 0))
        .build()
    )
    assert model.closures == (Closure("tip", "post", (0.0, 0.0, 0.0)),)
    solution = poise.solve(model, Reach("b", (0.0, 1.0, 0.0)), start=[1.2, -1.0])
    assert solution.reached
    assert np.allclose(model.fk(solution.q, "tip")[:3, 3], (1, 1, 0), atol=1e-8)
    with pytest.raises(InvalidValue, match="two frames"):
        builder.add_closure("tip", "tip")


# ------------------- Braking: ranges, speeds and accelerations hold together in every time step, whatever the goals ask


def step_along(solver, q, dt, targets, velocity=None):
    """The poses of a body that is led to one target after the other."""
    out = [q]
    for target in targets:
        solution = solver.step(out[-1], dt, {solver.row_names[0]: target}, velocity=velocity)
        velocity = solution.velocity
        out.append(np.array(solution.q))
    return np.array(out)


@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("body", ["ur5e", "panda", 0, 1, 2, 3], ids=str)
def test_every_step_keeps_range_speed_and_acceleration(body, rate):
    model = poise.load(body) if isinstance(body, str) else random_model(body, joints=8)
    rng = np.random.default_rng(len(model.frames))
    for speed, acceleration in ((np.inf, 3.0), (0.5, 50.0), (2.0, 0.5)):
        solver = Solver(model, Reach(model.frames[-1], (0, 0, 0)), limits=[Speed(speed), Acceleration(acceleration)])
        far = model.length * rng.choice([0.3, 1.0, 10.0], size=(3, 1)) * rng.normal(size=(3, 3))
        q = step_along(solver, start_at_ends(model, rng), 1.0 / rate, np.repeat(far, 12, axis=0))
        check_rates(model, q, 1.0 / rate, speed, acceleration)


def test_joints_that_no_goal_moves_slow_down():
    model = poise.load("ur5e")
    solver = Solver(model, Reach("forearm_link", (0.3, 0.2, 0.4)), limits=Acceleration(3.0))
    before = np.full(model.nv, 0.5)
    after = solver.step(model.rest, 0.01, velocity=before).velocity
    assert np.abs(after - before).max() <= 0.03 * (1.0 + 1e-9)
    assert (after[3:] < before[3:]).all()


def test_joints_that_are_left_out_stay():
    model = poise.load("ur5e")
    solver = Solver(model, Reach("tool0", (0.3, 0.2, 0.4)), limits=Acceleration(3.0), joints=["elbow_joint"])
    moved = solver.step(model.rest, 0.01, velocity=np.full(model.nv, 0.5)).velocity
    assert np.flatnonzero(moved).tolist() == [2]


# ----------------------------------------------------------- Speed() without a number: the velocity limits of the model


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_mapping_of_the_joints_own_limits(seed: int) -> None:
    model = drive_randomly(seed)
    own = {joint.name: joint.velocity for joint in model.joints if joint.nv or joint.mimic}
    assert np.array_equal(Speed().bounds(model), Speed(own).bounds(model))
    assert np.isfinite(Speed().bounds(model)).any()


def test_a_step_holds_it() -> None:
    builder = poise.ModelBuilder("arm").add_joint("a", None, "revolute", velocity=0.5)
    builder.add_joint("b", "a", "revolute", offset=(1, 0, 0), velocity=2.0)
    builder.add_joint("c", "b", "revolute", offset=(1, 0, 0)).add_frame("tip", "c", (1, 0, 0))
    model = builder.build()
    solver = poise.Solver(model, Reach("tip", (-1, 1, 0)), limits=Speed())
    fastest, q = np.zeros(3), np.array([0.1, 0.2, 0.1])
    for _ in range(20):
        step = solver.step(q, 0.1)
        q, fastest = step.q, np.maximum(fastest, np.abs(step.velocity))
    assert (fastest[:2] <= [0.5 + 1e-12, 2.0 + 1e-12]).all()
    assert fastest[0] > 0.4
    assert Speed().describe(model) == ["Speed() leaves joints without a velocity limit free: c."]
    assert Speed(1.0).describe(model) == []
