"""Reach maps: what single solves say, place by place; whatever the pieces, the threads and the turn of the base."""

import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.batch import maps, places
from poise.batch.orientations import orient
from poise.errors import FormatError, InvalidValue, ModelMismatch, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import Reach
from poise.spatial.directions import spread_directions

UR5E, PANDA, PLANAR = poise.load("ur5e"), poise.load("panda"), poise.load("planar3")
SHARES = ("reached", "proved", "undecided")


def small(**options: Any) -> poise.ReachMap:
    given = {"spacing": 0.3, "directions": 6, "turns": 2, **options}
    return poise.reach_map(UR5E, "tool0", **given)


def same(a: poise.ReachMap, b: poise.ReachMap) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in SHARES)


@pytest.mark.parametrize("count", [1, 2, 3, 50, 200])
def test_directions_are_unit_and_even(count: int) -> None:
    d = spread_directions(count)
    assert d.shape == (count, 3)
    np.testing.assert_allclose(np.linalg.norm(d, axis=1), 1.0)
    assert np.linalg.norm(d.mean(axis=0)) <= 1.0 / count + 1e-12
    if count >= 50:
        apart = np.arccos(np.clip(d @ d.T - 2.0 * np.eye(count), -1.0, 1.0)).min(axis=1)
        assert apart.min() > 0.7 * np.sqrt(4.0 * np.pi / count)  # as far apart as even ones are


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.6, 0.0, -0.8)])
def test_orientations_bring_the_axis_to_the_directions(axis: tuple[float, float, float]) -> None:
    d = np.concatenate([spread_directions(20), [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0]]])
    R = orient(d, 5, np.array(axis))
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)
    np.testing.assert_allclose(R @ np.array(axis), np.repeat(d, 5, axis=0), atol=1e-14)
    about = R[0].T @ R[1]  # a fifth of a turn about the axis itself
    assert np.trace(about) == pytest.approx(1.0 + 2.0 * np.cos(2.0 * np.pi / 5.0))
    np.testing.assert_allclose(about @ np.array(axis), axis, atol=1e-14)


@pytest.mark.parametrize(
    ("model", "frame", "options"),
    [
        (UR5E, "tool0", {"box": ((-0.5, -0.5, -0.2), (0.7, 0.4, 0.7)), "spacing": 0.4, "directions": 5, "turns": 2}),
        (PLANAR, "tip", {"spacing": 2.0, "directions": [(0, 0, 1), (0, 0, -1), (1, 0, 0)], "turns": 4}),
        (PLANAR, "tip", {"spacing": 0.9, "directions": 0}),
    ],
)
def test_a_map_is_what_single_solves_say(model: poise.Model, frame: str, options: dict[str, Any]) -> None:
    found = poise.reach_map(model, frame, **options)
    R = orient(found.directions, found.turns, found.axis)
    counted = np.zeros((3, *found.shape))
    for index in np.ndindex(*found.shape):
        p = found.centers[index]
        targets: list[Any] = [p] if not len(R) else [poise.Transform(poise.Rotation.from_matrix(r), p) for r in R]
        for target in targets:
            answer = poise.solve(model, Reach(frame, target))
            counted[(0 if answer.reached else 1 if answer.status is poise.Status.UNREACHABLE else 2, *index)] += 1
    counted /= found.orientations
    # what single solves reach is reached; a chain in a plane proves more than they do, and never against them
    np.testing.assert_allclose(found.reached, counted[0], atol=1e-6)
    assert (found.proved >= counted[1] - 1e-6).all()
    assert found.reached.any()
    assert found.proved.any()


@pytest.mark.parametrize("model", [UR5E, PANDA])
def test_shares_are_whole_numbers_of_orientations_and_add_up(model: poise.Model) -> None:
    found = poise.reach_map(model, model.frames[-1], 0.4, 5, 2)
    total = sum(getattr(found, name).astype(np.float64) for name in SHARES)
    np.testing.assert_allclose(total, 1.0, atol=1e-6)
    for name in SHARES:
        counts = getattr(found, name) * found.orientations
        np.testing.assert_allclose(counts, counts.round(), atol=1e-5)
        assert counts.min() >= 0.0


