"""The operators of the panel. Each reports its result, or what to do if it cannot run."""

from collections.abc import Callable
from typing import Any

import bpy

from .handlers import sessions
from .library import find_library
from .refusal import Refusal

__all__ = ["OPERATORS"]


def find_armature(context: Any) -> Any:
    """Return the active armature, or the one of the active empty of Poise."""
    active = context.object
    if active is not None and active.type == "EMPTY" and active.poise_ik.armature is not None:
        return active.poise_ik.armature
    if active is None or active.type != "ARMATURE":
        raise Refusal("No armature is selected. Click one in the 3D view, then run this again.")
    if not active.pose.bones:
        raise Refusal(f"The armature {active.name!r} has no bones.")
    return active


def find_range(armature: Any) -> range:
    """Return the frames of the action of an armature."""
    data = armature.animation_data
    if data is None or data.action is None:
        raise Refusal(f"{armature.name!r} has no action. Assign one in the Action Editor.")
    first, last = data.action.frame_range
    return range(round(first), round(last) + 1)


def find_rate(scene: Any) -> float:
    """Return the frame rate of a scene [1/s]."""
    return float(scene.render.fps / scene.render.fps_base)


class PoiseOperator:
    """Runs `work`, and reports its text, or the message of its error."""

    bl_options = frozenset({"REGISTER", "UNDO"})
    report: Callable[[set[str], str], None]  # Blender's

    def execute(self, context: Any) -> set[str]:
        """Run the operator."""
        try:
            find_library()
            import poise

            try:
                with sessions.paused():
                    self.tell("INFO", self.work(context))
            except poise.errors.PoiseError as error:
                raise Refusal(str(error)) from error
        except Refusal as error:
            self.tell("ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def work(self, context: Any) -> str:
        """Do it, and return the report."""
        raise NotImplementedError

    def tell(self, kind: str, text: str) -> None:
        """Report a text to the user."""
        self.report({kind}, text)

    def warn(self, body: Any) -> None:
        """Report what the model of a body leaves out."""
        for text in body.warnings:
            self.tell("WARNING", text)


class AddHandles(PoiseOperator, bpy.types.Operator):
    """Add the empties of an armature."""

    bl_idname, bl_label = "poise.add_handles", "Add Handles"
    bl_description = "Add empties for the hands, feet, hips and head of the armature. Move one and the body follows"

    def work(self, context: Any) -> str:
        """Add the empties."""
        from .drag_session import make_empties

        armature = find_armature(context)
        sessions.by_name.pop(armature.name, None)
        session = sessions.find(armature)
        self.warn(session.body)
        made = make_empties(session)
        if not made:
            raise Refusal(f"{armature.name!r} has all its handles already.")
        return f"Added {len(made)} handles: {', '.join(item.poise_ik.handle for item in made)}."


class SetHandles(PoiseOperator, bpy.types.Operator):
    """Pin or release handles."""

    bl_idname, bl_label = "poise.set_handles", "Set Handles"

    mode: bpy.props.EnumProperty(
        name="Mode",
        items=(("PIN", "Pin", "Hold the part where it is"), ("FREE", "Release", "Let the part go")),
    )

    @classmethod
    def description(cls, _: Any, properties: Any) -> str:
        """Return the tooltip."""
        pins = "Hold the selected handles exactly in place, position and rotation"
        return pins if properties.mode == "PIN" else "Let the selected handles follow the body again"

    def work(self, context: Any) -> str:
        """Change the modes."""
        chosen = [item for item in context.selected_objects if item.poise_ik.handle]
        if not chosen:
            raise Refusal("No handle is selected. Click an empty of Poise; Add Handles makes them.")
        for item in chosen:
            item.poise_ik.mode = self.mode
            item.poise_ik.turns = False
        for session in {item.poise_ik.armature.name: sessions.find(item.poise_ik.armature) for item in chosen}.values():
            session.follow([])
        return f"{len(chosen)} handles were {'pinned' if self.mode == 'PIN' else 'released'}."


class RemoveHandles(PoiseOperator, bpy.types.Operator):
    """Remove the empties of an armature."""

    bl_idname, bl_label = "poise.remove_handles", "Remove Handles"
    bl_description = "Remove the empties of the armature; its pose stays"

    def work(self, context: Any) -> str:
        """Remove the empties."""
        from .drag_session import list_empties

        armature = find_armature(context)
        empties = list_empties(armature)
        for item in empties:
            bpy.data.objects.remove(item)
        sessions.by_name.pop(armature.name, None)
        return f"Removed {len(empties)} handles."


class Bake(PoiseOperator, bpy.types.Operator):
    """Write the pose of every frame as keyframes."""

    bl_idname, bl_label = "poise.bake", "Bake"
    bl_description = "Key the bones in every frame of the scene as they follow the handles, in a new action"

    def work(self, context: Any) -> str:
        """Solve every frame, then write the clip."""
        from .clips import bake
        from .drag_session import list_empties

        armature = find_armature(context)
        if not list_empties(armature):
            raise Refusal(f"{armature.name!r} has no handles. Run Add Handles first.")
        frames = range(context.scene.frame_start, context.scene.frame_end + 1)
        action, missed = bake(sessions.find(armature), frames, find_rate(context.scene))
        first = min(missed, default=0)
        why = f" In {len(missed)} of them, from frame {first}, {missed[first]}" if missed else ""
        return f"Baked {len(frames)} frames into {action.name!r}.{why}"


class LockFeet(PoiseOperator, bpy.types.Operator):
    """Hold the feet of an action."""

    bl_idname, bl_label = "poise.lock_feet", "Lock Feet"
    bl_description = "Find where the feet of the active action stand, and hold them there exactly, in a new action"

    def work(self, context: Any) -> str:
        """Lock the feet of the action."""
        from .clips import lock_feet

        armature = find_armature(context)
        frames = find_range(armature)
        body, track, action = lock_feet(armature, frames, find_rate(context.scene))
        self.warn(body)
        return f"{action.name}: {len(track.contacts)} contacts. {track.why()}"


class Retarget(PoiseOperator, bpy.types.Operator):
    """Write the action of another armature for this one."""

    bl_idname, bl_label = "poise.retarget", "Retarget"
    bl_description = "Retarget the action of the source armature onto the active one, as a new action"

    def work(self, context: Any) -> str:
        """Retarget the action."""
        from .clips import retarget

        target, source = find_armature(context), context.scene.poise_ik.source
        if source is None:
            others = [item for item in context.selected_objects if item.type == "ARMATURE" and item != target]
            source = others[0] if len(others) == 1 else None
        if source is None or source == target:
            raise Refusal("Choose another armature as Source in the panel Poise, or select it before the target.")
        bodies, moved, action = retarget(source, target, find_range(source), find_rate(context.scene))
        for body in bodies:
            self.warn(body)
        return f"{action.name}: scale {moved.scale:.3g}. {moved.why()}"


OPERATORS = (AddHandles, SetHandles, RemoveHandles, Bake, LockFeet, Retarget)
