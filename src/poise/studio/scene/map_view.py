"""A reach map around the body: cut open, with a slider for the least share of orientations to show."""

from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.pictures.maps.faces import find_faces, group_faces
from poise.studio.markup import PLAIN
from poise.studio.scene.scenery import Scenery
from poise.studio.scene.stage import find_direction, point_camera

__all__ = ["MapView"]


class MapView:
    """The displayed map, if any, and its folder in the panel."""

    def __init__(self, scenery: Scenery) -> None:
        self._scenery, self._server = scenery, scenery.server
        self.map: ReachMap | None = None
        self._nodes: list[Any] = []
        self._folder: Any = None

    def show(self, found: ReachMap | None) -> None:
        """Show a map instead of the previous one; None removes it."""
        self.clear()
        self.map = found
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
        if found is None:
            return
        gui: Any = self._server.gui
        self._folder = gui.add_folder("Reach map")
        with self._folder:
            gui.add_html(PLAIN.format("<br>".join(f"{name}: {share}" for name, _, share in found.list_lines())))
            self.shown = gui.add_checkbox("Shown", True)
            self.open = gui.add_checkbox("Cut open", True)
            self.least = gui.add_slider(
                "Least share", 0.0, 0.99, 0.01, 0.0, hint="Hides places that fewer orientations reach"
            )
        for control in (self.shown, self.open, self.least):
            control.on_update(lambda _: self.draw())
        self.draw()
        if len(found.points):
            point_camera(self._server, self._scenery.model, self._scenery.puppet.size, found.points)

    def draw(self) -> None:
        """Draw the map with the settings of the controls."""
        if self.map is None:
            return
        away = find_direction(self._scenery.model, "fit")
        away[self._scenery.model.up_axis] = 0.0
        axis = int(np.argmax(np.abs(away)))
        cut = (axis, int(np.sign(away[axis]))) if self.open.value else None
        faces = find_faces(self.map, least=float(self.least.value), cut=cut)
        with self._server.atomic():
            self.clear()
            for k, (color, vertices, triangles, _) in enumerate(group_faces(faces) if self.shown.value else ()):
                red, green, blue = (round(255 * x) for x in color)
                node = self._server.scene.add_mesh_simple(
                    f"/reach_map/{k}",
                    vertices.astype(np.float32),
                    triangles,
                    color=(red, green, blue),
                    flat_shading=True,
                    cast_shadow=False,
                    receive_shadow=False,
                )
                self._nodes.append(node)

    def clear(self) -> None:
        """Remove the drawing."""
        for node in self._nodes:
            node.remove()
        self._nodes.clear()
