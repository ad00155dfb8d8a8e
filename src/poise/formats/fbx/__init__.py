"""FBX files: nodes, bones, the bind pose, and clips as keyframes baked at the file's frame rate. Meshes are not read.

ufbx parses them in a second process (`worker`), with pivots, rotation orders and inherited scales as FBX has them.
"""

from poise.files.source import Source
from poise.formats.fbx import worker
from poise.formats.gltf import reader
from poise.formats.node_scene import parse_apart
from poise.formats.options import ReadOptions
from poise.kinematics import Motion
from poise.model import Model

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_model", "read_motion"]

NAME = "FBX"
SUFFIXES = (".fbx",)


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like binary or text FBX."""
    return head.startswith((b"Kaydara FBX Binary", b"; FBX"))


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the body of an FBX file.

    Raises:
        FormatError: ufbx rejects the file, or it has no nodes.
        MissingExtra: ufbx is not installed.
    """
    return reader.read_model(parse(source, options), options)


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read a clip of an FBX file on its own body; raises as `read_model`, and if the clip does not exist."""
    return reader.read_motion(parse(source, options), options)


def parse(source: Source, options: ReadOptions) -> Source:
    """Return the file's nodes, bones and clips as a GLB."""
    return parse_apart(worker.__file__, source.data, source, options, ("ufbx", "fbx")).pack()
