"""The output folder of a job: every part is written exactly once, even if runs are killed.

    _job.json                          the job, its inputs and the instruction level, written first
    5f0c9a...-poses+a-00003.parquet    a part: the job's hash, the input, its row group
    _parts-0of1.jsonl                  the records of the parts that one shard has finished, a line each
    _manifest.json                     the records of all parts, written when the job is complete; replaces the former

A part is written under a temporary name, synced to disk (fsync) and renamed, so that it is never incomplete; its record
has its size and checksum. A part that does not match its record is damaged and computed again; so is one whose record
is missing. A killed run leaves files that begin with a dot; the next run removes them.
Arrow, pandas, Spark and Ray ignore names that begin with a dot or an underscore when they read the folder as one
table.
"""

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.locks import hold_lock

__all__ = ["JobFolder", "Record", "Shard", "hash_values", "measure", "read_shard"]

JOB = "_job.json"
JOURNAL = "_parts-{}.jsonl"
MANIFEST = "_manifest.json"
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Shard = tuple[int, int]
Record = dict[str, Any]  # of a part: its name, file ("" if it has none), size, checksum, and the facts of its work


def read_shard(given: Any) -> Shard:
    """Return the index of a shard and the number of shards; (0, 1) for None.

    Accepts "3/64" or (3, 64). Schedulers count from 0 or from 1, so 0/64 and 64/64 are the same shard.

    Raises:
        InvalidValue: The value is not a shard.
    """
    if given is None:
        return 0, 1
    parts = given.split("/") if isinstance(given, str) else given
    try:
        which, count = (int(part) for part in parts)
    except (TypeError, ValueError):
        which, count = 0, 0
    if count < 1 or not 0 <= which <= count:
        raise InvalidValue(f"shard is {given!r}; write it as '3/64': which, from 0 or from 1, of how many.")
    return which % count, count


