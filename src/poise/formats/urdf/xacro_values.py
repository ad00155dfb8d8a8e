"""The values of a xacro file: properties and arguments, evaluation of text, and access to other files.

``${...}`` is evaluated by `poise.formats.urdf.expressions`. ``$(...)`` is ``arg``, ``find``, ``dirname``, ``cwd``,
``eval``, or ``optenv``, which always returns its default: environment variables are not read. Files are read only from
the robot's folder, its package, and the packages found by `PackageFinder.find_package`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poise.files.source import Source, quote
from poise.formats.urdf.expressions import Budget, Evaluator, ExpressionError, Function, check_number, make_functions
from poise.formats.urdf.packages import PackageFinder
from poise.formats.urdf.xacro_yaml import read_yaml
from poise.formats.xml import Element

__all__ = ["Macro", "Scope", "Values", "parse_literal"]

TOKEN = re.compile(
    r"(?<!\$)\$(\$+[{(])|\$\{([^}]*)\}|\$\(([^)]*)\)|(\$[{(])"
)  # escaped, expression, substitution, not closed
ILLEGAL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # characters that XML does not allow
MAX_PATH_LENGTH = 4096
MAX_FILE_BYTES = 1 << 22
SEARCH_COST = 1000  # budget steps for a disk access
BUSY = object()


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its element, the file that defines it, and its parameters with their defaults.

    A default is (whether the caller's property of that name takes precedence, the text or None).
    """

    element: Element
    source: Source
    parameters: dict[str, tuple[bool, str | None]]


