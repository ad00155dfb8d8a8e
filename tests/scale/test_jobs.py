"""Jobs: the same bytes however they are run, killed or cut into shards; and what cannot be done is told by name."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from goal_cases import MAKERS, place_goal
from poise.errors import FormatError, InvalidValue, ModelMismatch, PoiseError
from poise.goals import Custom, Distance, LookAt, Orient, Reach, Rest
from poise.kinematics.regions import Ball, HalfSpace
from poise.limits import Clearance
from poise.methods import LM
from poise.scale import Job
from poise.scale.folder import read_shard
from poise.scale.plain import read_plain, write_plain

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ARM = poise.load("planar3")
TOOL = ARM.frames[-1]
NAMES = ("x", "y", "z")


def make_points(rows: int, seed: int = 0) -> np.ndarray:
    """Places of the planar arm's tool, one in ten of them out of reach."""
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


def read_bytes(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    """Two files of targets, in row groups of 100."""
    write_targets(tmp_path / "targets" / "a.parquet", make_points(250))
    write_targets(tmp_path / "targets" / "b.parquet", make_points(130, 1), first=250)
    return tmp_path / "targets"


def make_job(**options: Any) -> Job:
    return Job(ARM, Reach(TOOL, (0.0, 0.0, 0.0)), {"restarts": 2, **options})


# ------------------------------------------------------------------------------------------------ answers


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


def test_the_bytes_are_the_same_for_any_number_of_threads_and_shards(targets: Path, tmp_path: Path) -> None:
    job = make_job()
    job.run(targets, tmp_path / "one", threads=1)
    job.run(targets, tmp_path / "two", threads=2)
    whole = read_bytes(tmp_path / "one")
    assert whole == read_bytes(tmp_path / "two")
    reports = [job.run(targets, tmp_path / "cut", shard=f"{k}/3") for k in (2, 1, 3)]
    assert [report.complete for report in reports] == [False, False, True]
    assert sum(report.done for report in reports) == 380
    own = {name: data for name, data in read_bytes(tmp_path / "cut").items() if not name.startswith(".lock")}
    assert own == {name: data for name, data in whole.items() if name != ".lock"}


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


def test_rows_that_are_no_targets_are_invalid_and_alone(tmp_path: Path) -> None:
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
    with pytest.raises(InvalidValue, match=r"b\.parquet.*numbered through all files"):
        job.run(tmp_path / "in" / "b.parquet", out)
    assert read_bytes(out) == before


def test_files_of_no_rows_are_done(tmp_path: Path) -> None:
    write_targets(tmp_path / "in" / "a.parquet", np.zeros((0, 3)))
    write_targets(tmp_path / "in" / "b.parquet", make_points(5))
    assert make_job().run(tmp_path / "in", tmp_path / "out").done == 5
    assert pq.read_table(tmp_path / "out").num_rows == 5


# ------------------------------------------------------------------------------------------------ refusals


def test_a_missing_column_is_named_before_anything_runs(targets: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "x": [0.1], "z": [0.0]}), targets / "c.parquet")
    with pytest.raises(FormatError, match=r"c\.parquet.*no column 'y'.*'id', 'x', 'z'"):
        make_job().run(targets, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    pq.write_table(pa.table({"id": [1], "u": [0.1]}), targets / "c.parquet")
    with pytest.raises(FormatError, match=r"c\.parquet.*needs the columns x y z.*'u'"):
        make_job().run(targets, tmp_path / "out")


def test_a_column_of_text_is_named(targets: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "x": ["a"], "y": [0.0], "z": [0.0]}), targets / "c.parquet")
    with pytest.raises(FormatError, match=r"c\.parquet.*column 'x' is of type string"):
        make_job().run(targets, tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 5


def test_a_file_that_is_no_parquet_is_named(targets: Path, tmp_path: Path) -> None:
    (targets / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FormatError, match=r"broken\.parquet.*damaged Parquet"):
        make_job().run(targets, tmp_path / "out")


def test_a_file_with_a_damaged_page_is_named_and_all_else_is_done(targets: Path, tmp_path: Path) -> None:
    path = targets / "a.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 400 + whole[404:])
    with pytest.raises(FormatError, match=r"a\.parquet, row group 0: is a damaged.*280 rows"):
        make_job().run(targets, tmp_path / "out")
    done = sum(pq.read_metadata(p).num_rows for p in (tmp_path / "out").glob("*.parquet"))
    assert done == 280
    assert not (tmp_path / "out" / "_manifest.json").exists()
    path.write_bytes(whole)
    report = make_job().run(targets, tmp_path / "out")
    assert (report.done, report.skipped, report.complete) == (100, 280, True)


def test_an_input_that_changed_since_is_named(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    before = read_bytes(out)
    write_targets(targets / "b.parquet", make_points(130, 7), first=250)
    with pytest.raises(InvalidValue, match=r"b\.parquet.*has changed since"):
        job.run(targets, out)
    assert read_bytes(out) == before


def test_a_folder_of_another_job_is_refused(targets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_job().run(targets, out)
    before = read_bytes(out)
    with pytest.raises(InvalidValue, match=r"results of another job \(solve planar3, [0-9a-f]{16}\)"):
        make_job(seed=3).run(targets, out)
    assert read_bytes(out) == before


def test_two_runs_into_one_folder_are_told(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    caught: list[str] = []

    def run_again(*_: int) -> None:
        if not caught:
            with pytest.raises(InvalidValue) as error:
                job.run(targets, out)
            caught.append(str(error.value))

    report = job.run(targets, out, progress=run_again)
    assert re.search(r"another run is writing into .*out' \(process \d+ on ", caught[0])
    assert report.done == 380
    assert (out / ".lock").read_bytes() == b""


def test_a_model_that_changed_since_is_named(targets: Path, tmp_path: Path) -> None:
    urdf = poise.save(ARM, tmp_path / "arm.urdf")
    model = poise.load(urdf)
    job = Job(model, Reach(model.frames[-1], (0.0, 0.0, 0.0)))
    poise.save(job, tmp_path / "job.json")
    job.run(targets, tmp_path / "out")
    changed = urdf.read_text("utf-8").replace("</robot>", "<!-- other -->\n</robot>")
    urdf.write_text(changed, "utf-8")
    again = Job.load(tmp_path / "job.json")
    with pytest.raises(ModelMismatch, match=r"arm\.urdf.*has changed since the job was made"):
        again.run(targets, tmp_path / "out")
    urdf.unlink()  # the job holds the body itself
    assert Job.load(tmp_path / "job.json").run(targets, tmp_path / "out").skipped == 380


def test_a_full_disk_is_told_and_nothing_is_lost(
    targets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    job, out, opened = make_job(), tmp_path / "out", Path.open
    parts: list[str] = []

    def open_full(path: Path, mode: str = "r", **more: Any) -> Any:
        if mode == "wb" and path.name.endswith(".parquet"):
            parts.append(path.name)
            if len(parts) == 3:
                return opened(full, "wb", 0)
        return opened(path, mode, **more)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(FormatError, match=r"out: the disk is full; all that was done before stays"):
        job.run(targets, out)
    monkeypatch.undo()
    assert len(list(out.glob("*.parquet"))) == 2
    assert not [p for p in out.iterdir() if p.name.startswith(".") and p.name != ".lock"]
    report = job.run(targets, out)
    assert (report.skipped, report.complete) == (200, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": 0.1}, "time_limit"),
        ({"threads": 2}, "'threads' is not an option of a job"),
        ({"restart": 2}, "restarts"),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(options: Any, words: str) -> None:
    with pytest.raises(PoiseError, match=words):
        Job(ARM, Reach(TOOL, (0, 0, 0)), options)


def test_what_cannot_be_saved_is_refused_at_once() -> None:
    with pytest.raises(InvalidValue, match="Custom goal"):
        Job(ARM, Custom(lambda q: q[:1], size=1))
    with pytest.raises(InvalidValue, match="LookAt"):
        Job("humanoid", LookAt("eyes", (0, 0, 0)), device="gpu")
    with pytest.raises(InvalidValue, match="'gpu'"):
        Job(ARM, Reach(TOOL, (0, 0, 0)), device="tpu")


def test_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not there"):
        make_job().run(tmp_path / "nothing", tmp_path / "out")
    with pytest.raises(FormatError, match="no file is there"):
        make_job().run(tmp_path / "*.parquet", tmp_path / "out")


@pytest.mark.parametrize("given", ["3", "5/4", "-1/4", "a/b", (1, 0), 7])
def test_a_shard_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValue, match="3/64"):
        read_shard(given)


def test_shards_count_from_0_or_from_1() -> None:
    assert (
        {read_shard(f"{k}/4") for k in range(4)}
        == {read_shard(f"{k}/4") for k in range(1, 5)}
        == {(k, 4) for k in range(4)}
    )


# ------------------------------------------------------------------------------------------------ as a value


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_every_goal_is_read_as_it_was_written(make: Any) -> None:
    model, goal = place_goal(make)
    if isinstance(goal, Custom):
        with pytest.raises(InvalidValue):
            write_plain(goal, "goal")
        return
    text = json.dumps(write_plain(goal, "goal"))
    again = read_plain(json.loads(text), model)
    assert type(again) is type(goal)
    assert json.dumps(write_plain(again, "goal")) == text
    old, new = goal.rows(model), again.rows(model)
    assert np.array_equal(old.target, new.target)
    assert np.array_equal(old.weight, new.weight)


def make_rich_job() -> Job:
    model = poise.load("humanoid")
    goals = [
        Reach("hand_l", poise.Transform.identity(), weight=[1, 1, 1, 0.1, 0.1, 0.1], tolerance=(1e-3, 1e-2)),
        Orient("head", poise.Rotation.from_axis_angle((0, 1, 0), 0.3), priority=1),
        Rest(poise.Pose(model), gains={"spine": 2.0} if "spine" in {j.name for j in model.joints} else None),
    ]
    limits = [Clearance(pairs=[], world=[HalfSpace((0, 0, 0), (0, 1, 0)), Ball((1, 1, 1), 0.2)])]
    return Job(model, goals, {"limits": limits, "method": LM(), "seed": 3})


def test_a_job_is_the_same_pickled_and_saved(tmp_path: Path) -> None:
    job = make_rich_job()
    poise.save(job, tmp_path / "job.json")
    for again in (pickle.loads(pickle.dumps(job)), Job.load(tmp_path / "job.json")):
        assert again == job
        assert hash(again) == hash(job)
        assert again.hash == job.hash
        assert again.to_json() == job.to_json()
        assert again.model == job.model


def test_the_hash_is_of_all_that_answers_depend_on() -> None:
    goal = Reach(TOOL, (0.0, 0.0, 0.0))
    jobs = [
        Job(ARM, goal),
        Job(ARM, goal, device="gpu"),
        Job(ARM, goal, level="x86-64 avx2"),
        Job(ARM, goal, {"seed": 1}),
        Job(ARM, Reach(TOOL, (0.0, 0.0, 0.0), tolerance=1e-6)),
        Job(ARM.locked({ARM.joints[0].name: 0.1}), goal),
        Job.fk(ARM, TOOL),
    ]
    assert len({job.hash for job in jobs}) == len(jobs)
    assert Job("planar3", [goal]).hash == jobs[0].hash


def test_a_level_that_this_machine_has_not_is_refused(targets: Path, tmp_path: Path) -> None:
    job = Job(ARM, Reach(TOOL, (0.0, 0.0, 0.0)), level="z80 baseline")
    with pytest.raises(InvalidValue, match=r"level 'z80 baseline', and this machine runs '"):
        job.run(targets, tmp_path / "out")


def test_a_job_may_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    goal = {"is": "Reach", "frame": TOOL, "target": [0, 0, 0]}
    path.write_text(json.dumps({"kind": "poise job", "model": "planar3", "goals": [goal]}))
    assert Job.load(path) == Job("planar3", Reach(TOOL, (0, 0, 0)))
    path.write_text(json.dumps({"kind": "poise job", "model": "planar3", "goals": [goal | {"is": "Reech"}]}))
    with pytest.raises(FormatError, match=r"job\.json.*'Reech'.*'Reach'"):
        Job.load(path)
    path.write_text(
        json.dumps(
            {"kind": "poise job", "model": "planar3", "goals": [{"is": "Box", "low": [0, 0, 0], "high": [1, 1, 1]}]}
        )
    )
    with pytest.raises(FormatError, match=r"job\.json"):
        Job.load(path)


# ------------------------------------------------------------------------------------------------ maps


def test_a_reach_map_in_parts_is_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.scale.maps.POSES", 100)
    options: dict[str, Any] = {"spacing": 0.4, "directions": 4, "turns": 2, "manipulability": True}
    job, out = Job.reach_map("ur5e", "tool0", **options), tmp_path / "out"
    first = job.run(None, out, shard="0/2")
    assert not first.complete
    assert first.left > 0
    report = job.run(None, out)
    assert report.complete
    assert report.skipped == first.done > 0
    found, whole = poise.ReachMap.load(out / "map.npz"), poise.reach_map(poise.load("ur5e"), "tool0", **options)
    for name in ("reached", "proved", "undecided", "manipulability", "origin"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    job.run(None, tmp_path / "once")
    own = {name: data for name, data in read_bytes(out).items() if not name.startswith(".lock")}
    assert own == {name: data for name, data in read_bytes(tmp_path / "once").items() if name != ".lock"}
    with pytest.raises(InvalidValue, match="has no input"):
        job.run("targets", out)
    with pytest.raises(InvalidValue, match="spacing"):
        Job.reach_map("planar3", TOOL, spacing=-1.0).run(None, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
