"""Batches with arrays on a GPU: read without copies, solved there, and returned in the caller's library."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np

from poise.batch.arrays import TAILS, WORDS, BatchRows, fill_pairs, find_lead
from poise.batch.fixed_parts import FixedParts
from poise.batch.obstacles import check_matrices, check_moved, check_places, name_regions, read_matrices
from poise.batch.outputs import SMALL, Block, Outputs
from poise.batch.solution import BatchSolution
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import ALIGN, BALANCE, LOOK, GoalRows
from poise.limits import Clearance
from poise.native import core
from poise.native.gpu import DeviceClearance, DeviceProblem, PlacedWorld, is_on_device, load_cupy
from poise.solvers import Solver

__all__ = ["DeviceBatch", "is_on_device"]

DEVICE_TAILS = {**TAILS, ALIGN: (3,), LOOK: (3,), BALANCE: (4,)}
DEVICE_WORDS = {**WORDS, ALIGN: "directions", LOOK: "points"}
REFUSALS = {
    core.Refusal.LOOP: "closed loops are not supported on a GPU",
    core.Refusal.GOAL_KIND: "{goal}, and a GPU supports only Reach, Orient, Align, LookAt and one Balance",
    core.Refusal.GOAL_RANGE: "{goal} with a Range, which has no kernel on a GPU",
    core.Refusal.GOAL_LEVEL: "{goal} of a third priority, and a GPU supports only two",
    core.Refusal.METHOD: "method {method} is not supported on a GPU; use the default method",
    core.Refusal.HANDLING: "limit_handling={handling} is not supported on a GPU; use 'active', 'clamp' or 'off'",
    core.Refusal.CONE: "joint {joint} has a cone; a GPU supports only joint ranges",
    core.Refusal.LIMIT: "limit {limit} is not supported on a GPU; only joint ranges and one Clearance are",
    core.Refusal.POWER: "a posture with a power above 2 is not supported on a GPU",
    core.Refusal.MODE: "mode='continuous' is not supported on a GPU",
    core.Refusal.TIME: "time_limit= is not supported on a GPU, where all rows run at once",
    core.Refusal.RECORD: "record=True is not supported on a GPU",
    core.Refusal.STILL: "no movable joint affects a goal, so a GPU has nothing to solve",
    core.Refusal.PATH_JOINT: "joint {joint} follows a path, which is not supported on a GPU",
    core.Refusal.SCALE_JOINT: "joint {joint} is a uniform_scale joint; a GPU supports only rigid bodies",
}


class DeviceBatch:
    """A prepared problem for batches on the current device."""

    def __init__(self, solver: Solver, rows: Mapping[str, GoalRows], solutions: int, dtype: Any) -> None:
        free = check_served(solver, solutions)
        self.model = solver.model
        self.rows = dict(rows)
        self.dtype = np.dtype(np.float32) if dtype is None else dtype
        self.limits = solver.options.limits
        clearance = None if free is solver else DeviceClearance(solver.problem, list_fixed(solver))
        self.problem = DeviceProblem(free.problem, finish=self.dtype.itemsize == 8, clearance=clearance)
        if self.problem.finish and self.problem.priorities > 1:
            raise InvalidValue("dtype='float64' with two priorities runs on the CPU only; give numpy arrays.")
        self._rest: Any = None
        self._own: dict[str, Any] = {}

    def solve(
        self, targets: Mapping[str, Any], starts: Any, places: Any, base: Any, out: Any, progress: Any
    ) -> BatchSolution:
        """Solve every row; see BatchSolver.solve."""
        first = next(x for x in targets.values() if is_on_device(x))
        with find_stream(first):
            parts = [
                self._read_targets(name, targets[name]) if name in targets else self._repeat_target(name)
                for name in self.rows
            ]
            begin = self._read_starts(starts)
            moved, groups = self._read_world(places, base)
            lead = find_lead([*parts, begin, *(rows for rows in moved if rows)])
            try:
                outputs = self._make_outputs(lead, out)
                self._run(parts, begin, moved, groups, lead, outputs.places)
            except load_cupy().cuda.memory.OutOfMemoryError as full:
                need = prod(lead) * (self.dtype.itemsize * self.model.nq + 16 * len(self.rows) + 10) / 2**30
                raise InvalidValue(
                    f"{prod(lead)} rows need {need:.2f} GiB for the answers alone, more than the device has; "
                    "use smaller batches (BatchSolver.stream)."
                ) from full
            if progress is not None:
                load_cupy().cuda.get_current_stream().synchronize()
                progress(prod(lead), prod(lead))
        return outputs.make_solution(self.model, tuple(self.rows), find_way_back(first))

    def _make_outputs(self, lead: tuple[int, ...], out: Any) -> Outputs | Block:
        if out is None and prod(lead) <= SMALL:
            return Block(lead, self.model, len(self.rows), self.dtype, load_cupy())
        return Outputs.make(lead, self.model, len(self.rows), self.dtype, 1, view_outputs(out), xp=load_cupy())

    def _run(
        self,
        parts: list[BatchRows],
        begin: BatchRows,
        moved: list[BatchRows | None],
        groups: tuple[int, ...],
        lead: tuple[int, ...],
        outputs: Mapping[str, tuple[int, int]],
    ) -> None:
        rows = prod(lead)
        if rows == 0:
            return
        for part in (*parts, begin, *(each for each in moved if each)):
            if part.lead != lead and prod(part.lead) != 1:
                raise ShapeMismatch(
                    f"{part.name} has leading axes {part.lead}; on a GPU give {lead}, or one for all rows."
                )
        spread = [part.spread(lead) for part in (*parts, begin)]
        wide = tuple(each.spread(lead) if each else None for each in moved)
        world = PlacedWorld(wide, groups) if any(moved) else None
        self.problem.solve(spread[:-1], spread[-1], rows, outputs, world)

    def _read_targets(self, name: str, value: Any) -> BatchRows:
        tail = DEVICE_TAILS[self.rows[name].op]
        if self.rows[name].op == BALANCE:
            raise InvalidValue(
                f"targets[{name!r}] are margins, which are the same for all rows on a GPU; leave them out."
            )
        array = fill_pairs(view_on_device(value, f"targets[{name!r}]"), self.rows[name], load_cupy())
        if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
            wanted = ", ".join(map(str, tail))
            raise ShapeMismatch(
                f"targets[{name!r}] has shape {array.shape}; the goal was made for {DEVICE_WORDS[self.rows[name].op]}: "
                f"(..., {wanted})."
            )
        return BatchRows(name, array, array.shape[: array.ndim - len(tail)], prod(tail))

    def _read_world(self, places: Any, base: Any) -> tuple[list[BatchRows | None], tuple[int, ...]]:
        """Return the places of the base, if any, and of regions, and which of these moves each region."""
        regions = name_regions(self.limits)
        given = check_places(places, {name for name, *_ in regions})
        for name, row in self.rows.items() if base is not None else ():
            check_moved(name, row)
        moved = [None if base is None else view_matrices("base", base)]
        moved += [view_matrices(*each) for each in given.values()]
        numbers = {name: k for k, name in enumerate(given, start=1)}
        return moved, tuple(numbers.get(name, 0) for name, *_ in regions)

    def _repeat_target(self, name: str) -> BatchRows:
        """Return the goal's own target for all rows."""
        if name not in self._own:
            row = self.rows[name]
            R, p = row.target[:9].reshape(3, 3), row.target[9:12]
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = R, p
            self._own[name] = load_cupy().asarray({3: p, 4: row.target[9:13], 9: R, 16: T}[prod(DEVICE_TAILS[row.op])])
        return BatchRows(name, self._own[name], (), prod(DEVICE_TAILS[self.rows[name].op]))

    def _read_starts(self, starts: Any) -> BatchRows:
        if starts is None:
            if self._rest is None:
                self._rest = load_cupy().asarray(self.model.rest)
            return BatchRows("starts", self._rest, (), self.model.nq)
        array = view_on_device(starts, "starts")
        if array.ndim == 0 or array.shape[-1] != self.model.nq:
            raise ShapeMismatch(f"starts has shape {array.shape}; its last axis must be {self.model.nq} (model.nq).")
        return BatchRows("starts", array, array.shape[:-1], self.model.nq)


