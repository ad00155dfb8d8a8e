"""Columns of a Jacobian by name, in any order."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, random_model
from poise.errors import InvalidValue, NameNotFound
from poise.model.channels import name_channels


@pytest.mark.parametrize("seed", range(4))
def test_every_channel_is_one_column_in_the_given_order(seed):
    model = random_model(seed, joints=len(ALL_KINDS), kinds=ALL_KINDS)
    channels = [channel for joint in model.joints if joint.nv for channel in name_channels(joint)]
    assert len(channels) == len(set(channels)) == model.nv
    rng = np.random.default_rng(seed)
    q, frame, order = model.random(rng, 3), model.frames[-1], rng.permutation(model.nv)
    chosen = model.jacobian(q, frame, columns=[channels[i] for i in order])
    np.testing.assert_array_equal(chosen, model.jacobian(q, frame)[..., order])
    names, v = [channels[i] for i in order], rng.normal(size=(3, model.nv))
    for reference in ("world", "body"):
        rate = model.jacobian_dot(q, v, frame, point=(0.1, 0.0, 0.2), reference=reference)
        own = model.jacobian_dot(q, v, frame, point=(0.1, 0.0, 0.2), reference=reference, columns=names)
        np.testing.assert_array_equal(own, rate[..., order])
    some = order[: model.nv // 2]
    bend = model.hessian(q, frame, columns=[channels[i] for i in some])
    np.testing.assert_array_equal(bend, model.hessian(q, frame)[..., some, :][..., some])


def test_a_joint_means_all_its_columns_whatever_its_euler_order():
    builder = poise.ModelBuilder(name="arm")
    builder.add_joint("hip", None, "euler", order="ZXY")
    builder.add_joint("knee", "hip", "revolute", offset=(0.3, 0.1, 0.0))
    builder.add_frame("foot", "knee", (0.2, 0.0, 0.1))
    model = builder.build()
    q = np.array([0.3, -0.4, 0.5, 0.6])
    J = model.jacobian(q, "foot")
    np.testing.assert_array_equal(model.jacobian(q, "foot", columns=["knee", "hip"]), J[:, [3, 0, 1, 2]])
    by_letter = model.jacobian(q, "foot", columns=["hip.rx", "hip.ry", "hip.rz"])
    np.testing.assert_array_equal(by_letter, J[:, [1, 2, 0]])


def test_wrong_channels_are_named():
    model = poise.load("panda")
    with pytest.raises(NameNotFound, match="panda_joint9"):
        model.jacobian(model.rest, "panda_hand", columns=["panda_joint9"])
    with pytest.raises(InvalidValue, match="list"):
        model.jacobian(model.rest, "panda_hand", columns="panda_joint1")
    with pytest.raises(NameNotFound, match="panda_joint9"):
        model.hessian(model.rest, "panda_hand", columns=["panda_joint9"])
    with pytest.raises(InvalidValue, match="list"):
        model.jacobian_dot(model.rest, np.zeros(7), "panda_hand", columns="panda_joint1")
