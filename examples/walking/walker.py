"""Walking: footsteps on the floor, and inverse kinematics of the legs between them.

The body and each foot have a place on the floor: x, y and a heading h [m, m, rad]. A foot whose place equals that of
the body is at its initial transform, moved along: T = G(x, y, h) T0. Steps move the other feet towards the body:

    to = body at landing + v t / 2,    place = from + s (to - from),    height = lift sin(pi p),    s = p^2 (3 - 2 p)

for a step of t seconds, at the fraction p of it. A foot is lifted as far behind the body as it landed ahead of it.
Feet step in two groups, alternating along each side: two feet walk, four trot, six use a tripod gait. Hands swing
with the feet of the opposite side.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal, Reach, Rest
from poise.kinematics.carriers import find_root
from poise.model import Model
from poise.pictures.front import find_front
from poise.rig import Rig
from poise.solvers import Solver
from poise.spatial import Rotation

__all__ = ["Walker"]


STEP = 0.36  # [s], duration of a step
STRIDE = 0.42  # length of a step, relative to leg length
TURN = 0.55  # [rad] per step
CROUCH = 0.05  # lowering of the body while it walks, relative to leg length, so that the legs reach ahead
LIFT = 0.12  # height of a step, relative to leg length
BOB = 0.015  # rise of the body during a step, relative to leg length
EASE = 0.15  # [s], time constant of speed changes
SWING = 0.7  # swing of a hand, relative to that of the opposite foot
HOME = 0.02  # relative to leg length, or [rad]: feet closer than this to their place need no step
SLOW = 0.02  # relative to full speed: slower bodies count as standing


class Walker:
    """A body with feet that walks ahead and turns.

    Attributes:
        q: The configuration.
        at: The place of the body on the floor: x, y, heading.
        feet: The frame of each foot.
        swinging: The indices of the feet in the air.

    Args:
        model: A body with a free root and at least two feet.
        q: The initial configuration; the rest pose by default.
    """

    def __init__(self, model: Model, q: Floats | None = None) -> None:
        self.model = model
        self.q = np.array(model.rest if q is None else q)
        handles = [h for h in Rig(model).handles.values() if h.kind == "end"]
        self.feet = tuple(h.frame for h in handles if h.stands)
        self.hands = tuple(h.frame for h in handles if not h.stands)
        root = find_root(model)
        if root is None or len(self.feet) < 2:
            raise InvalidValue(
                f"{model.name} cannot walk: it needs a free root and two feet. Type: poise.load('humanoid')"
            )
        self.root = root.frame
        T = dict(zip(model.frames, model.fk(self.q), strict=True))
        self.home = {name: T[name].copy() for name in (self.root, *self.feet, *self.hands)}
        up, ahead = model.up_direction, find_front(model)
        self.axes = np.stack([ahead, np.cross(up, ahead), up], axis=1)  # ahead, left, up
        heights = [float(up @ (T[self.root][:3, 3] - T[foot][:3, 3])) for foot in self.feet]
        self.leg = max(*heights, 1e-3)
        self.groups = group_feet([self.axes.T @ (T[f] - T[self.root])[:3, 3] for f in self.feet])
        self.at, self.speed = np.zeros(3), np.zeros(2)  # speeds ahead and of turning, relative to full speed
        self.stands = np.zeros((len(self.feet), 3))
        self.swinging: tuple[int, ...] = ()
        self._from, self._part, self._next, self._crouch = self.stands.copy(), 0.0, 0, 0.0
        goals = self.make_goals()
        self.solver = Solver(model, goals, restarts=0, max_steps=30)

    def make_goals(self) -> list[Goal]:
        """Return the goals, by priority: feet, root, hands, and the initial posture."""
        home = self.home
        goals: list[Goal] = [Reach(self.root, home[self.root], priority=1, name="root")]
        for foot in self.feet:
            flat = len(self.feet) == 2  # two feet stand flat; more are points
            self.home[foot] = home[foot] if flat else home[foot][:3, 3]
            goals.append(Reach(foot, self.home[foot], name=foot))
        goals += [Reach(hand, home[hand][:3, 3], priority=2, name=hand) for hand in self.hands]
        return [*goals, Rest(self.q)]

    # ------------------------------------------------------------------------------------------ on the floor

    def step(self, seconds: float, ahead: float = 0.0, turn: float = 0.0) -> Floats:
        """Advance by some seconds and return the new configuration.

        Args:
            seconds: The duration [s]; longer than 0.1 is cut to 0.1.
            ahead: The speed, -1 (back) to 1.
            turn: The turning speed, -1 (right) to 1 (left).
        """
        dt = min(max(seconds, 0.0), 0.1)
        asked = np.clip((ahead if ahead > 0.0 else 0.6 * ahead, turn), -1.0, 1.0)
        self.speed += (asked - self.speed) * (1.0 - np.exp(-dt / EASE))
        self.at = self.find_later(dt)
        self.move_feet(dt, bool(asked.any()))
        moving = bool(self.swinging) or float(np.abs(self.speed).max()) > SLOW
        self._crouch += (moving - self._crouch) * (1.0 - np.exp(-dt / EASE))
        self.q = np.array(self.solver.solve(self.q, self.find_targets()).q)
        return self.q

    def find_later(self, seconds: float) -> Floats:
        """Return the place of the body after some seconds at the current speed."""
        turned = self.speed[1] * TURN * seconds / STEP
        way = self.speed[0] * STRIDE * self.leg * seconds / STEP
        heading = self.at[2] + 0.5 * turned
        out: Floats = self.at + np.array((way * np.cos(heading), way * np.sin(heading), turned))
        return out

    def move_feet(self, dt: float, driven: bool) -> None:
        """Advance the step of the feet in the air, or start the next step if the feet are away from their places."""
        if not self.swinging:
            off = np.abs(self.at - self.stands) / (self.leg, self.leg, 1.0)
            rows = [k for k in self.groups[self._next] if driven or off[k].max() > HOME]
            if not rows and off.max() <= HOME:
                return
            self.swinging, self._part = self.groups[self._next], 0.0
            self._from, self._next = self.stands.copy(), 1 - self._next
        self._part = min(self._part + dt / STEP, 1.0)
        s = self._part**2 * (3.0 - 2.0 * self._part)
        to = self.find_later(STEP * (1.0 - self._part) + 0.5 * STEP)
        for k in self.swinging:
            self.stands[k] = self._from[k] + s * (to - self._from[k])
        if self._part >= 1.0:
            self.swinging = ()

    @property
    def settled(self) -> bool:
        """Whether the body is back at its initial height."""
        return self._crouch < HOME

    # ------------------------------------------------------------------------------------------ in space

    def find_place(self) -> Floats:
        """Return the position of the root, without crouch and bob, (3,) [m]."""
        return self.place(self.root, self.at, 0.0)[:3, 3]

    def find_targets(self) -> dict[str, Floats]:
        """Return the targets of root, feet and hands."""
        high = np.sin(np.pi * self._part) if self.swinging else 0.0
        low = (BOB * high - CROUCH * self._crouch) * self.leg
        out = {"root": self.place(self.root, self.at, low)}
        for k, foot in enumerate(self.feet):
            out[foot] = self.place(foot, self.stands[k], LIFT * self.leg * high if k in self.swinging else 0.0)
        for hand in self.hands:
            out[hand] = self.place(hand, self.swing(hand), low)[:3, 3]
        return out

    def swing(self, hand: str) -> Floats:
        """Return the place on the floor that a hand follows: that of the body, offset with the opposite feet."""
        left = self.axes[:, 1]
        side = np.sign(left @ (self.home[hand] - self.home[self.root])[:3, 3])
        root = self.home[self.root][:3, 3]
        across = [
            k for k, foot in enumerate(self.feet) if side * (left @ (np.atleast_2d(self.home[foot])[:3, -1] - root)) < 0
        ]
        off = (self.stands[across] - self.at).mean(axis=0) if across else np.zeros(3)
        out: Floats = self.at + SWING * np.array((off[0], off[1], 0.0))
        return out

    def place(self, frame: str, at: Floats, height: float) -> Floats:
        """Return the target of a frame for a body at a place on the floor, raised by `height` [m]."""
        turn = Rotation.from_vector(at[2] * self.axes[:, 2]).matrix
        middle = self.home[self.root][:3, 3]
        G = np.eye(4)
        G[:3, :3] = turn
        G[:3, 3] = middle - turn @ middle + self.axes @ np.array((at[0], at[1], height))
        home = self.home[frame]
        out: Floats = G @ home if home.ndim == 2 else G[:3, :3] @ home + G[:3, 3]
        return out


def group_feet(places: list[Floats]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split the feet into two groups that step alternately; positions are ahead, left and up of the root."""
    groups: tuple[list[int], list[int]] = ([], [])
    for first, side in enumerate((1.0, -1.0)):
        row = [k for k, place in enumerate(places) if (place[1] > 0.0) == (side > 0.0)]
        for number, k in enumerate(sorted(row, key=lambda k: -places[k][0])):
            groups[(first + number) % 2].append(k)
    return tuple(groups[0]), tuple(groups[1])
