"""Jobs in processes of their own: killed at any moment, interrupted, and run from the shell."""

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
from job_cases import make_poses, pq, read_bytes, write_table
from paths import ROOT
from poise.errors import FormatError
from poise.goals import Reach
from poise.scale import Job, pool
from poise.scale.folder import JobFolder
from poise.scale.inputs import Part
from walks import make_walk

pytest.importorskip("typer")

pytestmark = pytest.mark.slow

POISE = [sys.executable, "-m", "poise.cli"]
ROWS = 4000


def run_poise(*words: Any) -> tuple[int | None, str, str]:
    """Run a command to its end; return the exit code, the output and the errors."""
    done = subprocess.run([*POISE, *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def table_job(tmp_path: Path) -> Path:
    """A folder with a job, and targets in three files, in row groups of 500."""
    for k in range(3):
        ids = np.arange(k * ROWS, (k + 1) * ROWS)
        write_table(tmp_path / "targets" / f"{k}.parquet", 500, id=ids, **make_poses(ROWS, k))
    poise.save(Job("ur5e", Reach("tool0", np.eye(4))), tmp_path / "job.json")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
def test_killed_again_and_again_the_bytes_are_those_of_an_undisturbed_run(table_job: Path) -> None:
    job, targets, out = table_job / "job.json", table_job / "targets", table_job / "out"
    command = [sys.executable, ROOT / "tools" / "job_nursery.py", job, targets, out]
    nursery = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    rng, ends = np.random.default_rng(0), [1]
    with nursery:
        while ends[-1] and len(ends) <= 40:
            nursery.stdin.write("go\n")
            nursery.stdin.flush()
            run = int(nursery.stdout.readline())
            if len(ends) <= 20:
                time.sleep(float(rng.uniform(0.0, 0.1)))
                with suppress(ProcessLookupError):  # it has ended
                    os.kill(run, signal.SIGKILL)
            ends.append(int(nursery.stdout.readline()))
        nursery.stdin.close()
    assert ends.count(-signal.SIGKILL) >= 10
    assert ends[-1] == 0
    assert Job.load(job).run(targets, table_job / "whole").complete
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
    words = [[*POISE, "job", "run", *map(str, (job, targets, out)), "--shard", f"{k}/2"] for k in (0, 1)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in words]  # at the same time
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert pq.read_table(out)["id"].to_pylist() == list(range(3 * ROWS))
    if not (out / "_manifest.json").exists():  # both ended while the other's last part was not there yet
        Job.load(job).run(targets, out)
    assert json.loads((out / "_manifest.json").read_text())["rows"] == 3 * ROWS


def test_what_is_wrong_is_one_line_and_exit_code_2(table_job: Path) -> None:
    (table_job / "targets" / "broken.parquet").write_bytes(b"no table")
    code, _, said = run_poise("job", "run", table_job / "job.json", table_job / "targets", table_job / "out")
    assert code == 2
    assert said.strip().startswith("poise job run: ")
    assert "broken.parquet" in said
    assert "Traceback" not in said


def test_show_says_what_a_job_is(table_job: Path) -> None:
    code, shown, _ = run_poise("job", "show", table_job / "job.json")
    assert code == 0
    assert Job.load(table_job / "job.json").hash in shown
    assert "Reach: " in shown


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
    human, clips = poise.load("humanoid"), library / "clips"
    job = Job.retarget(human, suffix=".npz")
    reports = [job.run(clips, library / f"out{threads}", threads=threads) for threads in (1, 2)]
    assert [report.counts for report in reports] == [{"done": 3, "failed": 1}] * 2
    assert all(list(report.failed) == ["broken.bvh"] and report.complete for report in reports)
    assert read_bytes(library / "out1") == read_bytes(library / "out2")
    found = pq.read_table(library / "out1" / "clips.parquet")
    assert found["id"].to_pylist() == ["a.bvh", "b.bvh", "broken.bvh", "more/c.bvh"]
    clip = poise.load_motion(library / "out1" / "more" / "c.npz")
    assert clip.model == human
    assert np.array_equal(clip.q, poise.retarget(poise.load_motion(clips / "more/c.bvh"), human).motion.q)
    assert job.run(clips, library / "out1").done == 1  # the broken one is tried again
    (clips / "broken.bvh").write_bytes((clips / "a.bvh").read_bytes())
    mended = job.run(clips, library / "out1")
    assert (mended.counts, mended.failed, mended.skipped) == ({"done": 4}, {}, 3)


UNGUARDED = """
import sys, poise
print("a script of its own", flush=True)
job = poise.scale.Job.retarget("humanoid", suffix=".npz")
job.run(sys.argv[1], sys.argv[2], threads=2, progress=lambda done, clips: print(done, flush=True))
"""


def test_a_script_without_a_guard_runs_once_and_its_processes_end_with_it(library: Path) -> None:
    for k in range(6):
        poise.save(make_walk(40)[k : k + 30], library / "clips" / f"{k}.bvh")
    script = library / "script.py"
    script.write_text(UNGUARDED)
    command = [sys.executable, str(script), str(library / "clips"), str(library / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert [process.stdout.readline() for _ in range(3)] == ["a script of its own\n", "0\n", "1\n"]
        process.kill()
        process.stdout.read()  # ends: with the last process that can write there
    report = Job.retarget("humanoid", suffix=".npz").run(library / "clips", library / "out", threads=1)
    assert report.complete
    assert report.skipped >= 1


def test_the_quality_of_a_library_is_a_table(library: Path) -> None:
    report = Job.quality().run(library / "clips", library / "out", threads=1)
    assert report.counts == {"done": 3, "failed": 1}
    table = pq.read_table(library / "out" / "clips.parquet").to_pylist()
    own = poise.motion.quality(poise.load_motion(library / "clips" / "a.bvh"))
    assert (table[0]["slip_mean"], table[0]["frames"]) == (own.slip_mean, 30)
    assert table[2]["error"]
    assert table[2]["slip_mean"] is None


def test_the_verb_retarget_takes_a_folder_and_goes_on(library: Path) -> None:
    words = ["retarget", library / "clips", "humanoid", "--out", library / "out", "--suffix", ".npz", "--json"]
    code, output, said = run_poise(*words, "--threads", "1")
    assert code == 1, said  # one is broken
    assert json.loads(output)["counts"] == {"done": 3, "failed": 1}
    assert json.loads(run_poise(*words, "--threads", "1")[1])["skipped"] == 3


def test_the_verb_map_goes_on_from_its_parts(tmp_path: Path) -> None:
    out = tmp_path / "map.npz"
    options: dict[str, Any] = {"spacing": 0.5, "directions": 4, "turns": 2}
    model = poise.load("ur5e")
    job = Job.reach_map(model, "tool0", **options, manipulability=False)
    job.run(None, tmp_path / "map.npz.parts")  # as of a run that was killed before its end
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    code, _, said = run_poise("map", "ur5e", "--frame", "tool0", *words, "-o", out)
    assert code == 0, said
    assert not (tmp_path / "map.npz.parts").exists()
    assert np.array_equal(poise.ReachMap.load(out).reached, poise.reach_map(model, "tool0", **options).reached)


def end_itself(*_: Any, **__: Any) -> Any:
    """What a worker does that runs out of memory."""
    os._exit(3)


def test_a_worker_that_ends_is_reported(tmp_path: Path) -> None:
    clips = [Part(f"{k}.bvh", tmp_path / f"{k}.bvh") for k in range(20)]
    with pytest.raises(FormatError, match="a worker process has ended; finished clips are kept"):
        list(pool.map_in_processes(end_itself, clips, 2, Job.quality(), JobFolder(tmp_path)))
