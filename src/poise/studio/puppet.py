"""The body in the studio: a rig with any method, dragged by several viewers at once. Independent of the browser."""

import contextlib
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


MISSED_DISTANCE = 1.5e-3  # relative to model length: a handle farther off is missed (2 mm for a person)
MISSED_ANGLE = 0.02  # [rad]
TARGET_STRIDE = 0.1  # relative to body size: the farthest target for methods without priority levels
STYLE_SLIDER = " style"  # name of the style slider among the joint sliders: no joint has this name
SIGHT_ANGLE = 1.0  # [rad] from straight ahead: the head does not turn farther


@dataclass(frozen=True, slots=True, eq=False)
class FrameResult:
    """The result of one frame of the studio.

    Attributes:
        q: The pose.
        seconds: The duration of the frame [s].
        moved: The largest change of a coordinate [rad; lengths in units of the model length].
        errors: The remaining error of each handle, (metres, radians).
        missed: The handles that are not at their targets.
        steps: The number of solver steps.
        note: The goals that the method ignores, as text.
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

    Viewers only set targets; `frame` solves for them. A lock separates frames from changes.

    Attributes:
        rig: The rig.
        solvers: The factory of its solvers, with the settings of the panel.
        held: The drag target of each handle in hand.
        pulled: The handles that were dragged since the body was last placed.
        gaze: Whether the head looks at the moving hand.
        size: The apparent size of the body [m].
        still: Whether the body keeps its pose until something changes.
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
        self._turned = ""  # the last slider that was moved
        self._solved: dict[str, Floats] = {}  # the drag targets of the last frame
        self.still = True

    # ------------------------------------------------------------------------------------------ properties

    @property
    def model(self) -> Model:
        """The body."""
        return self.rig.model

    @property
    def q(self) -> Floats:
        """The configuration, (nq,)."""
        return self.rig.q

    @property
    def pose(self) -> Pose:
        """The current pose."""
        return self.rig.pose

    @property
    def handles(self) -> Mapping[str, Handle]:
        """The handles, by name."""
        return self.rig.handles

    @property
    def pins(self) -> tuple[str, ...]:
        """The pinned handles."""
        return self.rig.state.pinned

    @property
    def planted(self) -> tuple[str, ...]:
        """The planted feet."""
        return self.rig.state.planted

    @property
    def fixed(self) -> tuple[str, ...]:
        """The handles held in place: pins and planted feet."""
        return (*self.pins, *self.planted)

    @property
    def settings(self) -> Settings:
        """The solver settings."""
        return self.solvers.settings

    def transform(self, handle: str) -> Floats:
        """Return the transform of a handle, (4, 4)."""
        return np.array(self.rig.state.transform(handle).matrix)

    def find_target(self, handle: str) -> Floats | None:
        """Return the target of a handle: a point (3,), a transform (4, 4), or None if it is free."""
        held = self.held.get(handle)
        return self.rig.state.target(handle) if held is None else held

    # ------------------------------------------------------------------------------------------ actions of viewers

    def hold(self, handle: str, target: Floats) -> None:
        """Drag a handle to a point (3,) or a transform (4, 4). It stays in hand until `let_go`."""
        if not self.held and self._turned:
            self.end_turn()  # slider changes are a separate undo step
        self.held[handle] = np.array(target, dtype=np.float64)
        self.pulled.add(handle)
        self.still = False

    def let_go(self, handle: str) -> None:
        """Release a handle (mouse up): a pin keeps its new place, any other handle keeps a target there."""
        with self.lock:
            if handle in self.held and self.held[handle] is not self._solved.get(handle):
                with contextlib.suppress(PoiseError):  # the mouse moved after the last frame
                    self.frame()
            if self.held.pop(handle, None) is None:
                return
            if handle not in self.fixed and self.rig.state.target(handle) is not None:
                T = self.transform(handle)
                self.rig.reach(handle, T if self.handles[handle].tool else T[:3, 3])
            if not self.held:
                self.rig.history.commit()

    def pin(self, handle: str) -> None:
        """Pin a handle in place."""
        with self.lock:
            self.rig.pin(handle)

    def plant(self, handle: str) -> None:
        """Plant a foot in place; other handles are pinned."""
        with self.lock:
            (self.rig.plant if self.handles[handle].stands else self.rig.pin)(handle)

    def release(self, handle: str | None = None) -> None:
        """Release a handle from its pin or target; all handles if None."""
        with self.lock:
            self.held = {} if handle is None else {n: t for n, t in self.held.items() if n != handle}
            self.still = False
            self.rig.release(handle)

    def freeze(self, joints: Iterable[str]) -> None:
        """Freeze exactly these joints: they do not move at all."""
        with self.lock:
            self.rig.unfreeze()
            self.rig.freeze(*joints)

    def mirror(self) -> None:
        """Mirror the pose."""
        with self.lock:
            self.still = True
            self.rig.mirror()

    def undo(self) -> bool:
        """Undo the last change; return whether there was one."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.history.undo()

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.history.redo()

    def reset(self) -> None:
        """Return to the initial pose and its pins."""
        with self.lock:
            self.held, self.still = {}, True
            self.rig.history.reset()
            self.rest_here()

    def place(self, q: ArrayLike) -> None:
        """Set the configuration; pins follow, targets are released."""
        with self.lock:
            self.still = True
            self.rig.pose = Pose(self.model, q)
            self.rest_here()

    def start_at(self, q: ArrayLike) -> None:
        """Set the configuration as the new start: undo and reset do not go back beyond it."""
        with self.lock:
            self.held, self.pulled = {}, set()
            self.place(q)
            self.rig.history.mark_start()

    def turn_joint(self, name: str, q: ArrayLike) -> None:
        """Set the configuration by the slider of this name; consecutive moves of it are one undo step."""
        with self.lock:
            if name != self._turned:
                self.rig.history.commit()
                self._turned = name
            self.rig.history.begin()
            self.place(q)

    def end_turn(self) -> None:
        """End the turn of a joint: the next turn is a new undo step."""
        with self.lock:
            self.rig.history.commit()
            self._turned = ""

    def send(self, handle: str, target: Floats) -> None:
        """Set a typed target of a handle, a point or a transform; a pinned handle is pinned there."""
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
        """Use the current pose as the rest pose."""
        self.rig.solvers.rest = Rest(self.rig.q)

    def stand_at(self, q: Floats) -> None:
        """Set the configuration and keep all targets, for single steps."""
        with self.lock:
            self.still = True
            self.rig.state.move_body(q)

    def change(self, **settings: Any) -> None:
        """Change settings, from the next frame on."""
        with self.lock:
            self.still = False
            self.use(StudioSolvers(replace(self.settings, **settings)))

    def lean(self, **settings: Any) -> None:
        """Change the style or its share; targets are then reached in that style.

        A body without targets keeps its pose. Consecutive moves of the slider are one undo step.
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
        """Replace the solvers, from the next frame on."""
        self.solvers = self.rig.solvers.make_solver = solvers

    # ------------------------------------------------------------------------------------------ frames

    def frame(self) -> FrameResult:
        """Solve one frame from the current pose.

        Raises:
            PoiseError: The method does not support the goals; the message lists methods that do.
        """
        with self.lock:
            before = self.rig.q
            held = self._solved = dict(self.held)
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
        for name in held.keys() & errors.keys():  # measured to the hand, even if a nearer target was solved for
            errors[name] = (self.measure_gap(name, held[name]), errors[name][1])
        moved = float(np.abs(self.model.difference(before, q)).max(initial=0.0))
        steps = 0 if solution is None else solution.steps
        unit = self.model.metres_per_unit
        metric = {name: (unit * far, angle) for name, (far, angle) in errors.items()}
        return FrameResult(q, seconds, moved, metric, self.find_missed(errors), steps, self.solvers.note)

    def bring_nearer(self, held: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return targets limited to a maximum distance from the handles.

        A method without levels rejects steps that increase the total error, which a distant target often causes.
        """
        out = {name: target.copy() for name, target in held.items()}
        for name, target in out.items():
            place = target if target.ndim == 1 else target[:3, 3]
            here = self.transform(name)[:3, 3]
            share = min(1.0, TARGET_STRIDE * self.size / max(self.measure_gap(name, target), 1e-12))
            place[:] = here + share * (place - here)
        return out

    def measure_gap(self, name: str, target: Floats) -> float:
        """Return the distance of a handle from a target [m]."""
        place = target if target.ndim == 1 else target[:3, 3]
        return float(np.linalg.norm(place - self.transform(name)[:3, 3]))

    def look(self, held: Mapping[str, Floats]) -> None:
        """Turn the head to the hand that was dragged last."""
        heads = [h.name for h in self.handles.values() if h.kind == "gaze"]
        busy = [name for name in held if self.handles[name].kind == "end" and not self.handles[name].stands]
        if self.gaze and heads and busy and self.rig.state.target(heads[0]) is None and heads[0] not in held:
            seen = held[busy[-1]]
            self.rig.look_at(heads[0], self.turn_into_sight(heads[0], seen if seen.ndim == 1 else seen[:3, 3]))

    def turn_into_sight(self, head: str, place: Floats) -> Floats:
        """Return the point, or one nearer to the front if the body would have to turn around to see it."""
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
        """Return the handles that are visibly off their targets."""
        far = MISSED_DISTANCE * self.model.length
        return frozenset(n for n, (metres, radians) in errors.items() if metres > far or radians > MISSED_ANGLE)

    def solve(self, start: Floats | None = None, *, flat: bool = False, **options: Any) -> Solution:
        """Solve the current problem to convergence, from the current pose or from `start`.

        For explanations and curves: the body does not move. `flat` puts all goals on one level.
        """
        problem, at = self.rig.solvers.problem, self.rig.q  # immutable, so frames can continue meanwhile
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
    """Return the apparent size of a body in a pose [m]: its length, at most 1.5 times the extent of its frames."""
    places = model.fk(q)[:, :3, 3]
    spread = float(np.linalg.norm(np.ptp(places, axis=0)))
    return min(model.length, 1.5 * spread) if spread > 0.0 else model.length
