"""Planar bodies are drawn on paper: thick, with the angles of their joints and the lengths of their bones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.pictures.body.stick import find_angles, find_lengths
from poise.studio import Studio


@pytest.mark.parametrize("name", ["planar2", "planar3"])
def test_angles_and_lengths_are_those_of_the_pose(name: str) -> None:
    model = poise.load(name)
    q = np.array(model.rest) + 0.1 * np.arange(1, model.nq + 1)
    assert [angle for _, angle in find_angles(model, q)] == pytest.approx(q)
    assert [length for *_, length in find_lengths(model, q)] == pytest.approx([1.0] * model.nq)


def test_a_picture_of_a_planar_arm_says_them() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'poise[studio]'")
    model = poise.load("planar2")
    solution = poise.solve(model, Reach("tip", (0.9, 1.1, 0.0)))
    axes = poise.plot(solution).figure.axes[0]
    told = [text.get_text() for text in axes.texts]
    assert [f"{math.degrees(angle):.0f}°" for angle in solution.q] == told[:2]
    assert told.count("1 m") == 2
    thickest = max(line.get_linewidth() for line in axes.lines)
    assert thickest >= 6.0
    assert any(line.get_marker() == "x" for line in axes.lines)  # the target
    assert not poise.plot(poise.load("panda")).figure.axes[0].texts


@pytest.mark.slow
def test_two_numbers_are_typed_where_a_body_moves_in_a_plane() -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")
    with Studio("planar3", port=18061, shadows=False) as studio:
        tab = studio.panel.joints
        assert tab.flat.visible
        assert not tab.place.visible
        tab.handle.value, tab.flat.value, tab.go.value = "tip", (0.9, 1.6), "Target"
        tab.on_go()
        assert studio.puppet.find_target("tip") == pytest.approx([0.9, 1.6, 0.0])
        lines = [node for node in studio.panel.planar.nodes if hasattr(node, "thickness")]
        assert len(lines) == 3
        assert {line.thickness_units for line in lines} == {"screen"}, "pixels, not metres"
        studio.show("panda")  # while the tip is still on its way
        assert tab.place.visible
        assert not tab.flat.visible
