"""Job: work on more rows than fit into memory, which can be killed at any time and resumed.

    job = Job(model, Reach("tool0", Transform()), {"restarts": 20})
    job.run("targets/*.parquet", "out/")

Jobs are compared by value: equal jobs write the same bytes. `hash` covers what the answers depend on: the work, the
body, goals, options, the device, and Poise's version; not the number of threads, shards or machines. The instruction
level of the machines, which changes the last bits, belongs to the output folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from importlib.metadata import version
from os import PathLike
from typing import Any

from poise import goals, limits, methods, motion
from poise.errors import INDEX_NAME, FormatError, InvalidValue, MissingExtra, ModelMismatch, name_not_found
from poise.files.json_kinds import read_kind
from poise.formats import load
from poise.formats.plain_values import decode_value, encode_value
from poise.goals import Goal
from poise.kinematics import regions
from poise.model import Model
from poise.model.geometry import solids
from poise.scale.bodies import check_unchanged, describe_body, read_body
from poise.scale.folder import hash_values
from poise.scale.report import Report
from poise.scale.run import run_job
from poise.scale.works import WORKS, find_level

__all__ = ["Job"]

KIND = "poise job"
DEVICES = ("cpu", "gpu")
HASHED = ("work", "poise", "device", "model", "goals", "options")
PACKAGES = (goals, limits, methods, regions, motion, solids)
CLASSES = {  # allowed as values in a job
    name: found
    for package in reversed(PACKAGES)
    for name in package.__all__
    if name != "Custom" and is_dataclass(found := getattr(package, name)) and isinstance(found, type)
}
Inputs = str | PathLike[str] | Iterable[str | PathLike[str]] | None


class Job:
    """Work on many rows or clips, which can run on any machine.

    Args:
        model: The body; a built-in name or a file is loaded. None for work that needs no body.
        goals: One goal or several; columns of the input provide the targets of each row.
        options: The options of `solve_batch`: restarts, seed, dtype, solutions, method, limits, ...
        device: "cpu" (all cores) or "gpu" (CUDA, through CuPy).
        work: "solve", "fk", "retarget", "quality" or "reach_map"; `Job.fk` and the other class methods set it.

    Raises:
        InvalidValue: Goals or options are invalid, or cannot be saved.
    """

    def __init__(
        self,
        model: Model | str | PathLike[str] | None,
        goals: Iterable[Goal] | Goal = (),
        options: Mapping[str, Any] | None = None,
        device: str = "cpu",
        *,
        work: str = "solve",
    ) -> None:
        if work not in WORKS:
            raise name_not_found("work", work, WORKS)
        if device not in DEVICES:
            raise InvalidValue(f"device is {device!r}; it must be 'cpu' or 'gpu'.")
        if isinstance(model, (str, PathLike)):
            model = load(model)
        if model is not None and not isinstance(model, Model):
            raise ModelMismatch(f"model must be a poise.Model, a name or a file, not {type(model).__name__}.")
        self.model = model
        self.goals = (goals,) if isinstance(goals, Goal) else tuple(goals)
        self.options = dict(options or {})
        self.device, self.work = device, work
        self._fields = self._describe()
        WORKS[work].check(self)

    # -------------------------------------------------------------------------------------------- kinds of work

    @classmethod
    def fk(cls, model: Model | str | PathLike[str], frames: str | Sequence[str]) -> Job:
        """Return a job that computes transforms of frames at the poses of tables (columns q0 q1 ...)."""
        names = [frames] if isinstance(frames, str) else list(frames)
        return cls(model, options={"frames": names}, work="fk")

    @classmethod
    def retarget(cls, model: Model | str | PathLike[str], **options: Any) -> Job:
        """Return a job that retargets a folder of clips onto a body.

        Args:
            model: The body, with a free root; a name or a file is loaded with `base="free"`.
            options: `style` and `suffix` of the output files, ".csv" or that of the style; `scale` and `up` of
                `load_motion`; `mapping` and `smooth` of `poise.retarget`; `clearance`: False lets parts of the body
                collide, a number is the distance [m] between the capsules of `Clearance`, in place of the convex hulls
                of `poise.retarget`; `fps`, the frame rate of the output.
        """
        body = load(model, base="free") if isinstance(model, (str, PathLike)) else model
        return cls(body, options=options, work="retarget")

    @classmethod
    def quality(cls, **options: Any) -> Job:
        """Return a job that measures a folder of clips; options are `scale` and `up` of `load_motion`."""
        return cls(None, options=options, work="quality")

    @classmethod
    def reach_map(cls, model: Model | str | PathLike[str], frame: str, *, device: str = "cpu", **options: Any) -> Job:
        """Return a job that computes a reach map, `job.run(None, "out/")`; options are those of `poise.reach_map`."""
        return cls(model, options={"frame": frame, **options}, device=device, work="reach_map")

    # -------------------------------------------------------------------------------------------- running

    def run(
        self,
        inputs: Inputs,
        out: str | PathLike[str],
        *,
        shard: str | tuple[int, int] | None = None,
        threads: int | None = None,
        progress: Any = None,
    ) -> Report:
        """Do the remaining work on this machine.

        Args:
            inputs: Files, a folder, or a pattern: "targets/*.parquet"; clips for work on clips; None for a reach map.
            out: The output folder, which belongs to this job; finished parts in it are skipped.
            shard: The share of the work to do, such as "3/64", for schedulers; counted from 0 or from 1.
            threads: The number of threads (default: one per core). The answers do not depend on it.
            progress: A function called with (rows done, rows) during the run and at the end.

        Raises:
            InvalidValue: The folder belongs to another job, to other inputs or to machines of another instruction
                level, an input has changed since its part was written, or another run is writing there.
            ModelMismatch: The body's file has changed since the job was made.
            FormatError: An input, or the folder's `_job.json`, is damaged; an input lacks a column; the disk is full.
                Finished parts are kept.
        """
        if progress is not None and not callable(progress):
            raise InvalidValue(f"progress is {progress!r}; it must be a function of (rows done, rows).")
        check_unchanged(self._fields.get("model") or {})
        claim = self.plain_values() | {"level": find_level(self.device)}
        return run_job(self, claim, WORKS[self.work].plan, inputs, out, shard, threads, progress)

    def on_ray(self, dataset: Any, **options: Any) -> Any:
        """Return a Ray dataset of the answers; see `poise.scale.on_ray.map_on_ray` for its options."""
        from poise.scale.on_ray import map_on_ray

        check_unchanged(self._fields.get("model") or {})
        return map_on_ray(self, dataset, **options)

    # -------------------------------------------------------------------------------------------- serialisation

    @property
    def hash(self) -> str:
        """A hash of everything that the answers depend on, as 16 hexadecimal digits."""
        return hash_job(self._fields)

    def _describe(self) -> dict[str, Any]:
        body = None if self.model is None else describe_body(self.model, with_files=WORKS[self.work].reads_meshes)
        return {
            "work": self.work,
            "poise": version(INDEX_NAME),
            "device": self.device,
            "model": body,
            "goals": [encode_value(goal, f"goals[{k}]", CLASSES) for k, goal in enumerate(self.goals)],
            "options": encode_value(self.options, "options", CLASSES),
        }

    def plain_values(self) -> dict[str, Any]:
        """Return the job as plain values, as `poise.save(job, "job.json")` writes them."""
        return {"kind": KIND, "version": 1, "hash": self.hash} | self._fields

    @classmethod
    def from_values(cls, values: dict[str, Any], path: str = "") -> Job:
        """Return the job described by plain values; `path` is their file, for error messages.

        Raises:
            FormatError: The values are not a job.
            ModelMismatch: The body has changed since the job was made.
        """
        try:
            return cls._read(values)
        except (MissingExtra, ModelMismatch):
            raise
        except FormatError as error:
            raise FormatError(error.message, error.path or path) from None
        except Exception as error:  # values of wrong types may raise anything
            raise FormatError(f"is not a job that can be read: {error}", path) from error

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Job:
        if "hash" in fields and fields["hash"] != hash_job({key: fields[key] for key in HASHED}):
            raise FormatError('does not match its hash: it is damaged; or, if you have changed it, remove "hash".')
        model = None if fields.get("model") is None else read_body(fields["model"])
        goals = [decode_value(goal, CLASSES, model) for goal in fields.get("goals", ())]
        options = decode_value(fields.get("options", {}), CLASSES, model)
        if not all(isinstance(goal, Goal) for goal in goals):
            raise FormatError('has something in "goals" that is not a goal.')
        job = cls(model, goals, options, fields.get("device", "cpu"), work=fields.get("work", "solve"))
        if isinstance(fields.get("model"), dict) and "key" in fields["model"]:
            job._fields["model"] = fields["model"]  # with the path and hash of its file at the time the job was made
        return job

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Job:
        """Read a job written by `poise.save` or by hand.

        Raises:
            FormatError: The file is missing or damaged, or does not contain a job.
            ModelMismatch: The body has changed since the job was made.
        """
        return cls.from_values(read_kind(path, KIND), str(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return Job.from_values, (self.plain_values(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash, 16)

    def __repr__(self) -> str:
        body = "" if self.model is None else f" {self.model.name!r}"
        return f"<Job {self.hash}: {self.work}{body} on {self.device}>"

    def prepare(self, threads: int | None = None) -> Any:
        """Return the prepared work object, for use in your own loop."""
        return WORKS[self.work].prepare(self, threads)


def hash_job(fields: dict[str, Any]) -> str:
    """Return the hash of a job given as plain values; its body is represented by name and key."""
    body = fields["model"] or {}
    return hash_values(fields | {"model": {key: body[key] for key in ("name", "key") if key in body}})
