"""The code of a GPU batch compiles for sm_90 into registers."""

from collections.abc import Callable

import pytest

import nvrtc
from gpu_problems import build_six_joints, make_gaze, panda, prepare, tree
from poise.goals import Balance, Rest
from poise.native.gpu.device import OPTIONS, DeviceProblem
from poise.native.gpu.passes import DECIDING, PLACING, RESTING, SEARCHING, TEAM_KERNELS, list_kernels

pytestmark = [pytest.mark.slow, pytest.mark.nvrtc]


def compile_kernels(problem: DeviceProblem, goals: int, names: list[str], *options: str) -> dict[str, nvrtc.Resources]:
    source = problem.source((False,) * (goals + 1), tuple(names))
    compiled = nvrtc.compile(source, {}, "sm_90", options=[*(x for x in OPTIONS if "std" not in x), *options])
    assert set(compiled.kernels) == set(names)
    return compiled.kernels


def test_the_branches_of_six_joints_compile_for_a_gpu() -> None:
    model, goals, _ = build_six_joints()
    problem = DeviceProblem(prepare(model, goals).problem)
    names = list_kernels(problem.tables[0])
    assert set(PLACING) < set(names)
    assert not set(SEARCHING) & set(names)
    compile_kernels(problem, len(goals), list(PLACING), "--Ofast-compile=max")


@pytest.mark.parametrize("name", ["panda", "tree"])
def test_it_compiles_for_a_gpu(name: str, closing_table: Callable[[str, str], None]) -> None:
    model, goals, _ = {"panda": panda, "tree": tree}[name]()
    problem = DeviceProblem(prepare(model, goals).problem)
    names = list_kernels(problem.tables[0])
    deciding = [kernel for kernel in names if kernel in DECIDING]
    assert deciding == (list(DECIDING) if name == "panda" else [])
    if deciding:  # in a tenth of the time; their spills are not looked at
        compile_kernels(problem, len(goals), deciding, "--Ofast-compile=max")
    searching = compile_kernels(problem, len(goals), [kernel for kernel in names if kernel not in DECIDING])
    closing_table(f"batch of {name} for sm_90, NVRTC {nvrtc.version()}", nvrtc.table(searching))
    spills = {kernel: used.spill_bytes for kernel, used in searching.items()}
    assert spills["search_few"] == spills["search_hard"] == spills["end_rows"] == 0
    assert spills["search_rows"] <= (320 if name == "panda" else 0)  # on purpose, see choose_blocks
    for used in searching.values():
        assert used.registers <= (168 if name == "panda" else 255)
        assert used.local_bytes <= 96


@pytest.mark.parametrize("balances", [False, True])
def test_teams_compile_for_a_gpu(balances: bool) -> None:
    model, goals, _ = make_gaze()
    goals += [Balance(["foot_l", "foot_r"])] if balances else []
    assert list_kernels(DeviceProblem(prepare(model, goals).problem).tables[0]) == TEAM_KERNELS
    problem = DeviceProblem(prepare(model, [*goals, Rest()]).problem)
    assert list_kernels(problem.tables[0]) == (*TEAM_KERNELS, RESTING)
    # Of 10 teams in double, shared memory holds 8. Their registers and spills depend on what was compiled before.
    for name, most, spills in (("search_bodies", 128, 0), (RESTING, 200, 64)):
        used = compile_kernels(problem, len(goals), [name])[name]
        assert used.spill_bytes <= (512 if balances else spills)  # by the thread that finds the hull
        assert used.registers <= most
