"""The kernels' headers compile for the GPU as they stand, on a machine that has none."""

import re

import pytest

import nvrtc
from paths import NATIVE, read_kernels

ARCH = "sm_90"
MOST_REGISTERS = 255

HEADERS = read_kernels()

TOY = """
#include "square.h"
extern "C" __global__ void toy(double* x) { x[threadIdx.x] = square(x[threadIdx.x]); }
"""
SQUARE = "template <class T> __device__ T square(T x) { return x * x; }"

SPILLING_LOG = """
ptxas info    : Compiling entry function 'solve' for 'sm_90'
ptxas info    : Function properties for solve
ptxas         .     96 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 96 bytes cumulative stack size
ptxas info    : Compiling entry function 'check' for 'sm_90'
ptxas info    : Function properties for check
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


def test_only_portable_h_has_preprocessor_conditions() -> None:
    condition = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", re.MULTILINE)
    native = [path for path in NATIVE.rglob("*") if path.suffix in {".h", ".cpp", ".cu"}]
    found = sorted(path.name for path in native if condition.search(path.read_text("utf-8")))
    assert found == ["chain.h", "portable.h"]  # an exported header stands alone


def test_resources_are_read_from_the_log() -> None:
    assert nvrtc.read_resources(SPILLING_LOG) == {
        "solve": nvrtc.Resources(registers=255, spill_bytes=40, local_bytes=96),
        "check": nvrtc.Resources(registers=8, spill_bytes=0, local_bytes=0),
    }


@pytest.mark.nvrtc
def test_a_toy_kernel_compiles_to_machine_code() -> None:
    compiled = nvrtc.compile(TOY, {"square.h": SQUARE}, ARCH)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert 0 < compiled.kernels["toy"].registers < MOST_REGISTERS


@pytest.mark.nvrtc
def test_an_error_carries_the_log() -> None:
    with pytest.raises(nvrtc.CompileError, match='identifier "nonsense" is undefined'):
        nvrtc.compile("__global__ void broken() { nonsense(); }", arch=ARCH)


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", HEADERS)
def test_each_header_stands_alone(name: str) -> None:
    nvrtc.compile(f'#include "{name}"\n', HEADERS, ARCH)
