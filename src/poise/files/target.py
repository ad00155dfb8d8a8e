"""Atomic writing: a file is written under a temporary name next to its target, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from poise.errors import FormatError

__all__ = ["check_target", "replace_file"]


def check_target(path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Return the target file of a path, with links resolved.

    Raises:
        FormatError: The folder is missing, the target is a folder, or it exists and `overwrite` is False.
    """
    text = os.fspath(path)
    try:
        target = Path(text)
        if target.is_symlink():
            target = target.resolve()
        if target.is_dir():
            raise FormatError("is a folder; name a file inside it.", text)
        if not overwrite and target.exists():
            raise FormatError("exists already; remove it, or replace it by overwrite=True.", text)
        if not target.parent.is_dir():
            raise FormatError(f"cannot be written: there is no folder {str(target.parent.absolute())!r}.", text)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be written: {error}.", text) from None
    return target


@contextmanager
def replace_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary path; it is renamed to `path` if the block succeeds, and deleted otherwise.

    The temporary file has the same suffix and folder, so that the rename is atomic.

    Raises:
        FormatError: `check_target` rejects the path, or the file cannot be written.
    """
    target, text = check_target(path, overwrite=overwrite), os.fspath(path)
    import secrets  # slow to import, and needed only for writing

    temporary = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    except FormatError as error:
        if error.path in ("", str(temporary)):
            raise FormatError(error.message, text, error.line) from error
        raise
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror or error}.", text) from error
    finally:
        temporary.unlink(missing_ok=True)
