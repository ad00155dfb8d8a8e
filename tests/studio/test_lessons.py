"""Lessons of the studio and the pages match the solver: the damping drawn, and the settings shown."""

from __future__ import annotations

import re

import numpy as np
import pytest

import poise
from paths import DOCS
from poise import Solver, methods
from poise.goals import Reach
from poise.methods import DLS, LM, Method, find_method
from poise.studio.panel import lesson
from poise.studio.panel.charts import EQUATIONS, describe_step, draw_bars
from poise.studio.puppet import Puppet

SHELF = (DOCS / "shelf.md").read_text("utf-8")


def reaching(method: Method) -> Puppet:
    puppet = Puppet(poise.load("panda"))
    puppet.change(method=method)
    handle = next(iter(puppet.handles))
    puppet.rig.reach(handle, puppet.transform(handle)[:3, 3] + np.array((0.1, 0.25, -0.2)))
    return puppet


@pytest.mark.parametrize(
    "method", [LM(), LM(damping=0.2), find_method("auto"), DLS(damping=0.3), find_method("halley")], ids=str
)
def test_the_damping_that_is_drawn_is_the_one_in_use(method: Method) -> None:
    puppet = reaching(method)
    start = np.array(puppet.model.rest)
    used = lesson.find_damping(puppet, start)
    assert used is not None
    solution = puppet.solve(start, record=True, flat=True)
    history = solution.history
    assert history is not None
    if isinstance(method, DLS):
        assert used == pytest.approx((0.3, 0.3))
        return
    wanted = np.sqrt(method.damping * history.cost[:-1] + method.floor)  # type: ignore[attr-defined]
    steps = history.search[1:] == history.search[:-1]
    assert used[0] == pytest.approx(wanted[steps].max(), rel=1e-6)
    assert used[1] <= wanted[steps][0] / 2  # it falls with the error
    picture = draw_bars(np.array([0.5, 0.2, 0.01]), used)
    assert f"damping {used[0]:.2g} to {used[1]:.2g}" in picture
    assert picture.count("<line") == 2


@pytest.mark.parametrize("name", ["transpose", "pseudoinverse", "ccd"])
def test_a_method_without_damping_has_none_drawn(name: str) -> None:
    puppet = reaching(find_method(name))
    assert lesson.find_damping(puppet, np.array(puppet.model.rest)) is None
    assert "damping" not in draw_bars(np.array([0.5]), None)


def test_nothing_to_do_is_not_damped() -> None:
    puppet = reaching(LM())
    there = puppet.solve(flat=True).q
    assert lesson.find_damping(puppet, there) is None


# ------------------------------------------------------------------------------------------------ one step


@pytest.mark.parametrize("name", ["transpose", "pseudoinverse", "dls", "lm"])
def test_one_step_says_what_was_predicted_and_what_was_so(name: str) -> None:
    puppet = reaching(find_method(name))
    handle, model = next(iter(puppet.handles)), puppet.model
    step = lesson.take_step(puppet, handle, np.array(model.rest))
    assert step is not None
    frame = puppet.handles[handle].frame
    there, here = (model.fk(q, frame)[:3, 3] for q in (step.after, step.q))
    assert step.moved == pytest.approx(there - here)
    assert step.predicted == pytest.approx(model.jacobian(step.q, frame)[:3] @ step.dq)
    assert step.left == pytest.approx(np.linalg.norm(puppet.find_target(handle)[:3] - there), abs=1e-9)
    assert (step.damping is None) == (name in ("transpose", "pseudoinverse"))
    message = describe_step(model, name, handle, step)
    assert EQUATIONS[name] in message
    assert f"{1e3 * step.moved[0]:.1f}" in message
    assert f"{step.J[0, 0]:.3f}" in message
    if step.damping is not None:
        assert f"{step.damping:.3g} L" in message


@pytest.mark.parametrize(("name", "modes", "turns"), [("planar2", 0, True), ("planar3", 1, True), ("panda", 1, False)])
def test_planar_arms_have_a_null_space_too(name: str, modes: int, turns: bool) -> None:
    puppet = Puppet(poise.load(name))
    handle = next(iter(puppet.handles))
    q = np.array(puppet.model.rest) + 0.3
    puppet.place(puppet.model.clamp(q))
    walk = lesson.Wanderer(puppet, handle, 0)
    assert (walk.modes, walk.turns) == (modes, turns)
    if modes:
        before, frame = puppet.q, puppet.handles[handle].frame
        after = walk.go(0.4)
        assert np.abs(after - before).max() > 0.1
        place, came = (puppet.model.fk(at, frame) for at in (before, after))
        assert came[:3, 3] == pytest.approx(place[:3, 3], abs=1e-3)


