"""Jobs on a real Ray cluster of two nodes on this machine, one of which is killed while it works."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from job_cases import ARM, GOAL, pa, pq
from poise.errors import FormatError, InvalidValue
from poise.scale import Job, on_ray

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours

MEMORY = 100_000_000  # of each node's object store
BLOCKS, ROWS = 24, 500
JOB = Job(ARM, GOAL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head with two cores, to which tests add nodes."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # it would write a token into the home folder
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # at 15 its workers starve behind other tests
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")  # a process takes seconds, and most would be idle
    os.environ.setdefault("RAY_idle_worker_killing_time_threshold_ms", "600000")  # after 1 s another would start
    os.environ.setdefault("RAY_DATA_PARQUET_FOOTER_NUM_ACTORS", "1")  # 32 processes would read the heads of two files
    os.environ.setdefault("RAY_health_check_period_ms", "500")  # five checks must fail before a node is called dead
    import ray.data
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": MEMORY}
    for chance in (2, 1, 0):  # a busy machine takes longer than the 30 s that Ray waits
        try:
            made = Cluster(initialize_head=True, head_node_args=head)
            break
        except Exception:
            if not chance:
                raise
    ray.init(address=made.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield made
    ray.shutdown()
    made.shutdown()


def make_tables() -> list[Any]:
    """Blocks of targets with ids."""
    rng, out = np.random.default_rng(0), []
    for k in range(BLOCKS):
        points = ARM.fk(ARM.random(rng, ROWS), ARM.frames[-1])[:, :3, 3]
        ids = np.arange(k * ROWS, (k + 1) * ROWS)
        out.append(pa.table({"id": ids, **dict(zip("xyz", points.T, strict=True))}))
    return out


def test_a_node_is_killed_and_every_row_is_there_once(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()

    class Noting(on_ray.RayWorker):
        """Notes on which node it works, and takes its time."""

        def __call__(self, table: Any) -> Any:
            time.sleep(0.1)
            out = super().__call__(table)
            with (notes / ray.get_runtime_context().get_node_id()).open("a") as file:
                file.write(f"{self.work.solver.threads}\n")
            return out

    monkeypatch.setattr(on_ray, "RayWorker", Noting)
    node = cluster.add_node(num_cpus=2, object_store_memory=MEMORY)
    tables = make_tables()
    answers, killed = [], False
    found = JOB.on_ray(ray.data.from_arrow(tables), batch_size=ROWS, concurrency=2)
    for batch in found.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        answers.append(batch)
        if not killed and len(list(notes.iterdir())) == 2:
            cluster.remove_node(node, allow_graceful=False)
            killed = True
    assert killed, "both nodes must have worked"
    threads = {line for note in notes.iterdir() for line in note.read_text().split()}
    assert threads == {"1"}, "as many as the actor has cores"
    table = pa.concat_tables(answers).sort_by("id")
    assert table["id"].to_pylist() == list(range(BLOCKS * ROWS))
    pq.write_table(pa.concat_tables(tables), tmp_path / "t.parquet")
    JOB.run(tmp_path / "t.parquet", tmp_path / "out")
    assert table.equals(pq.read_table(tmp_path / "out"))


def test_what_rays_checkpoint_knows_is_not_done_again(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=4, object_store_memory=MEMORY)  # Ray reads, solves, notes and writes at once
    (tmp_path / "in").mkdir()
    for k, table in enumerate(make_tables()[:2]):
        pq.write_table(table, tmp_path / "in" / f"{k}.parquet")
    for again in range(2):
        dataset = ray.data.read_parquet(str(tmp_path / "in"))
        dataset.context.checkpoint_config = None
        found = JOB.on_ray(dataset, concurrency=1, checkpoint=tmp_path / "noted")
        found.context.checkpoint_config.delete_checkpoint_on_success = False
        found.write_parquet(str(tmp_path / "out"))
        assert sorted(pq.read_table(tmp_path / "out")["id"].to_pylist()) == list(range(2 * ROWS)), again


def test_actors_leave_a_core_to_read_and_write_with() -> None:
    assert on_ray.count_actors({"CPU": 9.0}, "cpu", 2.0, 1.0) == 4
    assert on_ray.count_actors({"CPU": 64.0, "GPU": 8.0}, "gpu", 1.0, 1.0) == 8
    with pytest.raises(InvalidValue, match="the cluster has 2 cores, and an actor with num_cpus=2 leaves none"):
        on_ray.count_actors({"CPU": 2.0}, "cpu", 2.0, 1.0)


@pytest.mark.usefixtures("cluster")
def test_invalid_datasets_are_rejected_by_name() -> None:
    points = make_tables()[0]
    with pytest.raises(FormatError, match="no column 'id', and Ray keeps no order"):
        JOB.on_ray(ray.data.from_arrow(points.drop_columns(["id"])))
    with pytest.raises(FormatError, match="the dataset: has no column 'y'"):
        JOB.on_ray(ray.data.from_arrow(points.drop_columns(["y"])))
    with pytest.raises(InvalidValue, match="'quality' works on files"):
        Job.quality().on_ray(ray.data.from_arrow(points))
