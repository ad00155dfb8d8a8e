"""Pictures, pages and the studio.

`plot` draws with matplotlib, `show` makes a page that plays in any browser, offline; `poise.plot` and `poise.show` are
these two. `Studio` is a body in the browser, to be dragged. What needs a package says which when it is called.
"""

from poise.studio.cloud import ReachCloud, reach_cloud
from poise.studio.html.pages import Page, show
from poise.studio.picture import Picture, plot
from poise.studio.plots import plot_history, plot_pose, plot_race
from poise.studio.server import Studio
from poise.studio.stick import Camera

__all__ = [
    "Camera",
    "Page",
    "Picture",
    "ReachCloud",
    "Studio",
    "plot",
    "plot_history",
    "plot_pose",
    "plot_race",
    "reach_cloud",
    "show",
]
