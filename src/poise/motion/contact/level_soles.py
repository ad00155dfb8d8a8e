"""Level soles: a foot stands on its heel or its toes only while its sole faces the floor.

With h, t and a the heel, the toe and the ankle of a foot, and u up:

    along = (t - h) / |t - h|        normal = a - h, without its part along the foot        across = normal x along
    pitch = asin(along . u)          lean = asin(across . u)          faces = normal . u

A heel stands up to a pitch of 38 degrees and a toe down to -84, both up to a lean of 38 degrees while the sole does not
face up: walking feet stay far inside, and so do the toes of a person who kneels. The heel of a person who lies on the
back, and the toes of one who lies face down, stay outside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.kinematics import Motion

__all__ = ["flag_level", "flag_level_soles"]

Flags = NDArray[np.bool_]
MOST_LEAN = np.sin(np.radians(38.0))
MOST_HEEL_PITCH, LEAST_TOE_PITCH = np.sin(np.radians(38.0)), np.sin(np.radians(-84.0))
LEAST_FACING = -0.05  # sine: soles of upright feet face the horizon, and their normal is a few degrees off
LEAST_HEIGHT = 0.05  # of an ankle above its sole, relative to the sole's length: a lower ankle does not show the lean


def flag_level_soles(clip: Motion) -> dict[str, Flags]:
    """Flag the frames in which each heel and toe of a body with two legs may stand, by name, (frames,)."""
    roles, out = find_roles(clip.model), dict[str, Flags]()
    for side in "lr":
        ends, ankle = [f"heel_{side}", f"toe_{side}"], roles.get(f"ankle_{side}")
        if ankle is not None and all(name in roles.contacts for name in ends):
            heel, toe = (clip.positions(roles.contacts[name].frame, roles.contacts[name].point) for name in ends)
            out.update(zip(ends, flag_level(heel, toe, clip.positions(ankle), clip.model.up_direction), strict=True))
    return out


def flag_level(heel: Floats, toe: Floats, ankle: Floats, up: Floats) -> tuple[Flags, Flags]:
    """Return whether a heel and a toe may stand, from positions (..., 3) [m]."""
    x, y, z = up.tolist()
    along, above = toe - heel, ankle - heel
    length = np.maximum(np.sqrt((along * along).sum(axis=-1)), 1e-12)
    along = along / length[..., None]
    normal = above - (above * along).sum(axis=-1)[..., None] * along
    height = np.sqrt((normal * normal).sum(axis=-1))
    turned = along @ np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])  # along x up
    lean, facing = np.abs((normal * turned).sum(axis=-1)), normal @ up
    level = (lean <= MOST_LEAN * height) & (facing >= LEAST_FACING * height)
    faces: Flags = level | (height < LEAST_HEIGHT * length)
    pitch = along @ up
    return faces & (pitch <= MOST_HEEL_PITCH), faces & (pitch >= LEAST_TOE_PITCH)
