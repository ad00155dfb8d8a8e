"""USD files (usda, usdc, usdz): robots of UsdPhysics (`physics`), and otherwise skeletons of UsdSkel with their clips.

usd-core parses them, in a second process (`worker`), which follows references to files in its folder and below.
Meshes are not read.
"""

from pathlib import Path

from poise.files.source import Source
from poise.formats.gltf import reader
from poise.formats.node_scene import NodeScene, parse_apart
from poise.formats.options import ReadOptions
from poise.formats.usd import worker
from poise.formats.usd.physics import build
from poise.kinematics import Motion
from poise.model import Model

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_model", "read_motion"]

NAME = "USD"
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like a text or binary layer."""
    return head.startswith((b"#usda", b"PXR-USDC"))


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the robot or character of a USD file.

    Raises:
        FormatError: usd-core rejects the file, or it has neither joints nor skeletons.
        MissingExtra: usd-core is not installed.
    """
    scene = parse(source, options)
    if scene.values["joints"]:
        return build(scene, source, options)
    if not scene.values["nodes"]:
        raise source.make_error("has neither joints (UsdPhysics) nor skeletons (UsdSkel).")
    return reader.read_model(scene.pack(), options)


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read an animation of UsdSkel on its own skeleton; raises as `read_model`, and if the clip does not exist."""
    scene = parse(source, options)
    if not scene.values["nodes"]:
        raise source.make_error("has no skeleton (UsdSkel), so it has no motion; load() reads its body.")
    return reader.read_motion(scene.pack(), options)


def parse(source: Source, options: ReadOptions) -> NodeScene:
    """Return what the worker finds in the file."""
    try:
        path = str(Path(source.path).absolute()).encode()
    except UnicodeEncodeError:
        raise source.make_error("has a path that is not UTF-8, which usd-core cannot open; rename it.") from None
    return parse_apart(worker.__file__, path, source, options, ("pxr", "usd"))
