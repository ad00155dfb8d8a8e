"""JSON files that state their kind, such as `{"kind": "poise contacts", ...}`."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

from poise.errors import FormatError

__all__ = ["read_kind"]


def read_kind(path: str | PathLike[str], kind: str) -> dict[str, Any]:
    """Return the values of a JSON file with `"kind": kind`.

    Raises:
        FormatError: The file is missing, is not JSON, or is of another kind.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}. Name the JSON file of a {kind}.", str(path)) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}.", str(path)) from None
    if not isinstance(values, dict) or values.get("kind") != kind:
        raise FormatError(f'is of another kind: it must contain "kind": "{kind}".', str(path))
    return values
