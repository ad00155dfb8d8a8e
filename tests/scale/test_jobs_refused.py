"""Jobs: impossible work is reported, and the rest is done."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from job_cases import ARM, GOAL, check_untouched, make_job, make_points, pq, write_clip, write_table, write_targets
from poise.errors import FormatError, InvalidValue, ModelMismatch, PoiseError
from poise.goals import Custom, Distance, Reach
from poise.scale import Job
from poise.scale.folder import read_shard

# ------------------------------------------------------------------------------------------------ inputs

TABLES: dict[str, tuple[Any, str, int]] = {  # a third file, the error, and the parts that are done
    "a missing column": ({"id": [1], "x": [0.1], "z": [0.0]}, r"c\.parquet.*no column 'y'.*'id', 'x', 'z'", 0),
    "no target": ({"id": [1], "u": [0.1]}, r"c\.parquet.*needs the columns x y z.*'u'", 0),
    "no ids": ({"x": [0.1], "y": [0.1], "z": [0.0]}, r"c\.parquet.*has no column 'id', and .*a\.parquet has one", 0),
    "no table": (b"PAR1 and then nothing", r"c\.parquet.*damaged or not a Parquet file", 0),
    "text": ({"id": [1], "x": ["a"], "y": [0.0], "z": [0.0]}, r"c\.parquet.*column 'x' is of type string", 5),
    "lists as ids": ({"id": [[1]], "x": [0.1], "y": [0.0], "z": [0.0]}, r"column 'id' is of type list.*numbers or", 5),
}


@pytest.mark.parametrize(("table", "words", "done"), TABLES.values(), ids=TABLES)
def test_a_table_that_cannot_be_read_is_named(targets: Path, tmp_path: Path, table: Any, words: str, done: int) -> None:
    path = targets / "c.parquet"
    path.write_bytes(table) if isinstance(table, bytes) else write_table(path, **table)
    with pytest.raises(FormatError, match=words):
        make_job().run(targets, tmp_path / "out")
    assert (tmp_path / "out").exists() == bool(done), "columns are checked before anything is written"
    assert len(list((tmp_path / "out").glob("*.parquet"))) == done


@pytest.mark.slow
def test_a_file_with_a_damaged_page_is_named_and_all_else_is_done(targets: Path, tmp_path: Path) -> None:
    path = targets / "a.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 400 + whole[404:])
    with pytest.raises(FormatError, match=r"a\.parquet, row group 0: is damaged.*280 rows"):
        make_job().run(targets, tmp_path / "out")
    assert sum(pq.read_metadata(p).num_rows for p in (tmp_path / "out").glob("*.parquet")) == 280
    assert not (tmp_path / "out" / "_manifest.json").exists()
    path.write_bytes(whole)
    report = make_job().run(targets, tmp_path / "out")
    assert (report.done, report.skipped, report.complete) == (100, 280, True)


@pytest.mark.parametrize(("name", "words"), [("nothing", "is not there"), ("*.parquet", "no file was found")])
def test_no_file_is_an_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        make_job().run(tmp_path / name, tmp_path / "out")


# ------------------------------------------------------------------------------------------------ folders


def change_a_bit(path: Path) -> None:
    """Change a value of a table in place."""
    x = make_points(250)[1, 0]
    path.write_bytes(path.read_bytes().replace(np.float64(x).tobytes(), np.float64(x + 1e-9).tobytes(), 1))


def claim_level(out: Path) -> None:
    """Let the folder be of another instruction level."""
    claim = json.loads((out / "_job.json").read_text())
    (out / "_job.json").write_text(json.dumps(claim | {"level": "z80 baseline"}))


OTHERS: dict[str, tuple[Callable[[Path, Path], Any], str]] = {  # what is done to (targets, out), and the error
    "a table is another": (
        lambda targets, _: write_targets(targets / "b.parquet", make_points(130, 7), first=250),
        r"b\.parquet.*has changed since.*remove '.*\.parquet'",
    ),
    "a value is another": (lambda targets, _: change_a_bit(targets / "a.parquet"), r"a\.parquet.*has changed since"),
    "fewer": (lambda targets, _: (targets / "a.parquet").unlink(), r"other inputs.*'a\.parquet'.*give another folder"),
    "more": (
        lambda targets, _: write_targets(targets / "c.parquet", make_points(5), first=380),
        r"other inputs.*'c\.parquet' is new; give another folder",
    ),
    "another level": (lambda _, out: claim_level(out), r"level 'z80 baseline', and this machine runs at .*POISE_LEVEL"),
}


@pytest.mark.parametrize(("change", "words"), OTHERS.values(), ids=OTHERS)
def test_other_inputs_need_another_folder(
    targets: Path, tmp_path: Path, change: Callable[[Path, Path], Any], words: str
) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    change(targets, out)
    check_untouched(out, InvalidValue, words, lambda: job.run(targets, out))


def test_a_folder_of_another_job_is_rejected(targets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_job().run(targets, out)
    words = r"results of another job \(solve planar3, [0-9a-f]{16}\)"
    check_untouched(out, InvalidValue, words, lambda: make_job(seed=3).run(targets, out))


@pytest.mark.slow
def test_clips_of_another_folder_need_another_folder(tmp_path: Path) -> None:
    for k, name in enumerate(("one/a.bvh", "two/a.bvh", "three/b.bvh")):
        write_clip(tmp_path / name, 0.1 * k)
    job, out = Job.quality(), tmp_path / "out"
    job.run(tmp_path / "one", out, threads=1)
    for name, words in {"two": r"a\.bvh.*has changed since", "three": r"other inputs.*'[ab]\.bvh'"}.items():
        check_untouched(out, InvalidValue, words, partial(job.run, tmp_path / name, out, threads=1))


@pytest.mark.parametrize(("mine", "other"), [(None, None), (None, "0/2"), ("0/2", None), ("1/2", "1/2")])
def test_two_runs_into_one_folder_are_reported(targets: Path, tmp_path: Path, mine: Any, other: Any) -> None:
    job, out = make_job(), tmp_path / "out"
    caught: list[str] = []

    def run_again(*_: int) -> None:
        if not caught:
            with pytest.raises(InvalidValue) as error:
                job.run(targets, out, shard=other)
            caught.append(str(error.value))

    report = job.run(targets, out, shard=mine, progress=run_again)
    holder = r" \(process \d+ on .*\)" if mine == other or mine is None else ""  # a lock of many names nobody
    assert re.search(rf"another run is writing into .*out'{holder}: wait", caught[0])
    assert report.done == {None: 380, "0/2": 180, "1/2": 200}[mine]
    assert all(lock.read_bytes() == b"" for lock in out.glob(".lock*"))


@pytest.mark.slow
def test_a_model_that_changed_since_is_named(targets: Path, tmp_path: Path) -> None:
    urdf = poise.save(ARM, tmp_path / "arm.urdf")
    model = poise.load(urdf)
    job = Job(model, Reach(model.frames[-1], (0.0, 0.0, 0.0)))
    poise.save(job, tmp_path / "job.json")
    job.run(targets, tmp_path / "out")
    urdf.write_text(urdf.read_text("utf-8").replace("</robot>", "<!-- other -->\n</robot>"), "utf-8")
    again = Job.load(tmp_path / "job.json")
    with pytest.raises(ModelMismatch, match=r"arm\.urdf.*has changed since the job was made"):
        again.run(targets, tmp_path / "out")
    urdf.unlink()  # the job holds the body itself
    assert Job.load(tmp_path / "job.json").run(targets, tmp_path / "out").skipped == 380


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_reported_and_nothing_is_lost(
    targets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, out, opened = make_job(), tmp_path / "out", Path.open
    parts: list[str] = []

    def open_full(path: Path, mode: str = "r", **more: Any) -> Any:
        if mode == "wb" and path.name.endswith(".parquet"):
            parts.append(path.name)
            if len(parts) == 3:
                return opened(Path("/dev/full"), "wb", 0)
        return opened(path, mode, **more)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(FormatError, match=r"out: the disk is full; finished parts are kept"):
        job.run(targets, out)
    monkeypatch.undo()
    assert len(list(out.glob("*.parquet"))) == 2
    assert not [p for p in out.iterdir() if p.name.startswith(".") and p.name != ".lock"]
    report = job.run(targets, out)
    assert (report.skipped, report.complete) == (200, True)


# ------------------------------------------------------------------------------------------------ jobs

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a clock": (lambda: make_job(time_limit=0.1), "time_limit"),
    "threads": (lambda: make_job(threads=2), "'threads' is not an option of a job"),
    "a wrong name": (lambda: make_job(restart=2), "restarts"),
    "a function": (lambda: Job(ARM, Custom(lambda q: q[:1], size=1)), r"Custom.*cannot be saved.*solve_batch"),
    "not on a GPU": (lambda: Job("humanoid", Distance("eyes", (0, 0, 0), 1.0), device="gpu"), "Distance"),
    "no device": (lambda: Job(ARM, GOAL, device="tpu"), "'gpu'"),
    **{f"shard {x}": (partial(read_shard, x), "3/64") for x in ("3", "5/4", "-1/4", "a/b", (1, 0), 7)},
}


@pytest.mark.parametrize(("make", "words"), WRONG.values(), ids=WRONG)
def test_invalid_jobs_and_shards_are_rejected_at_once(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(PoiseError, match=words):
        make()


def test_shards_count_from_0_or_from_1() -> None:
    from_0, from_1 = ({read_shard(f"{k}/4") for k in range(first, first + 4)} for first in (0, 1))
    assert from_0 == from_1 == {(k, 4) for k in range(4)}
