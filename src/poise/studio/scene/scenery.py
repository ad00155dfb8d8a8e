"""The appearance of the scene: colours, floor and cameras."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.pictures.body.objects import outline_beside
from poise.studio.clips.player import Player
from poise.studio.puppet import Puppet
from poise.studio.scene.body_view import BodyView
from poise.studio.scene.follow_camera import LOADING_TIME, VIEWER_MOVE
from poise.studio.scene.stage import View, find_direction, find_view, keep_above, light_stage, move_camera, point_camera
from poise.studio.web.throttle import Pace

if TYPE_CHECKING:
    import viser

__all__ = ["Scenery"]


BRAND, DARK_BRAND = (9, 96, 90), (38, 170, 158)
CAMERA_PAUSE = 0.25  # [s] until a camera below the floor is raised: the viewer may still be moving it
MAX_SAMPLED_POSES = 120  # poses of a clip at most to find its bounds


class Scenery:
    """The scene of a server, around one body.

    Args:
        server: The viser server.
        player: The player of the clip.
        is_stopped: Returns whether the studio is closing.
        shadows: Whether the body casts shadows.
        dark: Whether the colours are dark.

    Attributes:
        puppet: The body, independent of the browser.
        view: The body in the scene.
        floor: The height of the ground [m].
        see_through: Whether the body is translucent, so that handles inside it are visible.
        looked: Called with a viewer and the view their camera is set to.
    """

    puppet: Puppet
    view: BodyView

    def __init__(
        self,
        server: viser.ViserServer,
        player: Player,
        is_stopped: Callable[[], bool],
        *,
        shadows: bool,
        dark: bool,
    ) -> None:
        self.server, self.player, self.is_stopped, self.shadows, self.dark = server, player, is_stopped, shadows, dark
        self.see_through = False
        self.floor = 0.0
        self._set_views: dict[int, tuple[View, float]] = {}  # by viewer, until they are reported or too old
        self.looked: list[Callable[[Any, View], None]] = []
        self.beside: list[Callable[[], Floats]] = []
        self.set_theme()

    @property
    def model(self) -> Model:
        """The body."""
        return self.puppet.model

    def show_body(self, puppet: Puppet, view: BodyView) -> None:
        """Show another body."""
        self.puppet, self.view = puppet, view
        self.set_see_through(self.see_through)

    def relight(self, shadows: bool) -> None:
        """Enable or disable shadows."""
        self.shadows = shadows
        self.set_stage(camera=False)

    def darken(self, dark: bool) -> None:
        """Switch between dark and light colours."""
        self.dark = dark
        self.set_theme()
        self.set_stage(camera=False)

    def set_theme(self) -> None:
        """Set the colours of the panel."""
        self.server.gui.configure_theme(
            show_logo=False,
            show_share_button=False,
            brand_color=DARK_BRAND if self.dark else BRAND,
            dark_mode=self.dark,
        )

    def set_stage(self, *, camera: bool = True) -> None:
        """Place the floor under the whole clip, or under the pose, and point the cameras at all of it."""
        points = self.find_points()
        self.floor = float(points[:, self.model.up_axis].min())
        light_stage(self.server.scene, self.model, self.puppet.size, self.floor, shadows=self.shadows, dark=self.dark)
        if camera:
            self.show_points(points)

    def show_points(self, points: Floats) -> None:
        """Make all points visible to current and future viewers."""
        point_camera(self.server, self.model, self.puppet.size, points)
        for client in self.server.get_clients().values():
            self.put_camera(client, points, find_direction(self.model, "fit"))

    def look(self, name: str, client: Any) -> None:
        """Point a viewer's camera at the body: "front", "side", "top", or "fit" from its current direction."""
        if client is None:
            return
        away = find_direction(self.model, name)
        if name == "fit":
            line = np.array(client.camera.position) - np.array(client.camera.look_at)
            away = line / np.linalg.norm(line) if np.linalg.norm(line) > 0.0 else away
        self.put_camera(client, self.find_points(), away)

    def put_camera(self, client: Any, points: Floats, away: Floats) -> None:
        """Move a viewer's camera so that it sees all points from a direction."""
        view = find_view(self.model, self.puppet.size, points, away, client.camera.aspect)
        self._set_views[client.client_id] = view, time.perf_counter() + LOADING_TIME
        move_camera(client, self.model, view)
        for listen in self.looked:
            listen(client, view)

    def set_see_through(self, on: bool) -> None:
        """Make the body translucent, so that handles inside it are visible and can be dragged, or opaque."""
        self.see_through = on
        self.view.fade(0.35 if on else None)

    def welcome(self, client: Any) -> None:
        """Set the camera of a new viewer, by the aspect ratio of their window, and keep it above the floor."""
        self.put_camera(client, self.find_points(), find_direction(self.model, "fit"))
        check = Pace(lambda: self.raise_camera(client), CAMERA_PAUSE)
        client.camera.on_update(lambda _: check.ask_later() if self.is_current(client) else None)

    def is_current(self, client: Any) -> bool:
        """Return whether a browser's report of its camera is newer than the view that was set last."""
        if client.client_id not in self._set_views:
            return True
        view, end = self._set_views[client.client_id]
        off = np.linalg.norm(np.array(client.camera.position) - view.position)
        if off > VIEWER_MOVE * np.linalg.norm(view.position - view.look_at) and time.perf_counter() < end:
            return False
        del self._set_views[client.client_id]
        return True

    def raise_camera(self, client: Any) -> None:
        """Raise a viewer's camera if it is below the floor, unless its report is older than the view that was set."""
        if self.is_stopped() or client.client_id not in self.server.get_clients():
            self._set_views.pop(client.client_id, None)
        elif client.client_id not in self._set_views:
            keep_above(client, self.model, self.floor, self.puppet.size)

    def find_points(self) -> Floats:
        """Return points of the body over its clip, or in its pose, and of everything next to it, (n, 3) [m]."""
        motion = self.player.motion
        beside = [find_more() for find_more in self.beside]
        if motion is None:
            return np.concatenate([self.view.sample_points(self.model.fk(self.puppet.q)), *beside])
        rows = np.unique(np.linspace(0, len(motion) - 1, MAX_SAMPLED_POSES).round().astype(int))
        body = [self.view.sample_points(self.model.fk(motion.q[k])) for k in rows]
        return np.concatenate([*body, outline_beside(motion), *beside])
