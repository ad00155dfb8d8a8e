"""Channels: the velocities of a body by name, in an order chosen by the user.

A joint's name means all its velocities, in their own order; "hip.rz" means one of them, named as in
`joint.coordinates`, or rx, ry, rz for a quaternion, about the body's axes. The order of the columns is then
independent of the order of the angles in an Euler joint. Source: Rabbani 2017, "Putting everything together".
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, name_not_found
from poise.model.joints.joint import Joint, get_name
from poise.model.tree import Tree

__all__ = ["find_columns", "name_channels"]


def name_channels(joint: Joint) -> list[str]:
    """Return the full names of a joint's velocities: "elbow", or "hip.rz", "hip.rx", "hip.ry"."""
    plain = [joint.name_coordinate(k) for k in range(len(joint.coordinates))]
    return [*plain, *(f"{joint.name}.r{axis}" for axis in "xyz" if joint.quaternion)]


def find_columns(model: Tree, channels: Sequence[str | Joint]) -> NDArray[np.intp]:
    """Return the velocity indices of the channels, in the given order.

    Raises:
        NameNotFound: No joint or channel has that name.
    """
    if isinstance(channels, str):
        raise InvalidValue(f"columns must be a list of joints or channels, not the name {channels!r}: [{channels!r}].")
    known: dict[str, list[int]] = {}
    for joint in model.joints:
        if joint.nv:
            velocities = list(range(joint.v.start, joint.v.stop))
            known |= dict(zip(name_channels(joint), ([v] for v in velocities), strict=True))
            known[joint.name] = velocities
    columns: list[int] = []
    for name in map(get_name, channels):
        if name not in known:
            raise name_not_found("channel", name, known)
        columns += known[name]
    return np.array(columns, dtype=np.intp)
