"""Draw the pictures of bodies in the documentation, from the variables of the pages' snippets."""

import math
from typing import Any

import numpy as np

import poise
from poise.cli.demo import VIEW, follow, list_things, make_goals
from poise.goals import Balance, Distance, Grasp, LookAt, Reach, Rest
from poise.model import Box
from poise.pictures import Camera, plot
from poise.pictures.body.clay import BODY
from poise.pictures.marks import find_marks
from poise.pictures.picture import draw_solution, share_scale
from poise.pictures.plots import COLORS, draw_scene, make_figure

__all__ = ["BODIES", "GALLERIES"]

Names = dict[str, Any]

FRONT = Camera(azimuth=math.radians(-48), elevation=math.radians(13))
TINTS = (BODY, "#d6a77a", "#8fbf9f", "#b59fd0")


def panels(poses: list[tuple[str, Any, list[Any]]], camera: Camera = FRONT) -> Any:
    """Draw poses side by side at one scale, each with its name and targets."""
    made, axes = make_figure(2.15 * len(poses) + 0.3, 3.9, panels=len(poses))
    for place, (name, pose, targets) in zip(np.atleast_1d(axes), poses, strict=True):
        draw_scene(place, pose, targets=targets, camera=camera)
        place.set_title(name, fontsize=9.5, color="#444444", y=-0.02, va="top")
    share_scale(np.atleast_1d(axes))
    return made


# ------------------------------------------------------------------------------------------------ by section


def places(page: Names) -> Any:
    """Draw a point, a range, two hands on a bar."""
    point = page["pose"](Reach("hand_l", (0.3, 1.3, 0.4)))
    return panels([("Reach", point, [(0.3, 1.3, 0.4)]), ("Relative", page["hands"], [(0.15, 1.2, 0.4)])])


def distances_planes_lines(page: Names) -> Any:
    """Draw a clap, a head near a place, a wall, a rod."""
    names = ("Distance of two hands", "Distance to a place", "OnPlane", "OnLine")
    poses = [page[name] for name in ("clap", "near", "wall", "rod")]
    made = panels(
        [(n, p, [(0.5, 1.6, 0.0)] if k == 1 else []) for k, (n, p) in enumerate(zip(names, poses, strict=True))]
    )
    view = FRONT.on(page["model"])
    wall = view.project([(x, y, 0.45) for x, y in ((-0.1, 0.5), (0.6, 0.5), (0.6, 1.6), (-0.1, 1.6))])
    made.axes[2].fill(*wall.T, facecolor=COLORS[2], alpha=0.22, linewidth=0, zorder=4)
    made.axes[3].plot(*view.project([(0.3, 0.2, 0.2), (0.3, 1.7, 0.2)]).T, color=COLORS[2], linewidth=2, zorder=4)
    return made


def regions(page: Names) -> Any:
    """Draw a hand on a shelf, a hand in a bowl, a head below a beam."""
    made = panels([("Inside a box, a ball; below 1.4 m", page["found"], [])])
    made.set_size_inches(4.2, 4.2)
    view, axes = FRONT.on(page["model"]), made.axes[0]
    draw_box(axes, view, (0.3, 1.5, 0.3), (0.4, 0.1, 0.2))
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.25 * (high - low))
    turn = np.linspace(0, 2 * np.pi, 60)
    centre = view.project((-0.3, 1.0, 0.4))
    axes.fill(
        *(centre[:, None] + 0.1 * np.array([np.cos(turn), np.sin(turn)])), facecolor=COLORS[4], alpha=0.3, zorder=4
    )
    return made


