"""Walking: footsteps on the floor, and inverse kinematics of the legs between them.

The body and each foot have a place on the floor: x, y and a heading h [m, m, rad]. A foot whose place equals that of
the body is at its initial transform, moved along: T = G(x, y, h) T0. Steps move the other feet towards the body:

    to = body at landing + v t / 2,    place = from + s (to - from),    height = lift sin(pi p)^2,    s = p^2 (3 - 2 p)

for a step of t seconds, at the fraction p of it. A foot is lifted as far behind the body as it landed ahead of it.
Feet step in two groups, alternating along each side: two feet walk, four trot, six use a tripod gait. Hands swing
with the feet of the opposite side.

The goals by priority are root and feet, hands and head, and the initial posture. Soles lie flat, and pitch while their
foot is in the air. Step length, crouch, pitch and turn are fitted to the body, so that its legs reach every moment of a
step.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal, Orient, Reach, Rest
from poise.kinematics.carriers import find_root
from poise.model import Model
from poise.pictures.front import find_front
from poise.rig import Rig
from poise.rig.standing.feet import find_foot
from poise.solvers import Solver
from poise.spatial import Rotation

__all__ = ["Walker"]


STEP = 0.36  # [s], duration of a step
STRIDE = 0.42  # longest step, relative to leg length
TURN = 0.55  # largest turn per step [rad]; feet far from the root turn by one step length
SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1)  # of STRIDE and TURN, tried in this order
PITCHES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # rise of the heel of a foot in the air [rad], tried in this order
CROUCHES = (0.05, 0.035, 0.07, 0.1)  # lowering of a walking body, relative to leg length, tried in this order
LIFT = 0.12  # height of a step, relative to leg length
BOB = 0.015  # rise of the body during a step, relative to leg length
EASE = 0.25  # [s], time constant of speed changes: long enough for feet to follow
SWING = 0.7  # swing of a hand, relative to that of the opposite foot
HOME = 0.02  # relative to leg length, or [rad]: feet closer than this to their place need no step
SLOW = 0.02  # relative to full speed: slower bodies count as standing
NUDGE = 0.5  # share of the way to bent knees from which a standing body starts to search
SOLE_WEIGHT = 0.3  # relative to root and balls: at the end of the range of an ankle, the heel rises
EARLY = 0.7  # exponent of the part of a step, for the pitch: heels rise early in a step
NEAR = 1e-3  # relative to leg length: a smaller error counts as reached
BACK = 0.6  # full speed backwards, relative to that ahead
SPARE = 1.1  # the legs reach steps that are longer than the longest by this factor


class Walker:
    """A body with feet that walks ahead and turns.

    Attributes:
        q: The configuration.
        at: The place of the body on the floor: x, y, heading.
        feet: The frame of each foot.
        swinging: The indices of the feet in the air.
        full: The longest step [m] and the largest turn per step [rad].
        crouch: The lowering of the walking body [m].
        pitch: The largest rise of the heel of a foot in the air [rad].

    Args:
        model: A body with a free root and at least two feet.
        q: The initial configuration; the rest pose by default.
    """

    def __init__(self, model: Model, q: Floats | None = None) -> None:
        self.model = model
        self.q = np.array(model.rest if q is None else q)
        rig = Rig(model)
        handles = rig.handles.values()
        self.feet = tuple(h.frame for h in handles if h.kind == "end" and h.stands)
        self.hands = tuple(h.frame for h in handles if h.kind == "end" and not h.stands)
        self.heads = tuple(h.frame for h in handles if h.kind == "gaze")
        root = find_root(model)
        if root is None or len(self.feet) < 2:
            raise InvalidValue(
                f"{model.name} cannot walk: it needs a free root and two feet. Type: poise.load('humanoid')"
            )
        self.root = root.frame
        self.home = dict(zip(model.frames, model.fk(self.q), strict=True))
        up, ahead = model.up_direction, find_front(model)
        self.axes = np.stack([ahead, np.cross(up, ahead), up], axis=1)  # ahead, left, up
        away = {f: self.axes.T @ (self.home[f] - self.home[self.root])[:3, 3] for f in (*self.feet, *self.hands)}
        self.leg = max(*(-float(away[foot][2]) for foot in self.feet), 1e-3)
        self.radius = max(float(np.linalg.norm(away[foot][:2])) for foot in self.feet)  # of the feet [m]
        self.groups = group_feet([away[foot] for foot in self.feet])
        self.across = {  # the feet of the opposite side, by hand
            hand: [k for k, foot in enumerate(self.feet) if away[hand][1] * away[foot][1] < 0.0] for hand in self.hands
        }
        limbs = {h.frame: rig.handles.limbs[h.limb].root for h in handles if h.limb is not None}
        self.shoulders = {hand: limbs[hand] for hand in self.hands if hand in limbs}
        self.at, self.speed = np.zeros(3), np.zeros(2)  # speeds ahead and of turning, relative to full speed
        self.stands = np.zeros((len(self.feet), 3))
        self.swinging: tuple[int, ...] = ()
        self._from, self._part, self._next, self._low = self.stands.copy(), 0.0, 0, 0.0
        self.bent = self.bend_knees(rig)
        self.solver = Solver(model, self.make_goals(), restarts=0, max_steps=60)
        self.full, self.crouch, self.pitch = np.array((STRIDE * self.leg, TURN)), 0.0, 0.0
        self.fit_gait()

    def make_goals(self) -> list[Goal]:
        """Return the goals, by priority: root and feet, hands and head, initial posture."""
        model, home = self.model, self.home
        goals: list[Goal] = [Reach(self.root, home[self.root], name="root")]
        self.balls: dict[str, Floats] = {}
        self.soles: dict[str, int] = {}  # the feet that stand flat, by the frames of soles and toes
        for k, name in enumerate(self.feet):
            foot = find_foot(model, name, self.q)
            lies = len(self.feet) == 2 and foot.side is not None  # two feet stand flat; more are points
            T = home[foot.frame]
            self.balls[name] = T[:3, :3] @ foot.ball + T[:3, 3] if lies else home[name][:3, 3]
            point = tuple(home[name][:3, :3].T @ (self.balls[name] - home[name][:3, 3]))
            goals.append(Reach(name, self.balls[name], point=point, name=name))
            self.soles |= dict.fromkeys([f for f in (name, foot.toes) if lies and f is not None], k)
        goals += [Orient(f, home[f][:3, :3], weight=SOLE_WEIGHT, name=f"{f}.flat") for f in self.soles]
        goals += [Reach(hand, home[hand][:3, 3], priority=1, name=hand) for hand in self.hands]
        for head in self.heads:  # arms pull at the trunk, which a head that stays in place holds
            T, R = home[head], home[head][:3, :3]
            goals.append(
                Reach(head, T, priority=1, name=head) if self.hands else Orient(head, R, priority=1, name=head)
            )
        return [*goals, Rest(self.bent)]

    # ------------------------------------------------------------------------------------------ gait

    def bend_knees(self, rig: Rig) -> Floats:
        """Return the initial pose with the legs of a lowered body: straight legs do not determine which way to bend."""
        rig.pose = self.q
        rig.plant()
        handle = next(h for h in rig.handles.values() if h.kind == "body" or h.frame == self.root)
        start = rig.pose.position(handle.frame)
        for depth in np.linspace(0.0, max(CROUCHES) * self.leg, 12):
            rig.drag(handle.name, start - depth * self.axes[:, 2])
        limbs = [limb for limb in rig.handles.limbs.values() if rig.handles[limb.handle].stands]
        self.legs = np.zeros(self.model.nq, dtype=bool)
        for row in (self.model.joint(name).q for limb in limbs for name in limb.joints):
            self.legs[row] = True
        return np.where(self.legs, rig.q, self.q)

    def fit_gait(self) -> None:
        """Set step length, crouch, pitch and turn to the first that the legs reach, or the last."""
        most, ends, moments = self.full, np.array((0.0, 1.0)), np.linspace(0.0, 1.0, 5)
        trials = [(share, crouch * self.leg) for share in SHARES for crouch in CROUCHES]
        for share, self.crouch in trials:
            self.full = most * (share, 0.0)
            if self.can_step((1.0, 0.0), ends, 0.01):
                break
        for self.pitch in PITCHES:
            if self.can_step((1.0, 0.0), moments):
                break
        for turn in SHARES:
            self.full[1] = turn * min(most[1], self.full[0] / self.radius)
            if all(self.can_step((1.0, way), moments) for way in (1.0, -1.0)):
                break
        self.stands[:], self._part, self.swinging = 0.0, 0.0, ()

    def can_step(self, speed: tuple[float, float], parts: Floats, tilt: float = 0.1) -> bool:
        """Return whether the legs of each group reach a step, at some parts of it from 0 to 1.

        Args:
            speed: The speeds ahead and of turning, relative to full speed.
            parts: The parts of the step, in order.
            tilt: The allowed tilt of a sole [rad].
        """
        (way, turn), names = self.full * speed * SPARE, ("root", *self.feet, *(f"{f}.flat" for f in self.soles))
        for group in self.groups:
            q = self.bent
            for part in parts:
                self._part, self.swinging = part, group
                self.stands[:] = (0.5 - part) * np.array((way, 0.0, turn))
                self.stands[list(group)] = (2.0 * ease(part) - 0.5 - part) * np.array((way, 0.0, turn))
                solution = self.solver.solve(q, self.find_targets(-self.crouch))
                q, errors = solution.q, solution.errors
                if any(errors[name][0] > NEAR * self.leg or errors[name][1] > tilt for name in names):
                    return False
        return True

    # ------------------------------------------------------------------------------------------ on the floor

    def step(self, seconds: float, ahead: float = 0.0, turn: float = 0.0) -> Floats:
        """Advance by some seconds and return the new configuration.

        Args:
            seconds: The duration [s]; longer than 0.1 is cut to 0.1.
            ahead: The speed, -1 (back) to 1.
            turn: The turning speed, -1 (right) to 1 (left).
        """
        dt = min(max(seconds, 0.0), 0.1)
        asked = np.clip((ahead if ahead > 0.0 else BACK * ahead, turn), -1.0, 1.0)
        self.speed += (asked - self.speed) * (1.0 - np.exp(-dt / EASE))
        self.at = self.find_later(dt)
        self.move_feet(dt, bool(asked.any()))
        moving = bool(self.swinging) or float(np.abs(self.speed).max()) > SLOW
        self._low = float(np.clip(self._low + (dt if moving else -dt) / (2.0 * EASE), 0.0, 1.0))
        self.q = self.solve()
        return self.q

    def solve(self) -> Floats:
        """Return the pose of this moment; legs that are stuck at the end of their range start from bent knees."""
        nudge = NUDGE * (1.0 - self._low) * self.model.difference(self.q, self.bent)
        targets = self.find_targets(-self.crouch * ease(self._low))
        out: Floats = self.q
        for start in (self.model.integrate(self.q, nudge), np.where(self.legs, self.bent, self.q)):
            solution = self.solver.solve(start, targets)
            is_near = solution.errors["root"][0] < NEAR * self.leg
            out = solution.q if is_near or out is self.q else out
            if is_near:
                break
        return np.array(out)

    def find_later(self, seconds: float) -> Floats:
        """Return the place of the body after some seconds at the current speed."""
        way, turned = self.speed * self.full * seconds / STEP
        heading = self.at[2] + 0.5 * turned
        out: Floats = self.at + np.array((way * np.cos(heading), way * np.sin(heading), turned))
        return out

    def move_feet(self, dt: float, driven: bool) -> None:
        """Advance the step of the feet in the air; after it, begin the next one with the rest of the time."""
        while dt > 0.0 and (self.swinging or self.begin_step(driven)):
            used = min(dt, (1.0 - self._part) * STEP)
            dt -= used
            self._part = 1.0 if dt > 0.0 else self._part + used / STEP
            to = self.find_later(STEP * (1.5 - self._part) - dt)
            for k in self.swinging:
                self.stands[k] = self._from[k] + ease(self._part) * (to - self._from[k])
            if self._part >= 1.0:
                self.swinging = ()

    def begin_step(self, driven: bool) -> bool:
        """Lift the next group if the body is driven, otherwise a group that is away from its places, if any."""
        off = (np.abs(self.at - self.stands) / (self.leg, self.leg, 1.0)).max(axis=1)
        for number in (self._next, 1 - self._next):
            if driven or off[list(self.groups[number])].max(initial=0.0) > HOME:
                self.swinging, self._part, self._next = self.groups[number], 0.0, 1 - number
                self._from = self.stands.copy()
                return True
        return False

    @property
    def settled(self) -> bool:
        """Whether the body is back at its initial height."""
        return self._low == 0.0

    # ------------------------------------------------------------------------------------------ in space

    def find_place(self) -> Floats:
        """Return the position of the root, without crouch and bob, (3,) [m]."""
        return self.place(self.home[self.root], self.at, 0.0)[:3, 3]

    def find_targets(self, low: float = 0.0) -> dict[str, Floats]:
        """Return the targets of root, feet, hands and head for a body that is raised by `low` [m]."""
        high = np.sin(np.pi * self._part) ** 2 if self.swinging else 0.0
        low += BOB * high * self.leg * min(abs(self.speed[0]), 1.0)
        out = {"root": self.place(self.home[self.root], self.at, low)}
        for k, foot in enumerate(self.feet):
            lift = LIFT * self.leg * high if k in self.swinging else 0.0
            out[foot] = self.place(self.balls[foot], self.stands[k], lift)
        for frame, k in self.soles.items():
            early = np.sin(np.pi * self._part**EARLY) ** 2 if k in self.swinging else 0.0
            sole = Rotation.from_vector(self.pitch * early * self.axes[:, 1]).matrix @ self.home[frame][:3, :3]
            out[f"{frame}.flat"] = self.find_turn(self.stands[k]) @ sole
        for hand in self.hands:
            out[hand] = self.swing(hand, low)
        size = 4 if self.hands else 3
        return out | {head: self.place(self.home[head], self.at, low)[:size, :size] for head in self.heads}

    def swing(self, hand: str, low: float) -> Floats:
        """Return the target of a hand: offset with the opposite feet, at its initial distance from the shoulder."""
        across, shoulder = self.across[hand], self.shoulders.get(hand)
        if not across or shoulder is None:
            return self.place(self.home[hand][:3, 3], self.at, low)
        off = SWING * (self.stands[across] - self.at).mean(axis=0) * (1.0, 1.0, 0.0)
        top = self.place(self.home[shoulder][:3, 3], self.at, low)
        arm = self.place(self.home[hand][:3, 3], self.at + off, low) - top
        long = float(np.linalg.norm((self.home[hand] - self.home[shoulder])[:3, 3]))
        out: Floats = top + arm * (long / max(float(np.linalg.norm(arm)), 1e-9))
        return out

    def place(self, home: Floats, at: Floats, height: float) -> Floats:
        """Return an initial transform or position for a body at a place on the floor, raised by `height` [m]."""
        middle = self.home[self.root][:3, 3]
        G = np.eye(4)
        G[:3, :3] = self.find_turn(at)
        G[:3, 3] = middle - G[:3, :3] @ middle + self.axes @ np.array((at[0], at[1], height))
        out: Floats = G @ home if home.ndim == 2 else G[:3, :3] @ home + G[:3, 3]
        return out

    def find_turn(self, at: Floats) -> Floats:
        """Return the rotation of a place on the floor, (3, 3)."""
        return np.array(Rotation.from_vector(at[2] * self.axes[:, 2]).matrix)


def ease(part: float) -> float:
    """Return the share of the way after a part of a step, both from 0 to 1."""
    return part**2 * (3.0 - 2.0 * part)


def group_feet(places: list[Floats]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split the feet into two groups that step alternately; positions are ahead, left and up of the root."""
    groups: tuple[list[int], list[int]] = ([], [])
    for first, side in enumerate((1.0, -1.0)):
        row = [k for k, place in enumerate(places) if (place[1] > 0.0) == (side > 0.0)]
        for number, k in enumerate(sorted(row, key=lambda k: -places[k][0])):
            groups[(first + number) % 2].append(k)
    return tuple(groups[0]), tuple(groups[1])