@pytest.mark.slow
def test_a_quarter_turn_of_the_base_turns_the_map() -> None:
    # the first and the last joint of the UR5e turn all around: turned directions at a turned place are the same poses
    box = ((-0.75, -0.75, -0.25), (0.75, 0.75, 0.75))
    d = spread_directions(8)
    turned = np.stack([-d[:, 1], d[:, 0], d[:, 2]], axis=1)
    here = poise.reach_map(UR5E, "tool0", 0.5, d, 1, box=box)
    there = poise.reach_map(UR5E, "tool0", 0.5, turned, 1, box=box)
    # a place (x, y) comes to (-y, x)
    np.testing.assert_allclose(np.rot90(here.reached, 1, axes=(0, 1)), there.reached, atol=1e-6)
    assert not np.array_equal(here.reached, here.reached[0, 0, 0] * np.ones_like(here.reached))


@pytest.mark.parametrize(
    ("name", "frame"), [("planar3", "tip"), ("ur5e", "tool0"), ("panda", "panda_hand_tcp"), ("humanoid", "hand_l")]
)
def test_a_place_where_the_frame_was_seen_is_never_proved_away(name: str, frame: str) -> None:
    model = poise.load(name)
    q = model.random(np.random.default_rng(5), 12)
    if name == "humanoid":
        q[:, :7] = model.rest[:7]
    for T in model.fk(q, frame):
        p = T[:3, 3]
        found = poise.reach_map(model, frame, 0.1, 0, box=(p, p))
        assert found.shape == (1, 1, 1)
        np.testing.assert_allclose(found.origin, p)
        assert found.proved.item() == 0.0


@pytest.mark.slow
def test_pieces_and_threads_do_not_change_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    once = small(threads=1)
    assert same(once, small(threads=2))
    monkeypatch.setattr(maps, "ROWS", 7)  # less than one voxel
    assert same(once, small())


