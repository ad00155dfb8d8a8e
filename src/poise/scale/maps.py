"""A reach map as a job: the grid is split into pieces, one part each, and merged into one map at the end.

5f0c9a...-00003.npz        a part: the counts of orientations reached, proved out of reach and tried, per voxel
map.npz                    the complete map, as `poise.save` writes it
_manifest.json             written last
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.batch.maps import MapProblem
from poise.batch.places import MapQuery
from poise.errors import InvalidValue
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats import save
from poise.scale.folder import JobFolder, Receipt, read_shard
from poise.scale.levels import run_at_level
from poise.scale.report import Report

__all__ = ["MAP", "MAP_OPTIONS", "run_map"]

MAP = "map.npz"
MAP_OPTIONS = ("frame", "spacing", "directions", "turns", "axis", "box", "tolerance", "manipulability")
FIELDS = ("numbers", "counts", "best")
POSES = 1 << 19  # per piece: takes one or two seconds on one core


def run_map(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run the job of a reach map; see `Job.run`."""
    if inputs is not None:
        raise InvalidValue(f"a reach map has no input; type job.run(None, {str(out)!r}).")
    begun = time.perf_counter()
    which, count = read_shard(shard)
    folder = JobFolder(out, (which, count))
    with ExitStack() as held:
        held.enter_context(run_at_level(job.device, job.level))
        problem = job.prepare(threads)
        held.enter_context(folder.hold(job.plain_values(), repr(job), {}))
        pieces = {f"{job.hash}-{k:05d}.npz": piece for k, piece in enumerate(split_map(problem.asked))}
        mine = list(pieces)[which::count]
        own = {name: receipt for name in mine if (receipt := folder.find(name)) is not None}
        done = new = 0
        total = sum(pieces[name].rows for name in mine)
        for name in mine:
            if name not in own:
                own[name] = write_part(folder, name, problem, pieces[name], shift(progress, done, total))
                new += pieces[name].rows
            done += pieces[name].rows
            if progress is not None:
                progress(done, total)
        receipts, missing = folder.find_all(pieces, own, folder.find)
        left = sum(pieces[name].rows for name in missing)
        manifest = None if left else finish(job, folder, problem, [receipts[name] for name in pieces])
    seconds = time.perf_counter() - begun
    return Report(
        *(job.hash, folder.path, "poses", new, done - new, left, {"done": done}, seconds),
        manifest=manifest,
        damaged=tuple(folder.damaged),
    )


def split_map(query: MapQuery) -> Iterator[MapQuery]:
    """Yield the query in pieces; their size depends only on the map."""
    for piece in query.cut(POSES):
        yield replace(query, places=query.places[piece], numbers=query.numbers[piece])


def shift(progress: Any, before: int, total: int) -> Any:
    """Return a callback that reports the progress of one piece as progress of the whole map."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def write_part(folder: JobFolder, name: str, problem: MapProblem, piece: MapQuery, progress: Any) -> Receipt:
    """Solve a piece and write its part, which contains only the voxels of the piece."""
    own = replace(piece, numbers=np.arange(len(piece.numbers)), voxels=len(piece.numbers))
    counts, best = problem.solve(own, progress)
    with folder.write(name) as temporary, temporary.open("wb") as sink:
        np.savez(sink, numbers=piece.numbers, counts=counts, best=best)
    return folder.sign(name, {"file": name})


def finish(job: Any, folder: JobFolder, problem: MapProblem, receipts: list[Receipt]) -> Path:
    """Write the map, then the manifest."""
    voxels = problem.asked.voxels
    counts, best = np.zeros((3, voxels), dtype=np.int64), np.zeros(voxels)
    for receipt in receipts:
        part = read_arrays(Source.open(folder.path / receipt["file"]), FIELDS)
        counts[:, part["numbers"]], best[part["numbers"]] = part["counts"], part["best"]
    found: ReachMap = problem.finish(counts, best)
    with folder.write(MAP) as temporary:
        save(found, temporary)
    return folder.write_manifest({"job": job.hash, "poses": problem.asked.rows}, [{"file": MAP}, *receipts])
