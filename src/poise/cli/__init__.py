"""The command line: `poise info`, `poise convert`, `poise race`. Other verbs arrive with what they show."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; say what to type if its packages are missing."""
    try:
        from poise.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit("The command line needs typer and rich. Type: pip install 'poise[cli]'")
    app()
