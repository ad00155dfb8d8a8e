"""solve_batch and BatchSolver: one prepared problem, many targets and starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from poise.arguments import check_whole
from poise.batch.arrays import BatchRows, find_lead, name_targets, read_starts, read_targets
from poise.batch.completeness import CompletenessQuery
from poise.batch.device import DeviceBatch, is_on_device
from poise.batch.fixed_parts import find_blocked_bases
from poise.batch.obstacles import PlacedRegion, move_targets, move_world, place_regions, read_base
from poise.batch.outputs import Outputs
from poise.batch.rowwise import prove_rowwise, search_rowwise, solve_rowwise
from poise.batch.solution import BatchSolution
from poise.errors import InvalidValue, name_not_found
from poise.goals import Goal, Reach
from poise.keywords import refuse_unknown
from poise.kinematics.pose import check_model
from poise.limits import Limit
from poise.methods import Method
from poise.model import Frame, Model
from poise.native import core
from poise.solvers import Solver
from poise.solvers.guess_starts import goes_further, guess_goals
from poise.solvers.limit_tables import refuse_timed
from poise.solvers.multiple_solutions import Explorer, Found, check_several
from poise.solvers.one_call import check_start
from poise.solvers.table import may_move

__all__ = ["BatchSolver", "shift_progress", "solve_batch"]

Progress = Callable[[int, int], Any]
DTYPES: dict[str, np.dtype[Any]] = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32)}
MOST_SOLUTIONS, MOST_THREADS = 1000, 4096


class BatchSolver:
    """A model, goals and options, prepared once for many batches. Use it in one thread at a time.

    Args:
        model: The body.
        goals: One goal or several; their own targets apply if a batch gives none.
        restarts: The number of further searches after a failed one, from spread seeds; "auto" lets the method decide.
        seed: Seed of the restarts; the same seed gives the same answer.
        threads: The number of threads (default: one per core). The answers do not depend on it.
        dtype: "float64" (the default for numpy arrays), or "float32": searched in float64, rounded inside the
            ranges and checked again. Arrays on a GPU use float32 by default.
        solutions: Up to this many distinct answers per row, nearest to its start first.
        turns: Count poses that differ by whole turns as different answers; such batches run row by row in Python.
        options: method, limits, limit_handling, joints, stiffness, max_steps, time_limit, step_limit and mode, as in
            `poise.solve`.
    """

    def __init__(
        self,
        model: Model,
        goals: Iterable[Goal] | Goal,
        *,
        restarts: int | str = "auto",
        seed: int = 0,
        threads: int | None = None,
        dtype: Any = None,
        solutions: int = 1,
        turns: bool = False,
        **options: Any,
    ) -> None:
        self.solver = Solver(model, goals, restarts=restarts, seed=seed, **options)
        refuse_timed(self.solver.timed)
        if isinstance(self.solver.problem, core.Solver):
            self.solver.problem.complete_proofs()  # threads and devices cannot call Python
        self.model = model
        self._asked = None if dtype is None else read_dtype(dtype)
        self.dtype = self._asked or DTYPES["float64"]
        self._device: DeviceBatch | None = None
        self.threads = check_whole(threads, "threads", 1, MOST_THREADS) if threads is not None else count_cores()
        self.solutions = check_whole(solutions, "solutions", 1, MOST_SOLUTIONS)
        self.rows = {name: self.solver.goals[name].rows(model) for name in self.solver.row_names}
        self._repeatable = options.get("mode") == "repeatable"
        if self.solutions > 1:
            check_several(self.solver)
        elif turns:
            raise InvalidValue("turns=True needs a number of answers; type: solve_batch(..., solutions=8, turns=True).")
        alone = self.solutions > 1 and (turns or not (self.in_lanes or self.lists_limited))
        self._explorer = Explorer(self.solver, turns) if alone else None
        further = self.solutions > 1 or goes_further(self.solver.options)
        self._guessed = (
            further and guess_goals(model, self.solver.options, self.rows, np.asarray(model.rest)) is not None
        )

    @property
    def in_lanes(self) -> bool:
        """Whether problems run in parallel SIMD lanes; others run one by one on every thread."""
        native = self.solver.problem
        return isinstance(native, core.Solver) and core.lanes_serve(native)

    @property
    def lists_limited(self) -> bool:
        """Whether a closed form lists several answers of a row, which are checked against the limits."""
        native = self.solver.problem
        return isinstance(native, core.Solver) and core.limited_lists_serve(native)

    def solve(
        self,
        targets: Any,
        starts: Any = None,
        *,
        places: Mapping[str, Any] | None = None,
        base: Any = None,
        out: Any = None,
        progress: Progress | None = None,
    ) -> BatchSolution:
        """Solve every row.

        Args:
            targets: (B, 3), (B, 3, 3) or (B, 4, 4) for one goal, (B, 2) for positions of a planar body, or {goal name:
                array}; more leading axes, and broadcasting between goals and starts, as in numpy. A row that is not a
                valid target (NaN, not a rotation) becomes INVALID; the other rows are not affected.
            starts: (B, nq) or (nq,), a Pose or a Motion (default: the rest pose).
            places: {region name: (B, 4, 4)}: transforms of regions of a `Clearance`, applied after their own placement.
                Regions of one name move together; one without a name is called by its kind: "box", "box#2".
            base: (B, 4, 4): the place of the body's base; targets and regions are in the world. A row whose base itself
                is in collision is IN_COLLISION; regions that do not rise above its origin do not count.
            out: Arrays to fill: one for `q`, {field: array}, or a BatchSolution to reuse. They must match exactly.
            progress: A function called with (rows done, rows) at intervals, and at the end.
        """
        given = name_targets(targets, self.rows)
        if any(is_on_device(x) for x in given.values()):
            return self._find_device().solve(given, None if self._repeatable else starts, places, base, out, progress)
        parts = [read_targets(name, x, self.rows[name]) for name, x in given.items()]
        begin = read_starts(self.model, None if self._repeatable else starts)
        from_world = read_base(base)
        parts = parts if from_world is None else move_targets(parts, self.rows, from_world)
        regions = place_regions(self.solver.options.limits, places, from_world)
        lead = find_lead([*parts, begin, *(region.rows for region in regions)])
        outputs = Outputs.make(lead, self.model, len(self.rows), self.dtype, self.solutions, out)
        if progress is not None and not callable(progress):
            raise InvalidValue(f"progress is {progress!r}; it must be a function of (rows done, rows).")
        self._run(parts, begin, regions, lead, outputs, progress)
        if from_world is not None and regions:
            outputs.block(find_blocked_bases(self.model, self.solver.options.limits, regions, lead))
        np.equal(outputs.codes, 0, out=outputs.reached)
        complete = self._make_completion(parts, begin, outputs, out)
        return outputs.make_solution(self.model, tuple(self.rows), None, complete)

    def _make_completion(
        self, parts: list[BatchRows], begin: BatchRows, outputs: Outputs, out: Any
    ) -> Callable[[], Any] | None:
        """Return a function that reports which rows are complete, evaluated now if the caller reuses the arrays."""
        if self.solutions == 1:
            return None
        query = CompletenessQuery.read(self.solver, parts, begin, outputs.steps.shape)
        if out is None:
            return lambda: query.judge(outputs)
        complete = query.judge(outputs)
        return lambda: complete

    def stream(
        self, batches: Iterable[Any], starts: Iterable[Any] | None = None, *, progress: Progress | None = None
    ) -> Iterator[BatchSolution]:
        """Solve batches one after another as they arrive, for more targets than fit in memory.

        Args:
            batches: The targets of each batch.
            starts: The starts of each batch, if any.
            progress: Called with (rows done so far, rows seen so far).
        """
        before = 0
        for targets, start in ((x, None) for x in batches) if starts is None else zip(batches, starts, strict=True):
            solved = self.solve(targets, start, progress=None if progress is None else shift_progress(progress, before))
            before += prod(solved.steps.shape)
            yield solved

    def _run(
        self,
        parts: list[BatchRows],
        begin: BatchRows,
        regions: list[PlacedRegion],
        lead: tuple[int, ...],
        outputs: Outputs,
        progress: Progress | None,
    ) -> None:
        native = self.solver.problem
        if self._explorer is not None or not isinstance(native, core.Solver) or not core.threads_serve(native):
            self._run_rowwise(parts, begin, regions, lead, outputs, progress)
            return
        start, start_stride = begin.spread(lead)
        spread = [(part.name, *part.spread(lead), part.raw) for part in parts]
        table = {
            "targets": spread,
            "places": [(region.clearance, region.region, *region.rows.spread(lead)) for region in regions],
            "starts": start,
            "start_stride": start_stride,
            "rows": prod(lead),
            "solutions": self.solutions,
            "q": outputs.q,
            "errors": outputs.errors,
            "status": outputs.codes,
            "steps": outputs.steps,
            "searches": outputs.searches,
        }
        core.solve_batch(native, table, self.threads, None if progress is None else hold_last(progress))
        wide = [part.widen(lead) for part in (*parts, begin)]
        if self._guessed and outputs.steps.size and not any(part.raw for part in parts):
            placed = [replace(region, rows=region.rows.widen(lead)) for region in regions]
            search_rowwise(lambda row: move_world(self.solver, placed, row), wide[:-1], wide[-1], outputs)
        if not may_move(self.model, self.solver.options.joints).all():
            prove_rowwise(self.solver, wide[:-1], wide[-1], prod(lead), outputs)
        if progress is not None:
            progress(prod(lead), prod(lead))

    def _run_rowwise(
        self,
        parts: list[BatchRows],
        begin: BatchRows,
        regions: list[PlacedRegion],
        lead: tuple[int, ...],
        outputs: Outputs,
        progress: Progress | None,
    ) -> None:
        wide = [part.widen(lead) for part in (*parts, begin)]
        placed = [replace(region, rows=region.rows.widen(lead)) for region in regions]
        explorer = self._explorer

        def find_answers(row: int, start: Any, targets: Mapping[str, Any]) -> tuple[Solver, Found]:
            solver = move_world(self.solver, placed, row)
            if explorer is not None:
                own = Explorer(solver, explorer.turns) if placed else explorer
                return solver, own.find(start, targets, self.solutions)
            answer = solver.solve(start, targets)
            return solver, Found([answer], answer.steps, answer.searches)

        solve_rowwise(find_answers, wide[:-1], wide[-1], outputs, progress)

    def _find_device(self) -> DeviceBatch:
        if self._device is None:
            self._device = DeviceBatch(self.solver, self.rows, self.solutions, self._asked)
        return self._device

    def copy(self) -> BatchSolver:
        """Return a second solver of the same problem, for another thread."""
        twin = object.__new__(BatchSolver)
        solver = self.solver.copy()
        explorer = None if self._explorer is None else Explorer(solver, self._explorer.turns)
        twin.__dict__.update(self.__dict__, solver=solver, _device=None, _explorer=explorer)
        return twin

    def __repr__(self) -> str:
        return f"<BatchSolver of {self.model.name!r}: {', '.join(self.rows)}; {self.dtype}, {self.threads} threads>"


def shift_progress(progress: Progress, before: int) -> Progress:
    """Report the progress of one batch as the progress of all batches so far."""
    return lambda done, rows: progress(before + done, before + rows)


def hold_last(progress: Progress) -> Progress:
    """Report the progress of a batch except its end, since missed rows may be searched further."""
    return lambda done, rows: progress(done, rows) if done < rows else None


def count_cores() -> int:
    """Return the number of cores available to this process."""
    able = getattr(os, "sched_getaffinity", None)
    return len(able(0)) if able else os.cpu_count() or 1


def read_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float64 or float32. Raises NameNotFound for others."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise name_not_found("dtype", name, DTYPES)
    return DTYPES[name]


@refuse_unknown
def solve_batch(
    model: Model,
    goals: Iterable[Goal] | Goal | str | Frame,
    targets: Any,
    starts: Any = None,
    *,
    restarts: int | str = "auto",
    seed: int = 0,
    threads: int | None = None,
    dtype: Any = None,
    solutions: int = 1,
    turns: bool = False,
    places: Mapping[str, Any] | None = None,
    base: Any = None,
    out: Any = None,
    progress: Progress | None = None,
    method: str | Method = "auto",
    limits: Sequence[Limit] | Limit = (),
    limit_handling: str = "active",
    joints: Sequence[str] | None = None,
    stiffness: Any = None,
    max_steps: int = 200,
    time_limit: float | None = None,
    step_limit: float | None = None,
    mode: str = "nearest",
) -> BatchSolution:
    """Solve many problems of one body at once; each row has the answer of `poise.solve`.

    numpy arrays run on all cores of the CPU; CuPy arrays, and CUDA arrays of other libraries, stay on their GPU.

    Args:
        model: The body.
        goals: One goal or several; their own targets apply if `targets` has none. A frame means `Reach` of its targets.
        targets: (B, 3), (B, 3, 3) or (B, 4, 4) for one goal, (B, 2) for positions of a planar body, or {goal name:
            array}. An invalid row becomes INVALID; the other rows are not affected.
        starts: (B, nq) or (nq,) (default: the rest pose).
        restarts: The number of further searches after a failed one, from spread seeds; "auto" lets the method decide.
        seed: Seed of the restarts; the same seed gives the same answer.
        threads: The number of threads (default: one per core). The answers do not depend on it.
        dtype: "float64" (the default for numpy arrays), or "float32": searched in float64, rounded inside the
            ranges and checked again. Arrays on a GPU use float32 by default.
        solutions: Up to this many distinct answers per row, nearest to its start first; arrays become (B, k, ...).
        turns: With `solutions`: count poses that differ by whole turns as different answers; otherwise only the one
            nearest to the start is returned. Such batches run row by row in Python.
        places: {region name: (B, 4, 4)}: transforms of regions of a `Clearance`, applied after their own placement.
            Regions of one name move together; one without a name is called by its kind: "box", "box#2".
        base: (B, 4, 4): the place of the body's base; targets and regions are in the world. A row whose base itself is
            in collision is IN_COLLISION; regions that do not rise above its origin do not count.
        out: Arrays to fill: one for `q`, {field: array}, or a BatchSolution to reuse.
        progress: A function called with (rows done, rows) at intervals, and at the end.
        method: A name from `poise.methods.names()`, or a method with settings.
        limits: Further limits, such as `Clearance`; they are never violated.
        limit_handling: "active", "freeze", "penalty", "clamp" or "off".
        joints: The only joints that may move.
        stiffness: A stiffer joint moves less in a step.
        max_steps: The largest number of steps in one search.
        time_limit: Time limit for one row, in seconds.
        step_limit: Largest motion of a joint per step, in radians (slides: times the body's length L, in metres).
        mode: "nearest", "repeatable" or "continuous".

    Returns:
        The BatchSolution.
    """
    if isinstance(targets, Goal):
        raise InvalidValue(
            "targets is a goal; put all goals in one list: solve_batch(model, [goal, goal, ...], targets)."
        )
    check_start(model, starts, stacklevel=4)
    solver = BatchSolver(
        model,
        reach_targets(model, goals, targets) if isinstance(goals, (str, Frame)) else goals,
        restarts=restarts,
        seed=seed,
        threads=threads,
        dtype=dtype,
        solutions=solutions,
        turns=turns,
        method=method,
        limits=limits,
        limit_handling=limit_handling,
        joints=joints,
        stiffness=stiffness,
        max_steps=max_steps,
        time_limit=time_limit,
        step_limit=step_limit,
        mode=mode,
    )
    return solver.solve(targets, starts, places=places, base=base, out=out, progress=progress)


def reach_targets(model: Model, frame: str | Frame, targets: Any) -> Reach:
    """Return the goal of a frame alone: its position, or also its rotation if the targets are transforms (B, 4, 4)."""
    check_model(model)
    rows = next(iter(targets.values()), ()) if isinstance(targets, Mapping) else targets
    shape = rows.shape if hasattr(rows, "shape") else np.shape(rows)
    return Reach(model.frame(frame).name, np.eye(4) if shape[-2:] == (4, 4) else np.zeros(3), name=str(frame))
