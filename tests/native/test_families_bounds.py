"""Every branch of every family as plain C++: what is true within the errors is within the bounds of a branch."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import NATIVE, NATIVE_TESTS

pytestmark = pytest.mark.slow

PLANS = (
    "parallel_last", "slide_parallel_last", "parallel_first", "parallel_first_slide", "meet_first", "meet_first_slide",
    "meet_last", "slide_meet_last", "gantry", "planar", "slide_planar",
)  # fmt: skip


def run_native(folder: Path, name: str) -> dict[str, list[int]]:
    """Return what a program of this folder prints: figures by name."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    program = folder / name
    source = NATIVE_TESTS / f"{name}.cpp"
    subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(NATIVE), str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: [int(x) for x in line[1:]] for line in lines}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return run_native(tmp_path_factory.mktemp("families"), "families")


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return run_native(tmp_path_factory.mktemp("flows"), "flows")


@pytest.mark.parametrize("plan", PLANS)
def test_every_joint_of_every_pose_within_the_errors_is_within_the_slack_of_a_branch(
    figures: dict[str, list[int]], plan: str
) -> None:
    tried, lost, certain, odd = figures[plan]
    assert tried > 5000
    assert lost == 0
    assert certain > tried // 4  # branches that exist for everything within the errors are told
    assert odd == 0  # no NaN, no negative slack


@pytest.fixture(scope="module")
def abreast(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return run_native(tmp_path_factory.mktemp("abreast"), "abreast")


@pytest.mark.parametrize("plan", PLANS)
def test_questions_side_by_side_are_answered_as_each_alone(abreast: dict[str, list[int]], plan: str) -> None:
    tried, found, lost, off, odd = abreast[plan]
    assert tried > 4000
    assert found > tried  # branches, of which most questions have several
    assert lost == 0
    assert off == 0
    assert odd == 0  # no NaN


@pytest.mark.parametrize("plan", PLANS)
def test_in_a_cell_of_the_free_joint_every_pose_is_within_the_bounds_of_the_second_order(
    flows: dict[str, list[int]], plan: str
) -> None:
    tried, lost, sure, empty, compared, slow, odd = flows[plan]
    assert tried > 5000
    assert lost == 0  # each pose within the tolerances is held by a branch, where that may be inside
    assert sure > tried // 4
    assert empty == 0  # where a branch is surely inside there is a pose
    assert compared > 1000
    assert slow <= compared // 50  # half the cell, a quarter of what is not known
    assert odd == 0  # no NaN, nothing negative
