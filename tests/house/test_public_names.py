"""Public is a short written list. To make a name public, write it here too, and in the changelog."""

import importlib
import types
from importlib.metadata import version

import pytest

import poise
from poise.errors import INDEX_NAME

NAMES = {
    *("Model", "ModelBuilder", "Joint", "Frame", "Pose", "Motion", "Transform", "Rotation"),
    *("load", "load_motion", "save", "solve", "Solver", "Solution", "Status", "PoiseError"),
    *(
        "solve_batch",
        "BatchSolution",
        "solve_all",
        "Answers",
        "find_singularities",
        "fit_spheres",
        "Rig",
        "plot",
        "show",
        "roles",
    ),
    *("retarget", "hand_points", "Mapping", "reach_map", "base_map", "ReachMap", "Object", "Grasp", "get_cmake_dir"),
}
ROOMS = {
    *(
        "anatomy",
        "answers",
        "batch",
        "diagnosis",
        "errors",
        "formats",
        "goals",
        "kinematics",
        "limits",
        "methods",
        "model",
    ),
    *("models", "motion", "pages", "pictures", "rig", "scale", "solvers", "spatial", "studio", "textbook"),
}


def test_the_list_is_the_written_one() -> None:
    assert set(vars(poise)["__all__"]) == NAMES | ROOMS
    assert len(vars(poise)["__all__"]) == len(set(vars(poise)["__all__"]))
    assert set(dir(poise)) >= NAMES | ROOMS


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_is_documented(name: str) -> None:
    assert getattr(poise, name).__doc__


@pytest.mark.parametrize("name", sorted(ROOMS))
def test_each_room_says_what_it_holds(name: str) -> None:
    room = getattr(poise, name)
    assert isinstance(room, types.ModuleType)
    assert room.__doc__
    assert all(hasattr(room, public) for public in room.__all__)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"Robot.*ModelBuilder"):
        _ = poise.Robot  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        importlib.import_module("poise.robot")


def test_the_version_is_the_installed_one() -> None:
    assert poise.__version__ == version(INDEX_NAME)
