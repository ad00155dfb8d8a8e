"""`poise retarget`: the motion, and a page with source and result side by side."""

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


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_motion_is_carried_over_with_a_page_beside_it(walk, tmp_path, mode):
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
