"""`poise retarget --no-clearance` and jobs let parts of the body collide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import poise
from poise import motion
from poise.cli.app import app
from poise.errors import InvalidValue
from poise.limits import Clearance
from poise.scale import Job
from poise.scale.clips import RetargetClips
from walks import make_walk


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "walk.bvh"
    path.parent.mkdir()
    poise.save(make_walk(4), path)
    return path


@pytest.mark.parametrize(("words", "kept"), [([], True), (["--no-clearance"], False)])
def test_one_motion(walk: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], kept: bool) -> None:
    given = dict[str, Any]()

    def stop(*_: object, **options: Any) -> None:
        given.update(options)
        raise InvalidValue("seen")

    monkeypatch.setattr(motion, "retarget", stop)
    CliRunner().invoke(app, ["retarget", str(walk), "humanoid", "-o", str(walk.with_suffix(".csv")), *words])
    assert given["clearance"] is kept


def test_a_folder(walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = dict[str, Any]()

    def stop(_: object, **options: Any) -> None:
        given.update(options)
        raise InvalidValue("seen")

    monkeypatch.setattr(Job, "retarget", stop)
    words = ["retarget", str(walk.parent), "humanoid", "-o", str(tmp_path / "out"), "--no-clearance"]
    CliRunner().invoke(app, words)
    assert given["clearance"] is False


def test_both_options_exclude_each_other(walk: Path) -> None:
    words = ["retarget", str(walk), "humanoid", "-o", "out.csv", "--no-clearance", "--clearance", "0"]
    out = CliRunner().invoke(app, words)
    assert out.exit_code == 2
    assert "--clearance and --no-clearance exclude each other" in " ".join(out.output.split())


@pytest.mark.parametrize(
    ("given", "kept", "limits"),
    [(None, True, []), (True, True, []), (False, False, []), (0.0, True, [Clearance()])],
)
def test_jobs(given: float | bool | None, kept: bool, limits: list[Clearance]) -> None:
    work = RetargetClips(poise.load("humanoid"), clearance=given)
    assert work.clearance is kept
    assert work.limits == limits
    job = Job.retarget(poise.load("humanoid"), clearance=given)
    assert job.options["clearance"] is given
