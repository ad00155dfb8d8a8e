"""Scenes of races: methods side by side on one problem, step by step, a row for each body.

With `drag` the page contains every prepared problem and the kernels: where a target is dragged, all methods of its body
solve again, from the same start.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.formats.solver_data import pack
from poise.formats.units import scale_motion
from poise.kinematics import Motion
from poise.model import Model
from poise.model.plane import is_planar
from poise.native import core
from poise.pages.drag import pack_module
from poise.pages.scene import BODY, Color, PageScene, find_planar_view
from poise.pages.searches import MANY, add_ball, make_curve, read_color, trace_search
from poise.pictures.body.flesh import PLANAR_RADIUS
from poise.solvers.race import Race, Racer
from poise.solvers.solution import Solution
from poise.spatial import Rotation

__all__ = ["list_races", "show_races"]

MOST_FRAMES = 240  # a few methods need hundreds of steps: the page plays until nearly all have arrived


@dataclass
class Lane:
    """One method on one body: where it stands on the page, and its search.

    A point p of the body is at turn @ (scale * p) + offset.
    """

    name: str
    method: str
    solution: Solution
    path: Floats
    column: int = 0  # of its method, which also has a colour
    scale: float = 1.0
    turn: Floats = field(default_factory=lambda: np.eye(3))
    offset: Floats = field(default_factory=lambda: np.zeros(3))

    @property
    def model(self) -> Model:
        """The body."""
        return self.solution.model

    @property
    def target(self) -> Floats:
        """The target's position, in the axes of the body."""
        (rows,) = self.solution.list_rows().values()
        return np.array(rows.target[9:12])

    def trace(self) -> Floats:
        """Return the positions of all frames along the search, (points, 3), without the offset."""
        return self.place(self.model.fk(self.path)[..., :3, 3].reshape(-1, 3))

    def place(self, points: Floats) -> Floats:
        """Return points of the body on the page, without the offset."""
        return self.scale * points @ self.turn.T


def list_races(thing: Any) -> list[Race]:
    """Return a race, or a list of races, as a list; empty for anything else."""
    races = [thing] if isinstance(thing, Race) else thing
    listed = isinstance(races, (list, tuple)) and all(isinstance(race, Race) for race in races)
    return list(races) if listed else []


def show_races(races: Sequence[Race], *, drag: bool = False) -> PageScene:
    """Show the first recorded problem of each race, step by step.

    Raises:
        InvalidValue: No racer was recorded, or with `drag` no method runs in the kernels.
    """
    rows = [lanes for lanes in (list_lanes(race, len(races) > 1, drag) for race in races) if lanes]
    if not rows:
        if drag and any(list_lanes(race) for race in races):
            raise InvalidValue("the methods of this race run in Python, which a page cannot do; leave out drag=True.")
        raise InvalidValue("the race has nothing to show: no method was recorded. Run it with recorded=1.")
    models = [lanes[0].model for lanes in rows]
    first = next((model for model in models if not is_planar(model)), models[0])
    frames = 1 if drag else min(max(len(lane.path) for lanes in rows for lane in lanes), MOST_FRAMES)
    names = ", ".join(dict.fromkeys(race.model for race in races))
    scene = PageScene(first.up, frames, max(8.0, frames / 12.0), title=f"A race: {names}", stepwise=True)
    scene.note = write_note(races, sum(map(len, rows)), drag)
    methods = list(dict.fromkeys(lane.method for lanes in rows for lane in lanes))
    for lane in (lane for lanes in rows for lane in lanes):
        lane.column = methods.index(lane.method)
    stand(rows, first, len(methods))
    balls = [add_lane(scene, lane) for lanes in rows for lane in lanes]
    if drag:  # a page that cannot solve shows the last poses
        scene.corners += [lane.trace() + lane.offset for lanes in rows for lane in lanes]
    scene.azimuth, scene.elevation = (
        find_planar_view(first.up) if is_planar(first) else (0.0, 0.5 if len(rows) == 1 else 0.65)
    )
    scene.table = tabulate(races)
    if drag:
        scene.drag = pack_races(scene, rows, balls)
    return scene


