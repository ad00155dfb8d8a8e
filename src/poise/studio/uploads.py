"""Files that a viewer opens: a body, a motion, or a saved pose. They are read from a folder that is thrown away."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path, PurePosixPath, PureWindowsPath

from poise.errors import FormatError, FormatWarning, PoiseError
from poise.formats import load, load_motion
from poise.studio.saving import pose_from_json
from poise.studio.session import Session

__all__ = ["open_upload", "strip_folders"]

MOTIONS = (".bvh", ".npz", ".csv", ".parquet", ".glb", ".gltf")


def strip_folders(name: str) -> str:
    """Return a file's own name: what a browser sends may be no path."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return last if last not in ("", ".", "..") else "file"


def open_upload(session: Session, name: str, content: bytes) -> None:
    """Show what is in a file.

    Raises:
        FormatError: It cannot be read; what is shown stays.
    """
    if name.lower().endswith(".json") and b'"poise"' in content[:4096]:
        session.pose = pose_from_json(session.model, content.decode("utf-8", "replace"))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / strip_folders(name)
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # they are in model.notes, which the viewer is told
            try:
                open_path(session, path)
            except FormatError as error:  # the viewer's file has a name, and no folder here
                where = path.name if error.path in ("", str(path)) else Path(error.path).name
                raise FormatError(error.message.replace(f"{folder}/", ""), where, error.line) from None


def open_path(session: Session, path: Path) -> None:
    """Show what is in a file on disk: a motion brings its own body, tables of numbers move the one that is shown."""
    suffix = path.suffix.lower()
    motion = None
    if suffix in MOTIONS:
        table = suffix in (".csv", ".npz", ".parquet")
        try:
            motion = load_motion(path, model=session.model) if table else load_motion(path)
        except FormatError:
            if table:
                raise
        except PoiseError:
            motion = None
    if motion is None or not len(motion):
        session.show(load(path))
        return
    if motion.model != session.model:
        session.show(motion.model)
    session.player.open(motion)
