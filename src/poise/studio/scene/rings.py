"""Click a part of the body and turn it: rings at its joint, which the viewer who clicked alone sees.

A click on the body gives its part rings; a click next to it, a handle that is taken, or Escape puts them away. While
clicks are for parts, a click on a handle is one on the part beneath it, and pins nothing: a wrist lies all inside of
the handle of its hand. The ray of the click is met with the body here: a browser that looked for itself would do so at
every move of the mouse.
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

SAME_CLICK_TIME = 0.4  # [s] after a part was picked in which a click on the scene is the same one
RING_SIZE = 0.18  # of the body's size


class Rings:
    """The rings of all viewers.

    Attributes:
        turns: The joint that each viewer turns, by the viewer's number.
        chosen: Called with the joint that a viewer has chosen; None where rings were put away.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.turns: dict[int, Turn] = {}
        self.nodes: dict[int, Any] = {}
        self.held: set[int] = set()  # viewers who have a ring in hand
        self.heard = False  # whether clicks are for parts
        self.chosen: list[Callable[[str | None], None]] = []
        session.listeners.append(self.show)

    async def _hear(self, event: Any) -> None:
        self.click(event.client_id, np.array(event.ray_origin), np.array(event.ray_direction))

    def listen(self, heard: bool) -> None:
        """Hear clicks on the body, or not: while they are heard, the pointer is a hand wherever it is."""
        scene = self.session.server.scene
        self.heard = heard
        self.session.grips.pins_by_click = not heard
        if heard:
            register: Any = scene.on_click()  # it takes coroutines too
            register(self._hear)
            return
        scene.remove_click_callback()
        for viewer in tuple(self.turns):
            self.put_away(viewer)

    def click(self, viewer: int, origin: Floats, direction: Floats) -> None:
        """Give the part that a ray meets its rings; put them away where it meets none."""
        session = self.session
        held = viewer in session.grips.owners.values()
        if session.view.picking or held or time.perf_counter() - session.view.picked < SAME_CLICK_TIME:
            self.put_away(viewer)  # the click was meant for something else
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
        """Turn a joint as a viewer turns its rings, R (3, 3); one drag is one change."""
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
        """Take a viewer's rings away."""
        node = self.nodes.pop(viewer, None)
        if node is not None and viewer in self.session.server.get_clients():
            node.remove()
        self.held.discard(viewer)
        if self.turns.pop(viewer, None) is not None and not quiet:
            for tell in self.chosen:
                tell(None)

    def change_body(self) -> None:
        """Forget all rings, which were another body's."""
        self.session.grips.pins_by_click = not self.heard
        for viewer in list(self.turns):
            self.put_away(viewer)

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Keep the rings at their joints, except those that are in somebody's hand."""
        for viewer, node in list(self.nodes.items()):
            if viewer not in self.held and viewer in self.turns:
                at = self.turns[viewer].place(T)
                node.wxyz, node.position = Rotation.from_matrix(at[:3, :3]).wxyz, at[:3, 3]
