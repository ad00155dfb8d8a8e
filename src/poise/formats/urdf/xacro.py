"""Xacro, the macro language of URDF files (wiki.ros.org/xacro): properties, macros, includes, conditions, expressions.

The expander is our own. The xacro package evaluates expressions with Python's `eval`, so that a file can run any
command; its evaluator, function list and file access are private, and patches of them would break with new versions.
The documented language is small: the tree of the file is traversed once and a new one is built, equal to the output of
the xacro package (`tests/parity/test_xacro_peers.py`). `poise.formats.urdf.xacro_values` controls file access.
"""

import keyword
import re
from pathlib import Path
from typing import Any

from poise.files.source import Source, quote
from poise.formats.options import ReadOptions, look_source
from poise.formats.urdf.expressions import ExpressionError
from poise.formats.urdf.packages import PackageFinder
from poise.formats.urdf.xacro_values import Macro, Scope, Values, parse_literal
from poise.formats.xml import Element, parse_xml

__all__ = ["expand", "needs_xacro"]

MARKS = (b"${", b"$(", b"<xacro:")
MACRO = re.compile(rb"""=\s*["'][^"'<>$]*\$[{(]""")
PARAMETER = re.compile(
    r"""\s*([^\s:=]+)(?:\s*:?=\s*(\^\|?)?(\$\{[^}]*\}|\$\([^)]*\)|(?:'[^']*'|"[^"]*"|[^\s'"])*))?(?=\s|$)"""
)
MAX_LIST_LENGTH = 10_000  # limit for the parameter list of a macro, in characters
ELEMENT_COST = 10  # budget steps
CALL_COST = 50
COPIED = 100  # characters copied or scanned per step


def needs_xacro(source: Source, root: Element) -> bool:
    """Return whether a file uses xacro outside comments: xacro elements, or ``${...}`` with its namespace."""
    if b"xacro" not in source.data or not any(mark in source.data for mark in MARKS):
        return False
    bare = remove_comments(source.data)
    if b"<xacro:" in bare:
        return any(element.tag.startswith("xacro:") for element in root.iter())
    if "xmlns:xacro" not in root.attrib or not (b"${" in bare or b"$(" in bare):
        return False
    return MACRO.search(bare) is not None


def remove_comments(data: bytes) -> bytes:
    """Return the file without its comments."""
    parts, at = [], 0
    while (start := data.find(b"<!--", at)) >= 0:
        parts.append(data[at:start])
        end = data.find(b"-->", start)
        at = end + 3 if end >= 0 else len(data)
    return b"".join([*parts, data[at:]])


def expand(source: Source, root: Element, options: ReadOptions) -> Element:
    """Return the URDF of a file with its macros expanded.

    Elements keep their line numbers; those from an included file have the line of the include or call in this file.

    Raises:
        MissingExtra: The file reads YAML and PyYAML is not installed.
        FormatError: The macros are invalid, need a forbidden file or variable, or do not terminate.
    """
    values = Values(source, PackageFinder(look_source(source, options)))
    expander = Expander(values)
    out = Element("")
    try:
        expander.copy(root, root.tag, expander.top, out)
    except ExpressionError as error:
        where = f" in {error.where}" if error.where else ""
        raise expander.at.make_error(f"xacro: {error}{where}.", expander.line) from None
    except RecursionError:
        raise expander.at.make_error("xacro: it is nested too deep; it may have no end.", expander.line) from None
    source.note("its macros were expanded")
    return next(iter(out))