@pytest.mark.slow
def test_poses_that_distances_exclude_are_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    found = small(progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    asked = seen[-1][1]
    assert seen[-1] == (asked, asked)
    assert asked < 0.7 * found.poses
    monkeypatch.setattr(places, "find_bound", lambda *_: None)
    all_of_it = poise.reach_map(UR5E, "tool0", 0.3, 6, 2, box=(found.origin - 0.15, found.centers[-1, -1, -1] + 0.15))
    np.testing.assert_allclose(all_of_it.reached, found.reached, atol=1e-6)


def test_places_are_found_by_their_point() -> None:
    found = small(manipulability=True)
    index = np.unravel_index(int(np.argmax(found.reached)), found.shape)
    center = found.centers[index]
    for off in (-0.149, 0.0, 0.149):
        voxel = found.at(center + off)
        assert voxel.reached == found.reached[index] > 0.0
        assert voxel.manipulability == found.manipulability[index] > 0.0  # type: ignore[index]
        np.testing.assert_allclose(voxel.center, center)
    assert found.at((9, 9, 9)) == (0.0, 1.0, 0.0, None, None)
    boxed = poise.reach_map(UR5E, "tool0", 0.1, 0, box=(center, center))
    assert boxed.at((9, 9, 9)).undecided == 1.0
    assert len(found.points) == (found.reached > 0).sum()
    assert len(found.find(0.5)) == (found.reached > 0.5).sum()
    assert found.volume == pytest.approx(len(found.points) * 0.3**3)
    assert found.farthest <= 1.2


def test_manipulability_is_that_of_a_pose_there() -> None:
    p = np.array((0.3, 0.3, 0.4))
    found = poise.reach_map(UR5E, "tool0", 0.1, 4, 1, box=(p, p), manipulability=True)
    R = orient(found.directions, 1, found.axis)
    T = np.tile(np.eye(4), (4, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = R, p
    batch = poise.solve_batch(UR5E, Reach("tool0", np.eye(4)), T)
    own = [poise.kinematics.manipulability(UR5E, q, "tool0").measure for q in batch.q[batch.reached]]
    assert found.manipulability is not None
    assert found.manipulability.item() == pytest.approx(max(own), rel=1e-6)


def test_a_map_comes_back_from_its_file(tmp_path: Path) -> None:
    found = small(manipulability=True)
    path = poise.save(found, tmp_path / "map.npz")
    again = poise.ReachMap.load(path)
    assert same(found, again)
    assert np.array_equal(found.manipulability, again.manipulability)  # type: ignore[arg-type]
    assert again.model is UR5E
    assert str(again) == str(found)
    for name in ("spacing", "frame", "name", "turns", "whole", "orientations"):
        assert getattr(again, name) == getattr(found, name)
    assert str(found).splitlines()[0].startswith("Reach of 'tool0' of 'ur5e': 7 x 7 x 7 voxels of 30 cm")
    assert "<table>" in found._repr_html_()


def test_files_that_hold_no_map_are_rejected(tmp_path: Path) -> None:
    found = small()
    with pytest.raises(FormatError, match="npz"):
        poise.save(found, tmp_path / "map.csv")
    with pytest.raises(FormatError):
        poise.ReachMap.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FormatError, match="no reach map"):
        poise.ReachMap.load(tmp_path / "other.npz")
    arrays = found.to_arrays()
    for wrong in ({"proved": np.zeros(3)}, {"origin": np.zeros(2)}):
        np.savez(tmp_path / "wrong.npz", **{**arrays, **wrong})  # type: ignore[arg-type]
        with pytest.raises(FormatError, match="not a complete reach map"):
            poise.ReachMap.load(tmp_path / "wrong.npz")
    del arrays["frame"]
    np.savez(tmp_path / "part.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="not a complete reach map"):
        poise.ReachMap.load(tmp_path / "part.npz")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"spacing": 0.0}, InvalidValue, "spacing"),
        ({"spacing": "fine"}, InvalidValue, "spacing"),
        ({"spacing": 1e-5}, InvalidValue, "voxels"),
        ({"directions": -1}, InvalidValue, "directions"),
        ({"directions": [(0, 0, 0)]}, InvalidValue, "directions"),
        ({"directions": [(0, 1)]}, ShapeMismatch, "directions"),
        ({"directions": "many"}, InvalidValue, "directions"),
        ({"directions": None}, PoiseError, "directions"),
        ({"directions": 1 << 20, "turns": 3600}, InvalidValue, "directions .* turns"),
        ({"turns": 0}, InvalidValue, "turns"),
        ({"axis": "w"}, InvalidValue, "axis"),
        ({"box": (0, 0, 0)}, ShapeMismatch, "box"),
        ({"device": "tpu"}, InvalidValue, "device"),
        ({"progress": 3}, InvalidValue, "progress"),
    ],
)
def test_wrong_options_are_rejected_by_name(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        small(**options)


def test_a_missing_frame_is_rejected() -> None:
    with pytest.raises(NameNotFound):
        poise.reach_map(UR5E, "nose")
    with pytest.raises(ModelMismatch, match=r"poise\.load"):
        poise.reach_map("ur5e", "tool0")  # type: ignore[arg-type]
    builder = poise.ModelBuilder("rail")
    builder.add_joint("slide", None, "prismatic")
    builder.add_joint("turn", "slide", "revolute")
    with pytest.raises(InvalidValue, match="box="):
        poise.reach_map(builder.build(), "turn")


@pytest.mark.slow
def test_control_c_is_handled_at_once() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        begun = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            poise.reach_map(PANDA, "panda_hand_tcp", 0.02)
        assert time.perf_counter() - begun < 0.5 + 0.5  # half a second for a machine that is busy
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_progress_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setattr(maps, "ROWS", 100)
    monkeypatch.setattr("poise.progress_line.FIRST_REPORT_S", 0.0)
    monkeypatch.setattr("poise.progress_line.BETWEEN_REPORTS_S", 0.0)
    options = {"spacing": 0.3, "directions": 12, "turns": 2}
    arm = poise.load("ur5e")
    quiet = poise.reach_map(arm, "tool0", **options)
    assert capsys.readouterr().err == ""  # not a terminal
    reported = poise.reach_map(arm, "tool0", progress=True, **options)
    shown = capsys.readouterr().err
    assert " poses, " in shown
    assert shown.endswith("\r")
    np.testing.assert_array_equal(reported.reached, quiet.reached)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    poise.reach_map(arm, "tool0", **options)
    assert " poses, " in capsys.readouterr().err
    poise.reach_map(arm, "tool0", progress=False, **options)
    assert capsys.readouterr().err == ""
    with pytest.raises(InvalidValue, match="True or False"):
        poise.reach_map(arm, "tool0", progress="yes", **options)
