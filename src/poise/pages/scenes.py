"""Scenes of poses, motions and maps, and the choice of the scene of any object."""

from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.errors import AS_THINGS, InvalidValue, show_value
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.geometry.looks import Patch, Piece
from poise.motion import Retargeted, Track
from poise.pages.drag import make_rig, pack_drag
from poise.pages.pairs import show_both
from poise.pages.races import list_races, show_races
from poise.pages.scene import LONGEST, PageScene
from poise.pages.searches import add_ball, make_curve, read_color, show_answers, show_solution
from poise.pictures.body.solids import place_object
from poise.pictures.loop_plots import read_frames
from poise.pictures.maps.faces import find_faces, group_faces
from poise.pictures.movie import find_motion
from poise.pictures.plots import COLORS, trace_goals
from poise.rig import Rig
from poise.solvers.solution import Solution
from poise.textbook import LoopTrace

__all__ = ["make_dragged_scene", "make_scene"]


def make_scene(thing: Any) -> PageScene:
    """Return the scene of a pose, motion, solution, race or map."""
    if isinstance(thing, Solution):
        return show_solution(thing)
    if isinstance(thing, (list, tuple)) and thing and all(isinstance(part, Solution) for part in thing):
        return show_answers(list(thing))
    races = list_races(thing)
    if races:
        return show_races(races)
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
    kinds = "Solution, Pose, Model, Rig, Motion, Track, Retargeted, Race, ReachMap, LoopTrace"
    listed = f"{kinds}, lists of solutions or races. Type: show(thing, path)"
    raise InvalidValue(f"show cannot show {show_value(thing)}; it shows: {listed}. {AS_THINGS}")


def make_dragged_scene(thing: Any) -> PageScene:
    """Return the scene of a body, or of races, to drag; a motion plays until a handle is taken."""
    races = list_races(thing)
    if races:
        return show_races(races, drag=True)
    rig, every = make_rig(thing), 1
    clip = thing if isinstance(thing, Motion) else getattr(thing, "motion", None)
    if clip is None:
        scene = show_pose(rig.pose)
        scene.note = ""
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
