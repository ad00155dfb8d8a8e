"""The argument of the GPU kernels: Python fills it by the names and places that C++ publishes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.native import core
from poise.native.gpu import device
from poise.native.gpu.device import OUTPUTS, DeviceProblem, limit_searches


class FakeArray:
    """An array on a device that is not there: its size, its type and an address of its own."""

    made = 0

    def __init__(self, size: int, dtype: Any) -> None:
        FakeArray.made += 1
        self.size, self.dtype, self.data = size, dtype, SimpleNamespace(ptr=FakeArray.made << 20)

    def __len__(self) -> int:
        return self.size


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0))
    fake = SimpleNamespace(cuda=cuda, empty=FakeArray, asarray=lambda x: FakeArray(len(x), x.dtype))
    monkeypatch.setattr(device, "load_cupy", lambda: fake)


def make_layout(goals: int) -> Any:
    given: Any = core.device_call(goals)
    return np.dtype(given)


def prepare() -> Any:
    model = poise.load("humanoid")
    return poise.Solver(model, [Reach(name, (0.1, 0.2, 0.3)) for name in ("hand_l", "hand_r")]).problem


@pytest.mark.usefixtures("fake_cupy")
@pytest.mark.parametrize("finish", [False, True])
def test_a_call_has_the_addresses_of_its_rows(finish: bool) -> None:
    problem = DeviceProblem(prepare(), finish)
    begins = [(1000, 3, 4), (2000, 0, 8), (3000, 60, 8)]  # two targets and the starts: address, stride, bytes a number
    places = {name: (10_000 * (k + 1), k + 1) for k, name in enumerate(OUTPUTS)}
    (call,) = problem._make_call(begins, places, 10, 500)
    assert call["targets"].tolist() == [1000 + 10 * 3 * 4, 2000]
    assert call["strides"].tolist() == [3, 0]
    assert (call["starts"], call["start_stride"], call["rows"]) == (3000 + 10 * 60 * 8, 60, 500)
    scratch = {name: array.data.ptr for name, array in problem.scratch(500).items()}
    for name in ("counters", "hard", "open", "best"):
        assert call[name] == scratch[name]
    q = 10_000 + 10
    assert (call["q"], call["finished"]) == ((scratch["poses"], q) if finish else (q, 0))
    for k, name in enumerate(OUTPUTS[1:], start=2):
        assert call[name] == 10_000 * k + 10 * k
    assert call["seeds"] == problem.seeds.data.ptr


def test_a_call_is_one_block_of_bytes_with_its_numbers_of_searches() -> None:
    layout = make_layout(2)
    given = limit_searches(np.zeros(1, layout), 4, 61)
    assert given.dtype == f"V{layout.itemsize}"
    assert [given.view(layout)[name][0] for name in ("early", "most")] == [4, 61]


@pytest.mark.parametrize("goals", [1, 2, 5])
def test_addresses_are_aligned_and_fill_the_block(goals: int) -> None:
    layout, end = make_layout(goals), 0
    for name in layout.names:
        kind, offset = layout.fields[name]
        assert offset % kind.base.itemsize == 0
        assert end <= offset < end + 8
        end = offset + kind.itemsize
    assert end == layout.itemsize
