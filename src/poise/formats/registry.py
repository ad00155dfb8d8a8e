"""The registry of formats: a file's format is found by its suffix, and by its content if the suffix is ambiguous.

A format is a module of this package with `NAME`, `SUFFIXES`, `looks_like(head)` and some of `read_model`,
`read_motion`, `write_model`, `write_motion`, `write_pose`, `write_rig`, `write_solution`, `write_values`,
`write_arrays`. To add one, write the module and list it here.
"""

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from poise.errors import FormatError
from poise.files.source import Source

__all__ = ["find_reader", "find_writer", "list_formats"]

MODULES = (
    "urdf.reader",
    "mjcf.reader",
    "bvh.reader",
    "gltf",
    "fbx",
    "usd",
    "dh",
    "tables.motions",
    "tables.amass",
    "tables.smpl",
    "tables.npz",
    "json_files",
    "solver_files",
)
HEAD = 1 << 16  # bytes passed to `looks_like`
OPEN = ("", ".xml", ".txt", ".json", ".bin", ".dat")  # suffixes that do not determine a format

Module = Any


ELSEWHERE = {  # files of other programs, with conversion advice
    ".blend": " In Blender, write a .glb: File > Export > glTF 2.0.",
    **dict.fromkeys((".ma", ".mb", ".max", ".c4d"), " Export it as FBX."),
    ".zip": " Unpack it, and name the file inside; the studio reads it as it is.",
    **dict.fromkeys(
        (".pkl", ".pickle"),
        " A pickle can run any program, so none is opened: save its arrays as NPZ (SMPL: docs/motion-files.md).",
    ),
    ".sdf": " SDF is not read here: convert it to URDF or MJCF.",
    **dict.fromkeys((".obj", ".stl", ".dae", ".ply"), " That is a mesh without joints: name it in a URDF or MJCF."),
}
UNWRITTEN = dict.fromkeys(
    (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz", ".dae"),
    " Write a .glb, import it in Blender (File > Import > glTF 2.0), and export it from there.",
)


@cache
def list_formats() -> tuple[Module, ...]:
    """Return all format modules, in the order in which they are tried."""
    names = (f"poise.formats.{name}" for name in MODULES)
    return tuple(importlib.import_module(name) for name in names)


def find_suffix(path: str) -> str:
    """Return the last suffix of a path in lower case."""
    return Path(path).suffix.lower()


def find_reader(source: Source, verb: str) -> Module:
    """Return the format of a file for `verb`: "read_model" or "read_motion".

    Raises:
        FormatError: No format matches the file, or its format does not support `verb`.
    """
    suffix = find_suffix(source.path)
    able = [module for module in list_formats() if hasattr(module, verb)]
    named = [module for module in able if suffix in module.SUFFIXES]
    if len(named) == 1 and suffix not in OPEN:
        return named[0]
    head = source.data[:HEAD]
    for module in named if named and suffix not in OPEN else able:
        if module.looks_like(head):
            return module
    if named:
        return named[0]
    what = verb.removeprefix("read_")
    for module in list_formats():
        if suffix in module.SUFFIXES or module.looks_like(head):
            raise source.make_error(f"is {module.NAME}, which contains no {what}; use {name_formats(verb)}.")
    advice = ELSEWHERE.get(suffix, "")
    raise source.make_error(f"has no known format; a {what} is read from {name_formats(verb)}.{advice}")


def find_writer(path: str, verb: str, what: str = "") -> Module:
    """Return the format module that can write to `path`, chosen by its suffix.

    Args:
        path: The file to write.
        verb: "write_model", "write_motion", "write_pose", "write_solution", "write_values" or "write_arrays".
        what: The kind of object for error messages; by default the last word of `verb`.

    Raises:
        FormatError: The suffix is unknown, or its format does not support `verb`.
    """
    suffix = find_suffix(path)
    for module in list_formats():
        if suffix in module.SUFFIXES and hasattr(module, verb):
            return module
    what = what or verb.removeprefix("write_")
    reason = (
        f"a {what} cannot be saved as {suffix}" if suffix else "cannot determine the format: the path has no suffix"
    )
    raise FormatError(f"{reason}. Formats for a {what}: {name_formats(verb)}.{UNWRITTEN.get(suffix, '')}", path)


def knows_suffix(suffix: str) -> bool:
    """Return whether a format uses this suffix."""
    return any(suffix in module.SUFFIXES for module in list_formats())


def name_formats(verb: str) -> str:
    """Return the names of the formats that support `verb`, with their suffixes."""
    able = [f"{module.NAME} ({' '.join(module.SUFFIXES)})" for module in list_formats() if hasattr(module, verb)]
    return ", ".join(able) or "no file yet"
