"""Copies of models: each behaves as the original, whichever way it was made."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.formats.plain_values import dump_model, parse_model
from poise.model.derive import add_objects
from recordings import write_lying
from walks import make_walk


def copy_by_pickle(model: poise.Model) -> poise.Model:
    twin: poise.Model = pickle.loads(pickle.dumps(model))
    return twin


def copy_by_json(model: poise.Model) -> poise.Model:
    return parse_model(dump_model(model))


COPIES = pytest.mark.parametrize("copy", [copy_by_pickle, copy_by_json])


@pytest.fixture(scope="module")
def lying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a clip whose rest pose lies down, so that only its frames tell how the feet stand."""
    return write_lying(tmp_path_factory.mktemp("clips") / "lying.bvh", make_walk(40))


@COPIES
def test_a_copy_has_the_same_roles_and_soles(lying: Path, copy: Callable[[poise.Model], poise.Model]) -> None:
    model = poise.load(lying)
    twin = copy(model)
    assert twin == model
    one, other = poise.roles(model), poise.roles(twin)
    assert other == one
    assert list(other.contacts) == list(one.contacts)
    for name, point in one.contacts.items():
        assert other.contacts[name].frame == point.frame
        np.testing.assert_array_equal(other.contacts[name].point, point.point)


@COPIES
def test_a_copy_is_retargeted_alike(lying: Path, copy: Callable[[poise.Model], poise.Model]) -> None:
    model, walk = poise.load(lying), make_walk(8)
    one, other = (poise.retarget(walk, body).motion.q for body in (model, copy(model)))
    np.testing.assert_array_equal(other, one)


@COPIES
def test_a_copy_with_objects_has_the_roles_of_its_body(copy: Callable[[poise.Model], poise.Model]) -> None:
    body = poise.load("humanoid")
    held = poise.ModelBuilder("things").add_joint("ladder", None, "free", rest=(0, 0, 9, 1, 0, 0, 0)).build()
    scene = add_objects(body, held.layout.specs)
    assert copy(scene) == scene
    assert poise.roles(copy(scene)) == poise.roles(scene) == poise.roles(body)


@COPIES
def test_a_copy_lacks_the_roles_that_nothing_plays(copy: Callable[[poise.Model], poise.Model]) -> None:
    model = poise.load("humanoid").with_roles({"head": None})
    assert copy(model) == model
    assert "head" not in poise.roles(copy(model))


def test_models_with_other_example_poses_differ(lying: Path) -> None:
    model = poise.load(lying)
    (lying.parent / "other").mkdir()
    other = write_lying(lying.parent / "other" / "lying.bvh", make_walk(30))
    assert poise.load(other) != model
    assert poise.load(lying) == model


def test_a_tool_changes_no_role_and_no_sole(lying: Path) -> None:
    model = poise.load(lying)
    tool = model.with_frame("tool", model.roles["hand_l"], (0.0, 0.0, 0.1))
    np.testing.assert_array_equal(tool.example_poses, model.example_poses)
