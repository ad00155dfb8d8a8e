"""Scenes of poses, motions, retargeted motions, solutions with their search, and races."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.batch import ReachMap
from poise.errors import InvalidValue
from poise.formats.meshes.looks import find_look
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.geometry.looks import Patch, Piece
from poise.model.plane import is_planar
from poise.motion import Retargeted, Track
from poise.pages.drag import make_rig, pack_drag
from poise.pages.pairs import show_both
from poise.pages.scene import BODY, Color, PageScene
from poise.pictures.body.flesh import PLANAR_RADIUS
from poise.pictures.body.solids import make_capsule, place_object
from poise.pictures.loop_plots import read_frames
from poise.pictures.maps.faces import find_faces, group_faces
from poise.pictures.marks import GoalMark, find_marks
from poise.pictures.movie import find_motion
from poise.pictures.plots import COLORS, trace_goals
from poise.rig import Rig
from poise.solvers.race import Race, Racer
from poise.solvers.report.show import HEAD, list_rows, write_headline
from poise.solvers.solution import Solution
from poise.textbook import LoopTrace

__all__ = ["make_dragged_scene", "make_scene"]


LONGEST = 4000  # frames of a page at most
MISSING_MESHES = "Some meshes of this body were not found; these parts are drawn as limbs."
MANY = (*COLORS, "#882255", "#44AA99", "#AA4499", "#117733", "#DDCC77", "#332288", "#661100", "#6699CC")
AXES: tuple[Color, ...] = ((0.86, 0.30, 0.24), (0.25, 0.66, 0.32), (0.22, 0.46, 0.86))


def make_scene(thing: Any) -> PageScene:
    """Return the scene of a pose, motion, solution, race or map."""
    if isinstance(thing, Solution):
        return show_solution(thing)
    if isinstance(thing, (list, tuple)) and thing and all(isinstance(part, Solution) for part in thing):
        return show_answers(list(thing))
    if isinstance(thing, Race):
        return show_race(thing)
    if isinstance(thing, LoopTrace):
        return show_loop(thing)
    if isinstance(thing, Track):
        return show_track(thing)
    if isinstance(thing, Motion):
        return show_motion(thing)
    if isinstance(thing, ReachMap):
        return show_map(thing)
    if isinstance(thing, Retargeted):
        return show_both(thing)
    if isinstance(thing, Model):
        thing = Pose(thing)
    if isinstance(thing, Rig):
        thing = thing.pose
    if isinstance(thing, Pose):
        return show_pose(thing)
    kinds = "Solution, a list of solutions, Pose, Model, Rig, Motion, Track, Retargeted, Race, ReachMap, LoopTrace"
    raise InvalidValue(f"show cannot show {thing!r}; it shows: {kinds}.")


def make_dragged_scene(thing: Any) -> PageScene:
    """Return the scene of a body that can be dragged; a motion plays until a handle is taken."""
    rig, every = make_rig(thing), 1
    clip = thing if isinstance(thing, Motion) else getattr(thing, "motion", None)
    if clip is None:
        scene = show_pose(rig.pose)
        scene.note = MISSING_MESHES if find_look(rig.model).notes else ""
        q = rig.q[None]
    else:
        scene = make_scene(thing)
        every = -(-len(clip) // LONGEST)
        q = clip.q[::every]
    track = thing.track if isinstance(thing, Retargeted) else thing
    contacts = track.contacts if isinstance(track, Track) else None
    scene.drag = pack_drag(rig, scene.bodies[-1], q, contacts, every)
    return scene


def show_pose(pose: Pose) -> PageScene:
    """Show a body in one pose."""
    scene = PageScene(pose.model.up, title=pose.model.name, note=f"{pose.model.nv} degrees of freedom")
    scene.add_body(pose.model, pose.q[None])
    return scene


def show_motion(motion: Motion) -> PageScene:
    """Show a body in motion; very long motions are decimated."""
    if not len(motion):
        raise InvalidValue("the motion has no frames; there is nothing to show.")
    every = -(-len(motion) // LONGEST)
    q, fps = motion.q[::every], motion.fps / every
    note = f"{len(motion)} frames at {motion.fps:g} a second" + (f", one in {every} shown" if every > 1 else "")
    scene = PageScene(motion.model.up, len(q), fps, title=motion.model.name, note=note)
    scene.add_body(motion.model, q)
    for thing in motion.objects:
        red, green, blue, opacity = thing.color
        track = scene.add_track(thing.transforms[::every])
        scene.add_solid(place_object(thing), track, (red, green, blue), opacity=opacity)
    return scene


def show_track(track: Track) -> PageScene:
    """Show a solved clip, with a text about its missed goals."""
    scene = show_motion(track.motion)
    scene.words = "" if track.reached.all() else track.why()
    return scene


def show_map(found: ReachMap) -> PageScene:
    """Show a reach map, cut open, around its body; a map of bases alone."""
    up, alone = "z" if found.model is None else found.model.up, found.transforms is not None
    title = f"Bases for {found.frame}" if alone else f"Reach of {found.frame}"
    scene = PageScene(up, title=title, note=str(found).splitlines()[0])
    if found.model is not None and not alone:
        scene.add_body(found.model, np.array(found.model.rest)[None])
    height = "xyz".index(up)
    faces = find_faces(found, cut=None if alone else ((height + 2) % 3, -1))
    if not len(faces.shares):
        return scene
    still = scene.add_track(np.eye(4)[None])
    for color, vertices, triangles, normals in group_faces(faces):
        patch = Patch(vertices.astype(np.float32), triangles, None, None, normals.astype(np.float32))
        scene.meshes.add(Piece(patch, "", np.eye(4)), [still], color=color)
    scene.corners.append(faces.corners.reshape(-1, 3))
    scene.table = {"head": ["", "voxels", "of all poses"], "rows": [list(row) for row in found.list_lines()]}
    return scene


# ------------------------------------------------------------------------------------------------ solutions


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


def show_loop(trace: LoopTrace) -> PageScene:
    """Play a loop of the textbook step by step, with its targets and errors."""
    scene = show_motion(find_motion(trace))
    scene.note, scene.stepwise = f"{len(trace) - 1} steps, {trace.reason}", True
    for target in read_frames(trace).targets:
        add_ball(scene, -1, target, 0.017 * min(trace.model.length, 2.0), read_color(COLORS[1]))
    every = -(-len(trace) // LONGEST)
    curves = enumerate(trace_goals(trace))
    scene.curves = [make_curve(name, values[::every], k) for k, (name, values) in curves]
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
        above = 4.0 * size * np.eye(3)[find_up(scene)]
        scene.labels.append({"text": mark.name, "track": track, "at": above.tolist(), "color": ""})
        return
    add_ball(scene, -1, target, size, color)
    if mark.axes is not None:
        for axis, tone in zip(mark.axes.T, AXES, strict=True):
            add_line(scene, -1, target, target + 4.5 * size * axis, 0.22 * size, tone)
    if not mark.reached:
        add_line(scene, -1, target, held, 0.3 * size, color)
    scene.labels.append({"text": mark.name, "track": -1, "at": (target + 0).tolist(), "color": ""})
    scene.labels[-1]["at"][find_up(scene)] += 3.2 * size
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


def find_up(scene: PageScene) -> int:
    """Return the index of the up axis."""
    return "xyz".index(scene.up)


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


# ------------------------------------------------------------------------------------------------ races


def show_race(race: Race) -> PageScene:
    """Show all methods side by side on one problem, step by step.

    Raises:
        InvalidValue: No racer was recorded.
    """
    watched = [(racer, racer.watched) for racer in race.racers if racer.watched is not None]
    if not watched:
        raise InvalidValue("the race has nothing to show: no method supports it, or it was run with recorded=0.")
    model = watched[0][1].model
    paths = [trace_search(solution)[:LONGEST] for _, solution in watched]
    # a few methods need hundreds of steps: the page plays until nearly all have arrived
    frames = min(max(map(len, paths)), 240)
    note = f"{race.frame} to one of {race.problems} targets, {len(watched)} methods"
    scene = PageScene(
        model.up, frames, max(8.0, frames / 12.0), title=f"A race: {race.model}", note=note, stepwise=True
    )
    scene.azimuth, scene.elevation = 0.0, 0.5
    places = place_in_rows(model, [path[:frames] for path in paths])
    for k, ((racer, solution), path) in enumerate(zip(watched, paths, strict=True)):
        add_racer(scene, racer, solution, path[:frames], k, places[k])
    scene.table = tabulate_race(race)
    return scene


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


def add_racer(scene: PageScene, racer: Racer, solution: Solution, path: Floats, k: int, offset: Floats) -> None:
    """Add one body with its target and its error curve."""
    r, g, b = read_color(MANY[k % len(MANY)])
    soft: Color = (0.45 * r + 0.55 * BODY[0], 0.45 * g + 0.55 * BODY[1], 0.45 * b + 0.55 * BODY[2])
    model = solution.model
    scene.add_body(model, path, color=soft, offset=offset)
    target, size = find_marks(solution)[0].points[0] + offset, 0.02 * min(model.length, 2.0)
    add_ball(scene, -1, target, 1.5 * PLANAR_RADIUS * model.length if is_planar(model) else size, read_color("#D55E00"))
    base = model.fk(np.array(model.rest))[0, :3, 3] + offset
    if is_planar(model):
        base[1] = offset[1] + float(model.fk(path)[..., 1, 3].min())
    base[1 if is_planar(model) else find_up(scene)] -= 0.10 * model.length
    scene.labels.append({"text": racer.method, "track": -1, "at": base.tolist(), "color": ""})
    assert solution.history is not None
    errors = solution.history.errors.max(axis=(1, 2))[: scene.frames]
    scene.curves.append(make_curve(racer.method, errors, k))


def tabulate_race(race: Race) -> dict[str, Any]:
    """Return a table of the results of all racers, over all problems."""
    lines = [
        [r.method, f"{100 * r.reached:.0f} %", f"{r.steps:.0f}", f"{r.microseconds:.0f}"]
        for r in race.racers
        if not r.refused
    ]
    return {"head": ["method", "reached", "steps", "us"], "rows": lines}
