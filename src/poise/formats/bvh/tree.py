"""The HIERARCHY section of a BVH file: joints with offsets and channels, as written.

There is no standard; the grammar covers the files that programs write. Words are separated by any white space, keywords
are case-insensitive, and a name takes the rest of its line: it may contain spaces, colons and accents.
"""

import re
from dataclasses import dataclass, field

from poise.files.source import MAX_NAME_LENGTH, Source, parse_number, quote

__all__ = ["MAX_DEPTH", "MAX_JOINTS", "BvhChannel", "BvhNode", "read_tree"]

MAX_JOINTS = 10_000
MAX_DEPTH = 1_000
MAX_CHANNELS = 24  # per joint; six is usual

_WORD = re.compile(r"[{}]|[^\s{}]+")
_BRACE = re.compile(r"\{(?=\s|$)")
_CHANNEL = re.compile(r"([xyz])(position|rotation)")
_COUNT = re.compile(r"\+?[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BvhChannel:
    """One column of the motion: an axis (0 to 2), and whether it is a rotation about it or a position along it."""

    axis: int
    turns: bool

    def __str__(self) -> str:
        return "XYZ"[self.axis] + ("rotation" if self.turns else "position")


@dataclass(slots=True)
class BvhNode:
    """A joint as written; `ends` lists the offsets of its end sites with their line numbers."""

    name: str
    parent: int
    line: int
    offset: list[float] | None = None
    channels: tuple[BvhChannel, ...] | None = None
    ends: list[tuple[list[float], int]] = field(default_factory=list)


class Tokens:
    """A stream of words with line numbers; a name takes the rest of its line."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self._lines = re.split(r"\r\n|\r|\n", text)
        self._at = 0
        self.line = 0

    def peek(self) -> str:
        """Return the next word, or "" at the end."""
        while self.line < len(self._lines):
            found = _WORD.search(self._lines[self.line], self._at)
            if found:
                return found.group()
            self.line, self._at = self.line + 1, 0
        return ""

    def take(self) -> tuple[str, int]:
        """Consume the next word; return it and its line number, counted from 1."""
        word = self.peek()
        if word:
            found = _WORD.search(self._lines[self.line], self._at)
            assert found is not None
            self._at = found.end()
        return word, min(self.line, len(self._lines) - 1) + 1

    def take_line(self) -> str:
        """Consume and return the rest of this line, up to a free-standing opening brace."""
        rest = self._lines[self.line][self._at :]
        brace = _BRACE.search(rest)
        taken = rest[: brace.start()] if brace else rest
        self._at += len(taken)
        return taken.strip()

    def expect(self, wanted: str, after: str) -> int:
        """Consume the next word and return its line number; raise `FormatError` if it is not `wanted`."""
        word, line = self.take()
        if word.lower() != wanted:
            found = f"{quote(word)} follows" if word else "the file ends"
            raise self.source.make_error(f"{after} needs {wanted!r} next, but {found}.", line)
        return line


def read_tree(source: Source, text: str) -> list[BvhNode]:
    """Read all joints, parents first, in the order of their columns.

    Raises:
        FormatError: Unbalanced braces, unexpected words, or counts that do not match.
    """
    words = Tokens(source, text)
    words.expect("hierarchy", "a BVH file")
    nodes: list[BvhNode] = []
    path: list[int] = []  # the open joints, outermost first
    roots = ends = 0
    while words.peek():
        word, line = words.take()
        key = word.lower()
        if key in ("root", "joint"):
            roots += check_place(source, key, path, line)
            nodes.append(open_joint(words, word, path[-1] if path else -1, line))
            path.append(len(nodes) - 1)
            if len(nodes) > MAX_JOINTS or len(path) > MAX_DEPTH:
                raise source.make_error(f"has more than {MAX_JOINTS} joints, or {MAX_DEPTH} inside each other.", line)
        elif not path:
            raise source.make_error(f"{quote(word)} is outside of any joint; expected ROOT or MOTION.", line)
        elif key in ("end", "endsite"):
            ends += 1
            if ends > MAX_JOINTS:
                raise source.make_error(f"has more than {MAX_JOINTS} End Sites.", line)
            nodes[path[-1]].ends.append(read_end(words, key, nodes[path[-1]].name, line))
        elif key == "offset":
            set_offset(words, nodes[path[-1]], line)
        elif key == "channels":
            set_channels(words, nodes[path[-1]], line, last=path[-1] == len(nodes) - 1)
        elif word == "}":
            close_joint(source, nodes[path.pop()], line)
        else:
            raise source.make_error(
                f"{quote(word)} is not a word of a BVH hierarchy (joint {quote(nodes[path[-1]].name)}).", line
            )
    if path:
        node = nodes[path[-1]]
        told = f"joint {quote(node.name)} is never closed: a '}}' is missing. Is the file complete?"
        raise source.make_error(told, node.line)
    if not nodes:
        raise source.make_error("has no ROOT, so no body.", words.take()[1])
    if roots > 1:
        source.note_oddity(f"has {roots} ROOTs; all of them become roots of one model")
    make_unique_names(source, nodes)
    return nodes


def check_place(source: Source, key: str, path: list[int], line: int) -> int:
    """Return 1 for a root and 0 for a joint; raise `FormatError` if it is in the wrong place."""
    if key == "joint" and not path:
        raise source.make_error("JOINT is outside of ROOT; the first joint must be a ROOT.", line)
    if key == "root" and path:
        raise source.make_error("ROOT is inside of a joint; write JOINT, or close the joints before it.", line)
    return int(key == "root")


def open_joint(words: Tokens, keyword: str, parent: int, line: int) -> BvhNode:
    """Read the start of a joint, up to its opening brace."""
    name = words.take_line()
    if not name:
        raise words.source.make_error(f"{keyword} has no name.", line)
    if len(name) > MAX_NAME_LENGTH:
        raise words.source.make_error(f"{keyword} has a name of {len(name)} letters; give it a shorter one.", line)
    words.expect("{", f"joint {quote(name)}")
    return BvhNode(name, parent, line)


def close_joint(source: Source, node: BvhNode, line: int) -> None:
    """Raise `FormatError` if a joint has no offset at its closing brace."""
    if node.offset is None:
        raise source.make_error(f"joint {quote(node.name)} has no OFFSET.", line)


def set_offset(words: Tokens, node: BvhNode, line: int) -> None:
    """Read OFFSET x y z."""
    if node.offset is not None:
        raise words.source.make_error(f"joint {quote(node.name)} has two OFFSETs; keep one.", line)
    node.offset = read_three(words, f"OFFSET of {quote(node.name)}")


def read_three(words: Tokens, what: str) -> list[float]:
    """Read three numbers; raise `FormatError` if a fourth follows."""
    numbers = []
    for _ in range(3):
        word, line = words.take()
        numbers.append(parse_number(word, f"{what} (three numbers)", words.source, line))
    following = words.peek()
    if following[:1] in set("0123456789+-."):  # false for the empty word
        raise words.source.make_error(f"{what} has more than three numbers: {quote(following)}.", words.line + 1)
    return numbers


def read_end(words: Tokens, key: str, joint: str, line: int) -> tuple[list[float], int]:
    """Read an end site up to its closing brace; other text on the line of the keyword is ignored."""
    if key == "end":
        words.expect("site", f"the end of {quote(joint)}")
    words.take_line()
    words.expect("{", f"the End Site of {quote(joint)}")
    words.expect("offset", f"the End Site of {quote(joint)}")
    offset = read_three(words, f"OFFSET of the End Site of {quote(joint)}")
    if words.peek().lower() == "channels":
        words.take()
        count, at = words.take()
        if count != "0":
            raise words.source.make_error(f"the End Site of {quote(joint)} has channels; only joints move.", at)
    words.expect("}", f"the End Site of {quote(joint)}")
    return offset, line


def set_channels(words: Tokens, node: BvhNode, line: int, *, last: bool) -> None:
    """Read CHANNELS count name ... name."""
    source, what = words.source, f"CHANNELS of {quote(node.name)}"
    if node.channels is not None:
        raise source.make_error(f"joint {quote(node.name)} has two CHANNELS; keep one.", line)
    if not last:
        raise source.make_error(f"{what} come after a joint inside it, so their place in the rows is unclear.", line)
    word, line = words.take()
    if not _COUNT.fullmatch(word) or int(word) > MAX_CHANNELS:
        raise source.make_error(f"{what}: the count is {quote(word)}; it must be 0 to {MAX_CHANNELS}.", line)
    channels = [read_channel(words, what, int(word)) for _ in range(int(word))]
    if _CHANNEL.fullmatch(words.peek().lower()):
        raise source.make_error(
            f"{what}: the count is {word}, but more are named: {quote(words.peek())}.", words.line + 1
        )
    places = [channel.axis for channel in channels if not channel.turns]
    if len(set(places)) < len(places):
        raise source.make_error(f"{what} name a position twice; keep one.", line)
    node.channels = tuple(channels)


def read_channel(words: Tokens, what: str, count: int) -> BvhChannel:
    """Read one of Xposition ... Zrotation, case-insensitive."""
    word, line = words.take()
    found = _CHANNEL.fullmatch(word.lower())
    if not found:
        known = "Xposition Yposition Zposition Xrotation Yrotation Zrotation"
        raise words.source.make_error(f"{what}: the count is {count}, and {quote(word)} is not one of {known}.", line)
    return BvhChannel("xyz".index(found.group(1)), found.group(2) == "rotation")


def make_unique_names(source: Source, nodes: list[BvhNode]) -> None:
    """Make the joint names unique: ``Hand``, ``Hand#2``, ``Hand#3``."""
    taken = {node.name for node in nodes}
    seen: dict[str, int] = {}
    for node in nodes:
        given = node.name
        seen[given] = seen.get(given, 0) + 1
        if seen[given] == 1:
            continue
        while f"{given}#{seen[given]}" in taken:
            seen[given] += 1
        node.name = f"{given}#{seen[given]}"
        taken.add(node.name)
        source.note_oddity(f"another joint is called {quote(given)}; this one is {quote(node.name)} here", node.line)
