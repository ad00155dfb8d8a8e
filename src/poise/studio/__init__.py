"""The studio: interactive posing in the browser. Pictures are in `poise.pictures`, pages in `poise.pages`."""

from poise.studio.web.studio import Studio

__all__ = ["Studio"]
