"""The body in the studio: a rig under any method, which several hands pull at once. Nothing here knows a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import PoiseError
from poise.goals import Rest
from poise.kinematics import Pose
from poise.model import Model
from poise.rig import Handle, Rig
from poise.solvers import Solution
from poise.solvers.report.explanation import Explanation
from poise.studio.settings import Settings, StudioSolvers

__all__ = ["FrameResult", "Puppet", "Settings"]


MISSED_DISTANCE = 1.5e-3  # of L: a handle that is farther off than this is missed (2 mm on a person)
MISSED_ANGLE = 0.02  # [rad]
TARGET_STRIDE = 0.1  # of the size of the body: the farthest target of a method with one level
STYLE_SLIDER = " style"  # what was moved last, if it was the slider of the style: no joint has this name
SIGHT_ANGLE = 1.0  # [rad] from straight ahead: farther to the side the head does not follow


@dataclass(frozen=True, slots=True, eq=False)
class FrameResult:
    """The result of one frame of the studio.

    Attributes:
        q: The pose.
        seconds: How long it took.
        moved: The largest change of a joint [rad; lengths in units of L].
        errors: Handle name to (metres, radians) that are left.
        missed: Handles that are not at their targets.
        steps: Steps of the solve.
        note: What the method leaves out.
    """

    q: Floats
    seconds: float = 0.0
    moved: float = 0.0
    errors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    missed: frozenset[str] = frozenset()
    steps: int = 0
    note: str = ""


class Puppet:
    """A rig, and the targets that viewers give it.

    Hands only write down what they want, and `frame` does it. A lock keeps frames and changes apart.

    Attributes:
        rig: The rig that is dragged.
        solvers: Makes its solvers, by the settings of the panel.
        held: Handle to where a hand pulls it.
        pulled: Handles that hands have moved since the body was put somewhere.
        gaze: Whether the head looks at the hand that moves.
        size: How large the body looks [m].
        still: Whether the body stays as it was put until something changes.
    """

    def __init__(self, model: Model, pose: Pose | None = None) -> None:
        self.lock = threading.RLock()
        self.solvers = StudioSolvers()
        self.rig = Rig(model, pose, make_solver=self.solvers)
        self.rig.plant()
        self.rig.history.mark_start()
        self.held: dict[str, Floats] = {}
        self.pulled: set[str] = set()
        self.gaze = True
        self.size = measure_size(model, self.rig.q)
        self._turned = ""  # the slider that was moved last
        self.still = True

    # ------------------------------------------------------------------------------------------ to look at

    @property
    def model(self) -> Model:
        """The body."""
        return self.rig.model

    @property
    def q(self) -> Floats:
        """Its configuration, (nq,)."""
        return self.rig.q

    @property
    def pose(self) -> Pose:
        """The pose in which it stands."""
        return self.rig.pose

    @property
    def handles(self) -> Mapping[str, Handle]:
        """The handles by which it is taken, by name."""
        return self.rig.handles

    @property
    def pins(self) -> tuple[str, ...]:
        """The handles that are pinned."""
        return self.rig.state.pinned

    @property
    def planted(self) -> tuple[str, ...]:
        """The feet that are planted."""
        return self.rig.state.planted

    @property
    def fixed(self) -> tuple[str, ...]:
        """The handles that hold where they are: pins and planted feet."""
        return (*self.pins, *self.planted)

    @property
    def settings(self) -> Settings:
        """How it is solved."""
        return self.solvers.settings

    def transform(self, handle: str) -> Floats:
        """Return where a handle is, (4, 4)."""
        return np.array(self.rig.state.transform(handle).matrix)

    def find_target(self, handle: str) -> Floats | None:
        """Return where a handle should be: a place, a transform, or None where it is free."""
        held = self.held.get(handle)
        return self.rig.state.target(handle) if held is None else held

    # ------------------------------------------------------------------------------------------ what hands do

    def hold(self, handle: str, target: Floats) -> None:
        """Take a handle along: a point (3,) or a transform (4, 4). It stays held until `let_go`."""
        if not self.held and self._turned:
            self.rig.history.commit()  # what a slider did is a change of its own
            self._turned = ""
        self.held[handle] = np.array(target, dtype=np.float64)
        self.pulled.add(handle)
        self.still = False

    def let_go(self, handle: str) -> None:
        """Release a handle (mouse up): a pin is pinned where it is now, another handle stays there."""
        with self.lock:
            if self.held.pop(handle, None) is None:
                return
            if handle not in self.fixed and self.rig.state.target(handle) is not None:
                T = self.transform(handle)
                self.rig.reach(handle, T if self.handles[handle].tool else T[:3, 3])
            if not self.held:
                self.rig.history.commit()

    def pin(self, handle: str) -> None:
        """Hold a handle where it is."""
        with self.lock:
            self.rig.pin(handle)

    def plant(self, handle: str) -> None:
        """Plant a foot where it is; other handles are pinned."""
        with self.lock:
            (self.rig.plant if self.handles[handle].stands else self.rig.pin)(handle)

    def release(self, handle: str | None = None) -> None:
        """Release a handle from its pin or target; all of them where none is named."""
        with self.lock:
            self.held = {} if handle is None else {n: t for n, t in self.held.items() if n != handle}
            self.still = False
            self.rig.release(handle)

    def freeze(self, joints: Iterable[str]) -> None:
        """Freeze these joints, and no others: they do not move by one bit."""
        with self.lock:
            self.rig.unfreeze()
            self.rig.freeze(*joints)

    def mirror(self) -> None:
        """Turn the pose into its mirror image."""
        with self.lock:
            self.still = True
            self.rig.mirror()

    def undo(self) -> bool:
        """Take the last change back; return whether there was one."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.history.undo()

    def redo(self) -> bool:
        """Make the change again that was taken back; return whether there was one."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.history.redo()

    def reset(self) -> None:
        """Return to the first pose and its pins."""
        with self.lock:
            self.held, self.still = {}, True
            self.rig.history.reset()
            self.rest_here()

    def place(self, q: ArrayLike) -> None:
        """Put the whole body at q: pins follow, targets are released."""
        with self.lock:
            self.still = True
            self.rig.pose = Pose(self.model, q)
            self.rest_here()

    def start_at(self, q: ArrayLike) -> None:
        """Put the whole body at q and begin anew there: undo and reset do not go back beyond it."""
        with self.lock:
            self.held, self.pulled = {}, set()
            self.place(q)
            self.rig.history.mark_start()

    def turn_joint(self, name: str, q: ArrayLike) -> None:
        """Put the body at q, as set by the slider of this name; all of its moves are one change."""
        with self.lock:
            if name != self._turned:
                self.rig.history.commit()
                self._turned = name
            self.rig.history.begin()
            self.place(q)

    def end_turn(self) -> None:
        """End the turn of a joint: the next turn is another change."""
        with self.lock:
            self.rig.history.commit()
            self._turned = ""

    def send(self, handle: str, target: Floats) -> None:
        """Set the target of a handle that was typed, a point or a transform; a pin is pinned there."""
        with self.lock:
            self.held.pop(handle, None)
            self.pulled.add(handle)
            self.still = False
            self.rig.history.commit()
            if handle in self.pins:
                self.rig.pin(handle, target)
            else:
                self.rig.reach(handle, target)

    def rest_here(self) -> None:
        """Make this the pose that everything stays near that nothing holds."""
        self.rig.solvers.rest = Rest(self.rig.q)

    def stand_at(self, q: Floats) -> None:
        """Put the body at q and keep all targets: for single steps."""
        with self.lock:
            self.still = True
            self.rig.state.move_body(q)

    def change(self, **settings: Any) -> None:
        """Change some settings from the next frame on."""
        with self.lock:
            self.still = False
            self.use(StudioSolvers(replace(self.settings, **settings)))

    def lean(self, **settings: Any) -> None:
        """Change the style or its share; targets are then served in that style.

        A body without targets stays as it was put. All of a slider's moves are one change.
        """
        with self.lock:
            if not self.still and not self.held:
                if self._turned != STYLE_SLIDER:
                    self.rig.history.commit()
                    self._turned = STYLE_SLIDER
                self.rig.history.begin()
                self.rig.state.move_body(self.rig.q)
            self.use(StudioSolvers(replace(self.settings, **settings)))

    def use(self, solvers: StudioSolvers) -> None:
        """Let other solvers solve from the next frame on."""
        self.solvers = self.rig.solvers.make_solver = solvers

    # ------------------------------------------------------------------------------------------ frames

    def frame(self) -> FrameResult:
        """Make one frame from where the body is.

        Raises:
            PoiseError: The method cannot serve the goals; the message lists those that can.
        """
        with self.lock:
            before = self.rig.q
            held = dict(self.held)
            if self.still and not held:
                return FrameResult(before)
            begun = time.perf_counter()
            if held:
                self.rig.history.begin()
                self.look(held)
                self.rig.drag(held if self.settings.method.levels else self.bring_nearer(held))
            else:
                self.rig.update()
            seconds = time.perf_counter() - begun
            q, solution = self.rig.q, self.rig.solution
            found = {} if solution is None else solution.errors
        errors = {name: error for name, error in found.items() if name in self.handles}
        for name in held.keys() & errors.keys():  # measured to the hand, also if a nearer target was given
            errors[name] = (self.measure_gap(name, held[name]), errors[name][1])
        moved = float(np.abs(self.model.difference(before, q)).max(initial=0.0))
        steps = 0 if solution is None else solution.steps
        return FrameResult(q, seconds, moved, errors, self.find_missed(errors), steps, self.solvers.note)

    def bring_nearer(self, held: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return targets that are a part of the way off at most.

        A method of one level refuses a step that makes the sum of all errors worse, which a far target often does.
        """
        out = {name: target.copy() for name, target in held.items()}
        for name, target in out.items():
            place = target if target.ndim == 1 else target[:3, 3]
            here = self.transform(name)[:3, 3]
            share = min(1.0, TARGET_STRIDE * self.size / max(self.measure_gap(name, target), 1e-12))
            place[:] = here + share * (place - here)
        return out

    def measure_gap(self, name: str, target: Floats) -> float:
        """Return how far a handle is from a target [m]."""
        place = target if target.ndim == 1 else target[:3, 3]
        return float(np.linalg.norm(place - self.transform(name)[:3, 3]))

    def look(self, held: Mapping[str, Floats]) -> None:
        """Turn the head to the hand that was taken last."""
        heads = [h.name for h in self.handles.values() if h.kind == "gaze"]
        busy = [name for name in held if self.handles[name].kind == "end" and not self.handles[name].stands]
        if self.gaze and heads and busy and self.rig.state.target(heads[0]) is None and heads[0] not in held:
            seen = held[busy[-1]]
            self.rig.look_at(heads[0], self.turn_into_sight(heads[0], seen if seen.ndim == 1 else seen[:3, 3]))

    def turn_into_sight(self, head: str, place: Floats) -> Floats:
        """Return the point, or one nearer to the front if the body would have to turn round to see it."""
        root = next((h.frame for h in self.handles.values() if h.kind == "body"), None)
        if root is None:
            return place
        model = self.model
        ahead = model.fk(self.rig.q, root)[:3, :3] @ model.fk(np.array(model.rest), root)[:3, :3].T
        front: Floats = ahead @ np.roll(model.up_direction, 1)
        eye = self.transform(head)[:3, 3]
        line = place - eye
        far = float(np.linalg.norm(line))
        along = float(front @ line) / max(far, 1e-9)
        if along >= np.cos(SIGHT_ANGLE):
            return place
        across = line / max(far, 1e-9) - along * front
        out: Floats = eye + far * (
            np.cos(SIGHT_ANGLE) * front + np.sin(SIGHT_ANGLE) * across / max(float(np.linalg.norm(across)), 1e-9)
        )
        return out

    def find_missed(self, errors: Mapping[str, tuple[float, float]]) -> frozenset[str]:
        """Find the handles that are visibly off their targets."""
        far = MISSED_DISTANCE * self.model.length
        return frozenset(n for n, (metres, radians) in errors.items() if metres > far or radians > MISSED_ANGLE)

    def solve(self, start: Floats | None = None, *, flat: bool = False, **options: Any) -> Solution:
        """Solve the current problem to the end, from the current pose unless `start` is given.

        For explanations and curves: the body does not move. `flat` puts all goals on one level.
        """
        problem, at = self.rig.solvers.problem, self.rig.q  # nobody changes these: frames go on meanwhile
        chosen = {"mode": "nearest", "max_steps": 100, "step_limit": None, **options}
        solver = StudioSolvers(self.settings).prepare(problem, flat=flat, **chosen)
        targets = {name: target for name, target in problem.targets.items() if name in solver.goals}
        return solver.solve(at if start is None else start, targets)

    def explain(self) -> Explanation | None:
        """Explain why a handle misses its target; None if all are reached."""
        try:
            solution = self.solve()
            return None if solution.reached else solution.explanation
        except PoiseError as error:
            return Explanation((), (), (), str(error))


def measure_size(model: Model, q: Floats) -> float:
    """Return how large a body looks in a pose [m]: by its frames, and by its length where that is not much more."""
    places = model.fk(q)[:, :3, 3]
    spread = float(np.linalg.norm(np.ptp(places, axis=0)))
    return min(model.length, 1.5 * spread) if spread > 0.0 else model.length
