"""Degrees instead of radians: reported with the correct call, without false alarms."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue, UnitWarning
from poise.goals import Reach
from poise.limits import Cone
from poise.model import BallRange

PI = math.pi


def built(kind: str = "revolute", **options: Any) -> poise.Model:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, kind, **options)
    builder.add_frame("tip", "a", (1, 0, 0))
    return builder.build()


DEGREES: list[tuple[str, dict[str, Any]]] = [
    ("revolute", {"lower": -90, "upper": 90}),
    ("revolute", {"lower": -170.5, "upper": 170.5}),
    ("revolute", {"lower": 0, "upper": 45}),
    ("revolute", {"lower": -360, "upper": 360}),
    ("revolute", {"lower": -2.0, "upper": 13}),
    ("universal", {"lower": (-1, -90), "upper": (1, 90)}),
    ("euler", {"order": "XYZ", "lower": (-30, -1, -1), "upper": (30, 1, 1)}),
    ("planar", {"lower": (-5, -5, -180), "upper": (5, 5, 180)}),
    ("ball", {"cone": BallRange(swing=60.0)}),
    ("ball", {"cone": BallRange(twist=(-45.0, 45.0))}),
    ("ball", {"cone": BallRange(angle=90.0)}),
]

RADIANS: list[tuple[str, dict[str, Any]]] = [
    ("revolute", {"lower": -6.28, "upper": 6.28}),
    ("revolute", {"lower": -2 * PI, "upper": 2 * PI}),
    ("revolute", {"lower": -4 * PI, "upper": 4 * PI}),
    ("revolute", {"lower": -12.5, "upper": 12.5}),
    ("revolute", {"lower": -1e16, "upper": 1e16}),
    ("revolute", {"lower": -1e9, "upper": 1e9}),
    ("revolute", {"lower": -1000, "upper": 1000}),
    ("revolute", {"lower": -10 * PI, "upper": 10 * PI}),  # a winch of ten turns
    ("revolute", {"lower": -31.4159, "upper": 31.4159}),
    ("revolute", {"lower": None, "upper": None}),
    ("prismatic", {"lower": -90, "upper": 90}),
    ("screw", {"pitch": 0.001, "lower": 0, "upper": 100}),
    ("translation3", {"lower": (-90,) * 3, "upper": (90,) * 3}),
    ("planar", {"lower": (-90, -90, -3), "upper": (90, 90, 3)}),
    ("ball", {"cone": BallRange(swing=PI, twist=(-PI, PI), angle=2 * PI)}),
]


@pytest.mark.parametrize(("kind", "options"), DEGREES, ids=str)
def test_a_range_in_degrees_warns_with_the_correct_call(kind: str, options: dict[str, Any]) -> None:
    with pytest.warns(UnitWarning, match=r"joint 'a': .*radians.*math\.radians") as told:
        built(kind, **options)
    assert all(one.filename == __file__ for one in told)


@pytest.mark.parametrize(("kind", "options"), RADIANS, ids=str)
def test_a_range_in_radians_is_taken_without_a_word(kind: str, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built(kind, **options)


def test_files_and_built_in_bodies_are_taken_at_their_word(tmp_path: Any) -> None:
    path = tmp_path / "arm.urdf"
    for bound in ("90", "1e16", "6.28", "100"):
        path.write_text(
            '<robot name="a"><link name="l"/><link name="m"/><joint name="j" type="revolute"><parent link="l"/>'
            f'<child link="m"/><axis xyz="0 0 1"/><limit lower="-{bound}" upper="{bound}" effort="1" velocity="1"/>'
            "</joint></robot>"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnitWarning)
            assert poise.load(path).upper[0] == float(bound)
            assert poise.load(path, base="free", up="y").nv == 7


@pytest.mark.parametrize(
    "options", [{"swing": 60}, {"swing": (60, 30)}, {"swing": 0.5, "twist": (-45, 45)}, {"angle": 90}], ids=str
)
def test_a_cone_in_degrees_is_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=r"Cone of joint 'b'.*radians"):
        Cone("b", **options)


def test_a_cone_of_half_a_turn_and_more_is_none() -> None:
    assert Cone("b", swing=PI).swing == PI
    assert Cone("b", swing=2 * PI).swing == PI
    assert Cone("b", twist=(-PI, PI)).twist == (-PI, PI)


# ------------------------------------------------------------------------------------------------ starts

PANDA = poise.load("panda")
REACH = Reach("panda_hand_tcp", (0.4, 0.0, 0.4))
IN_DEGREES = np.array([0.0, -45.0, 0.0, -135.0, 0.0, 90.0, 45.0])


def test_a_start_in_degrees_warns_with_the_correct_call() -> None:
    with pytest.warns(UnitWarning, match=r"joint 'panda_joint2' is at -45.*math\.radians\(-45\).*deg2rad") as told:
        poise.solve(PANDA, REACH, IN_DEGREES)
    assert told[0].filename == __file__
    with pytest.warns(UnitWarning, match="radians"):
        poise.solve(PANDA, REACH, IN_DEGREES.tolist())
    with pytest.warns(UnitWarning, match="radians"):
        poise.solve_batch(PANDA, REACH, np.full((2, 3), 0.4), np.stack([np.deg2rad(IN_DEGREES), IN_DEGREES]))


def test_a_start_in_radians_is_taken_without_a_word() -> None:
    wheel = built("continuous")
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitWarning)
        poise.solve(PANDA, REACH, np.deg2rad(IN_DEGREES))
        poise.solve(PANDA, REACH, 3.0 * rng.normal(size=7))  # outside its ranges, as a start may be
        poise.solve(PANDA, REACH, np.full(7, 4.0 * PI))
        poise.solve(wheel, Reach("tip", (0.0, 1.0, 0.0)), [100.0])  # has turned for a while
        poise.solve(built("prismatic", lower=0.0, upper=1.0), Reach("tip", (1.0, 0.0, 0.5)), [90.0])
