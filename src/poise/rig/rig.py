"""Rig: a body posed frame by frame with handles that are pinned, dragged and aimed.

Every call of `drag` or `update` is one frame. It starts from the previous pose and moves no joint by more than the
bound of continuous mode (0.2 rad, 0.2 L for slides). Priorities are strict: pins, then the dragged handle, the other
reaches, poles, balance with gazes and aims, and the rest pose last.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_positive, check_whole
from poise.arrays import Floats
from poise.goals.direction import read_axis
from poise.kinematics import Mirror, Pose
from poise.kinematics.pose import check_model
from poise.kinematics.regions import read_position
from poise.limits import Limit
from poise.model import Model
from poise.rig.arguments import check_maker, check_share, read_balance, read_floor, read_rest
from poise.rig.frames import Frames
from poise.rig.handles import Handles
from poise.rig.history import RigHistory
from poise.rig.images import Images
from poise.rig.problem import Problems
from poise.rig.reasons import Miss, find_misses, say_misses
from poise.rig.snapshot import Blend, HandleGoal, Pole, Snapshot, set_entry, without
from poise.rig.solver_factory import SolverMaker, make_solver
from poise.rig.solvers import RigSolvers
from poise.rig.standing.balance import find_fall, say_why
from poise.rig.state import RigState, find_first_pose, read_pose
from poise.rig.targets import find_default_axis, find_limb_axis, read_target
from poise.solvers import Solution
from poise.solvers.options import MOST

__all__ = ["Rig"]

SETTLED_STEP = 1e-7  # rad or m: a frame that moves less has settled


class Rig:
    """A body that is posed by its handles.

    Args:
        model: The body.
        pose: The first pose; by default the model's pose "home", clamped to the joint ranges, or else its rest pose.
        limits: Further limits, such as Clearance().
        balance: "auto" keeps the centre of mass over pinned and planted feet; a Balance goal or a list of supports
            keeps it over those; None or False disables balance.
        rest: The pose to which free parts return: a Pose, q, or a Rest goal; by default `pose`; False for none.
        make_solver: A function that makes the solver of a `RigProblem`, called once for every set of goals; by default
            strict levels.
        floor: The lowest height of all feet [m]; "auto" is the height of the lowest sole in `pose`, for a body with a
            free base; None or False for no floor.

    Attributes:
        model: The body.
        handles: The handles by name, with `add`; `handles.limbs` has the limbs.
        state: The pinned, planted, standing and held handles, the frozen joints, and the positions of handles.
        history: `undo`, `redo`, `begin`, `commit`, `reset`, `mark_start`.
        solvers: The function that makes solvers, the rest pose, and the current problem.
    """

    __slots__ = ("__weakref__", "_axes", "_frames", "_images", "handles", "history", "model", "solvers", "state")

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
        check_model(model)
        self.model = model
        start = read_pose(model, find_first_pose(model) if pose is None else pose)
        self.handles = Handles(model, start)
        self.history = RigHistory(Snapshot(q=start, shown=start))
        self.state = RigState(self.handles, self.history)
        posture = read_rest(rest, model, start, self.handles.feet)
        problems = Problems(
            self.handles,
            limits=limits,
            balance=read_balance(balance),
            rest=posture,
            maker=check_maker(make_solver),
            floor=read_floor(floor, self.handles.feet, start),
        )
        problems.check()
        self._frames = Frames(model, problems, start if posture is None else posture.find_wanted(model))
        self.solvers = RigSolvers(self._frames, self.history)
        self._axes: dict[tuple[Any, str], Floats] = {}
        self._images: Images | None = None

    @property
    def pose(self) -> Pose:
        """The current pose. Setting it moves the body and its pins, and releases reaches, aims and blends."""
        return Pose(self.model, self.history.now.shown)

    @pose.setter
    def pose(self, pose: Pose | ArrayLike) -> None:
        q, now = read_pose(self.model, pose), self.history.now
        pins = {
            name: self.handles.hold_again(name, goal, q)
            for name, goal in now.places.items()
            if goal.kind in ("pin", "plant")
        }
        self.history.change("whole", q=q, shown=q, places=pins, aims={}, blends={}, dragged=())

    @property
    def q(self) -> Floats:
        """The configuration of `pose`, (nq,)."""
        return self.history.now.shown.copy()

    @property
    def solution(self) -> Solution | None:
        """The solution of the last frame, before limbs were blended; None before the first frame."""
        return self.history.solution

    @property
    def symmetric(self) -> bool:
        """Whether a drag on one side is mirrored to the other side."""
        return self.history.now.symmetric

    @symmetric.setter
    def symmetric(self, on: bool) -> None:
        if on:
            self._find_images()  # raises for a body without two sides
        self.history.change("symmetric", symmetric=bool(on))

    # -------------------------------------------------------------------------------------------- goals

    def pin(self, handle: str, target: Any = None) -> None:
        """Pin a handle at its current position and rotation, or at `target`, a point or a transform.

        Pins have the highest priority.
        """
        found, now = self.handles[handle], self.history.now
        if target is None:
            wanted = self.handles.find_place(found.name, now.shown)
        else:
            wanted = read_target(self.model, found.frame, target)
        places = set_entry(now.places, found.name, HandleGoal("pin", wanted))
        self.history.change("pin", found.name, places=places, dragged=())

    def plant(self, handle: str | None = None) -> tuple[str, ...]:
        """Plant a foot at its current position: its ball stays exactly in place, the heel may rise but never sinks.

        The foot keeps its direction, and lies flat unless a goal lifts the heel. If the foot has no toe joint, the
        front edge of its sole stays in place. A foot may be named by its handle or by one of its frames. Planted feet
        have the same priority as pins. A dragged foot is planted again at its new position.

        Without a name, all feet on the ground (`state.standing`) are planted, except those that are already held.

        Returns:
            The handles that were planted.
        """
        now = self.history.now
        if handle is None:
            names = tuple(name for name in self.state.standing if name not in now.places)
        else:
            names = (self.handles.find_foot(handle),)
        planted = {name: self.handles.make_plant(name, now.shown) for name in names}
        if planted:
            self.history.change("plant", " ".join(names), places={**now.places, **planted}, dragged=())
        return names

    def reach(self, handle: str, target: Any, weight: float = 1.0) -> None:
        """Set the target of a handle, a point or a transform, with a weight relative to other reaches.

        `update` moves the handle towards it.
        """
        found = self.handles[handle]
        goal = HandleGoal("reach", read_target(self.model, found.frame, target), check_positive(weight, "weight"))
        places = set_entry(self.history.now.places, found.name, goal)
        self.history.change("reach", found.name, places=places, dragged=())

    def look_at(self, handle: str, target: Any, axis: Any = None) -> None:
        """Aim an axis of a handle at a point.

        Args:
            handle: A handle, such as the head.
            target: The point.
            axis: The axis of the handle's frame. By default the one that points forward in the rest pose; "bone" is
                the direction of the bone that ends at the handle, so that a hand points at the target.
        """
        found = self.handles[handle]
        eye = self._frames.problems.find_eye(found.name)
        if axis is None or (isinstance(axis, str) and axis == "bone"):
            x, y, z = self._find_axis(find_default_axis if axis is None else find_limb_axis, eye).tolist()
        else:
            x, y, z = np.array(read_axis(axis, "axis")).tolist()
        goal = HandleGoal("aim", np.array(read_position(target, "target")), axis=(x, y, z))
        self.history.change("look_at", found.name, aims=set_entry(self.history.now.aims, found.name, goal))

    def release(self, handle: str | None = None) -> None:
        """Release a handle from its pin, reach and aim, and an elbow or knee from its pole; by default all handles."""
        if handle is None:
            self.history.change("release", places={}, aims={}, poles={}, dragged=())
            return
        found, now = self.handles[handle], self.history.now
        poles = now.poles
        if found.kind == "pole" and found.limb is not None:
            poles = without(poles, found.limb)
        self.history.change(
            "release",
            found.name,
            places=without(now.places, found.name),
            aims=without(now.aims, found.name),
            poles=poles,
            dragged=tuple(name for name in now.dragged if name != found.name),
        )

    def strength(self, handle: str, value: float) -> None:
        """Set the share, from 0 to 1, by which a handle follows its target; changes are continuous.

        At 0 the handle is at its position without the target, at 1 it is at the target.
        """
        name = self.handles[handle].name
        strengths = set_entry(self.history.now.strengths, name, check_share(value, "strength"))
        self.history.change("strength", name, strengths=strengths)

    def freeze(self, *joints: str) -> None:
        """Freeze joints at their current values, which stay bitwise equal until `unfreeze`."""
        names, now = self.handles.list_joints(joints), self.history.now
        q, held = now.q.copy(), self._frames.find_indices(tuple(sorted(names)))
        q[held] = now.shown[held]  # for a blended limb, the displayed angles
        q.setflags(write=False)
        self.history.change("freeze", q=q, frozen=now.frozen | names)

    def unfreeze(self, *joints: str) -> None:
        """Unfreeze joints; by default all of them."""
        frozen = self.history.now.frozen
        self.history.change("unfreeze", frozen=frozen - (self.handles.list_joints(joints) if joints else frozen))

    def pole(self, limb: str, direction: Any = None) -> None:
        """Set the world direction in which the knee or elbow of a limb points; None removes the pole.

        A limb may be named by its own name or by one of its handles.
        """
        found, poles = self.handles.find_limb(limb, bends=True), self.history.now.poles
        if direction is None:
            poles = without(poles, found.name)
        else:
            poles = set_entry(poles, found.name, Pole(np.array(read_axis(direction, "direction"))))
        self.history.change("pole", found.name, poles=poles)

    def blend(self, limb: str, ik: float) -> None:
        """Blend a limb between its current joint angles (0, FK) and its handle's target (1, IK), without a jump.

        The angles are taken when `ik` first falls below 1.
        """
        found, share, now = self.handles.find_limb(limb), check_share(ik, "ik"), self.history.now
        before = now.blends.get(found.name)
        own = now.shown if before is None else before.own
        blends, q = without(now.blends, found.name), now.q
        if share < 1.0:
            blends = set_entry(blends, found.name, Blend(share, own))
        elif before is not None:  # the solve continues from the displayed pose
            q, part = q.copy(), self._frames.find_part(found.name)
            q[part] = now.shown[part]
            q.setflags(write=False)
        self.history.change("blend", found.name, q=q, blends=blends)

    # -------------------------------------------------------------------------------------------- frames

    def drag(self, handle: str | Mapping[str, Any], target: Any = None) -> Pose:
        """Solve one frame in which a handle follows `target`, a point or a transform; only pins have a higher priority.

        The tool of a machine that is dragged by a point keeps its rotation, with priority over the point; the pelvis
        and the hands of figures rotate with the rest of the body. To drag several handles at once, pass a mapping:
        `drag({"hand_l": a, "hand_r": b})`.

        Call it whenever the mouse moves; distant targets take several calls. Afterwards the handle keeps the target as
        a reach; a pinned handle is pinned again at its new position. An elbow or a knee comes as close as the pins and
        the reaches of hands and feet allow.

        Returns:
            The pose of the frame.
        """
        given = handle if isinstance(handle, Mapping) else {handle: target}
        found = {name: self.handles[name] for name in given}
        wanted = {at.name: read_target(self.model, at.frame, given[name]) for name, at in found.items()}
        state = replace(self.history.now, dragged=tuple(wanted))
        for name, to in wanted.items():
            state = self.handles.take(state, name, to)
        for name, to in wanted.items() if state.symmetric else ():
            other = self.handles[name].mirror
            if other is not None and other not in wanted:
                image = self._find_images().reflect_target(state.q, self.handles[name], to)
                state = self.handles.take(replace(state, dragged=(*state.dragged, other)), other, image)
        state, solution = self._frames.make_frame(state)
        self.history.record("drag", " ".join(sorted(wanted)))
        self.history.now, self.history.solution = self.handles.pin_again(state), solution
        return self.pose

    def update(self) -> Pose:
        """Solve one frame: the body moves towards all targets."""
        state, solution = self._frames.make_frame(replace(self.history.now, dragged=()))
        self.history.now, self.history.solution = state, solution
        return self.pose

    def settle(self, most: int = 200) -> Pose:
        """Solve frames until the body has settled, at most `most`."""
        for _ in range(check_whole(most, "most", 0, MOST)):
            before = self.history.now.shown
            self.update()
            if np.abs(self.model.difference(before, self.history.now.shown)).max(initial=0.0) <= SETTLED_STEP:
                break
        self.history.commit()
        return self.pose

    @property
    def misses(self) -> tuple[Miss, ...]:
        """The handles that are not at their targets after the last frame, with the reasons."""
        if self.solution is None or self.solution.reached:
            return ()
        return find_misses(self.solution, self.history.now.places, self.handles.feet.names)

    def why(self) -> str:
        """Explain in words why handles are not at their targets, or why the body is not balanced.

        `solution.why()` has the goals, limits and searches.
        """
        fall = find_fall(self.solution, self.history.now.places, self.handles.feet)
        return say_why(say_misses(self.misses), fall, self.model.units)

    def mirror(self, handle: str | None = None) -> Pose:
        """Mirror the pose and all targets: left and right are swapped, and the root stays in place.

        With the name of a handle, only its target, or its position without a target, is mirrored to the handle on the
        other side.
        """
        if handle is not None:
            found = self.handles[handle]
            self.history.change("mirror", found.name, **self._find_images().mirror_handle(self.history.now, found))
            return self.pose
        image = self._find_images().reflect_state(self.history.now)
        planted = {n: self.handles.make_plant(n, image.q) for n, goal in image.places.items() if goal.kind == "plant"}
        self.history.record("whole")
        self.history.now = replace(image, places={**image.places, **planted})
        return self.pose

    # -------------------------------------------------------------------------------------------- inside

    def __copy__(self) -> Rig:
        """Return an independent rig of the same model, with the same pose, targets and history."""
        return copy.deepcopy(self, {id(self.model): self.model})

    def _find_axis(self, rule: Callable[[Model, str], Floats], frame: str) -> Floats:
        if (rule, frame) not in self._axes:
            self._axes[rule, frame] = rule(self.model, frame)
        return self._axes[rule, frame]

    def _find_images(self) -> Images:
        if self._images is None:
            self._images = Images(Mirror(self.model), self.handles.by_name, self.handles.limbs)
        return self._images

    def __repr__(self) -> str:
        return f"<Rig of {self.model.name!r}: {len(self.handles)} handles, {len(self.state.held)} held>"
