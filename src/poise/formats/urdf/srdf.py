"""SRDF, the file with the planning data of a URDF: the pairs of links that may overlap.

    <robot name="panda"><disable_collisions link1="panda_link0" link2="panda_link2" reason="Never"/></robot>

Without `srdf=` the file is searched in the folder of the URDF: one with the same name, or the only one for a robot of
this name. Groups and states are not read. Format: ROS, Semantic Robot Description Format.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.xml import Element, parse_xml, strip_prefix

__all__ = ["read_disabled_pairs"]

MAX_FILES = 50  # SRDF files in a folder
MAX_BYTES = 1 << 24

Pairs = tuple[tuple[str, str], ...]


def read_disabled_pairs(source: Source, robot: str, links: Collection[str], options: ReadOptions) -> Pairs | None:
    """Return the pairs of links that may overlap, or None without an SRDF.

    Raises:
        FormatError: The file of `srdf=` is missing or malformed. A file that was only found is ignored instead.
    """
    if options.srdf is not None:
        file = Source.open(options.srdf, limit=MAX_BYTES)
        return list_pairs(source, file, read_root(file), links)
    for path in list_files(Path(source.path)):
        try:
            file = Source.open(path, limit=MAX_BYTES)
            root = read_root(file)
        except FormatError as error:
            source.note_oddity(f"{path.name} next to it was ignored: {error.message}")
            continue
        if path.stem == Path(source.path).stem or root.get("name") == robot:
            return list_pairs(source, file, root, links)
    return None


def list_files(path: Path) -> list[Path]:
    """Return the SRDF files next to a URDF: the one with its name, or the only one."""
    try:
        found = sorted(path.parent.glob("*.srdf"))[:MAX_FILES]
    except OSError:
        return []
    same = [file for file in found if file.stem == path.stem]
    return same or (found if len(found) == 1 else [])


def read_root(file: Source) -> Element:
    """Return the root of an SRDF."""
    root = parse_xml(file)
    if strip_prefix(root.tag) != "robot":
        raise file.make_error(f"its root is <{root.tag}>; an SRDF begins with <robot>.", root.sourceline)
    return root


def list_pairs(source: Source, file: Source, root: Element, links: Collection[str]) -> Pairs:
    """Return the pairs of an SRDF; those with links that the URDF does not have are counted and ignored."""
    rows = [element for element in root if strip_prefix(element.tag) == "disable_collisions"]
    pairs = [(row.get("link1", ""), row.get("link2", "")) for row in rows]
    known = tuple(pair for pair in pairs if set(pair) <= set(links))
    lost = f"; {len(pairs) - len(known)} others name unknown links" if len(known) < len(pairs) else ""
    source.note(f"{len(known)} pairs of links may overlap, by {Path(file.path).name}{lost}")
    return known
