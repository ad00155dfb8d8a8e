"""Damaged folders: every file of a finished job, damaged in many ways, is repaired or reported, never believed."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

import poise
from job_cases import ARM, GOAL, flip, make_job, make_points, read_bytes, write_clip, write_targets
from poise.errors import FormatError, PoiseError
from poise.scale import Job

Run = Callable[[Path], Any]

# ------------------------------------------------------------------------------------------------ one at a time


def test_a_part_with_a_flipped_bit_is_made_again_and_reported(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    before = read_bytes(out)
    part = sorted(out.glob("*.parquet"))[1]
    flip(part)
    report = job.run(targets, out)
    assert (report.done, report.skipped, report.complete) == (100, 280, True)
    assert report.damaged == (part.name,)
    assert part.name in str(report)
    assert report.to_dict()["damaged"] == [part.name]
    assert read_bytes(out) == before
    assert job.run(targets, out).damaged == ()


@pytest.mark.parametrize("file", ["*.parquet", "_parts-0of2.jsonl"])
def test_a_run_that_was_killed_finds_a_flipped_bit(targets: Path, tmp_path: Path, file: str) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, tmp_path / "whole")
    job.run(targets, out, shard="0/2")
    flip(min(out.glob(file)))
    report = job.run(targets, out)
    assert (report.done, report.complete) == (300, True)
    assert read_bytes(out) == read_bytes(tmp_path / "whole")


def test_half_a_line_of_a_killed_run_hides_no_other(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out, shard="0/2")
    journal = out / "_parts-0of2.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert job.run(targets, out, shard="0/2").done == 30
    assert job.run(targets, out, shard="0/2").done == 0


def test_a_damaged_part_of_another_shard_is_not_called_complete(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out, shard="0/2")
    for part in out.glob("*.parquet"):
        flip(part)
    report = job.run(targets, out, shard="1/2")
    assert not report.complete
    assert report.left > 0
    assert job.run(targets, out, shard="0/2").complete


# ------------------------------------------------------------------------------------------------ mutations


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of a file, damaged in one of several ways."""
    place, end = sorted(int(k) for k in rng.integers(0, len(data), 2))
    flipped = bytearray(data)
    flipped[place] ^= 1 << int(rng.integers(8))
    ways = [b"", data[:place], data[:place] + bytes(end - place) + data[end:], data[:place] + data[end + 1 :]]
    return [*ways, bytes(flipped), bytes(flipped)][int(rng.integers(6))]


def mutate_values(values: Any, rng: np.random.Generator) -> Any:
    """Return JSON values with one of them, at a random depth, of a wrong type, huge or missing."""
    if isinstance(values, (dict, list)) and values and rng.random() < 0.9:
        keys = list(values) if isinstance(values, dict) else range(len(values))
        key = keys[int(rng.integers(len(keys)))]
        items = dict(values) if isinstance(values, dict) else list(values)
        if rng.random() < 0.2:
            del items[key]
        else:
            items[key] = mutate_values(values[key], rng)
        return items
    others: list[Any] = [None, True, -1, 10**30, 1e308, float("nan"), "", "\x00", [], {}, [[]], {"is": "Reach"}]
    return others[int(rng.integers(len(others)))]


def damage(path: Path, rng: np.random.Generator) -> None:
    """Damage a file: its bytes, or its values if it holds JSON."""
    if path.suffix == ".json" and rng.random() < 0.5:
        path.write_text(json.dumps(mutate_values(json.loads(path.read_text()), rng)))
    else:
        path.write_bytes(mutate(path.read_bytes(), rng))


def make_tables(folder: Path) -> Run:
    write_targets(folder / "a.parquet", make_points(6), groups=4)
    return lambda out: make_job().run(folder, out, threads=1)


def make_map(_: Path) -> Run:
    job = Job.reach_map(ARM, ARM.frames[-1], spacing=0.7, directions=0)
    return lambda out: job.run(None, out, threads=1)


def make_clips(folder: Path) -> Run:
    write_clip(folder / "a.bvh", 0.2)
    (folder / "b.bvh").write_text("HIERARCHY\n")
    return lambda out: Job.quality().run(folder, out, threads=1)


def run_damaged(run: Run, out: Path, whole: dict[str, bytes], rng: np.random.Generator) -> tuple[str, bool]:
    """Damage one file of a finished folder, and run the job again: the folder is whole, or an error is raised."""
    name = sorted(whole)[int(rng.integers(len(whole)))]
    damage(out / name, rng)
    try:
        report = run(out)
    except PoiseError:
        return name, False
    assert report.complete
    assert read_bytes(out) == whole, name
    return name, True


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_tables, make_map, make_clips])
def test_no_damaged_folder_is_called_complete(
    make: Callable[[Path], Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poise.scale.folder.sync", lambda _: None)  # no power is lost here
    run, rng = make(tmp_path / "in"), np.random.default_rng(0)
    run(tmp_path / "whole")
    whole = read_bytes(tmp_path / "whole")
    copies = (copytree(tmp_path / "whole", tmp_path / f"out{k}") for k in range(100))
    ends = [run_damaged(run, copy, whole, rng) for copy in copies]
    assert {name for name, _ in ends} == set(whole)
    assert all(repaired for name, repaired in ends if name != "_job.json")  # all else can be made again


@pytest.mark.slow
@pytest.mark.parametrize("model", [ARM, ARM.locked({ARM.joints[0].name: 0.1})], ids=["by name", "described"])
def test_every_damaged_job_is_the_same_job_or_a_format_error(tmp_path: Path, model: poise.Model) -> None:
    job, path, rng = Job(model, GOAL), tmp_path / "job.json", np.random.default_rng(0)
    poise.save(job, path)
    text, paths = path.read_bytes(), []
    for _ in range(100):
        path.write_bytes(text)
        damage(path, rng)
        try:
            assert Job.load(path) == job
        except FormatError as error:
            paths.append(error.path)
    assert set(paths) == {str(path)}
    assert len(paths) > 50


WRONG: list[Any] = [
    {},
    {"model": 3},
    {"model": "planar3", "goals": 3},
    {"model": "planar3", "goals": [3]},
    {"model": "planar3", "goals": [{"is": "Reach"}], "options": []},
    {"model": "planar3", "goals": [{"is": "Box", "low": [0, 0, 0], "high": [1, 1, 1]}]},
    {"model": "planar3", "options": {"restarts": 1e300}},
    {"model": "planar3", "work": "sleep"},
    {"model": "planar3", "work": ["fk"]},
    {"model": "planar3", "work": "fk", "options": {"frames": 3}},
    {"model": "planar3", "device": {}},
]
TEXTS = ["", "[]", "{}", "[" * 100_000, *(json.dumps({"kind": "poise job", **values}) for values in WRONG)]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_job_of_wrong_values_is_a_format_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"job\.json: ") as error:
        Job.load(path)
    assert error.value.path == str(path)
