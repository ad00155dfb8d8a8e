"""Rig: handles with pins, drags and aims, over a body that follows from frame to frame.

Every call of `drag` or `update` is one frame: it starts from the pose before, moves no joint by more than the bound of
continuous mode (0.2 rad, 0.2 L for slides), and serves strictly, one after another: pins, the dragged handle, the other
reaches, poles, balance with gazes and aims, and the rest pose last.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch
from poise.goals.direction import read_axis
from poise.kinematics import Mirror, Pose
from poise.kinematics.regions import read_position
from poise.limits import Limit
from poise.model import Model
from poise.rig.arguments import check_maker, check_share, check_weight, read_balance, read_floor, read_rest
from poise.rig.frames import Frames
from poise.rig.handles import Handle
from poise.rig.images import Images
from poise.rig.planting import Planting
from poise.rig.problem import Problems
from poise.rig.reasons import Miss, find_misses, say_misses
from poise.rig.solver_factory import RigProblem, SolverMaker, make_solver
from poise.rig.standing.balance import find_fall, say_why
from poise.rig.state import Blend, HandleGoal, Pole, State, set_entry, without
from poise.rig.targets import default_axis, limb_axis, read_target
from poise.solvers.options import check_whole

__all__ = ["Rig"]

STILL = 1e-7  # radians and metres: a frame that moves less has settled


class Rig(Planting):
    """The animator's door: take a body by its handles.

    Args:
        model: The body.
        pose: Where it starts; its rest pose unless given.
        limits: More rules that are never broken, such as Clearance().
        balance: "auto" keeps the centre of mass over the feet that are pinned; a Balance goal or a list of supports
            keeps it over those; None or False lets it go.
        rest: The pose to which everything returns that nothing holds: a Pose, q, or a Rest goal; `pose` unless given,
            and False for none.
        make_solver: Makes a solver of each `RigProblem`, one for every set of goals; strict levels unless given.
        floor: The height below which no foot goes [m]; "auto" is that of the lowest sole of a body with a free base,
            as it stands in `pose`; None or False lets feet go anywhere.
    """

    def __init__(
        self,
        model: Model,
        pose: Pose | ArrayLike | None = None,
        *,
        limits: Sequence[Limit] | Limit = (),
        balance: Any = "auto",
        rest: Any = None,
        make_solver: SolverMaker = make_solver,
        floor: Any = "auto",
    ) -> None:
        super().__init__(model, pose)
        start = self._state.q
        posture = read_rest(rest, model, start, self._feet)
        self._problems = Problems(
            model,
            self._handles,
            self._limbs,
            limits=limits,
            balance=read_balance(balance),
            rest=posture,
            maker=check_maker(make_solver),
            feet=self._feet,
            floor=read_floor(floor, self._feet, start),
        )
        self._problems.check()
        self._frames = Frames(model, self._problems, start if posture is None else posture.find_wanted(model))
        self._axes: dict[tuple[Any, str], Floats] = {}
        self._images: Images | None = None

    @property
    def pose(self) -> Pose:
        """Where the body is. Set it to put the body there: pins hold it there; reaches, aims and blends are let go."""
        return super().pose

    @pose.setter
    def pose(self, pose: Pose | ArrayLike) -> None:
        self.set_pose(pose)

    def set_pose(self, pose: Pose | ArrayLike, *, keep_targets: bool = False) -> None:
        """Put the body at a pose: pins hold it there; reaches, aims and blends are let go.

        With `keep_targets` the body moves alone, and everything that is asked of it stays as it is.
        """
        q = self._configuration(pose)
        if keep_targets:
            self._change("whole", q=q, shown=q, dragged=())
            return
        pins = {
            name: self._hold_again(name, goal, q)
            for name, goal in self._state.places.items()
            if goal.kind in ("pin", "plant")
        }
        self._change("whole", q=q, shown=q, places=pins, aims={}, blends={}, dragged=())

    @property
    def rest(self) -> Pose | None:
        """The pose to which everything returns that nothing holds; set it as the argument `rest`."""
        return None if self._problems.rest is None else Pose(self.model, self._problems.rest.find_wanted(self.model))

    @rest.setter
    def rest(self, rest: Any) -> None:
        posture = read_rest(rest, self.model, self._state.q, self._feet)
        home = self._frames.home if posture is None else posture.find_wanted(self.model)
        self._problems.change(rest=posture)
        self._frames = Frames(self.model, self._problems, home)

    @property
    def make_solver(self) -> SolverMaker:
        """Who makes the solvers; set it and they are made anew from the next frame on."""
        return self._problems.maker

    @make_solver.setter
    def make_solver(self, maker: SolverMaker) -> None:
        self._problems.change(maker=check_maker(maker))

    @property
    def problem(self) -> RigProblem:
        """What is asked of the body at this moment: goals, limits, frozen joints, and the targets of the next frame."""
        return self._frames.ask(self._state)

    @property
    def symmetric(self) -> bool:
        """Whether a drag on one side is made on the other side too."""
        return self._state.symmetric

    @symmetric.setter
    def symmetric(self, on: bool) -> None:
        if on:
            self._find_images()  # refuses a body without two sides
        self._change("symmetric", symmetric=bool(on))

    # -------------------------------------------------------------------------------------------- goals

    def pin(self, handle: str, target: Any = None) -> None:
        """Holds a handle where it is, position and rotation; or at `target`, a place or a transform.

        Pins are served before everything else.
        """
        found = self._handle(handle)
        wanted = (
            self._place(found, self._state.shown, 2) if target is None else read_target(self.model, found.frame, target)
        )
        self._change(
            "pin", found.name, places=set_entry(self._state.places, found.name, HandleGoal("pin", wanted)), dragged=()
        )

    def reach(self, handle: str, target: Any, weight: float = 1.0) -> None:
        """Asks a handle to a place or a transform; `weight` counts among other reaches. `update` moves it there."""
        found = self._handle(handle)
        goal = HandleGoal("reach", read_target(self.model, found.frame, target), check_weight(weight))
        self._change("reach", found.name, places=set_entry(self._state.places, found.name, goal), dragged=())

    def look_at(self, handle: str, target: Any, axis: Any = None) -> None:
        """Turns a handle, such as the head, to a place: its `axis`, or what looks forward in the rest pose."""
        found = self._handle(handle)
        eye = self._problems.eye(found.name)
        along = self._axis(default_axis, eye) if axis is None else np.array(read_axis(axis, "axis"))
        self._aim("look_at", found.name, target, along)

    def point(self, handle: str, target: Any, axis: Any = None) -> None:
        """Aims a handle, such as a hand, at a place: its `axis`, or the direction of the bone that leads to it."""
        found = self._handle(handle)
        frame = self._problems.eye(found.name)
        along = self._axis(limb_axis, frame) if axis is None else np.array(read_axis(axis, "axis"))
        self._aim("point", found.name, target, along)

    def release(self, handle: str | None = None) -> None:
        """Lets go of a handle: its pin, reach and aim, the pole of an elbow or knee; of all where none is named."""
        if handle is None:
            self._change("release", places={}, aims={}, poles={}, dragged=())
            return
        found = self._handle(handle)
        poles = self._state.poles
        if found.kind == "pole" and found.limb is not None:
            poles = without(poles, found.limb)
        self._change(
            "release",
            found.name,
            places=without(self._state.places, found.name),
            aims=without(self._state.aims, found.name),
            poles=poles,
            dragged=tuple(name for name in self._state.dragged if name != found.name),
        )

    def strength(self, handle: str, value: float) -> None:
        """How much of its goal a handle is given: 1 all, 0 nothing, between them part of the way, without a pop.

        The way begins where the handle would be without its goal.
        """
        name = self._handle(handle).name
        self._change("strength", name, strengths=set_entry(self._state.strengths, name, check_share(value, "strength")))

    def freeze(self, *joints: str) -> None:
        """Holds joints as they are: they do not change by one bit until `unfreeze`."""
        names, state = self._joints(joints), self._state
        q, held = state.q.copy(), self._frames.indices(tuple(sorted(names)))
        q[held] = state.shown[held]  # of a blended limb, what is seen and not what was solved
        q.setflags(write=False)
        self._change("freeze", q=q, frozen=state.frozen | names)

    def unfreeze(self, *joints: str) -> None:
        """Lets joints move again; all of them where none is named."""
        names = self._joints(joints) if joints else self._state.frozen
        self._change("unfreeze", frozen=self._state.frozen - names)

    def pole(self, limb: str, direction: Any = None) -> None:
        """Says where the knee or elbow of a limb points, a direction of the world; None lets it choose.

        A limb may be named by its own name or by a handle of it.
        """
        found = self._limb(limb, bends=True)
        if direction is None:
            self._change("pole", found.name, poles=without(self._state.poles, found.name))
            return
        pole = Pole(np.array(read_axis(direction, "direction")))
        self._change("pole", found.name, poles=set_entry(self._state.poles, found.name, pole))

    def blend(self, limb: str, ik: float) -> None:
        """A limb between the angles that it has now (0) and what its handle asks for (1), without a pop.

        The angles are those that it has when `ik` first falls below 1.
        """
        found, share = self._limb(limb), check_share(ik, "ik")
        before = self._state.blends.get(found.name)
        own = self._state.shown if before is None else before.own
        blends, q = without(self._state.blends, found.name), self._state.q
        if share < 1.0:
            blends = set_entry(blends, found.name, Blend(share, own))
        elif before is not None:  # the solve goes on from what is seen
            q, part = q.copy(), self._frames.part(found.name)
            q[part] = self._state.shown[part]
            q.setflags(write=False)
        self._change("blend", found.name, q=q, blends=blends)

    # -------------------------------------------------------------------------------------------- frames

    def drag(self, handle: str | Mapping[str, Any], target: Any = None) -> Pose:
        """One frame: the handle follows `target`, a place or a transform, right after the pins.

        The hand of a machine that is dragged by a place keeps the rotation in which it was taken hold of, before it
        follows the place; the pelvis turns as the rest of the body wants it, and so does the hand of a figure.
        Several handles are dragged at once by a mapping: `drag({"hand_l": a, "hand_r": b})`.

        Call it as often as the mouse moves; where the target is far, the body comes there in several calls. Afterwards
        the handle stays there, as a reach; a pinned handle is pinned again where it came to. An elbow or a knee comes
        as near as pins, and the reaches of hands and feet, let it.

        Returns:
            The pose of the frame.
        """
        given = handle if isinstance(handle, Mapping) else {handle: target}
        found = {name: self._handle(name) for name in given}
        wanted = {at.name: read_target(self.model, at.frame, given[name]) for name, at in found.items()}
        state = replace(self._state, dragged=tuple(wanted))
        for name, to in wanted.items():
            state = self._take(state, self._handles[name], to)
        for name, to in wanted.items() if state.symmetric else ():
            other = self._handles[name].mirror
            if other is not None and other not in wanted:
                image = self._find_images().reflect_target(state.q, self._handles[name], to)
                state = self._take(replace(state, dragged=(*state.dragged, other)), self._handles[other], image)
        state, solution = self._frames.next(state)
        self._memory.before(self._state, "drag", " ".join(sorted(wanted)))
        self._state, self._solution = self._pin_again(state), solution
        return self.pose

    def update(self) -> Pose:
        """One frame with all goals as they are: the body goes on to where it is asked to be."""
        self._state, self._solution = self._frames.next(replace(self._state, dragged=()))
        return self.pose

    def settle(self, most: int = 200) -> Pose:
        """Frames until the body is still, at most so many."""
        for _ in range(check_whole("most", most, 0)):
            before = self._state.shown
            self.update()
            if np.abs(self.model.difference(before, self._state.shown)).max(initial=0.0) <= STILL:
                break
        self.commit()
        return self.pose

    @property
    def misses(self) -> tuple[Miss, ...]:
        """The handles that the last frame did not bring to where they were pulled, and what holds them back."""
        if self._solution is None or self._solution.reached:
            return ()
        return find_misses(self._solution, self._state.places, self._feet.names)

    def why(self) -> str:
        """Say why handles are not where they were pulled, or why it would fall; `solution.why()` says more."""
        fall = find_fall(self._solution, self._state.places, self._feet)
        return say_why(say_misses(self.misses), fall, self.model.units)

    # -------------------------------------------------------------------------------------------- left and right

    def mirror(self) -> Pose:
        """The mirror image of the pose and of all goals, left and right swapped; the root stays where it stands."""
        image = self._stand_again(self._find_images().reflect_state(self._state))
        self._memory.before(self._state, "whole")
        self._state = image
        return self.pose

    def mirror_handle(self, handle: str) -> None:
        """Gives the handle on the other side the mirror image of this one's goal, or of the place where it is."""
        found = self._handle(handle)
        if found.mirror is None:
            raise InvalidValue(f"handle {found.name!r} has no other side.")
        images, state = self._find_images(), self._state
        goal = state.places.get(found.name) or HandleGoal("reach", self._place(found, state.shown, 2))
        image = images.reflect_goal(state.shown, found, replace(goal, stance=None))
        if image.kind == "plant":  # the other foot goes there first; dragged there, it is planted
            image = replace(image, kind="reach")
        changed: dict[str, Any] = {"places": set_entry(state.places, found.mirror, image)}
        if found.name in state.aims:
            aim = images.reflect_goal(state.shown, found, state.aims[found.name])
            changed["aims"] = set_entry(state.aims, found.mirror, aim)
        self._change("mirror", found.name, dragged=(), **changed)

    def copy_targets(self, other: Rig, *, besides: Container[str] = ()) -> None:
        """Takes over the pins, reaches and frozen joints of a rig of the same body; some handles keep their own."""
        if not isinstance(other, Rig) or (other.model is not self.model and other.model != self.model):
            raise ModelMismatch(f"other must be a Rig of {self.model.name!r}, not {other!r}.")
        theirs = {name: goal for name, goal in other._state.places.items() if name not in besides}
        for name in theirs:
            if self._handle(name).frame != other._handles[name].frame:
                raise InvalidValue(f"handle {name!r} moves another frame in the other rig; name it in besides=.")
        own = {name: goal for name, goal in self._state.places.items() if name in besides}
        self._state = replace(self._state, places={**theirs, **own}, frozen=other._state.frozen)

    # -------------------------------------------------------------------------------------------- inside

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solution": None}

    def __copy__(self) -> Rig:
        """A rig of its own on the same model, with the same pose, goals and memory."""
        return copy.deepcopy(self, {id(self.model): self.model})

    def _axis(self, rule: Callable[[Model, str], Floats], frame: str) -> Floats:
        if (rule, frame) not in self._axes:
            self._axes[rule, frame] = rule(self.model, frame)
        return self._axes[rule, frame]

    def _aim(self, verb: str, name: str, target: Any, axis: Floats) -> None:
        goal = HandleGoal(
            "aim", np.array(read_position(target, "target")), axis=(float(axis[0]), float(axis[1]), float(axis[2]))
        )
        self._change(verb, name, aims=set_entry(self._state.aims, name, goal))

    def _take(self, state: State, handle: Handle, target: Floats) -> State:
        """Return a state in which a target is the goal of a dragged handle."""
        before = state.places.get(handle.name)
        kept = handle.tool and target.ndim == 1
        if kept:
            T = self._place(handle, state.q, 2) if before is None or before.target.ndim == 1 else before.target.copy()
            T[:3, 3], target = target, T
        goal = HandleGoal("reach", target, kept=kept)
        if before is not None:
            goal = HandleGoal(before.kind, target, before.weight, before.axis, before.stance, kept)
        return replace(state, places=set_entry(state.places, handle.name, goal))

    def _pin_again(self, state: State) -> State:
        """Return a state in which dragged pins and planted feet hold where they came to, not where the mouse was."""
        for name in state.dragged:
            goal = state.places[name]
            if goal.kind == "pin":
                held = HandleGoal("pin", self._place(self._handles[name], state.q, 2))
            elif goal.kind == "plant":
                held = self._plant_at(name, state.q, None if goal.stance is None else goal.stance.flat)
            else:
                continue
            state = replace(state, places=set_entry(state.places, name, held))
        return state

    def _find_images(self) -> Images:
        if self._images is None:
            self._images = Images(Mirror(self.model), self._handles, self._limbs)
        return self._images

    def __repr__(self) -> str:
        return f"<Rig of {self.model.name!r}: {len(self._handles)} handles, {len(self.held)} held>"
