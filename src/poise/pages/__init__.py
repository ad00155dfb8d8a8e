"""Pages: a scene in one HTML file that plays in any browser, offline.

The viewer is written by hand (`viewer.js`, `player.js`): it needs few kinds of solids, meshes, a soft shadow and a
slider, about one percent of a 3D engine, so a page of a pose is about 50 kB. The content security policy of a page
blocks all network requests.
"""

from poise.pages.page import Page, show

__all__ = ["Page", "show"]
