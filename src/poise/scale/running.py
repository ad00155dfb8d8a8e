"""A run of a job on this machine: what is there is left, what is missing is done, and the manifest comes last."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.folder import Folder, read_shard
from poise.scale.inputs import Piece, list_inputs, list_row_groups
from poise.scale.levels import run_at_level
from poise.scale.report import Report
from poise.scale.tables import read_facts, write_part

__all__ = ["run_rows"]


class Tally:
    """How far a run is.

    Args:
        total: Of the pieces of this run.
        progress: Called with (done, total).
    """

    def __init__(self, total: int, progress: Any) -> None:
        self.total, self.before, self.new, self.progress = total, 0, 0, progress
        self.counts: dict[str, int] = {}

    def tick(self, more: int = 0) -> None:
        """Tell that so much of the piece at hand is done."""
        if self.progress is not None:
            self.progress(self.before + more, self.total)

    def add(self, facts: dict[str, Any], *, new: bool) -> None:
        """Count a piece that is done."""
        self.before += facts["rows"]
        self.new += facts["rows"] if new else 0
        for name, number in facts["counts"].items():
            self.counts[name] = self.counts.get(name, 0) + number
        self.tick()


def run_rows(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run a job on the rows of tables; see Job.run."""
    begun = time.perf_counter()
    which, count = read_shard(shard)
    pieces = list_row_groups(list_inputs(inputs))
    mine = pieces[which::count]
    with run_at_level(job.device, job.level):
        work = job.prepare(threads)
        check_columns(pieces, work)
        names = name_parts(job.hash, pieces)
        folder = Folder(out, (which, count))
        failed: dict[str, str] = {}
        with folder.hold(job.to_json(), repr(job)):
            refuse_strangers(folder, job.hash, pieces, names)
            tally = Tally(sum(piece.rows for piece in mine), progress)
            tally.tick()
            for piece in mine:
                facts = find_part(folder, names[piece], piece)
                new = facts is None
                if facts is None:
                    try:
                        facts = write_part(folder, names[piece], piece, work, state(job.hash, piece), tally.tick)
                    except FormatError as error:
                        if error.path != str(piece.input.path):
                            raise
                        failed[f"{piece.input.name}, row group {piece.group}"] = error.message
                        continue
                tally.add(facts, new=new)
            left = sum(piece.rows for piece in pieces if not folder.has(names[piece]))
            manifest = write_manifest(folder, job.hash) if not left and not failed else None
    if failed:
        raise FormatError(tell_failed(failed, tally.new), str(inputs))
    skipped = tally.before - tally.new
    seconds = time.perf_counter() - begun
    counts = dict(sorted(tally.counts.items()))
    return Report(job.hash, folder.path, "rows", tally.new, skipped, left, counts, seconds, manifest=manifest)


def tell_failed(failed: dict[str, str], done: int) -> str:
    """Say what could not be read, and that the rest is done."""
    told = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
    return f"{told} All else of this run is done ({done} rows), and stays."


# ------------------------------------------------------------------------------------------------ what is there


def state(job: str, piece: Piece) -> dict[str, Any]:
    """Return what a part says of itself: whose it is, and of which input."""
    number = None if "id" in piece.columns else piece.first
    words = {"job": job, "input": piece.input.name, "group": piece.group}
    return words | {"first": number, "fingerprint": piece.fingerprint}


def name_parts(job: str, pieces: Sequence[Piece]) -> dict[Piece, str]:
    """Name the part of each piece: the job's hash, the input, the row group.

    Raises:
        InvalidValue: Two would have the same name.
    """
    out = {piece: f"{job}-{piece.stem}.parquet" for piece in pieces}
    owners: dict[str, Piece] = {}
    for piece, name in out.items():
        other = owners.setdefault(name, piece)
        if other is not piece:
            raise InvalidValue(f"{other.input.name!r} and {piece.input.name!r} would have the same part: rename one.")
    return out


def check_columns(pieces: Sequence[Piece], work: Any) -> None:
    """Refuse tables that lack a column before anything is computed.

    Raises:
        FormatError: One lacks a column of the work; or some have an id and others have none.
    """
    files = {piece.input.path: piece for piece in pieces}
    for path, piece in files.items():
        work.list_columns(piece.columns, str(path))
    with_id = [str(path) for path, piece in files.items() if "id" in piece.columns]
    without = [str(path) for path, piece in files.items() if "id" not in piece.columns]
    if with_id and without:
        raise FormatError(f"has no column 'id', and {with_id[0]} has one: all files have it, or none.", without[0])


def find_part(folder: Folder, name: str, piece: Piece) -> dict[str, Any] | None:
    """Return what a part says of itself; None if it is not there, or damaged.

    Raises:
        InvalidValue: It was made from another content of its input.
    """
    if not folder.has(name) or (facts := read_facts(folder.path / name)) is None:
        return None
    if facts.get("fingerprint") != piece.fingerprint:
        raise InvalidValue(
            f"{str(piece.input.path)!r} has changed since {name} was made from it: give another folder, or remove that "
            "part from this one, and it is made again. Nothing was changed."
        )
    if facts.get("first") != state("", piece)["first"]:
        raise InvalidValue(tell_numbers(piece))
    return facts


def refuse_strangers(folder: Folder, job: str, pieces: Sequence[Piece], names: dict[Piece, str]) -> None:
    """Refuse to number rows that have no id as others were, from files that are not among the inputs any more."""
    numbered = next((piece for piece in pieces if "id" not in piece.columns), None)
    known = set(names.values())
    if numbered is None or all(path.name in known for path in folder.path.glob(f"{job}-*.parquet")):
        return
    raise InvalidValue(tell_numbers(numbered))


def tell_numbers(piece: Piece) -> str:
    """Say that rows without an id have their numbers from all files."""
    return (
        f"rows of {piece.input.name!r} have no column 'id', so they are numbered through all files of the input, and "
        "the folder has parts of other files: give the same files as before, an 'id' column, or another folder."
    )


def write_manifest(folder: Folder, job: str) -> Any:
    """Write the list of all parts of a job that are there."""
    rows, parts = 0, []
    counts: dict[str, int] = {}
    for path in sorted(folder.path.glob(f"{job}-*.parquet")):
        facts = read_facts(path)
        if facts is None:
            raise FormatError("is damaged; run the job again, and it is made again.", str(path))
        rows += facts["rows"]
        for name, number in facts["counts"].items():
            counts[name] = counts.get(name, 0) + number
        parts.append({"file": path.name, "input": facts["input"], "group": facts["group"], "rows": facts["rows"]})
    return folder.write_manifest({"job": job, "rows": rows, "counts": dict(sorted(counts.items()))}, parts)
