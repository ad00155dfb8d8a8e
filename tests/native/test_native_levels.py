"""Every instruction level that this machine runs gives the same answers."""

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import poise
from bodies import random_model
from operations import OPERATIONS, Case, Floats, close
from poise import Transform, native
from poise.goals import Reach, Rest

LEVELS = ("baseline", "avx2", "avx512")


def test_the_levels_that_are_named_are_those_that_can_be_chosen(at_home: str) -> None:
    named = native.levels()
    assert named[0] == "baseline"
    assert at_home == os.environ.get("POISE_LEVEL", named[-1])
    for level in LEVELS:
        native.choose_level("baseline")
        native.choose_level(level)
        assert (native.level() == level) == (level in named)


@pytest.fixture
def at_home() -> Iterator[str]:
    """The level chosen at import, put back afterwards."""
    home = native.level()
    yield home
    native.choose_level(home)
    assert native.level() == home


def choose(level: str) -> None:
    native.choose_level(level)
    if native.level() != level:
        pytest.skip(f"this machine does not run {level}")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_operations(operation: str, level: str, dtype: type, tolerance: float, at_home: str) -> None:
    choose(level)
    for seed, shape in enumerate([(), (1,), (2,), (3,), (5,), (8,), (13,), (16,), (21,), (3, 4), (0,)]):
        case = Case.of(random_model(seed), seed, shape).cast(dtype)
        native.choose_level(at_home)
        expected = OPERATIONS[operation](case)
        native.choose_level(level)
        close(OPERATIONS[operation](case), expected, tolerance)


@pytest.mark.parametrize("level", LEVELS)
def test_rotations_and_transforms(level: str, at_home: str) -> None:
    choose(level)
    rng = np.random.default_rng(0)
    angles = np.array([0.0, 1e-12, 1e-6, 1e-3, 1.0, 3.0, np.pi - 1e-9, 4.0, 5.0, 7.0, 0.5])
    axes = rng.normal(size=(11, 3))
    twists = np.hstack([rng.normal(size=(11, 3)), axes / np.linalg.norm(axes, axis=1, keepdims=True) * angles[:, None]])

    def answers() -> list[Floats]:
        moved = Transform.exp(twists)
        return [moved.matrix, moved.log(), moved.rotation.log(), (moved @ moved).matrix, moved.apply(axes)]

    native.choose_level(at_home)
    expected = answers()
    native.choose_level(level)
    for actual, wanted in zip(answers(), expected, strict=True):
        close(actual, wanted, 1e-13)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
def test_solves_from_near_by_end_in_the_same_pose(name: str, level: str, at_home: str) -> None:
    """One level contracts multiply-adds, another does not: docs/conventions.md states how far answers may differ."""
    choose(level)
    model, rng = poise.load(name), np.random.default_rng(1)
    tool = model.frames[-1]
    solver = poise.Solver(model, [Reach(tool, np.eye(4), name="tool"), Rest()], restarts=0)
    for _ in range(20):
        start = model.random(rng)
        T = model.fk(model.clamp(start + rng.normal(size=model.nq) * 0.05), tool)
        answers = []
        for chosen in (at_home, level):
            native.choose_level(chosen)
            answers.append([solver.solve(start, {"tool": T}) for _ in range(2)])
            assert answers[-1][0].q.tobytes() == answers[-1][1].q.tobytes()  # one build, one processor: the same bits
        (one, _), (other, _) = answers
        assert one.reached == other.reached
        close(other.q, one.q, 1e-6)


def test_an_unknown_level_changes_nothing(at_home: str) -> None:
    native.choose_level("abacus")
    assert native.level() == at_home


def import_at(level: str) -> subprocess.CompletedProcess[str]:
    """Import Poise in another process, with a level in its environment."""
    code = "from poise import native; print(native.level())"
    words, environment = [sys.executable, "-c", code], {**os.environ, "POISE_LEVEL": level}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_environment_variable_chooses_the_level() -> None:
    for level in native.levels():
        done = import_at(level)
        assert done.stdout.strip() == level, done.stderr


@pytest.mark.slow
def test_a_level_that_the_machine_does_not_run_is_an_error_at_import() -> None:
    done = import_at("abacus")
    assert done.returncode == 1
    assert "POISE_LEVEL is 'abacus'; this machine supports baseline" in done.stderr


def test_a_build_for_another_processor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "levels", list)
    with pytest.raises(ImportError, match="compiled for another processor"):
        native.choose_level_from_environment()
