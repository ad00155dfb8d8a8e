"""One attempt to read arbitrary bytes: it must end in a result or in a `FormatError`, below the net of `poise.load`."""

import warnings
from typing import Any

import numpy as np

from poise.errors import FormatError, MissingExtra, PoiseError
from poise.files.source import Source
from poise.formats import registry
from poise.formats.options import ReadOptions
from poise.model import Model

__all__ = ["attempt"]


def attempt(name: str, data: bytes, verb: str = "read_model", body: Model | None = None) -> Any:
    """Return what the reader for a file of this name makes of these bytes, for a body if one is given; else None.

    Errors of the builder may come through a reader (``poise.load`` gives them the path); any other exception is a
    finding.
    """
    source = Source(name, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overflow in numpy is a finding too
        try:
            module = registry.find_reader(source, verb)
            result = getattr(module, verb)(source, ReadOptions(model=body))
        except (FormatError, MissingExtra, PoiseError):
            return None
        model = getattr(result, "model", result)
        q = result.q[:1] if verb == "read_motion" else model.rest
        if len(q):
            assert np.isfinite(model.fk(q)).all(), "a model that was read has no finite pose"
    return result
