"""The figures of the texts: each is one call of `poise.plot`, with the right lines, names and counts in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise import textbook
from poise.errors import InvalidValue
from poise.goals import Orient, Reach
from poise.solvers import race

FLAT, TREE, PANDA = poise.load("planar3"), poise.load("tree30"), poise.load("panda")
BEND, FAR = np.radians([30.0, 40.0, 50.0]), Reach("tip", (-1.6, 1.1))


def move_in_frames(J: Any, e: Any, k: int) -> Any:
    """A straight line in 20 steps."""
    return textbook.truncated_svd_inverse(J) @ e / (20 - k)


LINE = textbook.loop(FLAT, BEND, FAR, step=move_in_frames, max_steps=20)
TURNS = textbook.loop(FLAT, BEND, Reach("tip", (1.0, -1.5)), step=textbook.ccd_step, max_steps=12)
STROKES = textbook.loop(FLAT, BEND, Reach("tip", (1.0, -1.5)), step=textbook.fabrik_step, max_steps=3)


def list_axes(thing: Any, **options: Any) -> list[Any]:
    picture = poise.plot(thing, **options)
    picture.figure.canvas.draw()
    return list(picture.figure.axes)


def test_all_frames_are_drawn_over_one_another_with_their_number() -> None:
    (axes,) = list_axes(LINE, layout="overlay")
    assert axes.get_xlabel() == "Total: 21 frames"
    pale = [line for line in axes.lines if (line.get_alpha() or 1.0) < 1.0]
    assert len(pale) == 20
    motion = poise.Motion(FLAT, LINE.poses, 30)
    (again,) = list_axes(motion, layout="overlay")
    assert again.get_xlabel() == "Total: 21 frames"
    recorded = poise.solve(FLAT, FAR, BEND, method="dls", record=True)
    (found,) = list_axes(recorded, layout="overlay")
    assert found.get_xlabel() == f"Total: {len(recorded.history)} frames"


def test_biases_are_drawn_side_by_side() -> None:
    names = ["no bias", "alpha = [0.1, 0.5, 0.1]"]
    panels = list_axes(dict.fromkeys(names, LINE), layout="overlay")
    assert [axes.get_title(loc="left") for axes in panels] == names
    assert len({axes.get_xlim() for axes in panels}) == 1


def test_a_loop_is_drawn_with_its_errors() -> None:
    goals = [
        Reach("panda_hand_tcp", (0.4, 0.3, 0.5)),
        Orient("panda_hand_tcp", PANDA.fk(PANDA.rest, "panda_hand_tcp")[:3, :3], name="turn"),
    ]
    trace = textbook.loop(PANDA, PANDA.rest, goals, max_steps=4)
    left, right = list_axes(trace)
    assert left.get_xlabel() == "Total: 5 frames"
    assert [line.get_label() for line in right.lines] == ["panda_hand_tcp [m]", "turn [rad]"]
    np.testing.assert_allclose(right.lines[0].get_ydata(), trace.errors[:, 0, 0])


def test_errors_of_all_rules_share_one_pair_of_axes() -> None:
    runs = textbook.run_rules(FLAT, BEND, Reach("tip", (1.2, 1.5)), max_steps=5)
    runs["dls"] = poise.solve(FLAT, Reach("tip", (1.2, 1.5)), BEND, method="dls", record=True)
    (axes,) = list_axes(runs)
    assert [line.get_label() for line in axes.lines] == [*textbook.RULES, "dls"]
    assert axes.get_yscale() == "log"


def test_ccd_is_drawn_joint_by_joint_and_fabrik_stroke_by_stroke() -> None:
    joints = [axes.get_title(loc="left") for axes in list_axes(TURNS, layout="steps")]
    assert joints[:4] == ["1: joint_3", "2: joint_2", "3: joint_1", "4: joint_3"]
    assert len(joints) == 8
    assert joints[-1].startswith(f"{len(TURNS) - 1}: ")
    strokes = [axes.get_title(loc="left") for axes in list_axes(STROKES, layout="steps")]
    assert strokes == ["1: backward", "1: forward", f"{len(STROKES) - 1}: forward"]  # those between look the same
    slower = textbook.loop(FLAT, BEND, Reach("tip", (2.6, -1.2)), step=textbook.fabrik_step)
    strokes = [axes.get_title(loc="left") for axes in list_axes(slower, layout="steps")]
    assert strokes[:4] == ["1: backward", "1: forward", "2: backward", "2: forward"]


@pytest.mark.parametrize("trace", [TURNS, STROKES], ids=["ccd", "fabrik"])
def test_the_last_panel_shows_the_pose_that_arrives(trace: textbook.LoopTrace) -> None:
    lines = [line.get_xydata() for line in list_axes(trace, layout="steps")[-1].lines]
    tip = FLAT.fk(trace.q, "tip")[:2, 3]
    assert min(np.nanmin(np.linalg.norm(np.asarray(line) - tip, axis=1)) for line in lines if len(line) > 1) < 1e-3


def test_steps_are_chosen_by_number() -> None:
    titles = [axes.get_title(loc="left") for axes in list_axes(TURNS, layout="steps", steps=(2, 5, 999))]
    assert titles == ["2: joint_2", "5: joint_2"]
    with pytest.raises(InvalidValue, match="steps="):
        poise.plot(TURNS, layout="steps", steps=(999,))


@pytest.mark.parametrize(("model", "frames"), [(FLAT, ["tip"]), (TREE, ["end_1"]), (TREE, ["end_1", "end_2"])])
def test_arrows_are_the_columns_and_joints_off_the_path_are_grey(model: poise.Model, frames: list[str]) -> None:
    q = model.random(np.random.default_rng(0))
    blocks = textbook.find_blocks(model, q, frames)
    (axes,) = list_axes(blocks, layout="arrows")
    ends = [np.subtract(arrow.xy, arrow.xyann) for arrow in axes.texts]
    assert len(ends) == sum(
        np.count_nonzero(np.abs(blocks.matrix[3 * k : 3 * k + 3]).max(axis=0)) for k in range(len(frames))
    )
    if model is FLAT:
        ratio = np.linalg.norm(ends, axis=1) / np.linalg.norm(blocks.matrix, axis=0)
        np.testing.assert_allclose(ratio, ratio[0])
    grey = [line for line in axes.lines if line.get_color() == "#e6e6e6"]
    assert len(grey) == sum(joint.nv for joint, on in zip(model.joints, blocks.on_path, strict=True) if not on)
    with pytest.raises(InvalidValue, match="find_blocks"):
        poise.plot(textbook.find_blocks(model, q, frames, control="angular"), layout="arrows")


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_a_descent_is_drawn_on_its_curve(beta: float) -> None:
    descent = textbook.trace_descent(lambda x: x**3, lambda x: 3 * x**2, 8.0, 1.0, beta=beta)
    assert descent.path[0] == 1.0
    assert descent.path[-1] == textbook.gradient_descent_1d(lambda x: x**3, lambda x: 3 * x**2, 8.0, 1.0, beta=beta)
    assert len(textbook.trace_descent(np.exp, np.exp, 8.0, 1.0, max_steps=3, tolerance=0.0).path) == 4
    curve, _, tangents, dots = (np.asarray(line.get_xydata()) for line in list_axes(descent)[0].lines)
    np.testing.assert_allclose(curve[:, 1], curve[:, 0] ** 3)
    np.testing.assert_allclose(dots[:, 0], descent.path)
    start, end = tangents[:2]
    assert (end - start)[1] / (end - start)[0] == pytest.approx(3.0)


def test_a_race_shows_printed_flops_next_to_measured_times() -> None:
    run = race(FLAT, problems=2, methods=["dls", "pseudoinverse", "ccd"])
    assert [racer.printed for racer in run.racers] == [2 * 3**2, 16 * 3 * 3**2 + 12 * 3**3, None]
    words = [text.get_text() for text in list_axes(run)[0].get_legend().get_texts()]
    assert ["flops" in word for word in words] == [True, True, False]


def test_a_recorded_solve_by_ccd_is_split_joint_by_joint() -> None:
    goal = Reach("tip", (1.0, -1.5))
    method = poise.methods.CCD(turn_limit=np.inf)
    solution = poise.solve(FLAT, goal, BEND, method=method, limit_handling="off", restarts=0, max_steps=3, record=True)
    trace = textbook.loop(FLAT, BEND, goal, step=textbook.ccd_step, max_steps=9)
    apart = np.angle(np.exp(1j * (solution.history.split_sweeps()[:10] - trace.poses)))
    np.testing.assert_allclose(apart, 0.0, atol=1e-9)
    titles = [axes.get_title(loc="left") for axes in list_axes(solution, layout="steps")]
    assert titles[:3] == ["1: joint_3", "2: joint_2", "3: joint_1"]
    plain = poise.solve(FLAT, goal, BEND, method="dls", record=True).history
    assert (plain.split_sweeps() == plain.q).all()


def test_a_jacobian_has_the_names_of_its_rows_and_columns() -> None:
    q = TREE.random(np.random.default_rng(0))
    blocks = textbook.find_blocks(TREE, q, ["end_1", "end_2"], control="both")
    np.testing.assert_allclose(blocks.matrix[:6], TREE.jacobian(q, "end_1"), atol=1e-12)
    np.testing.assert_allclose(blocks.matrix[6:], TREE.jacobian(q, "end_2"), atol=1e-12)
    for column, name in enumerate(blocks.columns):
        np.testing.assert_allclose(blocks.matrix[:6, [column]], TREE.jacobian(q, "end_1", columns=[name]), atol=1e-12)
        assert blocks.on_path[blocks.joints[column]] or not blocks.matrix[:, column].any()
    (axes,) = list_axes(blocks)
    assert [text.get_text() for text in axes.get_xticklabels()] == list(blocks.columns)
    assert [text.get_text() for text in axes.get_yticklabels()] == list(blocks.rows)
    assert len(axes.patches) == blocks.matrix.size


def test_both_views_of_a_chain_end_in_the_same_pose() -> None:
    q = PANDA.rest + 0.1
    chain = textbook.find_chain(PANDA, q, "panda_hand_tcp")
    for views in (chain.list_body_views(), chain.list_global_views()):
        assert len(views) == len(chain.factors)
        np.testing.assert_allclose(views[-1][-1], PANDA.fk(q, "panda_hand_tcp"), atol=1e-12)
    np.testing.assert_allclose(chain.list_global_views()[0][-1], chain.factors[-1], atol=1e-12)
    np.testing.assert_allclose(chain.list_body_views()[0][-1], chain.factors[0], atol=1e-12)
    panels = list_axes(textbook.find_chain(FLAT, BEND, "tip"))
    assert [panels[0].get_ylabel(), panels[len(panels) // 2].get_ylabel()] == ["global view", "body view"]


def test_gains_are_drawn_with_the_start_of_the_oscillation() -> None:
    near = Reach("tip", FLAT.fk(np.add(BEND, (0.05, -0.08, 0.06)), "tip")[:2, 3])
    rules = {name: textbook.RULES[name] for name in ("pseudo-inverse", "gradient descent")}
    study = textbook.study_gains(FLAT, BEND, near, rules, np.array([0.5, 1.0, 1.25, 1.75, 2.25]))
    assert study.oscillates["pseudo-inverse"] == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(study.rates["pseudo-inverse"][[0, 2, 3]], [0.5, 0.25, 0.75], atol=0.03)
    assert study.rates["pseudo-inverse"][-1] > 1.0
    start = study.oscillates["gradient descent"]
    assert start is not None
    assert start > 1.25
    (axes,) = list_axes(study)
    assert axes.get_legend().get_texts()[0].get_text() in ("pseudo-inverse: from 1.00", "pseudo-inverse: from 1.01")


@pytest.mark.parametrize("model", [FLAT, PANDA], ids=["planar3", "panda"])
@pytest.mark.parametrize("gains", [(0.5, 1.5, 2.5), (0.7, 1.9), (1.3, 1.6), (0.25, 0.9, 1.1, 1.2, 1.8)])
def test_the_gain_that_oscillates_does_not_depend_on_the_gains_tried(model: poise.Model, gains: Any) -> None:
    start, frame = (np.array(BEND), "tip") if model is FLAT else (np.array(PANDA.rest), "panda_hand_tcp")
    near = Reach(frame, model.fk(start + 0.01, frame))
    for scale in (1.0, 0.5):  # half of the pseudo-inverse's step oscillates from twice the gain on
        rule = {"scaled": lambda J, scale=scale: scale * textbook.truncated_svd_inverse(J)}
        study = textbook.study_gains(model, start, near, rule, np.array(gains) / scale)
        assert study.oscillates["scaled"] == pytest.approx(1.0 / scale, abs=0.01)
        assert textbook.study_gains(model, start, near, rule, [0.3, 0.6]).oscillates["scaled"] is None


def test_procedure_2_needs_fewer_and_shorter_passes() -> None:
    counts = textbook.count_passes(TREE, "end_1")
    one, two = counts["procedure 1"], counts["procedure 2"]
    # root (6), three balls (3 each) and the frame: a walk from the effector, from each joint and from each axis
    assert one == {"passes": 1 + 4 + 15, "transforms": 48, "shared passes": 2, "shared transforms": 10}
    assert two == {"passes": 4, "transforms": 10, "shared passes": 1, "shared transforms": 4}


def test_a_loop_plays_on_a_page_and_in_a_movie(tmp_path: Path) -> None:
    page = poise.show(LINE, tmp_path / "loop.html", browser=False)
    (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', page.html, re.DOTALL)
    scene = json.loads(text)
    assert scene["frames"] == 21
    assert [curve["name"] for curve in scene["curves"]] == ["tip [m]"]
    assert len(scene["curves"][0]["values"]) == 21
    poise.plot(STROKES, tmp_path / "loop.gif")
    assert (tmp_path / "loop.gif").stat().st_size > 1000


def test_unknown_layouts_and_things_without_frames_are_rejected() -> None:
    with pytest.raises(InvalidValue, match="layout"):
        poise.plot(LINE, layout="grid")
    with pytest.raises(InvalidValue, match="no frames"):
        poise.plot(poise.Pose(FLAT), layout="overlay")
    with pytest.raises(InvalidValue, match="record=True"):
        poise.plot(poise.solve(FLAT, FAR), layout="steps")
    with pytest.raises(InvalidValue, match="no factors"):
        poise.plot(textbook.TransformChain((), np.zeros((0, 4, 4))))
    with pytest.raises(InvalidValue, match="no step"):
        poise.plot(textbook.loop(FLAT, BEND, FAR, max_steps=0), layout="steps")
