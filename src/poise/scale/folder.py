"""The folder that a job writes into: exactly once, without a service, whatever is killed whenever.

    _job.json                                    the job, written first; a folder belongs to one job
    5f0c9a...-poses+a-00003.parquet              a part: the job's hash, the input, its row group
    _manifest.json                               last, when all is there: every part with its rows, size and hash

A part is written under another name, brought to the disk (fsync), and renamed: it is there whole, or not at all. What
is there is not done again. What a killed run leaves is a file that begins with a dot, and the next run removes it.
Names that begin with a dot or an underscore are not read by Arrow, pandas, Spark and Ray when they read the folder as
one table.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.scale.locks import Lock

__all__ = ["JOB", "MANIFEST", "Folder", "Shard", "read_shard"]

JOB = "_job.json"
MANIFEST = "_manifest.json"
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Shard = tuple[int, int]


def read_shard(given: Any) -> Shard:
    """Return (which, of how many); None is all of it.

    "3/64" or (3, 64). Schedulers count from 0 or from 1, so 0/64 and 64/64 are the same one.

    Raises:
        InvalidValue: It is no shard.
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


class Folder:
    """A folder with the parts of one job, held by one run for each shard.

    Args:
        path: The folder; it is made if it is not there.
        shard: Which part of the work this run does.
    """

    def __init__(self, path: str | os.PathLike[str], shard: Shard = (0, 1)) -> None:
        self.path = Path(path)
        self.tag = f"{shard[0]}of{shard[1]}"
        self._alone = shard[1] == 1
        self._locks: list[Lock] = []

    # -------------------------------------------------------------------------------------------- one run at a time

    @contextmanager
    def hold(self, text: str, name: str) -> Iterator[None]:
        """Hold the folder for a job, given as its JSON text and its name in messages.

        Raises:
            InvalidValue: The folder has the results of another job, or another run is writing there.
            FormatError: It cannot be made or written to.
        """
        with self.tell_failures("it is a folder that can be written to"):
            self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock(".lock", shared=not self._alone)
            if not self._alone:
                self._lock(f".lock-{self.tag}", shared=False)
            self._claim(text, name)
            for left in (*self.path.rglob(f".{self.tag}-*"), *self.path.rglob(f"..{self.tag}-*")):
                left.unlink(missing_ok=True)
            yield
        finally:
            for lock in reversed(self._locks):
                lock.release()
            self._locks.clear()

    def _lock(self, name: str, *, shared: bool) -> None:
        with self.tell_failures("it is a folder that can be written to"):
            lock = Lock(self.path / name, shared=shared)
        if lock.holder is not None:
            raise InvalidValue(
                f"another run is writing into {str(self.path)!r}{lock.holder}: wait until it has ended, or give "
                "another folder. Runs that share the work have a shard each: --shard 0/2 and --shard 1/2."
            )
        self._locks.append(lock)

    def _claim(self, text: str, name: str) -> None:
        """Write the job into the folder, or find the same there."""
        target = self.path / JOB
        with self.tell_failures("the job was not begun"):
            mine = self.path / f".{self.tag}-{os.getpid()}-{JOB}"
            write_whole(mine, text.encode())
            try:
                os.link(mine, target)  # unlike a rename, it does not replace
            except FileExistsError:
                pass
            except OSError:  # no links on this file system
                if not target.exists():
                    mine.replace(target)
            mine.unlink(missing_ok=True)
        there = target.read_text("utf-8")
        if read_hash(there) != read_hash(text):
            raise InvalidValue(
                f"{str(self.path)!r} has the results of another job ({describe(there)}), and this one is {name}: "
                "give another folder. Nothing was changed."
            )

    # -------------------------------------------------------------------------------------------- parts

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """Yield a path to write to; it becomes `name` when the block ends well, and vanishes when it does not."""
        target = self.path / name
        temporary = target.with_name(f".{self.tag}-{os.getpid()}-{target.name}")
        try:
            with self.tell_failures("all that was done before stays, and the next run goes on from there"):
                target.parent.mkdir(parents=True, exist_ok=True)
                yield temporary
                bring_to_disk(temporary)
                temporary.replace(target)
                bring_to_disk(target.parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Whether a part is there."""
        return (self.path / name).exists()

    def write_manifest(self, facts: dict[str, Any], parts: list[dict[str, Any]]) -> Path:
        """Write the manifest: the facts, and a line for each part with its size and hash; always the same bytes."""
        rows = [json.dumps(part | self._measure(part["file"])) for part in parts]
        head = json.dumps({"kind": "poise manifest", "version": 1} | facts)
        with self.write(MANIFEST) as temporary:
            temporary.write_text(head[:-1] + ', "parts": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
        return self.path / MANIFEST

    def _measure(self, name: str) -> dict[str, Any]:
        mark = sha256()
        with (self.path / name).open("rb") as file:
            while chunk := file.read(CHUNK):  # ends: with the file
                mark.update(chunk)
            return {"bytes": file.tell(), "sha256": mark.hexdigest()}

    @contextmanager
    def tell_failures(self, rest: str) -> Iterator[None]:
        """Say in words that the disk is full, or that it cannot be written to."""
        try:
            yield
        except OSError as error:
            full = error.errno in FULL or "No space left" in str(error)
            what = "the disk is full" if full else f"it cannot be written to: {error.strerror or error}"
            raise FormatError(f"{what}; {rest}.", str(self.path)) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a small file, and bring it to the disk."""
    path.write_bytes(data)
    bring_to_disk(path)


def bring_to_disk(path: Path) -> None:
    """Wait until a file, or a folder's list of files, would survive a loss of power."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_hash(text: str) -> str:
    """Return the hash that a job's JSON states; empty if it states none."""
    try:
        return str(json.loads(text).get("hash", ""))
    except (ValueError, AttributeError):
        return ""


def describe(text: str) -> str:
    """Return the job of a JSON text in a few words."""
    try:
        words = json.loads(text)
        return f"{words['work']} {words['model']['name'] if words.get('model') else ''}".strip() + f", {words['hash']}"
    except (ValueError, KeyError, TypeError):
        return f"{JOB} there cannot be read"
