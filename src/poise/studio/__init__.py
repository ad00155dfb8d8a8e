"""The studio: a body in the browser, to be dragged. Pictures are in `poise.pictures`, pages in `poise.pages`."""

from poise.studio.web.studio import Studio

__all__ = ["Studio"]
