"""`poise retarget`: the motion, and a page with source and result side by side."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import poise
from poise.cli.app import app
from walks import make_walk


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    poise.save(make_walk(20), path)
    return path


def run(*words):
    return CliRunner().invoke(app, ["retarget", *map(str, words)])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_motion_is_retargeted_with_a_page_of_both_bodies(walk, tmp_path, mode):
    out = run(walk, "humanoid", "-o", tmp_path / "walk.csv", "--style", "unitree", "--page", "--mode", mode)
    assert out.exit_code == 0, out.output
    assert "knee_l" in out.output
    assert np.loadtxt(tmp_path / "walk.csv", delimiter=",").shape == (20, poise.load("humanoid").nq)
    assert "walk on humanoid" in (tmp_path / "walk.html").read_text("utf-8")


def test_pages_and_streams_are_for_one_motion(walk, tmp_path):
    for words in (["--page"], ["--mode", "online"]):
        out = run(walk.parent, "humanoid", "-o", tmp_path / "out", *words)
        assert out.exit_code == 2
        assert words[0] in out.output


@pytest.mark.slow
def test_a_folder_ends_with_the_quality_of_each_clip(walk, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.bvh").write_bytes(walk.read_bytes())
    words = [tmp_path / "in", "humanoid", "-o", tmp_path / "out", "--threads", "1", "--fps", "15", "--clearance", "0"]
    out = run(*words)
    assert out.exit_code == 0, out.output
    head = next(line for line in out.output.splitlines() if "frames" in line)
    assert "bones deg" in head
    assert "speed rad/s" in head
    rows = [line.split() for line in out.output.splitlines() if line.split()[:1] in (["a.bvh"], ["b.bvh"])]
    assert [int(row[1]) for row in rows[:2]] == [10, 10]
    assert "0 a second" not in out.output
    again = json.loads(run(*words, "--json").stdout)
    assert again["skipped"] == 2
    assert set(again["clips"]) == {"a.bvh", "b.bvh"}
    assert again["clips"]["a.bvh"]["slip_max"] < 0.01
