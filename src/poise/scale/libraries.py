"""A run of a job on a library of clips: a file each, a line of figures each, and one table of them all at the end.

    walks/a.csv                        what was made of walks/a.bvh (retargeting)
    _clips/walks+a-00000.json          its figures, written after it: it is done
    5f0c9a...-clips.parquet            all figures, a row a clip: id, error, frames, slip_mean, ...
    _manifest.json                     last

A clip that cannot be read has its reason under `error`; the others go on, and the next run tries it again.
"""

from __future__ import annotations

import json
import time
import warnings
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from poise.batch.solver import count_cores, read_count
from poise.errors import FormatWarning, PoiseError
from poise.motion import Quality
from poise.scale.crew import Crew
from poise.scale.folder import Folder, read_shard
from poise.scale.inputs import Input, Piece, list_inputs, load_parquet
from poise.scale.levels import run_at_level
from poise.scale.report import Report

__all__ = ["CLIPS", "do_clip", "run_clips"]

CLIPS = (".bvh", ".glb", ".gltf", ".vrm", ".csv", ".npz", ".parquet")
RECORDS = "_clips"
ENDS = 1 << 12  # bytes of a file's head and tail by which it is known again
TEXTS = ("id", "error", "file")


def run_clips(job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Report:
    """Run a job on clips; see Job.run."""
    begun = time.perf_counter()
    load_parquet()
    which, count = read_shard(shard)
    workers = count_cores() if threads is None else read_count("threads", threads, 4096)
    pieces = [Piece(each, fingerprint=take_ends(each.path)) for each in list_inputs(inputs, CLIPS)]
    mine = pieces[which::count]
    folder = Folder(out, (which, count))
    with run_at_level(job.device, job.level), folder.hold(job.to_json(), repr(job)):
        missing = [piece for piece in mine if read_record(folder, piece) is None]
        there = len(mine) - len(missing)
        with warnings.catch_warnings(), Crew(job, folder, min(workers, len(missing)), do_clip) as crew:
            warnings.simplefilter("ignore", FormatWarning)  # a body's notes have the same words
            for done in crew.do([piece.input for piece in missing]):
                if progress is not None:
                    progress(there + done, len(mine))
        records = {piece: read_record(folder, piece, failed=True) for piece in pieces}
        left = [piece for piece, record in records.items() if record is None]
        manifest = None if left else finish(job, folder, list(records.values()))
    own = [record for piece in mine if (record := records[piece]) is not None]
    failed = {record["id"]: record["error"] for record in own if record["error"]}
    counts = {"done": len(own) - len(failed)} | ({"failed": len(failed)} if failed else {})
    seconds = time.perf_counter() - begun
    figures = {
        record["id"]: {key: record[key] for key in Quality.__dataclass_fields__}
        for record in own
        if not record["error"]
    }
    return Report(
        *(job.hash, folder.path, "clips", len(missing), there, len(left), counts, seconds), failed, manifest, figures
    )


def do_clip(folder: Folder, work: Any, clip: Input) -> None:
    """Do one clip: its motion first, then its figures."""
    file = str(PurePosixPath(clip.name).with_suffix(work.suffix)) if work.suffix else None
    words: dict[str, Any] = {"id": clip.name, "error": "", "file": file or "", "fingerprint": take_ends(clip.path)}
    figures: dict[str, Any] = dict.fromkeys(Quality.__dataclass_fields__)
    try:
        if file is None:
            figures = work.do(clip.path, None).to_dict()
        else:
            with folder.write(file) as temporary:
                figures = work.do(clip.path, temporary).to_dict()
    except PoiseError as error:
        if isinstance(error.__cause__, OSError):
            raise  # the disk, and not the clip
        words |= {"error": " ".join(str(error).split()), "file": ""}
    with folder.write(name_record(clip)) as temporary:
        temporary.write_text(json.dumps(words | figures), encoding="utf-8")


def name_record(clip: Input) -> str:
    """Return the name of a clip's figures."""
    return f"{RECORDS}/{Piece(clip).stem}{Path(clip.name).suffix}.json"


def read_record(folder: Folder, piece: Piece, *, failed: bool = False) -> dict[str, Any] | None:
    """Return a clip's figures; None if they are not there, of another content, or those of a failure."""
    try:
        found: dict[str, Any] = json.loads((folder.path / name_record(piece.input)).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return None if found["fingerprint"] != piece.fingerprint or (found["error"] and not failed) else found


def take_ends(path: Path) -> str:
    """Return a hash of a file's size, its head and its tail."""
    with path.open("rb") as file:
        head = file.read(ENDS)
        size = file.seek(0, 2)
        file.seek(max(0, size - ENDS))
        return sha256(size.to_bytes(8, "little") + head + file.read()).hexdigest()[:16]


def finish(job: Any, folder: Folder, records: list[Any]) -> Path:
    """Write the table of all figures, then the manifest."""
    pyarrow, door = load_parquet()
    names = [name for name in records[0] if name != "fingerprint"]
    kinds = {name: pyarrow.string() if name in TEXTS else pyarrow.float64() for name in names} | {
        "frames": pyarrow.int64()
    }
    columns = [pyarrow.array([record[name] for record in records], kinds[name]) for name in names]
    table = f"{job.hash}-clips.parquet"
    with folder.write(table) as temporary:
        door.write_table(pyarrow.Table.from_arrays(columns, names=names), str(temporary), compression="none")
    parts = [{"file": record["file"], "input": record["id"]} for record in records if record["file"]]
    good = sum(not record["error"] for record in records)
    counts = {"done": good} | ({"failed": len(records) - good} if good < len(records) else {})
    return folder.write_manifest({"job": job.hash, "clips": len(records), "counts": counts}, [{"file": table}, *parts])
