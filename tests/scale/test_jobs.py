"""Jobs: the same bytes however they are run or cut into shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from job_cases import ARM, NAMES, TOOL, make_job, make_points, read_bytes, write_clip, write_targets, write_two_files
from poise.errors import InvalidValue
from poise.goals import Distance, LookAt, Reach, Rest
from poise.scale import Job

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    return write_two_files(tmp_path / "targets")


# ------------------------------------------------------------------------------------------------ answers


@pytest.mark.slow
def test_the_rows_are_those_of_solve_batch(targets: Path, tmp_path: Path) -> None:
    report = make_job().run(targets / "*.parquet", tmp_path / "out")
    points = np.concatenate([make_points(250), make_points(130, 1)])
    batch = poise.solve_batch(ARM, Reach(TOOL, (0.0, 0.0, 0.0)), points, restarts=2)
    table = pq.read_table(tmp_path / "out")
    q = np.stack([table[f"q{k}"].to_numpy() for k in range(3)], axis=1)
    assert np.array_equal(q, batch.q)
    assert table["id"].to_pylist() == list(range(380))
    assert table["status"].to_pylist() == [str(status) for status in batch.status]
    assert np.array_equal(table["reached"].to_numpy(zero_copy_only=False), batch.reached)
    for k, unit in enumerate(("m", "rad")):
        assert np.array_equal(table[f"error.{TOOL}.{unit}"].to_numpy(), batch.errors[TOOL][:, k], equal_nan=True)
    assert (report.done, report.skipped, report.left, report.complete) == (380, 0, 0, True)
    assert report.counts == {str(status): n for status, n in sorted(batch.counts.items(), key=lambda x: str(x[0]))}
    assert "380 rows done" in str(report)


@pytest.mark.slow
def test_the_bytes_are_the_same_for_any_number_of_threads_and_shards(targets: Path, tmp_path: Path) -> None:
    job = make_job()
    job.run(targets, tmp_path / "one", threads=1)
    job.run(targets, tmp_path / "two", threads=2)
    whole = read_bytes(tmp_path / "one")
    assert whole == read_bytes(tmp_path / "two")
    reports = [job.run(targets, tmp_path / "cut", shard=f"{k}/3") for k in (2, 1, 3)]
    assert [report.complete for report in reports] == [False, False, True]
    assert sum(report.done for report in reports) == 380
    assert [report.left for report in reports] == [330, 200, 0]
    own = {name: data for name, data in read_bytes(tmp_path / "cut").items() if not name.startswith(".lock")}
    assert own == {name: data for name, data in whole.items() if name != ".lock"}


@pytest.mark.slow
def test_what_is_there_is_not_done_again(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    assert job.run(targets, out, shard="1/2").done < 380
    told: list[tuple[int, int]] = []
    report = job.run(targets, out, progress=lambda done, rows: told.append((done, rows)))
    assert report.done + report.skipped == 380
    assert report.skipped > 0
    assert told[-1] == (380, 380)
    assert told == sorted(told)
    before = read_bytes(out)
    assert job.run(targets, out).done == 0
    assert read_bytes(out) == before


@pytest.mark.slow
def test_a_shard_of_clips_reports_its_own_and_counts_what_is_left(tmp_path: Path) -> None:
    for k in range(5):
        write_clip(tmp_path / "in" / f"{k}.bvh", 0.1 * k)
    job, out = Job.quality(), tmp_path / "out"
    reports = [job.run(tmp_path / "in", out, shard=f"{k}/3", threads=1) for k in range(3)]
    assert [sorted(report.figures) for report in reports] == [["0.bvh", "3.bvh"], ["1.bvh", "4.bvh"], ["2.bvh"]]
    assert [report.counts for report in reports] == [{"done": 2}, {"done": 2}, {"done": 1}]
    assert [report.left for report in reports] == [3, 1, 0]
    assert pq.read_table(next(out.glob("*.parquet")))["id"].to_pylist() == [f"{k}.bvh" for k in range(5)]


@pytest.mark.slow
def test_the_manifest_counts_every_row_and_every_byte(targets: Path, tmp_path: Path) -> None:
    from hashlib import sha256

    job, out = make_job(), tmp_path / "out"
    report = job.run(targets, out)
    assert report.manifest == out / "_manifest.json"
    words = json.loads(report.manifest.read_text())
    assert words["rows"] == 380
    assert words["counts"] == report.counts
    assert [(p["input"], p["group"], p["rows"]) for p in words["parts"]] == [
        *(("a.parquet", k, n) for k, n in enumerate((100, 100, 50))),
        *(("b.parquet", k, n) for k, n in enumerate((100, 30))),
    ]
    for part in words["parts"]:
        data = (out / part["file"]).read_bytes()
        assert part["file"].startswith(job.hash)
        assert (len(data), sha256(data).hexdigest()) == (part["bytes"], part["sha256"])


@pytest.mark.slow
def test_fk_and_solve_undo_each_other(tmp_path: Path) -> None:
    model = poise.load("ur5e")
    q = model.random(np.random.default_rng(0), 200)
    q[7, 2] = np.nan
    pq.write_table(pa.table({f"q{k}": q[:, k] for k in range(6)}), tmp_path / "q.parquet")
    report = Job.fk(model, "tool0").run(tmp_path / "q.parquet", tmp_path / "fk")
    assert report.counts == {"done": 199, "invalid": 1}
    table = pq.read_table(tmp_path / "fk")
    places = np.stack([table[name].to_numpy() for name in NAMES], axis=1)
    keep = np.arange(200) != 7
    assert np.array_equal(places[keep], model.fk(q[keep], "tool0")[:, :3, 3])
    assert np.isnan(places[7]).all()
    solved = Job(model, Reach("tool0", np.eye(4))).run(tmp_path / "fk", tmp_path / "out")
    assert solved.counts == {"invalid": 1, "reached": 199}


@pytest.mark.slow
def test_several_frames_and_goals_have_their_names_before_their_columns(tmp_path: Path) -> None:
    model = poise.load("humanoid")
    q = np.tile(model.rest, (3, 1))
    pq.write_table(pa.table({f"q{k}": q[:, k] for k in range(model.nq)}), tmp_path / "q.parquet")
    Job.fk(model, ["hand_l", "hand_r"]).run(tmp_path / "q.parquet", tmp_path / "fk")
    names = pq.read_table(tmp_path / "fk").column_names
    assert {"hand_l.x", "hand_r.qz", "id", "valid"} <= set(names)
    goals = [Reach("hand_l", (0.0, 0.0, 0.0)), LookAt("eyes", (0.4, 1.2, 0.3)), Rest()]
    report = Job(model, goals).run(tmp_path / "fk", tmp_path / "out")
    assert report.counts == {"reached": 3}


def test_starts_come_from_the_columns_of_q(tmp_path: Path) -> None:
    start = ARM.random(np.random.default_rng(4), 20)
    points = make_points(20)
    write_targets(tmp_path / "t.parquet", points, **{f"q{k}": start[:, k] for k in range(3)})
    make_job().run(tmp_path / "t.parquet", tmp_path / "out")
    batch = poise.solve_batch(ARM, Reach(TOOL, (0.0, 0.0, 0.0)), points, start, restarts=2)
    table = pq.read_table(tmp_path / "out")
    assert np.array_equal(np.stack([table[f"q{k}"].to_numpy() for k in range(3)], axis=1), batch.q)


def test_several_answers_are_rows_of_one_id(tmp_path: Path) -> None:
    write_targets(tmp_path / "t.parquet", make_points(10)[1:5])
    make_job(solutions=2).run(tmp_path / "t.parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out")
    assert table["id"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert table["answer"].to_pylist() == [0, 1] * 4


@pytest.mark.parametrize(
    "goal", [LookAt("eyes", (0.4, 1.2, 0.3)), Distance("hand_l", "hand_r", 0.3)], ids=["look", "distance"]
)
def test_goals_without_arrays_of_targets_take_columns_too(goal: Any, tmp_path: Path) -> None:
    model = poise.load("humanoid")
    columns = (
        {"value": [0.3, np.nan, 0.5]}
        if isinstance(goal, Distance)
        else dict(zip(NAMES, np.array([[0.4, 1.2, 0.3], [np.nan, 0, 0], [0.3, 1.0, 0.4]]).T, strict=True))
    )
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    Job(model, goal).run(tmp_path / "t.parquet", tmp_path / "out")
    assert pq.read_table(tmp_path / "out")["status"].to_pylist() == ["reached", "invalid", "reached"]


# ------------------------------------------------------------------------------------------------ rows that are odd


def test_rows_that_are_not_targets_are_invalid_and_alone(tmp_path: Path) -> None:
    model = poise.load("ur5e")
    T = model.fk(model.random(np.random.default_rng(0), 12), "tool0")
    wxyz = poise.Rotation.from_matrix(T[:, :3, :3]).wxyz.copy()
    x = T[:, 0, 3].tolist()
    x[2], x[3] = float("nan"), None
    wxyz[4], wxyz[5, 1] = 0.0, np.inf
    columns = {"id": [f"row {k}" for k in range(12)], "x": x, "y": T[:, 1, 3], "z": T[:, 2, 3]}
    pq.write_table(pa.table(columns | dict(zip(("qw", "qx", "qy", "qz"), wxyz.T, strict=True))), tmp_path / "t.parquet")
    Job(model, Reach("tool0", np.eye(4))).run(tmp_path / "t.parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out")
    assert [k for k, status in enumerate(table["status"].to_pylist()) if status == "invalid"] == [2, 3, 4, 5]
    assert table["status"].to_pylist().count("reached") == 8
    assert table["id"].to_pylist() == columns["id"]


def test_rows_without_an_id_are_numbered_through_all_files(tmp_path: Path) -> None:
    write_targets(tmp_path / "in" / "a.parquet", make_points(30), first=None)
    write_targets(tmp_path / "in" / "b.parquet", make_points(20), first=None)
    job, out = make_job(), tmp_path / "out"
    job.run(tmp_path / "in", out)
    assert pq.read_table(out)["id"].to_pylist() == list(range(50))
    before = read_bytes(out)
    with pytest.raises(InvalidValue, match=r"other inputs: 'a\.parquet' is not among them now"):
        job.run(tmp_path / "in" / "b.parquet", out)
    assert read_bytes(out) == before


def test_files_of_no_rows_are_done(tmp_path: Path) -> None:
    write_targets(tmp_path / "in" / "a.parquet", np.zeros((0, 3)))
    write_targets(tmp_path / "in" / "b.parquet", make_points(5))
    assert make_job().run(tmp_path / "in", tmp_path / "out").done == 5
    assert pq.read_table(tmp_path / "out").num_rows == 5
