"""The canonical subproblems as plain C++ under the sanitizers: random geometry, and where they degenerate."""

from pathlib import Path

import pytest

from native_programs import compile_program, read_figures, run_sanitized

pytestmark = pytest.mark.slow

SCALARS = {"double": 2.3e-16, "float": 1.2e-7, "pack": 2.3e-16}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return read_figures(compile_program("subproblems", tmp_path_factory.mktemp("subproblems")))


def test_no_answer_is_undefined(tmp_path: Path) -> None:
    run_sanitized("subproblems", tmp_path, "2000")


@pytest.mark.parametrize("scalar", SCALARS)
def test_answers_answer_bounds_hold_and_edges_are_numbers(figures: dict[str, list[float]], scalar: str) -> None:
    assert max(figures[f"residuals_{scalar}"]) < 1e3 * SCALARS[scalar]
    broken, checked, odd, missing, worse = figures[f"counts_{scalar}"]
    assert checked == 60000
    assert broken == 0  # a turn that was asked for within the error is within the slack of an answer
    assert odd == 0  # no NaN, no infinity
    assert missing == 0  # what cannot be is not found
    assert worse == 0  # and is answered by what comes nearest
