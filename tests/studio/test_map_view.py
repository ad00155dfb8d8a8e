"""A reach map in the studio: opened from a file or as it is, cut, thinned, and gone with its body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.studio.showable import read_opening

UR5E = poise.load("ur5e")


@pytest.fixture(scope="module")
def found() -> poise.ReachMap:
    return poise.reach_map(UR5E, "tool0", 0.4, 4, 1)


def test_a_map_opens_its_body(found: poise.ReachMap, tmp_path: Path) -> None:
    path = poise.save(found, tmp_path / "map.npz")
    for thing in (found, path):
        opening = read_opening(thing)
        assert opening.model is UR5E
        assert opening.map is not None
        np.testing.assert_array_equal(opening.map.reached, found.reached)


def test_a_map_of_an_unknown_body_is_rejected(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("own")
    builder.add_joint("a", None, "revolute", lower=-1, upper=1)
    builder.add_frame("tip", "a", (1, 0, 0))
    own = builder.build()
    path = poise.save(poise.reach_map(own, "tip", 0.5, 0), tmp_path / "own.npz")
    with pytest.raises(InvalidValue, match="open that body first"):
        read_opening(path)
    assert read_opening(path, own).model is own


@pytest.mark.slow
def test_the_studio_draws_a_map_and_takes_it_away(found: poise.ReachMap) -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")
    from poise.studio.web.studio import Studio

    with Studio(found, port=18066, shadows=False) as studio:
        view = studio.session.map_view
        corners = np.concatenate([node.vertices for node in view._nodes])
        half = found.origin + 0.5 * found.spacing * (np.array(found.shape) - 1)
        assert corners[:, 0].max() <= half[0] + 0.5 * found.spacing + 1e-6  # cut open towards the camera
        view.open.value = False
        view.draw()
        whole = sum(len(node.faces) for node in view._nodes)
        assert max(node.vertices[:, 0].max() for node in view._nodes) > half[0] + found.spacing
        view.least.value = 0.6
        view.draw()
        assert 0 < sum(len(node.faces) for node in view._nodes) < whole
        view.shown.value = False
        view.draw()
        assert not view._nodes
        studio.show("planar2")
        assert view.map is None
        assert view._folder is None
