"""Jobs: killed at random moments, compared with Ray, and within bounded memory.

    python benchmarks/jobs.py                       # all three; half an hour on two cores
    python benchmarks/jobs.py kills --kills 100
    python benchmarks/jobs.py ray --rows 4000000
    python benchmarks/jobs.py memory --total 100000000 --run 10000000

kills   a job is killed repeatedly with SIGKILL at random moments, then run to its end: its folder must equal that of
        an undisturbed run, byte by byte, with no row duplicated or missing.
ray     the same rows through `job.on_ray` on a local cluster, in batches of a million, against the plain loop over the
        same tables with the same number of threads: from memory to memory, after all processes have started. CPU time
        is that of all processes of Ray together, which other work on the machine disturbs less than the clock.
memory  a job of so many rows is started on files of a million (ten of their own, the others links to them), and a shard
        of them is run; the largest resident memory of its process is printed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shared.command import ROOT, Options, Part, run_command

import poise
from poise.goals import Reach
from poise.scale import Job

ARM, TOOL = "ur5e", "tool0"
GROUP = 1_000_000


def make_targets(rows: int, first: int, seed: int) -> pa.Table:
    """Return reachable positions and rotations of an arm's tool, as flat columns."""
    model = poise.load(ARM)
    T = model.fk(model.random(np.random.default_rng(seed), rows), TOOL)
    wxyz = poise.Rotation.from_matrix(T[:, :3, :3]).wxyz
    columns = {"id": np.arange(first, first + rows), "x": T[:, 0, 3], "y": T[:, 1, 3], "z": T[:, 2, 3]}
    return pa.table(columns | dict(zip(("qw", "qx", "qy", "qz"), wxyz.T, strict=True)))


def make_job() -> Job:
    return Job(ARM, Reach(TOOL, np.eye(4)))


