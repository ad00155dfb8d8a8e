"""The scene of a retargeted motion: source and result side by side, at the same frame."""

import numpy as np

from poise.arrays import Floats
from poise.formats.units import scale_motion
from poise.kinematics import Motion
from poise.motion import Retargeted
from poise.pages.scene import LONGEST, Color, PageScene
from poise.spatial import Rotation

__all__ = ["show_both"]

SOURCE: Color = (0.80, 0.72, 0.60)


def show_both(carried: Retargeted) -> PageScene:
    """Show the source body next to the body its motion was retargeted to.

    The source is scaled as its path was scaled, so that both walk in step and stay side by side, and a source in
    centimetres has a comparable size.
    """
    source, motion = scale_motion(carried.source, carried.scale), carried.motion
    every = -(-len(motion) // LONGEST)
    model = motion.model
    title = f"{carried.mapping.source} on {carried.mapping.target}"
    scene = PageScene(model.up, len(motion.q[::every]), motion.fps / every, title=title, note=str(carried.scales))
    turn = Rotation.between(source.model.up_direction, model.up_direction).matrix
    paths = find_places(source[::every]) @ turn.T, find_places(motion[::every])
    offset = find_offset(paths[0], paths[1], model.up_axis, 0.3 * model.length)
    scene.add_body(source.model, source.q[::every], color=SOURCE, offset=offset, turn=turn)
    scene.add_body(model, motion.q[::every])
    follow_bodies(scene, np.concatenate([paths[0] + offset, paths[1]], axis=1), model.up_axis, 0.1 * model.length)
    scene.words = carried.why()
    return scene


def find_places(clip: Motion) -> Floats:
    """Return the positions of all frames that a joint moves, (frames, parts, 3) [m]."""
    moved = [i for i, frame in enumerate(clip.model.frames) if clip.model.joints_above(frame)]
    places: Floats = clip.model.fk(clip.q)[:, moved][..., :3, 3]
    return places


def find_offset(source: Floats, result: Floats, up: int, gap: float) -> Floats:
    """Return the translation that places the source next to the result, at least `gap` apart [m]."""
    ahead, aside = (up + 1) % 3, (up + 2) % 3
    offset = np.zeros(3)
    offset[aside] = (result[..., aside].max(axis=1) - source[..., aside].min(axis=1)).max() + gap
    offset[ahead] = (result[..., ahead].mean(axis=1) - source[..., ahead].mean(axis=1)).mean()
    offset[up] = -source[..., up].min()
    return offset


def follow_bodies(scene: PageScene, places: Floats, up: int, edge: float) -> None:
    """Move the camera along the ground with both bodies, (frames, points, 3), smoothed over a second."""
    middles = places.mean(axis=1)
    middles[:, up] = 0.0
    wide = min(len(middles), 2 * round(0.5 * scene.fps) + 1)
    padded = np.concatenate([np.repeat(middles[:1], wide // 2, 0), middles, np.repeat(middles[-1:], wide // 2, 0)])
    path = np.array([padded[t : t + wide].mean(axis=0) for t in range(len(middles))])
    about = places - path[:, None]
    scene.follow_path(path, about.min(axis=(0, 1)) - edge, about.max(axis=(0, 1)) + edge)
