"""All singular configurations of an arm: the poses at which its frame loses a direction of motion.

The Jacobian J(q) has rank r in almost every pose. It has less where a unit vector u of its r rows satisfies

    J(q)^T u = 0,    |u| = 1        (J(q) v = 0, |v| = 1 for an arm with fewer joints than rows)

The search solves these equations by Gauss-Newton steps in q and u, from many random poses. At a solution, the rows of
their derivative that do not depend on u are the normals of the singular set in joint space. Poses with the same normals
form a family: joints whose own axis is a normal have a fixed value, the others in the normals are related. The first
joint never matters, because it moves all axes together, nor does the last one for position and rotation.

Source: the system is the usual one for rank-deficient points; for its closed solutions see P. Corke, Robotics, Vision
and Control, and J. Hollerbach, Optimum kinematic design for a seven degree of freedom manipulator, 1985.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from poise.arguments import check_whole
from poise.arrays import Floats
from poise.diagnosis.words import say_count
from poise.errors import InvalidValue
from poise.model import Frame, Joint, Model

__all__ = ["SingularFamily", "Singularities", "find_singularities"]

MOST_JOINTS = 7
ROWS = {"linear": slice(0, 3), "angular": slice(3, 6), "both": slice(0, 6)}
STEPS = 60  # Gauss-Newton steps; most searches need ten
MOST_STEP = 0.5  # of a joint [rad, m]
ZERO_RESIDUAL = 1e-13  # of the equations
SINGULAR_VALUE = 1e-8  # of the Jacobian with lengths in units of the arm: smaller ones are zero
NORMAL_VALUE = 1e-5  # singular values of the normals below this are zero
SUPPORT = 1e-8  # a joint with a smaller share of the normals does not matter
FIXED_SHARE = 1.0 - 1e-6  # a joint with a larger share of the normals has one value
SAME_VALUE = 1e-3  # rad, m: values of a joint closer than this are the same
FEW_SHARE = 0.2  # of a family: fewer poses with fewer related joints are special poses of that family
LEAST_SHARE = 0.004  # of the poses found: a smaller group is where families cross


@dataclass(frozen=True, slots=True, eq=False)
class SingularFamily:
    """A set of singular poses with one cause.

    Attributes:
        fixed: The joints that have one value, with it [rad, m].
        related: The joints that depend on each other.
        equations: The number of equations between the related joints.
        dimension: The dimension of the family in joint space.
        rank: The rank of the Jacobian in its poses.
        samples: Poses of the family within the joint ranges, (samples, nq).
        lost: A direction that is lost at each sample: a unit twist in world axes, [linear; angular], with lengths in
            units of `model.length`, (samples, 6).
    """

    fixed: dict[str, float]
    related: tuple[str, ...]
    equations: int
    dimension: int
    rank: int
    samples: Floats
    lost: Floats

    @property
    def condition(self) -> str:
        """The condition in words, such as "elbow = 0.000" or "an equation in j2, j3, j4"."""
        parts = [f"{name} = {round(value, 3) + 0.0:.3f}" for name, value in self.fixed.items()]
        number = "an equation" if self.equations == 1 else f"{self.equations} equations"
        return " and ".join(parts + ([f"{number} in {', '.join(self.related)}"] if self.related else []))


@dataclass(frozen=True, slots=True, eq=False)
class Singularities(Sequence[SingularFamily]):
    """The singular families of a frame, those of the highest dimension first.

    Attributes:
        model: The arm.
        frame: The frame.
        rank: The rank of its Jacobian in almost every pose.
        families: The families.
    """

    model: Model
    frame: str
    rank: int
    families: tuple[SingularFamily, ...]

    @overload
    def __getitem__(self, index: int) -> SingularFamily: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SingularFamily, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.families[index]

    def __len__(self) -> int:
        return len(self.families)

    def __iter__(self) -> Iterator[SingularFamily]:
        return iter(self.families)

    def __str__(self) -> str:
        found = say_count(len(self), "singular family", "singular families")
        head = f"{found} of {self.frame!r} on {self.model.name!r}; rank {self.rank} elsewhere"
        return "\n".join(
            [head, *(f"  rank {each.rank}, dimension {each.dimension}: {each.condition}" for each in self)]
        )


def find_singularities(
    model: Model, frame: str | Frame, *, rows: str = "both", starts: int = 1000, samples: int = 50, seed: int = 0
) -> Singularities:
    """Find all singular configurations of an arm with up to seven joints, within their ranges.

    Args:
        model: The arm.
        frame: The frame whose motion is examined.
        rows: "both", "linear" for its position only, or "angular" for its rotation only.
        starts: The number of random poses from which the search starts. A family that is hit by few searches, about
            one in 250, is regarded as a crossing of others and omitted.
        samples: The most poses to keep of each family.
        seed: The seed of the random poses.

    Raises:
        InvalidValue: The chain has more than seven joints, or a joint with more than one degree of freedom.
    """
    check_whole(seed, "seed")
    arm = ArmJacobian.prepare(model, model.frame(frame).name, rows, seed)
    check_whole(starts, "starts", 1)
    check_whole(samples, "samples", 1)
    q = model.random(np.random.default_rng(seed), size=starts)
    q, null = arm.approach(q, arm.find_null(q)[0])
    q = arm.wrap(q)
    null, least, ranks = arm.find_null(q)
    good = (least < SINGULAR_VALUE) & arm.is_within(q)
    q, null, ranks = q[good], null[good], ranks[good]
    return Singularities(model, arm.frame, arm.rank, tuple(arm.group(q, null, ranks, samples)))


@dataclass(frozen=True, slots=True)
class SingularCondition:
    """The condition that the poses of a family share.

    Attributes:
        count: The number of normals.
        fixed: The joints with one value, by index, with the value in units of SAME_VALUE.
        related: The joints in a common equation, by index.
    """

    count: int
    fixed: tuple[tuple[int, int], ...]
    related: tuple[int, ...]

    def is_part_of(self, other: SingularCondition, sizes: Mapping[SingularCondition, int]) -> bool:
        """Return whether the poses belong to another family: they satisfy its condition, or are few special ones."""
        if not set(other.fixed) <= set(self.fixed):
            return False
        own, wide = ({*c.related, *(k for k, _ in c.fixed)} for c in (self, other))
        return not other.related or (own <= wide and sizes[self] < FEW_SHARE * sizes[other])


@dataclass(frozen=True, eq=False)
class ArmJacobian:
    """The Jacobian of an arm with lengths in units of the arm, in the directions in which its frame can move at all.

    Attributes:
        model: The arm.
        frame: The frame.
        joints: The joints above it that move.
        base: The directions, one per column, (6, rows).
        rank: The rank in almost every pose.
        wide: Whether null vectors have one entry per row; otherwise one per joint.
    """

    model: Model
    frame: str
    joints: tuple[Joint, ...]
    base: Floats
    rank: int
    wide: bool

    @classmethod
    def prepare(cls, model: Model, frame: str, rows: str, seed: int) -> ArmJacobian:
        """Return the Jacobian of a frame, after checks."""
        if not isinstance(rows, str) or rows not in ROWS:
            raise InvalidValue(f"rows must be 'linear', 'angular' or 'both', not {rows!r}.")
        above = sorted(model.joints_above(frame), key=lambda joint: joint.v.start)
        joints = tuple(joint for joint in above if joint.nv and not joint.locked and not joint.mimic)
        if not 0 < len(joints) <= MOST_JOINTS or any(joint.nv != 1 for joint in joints):
            kinds = ", ".join(f"{joint.name} ({joint.kind})" for joint in joints[:9]) or "none"
            raise InvalidValue(
                f"find_singularities: {frame!r} needs one to {MOST_JOINTS} joints above it, each with one degree of "
                f"freedom; it has: {kinds}. Lock the others with model.locked."
            )
        scale = np.repeat((1.0 / model.length, 1.0), 3)[:, None] * np.eye(6)[:, ROWS[rows]]
        own = cls(model, frame, joints, scale, 0, wide=True)
        J = own.measure(model.random(np.random.default_rng(seed + 1), size=50))
        rank = int(np.linalg.matrix_rank(J, tol=1e-7).max())
        u, values, _ = np.linalg.svd(np.concatenate(J, axis=1), full_matrices=False)
        span = int((values > 1e-7 * values[0]).sum())
        if span > rank and len(joints) > rank:
            raise InvalidValue(f"find_singularities: the directions in which {frame!r} moves change with the pose.")
        return cls(model, frame, joints, scale @ u[:, :span], rank, wide=span == rank)

    @property
    def columns(self) -> list[int]:
        """The velocities of the joints."""
        return [joint.v.start for joint in self.joints]

    def measure(self, q: Floats) -> Floats:
        """Return the Jacobian, (..., rows, joints)."""
        J: Floats = self.base.T @ self.model.jacobian(q, self.frame)[..., self.columns]
        return J

    def differentiate(self, q: Floats) -> Floats:
        """Return its derivative along each joint, (..., rows, joints, joints)."""
        H = self.model.hessian(q, self.frame)[..., self.columns, :][..., self.columns]
        out: Floats = np.einsum("ra,...rjk->...ajk", self.base, H)
        return out

    def find_null(self, q: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return the null vectors nearest to singular, their singular values, and the ranks."""
        u, values, v = np.linalg.svd(self.measure(q), full_matrices=False)
        null = u[..., :, self.rank - 1] if self.wide else v[..., self.rank - 1, :]
        return null, values[:, self.rank - 1], (values > SINGULAR_VALUE).sum(axis=1)

    def linearise(self, q: Floats, null: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the residual of the equations, and its derivatives along q and the null vector."""
        J, H = self.measure(q), self.differentiate(q)
        if self.wide:
            along, own = np.einsum("bajk,ba->bjk", H, null), np.swapaxes(J, 1, 2)
        else:
            along, own = np.einsum("bajk,bj->bak", H, null), J
        return np.einsum("bij,bj->bi", own, null), along, own

    def approach(self, q: Floats, null: Floats) -> tuple[Floats, Floats]:
        """Move poses to the singular set, by damped Gauss-Newton steps."""
        q, null, left = np.array(q), np.array(null), np.arange(len(q))
        for _ in range(STEPS):
            r, along, own = self.linearise(q[left], null[left])
            far = np.linalg.norm(r, axis=1)
            left, r, along, own, far = (each[far > ZERO_RESIDUAL] for each in (left, r, along, own, far))
            if not len(left):
                break
            unit = np.concatenate([np.zeros((len(left), 1, len(self.joints))), null[left][:, None]], axis=2)
            A = np.concatenate([np.concatenate([along, own], axis=2), unit], axis=1)
            e = np.concatenate([r, np.zeros((len(left), 1))], axis=1)
            damping = np.maximum(far**2, 1e-12)[:, None, None] * np.eye(A.shape[1])
            At = np.swapaxes(A, 1, 2)
            step = -(At @ np.linalg.solve(A @ At + damping, e[:, :, None]))[:, :, 0]
            v = np.zeros((len(left), self.model.nv))
            v[:, self.columns] = np.clip(step[:, : len(self.joints)], -MOST_STEP, MOST_STEP)
            turned = null[left] + step[:, len(self.joints) :]
            q[left], null[left] = (
                self.model.integrate(q[left], v),
                turned / np.linalg.norm(turned, axis=1, keepdims=True),
            )
        return q, null

    def wrap(self, q: Floats) -> Floats:
        """Return poses with whole turns removed that leave the ranges."""
        q = np.array(q)
        for joint in self.joints:
            if not joint.slides[0]:
                low, high = float(self.model.lower[joint.v.start]), float(self.model.upper[joint.v.start])
                centre = 0.5 * (low + high) if np.isfinite(low + high) else 0.0
                q[:, joint.q] = centre + (q[:, joint.q] - centre + np.pi) % (2.0 * np.pi) - np.pi
        return q

    def is_within(self, q: Floats) -> NDArray[np.bool_]:
        """Return which poses are within the joint ranges, up to rounding."""
        values = np.concatenate([q[:, joint.q] for joint in self.joints], axis=1)
        low, high = self.model.lower[self.columns], self.model.upper[self.columns]
        return np.asarray(((values >= low - 1e-9) & (values <= high + 1e-9)).all(axis=1))

    # ---------------------------------------------------------------------------------------- families

    def group(self, q: Floats, null: Floats, ranks: NDArray[np.intp], samples: int) -> list[SingularFamily]:
        """Return the families of singular poses."""
        shares, counts = self.measure_normals(q, null)
        found: dict[SingularCondition, list[int]] = {}
        for i, (share, count) in enumerate(zip(shares, counts, strict=True)):
            held = np.flatnonzero(share > FIXED_SHARE).tolist()
            related = np.flatnonzero((share > SUPPORT) & (share <= FIXED_SHARE)).tolist()
            fixed = tuple((k, round(self.read_value(k, q[i : i + 1])[0] / SAME_VALUE)) for k in held)
            found.setdefault(SingularCondition(int(count), fixed, tuple(related)), []).append(i)
        sizes = {own: len(rows) for own, rows in found.items() if len(rows) >= max(2.0, LEAST_SHARE * len(q))}
        whole = [own for own in sizes if not any(own.is_part_of(other, sizes) for other in sizes if other != own)]
        families = [self.make_family(own, q[found[own]], ranks[found[own]], samples) for own in whole]
        return sorted(families, key=lambda each: (-each.dimension, bool(each.related), each.condition))

    def measure_normals(self, q: Floats, null: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Return the share of each joint in the normals of the singular set, from 0 to 1, and how many normals."""
        _, along, own = self.linearise(q, null)
        unit = null[:, None]
        left = np.concatenate([own, unit], axis=1)
        u, values, _ = np.linalg.svd(left, full_matrices=True)
        free = np.ones(u.shape[::2], dtype=bool)
        free[:, : values.shape[1]] = values < NORMAL_VALUE
        along = np.concatenate([along, np.zeros((len(q), 1, len(self.joints)))], axis=1)
        rows = np.swapaxes(u * free[:, None], 1, 2) @ along
        _, sizes, v = np.linalg.svd(rows, full_matrices=False)
        kept = sizes > NORMAL_VALUE * np.maximum(sizes[:, :1], 1e-12)
        return np.einsum("bk,bkj->bj", kept.astype(float), v**2), kept.sum(axis=1)

    def read_value(self, k: int, q: Floats) -> Floats:
        """Return the values of a joint, with pi for -pi where its range allows it."""
        joint = self.joints[k]
        x: Floats = q[:, joint.q.start]
        whole = 2.0 * np.pi if not joint.slides[0] else 0.0
        turned = (x < 0.1 - np.pi) & (x + whole <= self.model.upper[joint.v.start] + 1e-9)
        return np.asarray(np.where(turned, x + whole, x))

    def make_family(
        self, condition: SingularCondition, q: Floats, ranks: NDArray[np.intp], samples: int
    ) -> SingularFamily:
        """Return a family with its first samples."""
        fixed = {self.joints[k].name: float(np.median(self.read_value(k, q))) for k, _ in condition.fixed}
        related = tuple(self.joints[k].name for k in condition.related)
        q, equations = q[:samples], condition.count - len(fixed)
        dimension = len(self.joints) - condition.count
        return SingularFamily(fixed, related, equations, dimension, int(ranks.max()), q, self.find_lost(q))

    def find_lost(self, q: Floats) -> Floats:
        """Return a unit twist that the frame cannot follow at each pose, lengths in units of the arm, (poses, 6)."""
        u = np.linalg.svd(self.measure(q), full_matrices=True)[0][:, :, self.rank - 1]
        lost = u @ self.base.T * np.repeat((self.model.length, 1.0), 3)
        out: Floats = lost / np.linalg.norm(lost, axis=1, keepdims=True)
        return out
