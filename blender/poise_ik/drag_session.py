"""Drag sessions: the empties of one armature, and the rig that follows them."""

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

import poise

from .body import Body, read_body
from .pose_writer import write_pose
from .samples import Array, find_nearest_turns, sample_now

__all__ = ["DragSession", "list_empties", "make_empties"]

PARTS = ("end", "body", "gaze")  # kinds of handles that get an empty
MOVED = 1e-6  # relative to the size of the body: a smaller change of a matrix is rounding
EXACT = 1e-5  # relative to the size of the body: where a drag ends
SLOW = 1e-2  # rad, or relative to the size of the body: less in a step, at the targets, is a pose that has settled
MOST_STEPS = 60  # of one event; each step turns a joint by at most 0.2 rad
EMPTY_SIZE = 0.05  # relative to the size of the body


def list_empties(armature: Any) -> list[Any]:
    """Return the empties that move an armature."""
    return [item for item in bpy.data.objects if item.poise_ik.handle and item.poise_ik.armature == armature]


def make_empties(session: "DragSession") -> list[Any]:
    """Add an empty for each part that has none yet; feet are pinned."""
    body, made = session.body, []
    taken = {item.poise_ik.handle for item in list_empties(body.armature)}
    for handle in session.rig.handles.values():
        if handle.kind in PARTS and handle.name not in taken:
            empty = bpy.data.objects.new(f"{body.name} {handle.name}", None)
            empty.empty_display_type, empty.empty_display_size = "SPHERE", EMPTY_SIZE * body.model.length
            empty.poise_ik.armature, empty.poise_ik.handle = body.armature, handle.name
            empty.poise_ik.mode = "PIN" if handle.stands else "FREE"
            bpy.context.scene.collection.objects.link(empty)
            made.append(empty)
    session.place_empties(made)
    bpy.context.view_layer.update()
    session.remember()
    return made


class DragSession:
    """Follows the empties of one armature.

    Args:
        armature: The armature object.

    Attributes:
        body: The armature as a model.
        rig: The rig, in the pose of the armature.
    """

    def __init__(self, armature: Any) -> None:
        self.body: Body = read_body(armature)
        q = self.body.read(sample_now(armature))[0]
        self.rig = poise.Rig(self.body.model, q, rest=q, floor=None)
        self._rests = read_rests(armature)
        self._written: Array | None = None
        self._seen: dict[str, Array] = {}
        self.remember()
        for item in list_empties(armature):  # an empty that is elsewhere was moved before there was a session
            self._seen[item.name][:3, 3] = self.rig.state.transform(item.poise_ik.handle).translation

    def is_current(self) -> bool:
        """Return whether the armature still has the bones of the body."""
        return np.array_equal(self._rests, read_rests(self.body.armature))

    def remember(self) -> None:
        """Take the present places of the empties and of the armature as those that the body follows already."""
        self._seen = {item.name: np.array(item.matrix_world) for item in self._list_moving()}

    def find_moved(self) -> list[Any]:
        """Return the empties that moved since the last call of `remember`, and the armature if it did."""
        return [item for item in self._list_moving() if self._is_moved(item)]

    def follow(self, moved: list[Any] | None = None) -> None:
        """Solve the body for its empties, set its bones, and bring the free empties to it.

        Args:
            moved: The empties that were dragged. Without them the frame has changed: the pose that the armature's
                action shows is the one to which free parts return.
        """
        self._take_pose(new_rest=moved is None)
        empties = list_empties(self.body.armature)
        dragged = [item for item in moved or () if item.poise_ik.handle]
        for item in dragged:
            self._take_drag(item)
        held = {item.poise_ik.handle: item for item in empties if item.poise_ik.mode != "FREE"}
        for name in [name for name in self.rig.state.held if name not in held]:
            self.rig.release(name)
        targets = {name: self._read_target(item) for name, item in held.items()}
        for name, item in held.items():
            if item.poise_ik.mode == "PIN":
                self.rig.pin(name, targets[name])
            else:
                self.rig.reach(name, targets[name])
        if targets:
            self._settle({item.poise_ik.handle: targets[item.poise_ik.handle] for item in dragged})
            self._written = write_pose(self.body, self.rig.q)
        self.place_empties([item for item in empties if item.poise_ik.mode == "FREE"])
        self.rig.history.mark_start()  # Blender has its own undo
        self.remember()

    def why(self) -> str:
        """Explain why parts are not at their empties; empty if all are."""
        return self.rig.why() if self.rig.misses else ""

    def place_empties(self, empties: list[Any]) -> None:
        """Move empties to the parts that they belong to."""
        for item in empties:
            place = self.rig.state.transform(item.poise_ik.handle).matrix
            item.matrix_world = Matrix(place.tolist()) @ Matrix.Diagonal((*item.scale, 1.0))

    # -------------------------------------------------------------------------------------------- inside

    def _list_moving(self) -> Iterator[Any]:
        """Yield the armature and its empties."""
        yield self.body.armature
        yield from list_empties(self.body.armature)

    def _is_moved(self, item: Any) -> bool:
        before = self._seen.get(item.name)
        return before is None or bool(np.abs(before - np.array(item.matrix_world)).max() > self._find_rounding())

    def _find_rounding(self) -> float:
        return MOVED * max(1.0, self.body.model.length)

    def _take_pose(self, *, new_rest: bool) -> None:
        """Take the pose of the armature, if it is not the one that was written."""
        samples = sample_now(self.body.armature)
        rows = [samples.names.index(bone) for bone in self.body.bones]
        place, size = samples.poses[0, rows], self.body.model.length / samples.scale
        moved = self._seen[self.body.name] - np.array(self.body.armature.matrix_world)
        known = self._written is not None and np.abs(place - self._written).max() < EXACT * max(1.0, size)
        if known and np.abs(moved).max() <= self._find_rounding():
            return
        q = self.body.read(samples)[0]
        self.rig.state.move_body(q)
        if new_rest:
            self.rig.solvers.rest = q

    def _take_drag(self, item: Any) -> None:
        """Make a dragged empty a target, with its rotation if that was changed."""
        settings, before = item.poise_ik, self._seen.get(item.name)
        if settings.mode == "FREE":
            settings.mode = "REACH"
        if before is not None:
            change = np.array(item.matrix_world)[:3, :3] - before[:3, :3]
            settings.turns = settings.turns or bool(np.abs(change).max() > 1e-4 * np.abs(before[:3, :3]).max())

    def _read_target(self, item: Any) -> Array:
        """Return the point or the transform of an empty."""
        place = np.array(item.matrix_world)
        if item.poise_ik.mode == "REACH" and not item.poise_ik.turns:
            return np.asarray(place[:3, 3])
        place[:3, :3] = find_nearest_turns(place[:3, :3])
        return place

    def _settle(self, dragged: dict[str, Array]) -> None:
        """Solve until the body is at its targets, or comes no nearer."""
        model = self.body.model
        for step in range(MOST_STEPS):
            before = self.rig.q
            if dragged and not step:
                self.rig.drag(dragged)
            else:
                self.rig.update()
            change = float(np.abs(model.difference(before, self.rig.q)).max(initial=0.0))
            if change < (SLOW if self.rig.solution is not None and self.rig.solution.reached else EXACT):
                return


def read_rests(armature: Any) -> Array:
    """Return the rest matrices of all bones, (bones, 4, 4)."""
    return np.array([bone.matrix_local for bone in armature.data.bones])
