"""Compile CUDA source to machine code with NVRTC, without a GPU or a CUDA toolkit.

The compiler is the shared library in the package `nvidia-cuda-nvrtc`; this module calls it through ctypes and parses
the assembler's report on each kernel. Registers and spills show whether a kernel that should keep a whole body in
registers does so.

    result = nvrtc.compile(source, headers={"vec.h": "..."}, arch="sm_90")
    result.kernels["solve"].registers
"""

import ctypes
import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple


class NvrtcMissing(ImportError):
    """The compiler's library is not installed."""


class CompileError(RuntimeError):
    """The source does not compile; the message is the compiler's log."""


@dataclass(frozen=True)
class Resources:
    """The resources that one kernel uses.

    Attributes:
        registers: The 32-bit registers per thread (at most 255).
        spill_bytes: The bytes of spill stores and spill loads, added up.
        local_bytes: The stack frame per thread [bytes]: arrays that are not in registers, and spills.
    """

    registers: int = 0
    spill_bytes: int = 0
    local_bytes: int = 0


class Compiled(NamedTuple):
    """Machine code, the compiler's log, and the resources by (mangled) kernel name."""

    cubin: bytes
    log: str
    kernels: dict[str, Resources]


def find_library() -> Path:
    """Return the path of libnvrtc inside the installed package.

    Raises:
        NvrtcMissing: The library is not installed; the message has the command.
    """
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages and packages.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("**/libnvrtc.so*")):
            return path
    raise NvrtcMissing("NVRTC is not installed. Type: pip install nvidia-cuda-nvrtc")


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(find_library()))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def version() -> str:
    """Return the release of the compiler, such as "13.0"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def _check(code: int) -> None:
    if code:
        raise RuntimeError(f"NVRTC: {_library().nvrtcGetErrorString(code).decode()}")


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


@contextmanager
def _program(source: str, headers: Mapping[str, str]) -> Iterator[ctypes.c_void_p]:
    program = ctypes.c_void_p()
    texts, names = _strings(headers.values()), _strings(headers)
    _check(
        _library().nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"entry.cu", len(headers), texts, names)
    )
    try:
        yield program
    finally:
        _check(_library().nvrtcDestroyProgram(ctypes.byref(program)))


def _fetch(program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(_library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(_library(), f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def compile(
    source: str,
    headers: Mapping[str, str] | None = None,
    arch: str = "sm_90",
    *,
    std: str = "c++20",
    options: Iterable[str] = (),
) -> Compiled:
    """Compile one translation unit to a cubin.

    Args:
        source: The CUDA C++ text.
        headers: The text of each header by its `#include` name; no files are read unless `options` allow it.
        arch: A real architecture such as "sm_90" (a virtual one, "compute_90", has no register counts).
        std: The language version.
        options: Further options, one string each.

    Raises:
        CompileError: The compilation failed; the message is the compiler's log.
        NvrtcMissing: The package is not installed.
    """
    flags = [f"--gpu-architecture={arch}", f"--std={std}", "--ptxas-options=-v", *options]
    with _program(source, headers or {}) as program:
        code = _library().nvrtcCompileProgram(program, len(flags), _strings(flags))
        log = _fetch(program, "ProgramLog").rstrip(b"\0").decode()
        if code:
            raise CompileError(f"{_library().nvrtcGetErrorString(code).decode()}\n{log}")
        return Compiled(_fetch(program, "CUBIN"), log, read_resources(log))


# The assembler prints a kernel's name, then one block for the kernel and for each function it calls.
_ENTRY = re.compile(r"Compiling entry function '(\S+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


def read_resources(log: str) -> dict[str, Resources]:
    """Parse the resources of each kernel, including called functions, from the log of `--ptxas-options=-v`."""
    kernels: dict[str, Resources] = {}
    name = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            name = match[1]
            kernels[name] = Resources()
        elif not name:
            continue
        elif match := _FRAME.search(line):
            frame, stores, loads = map(int, match.groups())
            seen = kernels[name]
            kernels[name] = replace(
                seen, spill_bytes=seen.spill_bytes + stores + loads, local_bytes=seen.local_bytes + frame
            )
        elif match := _USED.search(line):
            kernels[name] = replace(kernels[name], registers=int(match[1]))
    return kernels


def table(kernels: Mapping[str, Resources]) -> str:
    """Return the resources as text, one kernel per line."""
    width = max([len("kernel"), *map(len, kernels)])
    rows = [f"{'kernel':<{width}}  registers  spill bytes  local bytes"]
    rows += [
        f"{name:<{width}}  {r.registers:>9}  {r.spill_bytes:>11}  {r.local_bytes:>11}"
        for name, r in sorted(kernels.items())
    ]
    return "\n".join(rows)
