"""The page of a body that follows live targets: `live.js` sends them and shows the answers."""

from typing import Any

import numpy as np

from poise.kinematics import Pose
from poise.model.plane import is_planar
from poise.motion import Follower
from poise.pages.page import write_html
from poise.pages.scenes import show_pose
from poise.pictures.front import find_front
from poise.spatial import Rotation

__all__ = ["LivePage"]


class LivePage:
    """The page of a follower.

    Attributes:
        html: The page. It opens a WebSocket to the address that it came from.
    """

    def __init__(self, follower: Follower) -> None:
        self.model, self.streams = follower.model, follower.streams
        scene = show_pose(Pose(self.model, follower.q))
        self.frames = [self.model.frames.index(name) for name in scene.bodies[-1]]
        up, ahead = self.model.up_direction, find_front(self.model)
        turn = np.stack([np.cross(ahead, up), up, -ahead], axis=1)  # WebXR: x to the right, y up, z back
        place = {"length": self.model.length, "normal": [0, 0, 1] if is_planar(self.model) else None}
        scene.note = ""
        scene.live = {
            "goals": [{"name": name, **place} for name in self.streams],
            "tracks": list(scene.bodies[-1].values()),
            "axes": Rotation.from_matrix(turn).wxyz.tolist(),
            "metres": self.model.metres_per_unit,
        }
        self.html = write_html(scene.to_data()).replace("img-src data:", "img-src data:; connect-src 'self'", 1)

    def list_places(self, q: list[float]) -> dict[str, Any]:
        """Return the places of the drawn frames in a pose, [x, y, z, w, x, y, z], and the points of the goals."""
        T = self.model.fk(np.array(q))[self.frames]
        places = np.concatenate([T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).wxyz], axis=1)
        points = [stream.find_place(np.array(q))[9:].tolist() for stream in self.streams.values()]
        return {"places": places.round(6).tolist(), "points": points}
