"""Cases of files: each is rejected with a FormatError, or read with a warning and a note."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import poise
from budget import within
from poise.errors import FormatError, FormatWarning

__all__ = ["check_rejected", "check_warned", "ignore_warnings", "load_quietly", "written"]


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Issue no FormatWarning in a block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        yield


def written(path: Path, content: str | bytes) -> Path:
    """Write a file, with the folders above it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def check_rejected(
    path: Path,
    content: str | bytes,
    words: str = "",
    *,
    read: Callable[..., Any] = poise.load,
    seconds: float = 10.0,
    **options: Any,
) -> FormatError:
    """Return the error of a file that must be rejected in time, by its path, with words that match and are few."""
    written(path, content)
    with ignore_warnings(), within(seconds), pytest.raises(FormatError, match=words or None) as caught:
        read(path, **options)
    assert caught.value.path == str(path)
    assert str(caught.value).count(str(path)) == 1
    assert len(str(caught.value)) < 2000
    assert "could not be read" not in str(caught.value)  # nothing fell through to the net
    return caught.value


def check_warned(path: Path, content: str | bytes, words: str) -> poise.Model:
    """Return a body that must be read with a warning at the caller's line, and a note of the same words."""
    written(path, content)
    with pytest.warns(FormatWarning, match=words) as caught:
        model = poise.load(path)
    assert all(warning.filename == __file__ for warning in caught)
    assert any(re.search(words, note) for note in model.notes)
    return model


def load_quietly(path: Path, content: str | bytes | None = None, **options: Any) -> poise.Model:
    """Return the body of a file, without its warnings."""
    if content is not None:
        written(path, content)
    with ignore_warnings():
        return poise.load(path, **options)
