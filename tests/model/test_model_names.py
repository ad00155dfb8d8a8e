"""Names of joints and frames, and the printed tree."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

import poise
from bodies import build_elbow_arm, models
from poise import ModelBuilder
from poise.errors import NameNotFound


def test_a_joint_equals_its_name() -> None:
    model = build_elbow_arm().build()
    assert "elbow" in model.joints
    assert model.joint("elbow") == "elbow"
    assert model.joint("elbow") != model.joint("shoulder")
    assert {model.joint("elbow"): 1}["elbow"] == 1  # type: ignore[index]
    assert f"{model.joint('elbow')}" == "elbow"
    assert model.frame("tip") == "tip"
    assert model.joint(model.joint("elbow")) is model.joint("elbow")
    assert model.frame(model.frame("tip")) is model.frame("tip")


def test_a_joint_s_name_means_its_frame() -> None:
    model = build_elbow_arm().build()
    assert model.frame("shoulder").name == "upper_arm"
    q = [0.1, 0.2]
    np.testing.assert_array_equal(model.fk(q, "shoulder"), model.fk(q, "upper_arm"))
    np.testing.assert_array_equal(model.jacobian(q, model.joint("shoulder").name), model.jacobian(q, "upper_arm"))
    np.testing.assert_array_equal(model.fk(q, model.frame("tip")), model.fk(q, "tip"))


@pytest.mark.parametrize(("asked", "meant"), [("elbw", "elbow"), ("Elbow", "elbow"), ("sholder", "shoulder")])
def test_wrong_joint_names_bring_the_closest(asked: str, meant: str) -> None:
    with pytest.raises(NameNotFound, match=f"no joint is called '{asked}'. Did you mean '{meant}'") as caught:
        build_elbow_arm().build().joint(asked)
    assert caught.value.name == asked
    assert meant in caught.value.choices
    assert isinstance(caught.value, KeyError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("call", ["fk", "jacobian", "hessian", "frame", "subtree"])
def test_wrong_frame_names_bring_the_closest(call: str) -> None:
    model = build_elbow_arm().build()
    arguments = ("uper_arm",) if call in ("frame", "subtree") else ([0, 0], "uper_arm")
    with pytest.raises(NameNotFound, match=r"no frame is called 'uper_arm'\. Did you mean 'upper_arm'"):
        getattr(model, call)(*arguments)


def test_names_far_from_all_bring_the_list() -> None:
    with pytest.raises(NameNotFound, match=r"There are: 'elbow', 'shoulder'\."):
        build_elbow_arm().build().joint("0123456789")


def test_names_are_any_text() -> None:
    names = ["a b", "hüfte", "膝", "x/y:z", "😀", "'", "<b>", "\n", "a\0b"]
    builder = ModelBuilder()
    for name in names:
        builder.add_joint(name, None, "revolute")
    model = builder.build()
    for name in names:
        assert model.fk(model.rest, name).shape == (4, 4)
        assert model.joint(name).name == name
    assert "&lt;b&gt;" in model._repr_html_()
    assert "<td><b>" not in model._repr_html_()


@pytest.mark.slow
@given(model=models())
def test_the_tree_shows_every_joint_once(model: poise.Model) -> None:
    lines = str(model).splitlines()
    assert len(lines) == 1 + len(model.frames)
    assert f"{model.nv} degree{'s' * (model.nv != 1)} of freedom" in lines[0]
    for joint in model.joints:
        shown = joint.name if joint.frame == joint.name else f"{joint.name} -> {joint.frame}"
        (line,) = [line for line in lines if f" {shown}  " in line]
        assert joint.kind in line
        assert f"<td>{joint.name}</td>" in model._repr_html_()
    assert (
        repr(model) == f"<Model {model.name!r}: {len(model.joints)} joints, {model.nv} DOF, {len(model.frames)} frames>"
    )
