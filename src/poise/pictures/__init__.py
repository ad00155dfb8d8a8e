"""Pictures with matplotlib, and the look of bodies, goals and reach maps wherever they are drawn.

`plot` draws anything that Poise makes, and is also `poise.plot`. It says which package it needs where one is missing.
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
