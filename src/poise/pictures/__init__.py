"""Pictures with matplotlib, and the shared drawing of bodies, goals and reach maps.

`plot` (also `poise.plot`) draws any Poise object. If a package is missing, the error names it.
"""

from poise.pictures.body.stick import Camera
from poise.pictures.picture import Picture, plot
from poise.pictures.plots import plot_history, plot_pose, plot_race

__all__ = [
    "Camera",
    "Picture",
    "plot",
    "plot_history",
    "plot_pose",
    "plot_race",
]
