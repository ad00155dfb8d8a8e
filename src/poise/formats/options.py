"""The options for reading a file."""

from dataclasses import dataclass
from pathlib import Path

from poise.files.source import Source
from poise.model.geometry.looks import LookSource

__all__ = ["ReadOptions", "look_source"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options for reading a file.

    Attributes:
        base: "fixed", or "free": adds a joint with six degrees of freedom at the root.
        scale: Metres per unit of the file; "auto" guesses it from the size and records the guess in the notes.
        up: "y" or "z": rotate the body so that this axis points up. None keeps the file's axes.
        clip: The name or index of the animation; None for the first.
        model: The body of a motion, if the file has none.
        model_file: The path of that body's file, if the caller gave it instead of the body.
        package_path: Folders that are searched for the packages with a robot's meshes.
        within: The folder outside of which no referenced file is opened; "" for no restriction.
        srdf: The SRDF of a URDF; None to search next to it.
        keep_rest: Whether to keep a first frame of a motion that only shows the rest pose.
    """

    base: str = "fixed"
    scale: float | str = 1.0
    up: str | None = None
    clip: str | int | None = None
    model: object | None = None
    model_file: str = ""
    package_path: tuple[str, ...] = ()
    within: str = ""
    srdf: str | None = None
    keep_rest: bool = False


def look_source(source: Source, options: ReadOptions) -> LookSource:
    """Return the source of the appearance of a body read from this file."""
    scale = options.scale if isinstance(options.scale, (int, float)) else 1.0
    packages = tuple(str(Path(folder).absolute()) for folder in options.package_path)
    return LookSource(
        str(Path(source.path).absolute()),
        source.path,
        float(scale),
        options.up,
        packages=packages,
        within=options.within,
    )