@dataclass(eq=False, repr=False, slots=True)
class Scope:
    """The properties and macros of a file, a macro call or a namespace; a missing name is looked up in `parent`.

    Attributes:
        pending: Properties whose text is evaluated on first use.
    """

    file_values: Values
    parent: Scope | None = None
    is_namespace: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)

    def find(self, name: str) -> Scope | None:
        """Return the nearest scope that has a property, or None."""
        scope: Scope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.parent
        return scope

    def look_up(self, name: str) -> Any:
        """Return a property, evaluated on first use."""
        owner = self.find(name)
        if owner is None:
            raise ExpressionError(f"{name[:80]!r} is not defined")
        value = owner.values[name]
        if value is BUSY:
            raise ExpressionError(f"property {name[:80]!r} is defined by itself")
        if name in owner.pending:
            owner.values[name] = BUSY
            value = owner.values[name] = parse_literal(self.file_values.evaluate(value, owner))
            owner.pending.discard(name)
        return value

    def set(self, name: str, value: Any, *, lazy: bool = False) -> None:
        """Set a property; text is evaluated on first use if `lazy`."""
        self.file_values.budget.charge(value)
        self.values[name] = parse_literal(value)
        (self.pending.add if lazy and isinstance(self.values[name], str) else self.pending.discard)(name)

    def find_macro(self, name: str) -> tuple[Scope, Macro]:
        """Return a macro, ``name`` or ``namespace.name``, with the scope in which it is called."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.macros:
                return self, scope.macros[name]
            scope = scope.parent
        space, _, rest = name.partition(".")
        inner = self.look_up(space) if rest else None
        if not isinstance(inner, Scope):
            raise ExpressionError(f"no macro is named {quote(name)}; include the file that defines it")
        return inner.find_macro(rest)


class Values:
    """The evaluator of the text of a robot's files.

    Attributes:
        main: The file given by the user.
        files: The stack of included files; relative paths refer to the last one.
        root: The scope of the predefined functions.
    """

    def __init__(self, main: Source, finder: PackageFinder) -> None:
        self.main, self.finder = main, finder
        self.files = [Path(os.path.normpath(finder.about.path))]
        self.arguments: dict[str, str] = {}
        self.packages: dict[str, Path | None] = {}
        self.budget = Budget()
        self.evaluator = Evaluator(self.budget)
        own = {name: Function(name, call) for name, call in self.list_functions().items()}
        self.root = Scope(self, values={**make_functions(self.evaluator), **own, "xacro": own})

    def list_functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of the namespace ``xacro``."""
        return {
            "load_yaml": lambda name: read_yaml(self.open(name), self.evaluator, self.root),
            "abs_filename": lambda name: str(self.files[-1].parent / name),
            "dotify": lambda values: values,
            "arg": self.read_argument,
            "tokenize": tokenize,
            "fatal": self.stop,
            **dict.fromkeys(("message", "warning", "error", "print_location"), self.note),
        }

    def note(self, *words: Any, **_: Any) -> str:
        """Add a message from the file to the notes."""
        self.main.note(f"the file says: {quote(' '.join(map(str, words)), 200)[1:-1]}")
        return ""

    def stop(self, *words: Any) -> None:
        """Raise an error with a message from the file."""
        raise ExpressionError(quote(" ".join(map(str, words)), 200)[1:-1])

    # -------------------------------------------------------------------------------------------- text

    def evaluate(self, text: str, scope: Scope) -> Any:
        """Return the value of a text: typed if it is a single expression, otherwise a string."""
        self.budget.spend(len(text))
        parts, at = [], 0
        for token in TOKEN.finditer(text):
            parts += [text[at : token.start()]] * (token.start() > at)
            parts.append(self.evaluate_token(token, scope))
            at = token.end()
        if not at:
            return text
        parts += [text[at:]] * (at < len(text))
        self.budget.charge(parts)
        return parts[0] if len(parts) == 1 else "".join(map(str, parts))

    def evaluate_text(self, text: str, scope: Scope) -> str:
        """Return the value of a text as a string; raise `ExpressionError` if XML cannot represent it."""
        value = str(self.evaluate(text, scope))
        if ILLEGAL.search(value):
            raise ExpressionError(f"{quote(value)} has characters that XML cannot hold")
        return value

    def evaluate_token(self, token: re.Match[str], scope: Scope) -> Any:
        """Return the value of ``${...}`` or ``$(...)``."""
        escaped, expression, substitution, _ = token.groups()
        if escaped is not None:
            return escaped
        if substitution is not None:
            return self.substitute(str(self.evaluate(substitution, scope)))
        if expression is None:
            raise ExpressionError(f"{quote(token.string[token.start() :])} is not closed")
        try:
            return self.evaluator.evaluate(str(self.evaluate(expression, scope)), scope)
        except ExpressionError as error:
            error.where = error.where or quote(f"${{{expression}}}", 80)
            raise

    def substitute(self, text: str) -> str:
        """Return the value of ``$(command ...)``."""
        command, _, rest = text.strip().partition(" ")
        words = rest.split()
        if command == "eval":
            return str(self.evaluator.evaluate(rest, self.make_argument_scope()))
        if command == "optenv" and words:
            self.main.note(f"environment variables are not read; {quote(words[0])} has its default")
            return " ".join(words[1:])
        if command in ("dirname", "cwd") and not words:
            return str((self.files[-1] if command == "dirname" else self.files[0]).parent)
        calls = {"arg": self.read_argument, "find": self.find_package, "env": self.reject_variable}
        if command not in calls or len(words) != 1:
            raise ExpressionError(f"$({text[:80]}) is not known; arg, find, dirname, cwd, optenv and eval are")
        return calls[command](words[0])

    def make_argument_scope(self) -> Scope:
        """Return the scope of ``$(eval ...)``: the arguments of the file and the functions."""
        self.budget.charge(self.arguments)
        literals = {name: parse_literal(value) for name, value in self.arguments.items()}
        return Scope(self, self.root, values={**literals, "true": True, "false": False})

    def read_argument(self, name: str) -> str:
        """Return the value of an argument of the file."""
        if name not in self.arguments:
            raise ExpressionError(f"the argument {name[:80]!r} has no value. {self.advise(f' {name[:80]}:=...')}")
        return self.arguments[name]

    def reject_variable(self, name: str) -> str:
        """Raise `ExpressionError` for an environment variable."""
        raise ExpressionError(f"a file may not read the environment variable {name[:80]!r}. {self.advise('')}")

    def advise(self, options: str) -> str:
        """Return advice on setting a value."""
        return f"Give it a value: xacro {Path(self.main.path).name}{options} -o robot.urdf, then load that"

    # -------------------------------------------------------------------------------------------- files

    def find_package(self, name: str) -> str:
        """Return the folder of a package; raise `ExpressionError` if it is not found."""
        if name not in self.packages:
            self.budget.spend(SEARCH_COST)
            self.packages[name] = self.finder.find_package(name)
        if self.packages[name] is None:
            raise ExpressionError(
                f"it needs the ROS package {name[:80]!r}, which was not found; put a folder of that name with its"
                " package.xml next to its own package, or name its folder in package_path=[...] (--package-path)"
            )
        return str(self.packages[name])

    def find_file(self, reference: str) -> Path | None:
        """Return the path of a file, or None if it is missing or must not be read."""
        self.budget.spend(SEARCH_COST)
        if "\0" in reference or len(reference) > MAX_PATH_LENGTH:
            return None
        path = Path(os.path.normpath(self.files[-1].parent / reference))
        return path if self.finder.may_read(path) else None

    def open(self, reference: str) -> Source:
        """Open a file; raise `ExpressionError` if it must not be read, or includes itself."""
        path = self.find_file(reference)
        if path is None:
            raise ExpressionError(
                f"the file {quote(reference, 200)} is missing, or lies outside this file's folder and packages; name"
                " its folder in package_path=[...] (--package-path)"
            )
        if path in self.files:
            raise ExpressionError(f"the file {quote(reference, 200)} includes itself")
        source = Source.open(path, limit=MAX_FILE_BYTES)
        self.budget.spend(len(source.data))
        return source


def tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """Split a text at separators of one character."""
    parts = re.split(f"[{re.escape(sep)}]", text) if sep else [text]
    return [part for part in parts if part or not skip_empty]


def parse_literal(value: Any) -> Any:
    """Convert text to a number or boolean if possible, and remove quotes; other values are returned unchanged."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    for kind in (int, float) if "_" not in value else ():
        try:
            return check_number(kind(value))
        except (ValueError, ExpressionError):
            pass
    return value
