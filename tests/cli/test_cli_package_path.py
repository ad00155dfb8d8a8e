"""`--package-path` at the command line: where the meshes of a robot are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import looks_files as made
from poise.cli.app import app


def notes(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["info", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return " ".join(json.loads(result.stdout)["notes"])


@pytest.mark.slow
def test_info_says_which_meshes_are_missing_and_where_they_were_looked_for(tmp_path: Path) -> None:
    path = str(made.robot(tmp_path))
    assert "hand_description" in notes(path)
    assert "--package-path" in notes(path)
    assert notes(path, "--package-path", str(tmp_path / "elsewhere")) == ""
    assert CliRunner().invoke(app, ["info", path, "--package-path", str(tmp_path / "none")]).exit_code == 2
