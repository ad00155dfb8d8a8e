"""Bodies from names; from files as their readers arrive."""

from __future__ import annotations

from os import PathLike, fspath

from poise import models
from poise.errors import FormatError, name_not_found
from poise.model import Model

__all__ = ["load"]


def load(path_or_name: str | PathLike[str]) -> Model:
    """A model: a built-in body by its name.

    Raises:
        NameNotFound: No built-in body has this name.
        FormatError: It looks like a file; no reader for files exists yet.
    """
    text = fspath(path_or_name)
    if text in models.names():
        return models.build(text)
    if "." in text or "/" in text or "\\" in text:
        raise FormatError("this version reads no files yet; poise.models.names() lists the bodies it has.", text)
    raise name_not_found("built-in body", text, models.names())
