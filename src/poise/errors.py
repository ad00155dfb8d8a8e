"""The exceptions of Poise. A message has the given value, the valid ones, and the fix to type.

    PoiseError
    |- NameNotFound (KeyError)        a frame, joint, goal, model or method that is not there
    |- ShapeMismatch (ValueError)     an array of the wrong shape
    |- InvalidValue (ValueError)      a number that cannot be: non-finite, empty range, zero axis
    |- InvalidModel (ValueError)      a body that cannot be: loops, duplicate names, impossible mimics
    |- ModelMismatch (ValueError)     things of two different models mixed
    |- FormatError (ValueError)       a file that cannot be read, with its path and line
    |- UnknownArgument (TypeError)    a keyword that a call does not have; the message has the one that does it
    |- SolverInUse (RuntimeError)     a Solver that another thread is using; `.copy()` makes another
    |- MissingExtra (ImportError)     an optional package is not installed; the message has the command
    `- GoalsMissed (RuntimeError)     raised only by Solution.raise_if_missed()

    FormatWarning (UserWarning)       a file that is odd but was read, with the assumption made
    UnitWarning (UserWarning)         numbers that look like degrees where radians are meant

Not reaching a goal is a result; misuse is an exception.
"""

from __future__ import annotations

from collections.abc import Iterable

from poise.names import find_side, split_side, split_words

__all__ = [
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
]


class PoiseError(Exception):
    """The root: `except PoiseError` catches everything that Poise raises by itself."""


class NameNotFound(PoiseError, KeyError):
    """A name that does not exist; `.name` is the given one, `.choices` the existing ones."""

    def __init__(self, message: str, name: str = "", choices: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.choices = choices

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the repr

    def __reduce__(self) -> tuple[type[NameNotFound], tuple[str, str, tuple[str, ...]]]:
        return type(self), (str(self.args[0]), self.name, self.choices)


class ShapeMismatch(PoiseError, ValueError):
    """An array of the wrong shape; the message names the argument and the shape it must have."""


class InvalidValue(PoiseError, ValueError):
    """A value that cannot be used; the message names the argument."""


class InvalidModel(PoiseError, ValueError):
    """A body that cannot be built; the message names the joint."""


class ModelMismatch(PoiseError, ValueError):
    """Things that belong to different models were mixed."""


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
    """A file is odd but was read; the message has the assumption made, as does `model.notes`."""


class UnitWarning(UserWarning):
    """Numbers that look like degrees were taken as radians; the message has the fix to type."""


class MissingExtra(PoiseError, ImportError):
    """An optional package is missing; the message has the command that installs it."""


class UnknownArgument(PoiseError, TypeError):
    """A keyword argument that a call does not have."""


class SolverInUse(PoiseError, RuntimeError):
    """A solver is for one thread at a time, and another is using this one; `solver.copy()` makes one for each."""


class GoalsMissed(PoiseError, RuntimeError):
    """Some goals were not reached; raised by `raise_if_missed` only."""


def name_not_found(what: str, name: str, choices: Iterable[str]) -> NameNotFound:
    """Return the error for an unknown name, with the closest matches if there are any, else all names."""
    import difflib  # slow to load, and only for what went wrong

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
