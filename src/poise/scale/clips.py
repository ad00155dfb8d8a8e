"""Work on clips: reads a file, writes a motion or quality figures. A file that fails is reported and skipped.

    walks/a.csv                        the result for walks/a.bvh (retargeting)
    clips.parquet                      all figures, one row per clip: id, error, frames, slip_mean, ...

The `error` column has the reason if a clip cannot be read; the next run tries it again.
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import Any

from poise.arguments import check_positive, check_whole
from poise.batch.solver import MOST_THREADS, count_cores
from poise.errors import FormatWarning, InvalidValue, PoiseError
from poise.formats import load_motion, registry, save
from poise.formats.tables.robot_csv import STYLES, check_style, write_style
from poise.kinematics import Motion
from poise.limits import Clearance
from poise.model import Model
from poise.motion import Mapping, Quality, quality, retarget
from poise.scale.folder import JobFolder, Record
from poise.scale.inputs import Part, list_inputs, load_parquet
from poise.scale.pool import map_in_processes
from poise.scale.run import Made, Plan, Tick

__all__ = ["QUALITY_OPTIONS", "RETARGET_OPTIONS", "ClipPlan", "QualityClips", "RetargetClips"]

CLIPS = (".bvh", ".glb", ".gltf", ".vrm", ".fbx", ".csv", ".npz", ".parquet")
TABLE = "clips.parquet"
TEXTS = ("id", "error", "file")

QUALITY_OPTIONS = ("scale", "up")
RETARGET_OPTIONS = ("suffix", "style", "scale", "up", "mapping", "smooth", "clearance", "fps")


class QualityClips:
    """A work object that measures the quality of clips.

    Args:
        scale: Passed to `load_motion`.
        up: Passed to `load_motion`.
    """

    suffix = ""  # writes no file other than the figures

    def __init__(self, scale: float | str = 1.0, up: str | None = None) -> None:
        self.scale, self.up = scale, up

    def read(self, path: Path) -> Motion:
        """Return the motion of a file."""
        return load_motion(path, scale=self.scale, up=self.up)

    def do(self, path: Path, target: Path | None) -> Quality:
        """Measure a clip."""
        return quality(self.read(path))


class RetargetClips(QualityClips):
    """A work object that retargets clips onto a body.

    Args:
        model: The body.
        suffix: The suffix of the output files: ".csv", ".npz", ".bvh", ".glb"; by default that of the style, or ".csv".
        style: The layout of the output, as in `poise.save`.
        scale: Passed to `load_motion`.
        up: Passed to `load_motion`.
        mapping: The corresponding frames, a `poise.Mapping`; found unless given.
        smooth: Passed to `retarget`.
        clearance: False lets parts of the body collide, as in `retarget`; a number is the distance [m] between the
            capsules of `Clearance`, which replace the convex hulls of `retarget`, also if it is 0.
        fps: The frame rate of the output; that of each clip by default.
    """

    def __init__(
        self,
        model: Model,
        suffix: str | None = None,
        style: str | None = None,
        scale: float | str = 1.0,
        up: str | None = None,
        mapping: Any = None,
        smooth: float = 1.0,
        clearance: float | bool | None = None,
        fps: float | None = None,
    ) -> None:
        super().__init__(scale, up)
        suffix = suffix or STYLES.get(style or "", ".csv")
        if style is None:
            registry.find_writer(f"clip{suffix}", "write_motion")
        else:
            check_style(style, f"clip{suffix}")
        if mapping is not None and not isinstance(mapping, Mapping):
            raise InvalidValue(f"mapping is {mapping!r}; it must be a poise.Mapping.")
        self.model, self.suffix, self.style, self.mapping, self.smooth = model, suffix, style, mapping, smooth
        self.clearance = clearance is not False
        distance = None if isinstance(clearance, bool) else clearance
        self.limits = [] if distance is None else [Clearance(distance=distance)]
        self.fps = None if fps is None else check_positive(fps, "fps")

    def do(self, path: Path, target: Path | None) -> Quality:
        """Retarget a clip and write it."""
        clip = self.read(path)
        clip = clip if self.fps is None else clip.resampled(self.fps)
        found = retarget(
            clip, self.model, self.mapping, smooth=self.smooth, limits=self.limits, clearance=self.clearance
        )
        assert target is not None
        if self.style is None:
            save(found.motion, target)
        else:
            write_style(found.motion, target, path.with_suffix(self.suffix).name, self.style)
        return found.quality


class ClipPlan(Plan):
    """A job on a library of clips: a part for every clip; see `Plan`."""

    unit = "clips"

    def __init__(self, job: Any, inputs: Any, threads: int | None) -> None:
        super().__init__()
        load_parquet()
        self.job = job
        self.workers = count_cores() if threads is None else check_whole(threads, "threads", 1, MOST_THREADS)
        self.parts = {clip.name: clip for clip in list_inputs(inputs, CLIPS)}
        self.inputs = {name: [1] for name in self.parts}

    def make(self, folder: JobFolder, names: Sequence[str], tick: Tick) -> Made:
        """Process clips in worker processes, or in this process for one worker."""
        clips, workers = [self.parts[name] for name in names], min(self.workers, len(names))
        if workers > 1:
            yield from map_in_processes(make_record, clips, workers, self.job, folder)
        elif clips:
            work = self.job.prepare()
            yield from (make_record(clip, work, folder) for clip in clips)

    def finish(self, folder: JobFolder, records: Sequence[Record]) -> list[str]:
        """Write the table of all figures."""
        pyarrow, door = load_parquet()
        rows = [{"id": record["part"], **record, **record.get("figures", {})} for record in records]
        names = [*TEXTS, *Quality.__dataclass_fields__]
        kinds = dict.fromkeys(names, pyarrow.float64()) | dict.fromkeys(TEXTS, pyarrow.string())
        kinds["frames"] = pyarrow.int64()
        columns = [pyarrow.array([row.get(name) for row in rows], kinds[name]) for name in names]
        with folder.write(TABLE) as temporary:
            door.write_table(pyarrow.Table.from_arrays(columns, names=names), str(temporary), compression="none")
        return [TABLE]


def make_record(clip: Part, work: QualityClips, folder: JobFolder) -> Record:
    """Process one clip: write its motion; return its record, with its figures or the error."""
    file = str(PurePosixPath(clip.name).with_suffix(work.suffix)) if work.suffix else ""
    facts: Record = {"rows": 1, "fingerprint": clip.fingerprint(), "error": ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # the body's notes repeat these warnings
            with folder.write(file) if file else nullcontext() as temporary:
                found = work.do(clip.path, temporary)
    except PoiseError as error:
        if isinstance(error.__cause__, OSError):
            raise  # a disk error, not a fault of the clip
        facts["error"] = " ".join(str(error).split())
        return folder.make_record(clip.name, "", facts | {"counts": {"failed": 1}})
    return folder.make_record(clip.name, file, facts | {"counts": {"done": 1}, "figures": found.to_dict()})
