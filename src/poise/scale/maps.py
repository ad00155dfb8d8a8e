"""A reach map as a job: pieces of the grid, a part each, and one map at the end.

5f0c9a...-00003.npz        a part: how many orientations of its voxels are reached, proved, asked
map.npz                    the whole map, as `poise.save` writes it
_manifest.json             last
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
from poise.batch.places import Asked
from poise.errors import FormatError, InvalidValue
from poise.formats import save
from poise.formats.npz import read_arrays
from poise.formats.source import Source
from poise.scale.folder import Folder, read_shard
from poise.scale.levels import run_at_level
from poise.scale.report import Report

__all__ = ["MAP", "MAP_OPTIONS", "run_map"]

MAP = "map.npz"
MAP_OPTIONS = ("frame", "spacing", "directions", "turns", "axis", "box", "tolerance", "manipulability")
POSES = 1 << 19  # of a piece: a second or two on one core
FIELDS = ("numbers", "counts", "best")


def run_map(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run a job of a reach map; see Job.run."""
    if inputs is not None:
        raise InvalidValue(f"a reach map has no input; type job.run(None, {str(out)!r}).")
    begun = time.perf_counter()
    which, count = read_shard(shard)
    folder = Folder(out, (which, count))
    with ExitStack() as held:
        held.enter_context(run_at_level(job.device, job.level))
        problem = job.prepare(threads)
        held.enter_context(folder.hold(job.to_json(), repr(job)))
        pieces = {f"{job.hash}-{k:05d}.npz": piece for k, piece in enumerate(cut(problem.asked))}
        mine = list(pieces)[which::count]
        done = new = 0
        total = sum(pieces[name].rows for name in mine)
        for name in mine:
            if read_part(folder, name) is None:
                write_part(folder, name, problem, pieces[name], shift(progress, done, total))
                new += pieces[name].rows
            done += pieces[name].rows
            if progress is not None:
                progress(done, total)
        left = sum(piece.rows for name, piece in pieces.items() if not folder.has(name))
        manifest = None if left else finish(job, folder, problem, list(pieces))
    seconds = time.perf_counter() - begun
    return Report(job.hash, folder.path, "poses", new, done - new, left, {"done": done}, seconds, manifest=manifest)


def cut(asked: Asked) -> Iterator[Asked]:
    """Yield what is asked in pieces; their size depends on nothing but the map."""
    for piece in asked.cut(POSES):
        yield replace(asked, places=asked.places[piece], numbers=asked.numbers[piece])


def shift(progress: Any, before: int, total: int) -> Any:
    """Report the progress of one piece as the progress of all."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def write_part(folder: Folder, name: str, problem: MapProblem, piece: Asked, progress: Any) -> None:
    """Solve a piece and write its part: only its own voxels, so that memory and parts stay small."""
    own = replace(piece, numbers=np.arange(len(piece.numbers)), voxels=len(piece.numbers))
    counts, best = problem.solve(own, progress)
    with folder.write(name) as temporary, temporary.open("wb") as sink:
        np.savez(sink, numbers=piece.numbers, counts=counts, best=best)


def read_part(folder: Folder, name: str) -> dict[str, Any] | None:
    """Return the arrays of a part; None if it is not there, or damaged."""
    try:
        arrays = read_arrays(Source.open(folder.path / name), FIELDS)
    except FormatError:
        return None
    return arrays if len(arrays) == len(FIELDS) else None


def finish(job: Any, folder: Folder, problem: MapProblem, names: list[str]) -> Path:
    """Write the map, then the manifest."""
    voxels = problem.asked.voxels
    counts, best = np.zeros((3, voxels), dtype=np.int64), np.zeros(voxels)
    for name in names:
        part = read_part(folder, name)
        if part is None:
            raise InvalidValue(f"{str(folder.path / name)!r} is damaged; run the job again, and it is made again.")
        counts[:, part["numbers"]], best[part["numbers"]] = part["counts"], part["best"]
    found: ReachMap = problem.finish(counts, best)
    with folder.write(MAP) as temporary:
        save(found, temporary)
    parts = [{"file": MAP}, *({"file": name} for name in names)]
    return folder.write_manifest({"job": job.hash, "poses": problem.asked.rows}, parts)
