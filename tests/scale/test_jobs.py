"""Jobs: the same bytes however they are run or cut into shards."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from job_cases import (
    ARM,
    GOAL,
    NAMES,
    TOOL,
    check_untouched,
    make_job,
    make_points,
    make_poses,
    pq,
    read_bytes,
    read_q,
    write_clip,
    write_table,
    write_targets,
)
from poise.errors import InvalidValue
from poise.goals import Distance, LookAt, Reach, Rest
from poise.scale import Job

# ------------------------------------------------------------------------------------------------ answers


@pytest.mark.slow
def test_the_rows_are_those_of_solve_batch(targets: Path, tmp_path: Path) -> None:
    report = make_job().run(targets / "*.parquet", tmp_path / "out")
    batch = poise.solve_batch(ARM, GOAL, np.concatenate([make_points(250), make_points(130, 1)]), restarts=2)
    table = pq.read_table(tmp_path / "out")
    assert np.array_equal(read_q(table), batch.q)
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
    reports = [job.run(targets, tmp_path / "cut", shard=f"{k}/3") for k in (2, 1, 3)]
    assert read_bytes(tmp_path / "one") == read_bytes(tmp_path / "two") == read_bytes(tmp_path / "cut")
    assert [report.complete for report in reports] == [False, False, True]
    assert sum(report.done for report in reports) == 380
    assert [report.left for report in reports] == [330, 200, 0]


@pytest.mark.slow
def test_what_is_there_is_not_done_again(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    assert job.run(targets, out, shard="1/2").done < 380
    progress: list[tuple[int, int]] = []
    report = job.run(targets, out, progress=lambda done, rows: progress.append((done, rows)))
    assert report.done + report.skipped == 380
    assert report.skipped > 0
    assert progress[-1] == (380, 380)
    assert progress == sorted(progress)
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
    assert pq.read_table(out / "clips.parquet")["id"].to_pylist() == [f"{k}.bvh" for k in range(5)]


@pytest.mark.slow
def test_the_manifest_counts_every_row_and_every_byte(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    report = job.run(targets, out)
    assert report.manifest == out / "_manifest.json"
    words = json.loads(report.manifest.read_text())
    assert (words["rows"], words["counts"]) == (380, report.counts)
    sizes = [("a", 0, 100), ("a", 1, 100), ("a", 2, 50), ("b", 0, 100), ("b", 1, 30)]
    assert [(p["input"], p["group"], p["rows"]) for p in words["parts"]] == [(f"{n}.parquet", *x) for n, *x in sizes]
    for part in words["parts"]:
        data = (out / part["file"]).read_bytes()
        assert part["file"].startswith(job.hash)
        assert (len(data), sha256(data).hexdigest()) == (part["bytes"], part["sha256"])


@pytest.mark.slow
def test_fk_and_solve_undo_each_other(tmp_path: Path) -> None:
    model = poise.load("ur5e")
    q = model.random(np.random.default_rng(0), 200)
    q[7, 2] = np.nan
    write_table(tmp_path / "q.parquet", **{f"q{k}": q[:, k] for k in range(6)})
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
    write_table(tmp_path / "q.parquet", **{f"q{k}": q[:, k] for k in range(model.nq)})
    Job.fk(model, ["hand_l", "hand_r"]).run(tmp_path / "q.parquet", tmp_path / "fk")
    assert {"hand_l.x", "hand_r.qz", "id", "valid"} <= set(pq.read_table(tmp_path / "fk").column_names)
    goals = [Reach("hand_l", (0.0, 0.0, 0.0)), LookAt("eyes", (0.4, 1.2, 0.3)), Rest()]
    assert Job(model, goals).run(tmp_path / "fk", tmp_path / "out").counts == {"reached": 3}


def test_starts_come_from_the_columns_of_q(tmp_path: Path) -> None:
    start, points = ARM.random(np.random.default_rng(4), 20), make_points(20)
    write_targets(tmp_path / "t.parquet", points, **{f"q{k}": start[:, k] for k in range(3)})
    make_job().run(tmp_path / "t.parquet", tmp_path / "out")
    batch = poise.solve_batch(ARM, GOAL, points, start, restarts=2)
    assert np.array_equal(read_q(pq.read_table(tmp_path / "out")), batch.q)


def test_several_answers_are_rows_of_one_id(tmp_path: Path) -> None:
    write_targets(tmp_path / "t.parquet", make_points(10)[1:5])
    make_job(solutions=2).run(tmp_path / "t.parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out")
    assert table["id"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert table["answer"].to_pylist() == [0, 1] * 4


@pytest.mark.parametrize(
    ("goal", "columns"),
    [
        (LookAt("eyes", (0.4, 1.2, 0.3)), {"x": [0.4, np.nan, 0.3], "y": [1.2, 0.0, 1.0], "z": [0.3, 0.0, 0.4]}),
        (Distance("hand_l", "hand_r", 0.3), {"value": [0.3, np.nan, 0.5]}),
    ],
    ids=["look", "distance"],
)
def test_goals_without_arrays_of_targets_take_columns_too(goal: Any, columns: dict[str, Any], tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", **columns)
    Job("humanoid", goal).run(tmp_path / "t.parquet", tmp_path / "out")
    assert pq.read_table(tmp_path / "out")["status"].to_pylist() == ["reached", "invalid", "reached"]


# ------------------------------------------------------------------------------------------------ odd rows


def test_rows_that_are_not_targets_are_invalid_and_alone(tmp_path: Path) -> None:
    columns = make_poses(12)
    columns["x"] = columns["x"].tolist()
    columns["x"][2], columns["x"][3], columns["qx"][5] = float("nan"), None, np.inf
    for name in ("qw", "qx", "qy", "qz"):
        columns[name][4] = 0.0
    ids = [f"row {k}" for k in range(12)]
    write_table(tmp_path / "t.parquet", id=ids, **columns)
    Job("ur5e", Reach("tool0", np.eye(4))).run(tmp_path / "t.parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out")
    assert table["status"].to_pylist() == ["invalid" if k in (2, 3, 4, 5) else "reached" for k in range(12)]
    assert table["id"].to_pylist() == ids


def test_rows_without_an_id_are_numbered_through_all_files(tmp_path: Path) -> None:
    write_targets(tmp_path / "in" / "a.parquet", make_points(30), first=None)
    write_targets(tmp_path / "in" / "b.parquet", make_points(20), first=None)
    job, out = make_job(), tmp_path / "out"
    job.run(tmp_path / "in", out)
    assert pq.read_table(out)["id"].to_pylist() == list(range(50))
    words = r"other inputs: 'a\.parquet' is not among them now"
    check_untouched(out, InvalidValue, words, lambda: job.run(tmp_path / "in" / "b.parquet", out))


def test_files_of_no_rows_are_done(tmp_path: Path) -> None:
    write_targets(tmp_path / "in" / "a.parquet", np.zeros((0, 3)))
    write_targets(tmp_path / "in" / "b.parquet", make_points(5))
    assert make_job().run(tmp_path / "in", tmp_path / "out").done == 5
    assert pq.read_table(tmp_path / "out").num_rows == 5
