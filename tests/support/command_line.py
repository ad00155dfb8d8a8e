"""The command `poise` in tests, run in this process; tests that import this are skipped without typer."""

from typing import Any

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from poise.cli.app import app

__all__ = ["run_poise"]


def run_poise(*words: object, columns: int = 120) -> Any:
    """Run the command with some words; return its exit code and output. Nothing but an exit may be raised."""
    shown = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    assert shown.exception is None or isinstance(shown.exception, SystemExit), shown.exc_info
    return shown
