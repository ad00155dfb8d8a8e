"""What all verbs share: how they complain, what they say they wrote, what a shell may complete."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Annotated

import typer

import poise
from poise.errors import FormatWarning, PoiseError
from poise.methods import names

__all__ = ["Body", "complaints", "complete_body", "complete_method", "examples", "wrote"]


@contextmanager
def complaints(verb: str) -> Iterator[None]:
    """Warnings as lines, errors as one line and the exit code 2."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        try:
            yield
        except (PoiseError, OSError) as error:
            typer.echo(f"poise {verb}: {error}", err=True)
            raise typer.Exit(2) from None
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)


def wrote(path: str | PathLike[str]) -> None:
    """Says so beside the results, not among them."""
    typer.echo(f"wrote {path}", err=True)


def examples(*lines: str) -> str:
    """The end of a help text: one example a line."""
    return "\n\n".join(("Examples:", *lines))


def complete_body(incomplete: str) -> list[str]:
    """Built-in bodies that begin so; the shell adds the files."""
    return [name for name in poise.models.names() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return [name for name in names() if name.startswith(incomplete)]


Body = Annotated[str, typer.Argument(help="A file, or the name of a built-in body.", autocompletion=complete_body)]
