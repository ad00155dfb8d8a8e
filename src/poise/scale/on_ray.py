"""Row jobs on Ray Data: one solver per actor, prepared once, with as many threads as the actor has cores.

Ray recovers from lost machines and has its own checkpoints, so no job folder is used. Flat columns and large batches
keep Ray's overhead small.
"""

from os import PathLike, fspath
from typing import Any

from poise.errors import INDEX_NAME, FormatError, InvalidValue, MissingExtra
from poise.scale.tables import ROWS, add_id, make_table

__all__ = ["BATCH", "RayWorker", "load_ray", "map_on_ray"]

BATCH = 1_000_000
WHERE = "the dataset"


def load_ray() -> Any:
    """Import and return Ray with its data module."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtra(f'jobs on Ray need it: pip install "{INDEX_NAME}[scale]"') from error
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
    """Return a lazy Ray dataset of the answers of a job; it is computed when it is read or written.

    Args:
        job: A job on rows: "solve" or "fk".
        dataset: A `ray.data.Dataset` with the columns that the job reads, and `id`: Ray does not keep the order.
        batch_size: The number of rows per call of an actor.
        num_cpus: The number of cores, and of solver threads, of an actor.
        num_gpus: The number of GPUs of an actor; by default 1 for a GPU job.
        concurrency: The number of actors, or (minimum, maximum); by default as many as fit, leaving one core for Ray's
            reading and writing.
        checkpoint: A folder, or a path in a bucket, that all nodes can access. Rows written by `write_parquet` are
            recorded there, and a second run skips them (Ray's CheckpointConfig). The dataset must then be read from
            files and written to files, and `id` must be unique.
        options: Further options of `map_batches`, such as `accelerator_type`.

    Raises:
        FormatError: The dataset lacks a column.
        InvalidValue: The job does not work on rows.
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
    """Return the number of actors that fit on a cluster, leaving one core free.

    Raises:
        InvalidValue: No core would be left for reading and writing, so that Ray would wait forever.
    """
    cores = room.get("CPU", 0.0) - 1.0
    if cores < num_cpus:
        raise InvalidValue(
            f"the cluster has {room.get('CPU', 0.0):g} cores, and an actor with num_cpus={num_cpus:g} leaves none "
            "for reading and writing, so Ray would wait forever: give fewer, or concurrency= yourself."
        )
    most = int(cores / num_cpus)
    return max(1, min(most, int(room.get("GPU", 0.0) / num_gpus)) if device == "gpu" else most)


class RayWorker:
    """A Ray actor: created once, called with one table at a time.

    Args:
        job: The job.
        num_cpus: The number of cores of the actor; Ray does not pass it to libraries with their own threads.
    """

    def __init__(self, job: Any, num_cpus: float) -> None:
        self.work = job.prepare(max(1, round(num_cpus)))

    def __call__(self, table: Any) -> Any:
        """Return the answers of a table, computed in slices to bound memory."""
        import pyarrow

        slices = [table.slice(first, ROWS) for first in range(0, max(1, table.num_rows), ROWS)]
        found = [(part, self.work.compute(part, WHERE)) for part in slices]
        return pyarrow.concat_tables(
            [make_table(columns, add_id(part, 0, len(next(iter(columns.values()))))) for part, columns in found]
        )
