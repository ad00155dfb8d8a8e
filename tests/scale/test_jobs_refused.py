"""Jobs: impossible work is reported, and the rest is done."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import poise
from job_cases import ARM, TOOL, make_job, make_points, read_bytes, write_targets, write_two_files
from poise.errors import FormatError, InvalidValue, ModelMismatch, PoiseError
from poise.goals import Custom, Distance, Reach
from poise.scale import Job
from poise.scale.folder import read_shard

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    return write_two_files(tmp_path / "targets")


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


def test_a_file_that_is_not_parquet_is_named(targets: Path, tmp_path: Path) -> None:
    (targets / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FormatError, match=r"broken\.parquet.*damaged or not a Parquet file"):
        make_job().run(targets, tmp_path / "out")


@pytest.mark.slow
def test_a_file_with_a_damaged_page_is_named_and_all_else_is_done(targets: Path, tmp_path: Path) -> None:
    path = targets / "a.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 400 + whole[404:])
    with pytest.raises(FormatError, match=r"a\.parquet, row group 0: is damaged.*280 rows"):
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


def test_a_folder_of_another_job_is_rejected(targets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_job().run(targets, out)
    before = read_bytes(out)
    with pytest.raises(InvalidValue, match=r"results of another job \(solve planar3, [0-9a-f]{16}\)"):
        make_job(seed=3).run(targets, out)
    assert read_bytes(out) == before


def test_two_runs_into_one_folder_are_reported(targets: Path, tmp_path: Path) -> None:
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


@pytest.mark.slow
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


def test_a_full_disk_is_reported_and_nothing_is_lost(
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
    with pytest.raises(FormatError, match=r"out: the disk is full; finished parts are kept"):
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
def test_invalid_options_are_rejected_at_once(options: Any, words: str) -> None:
    with pytest.raises(PoiseError, match=words):
        Job(ARM, Reach(TOOL, (0, 0, 0)), options)


def test_values_that_cannot_be_saved_are_rejected_at_once() -> None:
    with pytest.raises(InvalidValue, match=r"Custom.*cannot be saved.*solve_batch"):
        Job(ARM, Custom(lambda q: q[:1], size=1))
    with pytest.raises(InvalidValue, match="Distance"):
        Job("humanoid", Distance("eyes", (0, 0, 0), 1.0), device="gpu")
    with pytest.raises(InvalidValue, match="'gpu'"):
        Job(ARM, Reach(TOOL, (0, 0, 0)), device="tpu")


def test_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not there"):
        make_job().run(tmp_path / "nothing", tmp_path / "out")
    with pytest.raises(FormatError, match="no file was found"):
        make_job().run(tmp_path / "*.parquet", tmp_path / "out")


@pytest.mark.parametrize("given", ["3", "5/4", "-1/4", "a/b", (1, 0), 7])
def test_invalid_shards_are_rejected(given: Any) -> None:
    with pytest.raises(InvalidValue, match="3/64"):
        read_shard(given)


def test_shards_count_from_0_or_from_1() -> None:
    assert (
        {read_shard(f"{k}/4") for k in range(4)}
        == {read_shard(f"{k}/4") for k in range(1, 5)}
        == {(k, 4) for k in range(4)}
    )
