"""The scene of a motion that was carried over: source and result side by side, at the same frame."""

from __future__ import annotations

import numpy as np

from poise.motion import Retargeted
from poise.pages.scene import Color, Scene
from poise.spatial import Rotation

__all__ = ["show_both"]

LONGEST = 4000  # frames of a page
SOURCE: Color = (0.80, 0.72, 0.60)


def show_both(carried: Retargeted) -> Scene:
    """Show the body that moved beside the one that the motion was carried to, as large as each is."""
    source, motion = carried.source, carried.motion
    every = -(-len(motion) // LONGEST)
    model = motion.model
    title = f"{carried.mapping.source} on {carried.mapping.target}"
    scene = Scene(model.up, len(motion.q[::every]), motion.fps / every, title=title, note=str(carried.scales))
    turn = Rotation.between(source.model.up_direction, model.up_direction).matrix
    paths = source.model.fk(source.q[::every])[:, :, :3, 3] @ turn.T, model.fk(motion.q[::every])[:, :, :3, 3]
    aside = (model.up_axis + 2) % 3
    offset = np.zeros(3)
    offset[aside] = paths[1][..., aside].max() - paths[0][..., aside].min() + 0.3 * model.length
    offset[model.up_axis] = -paths[0][..., model.up_axis].min()
    scene.add_body(source.model, source.q[::every], color=SOURCE, offset=offset, turn=turn)
    scene.add_body(model, motion.q[::every])
    scene.words = carried.why()
    return scene
