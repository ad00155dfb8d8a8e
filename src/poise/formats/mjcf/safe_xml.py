"""Sanitised MJCF for MuJoCo's compiler: one tree, no references to files, limited sizes.

Includes are expanded here, each file once: from the model's folder, or above it if ``..`` leads to a file with MJCF's
suffix. Attached models are treated likewise. `sanitize` then removes elements that kinematics does not need and that
use memory or files: textures, height fields, skins, plugins. A mesh is replaced by a placeholder whose name identifies
its file. Everything else is left for the compiler to check.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import quoteattr

from poise.errors import FormatError
from poise.files.source import MAX_NAME_LENGTH, Source, quote
from poise.formats.xml import Element, parse_xml

__all__ = [
    "NOT_THERE",
    "NO_FILE",
    "XML",
    "MjcfFiles",
    "Origin",
    "Weight",
    "count_elements",
    "find_stem",
    "gather",
    "sanitize",
    "serialize",
    "walk",
]

Weight = tuple[float, float]  # elements, bodies

MAX_FILES = 200
MAX_BYTES = 1 << 26  # limit for all included XML
MAX_BODIES = 5_000  # after replicate, composite, flexcomp and attach; MuJoCo's compiler takes seconds for these
MAX_COPIES = 25_000  # elements, after the same expansion
MAX_COUNT = 1_000_000  # limit for any count or size attribute
NO_FILE = "made by a plugin"
NOT_THERE = "is missing, or is not a plain file; searched next to"
BEGIN, END = b"<mujoco", b"</mujoco>"
EXTRA_END = re.compile(rb"</mujoco>\s*</mujoco>\s*\Z")
XML = (".xml", ".mjcf")  # files that an include may refer to outside the folder
MAX_DEPTH = 480  # the limit of MuJoCo's own XML reader is 500

# attributes that hold text, in which "nan" is an ordinary word
HERE = PurePosixPath()
WORDS = re.compile(r"name|class|childclass|file.*|.*dir|content_type|prefix|model|type|mode|.*name|data|key|value")
PLACED = ("body", "joint", "freejoint", "site", "frame", "inertial", "geom", "replicate", "key")
FINITE = ("pos", "quat", "axis", "axisangle", "xyaxes", "zaxis", "euler", "ref", "range", "qpos", "polycoef", "mass")
MAKES_BODIES = ("body", "composite", "flexcomp", "attach")
COUNTS = ("count", "nrow", "ncol", "width", "height", "nsample", "nkey", "nuserdata", "size", "dim", "actdim")
BUFFERS = {"nkey", "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site", "nuser_cam", "nuser_tendon"}


@dataclass
class Origin:
    """The origin of an element: its file, and that file's folder relative to the model's folder."""

    source: Source
    below: PurePosixPath = HERE


@dataclass
class MjcfFiles:
    """All files that are read for one model.

    Attributes:
        main: The file given by the user.
        within: The folder of an upload, outside of which nothing is opened; "" for no restriction.
        parts: The origin of each element, by `id`; elements live as long as their root.
        opened: The resolved paths of the files read so far; no file is read twice.
        bytes: The total size of the included files.
        kept: Roots and replaced elements, kept alive so that no `id` is reused.
        dropped: The removed elements without which MuJoCo may reject the file.
    """

    main: Source
    within: str = ""
    parts: dict[int, Origin] = field(default_factory=dict)
    opened: set[Path] = field(default_factory=set)
    bytes: int = 0
    dropped: set[str] = field(default_factory=set)
    kept: list[Element] = field(default_factory=list)

    def make_error(self, element: Element, message: str) -> FormatError:
        """Return an error for an element, in its own file."""
        part = self.parts.get(id(element))
        source = part.source if part else self.main
        return source.make_error(f"<{element.tag}>: {message}", element.sourceline or None)

    def find(self, element: Element, reference: str, above: tuple[str, ...] = ()) -> tuple[Path, PurePosixPath] | None:
        """Find a file relative to the model or the element's file; return its path, and its folder from the model's."""
        below = self.parts[id(element)].below
        plain = PurePosixPath(reference.replace("\\", "/"))
        for base in dict.fromkeys((HERE, below)):
            try:
                path = self.main.find_sibling(str(base / plain), above, self.within)
                there = path.is_file()
            except FormatError as error:
                raise self.make_error(element, error.message) from None
            except (OSError, ValueError, RuntimeError):  # the name is too long, or a loop of links
                raise self.make_error(element, f"{quote(reference)} is not a file name.") from None
            if there:
                return path, (base / plain).parent
        return None

    def open(self, element: Element, reference: str) -> tuple[Source, Origin]:
        """Open an included file; each file is read once."""
        found = self.find(element, reference, XML)
        if found is None:
            raise self.make_error(element, f"the file {quote(reference)} {NOT_THERE} {self.main.path!r}.")
        path, below = found
        if path in self.opened or len(self.opened) >= MAX_FILES:
            what = "is already included, perhaps by itself" if path in self.opened else "is one file too many"
            raise self.make_error(element, f"{quote(reference)} {what}; include each file once.")
        self.opened.add(path)
        source = Source.open(path, limit=MAX_BYTES)
        self.bytes += len(source.data)
        if self.bytes > MAX_BYTES:
            raise self.make_error(element, f"the included files have more than {MAX_BYTES} bytes in all.")
        return source, Origin(source, below)


def gather(folder: MjcfFiles, source: Source, part: Origin) -> Element:
    """Parse a file and expand its includes; return the root.

    Raises:
        FormatError: The file is not MJCF, or an include is missing, repeated, recursive, or not XML outside the folder.
    """
    root = parse_tree(source)
    for element in walk(root):
        folder.parts[id(element)] = part
    if root.tag.lower() not in ("mujoco", "mujocoinclude"):
        raise source.make_error(
            f"its root is <{root.tag}>; MJCF begins with <mujoco>, URDF with <robot>.", root.sourceline
        )
    for parent in list(walk(root)):
        if any(child.tag.lower() == "include" for child in parent):
            parent[:] = [piece for child in parent for piece in expand_include(folder, child)]
    return root


def expand_include(folder: MjcfFiles, element: Element) -> list[Element]:
    """Return the element itself, or the elements it includes."""
    if element.tag.lower() != "include":
        return [element]
    if len(element):
        raise folder.make_error(element, "an include has no elements of its own.")
    if not element.get("file"):
        raise folder.make_error(element, "it must name a file.")
    source, part = folder.open(element, element.get("file", ""))
    root = gather(folder, source, part)
    folder.kept.extend((element, root))
    return list(root)


def parse_tree(source: Source) -> Element:
    """Parse the file without errors that MuJoCo accepts: "--" in a comment, an extra end tag."""
    data = remove_odd_comments(source.data)
    if data != source.data:
        source.note_oddity("has '--' inside a comment, which XML forbids and MuJoCo reads; such comments were skipped")
    whole = data
    while data.count(END) > data.count(BEGIN) and EXTRA_END.search(data):
        data = data[: data.rindex(END)]
    if data != whole:
        source.note_oddity("ends in one </mujoco> too many, which MuJoCo reads; it was skipped")
    return parse_xml(Source(source.path, data, source.notes, source.oddities), deepest=MAX_DEPTH)


def remove_odd_comments(data: bytes) -> bytes:
    """Replace comments that XML forbids by their line breaks, in one pass."""
    pieces, at = [], 0
    while (start := data.find(b"<!--", at)) >= 0 and (end := data.find(b"-->", start + 4)) >= 0:
        words = data[start + 4 : end]
        odd = b"--" in words or words.endswith(b"-")
        pieces += [data[at:start], b"\n" * words.count(b"\n") if odd else data[start : end + 3]]
        at = end + 3
    return b"".join([*pieces, data[at:]])


def walk(root: Element) -> Iterator[Element]:
    """Yield the element and all its descendants, in document order."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(list(element)))


