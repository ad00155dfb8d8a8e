"""The whole step, compiled four ways from one header: double, float, a SIMD pack, NVRTC."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nvrtc
from paths import NATIVE, NATIVE_TESTS, read_kernels

pytestmark = pytest.mark.slow


def run_spike(folder: Path, *arguments: str, contract: str = "off") -> list[str]:
    """What the spike prints; `contract`: whether a b + c may be rounded once ("fast") or is rounded twice ("off")."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    program = folder / f"spike_{contract}"
    flags = ["-std=c++20", "-O2", "-fno-math-errno", f"-ffp-contract={contract}", "-I", str(NATIVE)]
    subprocess.run([compiler, *flags, str(NATIVE_TESTS / "spike.cpp"), "-o", str(program)], check=True)
    return subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    lines = run_spike(tmp_path_factory.mktemp("spike"))
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}


def test_contracted_products_change_no_answer(tmp_path: Path) -> None:
    """Where the processor multiplies and adds at once (arm64 does by default): the same poses to a stated tolerance."""
    apart, at_once = (np.array(run_spike(tmp_path, "all", contract=how), dtype=float) for how in ("off", "fast"))
    assert np.abs(apart - at_once).max() <= 1e-9
    if platform.machine() in ("arm64", "aarch64"):
        assert (apart != at_once).any()  # it did round differently


def test_double_solves_every_problem(figures: dict[str, str]) -> None:
    assert figures["solved"] == "64 of 64"


def test_a_pack_gives_the_same_bits_as_one_by_one(figures: dict[str, str]) -> None:
    assert float(figures["pack_double"]) == 0.0


@pytest.mark.parametrize("kind", ["float_cost", "pack_float_cost"])
def test_float_reaches_as_well(figures: dict[str, str], kind: str) -> None:
    assert float(figures[kind]) < 1e-9


@pytest.mark.nvrtc
def test_the_device_compiles_it_without_spills(closing_table: Callable[[str, str], None]) -> None:
    headers = {**read_kernels(), "spike.h": (NATIVE_TESTS / "spike.h").read_text("utf-8")}
    compiled = nvrtc.compile((NATIVE_TESTS / "spike.cu").read_text("utf-8"), headers, "sm_90")
    closing_table(f"spike.cu for sm_90, NVRTC {nvrtc.version()}", nvrtc.table(compiled.kernels))
    assert compiled.kernels["spike_float"].spill_bytes == 0
