"""Pages: a scene in one HTML file that plays in any browser, offline.

The viewer is written by hand (`viewer.js`, `player.js`): it needs capsules, a soft shadow and a slider, a hundredth of
what a 3-D engine brings, and so a page of a pose is some 40 kB. A page forbids itself every request by its content
security policy.
"""

from poise.pages.page import Page, show

__all__ = ["Page", "show"]
