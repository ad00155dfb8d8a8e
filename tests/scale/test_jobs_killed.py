"""Jobs in processes of their own: killed at any moment, interrupted, and run from the shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from paths import ROOT
from poise.errors import FormatError
from poise.goals import Reach
from poise.scale import Job, pool
from poise.scale.folder import JobFolder
from poise.scale.inputs import Part
from walks import make_walk

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("typer")

pytestmark = pytest.mark.slow

POISE = [sys.executable, "-m", "poise.cli"]
ROWS = 4000


def write_targets(folder: Path) -> None:
    """Three files of poses of the UR5e's tool, in row groups of 500."""
    model, rng = poise.load("ur5e"), np.random.default_rng(0)
    folder.mkdir()
    for k in range(3):
        T = model.fk(model.random(rng, ROWS), "tool0")
        wxyz = poise.Rotation.from_matrix(T[:, :3, :3]).wxyz
        columns = {"id": np.arange(k * ROWS, (k + 1) * ROWS), "x": T[:, 0, 3], "y": T[:, 1, 3], "z": T[:, 2, 3]}
        columns |= dict(zip(("qw", "qx", "qy", "qz"), wxyz.T, strict=True))
        pq.write_table(pa.table(columns), folder / f"{k}.parquet", row_group_size=500)


