"""Jobs on a device: `make test-gpu`, where there is one. Everything is skipped elsewhere."""

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.scale import Job

cp = pytest.importorskip("cupy")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
try:
    COUNT = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    COUNT = 0
pytestmark = pytest.mark.skipif(COUNT == 0, reason="no CUDA device on this machine")


def test_a_job_on_a_device_is_the_batch_there(tmp_path: Path) -> None:
    model = poise.load("panda")
    points = model.fk(model.random(np.random.default_rng(0), 5000), model.frames[-1])[:, :3, 3]
    points[3] = np.nan
    pq.write_table(pa.table(dict(zip("xyz", points.T, strict=True))), tmp_path / "t.parquet", row_group_size=2000)
    goal = Reach(model.frames[-1], (0.0, 0.0, 0.0))
    job = Job(model, goal, device="gpu")
    assert job.run(tmp_path / "t.parquet", tmp_path / "out").complete
    table = pq.read_table(tmp_path / "out")
    assert table["status"].to_pylist()[3] == "invalid"
    assert table["status"].to_pylist().count("reached") > 4990
    q = np.stack([table[f"q{k}"].to_numpy() for k in range(model.nq)], axis=1)
    good = np.array(table["reached"].to_pylist())
    away = np.linalg.norm(model.fk(q[good].astype(np.float64), model.frames[-1])[:, :3, 3] - points[good], axis=1)
    assert away.max() < 2e-4
    job.run(tmp_path / "t.parquet", tmp_path / "again")
    names = sorted(path.name for path in (tmp_path / "out").glob("*.parquet"))
    assert names == sorted(path.name for path in (tmp_path / "again").glob("*.parquet"))
    # in bytes: the pose of a row that is no target is NaN, which equals nothing
    assert all((tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
