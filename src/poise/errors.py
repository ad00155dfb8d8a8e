"""The exceptions of Poise. A message contains the given value, the valid values, and the fix to type.

    PoiseError
    |- NameNotFound (KeyError)        an unknown frame, joint, goal, model or method
    |- ShapeMismatch (ValueError)     an array of the wrong shape
    |- InvalidValue (ValueError)      an invalid number: non-finite, empty range, zero axis
    |- InvalidModel (ValueError)      an invalid body: loops, duplicate names, invalid mimics
    |- ModelMismatch (ValueError)     objects of different models are mixed
    |- FormatError (ValueError)       a file that cannot be read, with its path and line
    |- UnknownArgument (TypeError)    an unknown keyword; the message has the correct one
    |- SolverInUse (RuntimeError)     a Solver that another thread is using; `.copy()` makes another
    |- MissingExtra (ImportError)     an optional package is not installed; the message has the command
    `- GoalsMissed (RuntimeError)     raised only by Solution.raise_if_missed()

    FormatWarning (UserWarning)       an unusual file that was read, with the assumption made
    UnitWarning (UserWarning)         numbers that look like degrees instead of radians

Not reaching a goal is a result; misuse is an exception.
"""

from __future__ import annotations

from collections.abc import Iterable

from poise.names import find_side, split_side, split_words

__all__ = [
    "AS_THINGS",
    "INDEX_NAME",
    "FormatError",
    "FormatWarning",
    "GoalsMissed",
    "InvalidModel",
    "InvalidValue",
    "MissingExtra",
    "ModelMismatch",
    "NameNotFound",
    "PoiseError",
    "ShapeMismatch",
    "SolverInUse",
    "UnitWarning",
    "UnknownArgument",
    "name_not_found",
    "show_value",
]

AS_THINGS = (
    "For a path type load(path), for the numbers of a pose Pose(model, q), for rows of them Motion(model, q, fps)."
)
INDEX_NAME = "poise-ik"  # to install Poise by pip: "poise" is another package there
LONGEST_REPR = 60  # characters of a value that a message repeats


class PoiseError(Exception):
    """The base class: `except PoiseError` catches every exception that Poise defines."""


class NameNotFound(PoiseError, KeyError):
    """An unknown name; `.name` is the given name, `.choices` are the valid ones."""

    def __init__(self, message: str, name: str = "", choices: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.choices = choices

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the repr

    def __reduce__(self) -> tuple[type[NameNotFound], tuple[str, str, tuple[str, ...]]]:
        return type(self), (str(self.args[0]), self.name, self.choices)


class ShapeMismatch(PoiseError, ValueError):
    """An array of the wrong shape; the message names the argument and the required shape."""


class InvalidValue(PoiseError, ValueError):
    """An invalid value; the message names the argument."""


class InvalidModel(PoiseError, ValueError):
    """An invalid body; the message names the joint."""


class ModelMismatch(PoiseError, ValueError):
    """Objects of different models were mixed."""


class FormatError(PoiseError, ValueError):
    """A file that cannot be read, with `.path` and `.line`."""

    def __init__(self, message: str, path: str = "", line: int | None = None) -> None:
        where = f"{path}:{line}: " if path and line is not None else f"{path}: " if path else ""
        super().__init__(where + message)
        self.message = message
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str, int | None]]:
        return type(self), (self.message, self.path, self.line)


class FormatWarning(UserWarning):
    """An unusual file was read; the message and `model.notes` have the assumption made."""


class UnitWarning(UserWarning):
    """Numbers that look like degrees were used as radians; the message has the fix to type."""


class MissingExtra(PoiseError, ImportError):
    """An optional package is missing; the message has the command that installs it."""


class UnknownArgument(PoiseError, TypeError):
    """A keyword argument that the function does not have."""


class SolverInUse(PoiseError, RuntimeError):
    """Another thread is using this solver; make one per thread with `solver.copy()`."""


class GoalsMissed(PoiseError, RuntimeError):
    """Some goals were not reached; raised by `raise_if_missed` only."""


def name_not_found(what: str, name: str, choices: Iterable[str]) -> NameNotFound:
    """Return the error for an unknown name, with the closest matches, or all names if there are none."""
    import difflib  # slow to import, needed only for errors

    known = tuple(sorted(choices))
    lowered = {choice.lower(): choice for choice in known}
    side, words = split_side(split_words(str(name)))
    plain = "_".join(words)
    spelled = (f"{plain}_{side}", f"{side}_{plain}") if side and plain else ()
    close = [
        lowered[m]
        for asked in (str(name).lower(), *spelled)
        for m in difflib.get_close_matches(asked, lowered, n=3, cutoff=0.5)
    ]
    close = [choice for choice in dict.fromkeys(close) if not side or find_side(choice) in ("", side)][:3]
    if close:
        hint = f"Did you mean {' or '.join(map(repr, close))}?"
    elif not known:
        hint = f"There are no {what}s."
    else:
        shown = ", ".join(map(repr, known[:20])) + (f", ... ({len(known)} in all)" if len(known) > 20 else "")
        hint = f"There are: {shown}."
    return NameNotFound(f"no {what} is called {name!r}. {hint}", str(name), known)


def show_value(given: object) -> str:
    """Return the repr of a value as one short line, for a message."""
    line = " ".join(repr(given).split())
    return line if len(line) <= LONGEST_REPR else f"{line[: LONGEST_REPR - 4]} ..."
