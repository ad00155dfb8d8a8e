"""SRDF, the file with the planning data of a URDF: the pairs of links that may overlap.

    <robot name="panda"><disable_collisions link1="panda_link0" link2="panda_link2" reason="Never"/></robot>

`disable_default_collisions` disables all pairs of a link, except those of `enable_collisions`; as in MoveIt, a pair of
`disable_collisions` stays disabled.
Without `srdf=` the file is searched in the folder of the URDF: one with the same name, or the only one for a robot of
this name. Groups and states are not read. Format: ROS, Semantic Robot Description Format.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.xml import Element, parse_xml, strip_prefix

__all__ = ["read_disabled_pairs"]

MAX_FILES = 50  # SRDF files in a folder
MAX_BYTES = 1 << 24
MAX_PAIRS = 1_000_000

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
            if path.stem == Path(source.path).stem or root.get("name") == robot:
                return list_pairs(source, file, root, links)
        except FormatError as error:
            source.note_oddity(f"{path.name} next to it was ignored: {error.message}")
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
    """Return the pairs of an SRDF; those with links that the URDF does not have are counted and ignored.

    Raises:
        FormatError: The default of many links disables more than `MAX_PAIRS` pairs.
    """
    given = [*read_rows(root, "disable_collisions", "link1", "link2")]
    enabled = [*read_rows(root, "enable_collisions", "link1", "link2")]
    silent = {*read_rows(root, "disable_default_collisions", "link")}
    names = frozenset(links)
    lost = sum(not names.issuperset(row) for row in (*given, *enabled, *silent))
    known = dict.fromkeys((one, other) for one, other in given if {one, other} <= names)
    quiet = [name for name in links if (name,) in silent]
    if len(quiet) * len(links) > MAX_PAIRS:
        raise file.make_error(f"it disables the default of {len(quiet)} links, more than {MAX_PAIRS} pairs.")
    spoken = {frozenset(pair) for pair in enabled}
    known |= dict.fromkeys((a, b) for a in quiet for b in links if a != b and frozenset((a, b)) not in spoken)
    unknown = f"; {lost} others name unknown links" if lost else ""
    source.note(f"{len(known)} pairs of links may overlap, by {Path(file.path).name}{unknown}")
    return tuple(known)


def read_rows(root: Element, tag: str, *keys: str) -> Iterator[tuple[str, ...]]:
    """Yield some attributes of all elements of a kind."""
    for element in root:
        if strip_prefix(element.tag) == tag:
            yield tuple(element.get(key, "").strip() for key in keys)
