"""Targets of a small arm as Parquet files, and the job that solves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.scale import Job

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ARM = poise.load("planar3")
TOOL = ARM.frames[-1]
NAMES = ("x", "y", "z")


def make_points(rows: int, seed: int = 0) -> np.ndarray:
    """Return positions for the planar arm's tool, one in ten of them out of reach."""
    rng = np.random.default_rng(seed)
    points = ARM.fk(ARM.random(rng, rows), TOOL)[:, :3, 3]
    points[::10] *= 5.0
    return points


def write_targets(path: Path, points: Any, *, first: int | None = 0, groups: int = 100, **more: Any) -> Path:
    """Write points as a table, with ids from `first`, or without."""
    columns = {} if first is None else {"id": np.arange(first, first + len(points))}
    columns |= dict(zip(NAMES, np.asarray(points).T, strict=True)) | more
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=groups)
    return path


def write_clip(path: Path, turn: float) -> None:
    """Write a clip of a body with small joint motions."""
    path.parent.mkdir(exist_ok=True)
    poise.save(poise.Motion(ARM, np.linspace(0.0, turn, 3 * ARM.nq).reshape(3, -1), 30.0), path)


def read_bytes(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_two_files(folder: Path) -> Path:
    """Write two files of targets, in row groups of 100."""
    write_targets(folder / "a.parquet", make_points(250))
    write_targets(folder / "b.parquet", make_points(130, 1), first=250)
    return folder


def make_job(**options: Any) -> Job:
    return Job(ARM, Reach(TOOL, (0.0, 0.0, 0.0)), {"restarts": 2, **options})
