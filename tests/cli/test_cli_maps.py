"""Maps and clearances from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from command_line import run_poise
from poise import motion
from poise.errors import InvalidValue
from poise.limits import Clearance
from poise.scale import Job
from poise.scale.clips import RetargetClips
from walks import make_walk


@pytest.mark.slow
def test_map_writes_what_reach_map_says(tmp_path: Path) -> None:
    out, picture = tmp_path / "map.npz", tmp_path / "map.html"
    words = ("map", "ur5e", "--spacing", "0.4", "--directions", "4", "--turns", "2", "--manipulability")
    shown = run_poise(*words, "--out", str(out), "--picture", str(picture))
    assert shown.exit_code == 0, shown.output
    written = poise.ReachMap.load(out)
    made = poise.reach_map(poise.load("ur5e"), "tool0", 0.4, 4, 2, manipulability=True)
    for name in ("reached", "proved", "undecided", "manipulability"):
        np.testing.assert_array_equal(getattr(written, name), getattr(made, name))
    assert str(made) in shown.output
    assert picture.read_text("utf-8").startswith("<!")
    figures = json.loads(run_poise(*words, "--out", str(out), "--json").stdout)
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
    shown = run_poise(*words)
    assert shown.exit_code == 2
    assert said in shown.output
    assert not list(tmp_path.iterdir())


def test_map_help_has_examples() -> None:
    shown = run_poise("map", "--help")
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
    shown = run_poise("track", "panda", str(tmp_path / "path.csv"), "--frame", "panda_hand_tcp", "--out", str(out))
    assert shown.exit_code == 0, shown.output
    made = poise.motion.track(arm, poise.goals.Reach("panda_hand_tcp", T), fps=30.0)
    np.testing.assert_allclose(poise.load_motion(out, model=arm).q, made.motion.q, atol=1e-6)


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
    run_poise("retarget", walk, "humanoid", "-o", walk.with_suffix(".csv"), *words)
    assert given["clearance"] is kept


def test_a_folder(walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = dict[str, Any]()

    def stop(_: object, **options: Any) -> None:
        given.update(options)
        raise InvalidValue("seen")

    monkeypatch.setattr(Job, "retarget", stop)
    run_poise("retarget", walk.parent, "humanoid", "-o", tmp_path / "out", "--no-clearance")
    assert given["clearance"] is False


def test_both_options_exclude_each_other(walk: Path) -> None:
    out = run_poise("retarget", walk, "humanoid", "-o", "out.csv", "--no-clearance", "--clearance", "0")
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
