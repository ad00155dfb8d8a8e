"""`poise map` and `poise track` of an arm, as typed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise

pytest.importorskip("typer")

from typer.testing import CliRunner

from poise.cli.app import app


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, words, env={"COLUMNS": "120", "NO_COLOR": "1"})


@pytest.mark.slow
def test_map_writes_what_reach_map_says(tmp_path: Path) -> None:
    out, picture = tmp_path / "map.npz", tmp_path / "map.html"
    words = ("map", "ur5e", "--spacing", "0.4", "--directions", "4", "--turns", "2", "--manipulability")
    shown = typed(*words, "--out", str(out), "--picture", str(picture))
    assert shown.exit_code == 0, shown.output
    written = poise.ReachMap.load(out)
    made = poise.reach_map(poise.load("ur5e"), "tool0", 0.4, 4, 2, manipulability=True)
    for name in ("reached", "proved", "undecided", "manipulability"):
        np.testing.assert_array_equal(getattr(written, name), getattr(made, name))
    assert str(made) in shown.output
    assert picture.read_text("utf-8").startswith("<!")
    figures = json.loads(typed(*words, "--out", str(out), "--json").stdout)
    assert figures["reached"] == pytest.approx(float(made.reached.mean(dtype=np.float64)))
    assert figures["poses"] == made.poses


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("map", "ur5e", "--out", "map.csv"), "npz"),
        (("map", "ur5e", "--out", "map.npz", "--spacing", "0"), "spacing"),
        (("map", "ur5e", "--out", "map.npz", "--frame", "nose"), "nose"),
        (("map", "nobody", "--out", "map.npz"), "nobody"),
    ],
)
def test_map_rejects_misuse_in_a_line_and_exits_with_2(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = typed(*words)
    assert shown.exit_code == 2
    assert said in shown.output
    assert not list(tmp_path.iterdir())


def test_map_help_has_examples() -> None:
    shown = typed("map", "--help")
    assert "poise map panda --out panda_map.npz" in shown.output


@pytest.mark.slow
def test_track_of_an_arm_chooses_its_branches(tmp_path: Path) -> None:
    arm = poise.load("panda")
    q = np.array(arm.rest) + np.linspace(0.0, 0.5, 30)[:, None] * np.array([1, 0.5, -0.5, 0.6, 0.3, 0.4, 0.2])
    T = arm.fk(q, "panda_hand_tcp")
    with (tmp_path / "path.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y", "z", "qw", "qx", "qy", "qz"])
        rows.writerows(np.concatenate([T[:, :3, 3], poise.Rotation.from_matrix(T[:, :3, :3]).wxyz], axis=1).tolist())
    out = tmp_path / "q.csv"
    shown = typed("track", "panda", str(tmp_path / "path.csv"), "--frame", "panda_hand_tcp", "--out", str(out))
    assert shown.exit_code == 0, shown.output
    made = poise.motion.track(arm, poise.goals.Reach("panda_hand_tcp", T), fps=30.0)
    np.testing.assert_allclose(poise.load_motion(out, model=arm).q, made.motion.q, atol=1e-6)