def list_lanes(race: Race, several: bool = False, drag: bool = False) -> list[Lane]:
    """Return the recorded racers; with `drag`, those whose method runs in the kernels."""
    lanes, seen = [], Counter[str]()
    for racer in race.racers:
        solution = racer.watched
        if solution is None or (drag and not isinstance(solution.solver.problem, core.Solver)):
            continue
        seen[racer.method] += 1
        method = racer.method if seen[racer.method] == 1 else f"{racer.method} {seen[racer.method]}"
        name = f"{race.model} {method}" if several else method
        lanes.append(Lane(name, method, solution, trace_search(solution)[:MOST_FRAMES]))
    return lanes


def write_note(races: Sequence[Race], count: int, drag: bool) -> str:
    """Return the line below the title."""
    if drag:
        return "Drag a target: every method solves again, from the same start."
    if len(races) > 1:
        return f"{len(races)} bodies, {count} racers, each on one of its targets"
    return f"{races[0].frame} to one of {races[0].problems} targets, {count} methods"


# ------------------------------------------------------------------------------------------------ places


def stand(rows: list[list[Lane]], first: Model, columns: int) -> None:
    """Place all bodies: one race in staggered rows or a table of planar bodies, several in a row each.

    Several races have a column for each method. Their bodies are scaled to the length of the first one, and planar ones
    stand upright unless all are planar.
    """
    if len(rows) == 1:
        for lane, offset in zip(rows[0], place_in_rows(first, [lane.path for lane in rows[0]]), strict=True):
            lane.offset = offset
        return
    flat = is_planar(first)
    aside, ahead, up = (0, 1, 2) if flat else ((first.up_axis + 2) % 3, (first.up_axis + 1) % 3, first.up_axis)
    boxes = []
    for lanes in rows:
        model = lanes[0].model
        for lane in lanes:
            lane.scale, lane.turn = first.length / model.length, find_turn(model, first)
        seen = np.concatenate([lane.trace() for lane in lanes])
        boxes.append((seen.min(axis=0), seen.max(axis=0)))
    gap = 0.25 * first.length
    wide = max(float((high - low)[aside]) for low, high in boxes) + gap
    back = 0.0
    for lanes, (low, high) in zip(rows, boxes, strict=True):
        for lane in lanes:
            lane.offset[aside] = (lane.column - (columns - 1) / 2) * wide - (low + high)[aside] / 2
            lane.offset[ahead] = back - high[ahead]
            lane.offset[up] = 0.0 if flat else -low[up]
        back -= float((high - low)[ahead]) + (gap if flat else 1.3 * first.length)


def find_turn(model: Model, first: Model) -> Floats:
    """Return the rotation of a body into the axes of the page; planar ones face the camera."""
    if is_planar(first):
        return np.eye(3)
    if is_planar(model):
        return np.roll(np.eye(3), first.up_axis + 2, axis=0)
    return Rotation.between(model.up_direction, first.up_direction).matrix


