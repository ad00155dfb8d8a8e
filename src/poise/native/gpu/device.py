"""Batches on a GPU: the package's headers, compiled for one problem by NVRTC through CuPy, which caches them on disk.

All work is queued on the caller's current stream, without synchronisation.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Timer
from typing import Any

import numpy as np

from poise.errors import INDEX_NAME, InvalidValue, MissingExtra
from poise.native import core
from poise.native.gpu.clearance import DeviceClearance, PlacedWorld
from poise.native.gpu.passes import (
    BY_TEAMS,
    CHECKING,
    LISTING,
    MOVING,
    RESTING,
    TEAM_KERNELS,
    count_priorities,
    is_small,
    list_kernels,
    list_passes,
    list_places,
)
from poise.native.gpu.source import inline_headers, write_source

__all__ = ["DeviceProblem", "is_on_device", "load_cupy"]

BLOCK = 128
WARP = 32
# (largest number of rows, searches per thread before a warp takes over)
SEARCHES_PER_THREAD = ((200_000, 4), (1_000_000, 8), (1 << 62, 16))
OPTIONS = (
    "--std=c++20",
    "--use_fast_math",
)  # fast division, roots and sines in float: every answer is checked in double
TEAM_ROWS = 4096  # rows: up to this number, one warp per row from the start
CHUNK = 1 << 23  # rows in one launch: bounds the scratch memory, and the delay of Ctrl-C
MOST_GOALS = 16
MOST_QUEUED = 1 << 30  # searches in the queue of one launch, which counts them in 32 bits
MOST_SEARCHES = (1 << 20) - 2  # of a row of a large body: search_bits in gpu_searches.h
SMALL_BATCH_KERNELS = ("search_few", "settle_few")
EARLY_OF_TEAMS = 4  # searches per team before other teams take over
LARGE_BATCH_KERNELS = ("place_rows", "search_rows", "search_again", "decide_rows", "search_hard", "end_rows")
SEARCHES_BEFORE_CLOSED_FORM = 64  # searches of a warp before a closed form is used
COUNTERS, CLEARANCE_COUNTER = 11, 8  # in all, and the first one of a clearance
NOTICE_AFTER = 1.0  # s
NOTICE = "Compiling GPU kernels for this problem takes a few seconds; later runs read them from CuPy's cache."
Tables = tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]
WIDTHS = {core.GoalOp.ROTATION.value: 9, core.GoalOp.POSE.value: 16, core.GoalOp.BALANCE.value: 4}  # others: 3
World = tuple[bool, bool]
OUTPUTS = ("q", "errors", "reached", "codes", "steps", "searches")


def load_cupy() -> Any:
    """Return CuPy, or raise MissingExtra with the command that installs it."""
    try:
        import cupy as found
    except ImportError:
        raise MissingExtra(f"arrays on a GPU need CuPy. Type: pip install '{INDEX_NAME}[gpu]'") from None
    return found


def is_on_device(array: Any) -> bool:
    """Return whether an array is on a CUDA device."""
    known = sys.modules.get("cupy")
    if known is not None and type(array) is known.ndarray:
        return True
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return hasattr(array, "__cuda_array_interface__")
    try:
        return int(array.__dlpack_device__()[0]) == 2
    except (TypeError, ValueError, RuntimeError, BufferError):
        return False


@dataclass(eq=False)
class DeviceProblem:
    """A prepared problem on the device.

    Attributes:
        native: The prepared solver.
        finish: Whether poses are refined and returned in double.
        clearance: The clearance of the answers, which the searches ignore; or None.
    """

    native: Any
    finish: bool = False
    clearance: DeviceClearance | None = None
    _modules: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _scratch: dict[int, dict[str, Any]] = field(default_factory=dict)
    _surfaces: dict[tuple[int, ...], tuple[Any, Any]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Tables:
        """The problem in float and in double, and the body of its clearance."""
        body = None if self.clearance is None else self.clearance.body
        return core.problem_of(self.native, True), core.problem_of(self.native, False), body

    @cached_property
    def most(self) -> int:
        """The largest number of searches per row."""
        return int(self.tables[0]["searches"])

    @cached_property
    def decides(self) -> bool:
        """Whether a goal has a closed form, which decides rows of an arm that a few searches missed."""
        return bool(self.tables[0]["closed"]) and is_small(self.tables[0])

    @cached_property
    def priorities(self) -> int:
        """The number of different priorities."""
        return count_priorities(self.tables[0])

    @cached_property
    def seeds(self) -> Any:
        """The starts of the later searches, on the device."""
        seeds = core.seeds_of(self.native)[:, list_places(self.tables[0])]
        return load_cupy().asarray(np.ascontiguousarray(seeds if len(seeds) else np.zeros((1, 1)), dtype=np.float32))

    @cached_property
    def _call(self) -> np.dtype[Any]:
        """The layout of the kernels' argument (kernels/loop/gpu_call.h)."""
        layout: Any = core.device_call(len(self.tables[0]["goals"]))
        call: np.dtype[Any] = np.dtype(layout)
        return call

    def source(self, single: tuple[bool, ...], names: tuple[str, ...], world: World = (True, True)) -> str:
        """Return the whole source of some kernels; `single` marks targets, and last starts, that are float."""
        return write_whole_source(self.tables, single, names, self.finish, world)

    def kernels(self, single: tuple[bool, ...], names: tuple[str, ...], world: World = (False, False)) -> Kernels:
        """Return the compiled kernels with their launch sizes; `world` is of `write_source`."""
        found = self._modules.get((single, names, world))
        if found is None:
            if len(single) - 1 > MOST_GOALS:
                raise InvalidValue(
                    f"{len(single) - 1} goals are more than the {MOST_GOALS} that a GPU supports; "
                    "give numpy arrays, which run on the CPU."
                )
            tables = self.tables if CHECKING in names else (*self.tables[:2], None)  # shared with unlimited problems
            own = tuple(name for name in names if name in (*list_kernels(tables[0], tables[2]), *MOVING))
            device = int(load_cupy().cuda.Device().id)
            found = load_kernels(marshal.dumps(tables, 2), single, own, self.finish, world, device)
            self._modules[single, names, world] = found
        return found

    def scratch(self, rows: int) -> dict[str, Any]:
        """Return scratch arrays for `rows` rows, by their names in the kernels' argument; `poses` are in float.

        They are reused between calls, separately for each stream.
        """
        xp = load_cupy()
        stream = xp.cuda.get_current_stream().ptr
        held = self._scratch.get(stream)
        if held is None or len(held["hard"]) < rows:
            room = max(rows, TEAM_ROWS)
            held = self._scratch[stream] = {
                "counters": xp.empty(COUNTERS, np.int32),
                "hard": xp.empty(room, np.int32),
                "open": xp.empty(room if self.decides else 0, np.int32),
                "best": xp.empty(2 * room, np.float32),
                "poses": xp.empty(room * int(self.tables[0]["n_q"]) if self.finish else 0, np.float32),
            }
        return held

    def solve(
        self,
        targets: list[tuple[Any, int]],
        starts: tuple[Any, int],
        rows: int,
        places: Mapping[str, tuple[int, int]],
        world: PlacedWorld | None = None,
    ) -> None:
        """Queue a batch. Arrays are (array, stride between rows); `places` are (address, bytes per row)."""
        single = (*(array.dtype.itemsize == 4 for array, _ in targets), starts[0].dtype.itemsize == 4)
        begins = [(array.data.ptr, stride, array.itemsize) for array, stride in (*targets, starts)]
        chunk = min(CHUNK, MOST_QUEUED // self.most)
        for first in range(0, rows, chunk):
            call = self._make_call(begins, places, first, min(chunk, rows - first))
            if world is None:
                self._launch(single, call)
            else:
                self._launch_placed(single, call, world, first)

    def _make_call(
        self, begins: list[tuple[int, int, int]], places: Mapping[str, tuple[int, int]], first: int, count: int
    ) -> Any:
        """Return the kernels' argument for some rows of a batch; `begins` are (address, stride, bytes per number)."""
        call = np.zeros(1, self._call)
        scratch = {name: array.data.ptr for name, array in self.scratch(count).items()}
        for name in ("counters", "hard", "open", "best"):
            call[name] = scratch[name]
        for name in OUTPUTS:
            call[name] = places[name][0] + first * places[name][1]
        if self.finish:
            call["finished"], call["q"] = call["q"], scratch["poses"]
        *targets, call["starts"] = (ptr + first * stride * size for ptr, stride, size in begins)
        *strides, call["start_stride"] = (stride for _, stride, _ in begins)
        call["targets"], call["strides"] = targets, strides
        call["seeds"], call["rows"] = self.seeds.data.ptr, count
        return call

    def _launch_placed(self, single: tuple[bool, ...], call: Any, world: PlacedWorld, first: int) -> None:
        """Launch the rows from `first`, among regions and from a base that are placed row by row."""
        xp, rows = load_cupy(), int(call["rows"][0])
        blocks, widths = (rows + BLOCK - 1) // BLOCK, [WIDTHS.get(goal["op"], 3) for goal in self.tables[0]["goals"]]
        places, targets = xp.asarray(world.write(first).view(np.uint8)), xp.empty(rows * sum(widths), np.float64)
        surfaces = self._find_surfaces(world.groups)
        for clear in surfaces:
            clear["places"], clear["n_places"], clear["targets"] = places.data.ptr, len(world.places), targets.data.ptr
        arguments = call.view(f"V{call.itemsize}"), surfaces[0].view(f"V{surfaces[0].itemsize}")
        self.kernels(single, MOVING[:1]).functions[MOVING[0]]((blocks,), (BLOCK,), arguments)
        begins = np.cumsum([0, *widths[:-1]]) * rows * targets.itemsize
        call["targets"], call["strides"] = targets.data.ptr + begins, widths
        single = (*(False for _ in widths), single[-1])
        self._launch(single, call, surfaces)
        if world.places[0] is not None and surfaces[0]["fixed"] < surfaces[0]["above"]:
            arguments = call.view(f"V{call.itemsize}"), arguments[1]
            self.kernels(single, MOVING[1:], (True, True)).functions[MOVING[1]]((blocks,), (BLOCK,), arguments)

    def _launch(self, single: tuple[bool, ...], call: Any, surfaces: tuple[Any, Any] | None = None) -> None:
        rows = int(call["rows"][0])
        small = is_small(self.tables[0])
        if rows > TEAM_ROWS or self.clearance is not None or not small:
            counters, stream = int(call["counters"][0]), load_cupy().cuda.get_current_stream().ptr
            load_cupy().cuda.runtime.memsetAsync(counters, 0, 4 * COUNTERS, stream)
        if not small:
            self._launch_teams(single, call)
        elif rows <= TEAM_ROWS:
            self._launch_few(single, call)
        else:
            self._launch_many(single, call)
        if self.clearance is not None:
            world = surfaces is not None, self.clearance.has_clouds
            self._launch_clearance(single, call, surfaces or self._find_surfaces(()), world)

    def _launch_many(self, single: tuple[bool, ...], call: Any) -> None:
        rows = int(call["rows"][0])
        early = next(searches for limit, searches in SEARCHES_PER_THREAD if rows <= limit)
        given = limit_searches(call, early, self.most)
        kernels = self.kernels(single, LARGE_BATCH_KERNELS)
        blocks = (rows + BLOCK - 1) // BLOCK
        if "place_rows" in kernels.functions:
            kernels.functions["place_rows"]((blocks,), (BLOCK,), (given,))
        else:
            kernels.functions["search_rows"]((min(blocks, kernels.wave("search_rows")),), (BLOCK,), (given,))
        if self.decides:
            kernels.functions["search_again"]((kernels.wave("search_again"),), (BLOCK,), (given,))
            kernels.functions["decide_rows"]((kernels.wave("decide_rows"),), (BLOCK,), (given,))
        if self.most > early or "place_rows" in kernels.functions:
            kernels.functions["search_hard"]((kernels.wave("search_hard"),), (BLOCK,), (given,))
        kernels.functions["end_rows"]((blocks,), (BLOCK,), (given,))

    def _launch_teams(self, single: tuple[bool, ...], call: Any) -> None:
        if self.most > MOST_SEARCHES:
            raise InvalidValue(f"restarts= is above {MOST_SEARCHES - 1}, the largest number for this body on a GPU.")
        kernels, rows = self.kernels(single, (*TEAM_KERNELS, RESTING)), int(call["rows"][0])
        early = 1 if rows <= TEAM_ROWS else EARLY_OF_TEAMS
        given = limit_searches(call, min(early, self.most), self.most)
        rest = kernels.wave_of_teams(RESTING) if RESTING in kernels.functions else None  # rejects large bodies
        for name in TEAM_KERNELS[: 3 if self.most > early else 1]:
            wave, shared = kernels.wave_of_teams(name)
            blocks = wave if name == "search_late" else min(wave, rows)
            kernels.functions[name]((blocks,), (WARP,), (given,), shared_mem=shared)
        kernels.functions["end_rows"](((rows + BLOCK - 1) // BLOCK,), (BLOCK,), (given,))
        if rest:
            kernels.functions[RESTING]((min(rest[0], rows),), (WARP,), (given,), shared_mem=rest[1])

    def _launch_few(self, single: tuple[bool, ...], call: Any) -> None:
        kernels, rows = self.kernels(single, SMALL_BATCH_KERNELS), int(call["rows"][0])
        first = min(SEARCHES_BEFORE_CLOSED_FORM, self.most) if self.decides else self.most
        given = limit_searches(call, 0, first)
        kernels.functions["search_few"]((rows,), (32,), (given,))
        if self.decides:
            given = limit_searches(call, first, self.most)
            kernels.functions["settle_few"]((rows,), (32,), (given,))

    def _launch_clearance(self, single: tuple[bool, ...], call: Any, surfaces: tuple[Any, Any], world: World) -> None:
        passes = list_passes(self.tables[0])
        kernels, given = self.kernels(single, passes, world), limit_searches(call, 0, self.most)
        rows = int(call["rows"][0])
        blocks = (rows + BLOCK - 1) // BLOCK
        for k, name in enumerate((*passes, CHECKING)):
            clear = surfaces[name == LISTING].copy()
            clear["rows"], clear["counters"] = call["hard"], call["counters"] + 4 * CLEARANCE_COUNTER
            clear["last"] = k == len(passes)
            arguments = (given, clear.view(f"V{clear.itemsize}"))
            if name == BY_TEAMS:
                wave, shared = kernels.wave_of_teams(name)
                kernels.functions[name]((min(wave, rows),), (WARP,), arguments, shared_mem=shared)
            else:
                most = blocks if name == CHECKING else WARP * blocks  # a thread, or a warp per row
                kernels.functions[name]((min(kernels.wave(name), most),), (BLOCK,), arguments)

    def _find_surfaces(self, groups: tuple[int, ...]) -> tuple[Any, Any]:
        """Return the kernels' argument with the clearance on the device, if any, in double and in float."""
        if self.clearance is None:
            empty: Any = core.clearance_call(False)
            return np.zeros(1, np.dtype(empty)), np.zeros(1, np.dtype(empty))
        if groups not in self._surfaces:
            xp = load_cupy()
            self._surfaces[groups] = self.clearance.upload(xp, False, groups), self.clearance.upload(xp, True, groups)
        double, single = self._surfaces[groups]
        return double[0].copy(), single[0].copy()


def limit_searches(call: Any, early: int, most: int) -> Any:
    """Return the kernels' argument with its search limits: one struct is faster to pass than many arguments."""
    given = call.copy()
    given["early"], given["most"] = early, most
    return given.view(f"V{given.itemsize}")


def write_whole_source(
    tables: Tables, single: tuple[bool, ...], names: tuple[str, ...], finish: bool, world: World
) -> str:
    """Return the source of some kernels with its headers, for a problem in float and in double."""
    return inline_headers(write_source(*tables, single, names, finish=finish, world=world))


@lru_cache(maxsize=16)
def load_kernels(
    tables: bytes,
    single: tuple[bool, ...],
    names: tuple[str, ...],
    finish: bool,
    world: tuple[bool, bool],
    device: int,  # noqa: ARG001 - a kernel belongs to one
) -> Kernels:
    """Return the kernels of a problem, shared by equal solvers.

    Generating and loading them again would take as long as solving a million rows.
    """
    problem = marshal.loads(tables)
    return Kernels({name: write_whole_source(problem, single, (name,), finish, world) for name in names})


class Kernels:
    """Compiled kernels, by name: each has a source of its own, so that they compile in parallel."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        device = load_cupy().cuda.Device()
        self._modules: dict[str, Any] = {}
        self._waves: dict[str, int] = {}
        self._teams: dict[str, tuple[int, int]] = {}

        def load(name: str) -> Any:
            with load_cupy().cuda.Device(device.id):
                self._modules[name] = load_cupy().RawModule(code=sources[name], backend="nvrtc", options=OPTIONS)
                return self._modules[name].get_function(name)

        notice = Timer(NOTICE_AFTER, print, (NOTICE,), {"file": sys.stderr, "flush": True})
        notice.start()
        try:
            with ThreadPoolExecutor(len(sources)) as pool:
                self.functions = dict(zip(sources, pool.map(load, sources), strict=True))
        finally:
            notice.cancel()

    def wave(self, name: str) -> int:
        """Return the number of blocks of a kernel that run at once on the whole device."""
        if name not in self._waves:
            attributes = load_cupy().cuda.Device().attributes
            registers = max(16, 8 * ((self.functions[name].num_regs + 7) // 8))
            each = min(attributes["MaxRegistersPerMultiprocessor"] // (registers * BLOCK), 2048 // BLOCK)
            self._waves[name] = max(1, each) * attributes["MultiProcessorCount"]
        return self._waves[name]

    def wave_of_teams(self, name: str) -> tuple[int, int]:
        """Return the number of blocks of one warp that run at once, and the bytes of shared memory of each."""
        if name not in self._teams:
            xp, attributes = load_cupy(), load_cupy().cuda.Device().attributes
            size = "rest_bytes" if name == RESTING else "team_bytes"
            shared = int(xp.ndarray((1,), np.int32, self._modules[name].get_global(size))[0])
            most = int(attributes["MaxSharedMemoryPerBlockOptin"])
            if shared > most:
                raise InvalidValue(
                    f"this problem needs {shared} bytes of a GPU's shared memory, and this one has {most}; "
                    "give numpy arrays, which run on the CPU."
                )
            self.functions[name].max_dynamic_shared_size_bytes = shared
            registers = max(16, 8 * ((self.functions[name].num_regs + 7) // 8))
            each = min(
                attributes["MaxRegistersPerMultiprocessor"] // (registers * WARP),
                attributes["MaxSharedMemoryPerMultiprocessor"] // (shared + 1024),
                attributes["MaxBlocksPerMultiprocessor"],
            )
            self._teams[name] = max(1, each) * attributes["MultiProcessorCount"], shared
        return self._teams[name]
