"""The clips of a style as arrays of an NPZ file: the body, and for each part its share and frames.

kind "style" | model (text) | shares (parts,) | neighbours | weight | q0, q1, ... (frames, nq)
"""

from collections.abc import Sequence
from os import PathLike, fsdecode
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatError, PoiseError
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats.plain_values import dump_model, parse_model
from poise.kinematics import Motion
from poise.model import Model

__all__ = ["read_style", "write_style_arrays"]

KIND = "style"
MAX_PARTS = 100


def write_style_arrays(model: Model, parts: Sequence[tuple[float, Floats]]) -> dict[str, Any]:
    """Return the arrays of a style's parts."""
    frames = {f"q{k}": q for k, (_, q) in enumerate(parts)}
    return {"kind": KIND, "model": dump_model(model), "shares": np.array([s for s, _ in parts]), **frames}


def read_style(path: str | PathLike[str]) -> tuple[list[tuple[float, Motion]], dict[str, float]]:
    """Return the parts of a style, each with its share, and its settings `neighbours` and `weight`.

    Raises:
        FormatError: The file is missing, damaged, or not a style.
    """
    source = Source.open(fsdecode(path))
    arrays = read_arrays(source)
    if str(arrays.get("kind", "")) != KIND:
        raise FormatError("holds no style; `poise.save(style, path)` writes one.", source.path)
    try:
        model = parse_model(str(arrays["model"]))
        shares = np.asarray(arrays["shares"], dtype=np.float64)
        if shares.ndim != 1 or not 1 <= len(shares) <= MAX_PARTS or not (shares > 0).all():
            raise ValueError("its shares are not positive numbers, one a part")
        parts = [(float(share), Motion(model, arrays[f"q{k}"])) for k, share in enumerate(shares)]
        rest = {name: float(arrays[name]) for name in ("neighbours", "weight")}
    except (PoiseError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"is not a complete style: {error}.", source.path) from None
    return parts, rest