# ------------------------------------------------------------------------------------------------ sanitising


def sanitize(folder: MjcfFiles, root: Element) -> None:
    """Check numbers and counts, and remove unneeded elements, in place.

    Raises:
        FormatError: A number is NaN, or a count is too large.
    """
    for element in walk(root):
        check_numbers(folder, element)
    for element in walk(root):
        change = CHANGES.get(element.tag)
        if change:
            change(element)
        element[:] = [child for child in element if is_kept(folder, element, child)]


def check_numbers(folder: MjcfFiles, element: Element) -> None:
    """Raise `FormatError` for NaN, infinite positions, and sizes beyond `MAX_COUNT`."""
    for key, value in element.items():
        numbers = parse_numbers(value)
        if key == "name" and len(value) > MAX_NAME_LENGTH:
            raise folder.make_error(element, f"its name has {len(value)} letters; give it a shorter one.")
        if WORDS.fullmatch(key) is None and any(map(math.isnan, numbers)):
            raise folder.make_error(element, f"{key} is {quote(value)}; every number must be one.")
        if key in FINITE and element.tag in PLACED and any(map(math.isinf, numbers)):
            raise folder.make_error(
                element, f"{key} is {quote(value)}; it must be finite. Omit the range of an unlimited joint."
            )
        is_range = key == "range" and element.tag == "joint" and element.get("limited") != "false"
        if is_range and len(numbers) == 2 and numbers[0] > numbers[1]:
            raise folder.make_error(element, f"range is {quote(value)}, whose lower end is above its upper; swap them.")
        if key in COUNTS or key in BUFFERS:
            sizes = [parse_number(word) for word in value.split()]
            if key == "count" and any(size < 0.0 for size in sizes):
                raise folder.make_error(element, f"count is {quote(value)}; it must be zero or more.")
            if any(not abs(size) <= MAX_COUNT for size in sizes):
                raise folder.make_error(element, f"{key} is {quote(value)}; at most {MAX_COUNT} is allowed.")