def place_in_rows(model: Model, paths: list[Floats]) -> list[Floats]:
    """Return the position of each body: staggered rows across the view, or a table of planar bodies."""
    seen = np.concatenate([model.fk(path)[..., :3, 3].reshape(-1, 3) for path in paths])
    if is_planar(model):
        columns, stagger, (aside, ahead) = int(np.ceil(np.sqrt(len(paths)))), 0.0, (0, 1)
    else:
        columns = len(paths) if len(paths) <= 4 else -(-len(paths) // (2 if len(paths) <= 10 else 3))
        stagger, (aside, ahead) = 0.5 * (len(paths) > columns), ((model.up_axis + 2) % 3, (model.up_axis + 1) % 3)
    wide, deep = (1.08 * np.ptp(seen[:, axis]) + 0.22 * model.length for axis in (aside, ahead))
    deep = deep if is_planar(model) else max(deep, 0.8 * wide)
    places = []
    for k in range(len(paths)):
        out = np.zeros(3)
        out[aside] = (k % columns - (columns - 1) / 2 + stagger * (0.5 - k // columns % 2)) * wide
        out[ahead] = -(k // columns) * deep
        places.append(out)
    return places


def add_lane(scene: PageScene, lane: Lane) -> int:
    """Add one body with its target, name and error curve; return the track of the target."""
    model, offset = lane.model, lane.offset
    r, g, b = read_color(MANY[lane.column % len(MANY)])
    soft: Color = (0.45 * r + 0.55 * BODY[0], 0.45 * g + 0.55 * BODY[1], 0.45 * b + 0.55 * BODY[2])
    shown = scale_motion(Motion(model, lane.solution.q[None] if scene.frames == 1 else lane.path), lane.scale)
    scene.add_body(shown.model, shown.q, color=soft, offset=offset, turn=lane.turn)
    place = np.eye(4)
    place[:3, 3] = lane.place(lane.target) + offset
    ball, length = scene.add_track(place[None]), shown.model.length
    size = 1.5 * PLANAR_RADIUS * length if is_planar(model) else 0.02 * min(length, 2.0)
    add_ball(scene, ball, np.zeros(3), size, read_color("#D55E00"))
    down = int(np.argmax(lane.turn[:, 1])) if is_planar(model) else scene.up_axis  # planar bodies face the camera
    base = lane.place(model.fk(np.array(model.rest))[0, :3, 3]) + offset
    if is_planar(model):
        base[down] = offset[down] + float(lane.trace()[:, down].min())
    base[down] -= 0.10 * length
    scene.labels.append({"text": lane.method, "track": -1, "at": base.tolist(), "color": ""})
    assert lane.solution.history is not None
    errors = lane.solution.history.errors.max(axis=(1, 2))[:MOST_FRAMES]
    scene.curves.append(make_curve(lane.name, errors, lane.column))
    return ball


def tabulate(races: Sequence[Race]) -> dict[str, Any]:
    """Return a table of the results of all racers, over all problems."""

    def describe(race: Race, r: Racer) -> list[str]:
        name = f"{race.model} {r.method}" if len(races) > 1 else r.method
        return [name, f"{100 * r.reached:.0f} %", f"{r.steps:.0f}", f"{r.microseconds:.0f}"]

    lines = [describe(race, racer) for race in races for racer in race.racers if not racer.refused]
    return {"head": ["method", "reached", "steps", "us"], "rows": lines}


# ------------------------------------------------------------------------------------------------ kernels


def pack_races(scene: PageScene, rows: list[list[Lane]], balls: list[int]) -> dict[str, Any]:
    """Return the data of races that are solved in the page."""
    tracks, tracked = iter(scene.bodies), iter(balls)
    races = []
    for lanes in rows:
        model = lanes[0].model
        races.append(
            {
                "body": pack(core.write_body(model.native_body)),
                "start": np.array(model.rest).tolist(),
                "target": lanes[0].target.tolist(),
                "turn": lanes[0].turn.ravel().tolist(),
                "scale": lanes[0].scale,
                "planar": is_planar(model),
                "metres": model.metres_per_unit,
                "length": lanes[0].scale * model.length,
                "racers": [pack_lane(lane, next(tracks), next(tracked)) for lane in lanes],
            }
        )
    return {"module": pack_module(), "races": races, "most": MOST_FRAMES}


def pack_lane(lane: Lane, tracks: dict[str, int], ball: int) -> dict[str, Any]:
    """Return the data of one racer: its prepared problem, and the tracks that it moves."""
    problem = lane.solution.copy_solver().problem
    problem.complete_proofs()
    return {
        "name": lane.name,
        "color": MANY[lane.column % len(MANY)],
        "problem": pack(core.write_problem(problem)),
        "offset": lane.offset.tolist(),
        "tracks": [[track, lane.model.frames.index(frame)] for frame, track in tracks.items()],
        "ball": ball,
    }
