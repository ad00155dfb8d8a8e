"""The studio: a body in the browser, to be dragged.

Pictures and pages have rooms of their own, `poise.pictures` and `poise.pages`; their names can be had here as well.
"""

from poise.pages import Page, show
from poise.pictures import Camera, Picture, plot, plot_history, plot_pose, plot_race
from poise.studio.web.studio import Studio

__all__ = [
    "Camera",
    "Page",
    "Picture",
    "Studio",
    "plot",
    "plot_history",
    "plot_pose",
    "plot_race",
    "show",
]
