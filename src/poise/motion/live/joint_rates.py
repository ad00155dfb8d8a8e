"""JointRates: the velocities that a live body may take in its next time step, whatever the lengths of later steps.

    |v| <= speed,   |v - v_before| <= acceleration dt,   v^2 / (2 acceleration) + v dt <= room

The last bound leaves a joint the room to brake inside its range in steps of any length, because braking in steps never
takes a longer way than braking continuously. `Solver.step` bounds it for steps of equal length.
Source: Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control, 2018.
"""

from collections.abc import Sequence

import numpy as np

from poise.arrays import Floats
from poise.limits import Limit
from poise.model import Model
from poise.solvers.time_step import bound_rates, find_stopping_speed

__all__ = ["JointRates", "convert_rate"]

ROUNDING = 1e-8  # relative: the distance from the bounds, so that differences of the positions keep them
BRAKE_SHARE = 1.0 - 1e-6  # of the acceleration, for the way that braking takes
UNBOUNDED = 1e9  # rad or m: the room of a joint without a range
SIDES = np.array([[-1.0], [1.0]])
LARGEST_STEP = 0.2  # rad, or relative to L: of one step, also without a limit on the speed


class JointRates:
    """The bounds on the velocities of a body, and the velocities within them.

    Attributes:
        speed: The largest velocity, (nv,) [rad/s, or lengths of the body's unit]; infinite if unbounded.
        acceleration: The largest acceleration, (nv,), in the same units; infinite if unbounded.
    """

    def __init__(self, model: Model, limits: Sequence[Limit]) -> None:
        speed, acceleration = bound_rates(model, limits)
        self.model = model
        self.speed, self.acceleration = speed * (1.0 - ROUNDING), acceleration * (1.0 - ROUNDING)
        self.brakes = self.acceleration * BRAKE_SHARE
        plain = [joint for joint in model.joints if joint.nv and not joint.quaternion]  # which have a range
        self.scalars = np.array([v for joint in plain for v in range(model.nv)[joint.v]], dtype=np.intp)
        self.columns = np.array([k for joint in plain for k in range(model.nq)[joint.q]], dtype=np.intp)
        self.lower, self.upper = model.lower[self.scalars], model.upper[self.scalars]
        self.largest = np.where(model.slides, LARGEST_STEP * model.length, LARGEST_STEP)
        self.change = np.where(np.isfinite(acceleration), self.acceleration, 0.0)

    def find_bounds(self, q: Floats, v: Floats, dt: float) -> Floats:
        """Return the lowest and highest velocities of a step from q, where the body moves at v, (2, nv).

        Ranges come first if measured joints leave no room to brake.
        """
        room, x = np.full((2, self.model.nv), UNBOUNDED), q[self.columns]
        room[:, self.scalars] = np.clip((x - self.lower, self.upper - x), 0.0, UNBOUNDED)
        fastest = 2.0 * room / (dt + np.sqrt(dt * dt + 2.0 * room / self.brakes))  # then it can brake in the rest
        most = SIDES * np.minimum(fastest, np.minimum(self.speed, self.largest / dt))
        low, high = np.clip(most, v - self.acceleration * dt, v + self.acceleration * dt)
        low, high = np.maximum(low, -room[0] / dt), np.minimum(high, room[1] / dt)
        return np.array((np.minimum(low, high), np.maximum(low, high)))

    def aim(self, bounds: Floats, way: Floats, ahead: Floats, dt: float) -> Floats:
        """Return the smallest and largest motions of a step that does not overshoot the goals, (nv, 2).

        Args:
            bounds: The lowest and highest velocities.
            way: The difference to the pose that the goals lead to.
            ahead: The velocity of that pose.
            dt: The length of the step [s].
        """
        stops = ahead + SIDES * find_stopping_speed(self.brakes, SIDES * (way - ahead * dt), dt)
        low, high = np.minimum(stops[0], 0.0), np.maximum(stops[1], 0.0)
        return np.ascontiguousarray(np.clip((low, high), *bounds).T) * dt

    def look_far(self, v: Floats, dt: float) -> Floats:
        """Return the motions within which the goals are looked for, (nv, 2): farther than the body can overshoot."""
        fastest = np.abs(v) + self.change * dt
        far = np.maximum(self.largest, fastest * (2.0 * dt + fastest / self.acceleration))
        return np.ascontiguousarray((SIDES * far).T)


def convert_rate(model: Model, rate: float) -> dict[str, Floats]:
    """Return a rate of all joints in radians or metres, for each joint in radians or the unit of the body."""
    rates = np.where(model.slides, rate / model.metres_per_unit, rate)
    return {joint.name: rates[joint.v] for joint in model.joints if joint.nv}
