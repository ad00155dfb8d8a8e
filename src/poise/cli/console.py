"""Helpers shared by all commands: error reports, progress bars, shell completion."""

import platform
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import poise
from poise.errors import FormatError, FormatWarning, PoiseError
from poise.files.target import check_target
from poise.formats.registry import find_writer, knows_suffix
from poise.formats.tables.robot_csv import check_style
from poise.hooks import Hook
from poise.methods import names

__all__ = [
    "COMMANDS",
    "PAGES",
    "PICTURES",
    "Body",
    "check_out",
    "complete_body",
    "complete_method",
    "describe_system",
    "report_errors",
    "report_written",
    "show_progress",
    "write_as_options",
]

PAGES, PICTURES = (".html", ".htm"), (".png", ".pdf", ".svg", ".jpg", ".jpeg")
ARGUMENT = re.compile(r"\b([a-z_]+)=(\[Clearance\(\)\]|poise\.load\('[^']*'\)|'[^']*'|[\w.]*\w)?")
COMMANDS = Hook[Any]()  # the group of all commands
NEGATED = {"clearance": "no_clearance", "overwrite": "keep"}  # arguments that an option turns off


@contextmanager
def report_errors(verb: str, *, quiet: bool = False) -> Iterator[None]:
    """Print warnings as lines unless `quiet`, and an error as one line with exit code 2."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        try:
            yield
        except (PoiseError, OSError) as error:
            advice = "" if isinstance(error, PoiseError) else ". Name another path."
            typer.echo(f"poise {verb}: {write_as_options(str(error), verb)}{advice}", err=True)
            raise typer.Exit(2) from None
    for text in dict.fromkeys(str(warning.message) for warning in caught if not quiet):
        typer.echo(f"warning: {write_as_options(text, verb)}", err=True)


def write_as_options(text: str, verb: str) -> str:
    """Return a message with Python's arguments, such as scale='auto', as options of a command: --scale auto."""
    options = list_options(verb)

    def spell(found: re.Match[str]) -> str:
        name, value = found[1], (found[2] or "").removeprefix("poise.load(").strip("')")
        if value == "[Clearance(":
            name, value = "clearance", "0"
        if value == "True" and NEGATED.get(name) in options:
            return f"leaving out {options[NEGATED[name]].opts[0]}"
        if name not in options:
            return found[0]
        return f"{options[name].opts[0]}{'' if not value or options[name].is_flag else f' {value}'}"

    text = re.sub(r"(its|the) roles .*model\.with_roles, or a mapping", "--mapping mapping.json", text)
    if "speed" in options:
        text = text.replace("Speed(): ", "").replace("a number: Speed(2.0)", f"{options['speed'].opts[0]} 2")
    first = text.split(" is ", 1)[0]
    return ARGUMENT.sub(spell, options[first].opts[0] + text[len(first) :] if first in options else text)


def list_options(verb: str) -> dict[str, Any]:
    """Return the options of a command, such as "job run", by their names with underscores."""
    command = COMMANDS.get()
    for word in verb.split():
        command = command.commands[word]
    return {each.opts[0][2:].replace("-", "_"): each for each in command.params if each.opts[0].startswith("--")}


def check_out(path: Path, verb: str = "", others: tuple[str, ...] = (), style: str | None = None) -> None:
    """Raise an error if a file cannot be written, before the work begins.

    Args:
        path: The file.
        verb: The writer of formats that are allowed, such as "write_motion"; "" for none.
        others: Suffixes of pages and pictures that are allowed.
        style: The layout of a robot's motion, which has a suffix of its own.
    """
    if style is not None:
        check_style(style, str(path))
        check_target(path)
        return
    suffix, also = path.suffix.lower(), f"page or picture ({' '.join(others)})"
    if suffix not in others and not verb:
        raise FormatError(f"has the suffix {suffix!r}; write a {also}.", str(path))
    if suffix not in others:
        try:
            find_writer(str(path), verb)
        except FormatError as error:
            if not others or knows_suffix(suffix):
                raise
            raise FormatError(f"{error.message[:-1]}, {also}.", str(path)) from None
    check_target(path)


def describe_system() -> str:
    """Return the system, release and machine, like `platform.platform` but without starting a process."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


@contextmanager
def show_progress(what: str, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show a progress bar on a terminal; yield a function of (done, total) and an optional description."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(" of "), TextColumn(unit))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, total: int, text: str = what) -> None:
            progress.update(task, completed=done, total=total, description=text)

        yield report


def report_written(path: str | PathLike[str]) -> None:
    """Print that a file was written, to the error stream."""
    typer.echo(f"wrote {path}", err=True)


def complete_body(incomplete: str) -> list[str]:
    """Return the names of built-in bodies that begin with this text; the shell completes file names."""
    return [name for name in poise.models.names() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that begin with this text."""
    return [name for name in names() if name.startswith(incomplete)]


Body = Annotated[str, typer.Argument(help="A file, or the name of a built-in body.", autocompletion=complete_body)]
