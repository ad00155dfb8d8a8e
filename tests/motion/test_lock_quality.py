"""A locked clip is measured alike by `lock` and by `quality`."""

from __future__ import annotations

import pytest

import poise
from poise.motion import lock, quality
from walks import make_walk, put_skate_in


@pytest.fixture(scope="module")
def skating():
    return put_skate_in(make_walk())


@pytest.mark.slow
def test_lock_and_quality_measure_the_same(skating, tmp_path):
    """Also if the locked clip was saved under another name, and if contacts were released."""
    poise.save(skating, tmp_path / "before.bvh")
    before = poise.load_motion(tmp_path / "before.bvh")
    track = lock(before)
    poise.save(track.motion, tmp_path / "after.bvh")
    told, found = track.quality, quality(poise.load_motion(tmp_path / "after.bvh"), before)
    for name in ("contact_share", "slip_max", "drift_max", "height_mean", "sink_max"):
        assert getattr(found, name) == pytest.approx(getattr(told, name), abs=1e-2)
    stiff = lock(skating, joints=["spine_1"])
    assert stiff.released
    assert stiff.quality.drift_max == pytest.approx(quality(stiff.motion, skating).drift_max)
    assert stiff.quality.drift_max > 1.0
