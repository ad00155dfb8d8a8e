"""Every branch of every family as plain C++: what is true within the errors is within the slack of a branch."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from paths import NATIVE, NATIVE_TESTS

pytestmark = pytest.mark.slow

PLANS = (
    "parallel_last", "slide_parallel_last", "parallel_first", "parallel_first_slide", "meet_first", "meet_first_slide",
    "meet_last", "slide_meet_last", "gantry", "planar", "slide_planar",
)  # fmt: skip


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    program = tmp_path_factory.mktemp("families") / "families"
    source = NATIVE_TESTS / "families.cpp"
    subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(NATIVE), str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: [int(x) for x in line[1:]] for line in lines}


@pytest.mark.parametrize("plan", PLANS)
def test_every_joint_of_every_pose_within_the_errors_is_within_the_slack_of_a_branch(
    figures: dict[str, list[int]], plan: str
) -> None:
    tried, lost, certain, odd = figures[plan]
    assert tried > 5000
    assert lost == 0
    assert certain > tried // 4  # branches that exist for everything within the errors are told
    assert odd == 0  # no NaN, no negative slack
