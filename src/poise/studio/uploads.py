"""Files that a viewer opens: a body, a motion, or a saved pose. They are read from a folder that is thrown away."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from poise.errors import FormatError, FormatWarning, PoiseError
from poise.formats import load, load_motion
from poise.studio.saving import pose_from_json

if TYPE_CHECKING:
    from poise.studio.server import Studio

__all__ = ["opened", "plain_name"]

MOTIONS = (".bvh", ".npz", ".csv", ".parquet", ".glb", ".gltf")


def plain_name(name: str) -> str:
    """A file's own name: what a browser sends may be no path."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return last if last not in ("", ".", "..") else "file"


def opened(studio: Studio, name: str, content: bytes) -> None:
    """Shows what is in a file.

    Raises:
        FormatError: It cannot be read; what is shown stays.
    """
    if name.lower().endswith(".json") and b'"poise"' in content[:4096]:
        studio.pose = pose_from_json(studio.model, content.decode("utf-8", "replace"))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / plain_name(name)
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # they are in model.notes, which the viewer is told
            try:
                read(studio, path)
            except FormatError as error:  # the viewer's file has a name, and no folder here
                where = path.name if error.path in ("", str(path)) else Path(error.path).name
                raise FormatError(error.message.replace(f"{folder}/", ""), where, error.line) from None


def read(studio: Studio, path: Path) -> None:
    """A motion brings its own body; tables of numbers move the one that is shown."""
    suffix = path.suffix.lower()
    motion = None
    if suffix in MOTIONS:
        table = suffix in (".csv", ".npz", ".parquet")
        try:
            motion = load_motion(path, model=studio.model) if table else load_motion(path)
        except FormatError:
            if table:
                raise
        except PoiseError:
            motion = None
    if motion is None or not len(motion):
        studio.show(load(path))
        return
    if motion.model != studio.model:
        studio.show(motion.model)
    studio.panel.motion.take(motion)
