"""Notebook cells: an interactive page of a body; a model with a table of its joints."""

from base64 import b64encode

from poise.errors import PoiseError
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.model.text import draw_table
from poise.pages.page import show
from poise.pictures import plot

__all__ = ["write_cell"]

MOST_CHARACTERS = 500_000  # largest page kept in a notebook; bodies with larger meshes are shown as a still picture
MOST_FRAMES = 1000  # largest body that is drawn


def write_cell(thing: object) -> str | None:
    """Return the cell of a model, a pose or a motion in HTML, or None if there is nothing to draw."""
    if isinstance(thing, Model):
        return write_model(thing)
    try:
        return show(thing, browser=False)._repr_html_()
    except PoiseError:
        return None


@keep_with_model
def write_model(model: Model) -> str:
    """Return the body, if it can be drawn, and a table of its joints."""
    body, table = draw_body(model), draw_table(model)
    return f"{body}<details><summary>Joints</summary>{table}</details>" if body else table


def draw_body(model: Model) -> str:
    """Return the body as a small page or else as a still picture; an empty string if neither can be made."""
    if len(model.frames) > MOST_FRAMES:
        return ""
    try:
        page = show(model, browser=False)
        if len(page.html) <= MOST_CHARACTERS:
            return page._repr_html_()
        png = plot(model)._repr_png_()
    except PoiseError:  # nothing to draw, or matplotlib is not installed
        return ""
    return f'<img src="data:image/png;base64,{b64encode(png).decode()}">'
