"""Transfer a body Jacobian to another point, or to world axes.

Source: Rabbani section 1.2, "Jacobian frames".
"""

import numpy as np
from numpy.typing import ArrayLike

from poise.textbook.arguments import read_array, read_transform
from poise.textbook.rotations import Array
from poise.textbook.twists import adjoint, rigid


def point_jacobian(jacobian: ArrayLike, point: ArrayLike) -> Array:
    """Return the body Jacobian ``(6, n)`` at ``point`` [m, in the body's own frame] instead of at its origin.

    ``pJ = [I, -skew(point); 0, I] bJ``: all points of a body rotate equally, and a point moves by ``w x point`` more
    than the origin. The adjoint's translation is the *origin relative to the point*, hence the minus sign. Source:
    Rabbani eq. 12.
    """
    shift = adjoint(rigid(translation=-read_array(point, "point", 3)))
    return np.asarray(shift @ read_array(jacobian, "jacobian", 6, None))


def world_jacobian(jacobian: ArrayLike, transform: ArrayLike) -> Array:
    """Return a body Jacobian ``(6, n)`` in world axes, at the body's origin; ``transform`` is ``T_world_body``.

    Only the *rotation* of the adjoint is used. This is the Jacobian whose linear rows are the cross products of
    procedure 1, and Poise's ``reference="world"``. Source: Rabbani eq. 13 and 29, corrected: the printed adjoint also
    has its translation and then gives :func:`spatial_jacobian`, whose linear rows differ.
    """
    rotation = read_transform(transform, "transform")[:3, :3]
    return np.asarray(adjoint(rigid(rotation)) @ read_array(jacobian, "jacobian", 6, None))


def spatial_jacobian(jacobian: ArrayLike, transform: ArrayLike) -> Array:
    """Return a body Jacobian ``(6, n)`` in world axes at the *world origin*; ``transform`` is ``T_world_body``.

    The linear rows are the velocity of the point of the body that coincides with the world origin;
    Poise's ``reference="spatial"``. Source: Rabbani eq. 4 and 13, with the whole adjoint.
    """
    return np.asarray(adjoint(transform) @ read_array(jacobian, "jacobian", 6, None))