def parse_numbers(value: str) -> list[float]:
    """Parse the numbers of an attribute; an empty list if a word is not a number."""
    try:
        return [float(word) for word in value.split()]
    except ValueError:
        return []


def parse_number(word: str) -> float:
    """Parse a number; 1.0 for invalid words, which the compiler will report."""
    return (parse_numbers(word) or [1.0])[0]


def count_elements(folder: MjcfFiles, root: Element, attached: Mapping[str, Weight]) -> Weight:
    """Return the number of elements and bodies after replication.

    Raises:
        FormatError: A limit is exceeded.
    """
    total, bodies = 0.0, 0.0
    stack = [(root, 1.0)]
    while stack:
        element, copies = stack.pop()
        if element.tag in ("replicate", "composite", "flexcomp"):
            copies *= max(1.0, math.prod(abs(parse_number(word)) or 1.0 for word in element.get("count", "1").split()))
        inner = attached.get(element.get("model", ""), (1.0, 1.0)) if element.tag == "attach" else (1.0, 1.0)
        total += copies * inner[0]
        bodies += copies * inner[1] if element.tag in MAKES_BODIES else 0.0
        if total > MAX_COPIES or bodies > MAX_BODIES:
            raise folder.make_error(element, f"the model grows above {MAX_BODIES} bodies or {MAX_COPIES} copies.")
        stack.extend((child, copies) for child in element)
    return total, bodies


def is_kept(folder: MjcfFiles, parent: Element, child: Element) -> bool:
    """Return whether a child is kept; removals that may cause compiler errors are recorded."""
    if child.tag in ("extension", "plugin", "skin") or (child.tag == "flexcomp" and child.get("file")):
        folder.dropped.add(child.tag)
        return False
    if child.tag == "geom" and child.get("type") == "sdf" and not child.get("mesh"):
        folder.dropped.add("sdf geom")
        return False
    return not (child.tag == "size" and parent.tag == "mujoco")


def find_stem(element: Element) -> str:
    """Return the default name of an asset: the stem of its file."""
    return PurePosixPath(element.get("file", "").replace("\\", "/")).stem


def simplify_texture(element: Element) -> None:
    """Replace the texture by a single pixel with the same name."""
    name = element.get("name") or find_stem(element) or f"poise texture {id(element)}"
    element.attrib.clear()
    element.attrib.update(name=name, type="2d", builtin="flat", width="1", height="1")


def flatten_field(element: Element) -> None:
    """Replace the height field by a 2x2 grid with the same name."""
    name, size = element.get("name") or find_stem(element), element.get("size", "1 1 1 1")
    element.attrib.clear()
    element.attrib.update(name=name, size=size, nrow="2", ncol="2")


def drop_folders(element: Element) -> None:
    """Remove the settings for asset folders, for merging bodies (each is needed as a frame) and for muscle lengths."""
    for key in ("meshdir", "texturedir", "assetdir", "strippath", "fusestatic"):
        element.attrib.pop(key, None)
    element[:] = [child for child in element if child.tag != "lengthrange"]


def turn_into_mesh(element: Element) -> None:
    """Turn a signed distance field with a mesh into that mesh."""
    if element.get("type") == "sdf":
        element.set("type", "mesh")


def drop_plugin(element: Element) -> None:
    """Mark a mesh that a plugin would generate as having no file."""
    if any(child.tag == "plugin" for child in element):
        element.set("file", NO_FILE)


CHANGES = {
    "mesh": drop_plugin,
    "texture": simplify_texture,
    "hfield": flatten_field,
    "compiler": drop_folders,
    "geom": turn_into_mesh,
}


# ------------------------------------------------------------------------------------------------ text


def serialize(root: Element) -> tuple[str, list[Element]]:
    """Return the tree as text with one tag per line, and the element of each line."""
    lines: list[str] = []
    origin: list[Element] = []
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, closing = stack.pop()
        origin.append(element)
        if closing:
            lines.append(f"</{element.tag}>")
            continue
        attributes = "".join(f" {key}={quoteattr(value)}" for key, value in element.items())
        lines.append(f"<{element.tag}{attributes}{'' if len(element) else '/'}>")
        if len(element):
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(list(element)))
    return "\n".join(lines) + "\n", origin
