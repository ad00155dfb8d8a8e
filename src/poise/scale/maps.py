"""A reach map as a job: the grid is split into pieces, one part each, and merged into one map at the end.

5f0c9a...-00003.npz        a part: the counts of orientations reached, proved out of reach and tried, per voxel
map.npz                    the complete map, as `poise.save` writes it
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.batch.maps import MapProblem
from poise.errors import InvalidValue
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats import save
from poise.scale.folder import JobFolder, Record
from poise.scale.inputs import Part
from poise.scale.run import Made, Plan, Tick

__all__ = ["MAP", "MAP_OPTIONS", "MapPlan"]

MAP = "map.npz"
MAP_OPTIONS = ("frame", "spacing", "directions", "turns", "axis", "box", "tolerance", "manipulability")
FIELDS = ("numbers", "counts", "best")
POSES = 1 << 19  # per piece: takes one or two seconds on one core


class MapPlan(Plan):
    """The job of a reach map; see `Plan`."""

    unit = "poses"

    def __init__(self, job: Any, inputs: Any, threads: int | None) -> None:
        super().__init__()
        if inputs is not None:
            raise InvalidValue('a reach map has no input; type job.run(None, "out/").')
        self.problem: MapProblem = job.prepare(threads)
        query = self.problem.asked
        pieces = (replace(query, places=query.places[k], numbers=query.numbers[k]) for k in query.cut(POSES))
        self.pieces = {f"{job.hash}-{k:05d}.npz": piece for k, piece in enumerate(pieces)}
        self.parts = {name: Part("", Path(), piece.rows) for name, piece in self.pieces.items()}

    def make(self, folder: JobFolder, names: Sequence[str], tick: Tick) -> Made:
        """Solve pieces one after another; a part contains only the voxels of its piece."""
        for name in names:
            piece = self.pieces[name]
            own = replace(piece, numbers=np.arange(len(piece.numbers)), voxels=len(piece.numbers))
            counts, best = self.problem.solve(own, lambda done, _: tick(done))
            with folder.write(name) as temporary, temporary.open("wb") as sink:
                np.savez(sink, numbers=piece.numbers, counts=counts, best=best)
            facts = {"rows": piece.rows, "fingerprint": self.parts[name].fingerprint(), "counts": {"done": piece.rows}}
            yield folder.make_record(name, name, facts)

    def finish(self, folder: JobFolder, records: Sequence[Record]) -> list[str]:
        """Write the map."""
        voxels = self.problem.asked.voxels
        counts, best = np.zeros((3, voxels), dtype=np.int64), np.zeros(voxels)
        for record in records:
            part = read_arrays(Source.open(folder.path / record["file"]), FIELDS)
            counts[:, part["numbers"]], best[part["numbers"]] = part["counts"], part["best"]
        found: ReachMap = self.problem.finish(counts, best)
        with folder.write(MAP) as temporary:
            save(found, temporary)
        return [MAP]
