"""Rotations and rigid motions of space: immutable, batched on their leading axes, float64.

Metres and radians, right-handed. Quaternions are ``wxyz``, twists ``[linear; angular]``. ``T_world_hand`` maps hand
coordinates to world, so ``T_world_hand @ T_hand_tip`` is ``T_world_tip``. The group arithmetic is in the native
kernels; these classes check arguments and broadcast.
"""

from poise.spatial.rotation import Rotation, as_rotation
from poise.spatial.transform import Transform, as_transform

__all__ = ["Rotation", "Transform", "as_rotation", "as_transform"]
