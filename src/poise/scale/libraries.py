"""Runs of a job on a library of clips: one receipt per clip, and a table of all figures at the end.

    walks/a.csv                        the result for walks/a.bvh (retargeting)
    _parts/walks/a.bvh.json            its receipt with its figures, written when the clip is done
    clips.parquet                      all figures, one row per clip: id, error, frames, slip_mean, ...
    _manifest.json                     written last

The `error` column has the reason if a clip cannot be read; the clip is skipped, and the next run retries it.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from poise.batch.solver import count_cores, read_count
from poise.errors import FormatWarning
from poise.motion import Quality
from poise.scale.folder import JobFolder, Receipt, measure, read_shard
from poise.scale.inputs import Input, list_inputs, load_parquet
from poise.scale.levels import run_at_level
from poise.scale.report import Report
from poise.scale.worker_pool import do_clips

__all__ = ["CLIPS", "run_clips"]

CLIPS = (".bvh", ".glb", ".gltf", ".vrm", ".csv", ".npz", ".parquet")
TEXTS = ("id", "error", "file")


def run_clips(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run a job on clips; see `Job.run`."""
    begun = time.perf_counter()
    load_parquet()
    which, count = read_shard(shard)
    workers = count_cores() if threads is None else read_count("threads", threads, 4096)
    clips = {each.name: each for each in list_inputs(inputs, CLIPS)}
    mine = list(clips)[which::count]
    folder = JobFolder(out, (which, count))
    with run_at_level(job.device, job.level), folder.hold(job.plain_values(), repr(job), {name: [1] for name in clips}):
        missing = [name for name in mine if find_clip(folder, clips[name]) is None]
        there = len(mine) - len(missing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # the body's notes repeat these warnings
            doing = do_clips(job, folder, [clips[name] for name in missing], min(workers, len(missing)))
            for number, _ in enumerate(doing, there + 1):
                if progress is not None:
                    progress(number, len(mine))
        find = partial(find_clip, folder, failed=True)
        done = {name: record for name in mine if (record := find(clips[name])) is not None}
        records, left = folder.find_all(clips, done, lambda name: find(clips[name]))
        manifest = None if left else finish(job, folder, [records[name] for name in clips])
    own = list(done.values())
    failed = {record["id"]: record["error"] for record in own if record["error"]}
    counts = {"done": len(own) - len(failed)} | ({"failed": len(failed)} if failed else {})
    seconds = time.perf_counter() - begun
    figures = {
        record["id"]: {key: record.get(key) for key in Quality.__dataclass_fields__}
        for record in own
        if not record["error"]
    }
    return Report(
        *(job.hash, folder.path, "clips", len(missing), there, len(left), counts, seconds),
        *(failed, manifest, figures, tuple(folder.damaged)),
    )


def find_clip(folder: JobFolder, clip: Input, *, failed: bool = False) -> Receipt | None:
    """Return the receipt of a clip, or None if it is missing or damaged. By default also None if the clip failed.

    Raises:
        InvalidValue: The clip has changed since its receipt was written.
    """
    receipt = folder.find(clip.name)
    if receipt is None or (receipt["error"] and not failed):
        return None
    if receipt["fingerprint"] != measure(clip.path)["sha256"]:
        raise folder.make_changed(clip.path, clip.name)
    return receipt


def finish(job: Any, folder: JobFolder, records: list[Receipt]) -> Path:
    """Write the table of all figures, then the manifest."""
    pyarrow, door = load_parquet()
    names = [*TEXTS, *Quality.__dataclass_fields__]
    kinds = {name: pyarrow.string() if name in TEXTS else pyarrow.float64() for name in names} | {
        "frames": pyarrow.int64()
    }
    columns = [pyarrow.array([record.get(name) for record in records], kinds[name]) for name in names]
    table = "clips.parquet"
    with folder.write(table) as temporary:
        door.write_table(pyarrow.Table.from_arrays(columns, names=names), str(temporary), compression="none")
    keys = {"file": "file", "input": "id", "bytes": "bytes", "sha256": "sha256"}
    parts = [{key: record[own] for key, own in keys.items()} for record in records if record["file"]]
    good = sum(not record["error"] for record in records)
    counts = {"done": good} | ({"failed": len(records) - good} if good < len(records) else {})
    return folder.write_manifest({"job": job.hash, "clips": len(records), "counts": counts}, [{"file": table}, *parts])
