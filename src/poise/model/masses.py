"""MassProperties: the centre of mass of a body, its Jacobian, and the torques of gravity."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.model.spec import read_vector
from poise.native import Body

__all__ = ["STANDARD_GRAVITY", "MassProperties"]

STANDARD_GRAVITY = 9.81  # m/s^2

Array = NDArray[Any]


class MassProperties:
    """The methods of a `Model` that depend on its masses."""

    __slots__ = ()
    name: str
    mass: float
    metres_per_unit: float
    native_body: Body
    up: str

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass in the world, (..., 3) [m], including mass fixed to the world."""
        self._require_mass()
        return self.native_body.center_of_mass(q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian of the centre of mass, (..., 3, nv)."""
        self._require_mass()
        return self.native_body.center_of_mass_jacobian(q)

    def gravity(self, q: ArrayLike, acceleration: ArrayLike | None = None) -> Array:
        """Return the torques that hold the body against gravity, ``-m J_c^T g``, (..., nv) [N m; N for slides].

        As in Pinocchio's `computeGeneralizedGravity`; the torques of gravity itself have the opposite sign. They are
        dual to v: the power is their product with it.

        Args:
            q: Configuration, (..., nq).
            acceleration: Acceleration of gravity in the world [m/s^2]; by default 9.81 against the model's up axis.
        """
        down = -STANDARD_GRAVITY * np.eye(3)["xyz".index(self.up)] if acceleration is None else acceleration
        g = read_vector(down, 3, "gravity: acceleration") * (self.mass * self.metres_per_unit)
        J = self.center_of_mass_jacobian(q)
        return np.asarray(-g.astype(J.dtype) @ J)

    def _require_mass(self) -> None:
        if self.mass <= 0.0:
            raise InvalidValue(f"model {self.name!r} has no mass, so no centre of mass: give its joints mass=.")
