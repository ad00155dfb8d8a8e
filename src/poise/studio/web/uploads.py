"""Files that a viewer uploads: a body, a motion, a saved pose, or a ZIP of a file and its resources.

Each is read from its own folder, which is deleted when another body is opened. A ZIP is never unpacked outside that
folder, and only if it is within the limits.
"""

import io
import shutil
import warnings
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from poise.errors import FormatError, FormatWarning
from poise.files.zips import DAMAGES, open_member
from poise.studio.downloads import pose_from_json
from poise.studio.session import Session
from poise.studio.showable import find_body

__all__ = ["open_upload", "strip_folders", "unpack", "unpack_all"]

MAX_FILES = 2000
MAX_UNPACKED_BYTES = 256 << 20  # of all files of a ZIP together
CHUNK_BYTES = 1 << 18  # bytes to unpack at once


def strip_folders(name: str) -> str:
    """Return the file name without folders, which a browser may send."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return last if last not in ("", ".", "..") else "file"


def open_upload(session: Session, name: str, content: bytes) -> None:
    """Show an uploaded file.

    Raises:
        FormatError: The file cannot be read; the previous body stays.
    """
    if name.lower().endswith(".json") and b'"poise"' in content[:4096]:
        session.pose = pose_from_json(session.given, content.decode("utf-8", "replace"))
        return
    folder = session.make_folder()
    try:
        show_file(session, write_upload(Path(folder), strip_folders(name), content), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    session.keep_folder(folder)


def write_upload(folder: Path, name: str, content: bytes) -> Path:
    """Write an uploaded file to a folder, unpacking a ZIP, and return the path of the body."""
    if name.lower().endswith(".zip"):
        return unpack(content, folder, name)
    path = folder / name
    path.write_bytes(content)
    return path


def show_file(session: Session, path: Path, folder: str) -> None:
    """Show an uploaded file; error messages contain its name without the folders of this machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)  # listed in model.notes, which the viewer sees
        try:
            session.show(path, within=folder)
        except FormatError as error:
            where = path.name if error.path in ("", str(path)) else Path(error.path).name
            raise FormatError(error.message.replace(f"{folder}/", ""), where, error.line) from None


def unpack(content: bytes, folder: Path, name: str) -> Path:
    """Unpack a ZIP into a folder and return its body file, see `find_body`.

    Raises:
        FormatError: It is not a ZIP, is too large, contains a path outside of the folder, or contains no body.
    """
    unpack_all(content, folder, name)
    return find_body(folder, name)


def unpack_all(content: bytes, folder: Path, name: str) -> None:
    """Unpack a ZIP into a folder.

    Raises:
        FormatError: It is not a ZIP, is too large, or contains a path outside of the folder.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            files = [info for info in packed.infolist() if not info.is_dir()]
            check_zip(files, folder, name)
            for info in files:
                path = folder / info.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                with open_member(packed, info) as stream, path.open("wb") as file:
                    shutil.copyfileobj(stream, file, CHUNK_BYTES)
    except DAMAGES as error:
        raise FormatError(f"cannot be unpacked: {error}.", name) from None


def check_zip(files: list[zipfile.ZipInfo], folder: Path, name: str) -> None:
    """Raise `FormatError` if a ZIP is too large, or contains links or paths outside of the folder."""
    total = sum(info.file_size for info in files)
    if len(files) > MAX_FILES or total > MAX_UNPACKED_BYTES:
        size = f"{len(files)} files of {total / 2**20:.0f} MiB"
        raise FormatError(f"holds {size}; {MAX_FILES} files of {MAX_UNPACKED_BYTES >> 20} MiB are the most.", name)
    for info in files:
        inside = (folder / info.filename).resolve().is_relative_to(folder.resolve())
        link = (info.external_attr >> 16) & 0o170000 == 0o120000
        if link or not inside or "\\" in info.filename:
            raise FormatError(f"holds {info.filename!r}, which leads out of it.", name)
