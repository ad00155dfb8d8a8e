"""`poise bench`: a minute of timings, which can be saved and compared later.

In the repository, `make bench` compares Poise with other libraries. This command compares Poise with itself: the same
work on the same machine, before and after a change. Every line is the minimum over many short rounds, which is the
figure that other load on the machine disturbs least.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import poise
from poise.batch import BatchSolver
from poise.cli.console import describe_system, report_errors, report_written, show_progress
from poise.cli.demo import follow, make_goals
from poise.errors import InvalidValue
from poise.goals import Reach

__all__ = ["bench_command"]

TOOL = "panda_hand_tcp"
Work = Callable[[], int]  # runs the benchmark and returns the number of calls


def bench_command(
    save: Annotated[Path | None, typer.Option(help="Save the figures to this file.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Compare with figures written by --save.")] = None,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Allowed slowdown: 0.25 is 25 %.")] = 0.25,
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds per measurement.")] = 1.0,
    only: Annotated[str | None, typer.Option(help="Only lines with this word in their name.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure Poise on this machine. With --compare, exit code 1 if a line became slower than --tolerance allows."""
    with report_errors("bench"):
        before = None if compare is None else read_saved_figures(compare)
        chosen = {name: work for name, work in WORKS.items() if only is None or only in name}
        if not chosen:
            raise InvalidValue(f"no line has {only!r} in its name; there are: {', '.join(WORKS)}.")
        found = measure(chosen, seconds)
        slower = [] if before is None else [n for n in found if n in before and found[n] > (1 + tolerance) * before[n]]
        if save is not None:
            save.write_text(json.dumps(record(found), indent=2) + "\n", encoding="utf-8")
            report_written(save)
    if as_json:
        typer.echo(json.dumps({**record(found), "before": before, "slower": slower}, indent=2))
    else:
        Console().print(make_table(found, before, slower))
    raise typer.Exit(1 if slower else 0)


# ------------------------------------------------------------------------------------------------ the work


def repeat(call: Callable[[], object], times: int) -> Work:
    """Return a benchmark that calls a function `times` times."""

    def work() -> int:
        for _ in range(times):
            call()
        return times

    return work


def time_fk_arm() -> Work:
    """Prepare the benchmark of fk: one pose, one frame."""
    model = poise.load("panda")
    return repeat(partial(model.fk, np.array(model.rest), TOOL), 1000)


def time_jacobian_arm() -> Work:
    """Prepare the benchmark of the Jacobian: one pose, one frame."""
    model = poise.load("panda")
    return repeat(partial(model.jacobian, np.array(model.rest), TOOL), 1000)


def time_fk_batch() -> Work:
    """Prepare the benchmark of fk of 10,000 poses in one call."""
    model = poise.load("humanoid")
    q = model.random(np.random.default_rng(0), 10_000)
    return lambda: len(model.fk(q, "hand_l"))


def solve_arm() -> Work:
    """Prepare a benchmark that solves reachable transforms with one solver, from the default start."""
    model = poise.load("panda")
    targets = model.fk(model.random(np.random.default_rng(0), 100), TOOL)
    solver = poise.Solver(model, Reach(TOOL, targets[0], name="hand"))
    return lambda: len([solver.solve(None, {"hand": target}) for target in targets])


def solve_arm_at_once() -> Work:
    """Prepare a benchmark that solves reachable transforms with `poise.solve`, which makes a solver per call."""
    model = poise.load("panda")
    targets = model.fk(model.random(np.random.default_rng(0), 20), TOOL)
    return lambda: len([poise.solve(model, Reach(TOOL, target)) for target in targets])


def time_batch_arm() -> Work:
    """Prepare a benchmark that solves 5000 reachable targets in one batch."""
    model = poise.load("panda")
    return prepare_batch(model, model.fk(model.random(np.random.default_rng(0), 5000), TOOL))


def time_batch_arm_mixed() -> Work:
    """Prepare a benchmark of targets uniform in a ball around the arm; about half of them are out of reach."""
    model, rng = poise.load("panda"), np.random.default_rng(0)
    tools = model.fk(model.random(rng, 5000), TOOL)
    center = model.fk(model.rest, model.joints[0].name)[:3, 3]
    radius = np.linalg.norm(tools[:, :3, 3] - center, axis=1).max()
    targets = tools[:100].copy()
    direction = rng.normal(size=(100, 3))
    away = radius * rng.uniform(size=(100, 1)) ** (1 / 3) / np.linalg.norm(direction, axis=1, keepdims=True)
    targets[:, :3, 3] = center + away * direction
    targets[:, :3, :3] = poise.Rotation(rng.normal(size=(100, 4))).matrix
    return prepare_batch(model, targets)


