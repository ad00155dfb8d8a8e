"""Search for the mesh files of a robot: ``package://name/meshes/link.stl``, ``file://``, or a path.

A package is searched, in this order, in the folders of `package_path=`, above the file (a folder of its name, or next
to one), in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and among installed Python packages (such as `example-robot-data`).
If no folder has its name, the rest of the path is tried from the folders directly above the file, because downloaded
packages are often renamed. Only files with a mesh suffix are considered and, for an uploaded file, only those inside
the upload.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from poise.formats.meshes.reader import MESHES
from poise.model.geometry.looks import LookSource

__all__ = ["PackageFinder"]

SCHEME = re.compile(r"(package|model|file)://", re.IGNORECASE)
PACKAGE_NAME = re.compile(rb"<name>\s*([\w.-]{1,200})\s*</name>")
HIGHEST = 12  # maximum folders above the file that are searched
NEAR = 4  # of these, the folders from which a path without its package is tried
LONGEST = 4096


class PackageFinder:
    """A finder of the meshes of one body; caches the folders of packages, and records missing files.

    Attributes:
        about: The source of the body's appearance, with the path of its file.
        missing: The references that were not found.
    """

    def __init__(self, about: LookSource) -> None:
        self.about = about
        self.missing: list[str] = []
        self.within = Path(about.within).resolve() if about.within else None
        self.folder = Path(about.path).parent
        self._packages: dict[str, list[Path]] = {}
        above = [self.folder, *self.folder.parents][:HIGHEST]
        self._own = next((folder for folder in above if read_package_name(folder)), self.folder)
        self._readable = {self.folder: False, self._own: False, **dict.fromkeys(map(Path, about.packages), True)}

    def find(self, reference: str, suffixes: tuple[str, ...] = MESHES) -> Path | None:
        """Return the file of a reference, or None if it is missing or must not be opened."""
        plain = reference.replace("\\", "/")
        if len(plain) > LONGEST or "\0" in plain or Path(plain).suffix.lower() not in suffixes:
            self.note_missing(reference)
            return None
        for candidate in self.list_candidates(plain):
            if self.may_open(candidate):
                return candidate
        self.note_missing(reference)
        return None

    def note_missing(self, reference: str) -> None:
        """Record a reference that was not found."""
        if reference not in self.missing:
            self.missing.append(reference)

    def list_candidates(self, plain: str) -> Iterator[Path]:
        """Yield the possible paths of a reference, most likely first."""
        scheme = SCHEME.match(plain)
        if scheme is None:
            yield self.folder / plain
            given = Path(self.about.given).parent
            if Path(plain).is_relative_to(given):  # as the MJCF reader writes it: from the working directory
                yield self.folder / Path(plain).relative_to(given)
            return
        rest = plain[scheme.end() :]
        bare = rest.lstrip("/")  # some files have package:///name
        if scheme[1].lower() == "file":
            yield Path(unquote(rest if rest.startswith("/") else f"/{rest}"))
            return
        name, _, inside = bare.partition("/")
        for root in self.find_packages(name):
            yield root / inside
        for above in [self.folder, *self.folder.parents][:NEAR]:
            yield above / inside
            if rest.startswith("/"):  # no package name: a path relative to the file, as onshape-to-robot writes it
                yield above / bare

    def find_packages(self, name: str) -> list[Path]:
        """Return the folders that may be the package with this name."""
        if name in ("", ".", ".."):
            return []
        if name not in self._packages:
            found: dict[Path, None] = {}
            for place in self.list_folders():
                for root in (place, place / name):
                    if root.name == name and is_folder(root):
                        found[root] = None
            self._packages[name] = list(found)
        return self._packages[name]

    def list_folders(self) -> Iterator[Path]:
        """Yield the folders that are searched for packages."""
        yield from (Path(folder) for folder in self.about.packages)
        yield from [self.folder, *self.folder.parents][:HIGHEST]
        yield from self.list_known()

    def list_known(self) -> Iterator[Path]:
        """Yield the package folders from the user, from ROS, and of installed packages."""
        yield from (Path(folder) for folder in self.about.packages)
        if self.within is None:
            yield from (Path(folder) for folder in read_folders("ROS_PACKAGE_PATH"))
            yield from (Path(folder) / "share" for folder in read_folders("AMENT_PREFIX_PATH"))
            yield Path(sys.prefix) / "share"
            yield from (Path(entry) / "cmeel.prefix" / "share" for entry in sys.path if entry)

    def find_package(self, name: str) -> Path | None:
        """Return a package folder whose text may be read: it has a package.xml, or is in a trusted folder."""
        known = set(self.list_known())
        own = [self._own] if read_package_name(self._own) == name else []
        for root in own + sorted(self.find_packages(name), key=lambda root: not read_package_name(root)):
            trusted = bool(known & {root, root.parent})
            inside = self.within is None or root.resolve().is_relative_to(self.within)
            if inside and (trusted or read_package_name(root)):
                self._readable.setdefault(root, trusted)
                return root
        return None

    def may_read(self, path: Path) -> bool:
        """Return whether text may be read from a file: in the body's folder, its package, or a found package.

        Links may lead out of trusted folders only, because ROS installs links. Hidden files are never read.
        """
        if not self.may_open(path):
            return False
        for root, trusted in self._readable.items():
            end, start = (path, root) if trusted else (path.resolve(), root.resolve())
            if end.is_relative_to(start) and not any(part.startswith(".") for part in end.relative_to(start).parts):
                return True
        return False

    def may_open(self, path: Path) -> bool:
        """Return whether the path is a regular file that may be opened."""
        try:
            if not path.is_file():
                return False
            return self.within is None or path.resolve().is_relative_to(self.within)
        except (OSError, ValueError, RuntimeError):
            return False

    def describe_missing(self) -> str:
        """Return a message with the missing files and the paths that were searched."""
        count = len(self.missing)
        some = ", ".join(repr(shorten(name)) for name in self.missing[:3]) + (", ..." if count > 3 else "")
        one, more = ("mesh was", "meshes were") if are_meshes(self.missing) else ("file was", "files were")
        first = f"{count} {more if count > 1 else one} not found: {some}."
        names = {m[2] for name in self.missing if (m := re.match(r"(package|model):///*([^/]*)", name))}
        if self.within is not None:
            return f"{first} Only files of the same upload are searched."
        if not names:
            return f"{first} Searched next to the file, in {str(self.folder)!r}."
        return f"{first} {self.describe_search(min(names))}"

    def describe_search(self, package: str) -> str:
        """Return a sentence: the package was found but lacks the file, or the folders that were searched."""
        found = self.find_packages(package)
        if found:
            return f"The package {package!r} in {str(found[0].parent)!r} does not have it."
        looked = [f"in and above {str(self.folder)!r}", *(repr(folder) for folder in self.about.packages)]
        unset = "" if os.environ.get("ROS_PACKAGE_PATH") else " (ROS_PACKAGE_PATH is not set)"
        looked += [] if unset else ["in ROS_PACKAGE_PATH"]
        return (
            f"Searched for the package {package!r} {', '.join(looked)}{unset}."
            f' Say where it is: poise.load(path, package_path=["folder that holds {package}"]) or --package-path.'
        )


def are_meshes(names: list[str]) -> bool:
    """Return whether all of these names have a mesh suffix."""
    return all(Path(name).suffix.lower() in MESHES for name in names)


def read_package_name(folder: Path) -> str:
    """Return the name of the ROS package in a folder, or ""."""
    for file in (folder / "package.xml", folder / "manifest.xml"):
        try:
            if file.is_file():
                with file.open("rb") as stream:
                    found = PACKAGE_NAME.search(stream.read(LONGEST))
                return found[1].decode("ascii") if found else folder.name
        except OSError:
            continue
    return ""


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; False for an invalid name."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_folders(variable: str) -> list[str]:
    """Return the folders in an environment variable."""
    return [folder for folder in os.environ.get(variable, "").split(os.pathsep) if folder]


def shorten(text: str) -> str:
    """Return the end of a long path."""
    return text if len(text) <= 60 else f"...{text[-57:]}"
