"""The latent model of the textbook, compared with PCA and a local Gaussian, on a motion of the humanoid.

Every degree of freedom but the root's follows harmonics of one phase. Every other frame is known; of some of the
others the hands, the feet and the head are given. Prints the mean error of the other parts.
"""

from argparse import Namespace
from collections.abc import Callable

import numpy as np
from shared.command import Table, time_best

import poise
from poise import textbook
from poise.arrays import Floats
from poise.goals import Reach, Rest, Style

ASKED = ("hand_l", "hand_r", "foot_l", "foot_r", "head")
FRAMES = 60
NEIGHBOURS = 12


class Swing:
    """A swinging humanoid, its poses as steps from the rest pose with the root left out."""

    def __init__(self) -> None:
        self.model = model = poise.load("humanoid")
        self.joints = [joint for joint in model.joints[1:] if joint.nv]
        self.free = np.concatenate([np.arange(model.nv)[joint.v] for joint in self.joints])
        self.others = [frame for frame in model.frames if frame not in ASKED]
        phase = np.linspace(0.0, 2.0 * np.pi, FRAMES, endpoint=False)
        waves = np.stack([np.sin(phase), np.cos(phase), 0.3 * np.sin(2 * phase), 0.3 * np.cos(2 * phase)])
        rng = np.random.default_rng(3)
        steps = np.zeros((FRAMES, model.nv))
        for joint in self.joints:
            steps[:, joint.v.start] = 0.35 * rng.normal(size=4) @ waves
        self.q = np.array([model.clamp(model.integrate(model.rest, step)) for step in steps])
        self.Y = np.array([model.difference(model.rest, q)[self.free] for q in self.q])

    def write(self, y: Floats) -> Floats:
        """Return the configuration of a pose."""
        step = np.zeros(self.model.nv)
        step[self.free] = y
        return np.asarray(self.model.integrate(self.model.rest, step))

    def place(self, y: Floats) -> Floats:
        """Return the positions of the given frames, (15,)."""
        q = self.write(y)
        return np.concatenate([self.model.fk(q, frame)[:3, 3] for frame in ASKED])

    def differentiate(self, y: Floats, h: float = 1e-6) -> Floats:
        """Return their derivative by the pose, by differences, (15, D)."""
        return np.array([(self.place(y + h * e) - self.place(y - h * e)) / (2 * h) for e in np.eye(len(y))]).T

    def measure(self, q: Floats, truth: Floats) -> float:
        """Return the mean error of the other frames [mm]."""
        there = self.write(truth)
        apart = [(self.model.fk(q, f) - self.model.fk(there, f))[:3, 3] for f in self.others]
        return 1e3 * float(np.mean(np.linalg.norm(apart, axis=1)))


def make_latent(swing: Swing, known: Floats) -> Callable[[Floats], Floats]:
    """Return a function that solves for a pose with the latent model."""
    latent = textbook.train_latent_model(known)

    def solve(truth: Floats) -> Floats:
        wanted = swing.place(truth)
        return swing.write(latent.solve(lambda y: swing.place(y) - wanted, swing.differentiate)[0])

    return solve


def make_components(swing: Swing, known: Floats) -> Callable[[Floats], Floats]:
    """Return a solver with two principal components and noise: a Gaussian, conditioned on the targets."""
    mean = known.mean(axis=0)
    _, values, rows = np.linalg.svd(known - mean, full_matrices=False)
    spread = (rows[:2].T * values[:2] ** 2 / len(known)) @ rows[:2]
    spread += (values[2:] ** 2).sum() / len(known) / (len(mean) - 2) * np.eye(len(mean))

    def solve(truth: Floats) -> Floats:
        y, wanted = mean, swing.place(truth)
        for _ in range(12):
            J = swing.differentiate(y)
            y = mean + spread @ J.T @ np.linalg.solve(J @ spread @ J.T, wanted - swing.place(y) + J @ (y - mean))
        return swing.write(y)

    return solve


def make_posture(swing: Swing, posture: Rest) -> Callable[[Floats], Floats]:
    """Return a solver with a posture below the goals."""
    moves = [joint.name for joint in swing.joints]

    def solve(truth: Floats) -> Floats:
        q = swing.write(truth)
        goals = [Reach(frame, swing.model.fk(q, frame)[:3, 3]) for frame in ASKED]
        return np.array(poise.solve(swing.model, [*goals, posture], joints=moves).raise_if_missed().q)

    return solve


def compare_latent(_: Namespace) -> None:
    """Print the table."""
    swing = Swing()
    known, tests = swing.Y[::2], swing.Y[1::12]
    style = Style.fit(poise.Motion(swing.model, swing.q[::2]), neighbours=NEIGHBOURS)
    solvers = {
        "Rest()": make_posture(swing, Rest()),
        "Rest(mean of the clip)": make_posture(swing, Rest(style.find_wanted(swing.model))),
        "two principal components": make_components(swing, known),
        f"Style ({NEIGHBOURS} nearest)": make_posture(swing, style),
        "latent model": make_latent(swing, known),
    }
    print(f"{len(known)} known poses of {known.shape[1]} degrees of freedom, {len(tests)} test poses")
    table = Table(":26", "error mm:8.2f", "CPU ms a pose:10.1f")
    for name, solve in solvers.items():
        _, spent, found = time_best(lambda solve=solve: [solve(truth) for truth in tests], 1)
        errors = [swing.measure(q, truth) for q, truth in zip(found, tests, strict=True)]
        table.add(name, float(np.mean(errors)), 1e3 * spent / len(tests))
