"""Runs of a job: finished parts are kept, missing ones are computed, and the manifest is written last."""

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.folder import JobFolder, Record, read_shard
from poise.scale.inputs import Part
from poise.scale.report import Report

__all__ = ["Made", "Plan", "Tick", "run_job"]

Tick = Callable[[int], Any]  # called with the rows done within the current part
Made = Generator[Record, None, None]


class Plan:
    """The parts of a job, and how to make them.

    Attributes:
        unit: The unit of the counts: "rows", "clips" or "poses".
        inputs: The row counts of the row groups of each input file, by name.
        parts: The parts by name, in order.
        failed: The inputs that could not be read, with the reason.
    """

    unit = "rows"

    def __init__(self) -> None:
        self.inputs: dict[str, list[int]] = {}
        self.parts: dict[str, Part] = {}
        self.failed: dict[str, str] = {}

    def make(self, folder: JobFolder, names: Sequence[str], tick: Tick) -> Made:
        """Make parts; yield the record of each when its file is written. Inputs that cannot be read are skipped."""
        raise NotImplementedError

    def finish(self, folder: JobFolder, records: Sequence[Record]) -> list[str]:
        """Write the files that need all parts; return their names."""
        return []


def run_job(
    job: Any,
    claim: dict[str, Any],
    make_plan: Callable[..., Plan],
    inputs: Any,
    out: Any,
    shard: Any,
    threads: int | None,
    progress: Any,
) -> Report:
    """Make the missing parts of a shard, and the manifest if those of all others are there; see `Job.run`.

    The folder belongs to `claim`: the job as plain values, and the instruction level.
    """
    begun = time.perf_counter()
    which, count = read_shard(shard)
    plan = make_plan(job, inputs, threads)
    folder, parts = JobFolder(out, (which, count)), plan.parts
    mine = list(parts)[which::count]
    total = sum(parts[name].rows for name in mine)

    def tick(more: int = 0) -> None:
        if progress is not None:
            progress(done + more, total)

    with folder.hold(claim | {"inputs": plan.inputs}, repr(job)):
        there = find_records(folder, {name: parts[name] for name in mine})
        own = {name: record for name, record in there.items() if not record.get("error")}  # others are tried again
        done = skipped = sum(record["rows"] for record in own.values())
        tick()
        with closing(plan.make(folder, [name for name in mine if name not in own], tick)) as made:
            for record in made:
                folder.add(record)
                own[record["part"]] = record
                done += record["rows"]
                tick()
        missing, records = find_missing(folder, parts, own)
        manifest = None
        if not missing:
            every = [records[name] for name in parts]
            facts = {"job": job.hash, plan.unit: sum(part.rows for part in parts.values())}
            facts["counts"] = count_outcomes(every)
            manifest = folder.write_manifest(facts, plan.finish(folder, every), every)
    if plan.failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in plan.failed.items())
        rest = f"The rest of this run is done ({done - skipped} {plan.unit}) and kept."
        raise FormatError(f"{reasons} {rest}", str(inputs))
    ended = [own[name] for name in mine]
    return Report(
        *(job.hash, folder.path, plan.unit, done - skipped, skipped, sum(parts[name].rows for name in missing)),
        *(count_outcomes(ended), time.perf_counter() - begun),
        failed={record["part"]: record["error"] for record in ended if record.get("error")},
        manifest=manifest,
        figures={record["part"]: record["figures"] for record in ended if record.get("figures")},
        damaged=tuple(folder.damaged),
    )


def find_records(folder: JobFolder, parts: Mapping[str, Part]) -> dict[str, Record]:
    """Return the records of finished parts.

    Raises:
        InvalidValue: An input has changed since its part was made.
    """
    records = folder.read_records()
    found = {name: records[name] for name in parts if folder.is_whole(name, records.get(name))}
    for name in [name for name, record in found.items() if record["fingerprint"] != parts[name].fingerprint()]:
        if not (record := found.pop(name)).get("error"):
            again = f"; or remove {str(folder.path / record['file'])!r}, and it is made again" if record["file"] else ""
            raise InvalidValue(
                f"{parts[name].where!r} has changed since {name!r} was made from it: give another folder{again}. "
                "Nothing was changed."
            )
    return found


def find_missing(
    folder: JobFolder, parts: Mapping[str, Part], own: dict[str, Record]
) -> tuple[list[str], dict[str, Record]]:
    """Return the names of missing parts, and the records of the others.

    The parts of other shards are only checked if each has a record.
    """
    others = {name: part for name, part in parts.items() if name not in own}
    named = folder.read_records() if others else {}
    if missing := [name for name in others if name not in named]:
        return missing, own
    records = own | find_records(folder, others)
    return [name for name in parts if name not in records], records


def count_outcomes(records: Iterable[Record]) -> dict[str, int]:
    """Return the sum of the counts of parts, by outcome."""
    counts = Counter[str]()
    for record in records:
        counts.update(record["counts"])
    return dict(sorted(counts.items()))
