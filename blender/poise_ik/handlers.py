"""Blender's events: a moved empty, a new frame, undo, and another file."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy
from bpy.app.handlers import persistent

from .library import find_library
from .refusal import Refusal

__all__ = ["Sessions", "register", "sessions", "unregister"]


class Sessions:
    """The drag sessions of a file, one for each armature with empties.

    Attributes:
        by_name: Session by the name of its armature.
        busy: Whether events are ignored: while a session solves, and while frames are sampled.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Any] = {}
        self.busy = False

    def find(self, armature: Any) -> Any:
        """Return the session of an armature; made when it is first needed."""
        from .drag_session import DragSession

        session = self.by_name.get(armature.name)
        if session is None or not session.is_current():
            self.by_name[armature.name] = DragSession(armature)
        return self.by_name[armature.name]

    def clear(self) -> None:
        """Forget all sessions; `find` makes them again."""
        self.by_name.clear()

    def follow(self, *, new_frame: bool) -> None:
        """Let the armatures follow their empties."""
        for name in {item.poise_ik.armature.name for item in bpy.data.objects if is_handle(item)}:
            armature = bpy.data.objects[name]
            if armature.mode == "EDIT":
                continue
            session = self.find(armature)
            moved = session.find_moved()
            if new_frame or moved:
                session.follow(None if new_frame else moved)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ignore events inside the block."""
        before, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = before


sessions = Sessions()


def is_handle(item: Any) -> bool:
    """Return whether an object is an empty that moves an armature."""
    return bool(item.poise_ik.handle and item.poise_ik.armature)


def answer(scene: Any, *, new_frame: bool) -> None:
    """Solve after an event, unless a solve caused it."""
    if sessions.busy or not scene.poise_ik.live or bpy.app.is_job_running("RENDER"):
        return
    if any(map(is_handle, bpy.data.objects)):
        try:
            find_library()
            import poise

            try:
                with sessions.paused():
                    sessions.follow(new_frame=new_frame)
            except poise.errors.PoiseError as error:
                raise Refusal(str(error)) from error
        except Refusal as error:
            scene.poise_ik.live = False
            logging.getLogger(__name__).error("%s Live is off.", error)


@persistent
def on_update(scene: Any, *_: Any) -> None:
    """Solve for empties that moved."""
    answer(scene, new_frame=False)


@persistent
def on_frame(scene: Any, *_: Any) -> None:
    """Solve a new frame."""
    answer(scene, new_frame=True)


@persistent
def on_undo(*_: Any) -> None:
    """Take the places that undo has restored as they are; newer versions evaluate them only on demand."""
    with sessions.paused():
        bpy.context.view_layer.update()
    for name, session in list(sessions.by_name.items()):
        if name in bpy.data.objects:
            session.remember()
        else:
            del sessions.by_name[name]


@persistent
def on_load(*_: Any) -> None:
    """Forget the sessions of the file before."""
    sessions.clear()


HANDLERS = (
    ("depsgraph_update_post", on_update),
    ("frame_change_post", on_frame),
    ("undo_post", on_undo),
    ("redo_post", on_undo),
    ("load_post", on_load),
)


def register() -> None:
    """Listen to Blender's events."""
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Stop listening."""
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).remove(handler)
    sessions.clear()