def check_served(solver: Solver, solutions: int) -> Solver:
    """Return the solver without its clearance, which a GPU checks afterwards.

    Raises:
        InvalidValue: A GPU does not support the problem.
    """
    free = drop_clearance(solver)
    native = free.problem
    cause, goal, place = (
        core.refused_by_device(native) if isinstance(native, core.Solver) else (core.Refusal.METHOD, "", -1)
    )
    if not cause and free is not solver:
        cause, place = find_bent_joint(solver)
    if cause:
        options, given = solver.options, solver.goals.get(goal)
        words = {
            "goal": f"goal {goal!r} is a {type(given).__name__}",
            "method": repr(options.method.name),
            "handling": repr(options.limit_handling),
            "joint": next((repr(j.name) for j in solver.model.joints if j.nq and j.q.start == place), ""),
            "limit": ", ".join(repr(limit.name) for limit in options.limits),
        }
        raise InvalidValue(f"{REFUSALS[cause].format(**words)}; give numpy arrays, which run on the CPU.")
    if solutions > 1:
        raise InvalidValue("solutions= above 1 runs on the CPU only; give numpy arrays.")
    return free


def list_fixed(solver: Solver) -> list[Any]:
    """Return the capsules of a clearance that no joint moves, in the axes of the base, and a ball above its origin."""
    parts = FixedParts(solver.model, cast("Clearance", solver.options.limits[0]))
    return [(each.a, each.b, each.radius) for each in (*parts.capsules, *parts.above)]


