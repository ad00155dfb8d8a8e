"""Build the native module for any CPython, processor and compiler. `cross/FindPython.cmake` describes the target.

zig, from the package index, includes clang, the C++ library (linked statically) and the symbols of every glibc, so that
one machine builds wheels for all of Linux, for glibc 2.17 and later, without installing anything. Debian's cross
compilers are those that users of the other processor have.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

__all__ = ["GLIBC", "Target", "Toolchain", "build_module", "make_zig"]

GLIBC = "2.17"
# The first flag turns off zig's checks of undefined behaviour. nanobind prints to stderr, and with the stable ABI no
# Python header includes <cstdio>.
ZIG_FLAGS = "-fno-sanitize=undefined -include cstdio"


@dataclass(frozen=True)
class Target:
    """The target of a wheel.

    Attributes:
        python: The version of CPython whose headers are used, such as "3.11".
        machine: "x86_64" or "aarch64".
        stable: Whether the module uses the stable ABI, which works with every CPython from 3.12.
    """

    python: str
    machine: str
    stable: bool = False

    @property
    def abi_tag(self) -> str:
        """The first two parts of the wheel's tag."""
        short = "cp" + self.python.replace(".", "")
        return "cp312-abi3" if self.stable else f"{short}-{short}"

    @property
    def soabi(self) -> str:
        """The tag in the file name of a module for this CPython only."""
        return f"cpython-{self.python.replace('.', '')}-{self.machine}-linux-gnu"

    @property
    def module(self) -> str:
        """The file name of the module."""
        return "_core.abi3.so" if self.stable else f"_core.{self.soabi}.so"

    def serves(self, python: str) -> bool:
        """Return whether a CPython of this version can import the module."""
        major, minor = map(int, python.split("."))
        return (major, minor) >= (3, 12) if self.stable else python == self.python


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler, as CMake variables.

    Attributes:
        compiler: The command.
        flags: The compiler flags.
        variables: Other CMake variables, such as the archiver.
    """

    compiler: str
    flags: str = ""
    variables: Mapping[str, object] = field(default_factory=dict)


def build_module(
    target: Target, tools: Toolchain, source: Path, headers: list[Path], folder: Path, levels: str = "all"
) -> Path:
    """Compile the module incrementally; return its path.

    Args:
        target: The CPython and processor to build for.
        tools: The compiler.
        source: The folder with CMakeLists.txt.
        headers: The folders of the target's Python headers.
        folder: The build folder.
        levels: The instruction levels, as CMakeLists.txt names them.
    """
    given = {
        "SKBUILD": "ON",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": target.machine,
        "NB_HAS_MTLS_GNU2": "OFF",  # before glibc 2.40, thread-local access in this dialect loses vector registers
        "POISE_LEVELS": levels,
        "CMAKE_CXX_COMPILER": tools.compiler,
        "CMAKE_CXX_FLAGS": tools.flags,
        "CMAKE_MODULE_PATH": source / "tools" / "cross",
        "Python_EXECUTABLE": sys.executable,
        "POISE_TARGET_PYTHON": target.python,
        "POISE_TARGET_HEADERS": ";".join(map(str, headers)),
        "POISE_TARGET_SOABI": target.soabi,
        "POISE_STABLE_ABI": "ON" if target.stable else "OFF",
        **tools.variables,
    }
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    defines = [f"-D{name}={value}" for name, value in given.items()]
    subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", *defines], check=True, env=environment)
    subprocess.run(["cmake", "--build", folder], check=True, env=environment)
    return folder / target.module


def make_zig(folder: Path, machine: str) -> Toolchain:
    """Return a zig toolchain for a processor. CMake requires programs without arguments, so each is a shell script."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise SystemExit("zig is missing. Type: pip install ziglang")
    zig = Path(spec.origin).parent / "zig"
    words = {"c++": f"c++ -target {machine}-linux-gnu.{GLIBC}", "ar": "ar", "ranlib": "ranlib"}
    folder.mkdir(parents=True, exist_ok=True)
    tools = {name: folder / f"{machine}-{name}" for name in words}
    for name, path in tools.items():
        text = f'#!/bin/sh\nexec "{zig}" {words[name]} "$@"\n'
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            path.chmod(0o755)
    variables = {
        "CMAKE_AR": tools["ar"],
        "CMAKE_RANLIB": tools["ranlib"],
        "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",  # linking would also build a C++ library for debugging
    }
    return Toolchain(str(tools["c++"]), ZIG_FLAGS, variables)
