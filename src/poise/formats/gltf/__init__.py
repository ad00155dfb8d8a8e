"""glTF 2.0, GLB and VRM (0.x and 1.0): reader and writer of characters and clips.

`body` converts nodes to joints, and `clips` samples animations. `writer` writes a pose or a motion into the character's
own file, and `skeleton` writes any body as a bare skeleton. Only NumPy is needed.
"""

import re

from poise.formats.gltf.reader import read_model, read_motion
from poise.formats.gltf.writer import write_model, write_motion, write_pose

__all__ = [
    "NAME",
    "SUFFIXES",
    "looks_like",
    "read_model",
    "read_motion",
    "write_model",
    "write_motion",
    "write_pose",
]

NAME = "glTF"
SUFFIXES = (".gltf", ".glb", ".vrm")


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like a GLB, or like JSON with a key of glTF."""
    if head[:4] == b"glTF":
        return True
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    keys = rb'"(asset|nodes|scenes|bufferViews|accessors|buffers|meshes|extensionsUsed)"\s*:'
    return text[:1] == b"{" and re.search(keys, text) is not None
