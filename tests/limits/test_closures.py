"""Closures: the loops of a file, and solvers that keep them closed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from mjcf_files import load, mujoco
from poise.errors import FormatWarning, InvalidValue
from poise.goals import Reach
from poise.limits import Closed
from poise.model import Closure

pytestmark = pytest.mark.slow  # MuJoCo's compiler is a process

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


def four_bar(folder: Path, joining: str, **options: Any) -> poise.Model:
    return load(folder, LEFT + RIGHT, f"<equality>{JOININGS[joining]}</equality>", **options)


def measure_opening(model: poise.Model, q: np.ndarray) -> float:
    """Return the largest residual of MuJoCo's equality constraints."""
    m = mujoco.MjModel.from_xml_path(model.source)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    return float(np.abs(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]).max())


@pytest.mark.parametrize("joining", JOININGS)
def test_solutions_are_closed_for_mujoco(joining: str, tmp_path: Path) -> None:
    model = four_bar(tmp_path, joining)
    assert len(model.closures) == 1
    rng, reached = np.random.default_rng(0), 0
    for angle in rng.uniform(-0.4, 0.4, 6):
        wanted = model.fk([angle, 0, 0, 0], "rod")[:3, 3]
        solution = poise.solve(model, Reach("rod", wanted))
        reached += solution.reached
        assert measure_opening(model, solution.q) < 1e-7
    assert reached == (0 if joining == "weld sites" else 6)  # these make the four bars rigid


def test_batches_and_steps_hold_it_too(tmp_path: Path) -> None:
    model = four_bar(tmp_path, "connect")
    wanted = model.fk(np.outer(np.linspace(-0.4, 0.4, 9), [1, 0, 0, 0]), "rod")[:, :3, 3]
    batch = poise.solve_batch(model, Reach("rod", wanted[0]), wanted)
    assert batch.reached.all()
    assert max(measure_opening(model, q) for q in batch.q) < 1e-7
    solver, q = poise.Solver(model, Reach("rod", wanted[0])), model.rest
    for _ in range(20):
        q = solver.step(q, 0.02).q
        assert measure_opening(model, q) < 1e-7
    assert solver.copy().solve().reached
    again = [poise.solve(model, Reach("rod", target)).reached for target in wanted]  # the cached problem
    assert all(again)


@pytest.mark.parametrize("joining", JOININGS)
@pytest.mark.parametrize("suffix", ["json", "urdf"])
def test_files_keep_it(joining: str, suffix: str, tmp_path: Path) -> None:
    model = four_bar(tmp_path, joining)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        again = poise.load(poise.save(model, tmp_path / f"bars.{suffix}"))
    assert again.closures == model.closures
    scaled = four_bar(tmp_path, joining, scale=0.1)
    T = scaled.fk(scaled.rest, "rod")
    assert np.allclose(T[:3, 3], 0.1 * model.fk(model.rest, "rod")[:3, 3])
    if joining in ("connect", "weld"):
        assert poise.solve(scaled, Reach("rod", T[:3, 3])).reached


def test_edits_keep_it_and_parts_without_it_say_so(tmp_path: Path) -> None:
    model = four_bar(tmp_path, "connect")
    assert model.with_frame("tool", "rod").with_roles({"hand": "tool"}).closures == model.closures
    part = model.subtree("crank")
    assert part.closures == ()
    assert any("rod" in note and "open" in note for note in part.notes)
    rigid = model.locked(dict.fromkeys("abcd", 0.0))
    free = replace(rigid.closures[0])
    assert free == model.closures[0]
    arm = poise.ModelBuilder("arm").add_joint("x", None, "revolute", lower=-1, upper=1)
    arm.add_frame("one", "x").add_frame("two", "x").add_closure("one", "two")  # on one rigid part: nothing to hold
    assert poise.solve(arm.build(), Reach("one", (0, 0, 0))).reached


def test_it_can_be_replaced_and_switched_off(tmp_path: Path) -> None:
    model = four_bar(tmp_path, "connect")
    own = model.closures[0]
    other = Closed(own.frame, own.other, (0.0, 0.0, 0.9), point=own.point)
    assert poise.Solver(model, Reach("rod", (0, 0, 1)), limits=other).options.limits == (other,)
    assert poise.Solver(model, Reach("rod", (0, 0, 1)), limit_handling="off").options.limits == ()
    with pytest.raises(InvalidValue, match="Closed"):
        poise.solve(model, Reach("rod", (0, 0, 1)), method="ccd")


def test_other_constraints_are_named(tmp_path: Path) -> None:
    mocap = '<body name="handle" mocap="true"/>'
    idle = JOININGS["connect"].replace("/>", ' active="false"/>')
    equality = f'<equality><weld body1="rod" body2="handle"/>{idle}</equality>'
    with pytest.warns(FormatWarning, match="left out"):
        model = load(tmp_path, LEFT + RIGHT + mocap, equality)
    assert model.closures == ()
    assert any("not active" in note for note in model.notes)


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
