"""The rooms of the native code: what a file includes lies in its own room or below it."""

import re

from paths import KERNELS, NATIVE

ROOMS = ("bind", "wasm", "gpu", "run", "memory", "kernels")  # above first; what is deeper inside run/ belongs to it
KERNEL_ROOMS = ("strict", "methods", "loop", "limits", "problem", "goals", "body", "closed", "algebra", "portable.h")
SEPARATE = {"strict"}  # the strict step is separate from the methods: no method includes it, and it includes none
GENERATED = {"levels.h"}  # by CMake
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
FILES = sorted(path for path in NATIVE.rglob("*") if path.suffix in {".h", ".cpp"})


def read_includes() -> list[tuple[str, str]]:
    """Return (file, included file) of all sources, both from the native root."""
    files = {path.relative_to(NATIVE).as_posix(): path.read_text("utf-8") for path in FILES}
    return [(name, other) for name, text in files.items() for other in INCLUDE.findall(text) if other not in GENERATED]


def test_every_include_is_written_from_the_root() -> None:
    found = read_includes()
    assert len(found) > 100
    assert [pair for pair in found if not (NATIVE / pair[1]).exists()] == []


def test_includes_point_down() -> None:
    rank = {room: k for k, room in enumerate(ROOMS)}
    upwards = [pair for pair in read_includes() if rank[pair[0].split("/")[0]] > rank[pair[1].split("/")[0]]]
    assert upwards == []


def test_kernels_include_what_is_below_them() -> None:
    rank = {room: k for k, room in enumerate(KERNEL_ROOMS)}
    inside = [(a.split("/")[1], b.split("/")[1]) for a, b in read_includes() if a.startswith("kernels/")]
    assert len(inside) > 40
    assert {room for pair in inside for room in pair} <= set(KERNEL_ROOMS), "give a new room its place"
    assert [pair for pair in inside if rank[pair[0]] > rank[pair[1]]] == []
    assert [pair for pair in inside if pair[0] in SEPARATE and pair[1] == "methods"] == []


def test_python_is_known_behind_the_door_only() -> None:
    outside = [path for path in FILES if "nanobind" in path.read_text("utf-8") and path.parent != NATIVE / "bind"]
    assert outside == []
    assert [path for path in KERNELS.rglob("*.h") if "std::vector" in path.read_text("utf-8")] == []


def test_every_source_is_compiled() -> None:
    recipe, make = ((NATIVE.parents[2] / name).read_text("utf-8") for name in ("CMakeLists.txt", "Makefile"))
    sources = {path.relative_to(NATIVE).as_posix() for path in FILES if path.suffix == ".cpp"}
    groups = {name for line in recipe.splitlines() if line.startswith("set(group_") for name in line.strip(")").split()}
    left = {name for name in sources if f"${{native}}/{name}" not in recipe and name.removesuffix(".cpp") not in groups}
    assert left == {"wasm/interface.cpp"}  # by `make wasm`
    assert "wasm/interface.cpp " in make