class JobFolder:
    """The output folder of one job, locked by one run per shard.

    Args:
        path: The folder; created if it does not exist.
        shard: The index of this run's shard, and the number of shards.

    Attributes:
        damaged: The names of parts that do not match their records, in the order of detection.
    """

    def __init__(self, path: str | os.PathLike[str], shard: Shard = (0, 1)) -> None:
        self.path = Path(path)
        self.tag = f"{shard[0]}of{shard[1]}"
        self.damaged: dict[str, None] = {}

    # -------------------------------------------------------------------------------------------- one run, one job

    @contextmanager
    def hold(self, claim: dict[str, Any], name: str) -> Iterator[None]:
        """Lock the folder for a job. Runs of several shards share it; a run of the whole job does not.

        Args:
            claim: The job as plain values, with its inputs (row counts of the row groups of each file) and the
                instruction level.
            name: The name of the job, for messages.

        Raises:
            InvalidValue: The folder has the results of another job, other inputs or another level, or another run is
                writing there.
            FormatError: The folder cannot be created or written to, or its job file is damaged.
        """
        alone = self.tag == "0of1"
        with ExitStack() as held:
            with self.report_disk_errors("it is a folder that can be written to"):
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(hold_lock(self.path / ".lock", shared=not alone))
                if not alone:
                    held.enter_context(hold_lock(self.path / f".lock-{self.tag}"))
            self._claim(claim, name)
            for left in (*self.path.rglob(f".{self.tag}-*"), *self.path.rglob(f"..{self.tag}-*")):
                left.unlink(missing_ok=True)
            yield

    def _claim(self, fields: dict[str, Any], name: str) -> None:
        """Write the job and its inputs into the folder, or check that they match those already there."""
        target, text = self.path / JOB, json.dumps(fields, indent=1) + "\n"
        with self.report_disk_errors("the job was not begun"):
            mine = self.path / f".{self.tag}-{os.getpid()}-{JOB}"
            mine.write_text(text, "utf-8")
            sync(mine)
            try:
                os.link(mine, target)  # unlike a rename, this never overwrites
            except FileExistsError:
                pass
            except OSError:  # the file system has no hard links
                if not target.exists():
                    mine.replace(target)
            mine.unlink(missing_ok=True)
            there = target.read_bytes()
        if there == text.encode():
            return
        self._compare(read_claim(there, target), fields, name)
        with self.write(JOB) as temporary:  # the same job with another path of the body, or damaged
            temporary.write_text(text, "utf-8")

    def _compare(self, there: dict[str, Any], fields: dict[str, Any], name: str) -> None:
        where = repr(str(self.path))
        if there["hash"] != fields["hash"]:
            raise InvalidValue(
                f"{where} has the results of another job ({describe(there)}), and this one is {name}: give another "
                "folder. Nothing was changed."
            )
        if there["inputs"] != fields["inputs"]:
            raise InvalidValue(
                f"{where} has the results of this job for other inputs: "
                f"{find_difference(there['inputs'], fields['inputs'])}; give another folder, or the inputs that it was "
                "begun with. Nothing was changed."
            )
        if there.get("level") != fields["level"]:
            raise InvalidValue(
                f"{where} has answers of instruction level {there.get('level')!r}, and this machine runs at "
                f"{fields['level']!r}: set the environment variable POISE_LEVEL to a level that all machines support, "
                "or give another folder. Nothing was changed."
            )

    # -------------------------------------------------------------------------------------------- parts

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """Yield a temporary path; it is renamed to `name` if the block succeeds, and deleted otherwise."""
        target = self.path / name
        temporary = target.with_name(f".{self.tag}-{os.getpid()}-{target.name}")
        try:
            with self.report_disk_errors("finished parts are kept, and the next run continues from there"):
                target.parent.mkdir(parents=True, exist_ok=True)
                yield temporary
                sync(temporary)
                temporary.replace(target)
                sync(target.parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def make_record(self, part: str, file: str, facts: dict[str, Any]) -> Record:
        """Return the record of a finished part."""
        return {"part": part, "file": file} | facts | (measure(self.path / file) if file else {})

    def add(self, record: Record) -> None:
        """Append the record of a finished part to the journal of this shard."""
        path = self.path / JOURNAL.format(self.tag)
        with self.report_disk_errors("finished parts are kept, and the next run continues from there"):
            new = not path.exists()
            with path.open("ab") as journal:
                journal.write(f"\n{seal(record)}".encode())  # a killed run may have left half a line
                journal.flush()
                os.fsync(journal.fileno())
            if new:
                sync(self.path)

    def read_records(self) -> dict[str, Record]:
        """Return the records of finished parts by name; damaged lines are left out."""
        journals = sorted(self.path.glob(JOURNAL.format("*")))
        later = [record for path in journals for record in read_lines(path)]  # before the last run moves them there:
        return {record["part"]: record for record in (*read_lines(self.path / MANIFEST), *later)}

    def is_whole(self, part: str, record: Record | None) -> bool:
        """Return whether a part is finished and matches its record; damaged parts are added to `damaged`."""
        if record is None:
            if (self.path / MANIFEST).exists():  # which had a record of every part
                self.damaged[part] = None
            return False
        with suppress(OSError, ValueError):
            if not record["file"] or measure(self.path / record["file"]).items() <= record.items():
                return True
        self.damaged[part] = None
        return False

    def write_manifest(self, facts: dict[str, Any], files: Sequence[str], records: Sequence[Record]) -> Path:
        """Write the manifest: the facts, and the records of files and parts. The bytes are deterministic."""
        lines = [json.dumps({"file": file} | measure(self.path / file)) for file in files] + [*map(seal, records)]
        head = json.dumps({"kind": "poise manifest", "version": 1} | facts)
        with self.write(MANIFEST) as temporary:
            temporary.write_text(head[:-1] + ', "parts": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
        for path in self.path.glob(JOURNAL.format("*")):
            path.unlink(missing_ok=True)
        return self.path / MANIFEST

    @contextmanager
    def report_disk_errors(self, rest: str) -> Iterator[None]:
        """Raise `FormatError` for disk errors, such as a full or read-only disk; `rest` ends the message."""
        try:
            yield
        except OSError as error:
            full = error.errno in FULL or "No space left" in str(error)
            what = "the disk is full" if full else f"it cannot be written to: {error.strerror or error}"
            raise FormatError(f"{what}; {rest}.", str(self.path)) from error


def seal(record: Record) -> str:
    """Return a record as a line of JSON with its own hash."""
    return json.dumps({"hash": hash_values(record)} | record)


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the records of a journal or a manifest; lines that are damaged or something else are skipped."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
                record: Record = json.loads(line.rstrip(b",\n"))
                if record.pop("hash") == hash_values(record) and record["part"]:
                    yield record


def sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def measure(path: Path) -> dict[str, Any]:
    """Return the size [bytes] and the SHA-256 hash of a file."""
    mark = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):  # ends: with the file
            mark.update(chunk)
        return {"bytes": file.tell(), "sha256": mark.hexdigest()}


def hash_values(values: Any) -> str:
    """Return a hash of plain values, as 16 hexadecimal digits."""
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def read_claim(data: bytes, path: Path) -> dict[str, Any]:
    """Parse the job file of a folder.

    Raises:
        FormatError: The file is damaged.
    """
    with suppress(ValueError, RecursionError):
        fields = json.loads(data)
        if isinstance(fields, dict) and isinstance(fields.get("hash"), str) and isinstance(fields.get("inputs"), dict):
            return fields
    raise FormatError(
        "is damaged: if the folder has the results of this job, remove the file, and run again.", str(path)
    )


def find_difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """Describe the first input that differs."""
    name = min(each for each in there.keys() | here.keys() if there.get(each) != here.get(each))
    how = "is not among them now" if name not in here else "is new" if name not in there else "has changed since"
    return f"{name!r} {how}"


def describe(fields: dict[str, Any]) -> str:
    """Return a short description of a folder's job."""
    body = fields.get("model")
    name = f" {body.get('name')}" if isinstance(body, dict) else ""
    return f"{fields.get('work')}{name}, {fields['hash']}"