class Expander:
    """The expander of the macros of one file.

    Attributes:
        at, line: The file and line being expanded, for errors.
        outer: The line of the user's file that includes another file or calls its macro; None in the user's file.
    """

    def __init__(self, values: Values) -> None:
        self.values, self.at = values, values.main
        self.line: int | None = None
        self.outer: int | None = None
        self.top = Scope(values, values.root)
        self.tags = {
            "xacro:property": self.add_property,
            "xacro:macro": self.add_macro,
            "xacro:arg": self.add_argument,
            "xacro:include": self.include,
            "xacro:if": self.choose,
            "xacro:unless": self.choose,
            "xacro:insert_block": self.insert_block,
            "xacro:call": self.call,
            "xacro:element": self.add_element,
            "xacro:attribute": self.add_attribute,
        }

    def expand_children(self, element: Element, scope: Scope, out: Element) -> None:
        """Append the expanded content of an element."""
        self.add_text(element.text, scope, out)
        for child in element:
            self.line = child.sourceline
            self.values.budget.spend(ELEMENT_COST)
            if child.tag.startswith("xacro:"):
                self.tags.get(child.tag, self.call)(child, scope, out)
            else:
                self.copy(child, child.tag, scope, out)
            self.add_text(child.tail, scope, out)

    def add_text(self, text: str | None, scope: Scope, out: Element) -> None:
        """Append text, evaluated."""
        if not text:
            return
        before = (out[-1].tail if len(out) else out.text) or ""
        self.values.budget.spend(len(before) // COPIED)
        after = before + self.values.evaluate_text(text, scope)
        if len(out):
            out[-1].tail = after
        else:
            out.text = after

    def copy(self, element: Element, tag: str, scope: Scope, out: Element) -> None:
        """Append an ordinary element with its attributes evaluated and its content expanded."""
        new = Element(tag)
        new.sourceline = self.outer or element.sourceline
        for name, value in element.items():
            if not name.startswith("xacro:") and name != "xmlns:xacro":
                new.set(name, self.values.evaluate_text(value, scope))
        out.append(new)
        self.expand_children(element, scope, new)

    def add_property(self, element: Element, scope: Scope, out: Element) -> None:
        """Define a property, or remove it."""
        name = self.read_name(element, "name", scope)
        value, default = element.get("value"), element.get("default")
        if self.read_flag(element, "remove", scope, "false"):
            while (owner := scope.find(name)) is not None and owner is not self.values.root:
                del owner.values[name]
        elif value is None and default is None:
            scope.values[f"**{name}"] = element
        elif value is not None or scope.find(name) is None:
            text = value if value is not None else default or ""
            lazy = element.get("scope") is None and self.read_flag(element, "lazy_eval", scope, "true")
            target = self.find_target(element.get("scope"), scope)
            target.set(name, text if lazy else self.values.evaluate(text, scope), lazy=lazy)

    def find_target(self, where: str | None, scope: Scope) -> Scope:
        """Return the scope in which to define a property."""
        if where == "global":
            return self.top
        target = scope.parent if where == "parent" else None
        while target is not None and target.is_namespace and not scope.is_namespace:
            target = target.parent
        return target or scope

    def add_macro(self, element: Element, scope: Scope, out: Element) -> None:
        """Define a macro."""
        text, at, parameters = element.get("params", ""), 0, {}
        while text[at:].strip():
            self.values.budget.spend(1 + len(text) // COPIED)
            found = PARAMETER.match(text, at) if len(text) < MAX_LIST_LENGTH else None
            if found is None:
                raise ExpressionError(f"the parameters {quote(text[at:])} cannot be read")
            if found[1].startswith("*") and (found[2] or found[3]):
                raise ExpressionError(f"the parameter {quote(found[1])} is an element; it has no default")
            parameters[found[1]] = (bool(found[2]), found[3] or None)
            at = found.end()
        scope.macros[require(element, "name").removeprefix("xacro:")] = Macro(element, self.at, parameters)

    def add_argument(self, element: Element, scope: Scope, out: Element) -> None:
        """Define an argument of the file, with its default."""
        default = str(self.values.evaluate(require(element, "default"), scope))
        self.values.arguments.setdefault(require(element, "name"), default)

    def choose(self, element: Element, scope: Scope, out: Element) -> None:
        """Expand the content of ``if`` or ``unless`` if its condition is met."""
        if self.read_flag(element, "value", scope) is (element.tag == "xacro:if"):
            self.expand_children(element, scope, out)

    def insert_block(self, element: Element, scope: Scope, out: Element) -> None:
        """Append a block argument of a macro, or the content of a block property."""
        name = require(element, "name")
        if scope.find(f"**{name}"):
            self.expand_children(scope.look_up(f"**{name}"), scope, out)
        else:
            block = scope.look_up(f"*{name}")
            self.copy(block, block.tag, scope, out)

    def add_element(self, element: Element, scope: Scope, out: Element) -> None:
        """Append an element with a computed tag."""
        self.copy(element, self.values.evaluate_text(require(element, "xacro:name"), scope), scope, out)

    def add_attribute(self, element: Element, scope: Scope, out: Element) -> None:
        """Set an attribute with a computed name."""
        name, value = (self.values.evaluate_text(require(element, key), scope) for key in ("name", "value"))
        out.set(name, value)

    def call(self, element: Element, scope: Scope, out: Element) -> None:
        """Append the expansion of a macro."""
        self.values.budget.spend(CALL_COST)
        given, name = dict(element.items()), element.tag.removeprefix("xacro:")
        if name == "call":
            name = str(self.values.evaluate(given.pop("macro", ""), scope))
        owner, macro = scope.find_macro(name)
        local, parameters = Scope(self.values, owner), dict(macro.parameters)
        for key, value in given.items():
            if parameters.pop(key, None) is None:
                raise ExpressionError(f"macro {quote(name)} has no parameter {quote(key)}")
            local.set(key, self.values.evaluate(value, scope))
        blocks = Element("")
        self.expand_children(element, scope, blocks)
        self.line = element.sourceline
        starred = [key for key in parameters if key.startswith("*")]
        if len(starred) != len(blocks):
            raise ExpressionError(f"macro {quote(name)} takes {len(starred)} elements; it has {len(blocks)}")
        local.values.update(zip(starred, blocks, strict=True))
        for key, (forward, default) in parameters.items():
            if forward and scope.find(key):
                local.set(key, scope.look_up(key))
            elif default is not None:
                local.set(key, self.values.evaluate(default, scope))
            elif key not in starred:
                raise ExpressionError(f"macro {quote(name)} needs the parameter {quote(key)}")
        self.expand_content(macro.source, macro.element, local, out)

    def include(self, element: Element, scope: Scope, out: Element) -> None:
        """Append the content of another file."""
        reference = str(self.values.evaluate(require(element, "filename"), scope))
        if self.read_flag(element, "optional", scope, "false") and self.values.find_file(reference) is None:
            return
        if element.get("ns"):
            inner = Scope(self.values, scope, is_namespace=True)
            scope.values[self.read_name(element, "ns", scope)] = inner
            scope = inner
        source = self.values.open(reference)
        self.values.files.append(Path(source.path))
        self.expand_content(source, parse_xml(source), scope, out)
        self.values.files.pop()

    def expand_content(self, source: Source, element: Element, scope: Scope, out: Element) -> None:
        """Append the expanded content of an element, which may be from another file."""
        at, outer = self.at, self.outer
        if source is not self.values.main and outer is None:
            self.outer = self.line
        self.at = source
        self.expand_children(element, scope, out)
        self.at, self.outer = at, outer

    def read_name(self, element: Element, attribute: str, scope: Scope) -> str:
        """Return the name of a property or a namespace; raise `ExpressionError` if it is invalid."""
        name = str(self.values.evaluate(require(element, attribute), scope))
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise ExpressionError(f"{quote(name)} is not a name; use letters, digits, and underscores after the first")
        return name

    def read_flag(self, element: Element, name: str, scope: Scope, default: str | None = None) -> bool:
        """Return the value of a boolean attribute."""
        value: Any = parse_literal(self.values.evaluate(element.get(name, default) or require(element, name), scope))
        if isinstance(value, str):
            raise ExpressionError(f"{name} is {quote(value)}; it must be true or false")
        return bool(value)


def require(element: Element, name: str) -> str:
    """Return an attribute; raise `ExpressionError` if it is missing."""
    value = element.get(name)
    if value is None:
        raise ExpressionError(f"<{element.tag}> needs the attribute {name!r}")
    return value
