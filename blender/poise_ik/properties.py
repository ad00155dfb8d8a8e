"""What Blender's objects and scenes store for Poise: the role of an empty, and the settings of the panel."""

from typing import Any

import bpy

__all__ = ["PoiseHandle", "PoiseSettings", "register", "unregister"]

MODES = (
    ("FREE", "Free", "The empty follows the body, until you move it"),
    ("REACH", "Reach", "The part follows the empty as well as pins allow"),
    ("PIN", "Pin", "The part stays on the empty, position and rotation"),
)


def is_armature(_: Any, item: Any) -> bool:
    """Return whether an object is an armature."""
    return bool(item.type == "ARMATURE")


class PoiseHandle(bpy.types.PropertyGroup):
    """An empty that moves a part of an armature."""

    armature: bpy.props.PointerProperty(name="Armature", type=bpy.types.Object, poll=is_armature)
    handle: bpy.props.StringProperty(name="Handle", description="The part of the body that the empty moves")
    mode: bpy.props.EnumProperty(name="Mode", items=MODES, default="FREE")
    turns: bpy.props.BoolProperty(name="Rotation", description="Whether the part also takes the empty's rotation")


class PoiseSettings(bpy.types.PropertyGroup):
    """Settings of the panel."""

    live: bpy.props.BoolProperty(
        name="Live",
        description="Solve whenever an empty of Poise moves or the frame changes",
        default=True,
    )
    source: bpy.props.PointerProperty(
        name="Source",
        description="The armature whose action is retargeted onto the active one",
        type=bpy.types.Object,
        poll=is_armature,
    )


def register() -> None:
    """Add the properties to Blender."""
    for group in (PoiseHandle, PoiseSettings):
        bpy.utils.register_class(group)
    bpy.types.Object.poise_ik = bpy.props.PointerProperty(type=PoiseHandle)
    bpy.types.Scene.poise_ik = bpy.props.PointerProperty(type=PoiseSettings)


def unregister() -> None:
    """Remove the properties."""
    del bpy.types.Scene.poise_ik, bpy.types.Object.poise_ik
    for group in (PoiseSettings, PoiseHandle):
        bpy.utils.unregister_class(group)