def draw_box(axes: Any, view: Camera, centre: tuple[float, ...], size: tuple[float, ...]) -> None:
    """Draw the edges of a box."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = np.array(centre) + signs * np.array(size) / 2
    for a in range(8):
        for b in range(a):
            if np.abs(signs[a] - signs[b]).sum() == 2:
                axes.plot(*view.project(corners[[a, b]]).T, color=COLORS[2], linewidth=1.4, zorder=4)


def directions(page: Names) -> Any:
    """Draw a flat hand, a gaze with an upright hand, a lean."""
    named = (
        ("Orient within 0.2 rad", page["flat"], [(0.3, 1.0, 0.3)]),
        ("LookAt and Align", page["watch"], [(0.3, 1.3, 0.4)]),
    )
    made = panels([*named, ("Angle from upright", page["lean"], [])])
    watch = page["watch"]
    gaze = FRONT.on(page["model"]).project([watch.position("eyes"), watch.position("hand_l")])
    made.axes[1].plot(*gaze.T, "--", color=COLORS[2], linewidth=1.2, zorder=5)
    return made


def mass(page: Names) -> Any:
    """Draw the same reach without and with balance."""
    model, feet = page["model"], page["feet"]
    goals = [*feet, page["far"], Rest()]
    made, (left, right) = make_figure(7.0, 4.2, panels=2)
    side = Camera(azimuth=math.radians(75), elevation=math.radians(10))
    for axes, balance, name in (
        (left, [], "fallen"),
        (right, [Balance(["foot_l", "foot_r"], margin=0.02)], "balanced"),
    ):
        solution = poise.solve(model, [*goals, *balance])
        marks = find_marks(
            poise.solve(model, [*goals, Balance(["foot_l", "foot_r"], margin=0.02)], solution.q, max_steps=1)
        )
        draw_scene(axes, solution.pose, marks=find_marks(solution), camera=side)
        draw_mass(axes, solution, side, [mark for mark in marks if mark.kind == "support"])
        axes.set_title(name, fontsize=10, loc="left")
    share_scale([left, right])
    return made


def draw_mass(axes: Any, solution: Any, camera: Camera, supports: list[Any]) -> None:
    """Draw the plumb line of the centre of mass and the outline of the feet."""
    view = camera.on(solution.model)
    centre = solution.model.center_of_mass(solution.q)
    below = centre * (1, 0, 1)
    axes.plot(*view.project([centre, below]).T, ":", color=COLORS[1], linewidth=1.4, zorder=6)
    axes.plot(*view.project(centre), "o", color="white", markeredgecolor=COLORS[1], markersize=7, zorder=6)
    axes.plot(*view.project(below), "o", color=COLORS[1], markersize=4, zorder=6)
    for support in supports:
        outline = view.project(np.concatenate([support.points, support.points[:1]]))
        axes.plot(*outline.T, color=COLORS[2], linewidth=1.3, zorder=1.6)


GALLERIES = {
    "goals": {
        "places": places,
        "distances_planes_lines": distances_planes_lines,
        "regions": regions,
        "directions": directions,
        "mass": mass,
    },
}


# ------------------------------------------------------------------------------------------------ on their own


def hero() -> Any:
    """Draw four bodies, each with goals that it reached."""
    made, axes = make_figure(10.4, 4.3, panels=4, widths=(1.25, 1.0, 1.25, 0.9))
    for place, (solution, camera), tint in zip(axes, heroes(), TINTS, strict=True):
        assert solution.reached
        draw_scene(place, solution.pose, marks=find_marks(solution), camera=camera, color=tint)
    return made


def heroes() -> list[tuple[poise.Solution, Camera]]:
    """Solve for four bodies; return each solution with its camera."""
    human = poise.load("humanoid")
    arm = poise.load("panda")
    down = np.diag([1.0, -1.0, -1.0, 1.0])
    down[:3, 3] = (0.45, -0.25, 0.25)
    dog = poise.load("quadruped")
    paws = [Reach(paw, dog.fk(dog.rest, paw)[:3, 3]) for paw in ("foot_hl", "foot_hr", "foot_fr")]
    paw = dog.fk(dog.rest, "foot_fl")[:3, 3] + (0.03, 0.26, 0.24)
    hand = poise.load("hand")
    pinch = Distance("thumb_tip", "index_tip", 0.018)
    return [
        (poise.solve(human, make_goals(human)), FRONT),
        (poise.solve(arm, Reach("panda_hand_tcp", down)), Camera(math.radians(-70), math.radians(16))),
        (
            poise.solve(dog, [*paws, Reach("foot_fl", paw), LookAt("head", paw), Rest()]),
            Camera(math.radians(-62), math.radians(14)),
        ),
        (poise.solve(hand, [pinch, Rest()]), Camera(math.radians(70), math.radians(10), floor=None)),
    ]


def demo() -> Any:
    """Draw the picture of `poise demo`."""
    model = poise.load("humanoid")
    return draw_solution(poise.solve(model, make_goals(model)), {"camera": VIEW, "beside": list_things()})


def reach() -> Any:
    """Draw in how many orientations a Panda's hand reaches each place."""
    return plot(poise.reach_map(poise.load("panda"), "panda_hand_tcp", 0.08, 16, 2)).figure