def find_bent_joint(solver: Solver) -> tuple[core.Refusal, int]:
    """Return the refusal of a joint that moves a surface and that a GPU does not support, and its place in q."""
    kinds = {core.Primitive.PATH: core.Refusal.PATH_JOINT, core.Primitive.SCALE: core.Refusal.SCALE_JOINT}
    joints = core.problem_of(solver.problem, False)["primitives"]
    return next(((kinds[p["kind"]], int(p["q_index"])) for p in joints if p["kind"] in kinds), (core.Refusal.NONE, -1))


def drop_clearance(solver: Solver) -> Solver:
    """Return a solver without limits if the only one is a Clearance, otherwise the solver itself."""
    limits = solver.options.limits
    if len(limits) != 1 or type(limits[0]) is not Clearance:
        return solver
    free = solver.with_options(replace(solver.options, limits=()))
    if isinstance(free.problem, core.Solver):
        free.problem.complete_proofs()
    return free


def view_matrices(what: str, value: Any) -> BatchRows:
    """Return transforms (..., 4, 4) on the device; a single one may be on the host."""
    array = value if is_on_device(value) else read_matrices(what, value)
    if is_on_device(value) or array.ndim > 2:
        array = view_on_device(value, what)
        check_matrices(what, array)
    else:
        array = load_cupy().asarray(array)
    return BatchRows(what, array, array.shape[:-2], 16)


def view_on_device(value: Any, what: str) -> Any:
    """Return a CuPy view of the array, without a copy."""
    if not is_on_device(value):
        raise InvalidValue(f"{what} is not on the GPU where the other arrays are; move it there, or the others here.")
    xp = load_cupy()
    array = value if isinstance(value, xp.ndarray) else xp.from_dlpack(value)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
        raise InvalidValue(f"{what} is an array of {array.dtype}; on a GPU it must be float32 or float64.")
    if not array.flags.c_contiguous:
        raise InvalidValue(f"{what} is not C-contiguous; make it so, because nothing is copied on a GPU.")
    if array.device.id != xp.cuda.Device().id:
        raise InvalidValue(f"{what} is on GPU {array.device.id}, the current one is {xp.cuda.Device().id}.")
    return array


def view_outputs(out: Any) -> Any:
    """Return the caller's output arrays as CuPy views."""
    if out is None or isinstance(out, BatchSolution):
        return out
    if isinstance(out, Mapping):
        return {name: as_cupy(array, f"out[{name!r}]") for name, array in out.items()}
    return as_cupy(out, "out['q']")


def as_cupy(array: Any, what: str) -> Any:
    """Return a CuPy view of the same memory."""
    if not is_on_device(array):
        raise InvalidValue(f"{what} is not on the GPU where the targets are.")
    xp = load_cupy()
    return array if isinstance(array, xp.ndarray) else xp.from_dlpack(array)


def find_stream(array: Any) -> AbstractContextManager[Any]:
    """Return the CUDA stream of the caller's library; PyTorch has its own."""
    if type(array).__module__.split(".")[0] == "torch":
        import torch

        stream = load_cupy().cuda.Stream
        if hasattr(stream, "from_external"):  # CuPy 14
            return stream.from_external(torch.cuda.current_stream())  # type: ignore[no-any-return]
        return load_cupy().cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)  # type: ignore[no-any-return]
    return nullcontext()


def find_way_back(array: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts a CuPy array to the library of `array`; None for CuPy itself."""
    library = type(array).__module__.split(".")[0]
    if library == "torch":
        import torch as home
    elif library in ("jaxlib", "jax"):
        from jax import dlpack as home
    else:
        return None
    return cast("Callable[[Any], Any]", home.from_dlpack)
