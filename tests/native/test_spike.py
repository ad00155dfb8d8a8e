"""The whole step, compiled four ways from one header: double, float, a SIMD pack, NVRTC."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nvrtc
from native_programs import compile_program
from paths import NATIVE_TESTS, read_kernels

pytestmark = pytest.mark.slow


def compile_spike(folder: Path, contract: str, *flags: str) -> Path | None:
    """Compile the spike; `contract`: whether a b + c may be rounded once ("fast") or is rounded twice ("off").

    Contraction is one of the expensive optimizations.
    """
    return compile_program(
        "spike", folder, "-O1", "-fexpensive-optimizations", "-fno-math-errno", f"-ffp-contract={contract}", *flags
    )


def run_spike(program: Path | None, *arguments: str) -> list[str]:
    """Return the lines that the spike prints."""
    return subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def spike(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    return compile_spike(tmp_path_factory.mktemp("spike"), "off")


@pytest.fixture(scope="module")
def figures(spike: Path | None) -> dict[str, str]:
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in run_spike(spike)}


def test_contracted_products_change_no_answer(spike: Path | None, tmp_path: Path) -> None:
    """Where the processor multiplies and adds at once (arm64 does by default): the same poses to a stated tolerance."""
    programs = (spike, compile_spike(tmp_path, "fast", "-DANSWERS_ONLY"))
    apart, at_once = (np.array(run_spike(program, "all"), dtype=float) for program in programs)
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