def path() -> Any:
    """Draw an arm along transforms, and its joints over the waypoints."""
    model, frame = poise.load("panda"), "panda_hand"
    T = make_path()
    track = poise.motion.track(model, Reach(frame, T), fps=30.0)
    made, (left, right) = make_figure(9.4, 4.4, panels=2)
    camera = Camera(azimuth=0.6, elevation=0.35).on(model)
    some = [track.motion[k] for k in (0, 33, 67)]
    draw_scene(left, some[1], ghosts=[some[0], some[2]], camera=camera)
    left.plot(*camera.project(T[:, :3, 3]).T, color="#D55E00", linewidth=1.6, zorder=5)
    for k, name in enumerate(joint.name for joint in model.joints if joint.nv):
        right.plot(np.degrees(track.motion.q[:, k]), label=name.removeprefix("panda_"), color=COLORS[k % len(COLORS)])
    right.set(xlabel="waypoint", ylabel="degrees")
    right.legend(fontsize=8, ncols=4, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return made


def make_path() -> Any:
    """Return transforms across the front of an arm and back, as in docs/families.md."""
    t = np.linspace(0.0, 2.0 * np.pi, 200)
    T = np.tile(np.eye(4), (len(t), 1, 1))
    T[:, :3, 3] = np.stack([0.35 * np.cos(t), np.full(200, 0.54), 0.79 + 0.05 * np.sin(2.0 * t)], axis=1)
    return T


def strip() -> Any:
    """Draw a figure that follows a ball."""
    found = follow(poise.load("humanoid"))
    return plot(poise.Motion(found[0].model, [part.q for part in found], 30), camera=FRONT).figure


def regrasp() -> Any:
    """Draw hands that turn a box by half a turn and regrasp it on the way, as in docs/clips.md."""
    stops = [poise.Transform(poise.Rotation.from_euler("YXZ", (np.radians(a), 0, 0)), (0, 1.1, 0.4)) for a in (90, 179)]
    box = poise.Object(Box((0.3, 0.2, 0.3)), poise.Transform(None, (0, 1.1, 0.4)), name="box")
    box = (
        box.move_through(stops[0], seconds=1.5).move_through(stops[0], seconds=1.6).move_through(stops[1], seconds=1.5)
    )
    held = {"hand_l": (("+x", 0.0, 1.5), ("+z", 2.2, 4.6)), "hand_r": (("-x", 0.0, 2.3), ("-z", 3.0, 4.6))}
    grasps = [Grasp(hand, box, face, during=(a, b)) for hand, grips in held.items() for face, a, b in grips]
    return plot(poise.motion.track(poise.load("humanoid"), grasps, contacts="auto").motion, camera=FRONT).figure


BODIES = {"hero": hero, "demo": demo, "reach": reach, "path": path, "strip": strip, "regrasp": regrasp}
