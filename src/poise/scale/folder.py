"""The output folder of a job: every part is written exactly once, even if runs are killed.

    _job.json                                    the job and its inputs, written first; a folder belongs to one job
    5f0c9a...-poses+a-00003.parquet              a part: the job's hash, the input, its row group
    _parts/5f0c9a...-poses+a-00003.parquet.json  its receipt, written after the part: rows, size and hash
    _manifest.json                               written last, when the job is complete: the receipts of all parts

A file is written under a temporary name, synced to disk (fsync) and renamed, so that it is never incomplete. A part
that matches its receipt is kept; one that does not is damaged and computed again. A killed run leaves files that begin
with a dot; the next run removes them.
Arrow, pandas, Spark and Ray ignore names that begin with a dot or an underscore when they read the folder as one
table.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.locks import Lock

__all__ = ["JOB", "MANIFEST", "JobFolder", "Receipt", "Shard", "hash_values", "measure", "read_shard"]

JOB = "_job.json"
RECEIPTS = "_parts"
MANIFEST = "_manifest.json"
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Shard = tuple[int, int]
Receipt = dict[str, Any]


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
        damaged: The names of parts that do not match their receipts, in the order of detection.
    """

    def __init__(self, path: str | os.PathLike[str], shard: Shard = (0, 1)) -> None:
        self.path = Path(path)
        self.tag = f"{shard[0]}of{shard[1]}"
        self._alone = shard[1] == 1
        self._locks: list[Lock] = []
        self.damaged: dict[str, None] = {}

    # -------------------------------------------------------------------------------------------- locking

    @contextmanager
    def hold(self, values: dict[str, Any], name: str, inputs: dict[str, list[int]]) -> Iterator[None]:
        """Lock the folder for a job.

        Args:
            values: The job as plain values.
            name: The name of the job, for messages.
            inputs: The row counts of the row groups of each file, by file name.

        Raises:
            InvalidValue: The folder has the results of another job or of other inputs, or another run is writing there.
            FormatError: The folder cannot be created or written to, or its job file is damaged.
        """
        with self.report_disk_errors("it is a folder that can be written to"):
            self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock(".lock", shared=not self._alone)
            if not self._alone:
                self._lock(f".lock-{self.tag}", shared=False)
            self._claim(values | {"inputs": inputs}, name)
            for left in (*self.path.rglob(f".{self.tag}-*"), *self.path.rglob(f"..{self.tag}-*")):
                left.unlink(missing_ok=True)
            yield
        finally:
            for lock in reversed(self._locks):
                lock.release()
            self._locks.clear()

    def _lock(self, name: str, *, shared: bool) -> None:
        with self.report_disk_errors("it is a folder that can be written to"):
            lock = Lock(self.path / name, shared=shared)
        if lock.holder is not None:
            raise InvalidValue(
                f"another run is writing into {str(self.path)!r}{lock.holder}: wait until it has ended, or give "
                "another folder. Runs that share the work have a shard each: --shard 0/2 and --shard 1/2."
            )
        self._locks.append(lock)

    def _claim(self, words: dict[str, Any], name: str) -> None:
        """Write the job and its inputs into the folder, or check that they match those already there."""
        target, text = self.path / JOB, json.dumps(words, indent=1) + "\n"
        with self.report_disk_errors("the job was not begun"):
            mine = self.path / f".{self.tag}-{os.getpid()}-{JOB}"
            write_synced(mine, text.encode())
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
        self._compare(read_claim(there, target), words, name)
        with self.write(JOB) as temporary:  # the same job with another path of the body, or damaged
            temporary.write_text(text, "utf-8")

    def _compare(self, there: dict[str, Any], words: dict[str, Any], name: str) -> None:
        where = repr(str(self.path))
        if there["hash"] != words["hash"]:
            raise InvalidValue(
                f"{where} has the results of another job ({describe(there)}), and this one is {name}: give another "
                "folder. Nothing was changed."
            )
        if there["inputs"] != words["inputs"]:
            raise InvalidValue(
                f"{where} has the results of this job for other inputs: "
                f"{find_difference(there['inputs'], words['inputs'])}; give another folder, or the inputs that it was "
                "begun with. Nothing was changed."
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

    def sign(self, part: str, facts: Receipt) -> Receipt:
        """Write the receipt of a finished part: the facts, and the size and hash of its file."""
        with self.write(f"{RECEIPTS}/{part}.json") as temporary:
            receipt = facts | (measure(self.path / facts["file"]) if facts["file"] else {})
            temporary.write_text(json.dumps({"hash": hash_values(receipt), "receipt": receipt}), "utf-8")
        return receipt

    def find(self, part: str) -> Receipt | None:
        """Return the receipt of a complete part, or None. Damaged parts are added to `damaged`."""
        path = self.path / RECEIPTS / f"{part}.json"
        if not path.exists():
            return None
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            sealed = json.loads(path.read_bytes())
            receipt: Receipt = sealed["receipt"]
            if sealed["hash"] == hash_values(receipt) and self._is_whole(receipt):
                return receipt
        self.damaged[part] = None
        return None

    def _is_whole(self, receipt: Receipt) -> bool:
        return not receipt["file"] or measure(self.path / receipt["file"]).items() <= receipt.items()

    def find_all(
        self, parts: Iterable[str], own: dict[str, Receipt], find: Callable[[str], Receipt | None]
    ) -> tuple[dict[str, Receipt], list[str]]:
        """Return the receipts of the complete parts, and the names of the remaining ones.

        Args:
            parts: The names of all parts.
            own: The receipts that are already known.
            find: Returns the receipt of a part, or None. Not called if a receipt file is missing.
        """
        others = [part for part in parts if part not in own]
        if missing := [part for part in others if not (self.path / RECEIPTS / f"{part}.json").exists()]:
            return own, missing
        found = {part: receipt for part in others if (receipt := find(part)) is not None}
        return own | found, [part for part in others if part not in found]

    def make_changed(self, path: Path, part: str) -> InvalidValue:
        """Return the error for an input that has changed since its part was written."""
        return InvalidValue(
            f"{str(path)!r} has changed since {part!r} was made from it: give another folder; or remove "
            f"{str(self.path / RECEIPTS / part)!r}.json, and the part is made again. Nothing was changed."
        )

    def write_manifest(self, facts: dict[str, Any], parts: list[Receipt]) -> Path:
        """Write the manifest: the facts, and a line with size and hash per part. The bytes are deterministic."""
        whole = (part if "sha256" in part else part | measure(self.path / part["file"]) for part in parts)
        rows = [json.dumps(part) for part in whole]
        head = json.dumps({"kind": "poise manifest", "version": 1} | facts)
        with self.write(MANIFEST) as temporary:
            temporary.write_text(head[:-1] + ', "parts": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
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


def write_synced(path: Path, data: bytes) -> None:
    """Write a small file and sync it to disk."""
    path.write_bytes(data)
    sync(path)


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


def hash_values(words: Any) -> str:
    """Return a hash of plain values, as 16 hexadecimal digits."""
    return sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]


def read_claim(data: bytes, path: Path) -> dict[str, Any]:
    """Parse the job file of a folder.

    Raises:
        FormatError: The file is damaged.
    """
    with suppress(ValueError, RecursionError):
        words = json.loads(data)
        if isinstance(words, dict) and isinstance(words.get("hash"), str) and isinstance(words.get("inputs"), dict):
            return words
    raise FormatError(
        "is damaged: if the folder has the results of this job, remove the file, and run again.", str(path)
    )


def find_difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """Describe the first input that differs."""
    name = min(each for each in there.keys() | here.keys() if there.get(each) != here.get(each))
    how = "is not among them now" if name not in here else "is new" if name not in there else "has changed since"
    return f"{name!r} {how}"


def describe(words: dict[str, Any]) -> str:
    """Return a short description of a folder's job."""
    body = words.get("model")
    name = f" {body.get('name')}" if isinstance(body, dict) else ""
    return f"{words.get('work')}{name}, {words['hash']}"
