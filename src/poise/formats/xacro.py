"""Xacro, the macro language of URDF files, through xacrodoc where that is installed.

A xacro file is a program: it includes other files and computes. It runs in a Python process of its own, with a time
limit, so that one that never ends, or ends badly, is a `FormatError` here.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

from poise.errors import MissingExtra
from poise.formats.bounded import make_environment
from poise.formats.source import Source
from poise.formats.xml import Element

__all__ = ["expand", "needs_xacro"]

SECONDS = 20.0
MOST_MEMORY = 1 << 32
MARKS = (b"${", b"$(", b"<xacro:")
LOST = re.compile(r"Package not found: (\S+)")
ASKED = re.compile(r"Undefined substitution argument (\w+)")
MACRO = re.compile(rb"""=\s*["'][^"'<>$]*\$[{(]""")

# package:// references stay as they are: nothing here needs the packages of meshes. A package that $(find ...) wants
# and ROS does not know is looked for by its name: a folder of that name above the file, or next to one of those.
PROGRAM = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
except (ImportError, ValueError, OSError):
    pass
from pathlib import Path
from xacrodoc import XacroDoc, packages

def by_name(package):
    if package in (".", "..") or set(package) & set("/\\\\"):
        raise LookupError(package)
    for folder in Path(sys.argv[1]).resolve().parents:
        for place in (folder, folder / package):
            if place.name == package and place.is_dir():
                return str(place)
    raise LookupError(package)

finder = getattr(packages, "_finder", None)
if finder is not None:
    finder.finder_funcs.append((by_name, LookupError))
try:
    document = XacroDoc.from_file(sys.argv[1], resolve_packages=False)
except Exception as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
sys.stdout.buffer.write(document.dom.toxml(encoding="utf-8"))
"""


def needs_xacro(source: Source, root: Element) -> bool:
    """Return whether macros are left outside a file's comments: xacro elements, or ``${...}`` with its namespace."""
    if b"xacro" not in source.data or not any(mark in source.data for mark in MARKS):
        return False
    bare = without_comments(source.data)
    if b"<xacro:" in bare:
        return any(element.tag.startswith("xacro:") for element in root.iter())
    if "xmlns:xacro" not in root.attrib or not (b"${" in bare or b"$(" in bare):
        return False
    return MACRO.search(bare) is not None


def without_comments(data: bytes) -> bytes:
    """Return the file without its comments."""
    parts, at = [], 0
    while (start := data.find(b"<!--", at)) >= 0:
        parts.append(data[at:start])
        end = data.find(b"-->", start)
        at = end + 3 if end >= 0 else len(data)
    return b"".join([*parts, data[at:]])


def expand(source: Source) -> Source:
    """Return the URDF that the macros stand for; lines count in that from then on, and a note says so.

    Raises:
        MissingExtra: xacrodoc is not installed.
        FormatError: The macros are wrong, or take too long.
    """
    import subprocess

    if importlib.util.find_spec("xacrodoc") is None:
        raise MissingExtra(f'{source.path} is xacro, which needs xacrodoc. Type: pip install "poise[formats]"')
    path = Path(source.path).absolute()
    command = [sys.executable, "-c", PROGRAM.format(memory=MOST_MEMORY), str(path)]
    try:
        done = subprocess.run(  # in the file's folder, where relative includes are looked for
            command, capture_output=True, timeout=SECONDS, env=make_environment(), cwd=path.parent, check=False
        )
    except subprocess.TimeoutExpired:
        raise source.make_error(f"its macros ran for more than {SECONDS:g} s and were stopped; do they end?") from None
    except OSError as error:
        raise source.make_error(
            f"xacro could not be started: {error}. Type: xacrodoc {source.path} -o robot.urdf"
        ) from None
    if done.returncode != 0:
        words = " ".join(done.stderr.decode("utf-8", "replace").split()) or "it ended without a word"
        if lost := LOST.search(words):
            raise source.make_error(
                f"it needs the ROS package {lost[1][:80]!r}, which was not found; put a folder of that name next to its"
                " own package, or run xacro where it is installed."
            )
        asked = ASKED.search(words)
        hint = (
            f". Give it a value: xacro {path.name} {asked[1][:80]}:=... -o robot.urdf, then load that" if asked else ""
        )
        raise source.make_error(f"xacro refused it: {words[-400:]}{hint}")
    source.note("the macros were expanded by xacrodoc; lines are counted in what came out")
    return Source(source.path, done.stdout, source.notes, source.oddities)
