"""The body in the studio: a rig under any method, and frames that several hands ask for at once. No browser here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import PoiseError
from poise.goals import Rest
from poise.kinematics import Pose
from poise.model import Model
from poise.rig import Handle, Rig
from poise.rig.bending import pole_target
from poise.rig.frames import Frames
from poise.rig.problem import aim_name, pole_name
from poise.rig.state import Memory
from poise.solvers import Solution
from poise.solvers.explanation import Explanation
from poise.studio.handles import standing
from poise.studio.shelf import Settings, Shelf

__all__ = ["Frame", "Puppet", "Settings"]

Floats = NDArray[np.float64]

SEEN = 1.5e-3  # of L: a handle that is farther off than this is missed (2 mm on a person)
SEEN_TURN = 0.02  # [rad]
SIGHT = 1.0  # [rad] from straight ahead: farther to the side the head does not follow


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What a frame came to.

    Attributes:
        q: The pose.
        seconds: How long it took.
        moved: The largest change of a joint [rad; lengths in units of L].
        errors: Handle name to (metres, radians) that are left.
        missed: Handles that are not where they were asked to be.
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


class StudioRig(Rig):
    """A rig whose problems are solved as the panel says, and that is dragged by several handles at once."""

    def __init__(self, model: Model, pose: Pose | ArrayLike | None = None) -> None:
        super().__init__(model, pose)
        usual = self._problems
        self.shelf = Shelf(
            model, self._handles, self._limbs, limits=usual.limits, balance=usual.balance, rest=usual.rest
        )
        self._problems = self.shelf
        self._frames = Frames(model, self.shelf, self._frames.home)
        for name in standing(self.pose, self.handles):
            self.pin(name)
        self._first, self._memory = self._state, Memory()

    def drag_all(self, targets: Mapping[str, Floats]) -> None:
        """One frame in which each of these handles follows its target; all of them right after the pins."""
        names = tuple(targets)
        for name in names:
            self._memory.before(self._state, "drag", name)
            self._take(self._handles[name], targets[name], names)
        if self._state.symmetric:
            for name in names:
                other = self._handles[name].mirror
                if other is not None and other not in targets:
                    image = self._sides().target(self._state.q, self._handles[name], targets[name])
                    self._take(self._handles[other], image, (*self._state.dragged, other))
        self._advance()
        self._pin_again()

    def _advance(self) -> None:
        if not self.shelf.settings.method.levels:  # limbs that are stuck are bent for the usual method alone
            self._state = replace(self._state, missed=())
        super()._advance()

    def stand_at(self, q: Floats) -> None:
        """The body at q with all wishes as they are."""
        self._memory.before(self._state, "whole")
        self._state = replace(self._state, q=q, shown=q, dragged=())

    def rest_at(self, q: Floats) -> None:
        """What nothing holds stays near this pose from now on."""
        self.shelf.rest = Rest(q)
        self._frames = Frames(self.model, self.shelf, np.array(q))
        self.shelf.use(self.shelf.settings)

    def whole(self, start: Floats | None = None, **options: Any) -> Solution:
        """All wishes solved to the end, from where the body is unless `start` says so: for explanations and curves."""
        state = self._state
        level = self.shelf.level
        places = [(n, level(n, w.kind, state.dragged), w.target.ndim, w.weight) for n, w in state.places.items()]
        aims = [(name, wish.axis) for name, wish in state.aims.items()]
        chosen = {"mode": "nearest", "max_steps": 100, "step_limit": None, **options}
        solver = self.shelf.prepare(places, aims, tuple(state.poles), state.frozen, **chosen)
        targets: dict[str, Any] = {name: wish.target for name, wish in state.places.items()}
        targets |= {aim_name(name): wish.target for name, wish in state.aims.items()}
        for name, pole in state.poles.items():
            targets[pole_name(name)] = pole_target(self.model, state.q, self._limbs[name], pole)[0]
        return solver.solve(state.q if start is None else start, targets)


class Puppet:
    """A rig, and what the viewers' hands ask of it.

    Hands only write down what they want; `frame` does it. A lock keeps frames and changes of what is asked apart.
    """

    def __init__(self, model: Model, pose: Pose | None = None) -> None:
        self.lock = threading.RLock()
        self.rig = StudioRig(model, pose)
        self.held: dict[str, Floats] = {}
        self.gaze = True
        self.still = True  # stands as it was put: no frame moves it until something is asked

    # ------------------------------------------------------------------------------------------ to look at

    @property
    def model(self) -> Model:
        """The body."""
        return self.rig.model

    @property
    def q(self) -> Floats:
        """Its configuration."""
        return self.rig.q

    @property
    def pose(self) -> Pose:
        """As it stands."""
        return self.rig.pose

    @property
    def handles(self) -> Mapping[str, Handle]:
        """Where it can be taken hold of."""
        return self.rig.handles

    @property
    def pins(self) -> tuple[str, ...]:
        """Handles that are pinned."""
        return self.rig.pinned

    @property
    def settings(self) -> Settings:
        """How it is solved."""
        return self.rig.shelf.settings

    def transform(self, handle: str) -> Floats:
        """Where a handle is, 4x4."""
        return np.array(self.rig.transform(handle).matrix)

    def wanted(self, handle: str) -> Floats | None:
        """Where a handle should be: a place, a transform, or None where it is free."""
        held = self.held.get(handle)
        return self.rig.target(handle) if held is None else held

    # ------------------------------------------------------------------------------------------ what hands do

    def hold(self, handle: str, target: Floats) -> None:
        """Take a handle along: a point (3,) or a transform (4, 4). It stays held until `let_go`."""
        self.held[handle] = np.array(target, dtype=np.float64)
        self.still = False

    def let_go(self, handle: str) -> None:
        """The mouse is up: a pin is pinned at its new place, another handle stays where it came to."""
        with self.lock:
            if self.held.pop(handle, None) is None:
                return
            if handle not in self.pins and self.rig.target(handle) is not None:
                self.rig.reach(handle, self.transform(handle)[:3, 3])
            self.rig.commit()

    def pin(self, handle: str) -> None:
        """Hold a handle where it is."""
        with self.lock:
            self.rig.pin(handle)

    def release(self, handle: str | None = None) -> None:
        """Let a handle go, all unless named."""
        with self.lock:
            self.held = {} if handle is None else {n: t for n, t in self.held.items() if n != handle}
            self.still = False
            self.rig.release(handle)

    def freeze(self, joints: Iterable[str]) -> None:
        """These joints do not move by one bit, all others may."""
        with self.lock:
            self.rig.unfreeze()
            self.rig.freeze(*joints)

    def mirror(self) -> None:
        """The mirror image of the pose."""
        with self.lock:
            self.still = True
            self.rig.mirror()

    def undo(self) -> bool:
        """One step back; False where there is none."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.undo()

    def redo(self) -> bool:
        """One step forward again; False where there is none."""
        with self.lock:
            self.held, self.still = {}, True
            return self.rig.redo()

    def reset(self) -> None:
        """Back to the first pose, with what was pinned then."""
        with self.lock:
            self.held, self.still = {}, True
            self.rig.reset()
            self.rig.rest_at(self.rig.q)

    def place(self, q: ArrayLike) -> None:
        """Set the whole body: pins follow, reaches are let go."""
        with self.lock:
            self.still = True
            self.rig.pose = Pose(self.model, q)
            self.rig.rest_at(self.rig.q)

    def stand_at(self, q: Floats) -> None:
        """The body at q, and everything that is asked stays asked: for single steps."""
        with self.lock:
            self.still = True
            self.rig.stand_at(q)

    def change(self, **settings: Any) -> None:
        """Other settings from the next frame on."""
        with self.lock:
            self.still = False
            self.rig.shelf.use(replace(self.settings, **settings))

    # ------------------------------------------------------------------------------------------ frames

    def frame(self) -> Frame:
        """One frame from where the body is.

        Raises:
            PoiseError: The method does not serve what is asked at all; the message says which do.
        """
        with self.lock:
            before = self.rig.q
            held = dict(self.held)
            if self.still and not held:
                return Frame(before)
            self.rig.shelf.stand(self.lifted())
            begun = time.perf_counter()
            if held:
                self.look(held)
                self.rig.drag_all(held)
            else:
                self.rig.update()
            seconds = time.perf_counter() - begun
            q, solution = self.rig.q, self.rig.solution
            found = {} if solution is None else solution.errors
        errors = {name: error for name, error in found.items() if name in self.handles}
        moved = float(np.abs(self.model.difference(before, q)).max(initial=0.0))
        steps = 0 if solution is None else solution.steps
        return Frame(q, seconds, moved, errors, self.missed(errors), steps, self.rig.shelf.note)

    def lifted(self) -> frozenset[str]:
        """Pinned handles that are well above the lowest of them."""
        axis = self.model.up_axis
        heights = {name: float(self.transform(name)[axis, 3]) for name in self.pins}
        low = min(heights.values(), default=0.0)
        return frozenset(name for name, height in heights.items() if height > low + 0.04 * self.model.length)

    def look(self, held: Mapping[str, Floats]) -> None:
        """The head turns to the hand that was taken last."""
        heads = [h.name for h in self.handles.values() if h.kind == "gaze"]
        busy = [name for name in held if self.handles[name].kind == "end" and "foot" not in name]
        if self.gaze and heads and busy and self.rig.target(heads[0]) is None and heads[0] not in held:
            seen = held[busy[-1]]
            self.rig.look_at(heads[0], self.in_sight(heads[0], seen if seen.ndim == 1 else seen[:3, 3]))

    def in_sight(self, head: str, place: Floats) -> Floats:
        """The place, or one beside it where the body would have to turn round to see it."""
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
        if along >= np.cos(SIGHT):
            return place
        across = line / max(far, 1e-9) - along * front
        out: Floats = eye + far * (
            np.cos(SIGHT) * front + np.sin(SIGHT) * across / max(float(np.linalg.norm(across)), 1e-9)
        )
        return out

    def missed(self, errors: Mapping[str, tuple[float, float]]) -> frozenset[str]:
        """Handles farther off than one sees."""
        far = SEEN * self.model.length
        return frozenset(n for n, (metres, radians) in errors.items() if metres > far or radians > SEEN_TURN)

    def explanation(self) -> Explanation | None:
        """Why a handle is not where it was asked to be; None if all are."""
        try:
            solution = self.rig.whole()  # from a state that nobody changes: frames go on meanwhile
            return None if solution.reached else solution.explanation
        except PoiseError as error:
            return Explanation((), (), (), str(error))
