"""The checkbox that makes cameras follow the body during playback."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.studio.puppet import FrameResult
from poise.studio.scene.follow_camera import ABOVE, Chase, find_way, measure_travel
from poise.studio.scene.stage import View
from poise.studio.session import Session

__all__ = ["FollowBox"]

HINT = "While a clip plays, the camera goes along with the body"


class FollowBox:
    """The checkbox, and a `Chase` for each viewer; created within its tab."""

    def __init__(self, session: Session) -> None:
        self.session = session
        gui: Any = session.server.gui
        self.box = gui.add_checkbox("Follow", False, hint=HINT, disabled=True)
        self.chases: dict[int, Chase] = {}
        self._motion: Motion | None = None
        self._way: Floats = np.zeros((0, 3))
        self.box.on_update(lambda _: self.begin())
        session.player.changed.append(self.hear)
        session.listeners.append(self.show)
        session.scenery.looked.append(self.put)
        session.server.on_client_disconnect(self.leave)
        self.hear("motion")

    def hear(self, what: str) -> None:
        """Handle a change of the player; clips that travel farther than the body's size are followed by default."""
        motion = self.session.player.motion
        if what == "playing":
            self.begin()
        if what != "motion" or motion is self._motion:
            return
        edited = motion is not None and self._motion is not None and self.session.player.edited
        self._motion, self._way = motion, np.zeros((0, 3)) if motion is None else find_way(motion)
        self.box.disabled = motion is None
        if not edited:
            self.box.value = motion is not None and measure_travel(motion) > self.session.puppet.size

    def put(self, client: Any, view: View) -> None:
        """Start a viewer's chase at a new view, which every viewer gets on connecting."""
        chase = self.chases.get(client.client_id)
        if chase is None:
            chase = self.chases[client.client_id] = self.make_chase(client.camera)
            client.camera.on_update(lambda _, chase=chase: chase.notice())
        chase.put(view.position, view.look_at)

    def leave(self, client: Any) -> None:
        """Forget a viewer who has left."""
        self.chases.pop(client.client_id, None)

    def make_chase(self, camera: Any) -> Chase:
        """Return a chase for the open clip."""
        session = self.session
        lowest = session.scenery.floor + ABOVE * session.puppet.size
        return Chase(camera, self._way, session.model.up_direction, lowest)

    def begin(self) -> None:
        """Make every camera keep its current offset from the body."""
        now = self.make_chase(None)
        for chase in list(self.chases.values()):
            chase.way, chase.up, chase.lowest = now.way, now.up, now.lowest
            chase.begin()

    def begin_trail(self) -> None:
        """Make every camera keep its offset from a body that starts to walk."""
        for chase in list(self.chases.values()):
            chase.begin()

    def follow_trail(self, trail: Floats) -> None:
        """Move the cameras with a walking body; `trail` has its last positions, (n, 3), newest last."""
        for chase in list(self.chases.values()):
            chase.way = trail
            chase.go(trail[-1])

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Move the cameras with the frame that is shown."""
        player = self.session.player
        if not (self.box.value and player.playing) or player.motion is not self._motion or self._motion is None:
            return
        place = find_place(self._way, player.seconds * self._motion.fps)
        for chase in list(self.chases.values()):
            chase.go(place)


def find_place(way: Floats, at: float) -> Floats:
    """Return the position on a path at a time in frames, interpolated."""
    low = min(int(at), len(way) - 1)
    high = min(low + 1, len(way) - 1)
    out: Floats = way[low] + min(at - low, 1.0) * (way[high] - way[low])
    return out
