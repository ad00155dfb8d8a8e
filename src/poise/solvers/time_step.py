"""The motion that `Solver.step` allows in one time step, from limits on speed and acceleration.

    |v| <= speed,   |v - v_before| <= acceleration dt,   v <= about sqrt(2 acceleration room)    for each velocity

The last bound lets a joint stop at the end of its range, and before it overshoots the goals. If the bounds contradict
each other (a joint is too fast), the joint slows down as fast as allowed. Joint ranges and all limits that do not
depend on time take precedence.
Source: Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control, 2018.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.limits.limit import Limit
from poise.model import Model
from poise.solvers.options import CONTINUOUS_SPAN, Options

__all__ = ["bound_rates", "find_stopping_rates", "find_stopping_speed", "find_window"]


def find_window(
    model: Model, q: Floats, dt: float, before: ArrayLike | None, options: Options, ahead: Floats | None = None
) -> Floats:
    """Return the smallest and largest motion of each velocity from q in one time step, (nv, 2).

    Args:
        model: The body.
        q: The current configuration.
        dt: The time step [s].
        before: The velocity of the previous step.
        options: The solver's options, with its limits.
        ahead: The difference from q to the goals, (nv,): the body must be able to stop there.
    """
    span = CONTINUOUS_SPAN if options.step_limit is None else options.step_limit
    most = np.where(~model.slides, span, span * model.length) / dt
    speed, acceleration = bound_rates(model, options.limits)
    low, high = -np.minimum(most, speed), np.minimum(most, speed)
    if np.isfinite(acceleration).any():
        v = read_velocity(model, before)
        backward, forward = find_stopping_rates(model, q, acceleration, dt, ahead)
        slowest, fastest = np.maximum(low, backward), np.minimum(high, forward)
        reach_low, reach_high = v - acceleration * dt, v + acceleration * dt
        low = np.clip(slowest, reach_low, reach_high)
        high = np.clip(fastest, reach_low, reach_high)
    return np.ascontiguousarray(np.stack([low * dt, high * dt], axis=1))


def find_stopping_rates(
    model: Model, q: Floats, acceleration: Floats, dt: float, ahead: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the highest rates backward and forward from which joints at q can still stop inside their ranges.

    Args:
        model: The body.
        q: The current configuration, (..., nq).
        acceleration: The bound of every velocity, (nv,).
        dt: The time step, in the same unit of time as the acceleration.
        ahead: The difference from q to the goals: the body must also be able to stop there.
    """
    below, above = measure_room(model, q)
    if ahead is not None:
        below, above = np.minimum(below, np.maximum(-ahead, 0.0)), np.minimum(above, np.maximum(ahead, 0.0))
    return -find_stopping_speed(acceleration, below, dt), find_stopping_speed(acceleration, above, dt)


def find_stopping_speed(acceleration: Floats, way: Floats, dt: float) -> Floats:
    """Return the highest rate from which a joint stops within a distance if it changes its rate once per time step.

    In units of a dt and a dt^2, slowing down from a rate k in [n, n + 1] covers (n + 1) k - n (n + 1) / 2.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        step = acceleration * dt
        ways = np.maximum(way, 0.0) / (step * dt)
        n = np.floor((np.sqrt(1.0 + 8.0 * ways) - 1.0) / 2.0)
        fastest = step * (ways + n * (n + 1.0) / 2.0) / (n + 1.0)
    return np.where(np.isfinite(acceleration) & np.isfinite(way), fastest, np.inf)


def bound_rates(model: Model, limits: Sequence[Limit]) -> tuple[Floats, Floats]:
    """Return the tightest bounds of every velocity and of its change per second; infinite without a limit."""
    speed, acceleration = np.full(model.nv, np.inf), np.full(model.nv, np.inf)
    for rates in (limit.bound_rates(model) for limit in limits if limit.timed):
        if rates.speed is not None:
            speed = np.minimum(speed, rates.speed)
        if rates.acceleration is not None:
            acceleration = np.minimum(acceleration, rates.acceleration)
    return speed, acceleration


def read_velocity(model: Model, velocity: ArrayLike | None) -> Floats:
    """Return the velocity of the previous step; None means zero."""
    if velocity is None:
        return np.zeros(model.nv)
    v = np.asarray(velocity, dtype=np.float64)
    if v.shape != (model.nv,):
        raise ShapeMismatch(f"velocity has shape {v.shape}; it must be ({model.nv},).")
    if not np.isfinite(v).all():
        raise InvalidValue("velocity has numbers that are not finite.")
    return v


def measure_room(model: Model, q: Floats) -> tuple[Floats, Floats]:
    """Return the distance of every velocity of q (..., nq) to its lower and upper bound; infinite if unbounded."""
    below, above = np.full((2, *q.shape[:-1], model.nv), np.inf)
    for joint in model.joints:
        if joint.nv and not joint.quaternion:
            below[..., joint.v] = q[..., joint.q] - model.lower[joint.v]
            above[..., joint.v] = model.upper[joint.v] - q[..., joint.q]
    return below, above
