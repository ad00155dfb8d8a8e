"""Poise for Blender: pin and drag whole bodies, lock feet, and retarget actions."""

import bpy

from . import handlers, operators, panel, properties

bl_info = {
    "name": "Poise",
    "description": "Inverse kinematics for whole bodies: pin and drag, lock feet, retarget actions",
    "author": "Poise contributors",
    "version": (0, 2, 0),
    "blender": (3, 4, 0),
    "location": "3D view, sidebar, Poise",
    "category": "Animation",
}

CLASSES = (*operators.OPERATORS, panel.PoisePanel)


def register() -> None:
    """Add properties, operators, the panel and handlers to Blender."""
    properties.register()
    for each in CLASSES:
        bpy.utils.register_class(each)
    handlers.register()


def unregister() -> None:
    """Remove them."""
    handlers.unregister()
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
    properties.unregister()
