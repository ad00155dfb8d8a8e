"""The canonical subproblems as plain C++ under the sanitizers: random geometry, and where they degenerate."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from paths import NATIVE, NATIVE_TESTS

pytestmark = pytest.mark.slow

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
SCALARS = {"double": 2.3e-16, "float": 1.2e-7, "pack": 2.3e-16}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    program = tmp_path_factory.mktemp("subproblems") / "subproblems"
    source = NATIVE_TESTS / "subproblems.cpp"
    command = [compiler, "-std=c++20", "-O1", "-I", str(NATIVE), str(source), "-o", str(program)]
    if subprocess.run([*command, *SANITIZE], capture_output=True, check=False).returncode != 0:
        subprocess.run(command, check=True)  # a compiler without the sanitizers' libraries
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: [float(x) for x in line[1:]] for line in lines}


@pytest.mark.parametrize("scalar", SCALARS)
def test_every_answer_answers(figures: dict[str, list[float]], scalar: str) -> None:
    """Residuals of all five; where two answers are nearly one, a turn is known to the root of the rounding only."""
    assert len(figures[f"residuals_{scalar}"]) == 5
    assert max(figures[f"residuals_{scalar}"][:4]) < 1e3 * SCALARS[scalar]
    assert figures[f"residuals_{scalar}"][4] < 10 * SCALARS[scalar] ** 0.5


@pytest.mark.parametrize("scalar", SCALARS)
def test_bounds_hold_and_edges_are_numbers(figures: dict[str, list[float]], scalar: str) -> None:
    broken, checked, odd, missing, worse = figures[f"counts_{scalar}"]
    assert checked == 60000
    assert broken == 0  # a turn that was asked for within the error is within the slack of an answer
    assert odd == 0  # no NaN, no infinity
    assert missing == 0  # what cannot be is not found
    assert worse == 0  # and is answered by what comes nearest