def read_bytes(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# ------------------------------------------------------------------------------------------------ killed


def measure_kills(given: Namespace, folder: Path) -> bool:
    """Kill runs of a job at moments spread evenly over an undisturbed run; each folder is compared when it is whole."""
    rows, files, parts, kills = 5_000, 4, 40, given.kills
    (folder / "in").mkdir()
    for k in range(files):
        pq.write_table(make_targets(rows, k * rows, k), folder / "in" / f"{k}.parquet", row_group_size=500)
    poise.save(make_job(), folder / "job.json")
    seconds = min(time_run(folder, f"whole{k}") for k in range(2))
    whole = read_bytes(folder / "whole0")
    rng, found, same = np.random.default_rng(0), [], True
    lives = 0
    while len(found) < kills:
        out = folder / f"out{lives}"
        with start_nursery(folder, out.name) as nursery:
            ended = -signal.SIGKILL
            while ended:
                run = begin(nursery)
                if len(found) < kills:
                    time.sleep(float(rng.uniform(0.0, seconds)))
                    with suppress(ProcessLookupError):  # it has ended
                        os.kill(run, signal.SIGKILL)
                ended = int(nursery.stdout.readline())
                if ended == -signal.SIGKILL:
                    found.append(len(list(out.glob("*.parquet"))))
            nursery.stdin.close()
        ids = np.sort(pq.read_table(out)["id"].to_numpy())
        same &= read_bytes(out) == whole and np.array_equal(ids, np.arange(rows * files))
        lives += 1
    spread = np.percentile(found, (0, 25, 50, 75, 100)).astype(int).tolist()
    print(
        f"undisturbed {seconds:.2f} s; {len(found)} kills in {lives} jobs, when {', '.join(map(str, spread))} of "
        f"{parts} parts were done (quartiles)"
    )
    print(f"every folder byte-equal to the undisturbed one, each of its {rows * files} rows once: {same}")
    return same


def start_nursery(folder: Path, out: str) -> subprocess.Popen[str]:
    command = [sys.executable, ROOT / "tools" / "job_nursery.py", folder / "job.json", folder / "in", folder / out]
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def begin(nursery: subprocess.Popen[str]) -> int:
    nursery.stdin.write("go\n")
    nursery.stdin.flush()
    return int(nursery.stdout.readline())


def time_run(folder: Path, out: str) -> float:
    with start_nursery(folder, out) as nursery:
        begin(nursery)
        begun = time.perf_counter()
        assert int(nursery.stdout.readline()) == 0
        nursery.stdin.close()
        return time.perf_counter() - begun


# ------------------------------------------------------------------------------------------------ Ray


def measure_ray(given: Namespace) -> bool:
    """Compare the CPU and wall time of rows through Ray with the plain loop."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray.data

    job, rows, rounds = make_job(), given.rows, given.rounds
    tables = [make_targets(GROUP, k * GROUP, k) for k in range(rows // GROUP)]
    work = job.prepare(threads=1)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2_000_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_arrow(tables).materialize()
    plain, through = [], []
    for _ in range(rounds):
        begun, used = time.perf_counter(), time.process_time()
        for table in tables:
            for first in range(0, GROUP, 1 << 18):
                work.compute(table.slice(first, 1 << 18), "")
        plain.append((time.perf_counter() - begun, time.process_time() - used))
        stamps = []  # the first batch waits for processes to start: it is left out
        for batch in job.on_ray(dataset, concurrency=1).iter_batches(batch_size=None, batch_format="pyarrow"):
            stamps.append((time.perf_counter(), count_cpu(), batch.num_rows))
        assert sum(count for *_, count in stamps) == rows
        share = len(tables) / (len(stamps) - 1)
        through.append(tuple((stamps[-1][k] - stamps[0][k]) * share for k in (0, 1)))
        print(
            f"{rows:,} rows: plain loop {plain[-1][0]:.1f} s, {plain[-1][1]:.1f} s CPU; through Ray "
            f"{through[-1][0]:.1f} s, {through[-1][1]:.1f} s CPU",
            flush=True,
        )
    ray.shutdown()
    clock, cost = (min(x[k] for x in through) / min(x[k] for x in plain) - 1.0 for k in (0, 1))
    print(
        f"Ray costs {100.0 * cost:+.1f} % CPU time over the plain loop, {100.0 * clock:+.1f} % by the clock (best of "
        f"{rounds} each, one thread, {GROUP:,} rows a batch)"
    )
    return cost <= 0.10


def count_cpu() -> float:
    """Return the CPU time of all processes of Ray, and of this one [s]; Linux only."""
    total = time.process_time()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "cmdline").read_bytes()
            if b"ray::" in name or b"raylet" in name or b"gcs_server" in name or b"/ray/" in name:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue  # it has ended
    return total


# ------------------------------------------------------------------------------------------------ memory


RUN = """
import json, resource, sys, time, poise
begun = time.perf_counter()
job = poise.scale.Job.load(sys.argv[1])
first = []
tell = lambda *_: first.append(time.perf_counter())
report = job.run(sys.argv[2], sys.argv[3], shard=sys.argv[4], progress=tell)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform != "darwin" else 1 << 30)
print(json.dumps({"start": first[0] - begun, "peak": peak, **report.to_dict()}))
"""


def measure_memory(given: Namespace, folder: Path) -> bool:
    """Start a job of many rows, and run some of them."""
    rows, run = given.total, given.run
    (folder / "in").mkdir()
    made = [folder / "in" / f"{k:04d}.parquet" for k in range(rows // GROUP)]
    for k, path in enumerate(made):  # ten files of their own, and links to them
        if k < 10:
            pq.write_table(make_targets(GROUP, k * GROUP, k), path, row_group_size=GROUP)
        else:
            os.link(made[k % 10], path)
    poise.save(make_job(), folder / "job.json")
    command = [sys.executable, "-c", RUN, folder / "job.json", folder / "in", folder / "out", f"0/{rows // run}"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"a job of {rows:,} rows begins after {found['start']:.1f} s; {found['done']:,} of them in "
        f"{found['seconds']:.0f} s ({found['done'] / found['seconds']:,.0f} a second), {found['left']:,} left; at most "
        f"{found['peak']:.2f} GB of memory"
    )
    return found["done"] == run and found["peak"] < 2.0


def measure_in_folder(work: Callable[[Namespace, Path], bool], given: Namespace) -> bool:
    """Run a measurement in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        return work(given, Path(folder))


OPTIONS: Options = {
    "kills": (100, "how many kills"),
    "rows": (4 * GROUP, "rows through Ray"),
    "rounds": (3, "rounds of Ray and of the plain loop"),
    "total": (100 * GROUP, "rows of the job whose memory is measured"),
    "run": (10 * GROUP, "rows of it that are run"),
}

if __name__ == "__main__":
    kills, memory = (Part(partial(measure_in_folder, work)) for work in (measure_kills, measure_memory))
    run_command(__doc__, {"kills": kills, "ray": Part(measure_ray), "memory": memory}, OPTIONS, ["ray", "pyarrow"])
