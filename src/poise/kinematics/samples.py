"""Configurations over time as numbers and rotations that can be interpolated.

Angles of an Euler joint cannot be averaged: near its singular angle they jump while the bone hardly moves. Here such a
joint is represented by its rotation, like a ball or free joint; every other coordinate is a number. Angles without a
range are unwrapped. Differences are steps of a chart at one sample: numbers subtract, rotations give log(a^-1 b) in
body axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats, Ints
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["TURNS_FREELY", "SampleLayout", "Samples", "choose_angles", "name_angles"]

TURNS_FREELY = ("ball", "euler")


@dataclass(frozen=True, slots=True)
class SampleLayout:
    """The indices of the numbers and rotations of a model in q.

    Attributes:
        model: The body.
        numbers: Indices of scalar coordinates in q, (n,).
        quaternions: Start of each quaternion in q.
        eulers: Start of the angles of each Euler joint in q, and its order.
    """

    model: Model
    numbers: Ints
    quaternions: tuple[int, ...]
    eulers: tuple[tuple[int, str], ...]

    @classmethod
    def read_model(cls, model: Model) -> SampleLayout:
        """Return the layout of a model."""
        joints = [joint for joint in model.joints if joint.nq and not joint.mimic]
        quaternions = tuple(joint.q.stop - 4 for joint in joints if joint.quaternion)
        eulers = tuple((joint.q.start, joint.order) for joint in joints if joint.kind == "euler")
        rotations = {start + i for start in quaternions for i in range(4)} | {
            s + i for s, _ in eulers for i in range(3)
        }
        return cls(model, np.array([i for i in range(model.nq) if i not in rotations], np.int64), quaternions, eulers)

    def read(self, q: Floats) -> Samples:
        """Return configurations (frames, nq) as samples, with unwrapped angles."""
        numbers = q[:, self.numbers].copy()
        turning = self.find_endless_turns()
        numbers[:, turning] = np.unwrap(numbers[:, turning], axis=0)
        parts = [q[:, s : s + 4] for s in self.quaternions]
        parts += [Rotation.from_euler(order, q[:, s : s + 3]).wxyz for s, order in self.eulers]
        quaternions = np.stack(parts, axis=1) if parts else np.zeros((len(q), 0, 4))
        return Samples(numbers, quaternions)

    def write(self, samples: Samples, near: Floats) -> Floats:
        """Return samples as configurations (frames, nq), with the quaternion signs and Euler branches of `near`.

        Numbers and Euler angles stay inside their ranges, extended to the values in `near`.
        """
        out = np.array(near)
        out[:, self.numbers] = samples.numbers
        for i, start in enumerate(self.quaternions):
            wxyz = samples.quaternions[:, i]
            side = np.sum(wxyz * near[:, start : start + 4], axis=-1, keepdims=True)
            out[:, start : start + 4] = np.where(side < 0.0, -wxyz, wxyz)
        for i, (start, order) in enumerate(self.eulers, len(self.quaternions)):
            angles = slice(start, start + 3)
            out[:, angles] = name_angles(Rotation(samples.quaternions[:, i]), order, near[:, angles])
        return self._clip(out, near)

    def _clip(self, q: Floats, near: Floats) -> Floats:
        model = self.model
        for joint in model.joints:
            if joint.nq and not joint.mimic and not joint.quaternion:
                low = np.minimum(model.lower[joint.v], near[:, joint.q].min(axis=0))
                high = np.maximum(model.upper[joint.v], near[:, joint.q].max(axis=0))
                q[:, joint.q] = np.clip(q[:, joint.q], low, high)
        return q

    def find_endless_turns(self) -> NDArray[np.bool_]:
        """Return a mask of the numbers that are unlimited angles."""
        free = np.zeros(self.model.nq, dtype=bool)
        for joint in self.model.joints:
            if joint.nq and not joint.mimic and not joint.quaternion:
                open_range = np.isinf(self.model.lower[joint.v]) & np.isinf(self.model.upper[joint.v])
                free[joint.q] = open_range & ~np.array(joint.slides, dtype=bool)
        found: NDArray[np.bool_] = free[self.numbers]
        return found


@dataclass(frozen=True, slots=True)
class Samples:
    """Numbers (frames, n) and rotations (frames, r, 4) of a body over time."""

    numbers: Floats
    quaternions: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Ints | slice) -> Samples:
        return Samples(self.numbers[index], self.quaternions[index])

    def repeat(self, times: int) -> Samples:
        """Return one sample repeated."""
        return Samples(np.repeat(self.numbers, times, axis=0), np.repeat(self.quaternions, times, axis=0))

    def measure(self, other: Samples) -> Floats:
        """Return the steps from these samples to others, (frames, n + 3 r)."""
        if not self.quaternions.shape[1]:
            return other.numbers - self.numbers
        turns = (Rotation(self.quaternions).inverse() @ Rotation(other.quaternions)).log()
        return np.concatenate([other.numbers - self.numbers, turns.reshape(len(turns), -1)], axis=1)

    def move(self, steps: Floats) -> Samples:
        """Return the samples moved by steps, (frames, n + 3 r)."""
        n, r = self.numbers.shape[1], self.quaternions.shape[1]
        numbers = self.numbers + steps[:, :n]
        if not r:
            return Samples(numbers, self.quaternions)
        turns = Rotation.from_vector(steps[:, n:].reshape(len(steps), r, 3))
        return Samples(numbers, (Rotation(self.quaternions) @ turns).wxyz)

    def blend(self, other: Samples, share: Floats) -> Samples:
        """Return samples at a fraction `share` (frames,) of the geodesic to others."""
        return self.move(share[:, None] * self.measure(other))


def name_angles(rotation: Rotation, order: str, near: Floats) -> Floats:
    """Return the Euler angles of rotations that are closest to the given ones, (frames, 3).

    A rotation has two triples of angles, (a, b, c) and (a + pi, pi - b, c + pi) (or -b if the first and the last axis
    are the same), and each angle may differ by whole turns.
    """
    return choose_angles(rotation.to_euler(order), order, near)


def choose_angles(first: Floats, order: str, near: Floats) -> Floats:
    """Return the Euler angles closest to `near` of the rotations with angles `first`, (..., 3)."""
    middle = -first[..., 1] if order[0] == order[2] else np.pi - first[..., 1]
    second = np.stack([first[..., 0] + np.pi, middle, first[..., 2] + np.pi], axis=-1)
    both = [angles + 2.0 * np.pi * np.round((near - angles) / (2.0 * np.pi)) for angles in (first, second)]
    far = [np.abs(angles - near).sum(axis=-1, keepdims=True) for angles in both]
    return np.where(far[1] < far[0] - 1e-9, both[1], both[0])
