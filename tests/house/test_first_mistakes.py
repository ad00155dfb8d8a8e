"""Mistakes of new users, and the messages: what was given, what exists, what to type."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue, ModelMismatch, PoiseError, ShapeMismatch
from poise.goals import Balance, Reach, Rest

HUMAN, ARM = poise.load("humanoid"), poise.load("panda")
REACH = Reach("panda_hand_tcp", (0.4, 0.0, 0.3))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("left_hand", "hand_l"),
        ("LeftHand", "hand_l"),
        ("hand.R", "hand_r"),
        ("r_knee", "knee_r"),
        ("RightFoot", "foot_r"),
        ("hand", "hand_r"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours_on_the_same_side(given: str, meant: str) -> None:
    with pytest.raises(PoiseError, match=f"Did you mean '{meant}'") as caught:
        HUMAN.frame(given)
    if given != "hand":
        other = "_r'" if meant.endswith("_l") else "_l'"
        assert other not in str(caught.value)


NAMELESS: Any = Rest()
NAME: Any = "panda"  # where a model, or a goal, is wanted
MISTAKES: list[tuple[str, Callable[[], Any], type[PoiseError], str]] = [
    ("a name for a model", lambda: poise.solve(NAME, REACH), ModelMismatch, "type: poise.load('panda')"),
    ("a name for a goal", lambda: poise.solve(ARM, NAME), InvalidValue, "not 'panda'"),
    (
        "two goals, no list",
        lambda: poise.solve(ARM, REACH, NAMELESS),
        InvalidValue,
        "put all goals in one list: solve(model, [goal",
    ),
    ("goals for targets", lambda: poise.solve_batch(ARM, REACH, NAMELESS), InvalidValue, "put all goals in one list"),
    ("a rotation for a place", lambda: Reach("a", np.eye(3)), ShapeMismatch, "Orient(frame, rotation)"),
    (
        "text for a place",
        lambda: Reach("a", ("x", "y", "z")),
        InvalidValue,
        "target is ('x', 'y', 'z'); give 3 numbers",
    ),
    ("objects for a place", lambda: Reach("a", [object()] * 3), InvalidValue, "give 3 numbers [m]"),
    ("an object for a place", lambda: Reach("a", object()), InvalidValue, "target"),
    ("rows of two lengths", lambda: Reach("a", [[1.0, 2.0], [3.0]]), InvalidValue, "give 3 numbers [m]"),
    ("one support", lambda: Balance("foot_l"), InvalidValue, "Balance(['foot_l'])"),
    (
        "a ragged batch",
        lambda: poise.solve_batch(ARM, REACH, [[0.1, 0.2, 0.3], [0.1]]),
        ShapeMismatch,
        "targets['panda_hand_tcp'] is not an array",
    ),
    ("no batch", lambda: poise.solve_batch(ARM, REACH, None), InvalidValue, "targets['panda_hand_tcp'] is None"),
    (
        "objects in a batch",
        lambda: poise.solve_batch(ARM, REACH, [[object()] * 3]),
        InvalidValue,
        "targets['panda_hand_tcp'] is an array of object",
    ),
    (
        "ragged starts",
        lambda: poise.solve_batch(ARM, REACH, np.zeros((2, 3)), [[0.1] * 7, [0.1]]),
        ShapeMismatch,
        "starts is not an array",
    ),
    ("a page nowhere", lambda: poise.show(poise.Pose(ARM), "nowhere/x.html"), FormatError, "there is no folder"),
]


@pytest.mark.parametrize(("call", "error", "fragment"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_answered(call: Callable[[], Any], error: type[PoiseError], fragment: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert fragment in str(caught.value)


@pytest.mark.slow
def test_a_picture_in_no_folder(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(FormatError, match="there is no folder"):
        poise.plot(poise.Pose(ARM), tmp_path / "nowhere" / "x.png")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m.avi", "m.xyz"])
def test_a_film_for_a_picture(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    motion = poise.Motion(ARM, np.tile(ARM.rest, (3, 1)), fps=30)
    with pytest.raises(FormatError, match=r"is not a picture; use the suffix \.png.*poise\.show\(thing, '.*m\.html'\)"):
        poise.plot(motion, tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidValue, match="a path must be"):
        poise.plot(motion, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "room"), [("Reach", "goals"), ("Clearance", "limits"), ("DLS", "methods"), ("BatchSolver", "batch")]
)
def test_a_name_of_a_package_is_reported_with_its_package(name: str, room: str) -> None:
    with pytest.raises(AttributeError, match=f"type poise.{room}.{name}, or: from poise.{room} import {name}"):
        getattr(poise, name)


@pytest.mark.slow
def test_things_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pose, solution = poise.Pose(ARM), poise.solve(ARM, REACH, record=True)
    pictures = (
        *(poise.plot(pose, tmp_path / "pose.png"), poise.plot(solution, title="Solved")),
        *(poise.plot(pose, style="stick"), poise.plot(poise.Motion(ARM, np.tile(pose.q, (3, 1)), fps=30))),
    )
    for picture in pictures:
        assert picture.figure.axes
    assert (tmp_path / "pose.png").stat().st_size > 1000
    page = poise.show(solution, tmp_path / "page.html")
    assert page.html == (tmp_path / "page.html").read_text("utf-8")


# ------------------------------------------------------------------------------------------------ in the shell


def typed(*words: str) -> Any:
    testing = pytest.importorskip("typer.testing")
    from poise.cli.app import app

    return testing.CliRunner().invoke(app, words, env={"COLUMNS": "120", "NO_COLOR": "1"})


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("solve", "humanoid", "--reach", "hand_l", "a", "b", "c"), "--reach hand_l a b c: give a frame and 3 or 7"),
        (
            ("solve", "humanoid", "--reach", "hand_l", "0.4", "1", "0.3", "--out", "a.xyz"),
            "page (.html), picture (.png",
        ),
        (("solve", "humanoid", "--reach", "hand_l", "0.4", "1", "0.3", "--out", "no/a.json"), "there is no folder"),
    ],
)
def test_a_mistake_in_the_shell_is_one_line_and_code_2(words: tuple[str, ...], fragment: str) -> None:
    shown = typed(*words)
    assert shown.exit_code == 2
    assert fragment in shown.output
    assert shown.output.count("\n") == 1


def test_poses_go_between_the_studio_and_the_shell(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from poise.studio.downloads import pose_from_json, pose_to_json

    pose = poise.Pose(ARM, ARM.random(np.random.default_rng(0)))
    (tmp_path / "studio.json").write_text(pose_to_json(pose))
    written = tmp_path / "shell.json"
    reach = [str(round(x, 6)) for x in pose.position("panda_hand_tcp")]
    start = ("--start", str(tmp_path / "studio.json"), "--no-rest")
    assert typed("solve", "panda", "--reach", "panda_hand_tcp", *reach, *start, "--out", str(written)).exit_code == 0
    answer = json.loads(written.read_text("utf-8"))
    assert np.abs(np.array(answer["q"]) - pose.q).max() < 1e-3  # it was there already
    assert pose_from_json(ARM, written.read_text("utf-8")).q == pytest.approx(answer["q"])
