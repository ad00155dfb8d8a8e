"""Helpers shared by all commands: error reports, progress bars, shell completion."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import poise
from poise.errors import FormatWarning, PoiseError
from poise.methods import names

__all__ = [
    "Body",
    "complete_body",
    "complete_method",
    "describe_system",
    "report_errors",
    "report_written",
    "show_progress",
]


@contextmanager
def report_errors(verb: str) -> Iterator[None]:
    """Print warnings as lines, and an error as one line with exit code 2."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        try:
            yield
        except (PoiseError, OSError) as error:
            typer.echo(f"poise {verb}: {error}", err=True)
            raise typer.Exit(2) from None
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)


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
