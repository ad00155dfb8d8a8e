"""Damaged folders: every file of a finished job, damaged in many ways, is repaired or reported, never believed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

import poise
from job_cases import ARM, TOOL, make_job, make_points, read_bytes, write_clip, write_targets
from poise.errors import FormatError, InvalidValue, PoiseError
from poise.goals import Reach
from poise.scale import Job

Run = Callable[[Path], Any]


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    """Two files of targets, in row groups of 4."""
    write_targets(tmp_path / "targets" / "a.parquet", make_points(10), groups=4)
    write_targets(tmp_path / "targets" / "b.parquet", make_points(6, 1), first=10, groups=4)
    return tmp_path / "targets"


def flip(path: Path, place: int) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def list_files(folder: Path) -> list[Path]:
    """List the files of a folder except its locks, in order."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


# ------------------------------------------------------------------------------------------------ one at a time


def test_a_part_with_a_flipped_bit_is_made_again_and_reported(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    before = read_bytes(out)
    part = sorted(out.glob("*.parquet"))[1]
    flip(part, 40)
    report = job.run(targets, out)
    assert (report.done, report.skipped, report.complete) == (4, 12, True)
    assert report.damaged == (part.name,)
    assert part.name in str(report)
    assert report.to_dict()["damaged"] == [part.name]
    assert read_bytes(out) == before
    assert job.run(targets, out).damaged == ()


def test_a_damaged_part_of_another_shard_is_not_called_complete(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out, shard="0/2")
    for part in out.glob("*.parquet"):
        flip(part, 40)
    report = job.run(targets, out, shard="1/2")
    assert not report.complete
    assert report.left > 0
    assert job.run(targets, out, shard="0/2").complete


@pytest.mark.parametrize("names", [["b.parquet"], ["a.parquet", "b.parquet", "c.parquet"]], ids=["fewer", "more"])
def test_other_inputs_need_another_folder(targets: Path, tmp_path: Path, names: list[str]) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    before = read_bytes(out)
    write_targets(targets / "c.parquet", make_points(5, 2), first=16)
    with pytest.raises(InvalidValue, match=r"other inputs.*'[ac]\.parquet'.*give another folder"):
        job.run([targets / name for name in names], out)
    assert read_bytes(out) == before


def test_a_value_changed_in_place_is_noticed(targets: Path, tmp_path: Path) -> None:
    job, out = make_job(), tmp_path / "out"
    job.run(targets, out)
    before = read_bytes(out)
    data = (targets / "a.parquet").read_bytes()
    number = np.float64(make_points(10)[1, 0]).tobytes()
    (targets / "a.parquet").write_bytes(data.replace(number, np.float64(make_points(10)[1, 0] + 1e-9).tobytes(), 1))
    with pytest.raises(InvalidValue, match=r"a\.parquet.*has changed since"):
        job.run(targets, out)
    assert read_bytes(out) == before


@pytest.mark.slow
def test_clips_of_another_folder_need_another_folder(tmp_path: Path) -> None:
    for k, name in enumerate(("one/a.bvh", "two/a.bvh", "three/b.bvh")):
        write_clip(tmp_path / name, 0.1 * k)
    job, out = Job.quality(), tmp_path / "out"
    job.run(tmp_path / "one", out, threads=1)
    before = read_bytes(out)
    with pytest.raises(InvalidValue, match=r"a\.bvh.*has changed since"):
        job.run(tmp_path / "two", out, threads=1)
    with pytest.raises(InvalidValue, match=r"other inputs.*'[ab]\.bvh'"):
        job.run(tmp_path / "three", out, threads=1)
    assert read_bytes(out) == before


# ------------------------------------------------------------------------------------------------ mutations


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of a file, damaged in one of several ways."""
    place, end = sorted(int(k) for k in rng.integers(0, len(data), 2))
    kind = rng.integers(6)
    if kind == 0:
        return b""
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:place] + bytes(end - place) + data[end:]
    if kind == 3:
        return data[:place] + data[end + 1 :]
    changed = bytearray(data)
    changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def mutate_words(words: Any, rng: np.random.Generator) -> Any:
    """Return JSON values with one of them, at a random depth, of a wrong type, huge or missing."""
    if isinstance(words, (dict, list)) and words and rng.random() < 0.9:
        keys = list(words) if isinstance(words, dict) else range(len(words))
        key = keys[int(rng.integers(len(keys)))]
        items = dict(words) if isinstance(words, dict) else list(words)
        if rng.random() < 0.2:
            del items[key]
        else:
            items[key] = mutate_words(words[key], rng)
        return items
    others: list[Any] = [None, True, -1, 10**30, 1e308, float("nan"), "", "\x00", [], {}, [[]], {"is": "Reach"}]
    return others[int(rng.integers(len(others)))]


def damage(path: Path, rng: np.random.Generator) -> None:
    """Damage a file: its bytes, or its values if it holds JSON."""
    if path.suffix == ".json" and rng.random() < 0.5:
        path.write_text(json.dumps(mutate_words(json.loads(path.read_text()), rng)))
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


def run_damaged(run: Run, whole: Path, copies: Iterator[Path], rng: np.random.Generator) -> tuple[str, bool]:
    """Damage one file of a finished folder, and run the job again: the folder is whole, or an error is raised."""
    out = next(copies)
    copytree(whole, out)
    files = list_files(out)
    path = files[int(rng.integers(len(files)))]
    damage(path, rng)
    try:
        report = run(out)
    except PoiseError:
        return path.name, False
    assert report.complete
    assert read_bytes(out) == read_bytes(whole), path
    return path.name, True


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_tables, make_map, make_clips])
def test_no_damaged_folder_is_called_complete(
    make: Callable[[Path], Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poise.scale.folder.sync", lambda _: None)  # no power is lost here
    run = make(tmp_path / "in")
    run(tmp_path / "whole")
    rng, copies = np.random.default_rng(0), (tmp_path / f"out{k}" for k in range(100))
    ends = [run_damaged(run, tmp_path / "whole", copies, rng) for _ in range(100)]
    assert {name for name, _ in ends} == {path.name for path in list_files(tmp_path / "whole")}
    assert all(whole for name, whole in ends if name != "_job.json")  # all else can be made again


@pytest.mark.slow
@pytest.mark.parametrize("model", [ARM, ARM.locked({ARM.joints[0].name: 0.1})], ids=["by name", "described"])
def test_every_damaged_job_is_the_same_job_or_a_format_error(tmp_path: Path, model: poise.Model) -> None:
    job, path, rng = Job(model, Reach(TOOL, (0.0, 0.0, 0.0))), tmp_path / "job.json", np.random.default_rng(0)
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
    {"model": "planar3", "options": {"restarts": 1e300}},
    {"model": "planar3", "work": "sleep"},
    {"model": "planar3", "work": ["fk"]},
    {"model": "planar3", "work": "fk", "options": {"frames": 3}},
    {"model": "planar3", "device": {}},
]
TEXTS = ["", "[]", "{}", "[" * 100_000, *(json.dumps({"kind": "poise job", **words}) for words in WRONG)]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_job_of_wrong_values_is_a_format_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"job\.json: ") as error:
        Job.load(path)
    assert error.value.path == str(path)
