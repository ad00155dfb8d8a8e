"""A solution as JSON: the same content from `save` and from the command line, and it comes back as a start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError
from poise.goals import Balance, Reach, Rest
from poise.studio.downloads import pose_from_json, pose_to_json

HUMAN = poise.load("humanoid")


def solved(reachable: bool = True) -> poise.Solution:
    feet = [Reach(foot, HUMAN.fk(HUMAN.rest, foot), weight=10) for foot in ("foot_l", "foot_r")]
    hand = Reach("hand_l", (0.4, 1.2, 0.3) if reachable else (3.0, 1.2, 0.3))
    return poise.solve(HUMAN, [hand, *feet, Balance(["foot_l", "foot_r"]), Rest()])


@pytest.mark.slow
@pytest.mark.parametrize("reachable", [True, False])
def test_a_solution_is_written_with_all_it_came_to(tmp_path: Path, reachable: bool) -> None:
    solution = solved(reachable)
    told = json.loads(poise.save(solution, tmp_path / "x.json").read_text("utf-8"))
    assert told["poise"] == "pose"
    assert told["q"] == solution.q.tolist()
    assert told["status"] == str(solution.status)
    assert told["reached"] is solution.reached
    assert told["goals"]["hand_l"]["metres"] == solution.errors["hand_l"][0]
    assert bool(told["why"]) is not reachable
    assert told["goals"]["hand_l"]["reached"] is reachable
    assert pose_from_json(HUMAN, json.dumps(told)).q == pytest.approx(solution.q)


def test_the_command_line_writes_the_same(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from poise.cli.app import app

    words = ["solve", "panda", "--reach", "panda_hand_tcp", "0.4", "0.1", "0.5", "--no-rest", "--json"]
    shown = testing.CliRunner().invoke(app, [*words, "--out", str(tmp_path / "shell.json")])
    assert shown.exit_code == 0, shown.output
    written = json.loads((tmp_path / "shell.json").read_text("utf-8"))
    solution = poise.solve(poise.load("panda"), Reach("panda_hand_tcp", (0.4, 0.1, 0.5)))
    saved = json.loads(poise.save(solution, tmp_path / "python.json").read_text("utf-8"))
    changing = {"microseconds": 0.0}
    assert {**written, **changing} == {**saved, **changing}
    assert list(written) == list(saved)


def test_a_pose_is_written_as_the_studio_does(tmp_path: Path) -> None:
    pose = poise.Pose(HUMAN, HUMAN.random(np.random.default_rng(0)))
    text = poise.save(pose, tmp_path / "pose.json").read_text("utf-8")
    assert json.loads(text) == json.loads(pose_to_json(pose))
    assert (pose_from_json(HUMAN, text).q == pose.q).all()


def test_values_that_json_cannot_store_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"cannot be saved as \.json"):
        poise.save(poise.Motion(HUMAN, np.tile(HUMAN.rest, (3, 1)), fps=30), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())
    path = poise.save(solved(), tmp_path / "x.json")
    with pytest.raises(FormatError, match="holds a pose or a solution and no body"):
        poise.load(path)
    for text in ("{", "[]", "{}", '{"poise": 1}'):
        path.write_text(text)
        with pytest.raises(FormatError, match="holds no body"):
            poise.load(path)


@pytest.mark.parametrize(
    "options", [{"separators": (",", ":")}, {"sort_keys": True, "indent": 4}, {"separators": (" ,", " : ")}]
)
def test_a_body_is_read_however_another_tool_wrote_its_json(tmp_path: Path, options: dict[str, Any]) -> None:
    for name in ("panda", "snake100"):
        model = poise.load(name)
        path = poise.save(model, tmp_path / "body.json")
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), **options), "utf-8")
        assert poise.load(path) == model
