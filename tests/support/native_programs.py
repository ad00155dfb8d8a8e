"""Test programs in C++, compiled by the compiler of this machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import NATIVE, NATIVE_TESTS

__all__ = ["SANITIZE", "compile_program", "find_compiler", "precompile_headers", "read_figures", "run_sanitized"]

# Without forced inlining the kernels compile several times faster, most of all under the sanitizers.
FLAGS = ("-std=c++20", "-Og", "-Dalways_inline=", "-I", str(NATIVE))
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def compile_program(name: str, folder: Path, *flags: str, check: bool = True) -> Path | None:
    """Compile `tests/native/<name>.cpp` into a folder; without `check`, return None if the compiler fails."""
    program = folder / name
    command = [find_compiler(), *FLAGS, *flags, str(NATIVE_TESTS / f"{name}.cpp"), "-o", str(program)]
    done = subprocess.run(command, check=check, capture_output=not check)
    return program if done.returncode == 0 else None


def precompile_headers(name: str, folder: Path, *flags: str) -> tuple[str, str]:
    """Compile the headers of a program, except its constants, and return the flags with which it uses them.

    For programs that are compiled many times; `flags` must be the same there.
    """
    lines = (NATIVE_TESTS / f"{name}.cpp").read_text("utf-8").splitlines()
    header = folder / f"{name}.h"
    header.write_text("\n".join(line for line in lines if line.startswith("#include") and "given.h" not in line))
    subprocess.run([find_compiler(), *FLAGS, *flags, "-xc++-header", str(header), "-o", f"{header}.gch"], check=True)
    return "-include", str(header)


def find_compiler() -> str:
    """Return the C++ compiler; without one, skip the test."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    return compiler


def read_figures(program: Path | None) -> dict[str, list[float]]:
    """Return the figures that a program prints, by the name at the beginning of each line."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: [float(x) for x in line[1:]] for line in lines}


def run_sanitized(name: str, folder: Path, *arguments: str) -> None:
    """Run a program under the sanitizers, if the compiler has their libraries."""
    program = compile_program(name, folder, "-O0", *SANITIZE, check=False)
    if program is not None:
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
