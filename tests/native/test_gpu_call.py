"""The argument of the GPU kernels: Python fills it by the names and places that C++ publishes."""

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poise
from poise.batch import BatchSolver
from poise.errors import InvalidValue, PoiseError
from poise.goals import LookAt, Reach
from poise.limits import Box, Clearance, HalfSpace
from poise.native import core
from poise.native.gpu import device
from poise.native.gpu.device import OUTPUTS, DeviceProblem, limit_searches
from poise.native.gpu.passes import CHECKING


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


class HostArray(np.ndarray):  # type: ignore[type-arg]
    """An array in the memory of the host that has an address, as one on a device."""

    device = SimpleNamespace(id=0)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


@dataclass
class HostLaunches:
    """Kernels that only note the launches: (name, float flags, arguments)."""

    made: list[tuple[str, tuple[bool, ...], tuple[Any, ...]]] = field(default_factory=list)

    def kernels(self, single: tuple[bool, ...], names: tuple[str, ...]) -> Any:
        def note(name: str) -> Any:
            return lambda *given: self.made.append((name, single, tuple(x.copy() for x in given[2])))

        return SimpleNamespace(functions={name: note(name) for name in (*names, CHECKING)}, wave=lambda _: 1)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> HostLaunches:
    """A CuPy on the host, whose kernels do nothing."""

    def on_host(x: Any) -> Any:
        return np.array(x).view(HostArray)

    cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        runtime=SimpleNamespace(memsetAsync=lambda *_: None),
        Device=lambda: SimpleNamespace(id=0),
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
    )
    fake = SimpleNamespace(cuda=cuda, ndarray=HostArray, asarray=on_host, empty=lambda *x: on_host(np.empty(*x)))
    made = HostLaunches()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(DeviceProblem, "kernels", lambda _self, single, names, _world=(): made.kernels(single, names))
    return made


DESK = Clearance(world=[Box((0.5, 0, 0), (0.2, 0.2, 0.2), name="desk"), HalfSpace((0, 0, -0.1), (0, 0, 1))])


def test_a_placed_batch_moves_its_targets_first_and_blocks_bases_last(launches: HostLaunches) -> None:
    model, rows = poise.load("panda"), 5000
    solver = BatchSolver(model, Reach(model.frames[-1], np.eye(4)), limits=[DESK])
    targets, base = (np.tile(np.eye(4, dtype="f4"), (rows, 1, 1)).view(HostArray) for _ in range(2))
    solver.solve(targets, places={"desk": np.eye(4)}, base=base)
    names = [name for name, *_ in launches.made]
    assert (names[0], names[-2:]) == ("move_targets", ["check_clear", "block_bases"])
    assert [single for _, single, _ in launches.made] == [(True, False), *[(False, False)] * (len(names) - 1)]
    given, moved = (launches.made[k][2][0].view(make_layout(1))[0] for k in (0, 1))
    double: Any = core.clearance_call(False)
    clear = launches.made[0][2][1].view(np.dtype(double))[0]
    assert given["targets"].tolist() == [targets.data.ptr]
    assert (moved["targets"].tolist(), moved["strides"].tolist()) == ([clear["targets"]], [16])
    assert clear["n_places"] == 2
    assert clear["fixed"] < clear["above"]
    launches.made.clear()
    solver.solve(targets)
    assert "move_targets" not in [name for name, *_ in launches.made]


def test_a_base_without_obstacles_moves_targets_alone(launches: HostLaunches) -> None:
    model = poise.load("panda")
    targets = np.tile(np.eye(4), (50, 1, 1)).view(HostArray)
    poise.solve_batch(model, Reach(model.frames[-1], np.eye(4)), targets, base=np.eye(4))
    assert [name for name, *_ in launches.made] == ["move_targets", "search_few", "settle_few"]


@pytest.mark.usefixtures("launches")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"places": {"chair": np.eye(4)}}, "'chair'"),
        ({"base": np.tile(np.eye(4), (50, 1, 1))}, "base is not on the GPU"),
        ({"base": np.eye(4)[:3]}, r"base has shape \(3, 4\)"),
        ({"base": np.zeros((4, 4))}, "base is not a rigid transform"),
        ({"places": {"desk": np.ones((50, 4)).view(HostArray)}}, r"places\['desk'\] has shape \(50, 4\)"),
        ({"base": np.tile(np.eye(4), (7, 1, 1)).view(HostArray)}, "do not broadcast"),
    ],
)
def test_bad_places_are_reported_as_on_the_cpu(given: dict[str, Any], message: str) -> None:
    model = poise.load("panda")
    solver = BatchSolver(model, Reach(model.frames[-1], np.eye(4)), limits=[DESK])
    with pytest.raises(PoiseError, match=message):
        solver.solve(np.tile(np.eye(4), (50, 1, 1)).view(HostArray), **given)


@pytest.mark.usefixtures("launches")
def test_a_base_does_not_move_a_gaze() -> None:
    model = poise.load("humanoid")
    with pytest.raises(InvalidValue, match="base= moves the targets of Reach and Orient; goal 'eyes'"):
        poise.solve_batch(model, LookAt("eyes", np.zeros(3)), np.zeros((50, 3)).view(HostArray), base=np.eye(4))
