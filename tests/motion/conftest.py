"""Fixtures of several files: the humanoid, a small one, and a humanoid that lifts a box."""

from __future__ import annotations

import pytest

import poise
from lifting import SIZE, lift, list_grasps
from poise.model import Box
from poise.motion import track


@pytest.fixture(scope="module")
def body():
    return poise.load("humanoid")


@pytest.fixture(scope="module")
def small():
    return poise.load("humanoid", scale=0.6)


@pytest.fixture(scope="module")
def box():
    return poise.Object(Box(SIZE), lift(), name="box", fps=24.0)


@pytest.fixture(scope="module")
def lifted(body, box):
    return track(body, list_grasps(box), contacts="auto")
