"""Runs of a job on rows: finished parts are kept, missing ones are computed, and the manifest is written last."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.folder import JobFolder, Receipt, read_shard
from poise.scale.inputs import RowGroup, hash_row_group, list_inputs, list_row_groups, list_rows
from poise.scale.levels import run_at_level
from poise.scale.report import Report
from poise.scale.tables import write_part

__all__ = ["run_rows"]


class Tally:
    """The progress and row counts of a run.

    Args:
        total: The number of rows of this run.
        progress: Called with (done, total).
    """

    def __init__(self, total: int, progress: Any) -> None:
        self.total, self.before, self.new, self.progress = total, 0, 0, progress
        self.counts: dict[str, int] = {}

    def tick(self, more: int = 0) -> None:
        """Report `more` rows done within the current piece."""
        if self.progress is not None:
            self.progress(self.before + more, self.total)

    def add(self, facts: dict[str, Any], *, new: bool) -> None:
        """Add a finished piece to the counts."""
        self.before += facts["rows"]
        self.new += facts["rows"] if new else 0
        for name, number in facts["counts"].items():
            self.counts[name] = self.counts.get(name, 0) + number
        self.tick()


def run_rows(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run a job on the rows of tables; see `Job.run`."""
    begun = time.perf_counter()
    which, count = read_shard(shard)
    pieces = list_row_groups(list_inputs(inputs))
    with run_at_level(job.device, job.level):
        work = job.prepare(threads)
        check_columns(pieces, work)
        parts = name_parts(job.hash, pieces)
        mine = list(parts)[which::count]
        folder = JobFolder(out, (which, count))
        failed: dict[str, str] = {}
        with folder.hold(job.plain_values(), repr(job), list_rows(pieces)):
            own = {name: found for name in mine if (found := find_part(folder, name, parts[name])) is not None}
            tally = Tally(sum(parts[name].rows for name in mine), progress)
            tally.tick()
            for name in mine:
                piece, new = parts[name], name not in own
                if new:
                    try:
                        own[name] = write_part(folder, name, piece, work, list_facts(job.hash, piece), tally.tick)
                    except FormatError as error:
                        if error.path != str(piece.input.path):
                            raise
                        failed[f"{piece.input.name}, row group {piece.group}"] = error.message
                        continue
                tally.add(own[name], new=new)
            receipts, missing = folder.find_all(parts, own, lambda name: find_part(folder, name, parts[name]))
            left = sum(parts[name].rows for name in missing)
            manifest = None if left or failed else write_manifest(folder, job.hash, receipts)
    if failed:
        raise FormatError(describe_failures(failed, tally.new), str(inputs))
    skipped = tally.before - tally.new
    seconds = time.perf_counter() - begun
    counts = dict(sorted(tally.counts.items()))
    return Report(
        *(job.hash, folder.path, "rows", tally.new, skipped, left, counts, seconds),
        manifest=manifest,
        damaged=tuple(folder.damaged),
    )


def describe_failures(failed: dict[str, str], done: int) -> str:
    """Return a message that lists the unreadable inputs and states that the rest is done."""
    reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
    return f"{reasons} The rest of this run is done ({done} rows) and kept."


# ------------------------------------------------------------------------------------------------ parts


def list_facts(job: str, piece: RowGroup) -> dict[str, Any]:
    """Return the facts that identify a part: its job, its input and the input's hash."""
    words = {"job": job, "input": piece.input.name, "group": piece.group}
    return words | {"fingerprint": hash_row_group(piece)}


def name_parts(job: str, pieces: Sequence[RowGroup]) -> dict[str, RowGroup]:
    """Map part names (the job's hash, the input, the row group) to row groups.

    Raises:
        InvalidValue: Two parts would have the same name.
    """
    out: dict[str, RowGroup] = {}
    for piece in pieces:
        other = out.setdefault(f"{job}-{piece.stem}.parquet", piece)
        if other is not piece:
            raise InvalidValue(f"{other.input.name!r} and {piece.input.name!r} would have the same part: rename one.")
    return out


def check_columns(pieces: Sequence[RowGroup], work: Any) -> None:
    """Check that all tables have the needed columns, before anything is computed.

    Raises:
        FormatError: A table lacks a column of the work, or only some tables have an id.
    """
    files = {piece.input.path: piece for piece in pieces}
    for path, piece in files.items():
        work.list_columns(piece.columns, str(path))
    with_id = [str(path) for path, piece in files.items() if "id" in piece.columns]
    without = [str(path) for path, piece in files.items() if "id" not in piece.columns]
    if with_id and without:
        raise FormatError(f"has no column 'id', and {with_id[0]} has one: all files have it, or none.", without[0])


def find_part(folder: JobFolder, name: str, piece: RowGroup) -> Receipt | None:
    """Return the receipt of a part, or None if it is missing or damaged.

    Raises:
        InvalidValue: The input has changed since the part was written.
    """
    if (receipt := folder.find(name)) is not None and receipt["fingerprint"] != hash_row_group(piece):
        raise folder.make_changed(piece.input.path, name)
    return receipt


def write_manifest(folder: JobFolder, job: str, receipts: dict[str, Receipt]) -> Any:
    """Write the manifest of a job."""
    tally = Tally(0, None)
    for receipt in receipts.values():
        tally.add(receipt, new=True)
    keys = ("file", "input", "group", "rows", "bytes", "sha256")
    parts = [{key: receipt[key] for key in keys} for _, receipt in sorted(receipts.items())]
    facts = {"job": job, "rows": tally.new, "counts": dict(sorted(tally.counts.items()))}
    return folder.write_manifest(facts, parts)
