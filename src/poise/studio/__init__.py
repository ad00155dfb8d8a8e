"""Pictures. matplotlib is loaded when one is drawn; the message says what to type where it is missing."""

from poise.studio.plots import plot_history, plot_pose, plot_race
from poise.studio.stick import Camera

__all__ = ["Camera", "plot_history", "plot_pose", "plot_race"]
