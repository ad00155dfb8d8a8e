"""The rows of a job on Ray Data: one solver per actor, prepared once, with as many threads as the actor has cores.

Ray recovers from lost machines and has its own checkpoints, so the folder of a run is not used. Flat columns and large
batches keep Ray's overhead small.
"""

from __future__ import annotations

from contextlib import ExitStack
from os import PathLike, fspath
from typing import Any

from poise.errors import FormatError, InvalidValue, MissingExtra
from poise.scale.levels import run_at_level
from poise.scale.tables import ROWS, add_id, make_table

__all__ = ["BATCH", "RayWorker", "load_ray", "map_on_ray"]

BATCH = 1_000_000
WHERE = "the dataset"


def load_ray() -> Any:
    """Return Ray with its data module."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtra('jobs on Ray need it: pip install "poise[scale]"') from error
    return ray


def map_on_ray(
    job: Any,
    dataset: Any,
    *,
    batch_size: int = BATCH,
    num_cpus: float = 1.0,
    num_gpus: float | None = None,
    concurrency: Any = None,
    checkpoint: str | PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Return a Ray dataset of the answers of a job; it is computed on reading or writing.

    Args:
        job: A job on rows: "solve" or "fk".
        dataset: A `ray.data.Dataset` with the columns that the job reads, and `id`: Ray keeps no order.
        batch_size: Rows that an actor is given at once.
        num_cpus: Cores of an actor: so many threads solve there.
        num_gpus: GPUs of an actor; 1 for a job on a GPU unless given.
        concurrency: How many actors, or (least, most); by default as many as fit, leaving one core for Ray to read
            and write with.
        checkpoint: A folder, or a path in a bucket, that all nodes reach: rows that were written by `write_parquet` are
            noted there, and a second run leaves them out (Ray's own CheckpointConfig). The dataset must then be one
            that Ray reads from files and writes to files, and `id` unique.
        options: More for `map_batches`, such as `accelerator_type`.

    Raises:
        FormatError: The dataset lacks a column.
        InvalidValue: The job is not one on rows.
    """
    ray = load_ray()
    if not hasattr(job.prepare(), "compute"):
        raise InvalidValue(
            f"on_ray is for rows, and {job.work!r} works on files: use job.run, with a shard on each machine."
        )
    names = dataset.schema().names
    if "id" not in names:
        raise FormatError(
            "has no column 'id', and Ray keeps no order: add one, so that answers can be identified.", WHERE
        )
    wanted = ["id", *job.prepare().list_columns(names, WHERE)]
    if checkpoint is not None:
        from ray.data.checkpoint import CheckpointConfig

        dataset.context.checkpoint_config = CheckpointConfig("id", fspath(checkpoint))
    if concurrency is None:
        concurrency = 1, count_actors(ray.cluster_resources(), job.device, num_cpus, num_gpus or 1.0)
    least, most = (concurrency, concurrency) if isinstance(concurrency, int) else concurrency
    chosen = {"num_cpus": num_cpus, "num_gpus": num_gpus or (1 if job.device == "gpu" else None)}
    return dataset.select_columns(wanted).map_batches(
        RayWorker,
        fn_constructor_args=(job, num_cpus),
        batch_size=batch_size,
        batch_format="pyarrow",
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        **chosen,
        **options,
    )


def count_actors(room: dict[str, float], device: str, num_cpus: float, num_gpus: float) -> int:
    """Return how many actors fit on a cluster, leaving one core free.

    Raises:
        InvalidValue: There is none left to read and write with: Ray would wait for ever.
    """
    cores = room.get("CPU", 0.0) - 1.0
    if cores < num_cpus:
        raise InvalidValue(
            f"the cluster has {room.get('CPU', 0.0):g} cores, and an actor with num_cpus={num_cpus:g} leaves none to "
            "read and write with, so that Ray would wait for ever: give fewer, or concurrency= yourself."
        )
    most = int(cores / num_cpus)
    return max(1, min(most, int(room.get("GPU", 0.0) / num_gpus)) if device == "gpu" else most)


class RayWorker:
    """The actor: made once, called with one table at a time.

    Args:
        job: The job.
        num_cpus: The cores of the actor, which Ray does not pass on to libraries with their own threads.
    """

    def __init__(self, job: Any, num_cpus: float) -> None:
        self._level = ExitStack()
        self._level.enter_context(run_at_level(job.device, job.level))  # for as long as the actor lives
        self.work = job.prepare(max(1, round(num_cpus)))

    def __call__(self, table: Any) -> Any:
        """Return the answers of a table; in slices, so that memory stays bounded."""
        import pyarrow

        slices = [table.slice(first, ROWS) for first in range(0, max(1, table.num_rows), ROWS)]
        found = [(part, self.work.compute(part, WHERE)) for part in slices]
        return pyarrow.concat_tables(
            [make_table(columns, add_id(part, 0, len(next(iter(columns.values()))))) for part, columns in found]
        )
