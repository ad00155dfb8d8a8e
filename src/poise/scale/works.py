"""The kinds of work: how each is checked, prepared and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from poise.batch.device import check_served
from poise.batch.maps import MapProblem
from poise.errors import InvalidValue
from poise.scale import clips, libraries, maps, run
from poise.scale.clips import QualityClips, RetargetClips
from poise.scale.rows import FkRows, SolveRows

__all__ = ["WORKS", "Work"]

CLOCKED = "time_limit"
OF_A_RUN = ("threads", "starts", "targets", "out", "progress", "record")
FK_OPTIONS = ("frames",)


class Work(Protocol):
    """A kind of work."""

    @property
    def reads_meshes(self) -> bool:
        """Whether it needs the meshes beside the body's file."""
        ...

    def check(self, job: Any) -> None:
        """Refuse goals and options that cannot be."""
        ...

    def prepare(self, job: Any, threads: int | None) -> Any:
        """Return what does the work."""
        ...

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """Do what is not done yet."""
        ...


@dataclass(frozen=True)
class Solving:
    """Goals for the rows of tables."""

    reads_meshes: bool = False

    def check(self, job: Any) -> None:
        """See Work."""
        need_body(job)
        if not job.goals:
            raise InvalidValue("goals is empty: give one goal or several; columns hold the targets of each row.")
        if job.options.get(CLOCKED) is not None:
            raise InvalidValue(
                "time_limit= gives other answers every time, and a job always the same: use max_steps=, restarts=."
            )
        for name in OF_A_RUN:
            if name in job.options:
                raise InvalidValue(
                    f"{name!r} is not an option of a job: give it to job.run, or as columns of its input."
                )
        solver = SolveRows(job.model, job.goals, job.options, threads=1).solver
        if job.device == "gpu":
            check_served(solver.solver, solver.solutions)

    def prepare(self, job: Any, threads: int | None) -> SolveRows:
        """See Work."""
        return SolveRows(job.model, job.goals, job.options, job.device, threads)

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """See Work."""
        return run.run_rows(job, inputs, out, shard, threads, progress)


@dataclass(frozen=True)
class Fk:
    """Transforms of frames at the poses of tables."""

    reads_meshes: bool = False

    def check(self, job: Any) -> None:
        """See Work."""
        need_body(job)
        refuse_gpu(job)
        refuse_options(job, FK_OPTIONS)
        if not job.options.get("frames"):
            raise InvalidValue("frames is empty: name those whose transforms are wanted.")
        self.prepare(job, None)

    def prepare(self, job: Any, threads: int | None) -> FkRows:
        """See Work."""
        return FkRows(job.model, job.options["frames"])

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """See Work."""
        return run.run_rows(job, inputs, out, shard, threads, progress)


@dataclass(frozen=True)
class Retargeting:
    """Clips, carried over onto a body."""

    reads_meshes: bool = True

    def check(self, job: Any) -> None:
        """See Work."""
        need_body(job)
        refuse_gpu(job)
        self.prepare(job, None)

    def prepare(self, job: Any, threads: int | None) -> RetargetClips:
        """See Work."""
        return RetargetClips(job.model, **check_known(job, clips.RETARGET_OPTIONS))

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """See Work."""
        return libraries.run_clips(job, inputs, out, shard, threads, progress)


@dataclass(frozen=True)
class Measuring:
    """The quality of clips."""

    reads_meshes: bool = False

    def check(self, job: Any) -> None:
        """See Work."""
        refuse_gpu(job)
        self.prepare(job, None)

    def prepare(self, job: Any, threads: int | None) -> QualityClips:
        """See Work."""
        return QualityClips(**check_known(job, clips.QUALITY_OPTIONS))

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """See Work."""
        return libraries.run_clips(job, inputs, out, shard, threads, progress)


@dataclass(frozen=True)
class Reaching:
    """A reach map."""

    reads_meshes: bool = False

    def check(self, job: Any) -> None:
        """See Work."""
        need_body(job)
        refuse_options(job, maps.MAP_OPTIONS)
        if "frame" not in job.options:
            raise InvalidValue("a reach map is of a frame: name it.")
        job.model.frame(job.options["frame"])

    def prepare(self, job: Any, threads: int | None) -> MapProblem:
        """See Work."""
        return MapProblem.prepare(job.model, threads=threads, device=job.device, **job.options)

    def run(self, job: Any, inputs: Any, out: Any, shard: Any, threads: int | None, progress: Any) -> Any:
        """See Work."""
        return maps.run_map(job, inputs, out, shard, threads, progress)


def need_body(job: Any) -> None:
    """Refuse a job without a body."""
    if job.model is None:
        raise InvalidValue(f"a job of {job.work!r} needs a body: give model=.")


def refuse_gpu(job: Any) -> None:
    """Refuse a GPU for what has no kernel there."""
    if job.device == "gpu":
        raise InvalidValue(f"{job.work!r} runs on the CPU: device='cpu'.")


def refuse_options(job: Any, known: tuple[str, ...]) -> None:
    """Refuse options that the work has not, and goals, which only solving has."""
    for name in job.options:
        if name not in known:
            raise InvalidValue(f"{job.work!r} has no option {name!r}; it has {', '.join(known)}.")
    if job.goals:
        raise InvalidValue(f"{job.work!r} has no goals; leave them out.")


def check_known(job: Any, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the options, all of them known."""
    refuse_options(job, known)
    return dict(job.options)


WORKS: dict[str, Work] = {
    "solve": Solving(),
    "fk": Fk(),
    "retarget": Retargeting(),
    "quality": Measuring(),
    "reach_map": Reaching(),
}
