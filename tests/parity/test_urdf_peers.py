"""Every URDF of example-robot-data, against Pinocchio: each link of random poses within 1e-10."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import poise
from poise.errors import FormatError, FormatWarning

pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
from pinocchio_urdf import refuses, robots, worst_difference

ROBOTS = robots()
TOLERANCE = 1e-10
TABLE: dict[str, str] = {}


def name_case(path: Path) -> str:
    return f"{path.parents[1].name}/{path.stem}"


@pytest.mark.slow
@pytest.mark.skipif(not ROBOTS, reason="the package example-robot-data is not installed")
@pytest.mark.parametrize("path", ROBOTS, ids=name_case)
def test_real_robots(path: Path, closing_table: Callable[[str, str], None]) -> None:
    if refuses(path):
        with pytest.raises(FormatError) as caught:
            poise.load(path)
        TABLE[name_case(path)] = f"refused by both: {caught.value.message[:80]}"
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            model = poise.load(path)
        worst = worst_difference(model, path)
        TABLE[name_case(path)] = f"{len(model.joints):4d} joints {model.nv:4d} DOF   worst {worst:.1e}"
        assert worst < TOLERANCE
    rows = "\n".join(f"{name:60s} {row}" for name, row in TABLE.items())
    closing_table("URDFs of example-robot-data and Pinocchio", rows)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "snake100", "humanoid", "quadruped", "hand"])
def test_what_we_write_pinocchio_reads(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        path = poise.save(poise.load(name), tmp_path / "out.urdf")
    assert worst_difference(poise.load(path), path) < TOLERANCE
