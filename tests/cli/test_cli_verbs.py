"""`poise demo`, `solve` and `race`, as typed: output, files and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import poise
from command_line import run_poise
from poise.cli.app import app
from poise.cli.solve import join_numbers

FEET = ("--pin", "foot_l,foot_r")
BALL = ("0.4", "1.2", "0.3")


@pytest.mark.parametrize("verb", ["demo", "solve", "info", "convert", "race", "doctor"])
def test_every_verb_has_examples_in_its_help(verb: str) -> None:
    shown = run_poise(verb, "--help")
    assert shown.exit_code == 0
    assert f"poise {verb}" in shown.output.split("Examples:")[1]


def test_the_version_is_printed() -> None:
    assert run_poise("--version").output == f"poise {poise.__version__}\n"


# ------------------------------------------------------------------------------------------------ demo


@pytest.mark.slow
def test_demo_poses_draws_and_ends_with_the_studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    shown = run_poise("demo", "--out", str(tmp_path / "new"))
    assert shown.exit_code == 0, shown.output
    for goal in ("hand_l", "hand_r", "eyes", "foot_l", "foot_r", "balance"):
        assert goal in shown.stdout
    assert " no\n" not in shown.stdout
    assert shown.stdout.rstrip().endswith("poise studio")
    assert (tmp_path / "new" / "poise_demo.png").stat().st_size > 20_000
    assert "default-src 'none'" in (tmp_path / "new" / "poise_demo.html").read_text("utf-8")


def test_demo_follows_the_ball_without_losing_a_goal() -> None:
    from poise.cli.demo import follow

    found = follow(poise.load("humanoid"))
    assert sum(solution.reached for solution in found) > 0.97 * len(found)
    model = found[0].model
    rest = model.fk(np.array(model.rest), "foot_l")
    assert max(np.abs(model.fk(s.q, "foot_l") - rest).max() for s in found) < 2e-3


@pytest.mark.slow
def test_demo_in_numbers(tmp_path: Path) -> None:
    shown = run_poise("demo", "--out", str(tmp_path), "--json")
    facts = json.loads(shown.stdout)
    assert facts["reached"] is True
    assert Path(facts["page"]).exists()
    assert facts["next"] == "poise studio"


@pytest.mark.slow
def test_demo_works_where_nothing_can_be_drawn(tmp_path: Path) -> None:
    """Without matplotlib the page is still written, and the line says what to type."""
    code = "import sys; sys.modules['matplotlib'] = None; from poise.cli import main; main()"
    words = ["demo", "--out", str(tmp_path)]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, "-c", code, *words]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert "pip install 'poise-ik[studio]'" in shown.stdout
    assert (tmp_path / "poise_demo.html").exists()


# ------------------------------------------------------------------------------------------------ solve


def test_solve_says_reached_and_exits_with_0() -> None:
    shown = run_poise("solve", "humanoid", "--reach", "hand_l", *BALL, "--look-at", "eyes", *BALL, *FEET)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("reached: ")


def test_solve_prints_q_and_degrees() -> None:
    shown = run_poise("solve", "panda", "--reach", "panda_hand_tcp", "0.4", "0", "0.4")
    q = json.loads(re.search(r"^q = (\[.*\])$", shown.stdout, re.MULTILINE)[1])  # type: ignore[index]
    answer = json.loads(run_poise("solve", "panda", "--reach", "panda_hand_tcp", "0.4", "0", "0.4", "--json").stdout)
    assert np.allclose(q, answer["q"], atol=1e-4)
    angles = re.search(r"^degrees: (.*)$", shown.stdout, re.MULTILINE)[1].split(", ")  # type: ignore[index]
    assert [name for name, _ in map(str.split, angles)] == [f"panda_joint{k}" for k in range(1, 8)]
    assert np.allclose([float(x) for _, x in map(str.split, angles)], np.degrees(answer["q"]), atol=0.06)


def test_solve_explains_a_miss_and_exits_with_1() -> None:
    shown = run_poise("solve", "panda", "--reach", "panda_hand_tcp", "1.2", "0", "0.4")
    assert shown.exit_code == 1
    assert "Proved out of reach" in shown.stdout


@pytest.mark.slow
def test_solve_in_numbers_serves_levels_weights_and_methods() -> None:
    goals = ("--reach", "panda_hand_tcp,0.5,-0.2,0.4,0,1,0,0")
    shown = run_poise("solve", "panda", *goals, "--method", "sdls", "--weight", "panda_hand_tcp", "2", "--json")
    facts = json.loads(shown.stdout)
    assert facts["goals"]["panda_hand_tcp"]["reached"] is True
    model = poise.load("panda")
    T = model.fk(facts["q"], "panda_hand_tcp")
    assert np.allclose(T[:3, 3], (0.5, -0.2, 0.4), atol=1e-4)
    assert np.allclose(T[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=2e-3)
    first = ("--priority", "hand_l", "1", "--clearance", "--no-rest", "--balance", "foot_l,foot_r")
    both = run_poise("solve", "humanoid", "--reach", "hand_l", "0.2", "0.9", "0.9", *FEET, *first, "--json")
    assert both.exit_code == 0, both.output
    assert "balance" in json.loads(both.stdout)["goals"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pose.json", "pose.png", "pose.pdf", "pose.html", "pose.bvh", "pose.glb", "pose.csv"])
def test_solve_writes_what_the_ending_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    shown = run_poise("solve", "humanoid", "--reach", "hand_l", *BALL, *FEET, "--out", str(path))
    assert shown.exit_code == 0, shown.output
    assert f"wrote {path}" in shown.stderr
    assert path.stat().st_size > 200


def test_a_written_pose_is_a_start(tmp_path: Path) -> None:
    path = tmp_path / "pose.json"
    run_poise("solve", "humanoid", "--reach", "hand_l", *BALL, *FEET, "--out", str(path))
    again = run_poise(
        "solve", "humanoid", "--reach", "hand_l", *BALL, *FEET, "--start", str(path), "--no-rest", "--json"
    )
    before = json.loads(path.read_text("utf-8"))["q"]
    assert np.allclose(json.loads(again.stdout)["q"], before, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("humanoid",), "no goal is given"),
        (("humanoid", "--reach", "hand_l", "1", "2"), "give a name and X Y Z"),
        (("humanoid", "--reach", "hnad_l", *BALL), "hnad_l"),
        (("humanoit", "--reach", "hand_l", *BALL), "humanoit"),
        (("humanoid", "--reach", "hand_l", *BALL, "--weight", "foot_l", "2"), "no goal is called 'foot_l'"),
        (("humanoid", "--reach", "hand_l", *BALL, "--priority", "hand_l", "0.5"), "a level is 0, 1, 2"),
        (("humanoid", "--reach", "hand_l", *BALL, "--method", "simplex"), "simplex"),
        (("humanoid", "--reach", "hand_l", *BALL, "--start", "crouch"), "crouch"),
        (("humanoid", "--reach", "hand_l", *BALL, "--out", "pose.docx"), ".docx"),
    ],
)
def test_solve_rejects_misuse_in_a_line_and_exits_with_2(words: tuple[str, ...], said: str) -> None:
    shown = run_poise("solve", *words)
    assert shown.exit_code == 2
    assert said in shown.stderr
    assert shown.stderr.startswith("poise solve: ")


def test_goals_are_joined_up_to_the_next_word() -> None:
    words = ["--reach", "hand", "1", "-2", "3", "humanoid", "--look-at", "eyes", "0", "1", "2", "--seed", "4"]
    assert join_numbers(words) == ["--reach", "hand,1,-2,3", "humanoid", "--look-at", "eyes,0,1,2", "--seed", "4"]


# ------------------------------------------------------------------------------------------------ race


def test_race_writes_a_page(tmp_path: Path) -> None:
    path = tmp_path / "race.html"
    shown = run_poise("race", "panda", "--problems", "5", "--method", "lm", "--method", "dls", "--out", str(path))
    assert shown.exit_code == 0, shown.output
    assert "100.00%" in shown.stdout
    assert '"lm"' in path.read_text("utf-8")


def test_a_race_to_drag_needs_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ("race", "planar3", "--problems", "2", "--method", "lm", "--drag")
    for wrong in ((), ("--out", str(tmp_path / "race.png"))):
        shown = run_poise(*few, *wrong)
        assert shown.exit_code == 2
        assert "--out race.html" in shown.output
    monkeypatch.setattr("poise.pages.drag.read_wasm", lambda: None)
    shown = run_poise(*few, "--out", str(tmp_path / "race.html"))
    assert shown.exit_code == 2
    assert "make wasm" in shown.output
    assert "targets for" not in shown.output, "before the race is run"
    monkeypatch.setattr("poise.pages.drag.read_wasm", lambda: b"module")
    assert run_poise(*few, "--out", str(tmp_path / "race.html")).exit_code == 0
    assert '"races":' in (tmp_path / "race.html").read_text("utf-8")


def test_a_shell_completes_bodies_and_methods() -> None:
    from poise.cli.console import complete_body, complete_method

    assert complete_body("hu") == ["humanoid"]
    assert set(complete_method("s")) >= {"svd", "sdls"}
    environment = {"_POISE_COMPLETE": "complete_bash", "COMP_WORDS": "poise race hu", "COMP_CWORD": "2"}
    shown = CliRunner().invoke(app, [], env=environment, prog_name="poise")
    assert "humanoid" in shown.output


def list_commands(group: Any, *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, *before, name)
        else:
            yield (*before, name), command


def test_no_help_loses_a_unit_in_brackets() -> None:
    with_units = 0
    for words, command in list_commands(typer.main.get_command(app)):
        shown = re.sub(r"[\s\u2502|]+", "", run_poise(*words, "--help").output)
        for parameter in command.params:
            for unit in re.findall(r"\S*\s*\[\w+\]", getattr(parameter, "help", None) or ""):
                with_units += 1
                assert re.sub(r"\s+", "", unit) in shown, (words, unit)
    assert with_units >= 4
