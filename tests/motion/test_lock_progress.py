"""Progress of a clip that is solved several times grows from the first frame to the last, and ends once."""

from __future__ import annotations

import pytest

import poise
from poise.motion import lock, retarget
from poise.motion.clips.whole_clip import RepeatedProgress
from walks import make_walk, put_skate_in


@pytest.mark.parametrize("work", ["lock", "retarget"])
def test_progress_ends_once(work: str) -> None:
    seen = list[tuple[int, int]]()
    clip = put_skate_in(make_walk(24))
    if work == "lock":
        lock(clip, progress=lambda *each: seen.append(each))
    else:
        retarget(clip, poise.load("humanoid", scale=0.6), touch=False, progress=lambda *each: seen.append(each))
    done = [each for each, _ in seen]
    assert {total for _, total in seen} == {24}
    assert done == sorted(done)
    assert done.count(24) == 1


def test_passes_cover_half_of_the_rest() -> None:
    seen = list[int]()
    report = RepeatedProgress(lambda done, _: seen.append(done))
    for done in (50, 100, 50, 100, 100):
        report(done, 100)
    assert seen == [25, 50, 62, 75, 87]
