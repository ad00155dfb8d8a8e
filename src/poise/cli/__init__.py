"""The command line: `poise info`, `poise convert`, `poise race`. Other verbs arrive with what they show."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The entry point; says what to type where the command line's packages are missing."""
    try:
        from poise.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit("The command line needs typer and rich. Type: pip install 'poise[cli]'")
    app()
