"""Lists of answers do not depend on the unit of length: arms of a tenth of a millimetre and of kilometres are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm
from poise.goals import Reach

SCALES = (1e-4, 1e-2, 1e2, 1e4)


def scale_arm(model: poise.Model, by: float) -> poise.Model:
    """Return an arm of which every length is so many times as long."""
    builder, parent = poise.ModelBuilder("scaled"), None
    for joint in model.joints:
        T = joint.offset.matrix.copy()
        T[:3, 3] *= by
        given: dict[str, Any] = {"offset": poise.Transform.from_matrix(T)}
        if joint.kind != "fixed":
            stretch = by if joint.kind == "prismatic" else 1.0
            given |= {"axis": joint.axis, "lower": stretch * joint.lower, "upper": stretch * joint.upper}
        builder.add_joint(joint.name, parent, joint.kind, **given)
        parent = joint.name
    T = model.frame("tool").offset.matrix.copy()
    T[:3, 3] *= by
    return builder.add_frame("tool", parent, offset=poise.Transform.from_matrix(T)).build()


def measure(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the longest way of a joint between poses."""
    return np.asarray(np.abs(a - b).max(axis=-1, initial=0.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joints", [6, 7])
def test_an_arm_of_any_size_has_the_same_list(kind: str, joints: int) -> None:
    rng = np.random.default_rng([41, joints])
    model = draw_arm(rng, kind, joints=joints)
    slides = np.array([joint.kind == "prismatic" for joint in model.joints if joint.kind != "fixed"])
    listed = 0
    for q in model.random(rng, 2):
        T = model.fk(q, "tool")
        own = poise.solve_all(model, Reach("tool", T), q, samples=3)
        listed += len(own)
        for by in SCALES:
            T_scaled, stretch = T.copy(), np.where(slides, by, 1.0)
            T_scaled[:3, 3] *= by
            answers = poise.solve_all(scale_arm(model, by), Reach("tool", T_scaled), q * stretch, samples=3)
            assert answers.complete == own.complete
            assert [arc.branch for arc in answers.arcs] == [arc.branch for arc in own.arcs]
            for arc, other in zip(answers.arcs, own.arcs, strict=True):
                unit = by if arc.slides else 1.0
                assert max(abs(arc.low / unit - other.low), abs(arc.high / unit - other.high)) < 3e-6
            found = np.array([one.q / stretch for one in answers]).reshape(-1, model.nq)
            assert len(found) == len(own)
            assert all(measure(found, one.q).min() < 1e-4 for one in own)
    assert listed > 0
