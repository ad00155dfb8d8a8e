"""Labels of a planar arm: its axes, the angle of every joint, the length of every bone, a target cross."""

import math
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model.plane import is_planar
from poise.pictures.body.stick import find_angles, find_lengths
from poise.studio.puppet import FrameResult
from poise.studio.scene.grips import COLORS
from poise.studio.session import Session

__all__ = ["PlanarMarks"]


MAX_ANGLES = 12  # joints at most to label with angles
MARK_LIFT = 0.02  # relative to body size: the height of labels above the body


class PlanarMarks:
    """Labels of a planar body; none for other bodies."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.nodes: list[Any] = []
        self.angles: list[Any] = []
        self.cross: Any = None
        session.listeners.append(self.show)
        self.change_body()

    def change_body(self) -> None:
        """Create the labels of another body."""
        for node in self.nodes:
            node.remove()
        self.nodes, self.angles, self.cross = [], [], None
        model = self.session.model
        if not is_planar(model) or not 0 < len(find_angles(model, np.array(model.rest))) <= MAX_ANGLES:
            return
        size, scene = self.session.puppet.size, self.session.server.scene
        for k, _ in enumerate(find_angles(model, np.array(model.rest))):
            self.angles.append(scene.add_label(f"/planar/angle_{k}", "", anchor="bottom-left"))
        for k, (a, b, length) in enumerate(find_lengths(model)):
            frame = scene.add_label(
                f"/planar/length_{k}", f"{length:.3g} m", anchor="top-center", font_screen_scale=0.8
            )
            frame.position = tuple((a + b) / 2)
            self.nodes.append(frame)
        for name, way, color in (("x", (1, 0, 0), (235, 52, 92)), ("y", (0, 1, 0), (38, 176, 96))):
            end = 0.25 * size * np.array(way, dtype=np.float64)
            line = np.array([[np.zeros(3), end]], dtype=np.float32)
            axis = scene.add_line_segments(f"/planar/{name}", line, color, thickness=3.0, thickness_units="screen")
            self.nodes.append(axis)
            self.nodes.append(scene.add_label(f"/planar/name_{name}", name, position=tuple(end)))
        arm = 0.03 * size
        ends = np.array([[[-arm, -arm, 0], [arm, arm, 0]], [[-arm, arm, 0], [arm, -arm, 0]]], dtype=np.float32)
        self.cross = scene.add_line_segments(
            "/planar/target", ends, COLORS["missed"], thickness=4.0, thickness_units="screen", visible=False
        )
        self.nodes += [*self.angles, self.cross]

    def show(self, frame: FrameResult, T: Floats) -> None:
        """Update the angles at the joints, the lengths at the bones, and the cross at the target."""
        if not self.angles:
            return
        puppet = self.session.puppet
        lift = np.array([0.0, 0.0, MARK_LIFT * puppet.size])
        for label, (place, angle) in zip(self.angles, find_angles(puppet.model, frame.q), strict=True):
            label.position = tuple(place + lift)
            label.text = f"{math.degrees(angle):.0f}°"
        for node, (a, b, _) in zip(self.nodes, find_lengths(puppet.model, frame.q), strict=False):
            node.position = tuple((a + b) / 2 + lift)
        wanted = next((t for name in puppet.handles if (t := puppet.find_target(name)) is not None), None)
        if self.cross.visible != (wanted is not None):
            self.cross.visible = wanted is not None
        if wanted is not None:
            self.cross.position = tuple((wanted if wanted.ndim == 1 else wanted[:3, 3]) + lift)