# ------------------------------------------------------------------------------------------------ settings on the page

TOLD = [
    (name, setting, value)
    for name, text in re.findall(r"^### (\w+)\n(.*?)(?=^##)", SHELF, re.MULTILINE | re.DOTALL)
    if name in methods.names()
    for line in re.findall(r"\*\*Settings:\*\*(.*?)(?=\n- )", text, re.DOTALL)
    for setting, value, unit in re.findall(r"`(\w+)`(?: \$[^$]*\$)?(?: \(|, )(\d[\d.e-]*)( degrees)?", line)
    if not unit
]


@pytest.mark.parametrize(("name", "setting", "value"), TOLD)
def test_the_page_states_the_actual_defaults(name: str, setting: str, value: str) -> None:
    assert float(value) == pytest.approx(getattr(find_method(name), setting))


def test_the_page_states_some_defaults() -> None:
    assert {("lm", "damping"), ("dls", "damping"), ("halley", "floor")} <= {message[:2] for message in TOLD}


def test_lm_takes_its_damping_from_the_error_as_the_pages_say() -> None:
    model = poise.load("panda")
    solution = Solver(model, Reach(model.frames[-1], (0.4, 0.3, 0.5)), record=True, restarts=0).solve()
    history = solution.history
    assert history is not None
    said = re.search(r"lambda\^2 = ([\d.]+)\\,\|r\|\^2", (DOCS / "failures.md").read_text("utf-8"))
    assert said is not None
    assert history.damping[1] == pytest.approx(float(said[1]) * history.cost[0] + 1e-6, rel=1e-9)


@pytest.mark.parametrize("joints", [1, 2, 3, 6])
def test_the_ellipsoid_of_any_number_of_joints_is_where_unit_steps_go(joints: int) -> None:
    builder, rng = poise.ModelBuilder(), np.random.default_rng(joints)
    above = None
    for k in range(joints):
        builder.add_joint(f"j{k}", above, "revolute", axis=rng.normal(size=3), offset=rng.normal(size=3))
        above = f"j{k}"
    builder.add_frame("tip", above, (0.3, -0.2, 0.5))
    model = builder.build()
    q = model.random(rng)
    axes, half = lesson.find_ellipsoid(model, q, "tip")
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    J = model.jacobian(q, "tip")[:3]
    assert axes @ np.diag(half**2) @ axes.T == pytest.approx(J @ J.T, abs=1e-12)


@pytest.mark.parametrize("name", ["planar2", "planar3"])
def test_a_planar_body_is_taught_without_the_row_that_never_moves(name: str) -> None:
    puppet = Puppet(poise.load(name))
    handle, model = next(iter(puppet.handles)), puppet.model
    puppet.rig.reach(handle, puppet.transform(handle)[:3, 3] + np.array((0.1, -0.2, 0.0)))
    step = lesson.take_step(puppet, handle, np.array(model.rest))
    assert step is not None
    assert (step.axes, step.J.shape, step.e.shape, step.moved.shape) == ("xy", (2, model.nv), (2,), (2,))
    message = describe_step(model, "lm", handle, step)
    assert "<td>y</td>" in message
    assert "<td>z</td>" not in message
    assert lesson.find_moving_rows(model) == [0, 1]
    assert lesson.find_moving_rows(poise.load("panda")) == [0, 1, 2]


def test_a_planar_body_in_another_plane_keeps_the_rows_of_that_plane() -> None:
    builder = poise.ModelBuilder("upright")
    builder.add_joint("a", None, "revolute", axis=(0, 1, 0))
    builder.add_joint("b", "a", "revolute", axis=(0, 1, 0), offset=(0.3, 0.0, 0.0))
    puppet = Puppet(builder.add_frame("tip", "b", (0.3, 0.0, 0.1)).build())
    handle = next(iter(puppet.handles))
    puppet.rig.reach(handle, puppet.transform(handle)[:3, 3] + np.array((0.0, 0.0, 0.1)))
    step = lesson.take_step(puppet, handle, np.array(puppet.model.rest) + 0.2)
    assert step is not None
    assert step.axes == "xz"