def prepare_batch(model: poise.Model, targets: NDArray[np.float64]) -> Work:
    """Prepare a benchmark of one call of a prepared batch solver."""
    solver = BatchSolver(model, Reach(TOOL, targets[0]))
    return lambda: len(solver.solve(targets).q)


def solve_figure() -> Work:
    """Prepare a benchmark that solves the demo's goals from rest, with a prepared solver."""
    model = poise.load("humanoid")
    return repeat(poise.Solver(model, make_goals(model)).solve, 10)


def drag_figure() -> Work:
    """Prepare a benchmark of the demo's figure of eight, frame by frame."""
    model = poise.load("humanoid")
    return lambda: len(follow(model))


def prepare_figure() -> Work:
    """Prepare a benchmark of the construction of a solver from goals."""
    model = poise.load("humanoid")
    return repeat(partial(poise.Solver, model, make_goals(model)), 10)


WORKS: dict[str, Callable[[], Work]] = {
    "fk, panda": time_fk_arm,
    "jacobian, panda": time_jacobian_arm,
    "fk, humanoid, batch of 10,000": time_fk_batch,
    "solve, panda, a transform": solve_arm,
    "poise.solve, panda, a transform": solve_arm_at_once,
    "batch, panda, reachable": time_batch_arm,
    "batch, panda, half of them out of reach": time_batch_arm_mixed,
    "solve, humanoid, the demo's goals": solve_figure,
    "drag, humanoid, a frame": drag_figure,
    "prepare a solver, humanoid": prepare_figure,
}


# ------------------------------------------------------------------------------------------------ figures


def measure(works: dict[str, Callable[[], Work]], seconds: float) -> dict[str, float]:
    """Return the minimum time per call of each benchmark [us], with a progress bar on a terminal."""
    found = {}
    with show_progress("measuring") as progress:
        for k, (name, prepare) in enumerate(works.items()):
            progress(k, len(works), name)
            found[name] = find_least_time(prepare(), seconds)
    return found


def find_least_time(work: Work, seconds: float) -> float:
    """Return the minimum time per call over rounds of `work` [us]."""
    work()
    best, end = np.inf, time.perf_counter() + seconds
    while True:
        before = time.perf_counter()
        calls = work()
        after = time.perf_counter()
        best = min(best, (after - before) / calls)
        if after > end:
            return round(1e6 * best, 3)


def record(found: dict[str, float]) -> dict[str, Any]:
    """Return the figures with a description of this machine."""
    machine = {"system": describe_system(), "processor": platform.machine(), "python": platform.python_version()}
    return {"poise": poise.__version__, **machine, "microseconds": found}


def read_saved_figures(path: Path) -> dict[str, float]:
    """Return figures saved by an earlier run."""
    try:
        found = json.loads(path.read_text("utf-8"))["microseconds"]
        return {str(name): float(value) for name, value in found.items()}
    except FileNotFoundError:
        raise InvalidValue(f"{path} does not exist; poise bench --save {path} writes it.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidValue(f"{path} has no figures; poise bench --save {path} writes them.") from None


def make_table(found: dict[str, float], before: dict[str, float] | None, slower: list[str]) -> Table:
    """Return the figures as a table for the terminal."""
    table = Table(title="microseconds a call, least of many rounds", title_justify="left")
    table.add_column("what", style="bold")
    for column in ("now",) if before is None else ("before", "now", "change"):
        table.add_column(column, justify="right")
    for name, now in found.items():
        cells = [f"{now:.2f}"]
        if before is not None:
            known = before.get(name)
            change = "new" if known is None else f"{100 * (now / known - 1):+.0f}%"
            colour = "red" if name in slower else "green" if known is not None and now < 0.9 * known else ""
            cells = ["" if known is None else f"{known:.2f}", *cells, f"[{colour}]{change}[/]" if colour else change]
        table.add_row(name, *cells)
    return table
