"""Batches on a GPU: the package's own headers, compiled by NVRTC through CuPy for one problem, cached on disk by CuPy.

Everything is queued on the caller's current stream and nothing waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from poise.errors import InvalidValue, MissingExtra
from poise.native import core
from poise.native.gpu_source import compact, device_source, whole_source

__all__ = ["DeviceProblem", "cupy", "is_on_device"]

BLOCK = 128
EARLY = (
    (200_000, 4),
    (1_000_000, 8),
    (1 << 62, 16),
)  # up to so many rows: searches of a thread before a warp takes over
OPTIONS = (
    "--std=c++20",
    "--use_fast_math",
)  # quick division, roots and sines in float: every answer is judged in double
TEAM_ROWS = 4096  # up to so many rows a warp takes each from the start
CHUNK = 1 << 23  # rows in one launch: bounds the scratch memory, and the time until Ctrl-C is heard
MOST_GOALS = 16


def cupy() -> Any:
    """CuPy, or the command that installs it."""
    try:
        import cupy as found
    except ImportError:
        raise MissingExtra("arrays on a GPU need CuPy. Type: pip install 'poise[gpu]'") from None
    return found


def is_on_device(array: Any) -> bool:
    """Whether an array lives on a CUDA device."""
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
    """

    native: Any
    _modules: dict[tuple[bool, ...], Any] = field(default_factory=dict)
    _scratch: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def tables(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The problem in float and in double."""
        return core.problem_of(self.native, True), core.problem_of(self.native, False)

    @cached_property
    def seeds(self) -> Any:
        """The starts of the later searches, on the device."""
        seeds = core.seeds_of(self.native)[:, compact(self.tables[0])]
        return cupy().asarray(np.ascontiguousarray(seeds if len(seeds) else np.zeros((1, 1)), dtype=np.float32))

    def source(self, single: tuple[bool, ...]) -> str:
        """The whole source for targets, and starts last, that are float or double."""
        f32, f64 = self.tables
        return whole_source(device_source(f32, f64, single[:-1], single[-1]))

    def kernels(self, single: tuple[bool, ...]) -> Any:
        """The compiled kernels with their launch sizes."""
        if single not in self._modules:
            if len(single) - 1 > MOST_GOALS:
                raise InvalidValue(f"{len(single) - 1} goals are more than the {MOST_GOALS} that a GPU batch serves.")
            self._modules[single] = Kernels(self.source(single))
        return self._modules[single]

    def scratch(self, rows: int) -> tuple[Any, Any, Any]:
        """Counters, the list of hard rows, the best costs: kept from call to call, for each stream its own."""
        xp = cupy()
        stream = xp.cuda.get_current_stream().ptr
        held = self._scratch.get(stream)
        if held is None or held[1].size < rows:
            held = (xp.empty(4, xp.int32), xp.empty(rows, xp.int32), xp.empty(2 * rows, xp.float32))
            self._scratch[stream] = held
        return held

    def solve(self, targets: list[tuple[Any, int]], starts: tuple[Any, int], rows: int, out: dict[str, Any]) -> None:
        """Queues a batch. Arrays are (array, numbers from one row to the next); `out` holds flat device arrays."""
        single = (*(array.dtype == np.float32 for array, _ in targets), starts[0].dtype == np.float32)
        kernels = self.kernels(single)
        for first in range(0, rows, CHUNK):
            count = min(CHUNK, rows - first)
            arguments: list[Any] = []
            for array, stride in (*targets, starts):
                arguments += [array.data.ptr + first * stride * array.itemsize, stride]
            arguments.append(np.int32(count))
            for name in ("q", "errors", "reached", "codes", "steps", "searches"):
                array = out[name]
                arguments.append(array.data.ptr + first * (array.size // rows) * array.itemsize)
            self._launch(kernels, arguments, count)

    def _launch(self, kernels: Kernels, arguments: list[Any], rows: int) -> None:
        counters, hard, best = self.scratch(rows)
        runtime, stream = cupy().cuda.runtime, cupy().cuda.get_current_stream()
        runtime.memsetAsync(counters.data.ptr, 0, 16, stream.ptr)
        shared = (*arguments, best, self.seeds)
        most = int(self.tables[0]["searches"])
        if rows <= TEAM_ROWS:
            blocks = min((32 * rows + BLOCK - 1) // BLOCK, kernels.wave("search_hard"))
            kernels.functions["search_hard"](
                (blocks,), (BLOCK,), (*shared, np.int32(0), np.int32(most), counters, hard)
            )
        else:
            blocks = min((rows + BLOCK - 1) // BLOCK, kernels.wave("search_rows"))
            early = next(searches for limit, searches in EARLY if rows <= limit)
            tail = (np.int32(early), np.int32(most), counters, hard)
            kernels.functions["search_rows"]((blocks,), (BLOCK,), (*shared, *tail))
            if most > early:
                wave = kernels.wave("search_hard")
                kernels.functions["search_hard"]((wave,), (BLOCK,), (*shared, *tail))
        kernels.functions["check_rows"](((rows + BLOCK - 1) // BLOCK,), (BLOCK,), shared)


class Kernels:
    """The three kernels of one source."""

    def __init__(self, source: str) -> None:
        xp = cupy()
        module = xp.RawModule(code=source, backend="nvrtc", options=OPTIONS)
        self.functions = {name: module.get_function(name) for name in ("search_rows", "search_hard", "check_rows")}
        self._waves: dict[str, int] = {}

    def wave(self, name: str) -> int:
        """How many blocks of a kernel run at once on the whole device."""
        if name not in self._waves:
            attributes = cupy().cuda.Device().attributes
            registers = max(16, 8 * ((self.functions[name].num_regs + 7) // 8))
            each = min(attributes["MaxRegistersPerMultiprocessor"] // (registers * BLOCK), 2048 // BLOCK)
            self._waves[name] = max(1, each) * attributes["MultiProcessorCount"]
        return self._waves[name]
