"""The kinds of work of a job, with the functions that check and prepare each, and its plan."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poise import native
from poise.batch.device import check_served
from poise.batch.maps import MapProblem
from poise.errors import InvalidValue
from poise.native.gpu import load_cupy
from poise.scale.clips import QUALITY_OPTIONS, RETARGET_OPTIONS, ClipPlan, QualityClips, RetargetClips
from poise.scale.maps import MAP_OPTIONS, MapPlan
from poise.scale.rows import FkRows, SolveRows
from poise.scale.run import Plan
from poise.scale.tables import RowPlan

__all__ = ["WORKS", "Work", "find_level"]

CLOCK_OPTION = "time_limit"
RUN_OPTIONS = ("threads", "starts", "targets", "out", "progress", "record")  # of Job.run, or columns of the input


@dataclass(frozen=True)
class Work:
    """A kind of work.

    Attributes:
        prepare: Returns the work object for a job and a number of threads.
        plan: Lists the parts of a job: (job, inputs, threads).
        check_values: Raises for invalid goals and options; by default `prepare` does.
        options: The names of its options; None if `check_values` checks them.
        needs_model: Whether it needs a body.
        reads_meshes: Whether it reads the meshes next to the body's file.
        has_gpu: Whether it also runs on a GPU.
    """

    prepare: Callable[[Any, int | None], Any]
    plan: Callable[..., Plan]
    check_values: Callable[[Any], Any] | None = None
    options: tuple[str, ...] | None = None
    needs_model: bool = True
    reads_meshes: bool = False
    has_gpu: bool = False

    def check(self, job: Any) -> None:
        """Raise `InvalidValue` if this work cannot do the job."""
        if self.needs_model and job.model is None:
            raise InvalidValue(f"a job of {job.work!r} needs a body: give model=.")
        if job.device == "gpu" and not self.has_gpu:
            raise InvalidValue(f"{job.work!r} runs on the CPU: device='cpu'.")
        if self.options is not None:
            for name in job.options:
                if name not in self.options:
                    raise InvalidValue(f"{job.work!r} has no option {name!r}; it has {', '.join(self.options)}.")
            if job.goals:
                raise InvalidValue(f"{job.work!r} has no goals; leave them out.")
        if self.check_values is None:
            self.prepare(job, None)
        else:
            self.check_values(job)


def check_solve(job: Any) -> None:
    """Check the goals and options of a `solve_batch` job."""
    if not job.goals:
        raise InvalidValue("goals is empty: give one goal or several; columns hold the targets of each row.")
    if job.options.get(CLOCK_OPTION) is not None:
        raise InvalidValue("time_limit= makes results vary, and a job must be repeatable: use max_steps=, restarts=.")
    for name in RUN_OPTIONS:
        if name in job.options:
            raise InvalidValue(f"{name!r} is not an option of a job: give it to job.run, or as columns of its input.")
    solver = SolveRows(job.model, job.goals, job.options, threads=1).solver
    if job.device == "gpu":
        check_served(solver.solver, solver.solutions)


def prepare_fk(job: Any) -> FkRows:
    """Return the work object that computes the forward kinematics of rows."""
    if not job.options.get("frames"):
        raise InvalidValue("frames is empty: name the frames whose transforms you want.")
    return FkRows(job.model, job.options["frames"])


def check_map(job: Any) -> None:
    """Check that the job of a reach map names a frame of its body."""
    if "frame" not in job.options:
        raise InvalidValue("a reach map needs a frame: give frame=.")
    job.model.frame(job.options["frame"])


def prepare_map(job: Any, threads: int | None) -> MapProblem:
    """Return the prepared reach map problem."""
    return MapProblem.prepare(job.model, threads=threads, device=job.device, **job.options)


def find_level(device: str) -> str:
    """Return the instruction level of this machine's processor or GPU; answers of others differ in their last bits.

    Raises:
        InvalidValue: The device is a GPU, and this machine has none.
    """
    if device == "cpu":
        return f"{platform.machine().lower()} {native.level()}"
    cupy = load_cupy()
    try:
        return f"sm_{cupy.cuda.Device().compute_capability}"
    except Exception as error:  # CuPy raises various errors if there is no device
        raise InvalidValue(f"the job is for a GPU, and this machine has none: {error}") from None


WORKS = {
    "solve": Work(
        lambda job, threads: SolveRows(job.model, job.goals, job.options, job.device, threads),
        RowPlan,
        check_solve,
        has_gpu=True,
    ),
    "fk": Work(lambda job, _: prepare_fk(job), RowPlan, options=("frames",)),
    "retarget": Work(
        lambda job, _: RetargetClips(job.model, **job.options), ClipPlan, options=RETARGET_OPTIONS, reads_meshes=True
    ),
    "quality": Work(lambda job, _: QualityClips(**job.options), ClipPlan, options=QUALITY_OPTIONS, needs_model=False),
    "reach_map": Work(prepare_map, MapPlan, check_map, MAP_OPTIONS, has_gpu=True),
}
