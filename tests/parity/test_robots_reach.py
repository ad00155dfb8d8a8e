"""Every limb of every robot of example-robot-data reaches reachable targets: transforms of its own poses."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import FormatError, FormatWarning
from poise.goals import Reach

pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
from pinocchio_urdf import robots

pytestmark = pytest.mark.slow

ROBOTS = robots()
ROWS = 40
LIMBS = 6


def list_limbs(model: poise.Model) -> Iterator[str]:
    """Frames at the ends, one for each last moving joint."""
    parents = {model.frame(name).parent for name in model.frames}
    seen: set[str] = set()
    for end in (name for name in model.frames if name not in parents):
        at: str | None = end
        while at is not None:
            joint = model.frame(at).joint
            if joint is not None and model.joint(joint).nv:
                break
            at = model.frame(at).parent
        if at is not None and at not in seen:
            seen.add(at)
            yield end


@pytest.mark.skipif(not ROBOTS, reason="the package example-robot-data is not installed")
def test_every_limb_reaches_its_own_poses(closing_table: Callable[[str, str], None]) -> None:
    missed: list[str] = []
    count = read = 0
    for path in map(Path, ROBOTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            try:
                model = poise.load(path)
            except FormatError:
                continue
        if model.nv == 0:
            continue
        read += 1
        q = model.random(np.random.default_rng(0), ROWS)
        for end in list(list_limbs(model))[:LIMBS]:
            batch = poise.solve_batch(model, Reach(end, np.eye(4), tolerance=(1e-4, 1e-3)), model.fk(q, end))
            count += ROWS
            missed += [f"{path.stem}: {end}"] * int((~batch.reached).sum())
    closing_table("robots of example-robot-data", f"{count} poses of limbs asked for, {len(missed)} missed {missed}")
    assert read > 0.9 * len(ROBOTS)
    assert len(missed) <= count // 1000
