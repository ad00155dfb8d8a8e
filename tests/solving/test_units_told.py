"""Lengths of a body whose file is in another unit than metres are printed in that unit, everywhere."""

from __future__ import annotations

import re

import pytest

import poise
from poise.goals import Reach

Z = (0.0, 0.0, 1.0)


def build(units: str, size: float) -> poise.Model:
    """Build an arm of two links, `size` long each."""
    builder = poise.ModelBuilder("arm")
    builder.units = units
    builder.add_joint("shoulder", None, "revolute", axis=Z, lower=-3.0, upper=3.0)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(size, 0.0, 0.0), axis=Z, lower=-2.0, upper=2.0)
    builder.add_frame("tip", "elbow", (size, 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize(("units", "size"), [("m", 1.0), ("cm", 100.0), ("in", 39.37), ("unknown", 7.0)])
def test_a_solution_and_its_reasons_have_the_unit_of_the_file(units: str, size: float) -> None:
    solution = poise.solve(build(units, size), Reach("tip", (3.0 * size, 0.0, 0.0)))
    named = "units" if units == "unknown" else units
    for text in (str(solution), solution.why()):
        told = re.findall(r"\d (m|dm|cm|mm|um|nm|in|ft|units)\b", text)
        assert told
        assert set(told) <= ({"m", "mm", "um", "nm"} if units == "m" else {named}), text
    assert f"{size:.3g} {named}" in solution.why()  # what is missing: one link
