"""The race: `poise.solvers.race`, its table, and the command `poise race` with its picture."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue, MissingExtra
from poise.methods import DLS
from poise.model.plane import is_planar
from poise.solvers import race
from poise.solvers.race import average_curves

FEW: dict[str, Any] = {"problems": 5, "recorded": 2, "max_steps": 200}


def test_every_method_runs_or_says_why_not(panda: poise.Model) -> None:
    result = race(panda, **FEW)
    assert [racer.method for racer in result.racers] == [name for name in poise.methods.names() if name != "auto"]
    ran = 0
    for racer in result.racers:
        if racer.refused:
            assert f"'{racer.method}'" in racer.refused
            continue
        ran += 1
        assert 0 <= racer.reached <= 1
        assert racer.steps > 0
        assert racer.microseconds > 0
        assert racer.curve[0] >= racer.curve[-1] > 0
    assert ran >= len(result.racers) - 3


def test_it_is_repeatable(panda: poise.Model) -> None:
    one, two = (race(panda, methods=["lm", "ccd"], **FEW) for _ in range(2))
    for a, b in zip(one.racers, two.racers, strict=True):
        assert (a.reached, a.steps, a.searches) == (b.reached, b.steps, b.searches)
        assert np.array_equal(a.curve, b.curve)
    other = race(panda, methods=["lm", "ccd"], seed=1, **FEW)
    assert [r.steps for r in other.racers] != [r.steps for r in one.racers]


def test_methods_with_settings_and_frames_by_name(panda: poise.Model) -> None:
    result = race(panda, "panda_link7", methods=[DLS(damping=0.05), "lm"], rotation=True, **FEW)
    assert result.frame == "panda_link7"
    assert [racer.method for racer in result.racers] == ["dls", "lm"]


def test_the_table_has_a_line_for_each(panda: poise.Model) -> None:
    lines = str(race(panda, methods=["lm", "inverse"], **FEW)).splitlines()
    assert lines[0] == "5 targets for 'panda_hand_tcp' of 'panda'"
    assert lines[1].split() == ["method", "reached", "steps", "searches", "us", "mult/step", "printed"]
    assert lines[2].startswith("lm ")
    assert lines[3].startswith("inverse        not supported: method 'inverse' needs a square Jacobian")


def test_curves_of_different_lengths_are_held_at_their_end() -> None:
    curve = average_curves([np.array([1.0, 0.01]), np.array([1.0, 1.0, 1.0, 1e-4])])
    assert curve == pytest.approx([1.0, 0.1, 0.1, 1e-3])


# ------------------------------------------------------------------------------------------------ the command


def run_race(*words: str) -> Any:
    """`poise race ...` in this process."""
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from poise.cli.app import app

    short = ("--problems", "3", "--max-steps", "100")
    return CliRunner().invoke(app, ["race", *short, *words], env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_the_command_prints_the_table_and_the_errors() -> None:
    result = run_race("panda", "--method", "lm", "--method", "inverse")
    assert result.exit_code == 0
    assert "3 targets for panda_hand_tcp of panda" in result.stdout
    assert "mult/step" in result.stdout
    assert "inverse is not supported: method 'inverse' needs a square Jacobian" in result.stdout


def test_json_is_numbers_alone_on_stdout() -> None:
    result = run_race("planar3", "--json", "--rotation")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert (figures["model"], figures["frame"], figures["problems"]) == ("planar3", "tip", 3)
    racers = {racer["method"]: racer for racer in figures["racers"]}
    assert set(racers) == set(poise.methods.names()) - {"auto"}
    assert racers["lm"]["reached"] > 0.5
    assert "two_bone" in racers["two_bone"]["refused"]


@pytest.mark.slow
def test_out_writes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "race.png"
    result = run_race("planar3", "--json", "--out", str(picture))
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["race.png"]
    assert f"wrote {picture}" in result.stderr
    json.loads(result.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pandda"], "panda"),
        (["panda", "--frame", "panda_hnd"], "panda_hand"),
        (["panda", "--method", "ml"], "lm"),
        (["panda", "--problems", "0"], "problems"),
    ],
    ids=["body", "frame", "method", "problems"],
)
def test_misuse_ends_with_2_and_one_line_that_helps(words: list[str], said: str) -> None:
    result = run_race(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.stdout


# ------------------------------------------------------------------------------------------------ pictures


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar3", "panda", "humanoid"])
def test_a_pose_becomes_a_picture(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from poise.pictures import Camera, plot_pose

    model = poise.load(name)
    pose, camera = poise.Pose(model), Camera(up="y") if name == "humanoid" else None
    written = plot_pose(pose, tmp_path / "pose.png", ghosts=[pose], targets=[(0.5, 0.2, 0.1)], camera=camera)
    assert written.read_bytes().startswith(b"\x89PNG")


def test_a_camera_lays_space_flat() -> None:
    from poise.pictures import Camera

    assert Camera.look_down().project([[1, 2, 5]])[0] == pytest.approx([1, 2])
    assert Camera(0.0, 0.0).project([0, 1, 2]) == pytest.approx([1, 2])
    assert Camera(0.0, 0.0, up="y").project([1, 2, 0]) == pytest.approx([1, 2])
    assert Camera(0.0, 0.0, floor=-1.0).cast_shadow([3, 1, 2]) == pytest.approx([1, -1])
    assert is_planar(poise.load("planar2"))
    assert not is_planar(poise.load("panda"))


@pytest.mark.slow
def test_a_history_becomes_a_picture_or_a_message(tmp_path: Path, panda: poise.Model) -> None:
    pytest.importorskip("matplotlib")
    from poise.pictures import plot_history

    goal = poise.goals.Reach("panda_hand_tcp", (0.4, 0.2, 0.5))
    recorded = poise.solve(panda, goal, record=True)
    for k, given in enumerate((recorded, {"lm": recorded})):
        assert plot_history(given, tmp_path / f"{k}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidValue, match="record=True"):
        plot_history(poise.solve(panda, goal), tmp_path / "none.png")


def test_without_matplotlib_the_message_says_what_to_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from poise.pictures import plot_pose

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'poise-ik\[studio\]'"):
        plot_pose(poise.Pose(poise.load("planar2")), tmp_path / "pose.png")
