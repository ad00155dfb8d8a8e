"""BrakingWay: velocities from which a body can brake without breaking a limit on its pose, such as a clearance.

    way   q(s) = q + s v T / 2,   T = max_i |v_i| / acceleration_i,   0 <= s <= 1

A body whose joints all brake in the same proportion stays on this way in steps of any length, and stands at its end.
As long as it is clear, poses and accelerations keep their limits together; if no faster motion is safe, the body
brakes. The solver keeps a margin from obstacles, so that braking along them is safe, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from poise.arrays import Floats, Indices
from poise.errors import InvalidValue
from poise.limits import Clearance, Closed, Cone
from poise.model import Model
from poise.motion.live.joint_rates import JointRates
from poise.native import core
from poise.solvers import Solver

__all__ = ["BrakingWay"]

MARGIN = 0.003  # relative to L: the distance that the solver keeps from obstacles in addition to that of a clearance
SPACING = 0.03  # rad, or relative to L: the distance of two poses of the way that are tested
MOST_POSES = 8
HALVINGS = 5  # of the part of a motion that is not safe
ROUNDING = 1e-9  # m or rad: of a gap or a range


class BrakingWay:
    """The test of braking, for a solver whose limits are on poses and on accelerations.

    Attributes:
        planner: The solver of the same problem, with a margin.
        needed: Whether there are such limits.
    """

    def __init__(self, solver: Solver, rates: JointRates) -> None:
        self.planner, self.model, self.rates = solver, solver.model, rates
        lasting = [limit for limit in solver.options.limits if not limit.timed]
        if any(isinstance(limit, Closed) for limit in lasting):
            raise InvalidValue(f"model {solver.model.name!r} has closed loops, which a Follower cannot keep yet.")
        self.round = any(joint.cone is not None for joint in self.model.joints) or any(
            isinstance(limit, Cone) for limit in lasting
        )
        self.needed = (bool(lasting) or self.round) and bool(np.isfinite(rates.acceleration).any())
        self.unit = np.where(self.model.slides, self.model.length, 1.0)
        self.clearances = [limit for limit in lasting if isinstance(limit, Clearance)]
        others = tuple(limit for limit in lasting if not isinstance(limit, Clearance))
        self.other = solver.with_options(replace(solver.options, limits=others)) if others else None
        self.surfaces: list[Surfaces] = []
        if self.needed and self.clearances:
            margin = MARGIN * self.model.length
            wide = [replace(limit, distance=limit.distance + margin) for limit in self.clearances]
            rest = [limit for limit in solver.options.limits if not isinstance(limit, Clearance)]
            self.planner = solver.with_options(replace(solver.options, limits=(*wide, *rest)))

    def reset(self, q: Floats) -> None:
        """Begin at a pose; surfaces that overlap there are left to the solver, which never brings them closer."""
        if self.needed:
            self.surfaces = [Surfaces(limit, self.model, q) for limit in self.clearances]

    def find_times(self, v: Floats) -> Floats:
        """Return the time in which each joint brakes [s]: the shortest one, or the same for all on a tested way."""
        times = np.abs(v) / self.rates.acceleration
        return np.full_like(times, times.max(initial=0.0)) if self.needed else times

    def brake(self, v: Floats, dt: float) -> Floats:
        """Return the velocities after one step of braking."""
        return np.asarray(v * (1.0 - dt / np.maximum(self.find_times(v), dt)))

    def find_way(self, v: Floats) -> Floats:
        """Return the motion until the body stands."""
        return 0.5 * v * self.find_times(v)

    def limit(self, q: Floats, way: Floats, v: Floats, dt: float) -> Floats:
        """Return the motion of a step from q, or the largest safe part of it.

        Args:
            q: The current configuration.
            way: The motion, (nv,).
            v: The velocity of the step before.
            dt: The length of the step [s].
        """
        if self.is_safe(q, way, dt):
            return way
        slow, share, part = self.brake(v, dt) * dt, 0.0, 0.5
        for _ in range(HALVINGS):
            if self.is_safe(q, slow + (share + part) * (way - slow), dt):
                share += part
            part *= 0.5
        return slow + share * (way - slow)

    def is_safe(self, q: Floats, way: Floats, dt: float) -> bool:
        """Return whether a motion, and braking after it, keep the limits."""
        further = self.find_way(way / dt)
        size = float(np.abs(further / self.unit).max(initial=0.0))
        shares = np.linspace(1.0, 0.0, 1 + int(np.clip(np.ceil(size / SPACING), 1, MOST_POSES)))
        poses = np.asarray(self.model.integrate(self.model.integrate(q, way), shares[:, None] * further))
        into = self.planner.problem.into_cones
        if any(np.abs(into(self.model.clamp(q)) - q).max() > ROUNDING for q in poses[: None if self.round else 1]):
            return False
        if self.other is not None:
            least = np.minimum(self.other.problem.gaps(q)[0], -ROUNDING)
            if any((self.other.problem.gaps(pose)[0] < least).any() for pose in poses):
                return False
        return all(surfaces.are_clear(q, poses) for surfaces in self.surfaces)


class Surfaces:
    """The surfaces of a clearance that are apart at the start, as arrays for the kernels."""

    def __init__(self, clearance: Clearance, model: Model, q: Floats) -> None:
        self.model, self.distance = model, clearance.distance
        self.table = clearance.list_surfaces(model).make_native() | {"distance": 0.0}
        pairs, moves = self.table["pairs"], self.table["moves"]
        still, none = np.zeros_like(moves), pairs[:0]

        def touch_world(part: Indices) -> bool:
            chosen = np.array(still)
            chosen[part] = moves[part]
            return bool(self.measure(q[None], {"pairs": none, "moves": chosen})[0] < self.distance)

        def touch(part: Indices) -> bool:
            chosen = np.ascontiguousarray(pairs[part])
            return bool(self.measure(q[None], {"pairs": chosen, "moves": still})[0] < self.distance)

        left_out = find_all(np.arange(len(moves)), touch_world)
        self.table["moves"] = np.where(np.isin(np.arange(len(moves)), left_out), 0.0, moves)
        self.table["pairs"] = np.delete(pairs, find_all(np.arange(len(pairs)), touch), axis=0)

    def measure(self, poses: Floats, changes: Mapping[str, Floats]) -> Floats:
        """Return the smallest gap of each pose, (n,) [m]."""
        return np.asarray(core.least_gaps(self.model.native_body, {**self.table, **changes}, poses))

    def are_clear(self, q: Floats, poses: Floats) -> bool:
        """Return whether poses keep the distance, or are no closer than q."""
        gaps = self.measure(np.concatenate([q[None], poses]), {})
        return bool(gaps[1:].min() >= min(self.distance - ROUNDING, gaps[0]))


def find_all(items: Indices, has: Callable[[Indices], bool]) -> list[int]:
    """Return the items that have a property, by halving the sets in which one has it."""
    if not len(items) or not has(items):
        return []
    half = len(items) // 2
    return items.tolist() if len(items) == 1 else [*find_all(items[:half], has), *find_all(items[half:], has)]
