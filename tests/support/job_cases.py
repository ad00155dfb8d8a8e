"""Targets of a small arm as Parquet files, and the job that solves them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.goals import Reach
from poise.scale import Job

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ARM = poise.load("planar3")
TOOL = ARM.frames[-1]
GOAL = Reach(TOOL, (0.0, 0.0, 0.0))
NAMES = ("x", "y", "z")
TURN = ("qw", "qx", "qy", "qz")


def make_points(rows: int, seed: int = 0) -> Floats:
    """Return positions for the planar arm's tool, one in ten of them out of reach."""
    rng = np.random.default_rng(seed)
    points = ARM.fk(ARM.random(rng, rows), TOOL)[:, :3, 3]
    points[::10] *= 5.0
    return points


def make_poses(rows: int, seed: int = 0) -> dict[str, Any]:
    """Return reachable transforms of the UR5e's tool as columns."""
    model = poise.load("ur5e")
    T = model.fk(model.random(np.random.default_rng(seed), rows), "tool0")
    wxyz = poise.Rotation.from_matrix(T[:, :3, :3]).wxyz
    return dict(zip((*NAMES, *TURN), np.hstack([T[:, :3, 3], wxyz]).T.copy(), strict=True))


def write_table(path: Path, groups: int = 100, **columns: Any) -> Path:
    """Write columns as a table, in row groups of a number of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=groups)
    return path


def write_targets(path: Path, points: Any, *, first: int | None = 0, groups: int = 100, **more: Any) -> Path:
    """Write points as a table, with ids from `first`, or without."""
    ids = {} if first is None else {"id": np.arange(first, first + len(points))}
    return write_table(path, groups, **ids, **dict(zip(NAMES, np.asarray(points).T, strict=True)), **more)


def write_two_files(folder: Path) -> Path:
    """Write two files of targets, in row groups of 100."""
    write_targets(folder / "a.parquet", make_points(250))
    write_targets(folder / "b.parquet", make_points(130, 1), first=250)
    return folder


def write_clip(path: Path, turn: float) -> None:
    """Write a clip of a body with small joint motions."""
    path.parent.mkdir(exist_ok=True)
    poise.save(poise.Motion(ARM, np.linspace(0.0, turn, 3 * ARM.nq).reshape(3, -1), 30.0), path)


def make_job(**options: Any) -> Job:
    """Return a job that solves points."""
    return Job(ARM, GOAL, {"restarts": 2, **options})


def read_q(table: Any, count: int = ARM.nq) -> Floats:
    """Return the poses of a table."""
    return np.stack([table[f"q{k}"].to_numpy() for k in range(count)], axis=1)


def read_bytes(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in a folder except its locks, which are empty."""
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert not any(data for name, data in found.items() if name.startswith("."))
    return {name: data for name, data in found.items() if not name.startswith(".lock")}


def flip(path: Path, place: int = 40) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def check_untouched(out: Path, error: type[Exception], match: str, run: Callable[[], Any]) -> None:
    """Check that a run raises an error and changes nothing in a folder."""
    before = read_bytes(out)
    with pytest.raises(error, match=match):
        run()
    assert read_bytes(out) == before
