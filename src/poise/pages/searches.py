"""Scenes of solutions with their targets, their search and their errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.pages.scene import LONGEST, Color, PageScene
from poise.pictures.body.surface import make_capsule
from poise.pictures.marks import GoalMark, find_marks
from poise.pictures.plots import COLORS, trace_goals
from poise.solvers.report.show import HEAD, list_rows, write_headline
from poise.solvers.solution import Solution

__all__ = [
    "MANY",
    "add_ball",
    "make_curve",
    "read_color",
    "show_answers",
    "show_solution",
    "thin_out",
    "trace_search",
]

MANY = (*COLORS, "#882255", "#44AA99", "#AA4499", "#117733", "#DDCC77", "#332288", "#661100", "#6699CC")
AXES: tuple[Color, ...] = ((0.86, 0.30, 0.24), (0.25, 0.66, 0.32), (0.22, 0.46, 0.86))


def show_solution(solution: Solution) -> PageScene:
    """Show the body and its goals; a recorded search is played."""
    history = solution.history
    recorded = history is not None and len(history) > 1
    q = trace_search(solution) if recorded else solution.q[None]
    scene = PageScene(
        solution.model.up, len(q), 6.0, title=solution.model.name, note=write_headline(solution), stepwise=recorded
    )
    scene.add_body(solution.model, q)
    add_goals(scene, [solution], q)
    scene.table = {"head": list(HEAD), "rows": [list(row) for row in list_rows(solution)]}
    scene.words = "" if solution.reached else solution.why()
    if recorded:
        scene.fps = max(6.0, len(q) / 6.0)
        curves = enumerate(trace_goals(solution))
        scene.curves = [make_curve(name, values[thin_out(len(values))], k) for k, (name, values) in curves]
    return scene


def show_answers(solutions: list[Solution]) -> PageScene:
    """Show solutions one after the other with their targets, such as those of a drag.

    Raises:
        InvalidValue: They are solutions of different bodies or goals.
    """
    last = solutions[-1]
    if any(part.model != last.model or list(part.errors) != list(last.errors) for part in solutions):
        raise InvalidValue("the solutions are of different bodies or goals; show them one by one.")
    shown = [solutions[k] for k in thin_out(len(solutions))]
    q = np.array([part.q for part in shown])
    middle = 1e6 * float(np.median([part.seconds for part in solutions]))
    note = f"{len(solutions)} frames, solved one after the other, {middle:.0f} us each (median)"
    scene = PageScene(last.model.up, len(q), 30.0, title=last.model.name, note=note)
    scene.add_body(last.model, q)
    add_goals(scene, shown, q)
    scene.table = {"head": list(HEAD), "rows": [list(row) for row in list_rows(last)]}
    return scene


def trace_search(solution: Solution) -> Floats:
    """Return every pose of the search, and the solution; long searches are decimated."""
    assert solution.history is not None
    path = solution.history.end_at(solution.q)
    return path[thin_out(len(path))]


def thin_out(count: int) -> NDArray[np.int64]:
    """Return the frames that a page shows of a clip: all, or at most LONGEST at even distances, with the last one."""
    return np.unique(np.linspace(0, count - 1, min(count, LONGEST)).astype(np.int64))


def make_curve(name: str, values: Floats, k: int) -> dict[str, Any]:
    """Return the curve of an error over the steps, in the k-th colour."""
    return {"name": name, "color": MANY[k % len(MANY)], "values": [float(f"{x:.3g}") for x in values]}


def add_goals(scene: PageScene, solutions: list[Solution], q: Floats) -> None:
    """Add the goals of the last solution as small solids; moving targets get tracks."""
    solution = solutions[-1]
    L = min(solution.model.length, 2.0)
    ways = trace_targets(solutions)
    for mark in find_marks(solution):
        color = read_color(mark.color)
        if mark.kind == "place":
            track = scene.add_track(ways[mark.name]) if mark.name in ways else -1
            add_place(scene, mark, 0.017 * L, color, track)
        elif mark.kind == "gaze" and mark.frame is not None and mark.axis is not None:
            length = float(np.linalg.norm(mark.points[1] - mark.points[0]))
            track = scene.add_track(np.array(solution.model.fk(q, mark.frame)))
            T = solution.model.fk(solution.q, mark.frame)
            eye = T[:3, :3].T @ (mark.points[0] - T[:3, 3])
            add_line(scene, track, eye, eye + length * mark.axis, 0.0026 * L, color)
            if len(solutions) == 1:
                add_ball(scene, -1, mark.points[1], 0.009 * L, color)
        elif mark.kind == "support":
            for a, b in zip(mark.points, np.roll(mark.points, -1, axis=0), strict=True):
                add_line(scene, -1, a, b, 0.003 * L, color)
        elif mark.kind == "mass":
            add_mass(scene, solution, q, mark, 0.014 * L, color)


def trace_targets(solutions: list[Solution]) -> dict[str, Floats]:
    """Return the transforms of the moving targets, (frames, 4, 4) by goal."""
    if len(solutions) == 1:
        return {}
    seen = [{mark.name: mark for mark in find_marks(part) if mark.kind == "place"} for part in solutions]
    ways: dict[str, Floats] = {}
    for name in seen[-1]:
        T = np.repeat(np.eye(4)[None], len(seen), axis=0)
        T[:, :3, 3] = [marks[name].points[0] for marks in seen]
        if np.ptp(T[:, :3, 3], axis=0).max() > 0.0:
            ways[name] = T
    return ways


def add_place(scene: PageScene, mark: GoalMark, size: float, color: Color, track: int) -> None:
    """Add a ball at the target, its axes if the rotation counts, and a line to the frame if the target was missed."""
    target, held = mark.points
    if track >= 0:
        add_ball(scene, track, np.zeros(3), 1.6 * size, color)
        above = 4.0 * size * np.eye(3)[scene.up_axis]
        scene.labels.append({"text": mark.name, "track": track, "at": above.tolist(), "color": ""})
        return
    add_ball(scene, -1, target, size, color)
    if mark.axes is not None:
        for axis, tone in zip(mark.axes.T, AXES, strict=True):
            add_line(scene, -1, target, target + 4.5 * size * axis, 0.22 * size, tone)
    if not mark.reached:
        add_line(scene, -1, target, held, 0.3 * size, color)
    scene.labels.append({"text": mark.name, "track": -1, "at": (target + 0).tolist(), "color": ""})
    scene.labels[-1]["at"][scene.up_axis] += 3.2 * size
    scene.corners += [target[None] - size, target[None] + size]


def add_mass(scene: PageScene, solution: Solution, q: Floats, mark: GoalMark, size: float, color: Color) -> None:
    """Add the centre of mass, and the plumb line below it."""
    height = solution.model.up_axis
    places = np.repeat(np.eye(4)[None], len(q), axis=0)
    places[:, :3, 3] = solution.model.center_of_mass(q)
    add_ball(scene, scene.add_track(places), np.zeros(3), size, color)
    below = places.copy()
    below[:, height, 3] = mark.points[1][height]
    add_ball(scene, scene.add_track(below), np.zeros(3), 0.7 * size, color)
    drop = np.zeros(3)
    drop[height] = mark.points[1][height] - mark.points[0][height]
    add_line(scene, len(scene.tracks) - 2, np.zeros(3), drop, 0.16 * size, color)


def add_line(scene: PageScene, track: int, a: Floats, b: Floats, radius: float, color: Color) -> None:
    """Add a thin capsule."""
    scene.add_solid(make_capsule(None, a, b, radius), track, color, mark=True)


def add_ball(scene: PageScene, track: int, at: Floats, radius: float, color: Color) -> None:
    """Add a ball."""
    scene.add_solid(make_capsule(None, at, at, radius), track, color, mark=True)


def read_color(text: str) -> Color:
    """Read a colour written as #rrggbb."""
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue
