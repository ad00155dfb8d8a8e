"""The panel Poise in the sidebar of the 3D view."""

import textwrap
from typing import Any

import bpy

from .handlers import sessions

__all__ = ["PoisePanel"]

LINE = 45  # characters


class PoisePanel(bpy.types.Panel):
    """Handles, and tools for actions."""

    bl_idname, bl_label = "VIEW3D_PT_poise_ik", "Poise"
    bl_space_type, bl_region_type, bl_category = "VIEW_3D", "UI", "Poise"

    def draw(self, context: Any) -> None:
        """Draw the buttons."""
        settings, active = context.scene.poise_ik, context.object
        pose = self.layout.box().column()
        pose.label(text="Pin and drag")
        pose.prop(settings, "live")
        pose.operator("poise.add_handles")
        if active is not None and active.poise_ik.handle:
            pose.prop(active.poise_ik, "mode", expand=True)
            pose.prop(active.poise_ik, "turns")
        row = pose.row(align=True)
        row.operator("poise.set_handles", text="Pin").mode = "PIN"
        row.operator("poise.set_handles", text="Release").mode = "FREE"
        for line in find_reason(active):
            pose.label(text=line)
        pose.operator("poise.bake")
        pose.operator("poise.remove_handles")
        clips = self.layout.box().column()
        clips.label(text="Actions")
        clips.operator("poise.lock_feet")
        clips.prop(settings, "source")
        clips.operator("poise.retarget")


def find_reason(active: Any) -> list[str]:
    """Return lines on why parts of the active armature are not at their handles."""
    armature = None if active is None else active.poise_ik.armature or active
    session = None if armature is None else sessions.by_name.get(armature.name)
    return [] if session is None else textwrap.wrap(session.why(), LINE)
