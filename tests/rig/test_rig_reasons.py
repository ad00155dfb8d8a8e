"""Why a handle is not where it was pulled: data first, then words that a person would say."""

from __future__ import annotations

import numpy as np
import pytest

import poise
import walkers


def pull(rig: poise.Rig, handle: str, way: tuple[float, float, float], frames: int = 60) -> None:
    """Drag a handle by a way, and wait until it stands still."""
    start = rig.state.transform(handle).translation
    for share in (*np.linspace(0.0, 1.0, frames), *np.ones(frames)):
        rig.drag(handle, start + share * np.array(way))


def test_a_pelvis_over_pinned_feet_names_the_ankles_and_what_would_help() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    assert rig.why() == "All targets are reached."
    rig.pin("foot_l")
    rig.pin("foot_r")
    pull(rig, "pelvis", (0.0, -0.3, 0.0))
    (miss,) = rig.misses
    assert miss.handle == "pelvis"
    assert {(stop.part, stop.side, stop.kind) for stop in miss.stops} == {
        ("ankle", "left", "range"),
        ("ankle", "right", "range"),
    }
    assert all(stop.degrees is not None and abs(stop.degrees + 25.0) < 1e-9 for stop in miss.stops)
    assert miss.pinned == ("foot_l", "foot_r")
    assert "the left and the right ankle are bent to their limits (25 degrees)" in rig.why()
    assert "planted instead of pinned" in rig.why()


@pytest.mark.slow
def test_planted_feet_go_on_to_where_the_knees_end() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant()
    pull(rig, "pelvis", (0.0, -0.3, 0.0))
    assert not rig.misses
    pull(rig, "pelvis", (0.0, -0.5, 0.0))
    (miss,) = rig.misses
    assert ("knee", "left") in {(stop.part, stop.side) for stop in miss.stops}
    assert not miss.pinned


@pytest.mark.slow
def test_parts_without_a_role_are_named_and_distant_targets_are_reported() -> None:
    rig = poise.Rig(walkers.make_machine(scrambled=True, bend=0.2))
    rig.plant()
    hand = next(handle.name for handle in rig.handles.values() if handle.tool)
    pull(rig, hand, (0.0, 0.0, 3.0))
    (miss,) = rig.misses
    assert miss.metres > 0.5
    assert rig.why().startswith(f"{hand} is ")
    assert miss.text == rig.why().splitlines()[0]


@pytest.mark.slow
def test_a_foot_that_is_pulled_into_the_floor_reports_it() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant("foot_r")
    pull(rig, "foot_l", (0.0, -0.2, 0.0))
    (miss,) = rig.misses
    assert {stop.kind for stop in miss.stops} >= {"floor"}
    assert "on the floor" in rig.why()
    assert rig.solution is not None
    assert "stands on the floor" in rig.solution.why()


@pytest.mark.parametrize("name", ["humanoid", "machine", "scrambled"])
@pytest.mark.parametrize("depth", [0.1, 0.25, 0.4])
def test_a_squat_balances_or_says_that_it_does_not(name: str, depth: float) -> None:
    """A machine whose pelvis goes straight down by 40 cm cannot: its heels have to rise, and its hips end."""
    model = poise.load("humanoid") if name == "humanoid" else walkers.make_machine(scrambled=name == "scrambled")
    rig = poise.Rig(model)
    rig.plant()
    body = next(handle.name for handle in rig.handles.values() if handle.kind == "body")
    pull(rig, body, tuple(-depth * model.up_direction))
    solution = rig.solution
    assert solution is not None
    off = solution.errors["balance"][0]
    falls = off > 1e-4
    assert falls == (name != "humanoid" and depth == 0.4)
    assert ("is not balanced" in rig.why()) == falls
    if falls:
        assert rig.why().startswith("All targets are reached, but the body is not balanced")
        assert f"its centre of mass is {1000 * off:.3g} mm behind its feet" in rig.why()
        assert f"drag {body} elsewhere, or less far" in rig.why()
        assert "the left and the right ankle are bent to their limits" in rig.why()


def test_a_body_that_leans_says_to_which_side_it_falls() -> None:
    for way, word in (((0.5, 0.0, 0.0), "left of"), ((-0.5, 0.0, 0.0), "right of"), ((0.0, 0.0, 0.6), "ahead of")):
        rig = poise.Rig(poise.load("humanoid"))
        rig.pin("foot_l")
        rig.pin("foot_r")
        pull(rig, "hand_l" if way[0] > 0 else "hand_r", tuple(4.0 * np.array(way)))
        pull(rig, "pelvis", way)
        assert f"{word} its feet" in rig.why(), way
