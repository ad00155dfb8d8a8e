"""Published results, small and without clocks: what `benchmarks/papers.py` prints at full size."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

import poise
from paths import BENCHMARKS
from poise.methods import DLS, SDLS, Transpose

pytestmark = pytest.mark.slow

sys.path.insert(0, str(BENCHMARKS))
papers = pytest.importorskip("papers", reason="the benchmarks are not in this tree")


# ------------------------------------------------------------------------------------------ FABRIK, table 1


@pytest.mark.parametrize(("method", "published"), [("fabrik", 15.5), ("ccd", 26.3), ("transpose", 1311), ("dls", 999)])
def test_chain_of_ten_joints_takes_no_more_iterations_than_published(method: str, published: float) -> None:
    runs = papers.chain_runs(method)
    assert runs.solved == runs.problems == 20
    assert runs.iterations <= published


@pytest.mark.parametrize("x", [papers.AWAY, 0.3, -papers.AWAY])
def test_fabrik_leaves_the_line_of_the_straight_chain(x: float) -> None:
    assert papers.chain_answer((x, 0.0, 0.0)).reached


@pytest.mark.parametrize("target", [(1.0, 2.0, 0.0), (0.0, 0.0, 0.95), (-1.2, 0.0, 0.0)])
def test_fabrik_answers_what_is_out_of_reach_at_once(target: tuple[float, float, float]) -> None:
    start = papers.chain().random(np.random.default_rng(0))
    answer = papers.chain_answer(target, start)
    assert answer.status == poise.Status.UNREACHABLE
    assert answer.steps <= 1
    assert answer.errors["tip"][0] == pytest.approx(math.hypot(*target) - papers.CHAIN, abs=1e-14)


# ------------------------------------------------------------------------------------------ Buss and Kim


@pytest.mark.parametrize(("shape", "damping", "published"), [("y", 0.6, 0.4522), ("double_y", 1.1, 1.9788)])
def test_damped_least_squares_tracks_as_published(shape: str, damping: float, published: float) -> None:
    method = DLS(damping=damping / papers.tree(shape).length)
    errors = papers.tracking_errors(shape, method, math.radians(45))
    assert errors.mean() == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize(("shape", "published"), [("y", 0.433), ("double_y", 1.745)])
def test_selective_damping_tracks_better_than_published(shape: str, published: float) -> None:
    method = SDLS(target_clamp=0.4 / papers.tree(shape).length)

    # chaotic where targets are out of reach: the mean over starts that differ by nothing that matters
    runs = [papers.tracking_errors(shape, method, math.radians(45), moved=1e-9 * k) for k in range(3)]
    assert np.mean(runs) <= published


@pytest.mark.parametrize(("shape", "published"), [("y", 0.533), ("double_y", 2.685)])
def test_transpose_tracks_as_published(shape: str, published: float) -> None:
    errors = papers.tracking_errors(shape, Transpose(), math.radians(30))
    assert errors.mean() == pytest.approx(published, rel=0.02)


# ------------------------------------------------------------------------------------------ Haviland and Corke


def test_chan_damping_on_the_ur5_in_one_search() -> None:
    runs = papers.ur5_problems(2000).run(papers.CHAN, metric=True, max_steps=500, **papers.FREE)
    assert runs.solved > 0.9 * runs.problems
    assert runs.iterations == pytest.approx(9.43, abs=0.4)
    assert runs.median == 9


@pytest.mark.parametrize("method", [papers.CHAN, "auto"], ids=["chan", "default"])
def test_restarts_solve_every_pose_of_the_ur5(method: object) -> None:
    runs = papers.ur5_problems(2000).run(method, metric=True, max_steps=30, searches=100, **papers.FREE)
    assert runs.solved == runs.problems


def test_panda_in_its_ranges() -> None:
    theirs = papers.panda_problems(2000)
    middle = replace(theirs, start=0.5 * (theirs.model.lower + theirs.model.upper))
    runs = middle.run("auto", max_steps=30, searches=100)
    assert runs.solved == runs.problems
    assert runs.searches <= 1.5
    assert theirs.run("auto", max_steps=30, searches=100).solved == theirs.targets.shape[0]
