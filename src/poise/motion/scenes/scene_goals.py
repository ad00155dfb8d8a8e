"""Goals that keep a body out of a scene: tangent planes below its points, frame by frame.

In each frame, a point near a surface stays on the outer side of the plane that touches the surface there:

    n . x >= n . s + radius        s the nearest point of the surface, n its normal

Points of soles are kept above the ground below them, because a foot that swings over a stair must rise and not turn
back. The planes belong to one motion; they are set again for the motion that they lead to.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import find_edges, find_feet
from poise.arrays import Floats, Triple
from poise.goals import HalfSpace, Inside
from poise.goals.goal import pack_target
from poise.kinematics import Motion
from poise.limits.support_points import SupportPoints
from poise.model.geometry.solids import make_triple
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.body_floor import list_body_points
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene

__all__ = ["SceneDepths", "list_scene_goals", "measure_depths"]

Flags = NDArray[np.bool_]
BLOCK_FRAMES = 256  # frames whose points are placed at once
# relative to the body's length
NEAR_SHARE, TOUCH_SHARE = 0.02, 0.004  # gaps of a point below which a plane is set, and below which a point needs one
SOLE_NEAR_SHARE = 0.03  # height of a point of a sole above the ground below which a plane is set
WALL_SHARE = 0.5  # of the depth below the ground: a sole that is less deep in a wall stays in front
WALL_SLOPE = 0.3  # cosine of the angle between up and the normal of a wall
BESIDE_M = 1e-3  # distance from a wall at which the ground in front of it is found
SPARE_SHARE = 2e-4  # gap that planes leave, because surfaces are curved


@dataclass(frozen=True, eq=False)
class SceneDepths:
    """The depths of a body inside a scene.

    Attributes:
        depths: The depth of the deepest point of each frame, (frames,) [m]; 0 outside.
        part: The frame of the body that is deepest.
        region: The name of the region that it is in.
    """

    depths: Floats
    part: str
    region: str


@dataclass(frozen=True, eq=False)
class NearPart:
    """A part of a body in the frames in which it is near a surface.

    Attributes:
        part: Its points.
        frames: The frames of the clip, flags.
        places: The positions of the points in these frames, (m, n, 3) [m].
        gaps: Their gaps, (m, n) [m].
        normals: The gradients of the gaps, (m, n, 3).
        regions: The index of the nearest region, (m, n).
    """

    part: SupportPoints
    frames: Flags
    places: Floats
    gaps: Floats
    normals: Floats
    regions: NDArray[np.int64]


def measure_depths(scene: Scene, clip: Motion) -> SceneDepths:
    """Measure how deep the points of a body, soles included, are inside a scene."""
    depths, worst = np.zeros(len(clip)), (0.0, "", 0)
    for near in find_near(scene, clip, (*list_body_points(clip.model), *list_sole_points(clip)), 0.0):
        at = np.flatnonzero(near.frames)
        depths[at] = np.maximum(depths[at], -near.gaps.min(axis=1))
        t, k = np.unravel_index(int(np.argmin(near.gaps)), near.gaps.shape)
        worst = max(worst, (float(-near.gaps[t, k]), near.part.frame, int(near.regions[t, k])))
    return SceneDepths(depths, worst[1], scene.name(worst[2]))


def find_near(scene: Scene, clip: Motion, parts: tuple[SupportPoints, ...], most: float) -> Iterator[NearPart]:
    """Find the parts and frames in which a part may be nearer than `most` to a surface [m]."""
    model = clip.model
    T = np.concatenate([model.fk(clip.q[t : t + BLOCK_FRAMES]) for t in range(0, len(clip), BLOCK_FRAMES)])
    for part in parts:
        own = T[:, model.frames.index(part.frame)]
        middle = 0.5 * (part.points.min(axis=0) + part.points.max(axis=0))
        radius = float((np.linalg.norm(part.points - middle, axis=1) + part.radius).max())
        frames = scene.measure_gaps(own[:, :3, :3] @ middle + own[:, :3, 3])[0] < radius + most
        if frames.any():
            places = np.einsum("fij,nj->fni", own[frames, :3, :3], part.points) + own[frames, None, :3, 3]
            gaps, normals, regions = scene.measure_gaps(places)
            yield NearPart(part, frames, places, gaps - part.radius, normals, regions)


def list_scene_goals(scene: Scene, clip: Motion, ledger: Contacts) -> list[ClipGoal]:
    """List the goals that keep a body out of a scene, from its points in a clip near the result."""
    length = clip.model.length
    out = list_sole_goals(scene, clip, ledger)
    for near in find_near(scene, clip, list_body_points(clip.model), NEAR_SHARE * length):
        deepest = near.gaps.min(axis=1) < TOUCH_SHARE * length
        for k in np.unique(near.gaps[deepest].argmin(axis=1)).tolist():
            active = np.zeros(len(clip), dtype=bool)
            active[near.frames] = close = near.gaps[:, k] < NEAR_SHARE * length
            normals, x = np.tile(scene.up, (len(clip), 1)), np.zeros(len(clip))
            normals[active] = near.normals[close, k]
            x[active] = (near.normals[close, k] * near.places[close, k]).sum(axis=1) - near.gaps[close, k]
            out.append(
                keep_outside(
                    near.part.frame, make_triple(near.part.points[k]), normals, x + SPARE_SHARE * length, active
                )
            )
    # two shapes of a part may share a point
    return [replace(one, goal=replace(one.goal, name=f"{one.goal.name} ({k})")) for k, one in enumerate(out)]


def list_sole_points(clip: Motion) -> tuple[SupportPoints, ...]:
    """Return the corners of soles, or the points that a body stands on if its soles have no corners."""
    out = list[SupportPoints]()
    for foot in (foot for foot in find_feet(clip.model) if not foot.is_paw):
        corners = [corner for edge in foot.edges for corner in edge.corners] or foot.standing
        for frame in dict.fromkeys(corner.frame for corner in corners):
            points = np.array([corner.point for corner in corners if corner.frame == frame])
            above = TOUCH_SHARE * clip.model.length * clip.model.fk(clip.model.rest, frame)[:3, :3].T
            points = np.concatenate([points, points + above @ clip.model.up_direction])
            out.append(SupportPoints(frame, points, np.zeros(len(points)), solid=True))
    return tuple(out)


def list_sole_goals(scene: Scene, clip: Motion, ledger: Contacts) -> list[ClipGoal]:
    """List the goals that keep soles above the ground below them while they do not stand."""
    out, near = list[ClipGoal](), SOLE_NEAR_SHARE * clip.model.length
    points = {sole.name: [sole] for foot in find_feet(clip.model) for sole in foot.standing}
    points |= {name: list(edge.corners) for name, edge in find_edges(clip.model).items()}
    for name, own in points.items():
        free = np.ones(len(clip), dtype=bool)
        for contact in ledger:
            if contact.name == name:
                free[contact.start : contact.end] = False
        for sole in own:
            frame, point = sole.frame, sole.point
            path = clip.positions(frame, point)
            gaps, normals, aside = find_walls(scene, path)
            ground = scene.find_ground(np.where(aside[:, None], path - (gaps - BESIDE_M)[:, None] * normals, path))
            active = free & (ground > 0.0) & (path @ scene.up < ground + near)  # the lock keeps soles above the floor
            if active.any():
                up = np.tile(scene.up, (len(clip), 1))
                out.append(keep_outside(frame, point, up, ground, active, "above the ground"))
            aside &= free
            if aside.any():
                faces = (normals * path).sum(axis=1) - gaps + TOUCH_SHARE * scene.length  # soles may have round edges
                out.append(keep_outside(frame, point, normals, faces, aside, "in front of walls"))
    return out


def find_walls(scene: Scene, path: Floats) -> tuple[Floats, Floats, Flags]:
    """Find the frames in which a point of a sole keeps in front of a wall, rather than above the ground behind it.

    Returns:
        The gaps of the point, (frames,) [m].
        Their gradients, (frames, 3).
        The flags of the frames.
    """
    gaps, normals, _ = scene.measure_gaps(path)
    upright = np.abs(normals @ scene.up) < WALL_SLOPE
    below = scene.find_ground(path) - path @ scene.up
    in_front: Flags = upright & np.where(gaps < 0.0, -gaps < WALL_SHARE * below, gaps < NEAR_SHARE * scene.length)
    return gaps, normals, in_front


def keep_outside(
    frame: str, point: Triple, normals: Floats, offsets: Floats, active: Flags, what: str = "outside the scene"
) -> ClipGoal:
    """Return the goal that keeps a point on the outer side of a plane of its own in each active frame."""
    blank = np.tile(pack_target(None, None), (len(active), 1))
    targets = np.concatenate([blank, -normals, -offsets[:, None]], axis=1)
    region = HalfSpace((0.0, 0.0, 0.0), -normals[0])
    goal = Inside(frame, region, point=point, name=f"{frame} {point} {what}")
    return ClipGoal(goal, targets, active.astype(np.float64), hard=True)
