"""How the coordinates of a chart change with the velocities of a body.

A chart has a number for each plain coordinate and a rotation vector log(a^-1 b) for each ball, free and Euler joint
(see `samples`). With b turning by w in its own axes,

    d log(a^-1 b) = Jr^-1(x) w,    Jr^-1(x) = I + [x] / 2 + (1 / t^2 - (1 + cos t) / (2 t sin t)) [x]^2,   t = |x|
    w = w of a quaternion;    of an Euler joint with R = R_1 R_2 R_3:  (R_3^T R_2^T e_1, R_3^T e_2, e_3) times its rates

Source: Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, 2012, section 10.6 (the inverse Jacobian).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.samples import Layout, Samples

__all__ = ["Chart"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SMALL = 1e-4  # radians: below it the last factor is 1 / 12


@dataclass(frozen=True, slots=True)
class Chart:
    """Where the coordinates of a chart come from.

    Attributes:
        layout: Of the model's q.
        number_velocities: The velocity of each number, (n,).
        turn_velocities: The first velocity of each rotation, (r,); those of quaternions, then those of Euler joints.
        letters: Of the Euler joints: the axes of the three letters, (e, 3, 3).
        angles: Where their angles are in q, (e, 3).
    """

    layout: Layout
    number_velocities: Ints
    turn_velocities: Ints
    letters: Floats
    angles: Ints

    @classmethod
    def read(cls, layout: Layout) -> Chart:
        """Return the chart of a layout."""
        model = layout.model
        owner = {joint.q.start + k: joint.v.start + k for joint in model.joints if joint.nv for k in range(joint.nv)}
        numbers = np.array([owner[int(i)] for i in layout.numbers], dtype=np.int64)
        ends = {joint.q.stop - 4: joint.v.stop - 3 for joint in model.joints if joint.nv and joint.quaternion}
        turns = [ends[start] for start in layout.quaternions] + [owner[start] for start, _ in layout.eulers]
        letters = [[np.eye(3)["XYZ".index(letter)] for letter in order] for _, order in layout.eulers]
        angles = np.array([[start, start + 1, start + 2] for start, _ in layout.eulers], dtype=np.int64).reshape(-1, 3)
        return cls(layout, numbers, np.array(turns, dtype=np.int64), np.array(letters).reshape(-1, 3, 3), angles)

    @property
    def velocities(self) -> Ints:
        """The velocity behind each coordinate, (n + 3 r,)."""
        turns = (self.turn_velocities[:, None] + np.arange(3)).ravel()
        return np.concatenate([self.number_velocities, turns])

    def measure(self, origin: Samples, q: Floats) -> Floats:
        """Return the coordinates of one pose about an origin, (n + 3 r,); `Samples.measure` has those of many poses.

        All joints are done at once: one by one they would take many times as long.
        """
        layout = self.layout
        turns = np.empty((len(self.turn_velocities), 4))
        for k, start in enumerate(layout.quaternions):
            turns[k] = q[start : start + 4]
        if len(self.letters):
            half = 0.5 * q[self.angles]
            factors = np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * self.letters], axis=-1)
            turns[len(layout.quaternions) :] = multiply(multiply(factors[:, 0], factors[:, 1]), factors[:, 2])
        back = origin.quaternions[0] * np.array([1.0, -1.0, -1.0, -1.0])
        return np.concatenate([q[layout.numbers] - origin.numbers[0], take_logarithm(multiply(back, turns)).ravel()])

    def find_blocks(self, q: Floats, x: Floats) -> Floats:
        """Return how the rotation vectors x (r, 3) change with the velocities of their joints, (r, 3, 3)."""
        blocks = invert_right_jacobian(x)
        first = len(self.layout.quaternions)
        if len(self.letters):
            blocks[first:] = blocks[first:] @ self._find_axes(q[self.angles])
        return blocks

    def _find_axes(self, angles: Floats) -> Floats:
        """Return the axes of the Euler rates in the body, as columns, (e, 3, 3)."""
        e1, e2, e3 = (self.letters[:, k] for k in range(3))
        second = turn_back(e2, e3, angles[:, 2])
        first = turn_back(turn_back(e1, e2, angles[:, 1]), e3, angles[:, 2])
        return np.stack([first, second, e3], axis=-1)


def multiply(a: Floats, b: Floats) -> Floats:
    """Return the products of quaternions wxyz, row by row."""
    out = np.empty(b.shape)
    (aw, ax, ay, az), (bw, bx, by, bz) = a.T, b.T
    out[:, 0] = aw * bw - ax * bx - ay * by - az * bz
    out[:, 1] = aw * bx + ax * bw + ay * bz - az * by
    out[:, 2] = aw * by - ax * bz + ay * bw + az * bx
    out[:, 3] = aw * bz + ax * by - ay * bx + az * bw
    return out


def take_logarithm(wxyz: Floats) -> Floats:
    """Return the rotation vectors of unit quaternions, at most pi long, (r, 3)."""
    wxyz = np.where(wxyz[:, :1] < 0.0, -wxyz, wxyz)
    sine = np.sqrt(np.sum(wxyz[:, 1:] ** 2, axis=1))
    angle = 2.0 * np.arctan2(sine, wxyz[:, 0])
    factor = np.where(sine < 1e-12, 2.0, angle / np.where(sine < 1e-12, 1.0, sine))
    return np.asarray(factor[:, None] * wxyz[:, 1:])


def turn_back(vectors: Floats, axes: Floats, angles: Floats) -> Floats:
    """Return vectors turned about unit axes by minus the angles, row by row (Rodrigues)."""
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along = np.sum(axes * vectors, axis=-1, keepdims=True)
    return np.asarray(c * vectors - s * np.cross(axes, vectors) + (1.0 - c) * along * axes)


def invert_right_jacobian(x: Floats) -> Floats:
    """Return Jr^-1 of rotation vectors (r, 3), (r, 3, 3)."""
    t = np.linalg.norm(x, axis=-1)
    tame = np.where(t < SMALL, 1.0, t)
    factor = np.where(t < SMALL, 1.0 / 12.0, 1.0 / tame**2 - (1.0 + np.cos(tame)) / (2.0 * tame * np.sin(tame)))
    wedge = np.zeros((len(x), 3, 3))
    wedge[:, 0, 1], wedge[:, 0, 2], wedge[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    wedge -= np.swapaxes(wedge, 1, 2)
    return np.asarray(np.eye(3) + wedge / 2.0 + factor[:, None, None] * (wedge @ wedge))
