"""Jobs as values: pickled, saved, written by hand; and maps in parts."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from goal_cases import MAKERS, place_goal
from job_cases import ARM, GOAL, TOOL, read_bytes
from poise.errors import FormatError, InvalidValue, ModelMismatch
from poise.formats.plain_values import decode_value, encode_value
from poise.goals import Balance, Custom, Orient, Reach, Rest
from poise.kinematics.regions import Ball, HalfSpace
from poise.limits import Clearance
from poise.methods import LM
from poise.scale import Job, bodies
from poise.scale.job import CLASSES
from walks import make_walk


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_every_goal_is_read_as_it_was_written(make: Any) -> None:
    model, goal = place_goal(make)
    if isinstance(goal, Custom):
        with pytest.raises(InvalidValue):
            encode_value(goal, "goal", CLASSES)
        return
    text = json.dumps(encode_value(goal, "goal", CLASSES))
    again = decode_value(json.loads(text), CLASSES, model)
    assert type(again) is type(goal)
    assert json.dumps(encode_value(again, "goal", CLASSES)) == text
    old, new = goal.rows(model), again.rows(model)
    assert np.array_equal(old.target, new.target)
    assert np.array_equal(old.weight, new.weight)


def make_rich_job() -> Job:
    model = poise.load("humanoid")
    goals = [
        Reach("hand_l", poise.Transform.identity(), weight=[1, 1, 1, 0.1, 0.1, 0.1], tolerance=(1e-3, 1e-2)),
        Orient("head", poise.Rotation.from_axis_angle((0, 1, 0), 0.3), priority=1),
        Rest(poise.Pose(model), gains={"spine": 2.0} if "spine" in {j.name for j in model.joints} else None),
    ]
    limits = [Clearance(pairs=[], world=[HalfSpace((0, 0, 0), (0, 1, 0)), Ball((1, 1, 1), 0.2)])]
    return Job(model, goals, {"limits": limits, "method": LM(), "seed": 3})


def test_a_job_is_the_same_pickled_and_saved(tmp_path: Path) -> None:
    job = make_rich_job()
    poise.save(job, tmp_path / "job.json")
    for again in (pickle.loads(pickle.dumps(job)), Job.load(tmp_path / "job.json")):
        assert again == job
        assert hash(again) == hash(job)
        assert again.hash == job.hash
        assert again.plain_values() == job.plain_values()
        assert again.model == job.model


def test_a_job_holds_a_mapping_that_was_found(tmp_path: Path) -> None:
    model = poise.load("humanoid")
    mapping = poise.Mapping.between(model, model)
    job = Job.retarget(model, mapping=mapping)
    again = Job.load(poise.save(job, tmp_path / "job.json"))
    assert again.options["mapping"] == mapping
    assert again.hash == job.hash


def test_the_hash_is_of_all_that_answers_depend_on() -> None:
    jobs = [
        Job(ARM, GOAL),
        Job(ARM, GOAL, device="gpu"),
        Job(ARM, GOAL, {"seed": 1}),
        Job(ARM, Reach(TOOL, (0.0, 0.0, 0.0), tolerance=1e-6)),
        Job(ARM.locked({ARM.joints[0].name: 0.1}), GOAL),
        Job.fk(ARM, TOOL),
    ]
    assert len({job.hash for job in jobs}) == len(jobs)
    assert Job("planar3", [GOAL]).hash == jobs[0].hash


def test_a_job_may_be_written_by_hand(tmp_path: Path) -> None:
    path, goal = tmp_path / "job.json", {"is": "Reach", "frame": TOOL, "target": [0, 0, 0]}
    path.write_text(json.dumps({"kind": "poise job", "model": "planar3", "goals": [goal]}))
    assert Job.load(path) == Job("planar3", GOAL)
    path.write_text(json.dumps({"kind": "poise job", "model": "planar3", "goals": [goal | {"is": "Reech"}]}))
    with pytest.raises(FormatError, match=r"job\.json.*'Reech'.*'Reach'"):
        Job.load(path)


# ------------------------------------------------------------------------------------------------ maps


@pytest.mark.slow
def test_a_reach_map_in_parts_is_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.scale.maps.POSES", 100)
    options: dict[str, Any] = {"spacing": 0.4, "directions": 4, "turns": 2, "manipulability": True}
    job, out = Job.reach_map("ur5e", "tool0", **options), tmp_path / "out"
    first = job.run(None, out, shard="0/2")
    assert not first.complete
    assert first.left > 0
    report = job.run(None, out)
    assert report.complete
    assert report.skipped == first.done > 0
    found, whole = poise.ReachMap.load(out / "map.npz"), poise.reach_map(poise.load("ur5e"), "tool0", **options)
    for name in ("reached", "proved", "undecided", "manipulability", "origin"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    job.run(None, tmp_path / "once")
    assert read_bytes(out) == read_bytes(tmp_path / "once")
    with pytest.raises(InvalidValue, match="has no input"):
        job.run("targets", out)
    with pytest.raises(InvalidValue, match="spacing"):
        Job.reach_map("planar3", TOOL, spacing=-1.0).run(None, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_frames_whose_names_are_numbers_stay_names() -> None:
    goal = decode_value(encode_value(Balance(["1", "2"]), "goal", CLASSES), CLASSES, None)
    assert goal.support == ("1", "2")


def test_a_body_with_another_key_has_changed(tmp_path: Path) -> None:
    poise.save(make_walk(4), tmp_path / "walk.bvh")
    model = poise.load(tmp_path / "walk.bvh")
    assert model.example_poses is not None
    words = bodies.describe_body(model, with_files=True)
    assert "load" in words
    with pytest.raises(ModelMismatch, match="has changed"):
        bodies.read_body(words | {"key": "0" * 16})