def read_bytes(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def start(*words: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*POISE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(ready: Any, process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    """Wait until something is so, or the process has ended."""
    end = time.monotonic() + seconds
    while not ready() and process.poll() is None:
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.001)


@pytest.fixture
def table_job(tmp_path: Path) -> Path:
    write_targets(tmp_path / "targets")
    poise.save(Job("ur5e", Reach("tool0", np.eye(4))), tmp_path / "job.json")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
def test_killed_again_and_again_the_bytes_are_those_of_an_undisturbed_run(table_job: Path) -> None:
    job, targets, out = table_job / "job.json", table_job / "targets", table_job / "out"
    command = [sys.executable, ROOT / "tools" / "job_nursery.py", job, targets, out]
    nursery = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    rng, ends = np.random.default_rng(0), []
    with nursery:
        for k in range(40):
            nursery.stdin.write("go\n")
            nursery.stdin.flush()
            run = int(nursery.stdout.readline())
            if k < 20:
                time.sleep(float(rng.uniform(0.0, 0.1)))
                with suppress(ProcessLookupError):  # it has ended
                    os.kill(run, signal.SIGKILL)
            ends.append(int(nursery.stdout.readline()))
            if ends[-1] == 0:
                break
        nursery.stdin.close()
    assert ends.count(-signal.SIGKILL) >= 10
    assert ends[-1] == 0
    report = Job.load(job).run(targets, table_job / "whole")
    assert report.complete
    assert read_bytes(out) == read_bytes(table_job / "whole")
    assert pq.read_table(out)["id"].to_pylist() == list(range(3 * ROWS))


INTERRUPTED = """
import sys, time, numpy, poise
from poise.goals import Reach, Rest

job = poise.scale.Job("ur5e", [Reach("tool0", numpy.eye(4)), Rest()], {{"restarts": 500}})
try:
    job.run({targets!r}, {out!r}, progress=lambda done, rows: print(done, flush=True))
except KeyboardInterrupt:
    print("interrupted", time.process_time(), flush=True)
"""


def read_work(pid: int) -> float:
    """Seconds that all threads of a process have worked: a busy machine makes it wait, not work."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="how much a process has worked is read from /proc")
def test_ctrl_c_ends_a_run_at_once_and_leaves_nothing_half_done(table_job: Path) -> None:
    out = table_job / "out"
    program = INTERRUPTED.format(targets=str(table_job / "targets"), out=str(out))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        sent = read_work(process.pid)
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().splitlines()[-1].split()
    assert last[0] == "interrupted"
    assert float(last[1]) - sent < 0.2 * (os.cpu_count() or 1) + 0.3  # a fifth of a second on every core, and its clock
    assert not [p for p in out.iterdir() if p.name.startswith(".0of")]
    assert (out / ".lock").read_bytes() == b""


# ------------------------------------------------------------------------------------------------ from the shell


def test_shards_from_the_shell_make_one_whole(table_job: Path) -> None:
    job, targets, out = table_job / "job.json", table_job / "targets", table_job / "out"
    both = [start("job", "run", job, targets, out, "--shard", f"{k}/2") for k in (0, 1)]  # at the same time
    told = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert pq.read_table(out)["id"].to_pylist() == list(range(3 * ROWS))
    if not (out / "_manifest.json").exists():  # both ended while the other's last part was not there yet
        Job.load(job).run(targets, out)
    assert json.loads((out / "_manifest.json").read_text())["rows"] == 3 * ROWS


def test_what_is_wrong_is_one_line_and_exit_code_2(table_job: Path) -> None:
    (table_job / "targets" / "broken.parquet").write_bytes(b"no table")
    done = start("job", "run", table_job / "job.json", table_job / "targets", table_job / "out")
    _, said = done.communicate()
    assert done.returncode == 2
    assert said.strip().startswith("poise job run: ")
    assert "broken.parquet" in said
    assert "Traceback" not in said


def test_show_says_what_a_job_is(table_job: Path) -> None:
    shown = start("job", "show", table_job / "job.json")
    told, _ = shown.communicate()
    assert shown.returncode == 0
    assert Job.load(table_job / "job.json").hash in told
    assert "Reach: " in told


# ------------------------------------------------------------------------------------------------ clips


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Walks as files, one of them broken."""
    (tmp_path / "clips" / "more").mkdir(parents=True)
    for k, name in enumerate(("a", "b", "more/c")):
        poise.save(make_walk(40)[k : k + 30], tmp_path / "clips" / f"{name}.bvh")
    (tmp_path / "clips" / "broken.bvh").write_text("HIERARCHY\nROOT hips\n{\n")
    return tmp_path


def test_a_library_is_retargeted_and_broken_clips_are_reported(library: Path) -> None:
    job = Job.retarget(poise.load("humanoid"), suffix=".npz")
    alone = job.run(library / "clips", library / "one", threads=1)
    crew = job.run(library / "clips", library / "two", threads=2)
    for report in (alone, crew):
        assert report.counts == {"done": 3, "failed": 1}
        assert list(report.failed) == ["broken.bvh"]
        assert report.complete
    assert read_bytes(library / "one") == read_bytes(library / "two")
    found = pq.read_table(next((library / "one").glob("*.parquet")))
    assert found["id"].to_pylist() == ["a.bvh", "b.bvh", "broken.bvh", "more/c.bvh"]
    clip = poise.load_motion(library / "one" / "more" / "c.npz")
    assert clip.model == poise.load("humanoid")
    assert np.array_equal(
        clip.q, poise.retarget(poise.load_motion(library / "clips/more/c.bvh"), poise.load("humanoid")).motion.q
    )
    assert job.run(library / "clips", library / "one").done == 1  # the broken one is tried again


def test_the_quality_of_a_library_is_a_table(library: Path) -> None:
    report = Job.quality().run(library / "clips", library / "out", threads=1)
    assert report.counts == {"done": 3, "failed": 1}
    table = pq.read_table(next((library / "out").glob("*.parquet"))).to_pylist()
    own = poise.motion.quality(poise.load_motion(library / "clips" / "a.bvh"))
    assert table[0]["slip_mean"] == own.slip_mean
    assert table[0]["frames"] == 30
    assert table[2]["error"]
    assert table[2]["slip_mean"] is None


def test_the_verb_retarget_takes_a_folder_and_goes_on(library: Path) -> None:
    words = (
        "retarget",
        library / "clips",
        "humanoid",
        "--out",
        library / "out",
        "--suffix",
        ".npz",
        "--threads",
        "1",
        "--json",
    )
    done = start(*words)
    told, said = done.communicate()
    assert done.returncode == 1, said  # one is broken
    assert json.loads(told)["counts"] == {"done": 3, "failed": 1}
    again = start(*words)
    assert json.loads(again.communicate()[0])["skipped"] == 3


def test_the_verb_map_goes_on_from_its_parts(tmp_path: Path) -> None:
    out = tmp_path / "map.npz"
    options: dict[str, Any] = {"spacing": 0.5, "directions": 4, "turns": 2}
    model = poise.load("ur5e")
    job = Job.reach_map(model, "tool0", **options, manipulability=False)
    job.run(None, tmp_path / "map.npz.parts")  # as of a run that was killed before its end
    done = start("map", "ur5e", "--frame", "tool0", "--spacing", "0.5", "--directions", "4", "--turns", "2", "-o", out)
    _, said = done.communicate()
    assert done.returncode == 0, said
    assert not (tmp_path / "map.npz.parts").exists()
    assert np.array_equal(poise.ReachMap.load(out).reached, poise.reach_map(model, "tool0", **options).reached)


def end_itself(*_: Any, **__: Any) -> Any:
    """What a worker does that runs out of memory."""
    os._exit(3)


def test_a_worker_that_ends_is_reported(tmp_path: Path) -> None:
    clips = [Part(f"{k}.bvh", tmp_path / f"{k}.bvh") for k in range(20)]
    with pytest.raises(FormatError, match="a worker process has ended; finished clips are kept"):
        list(pool.map_in_processes(end_itself, clips, 2, Job.quality(), JobFolder(tmp_path)))
