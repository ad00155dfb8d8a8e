"""Every branch of every family as plain C++: what is true within the errors is within the bounds of a branch."""

import pytest

from native_programs import compile_program, read_figures

pytestmark = pytest.mark.slow

PLANS = (
    "parallel_last", "slide_parallel_last", "parallel_first", "parallel_first_slide", "meet_first", "meet_first_slide",
    "meet_last", "slide_meet_last", "gantry", "planar", "slide_planar",
)  # fmt: skip


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return read_figures(compile_program("families", tmp_path_factory.mktemp("families")))


@pytest.fixture(scope="module")
def interval_figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return read_figures(compile_program("interval_numbers", tmp_path_factory.mktemp("intervals")))


@pytest.mark.parametrize("plan", PLANS)
def test_every_joint_of_every_pose_within_the_errors_is_within_the_slack_of_a_branch(
    figures: dict[str, list[float]], plan: str
) -> None:
    tried, lost, certain, odd = figures[plan]
    assert tried > 5000
    assert lost == 0
    assert certain > tried // 4  # branches that exist for everything within the errors are reported
    assert odd == 0  # no NaN, no negative slack


@pytest.fixture(scope="module")
def packed_figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return read_figures(compile_program("packed_queries", tmp_path_factory.mktemp("packed")))


@pytest.mark.parametrize("plan", PLANS)
def test_questions_side_by_side_are_answered_as_each_alone(packed_figures: dict[str, list[float]], plan: str) -> None:
    tried, found, lost, off, odd = packed_figures[plan]
    assert tried > 4000
    assert found > tried  # branches, of which most questions have several
    assert lost == 0
    assert off == 0
    assert odd == 0  # no NaN


@pytest.mark.parametrize("plan", PLANS)
def test_in_a_cell_of_the_free_joint_every_pose_is_within_the_bounds_of_the_second_order(
    interval_figures: dict[str, list[float]], plan: str
) -> None:
    tried, lost, sure, empty, compared, slow, odd = interval_figures[plan]
    assert tried > 5000
    assert lost == 0  # each pose within the tolerances is held by a branch, where that may be inside
    assert sure > tried // 4
    assert empty == 0  # where a branch is surely inside there is a pose
    assert compared > 1000
    assert slow <= compared // 50  # half the cell, a quarter of what is not known
    assert odd == 0  # no NaN, nothing negative
