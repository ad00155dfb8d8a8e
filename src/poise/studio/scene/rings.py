"""Rings that turn the joint of a clicked body part, visible to the viewer who clicked.

A click on the body shows rings at the part's joint; a click next to it, a drag of a handle, or Escape removes them. In
this mode, a click on a handle selects the part underneath and pins nothing: a wrist, for example, lies inside the
handle of its hand. The ray is cast here and not in the browser, which would test the body at every move of the
mouse.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.arrays import Floats
from poise.spatial import Rotation
from poise.studio.puppet import FrameResult
from poise.studio.scene.joint_turn import Turn, find_turning_joint

if TYPE_CHECKING:
    from poise.studio.session import Session

__all__ = ["Rings"]

SAME_CLICK_TIME = 0.4  # [s] after a part was picked during which a click on the scene is the same click
RING_SIZE = 0.18  # relative to body size


class Rings:
    """The rings of all viewers.

    Attributes:
        turns: The turned joint of each viewer, by the viewer's number.
        chosen: Called with the joint a viewer has chosen, or None when the rings are removed.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.turns: dict[int, Turn] = {}
        self.nodes: dict[int, Any] = {}
        self.held: set[int] = set()  # viewers who are dragging a ring
        self.heard = False  # whether clicks select parts
        self.chosen: list[Callable[[str | None], None]] = []
        session.listeners.append(self.show)

    async def _hear(self, event: Any) -> None:
        self.click(event.client_id, np.array(event.ray_origin), np.array(event.ray_direction))

    def listen(self, heard: bool) -> None:
        """Enable or disable clicks on parts; while enabled, the pointer is a hand everywhere."""
        scene = self.session.server.scene
        self.heard = heard
        self.session.grips.pins_by_click = not heard
        if heard:
            register: Any = scene.on_click()  # it accepts coroutines too
            register(self._hear)
            return
        scene.remove_click_callback()
        for viewer in tuple(self.turns):
            self.put_away(viewer)

    def click(self, viewer: int, origin: Floats, direction: Floats) -> None:
        """Show the rings of the part that a ray hits, or remove them if it hits none."""
        session = self.session
        held = viewer in session.grips.owners.values()
        if session.view.picking or held or time.perf_counter() - session.view.picked < SAME_CLICK_TIME:
            self.put_away(viewer)  # the click has another purpose
            return
        frame = session.view.find_clicked(origin, direction)
        joint = None if frame is None else find_turning_joint(session.model, frame, session.puppet.size)
        if joint is None:
            self.put_away(viewer)
        else:
            session.grips.drop(viewer)
            self.choose(viewer, joint)

    def choose(self, viewer: int, joint: str) -> None:
        """Show a viewer the rings of a joint."""
        if viewer in self.turns and self.turns[viewer].joint == joint:
            return
        self.put_away(viewer, quiet=True)
        session = self.session
        turn = self.turns[viewer] = Turn(session.model, joint, session.puppet.size)
        client = session.server.get_clients().get(viewer)
        if client is not None:
            self.nodes[viewer] = self.add(client, viewer, turn)
        for tell in self.chosen:
            tell(joint)

    def add(self, client: Any, viewer: int, turn: Turn) -> Any:
        """Add the rings to a viewer's scene."""
        at = turn.place(self.session.model.fk(self.session.puppet.q))
        node = client.scene.add_transform_controls(
            "/rings",
            scale=RING_SIZE * self.session.puppet.size,
            line_width=4.0,
            depth_test=False,
            opacity=0.9,
            disable_axes=True,
            disable_sliders=True,
            active_axes=(True, True, not turn.hinge),  # a ring lies between two axes
            wxyz=Rotation.from_matrix(at[:3, :3]).wxyz,
            position=at[:3, 3],
        )

        async def on_turn(event: Any) -> None:
            self.turn(viewer, event.phase, np.array(Rotation(event.target.wxyz).matrix))

        node.on_update(on_turn)
        return node

    def turn(self, viewer: int, phase: str, R: Floats) -> None:
        """Turn a joint to the rotation R (3, 3) of a viewer's rings; one drag is one undo step."""
        turn, puppet = self.turns.get(viewer), self.session.puppet
        if turn is None:
            return
        with self.session.lock:
            if phase == "start" or viewer not in self.held:
                self.held.add(viewer)
                puppet.end_turn()
                turn.begin(puppet.q)
            puppet.turn_joint(turn.joint, turn.follow(puppet.q, R))
            if phase == "end":
                self.held.discard(viewer)
                puppet.end_turn()
        self.session.touch(time.perf_counter())

    def put_away(self, viewer: int, *, quiet: bool = False) -> None:
        """Remove a viewer's rings."""
        node = self.nodes.pop(viewer, None)
        if node is not None and viewer in self.session.server.get_clients():
            node.remove()
        self.held.discard(viewer)
        if self.turns.pop(viewer, None) is not None and not quiet:
            for tell in self.chosen:
                tell(None)

    def change_body(self) -> None:
        """Remove all rings of the previous body."""
        self.session.grips.pins_by_click = not self.heard
        for viewer in list(self.turns):
            self.put_away(viewer)

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Keep the rings at their joints, except those being dragged."""
        for viewer, node in list(self.nodes.items()):
            if viewer not in self.held and viewer in self.turns:
                at = self.turns[viewer].place(T)
                node.wxyz, node.position = Rotation.from_matrix(at[:3, :3]).wxyz, at[:3, 3]
