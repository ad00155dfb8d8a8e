"""The reader of BVH, Biovision's motion capture format: a tree of joints and rows of numbers.

Reading keeps every number of the file; `poise.formats.bvh.model` describes the conversion of channels. The parser is
our own, because pybvh and bvhio require Euler orders without repetition and six channels at the root. The semantics
are Biovision's (Maddock and Meredith, "Motion Capture File Formats Explained", 2001): a joint's channels are T R R R,
with intrinsic rotations in the listed order, in degrees.
"""

import codecs
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.errors import PoiseError
from poise.files.source import Source
from poise.formats.bvh.model import Columns, build
from poise.formats.bvh.rows import BvhClip, find_line, read_clip
from poise.formats.bvh.tree import BvhNode, read_tree
from poise.formats.bvh.writer import write_model, write_motion, write_pose
from poise.formats.options import ReadOptions
from poise.formats.roles import give_roles
from poise.kinematics import Motion
from poise.model import Model
from poise.model.derive import with_example_poses

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_model", "read_motion", "write_model", "write_motion", "write_pose"]

NAME = "BVH"
SUFFIXES = (".bvh",)

MAX_HIERARCHY_BYTES = 1 << 24  # bytes before the word MOTION
SHOWN = 100  # pairs of frames of a clip that become example poses
SMALL_POSITION = 0.01  # relative to the longest offset: smaller positions below the root are added to the offsets
_MOTION = re.compile(rb"(?:^|[\n}])[ \t]*(MOTION)(?=\s|$)", re.IGNORECASE)


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like BVH."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return text[:9].lower() == b"hierarchy"


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the body of a BVH file; in its rest pose all angles are zero.

    Raises:
        FormatError: The file, or its motion, is malformed.
    """
    return read(source, options)[0]


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read the motion of a BVH file, on its own body.

    Raises:
        FormatError: The file is malformed, or has no frames.
    """
    if options.clip not in (None, 0, Path(source.path).stem):
        raise source.make_error("contains one clip; leave clip= out.")
    model, columns, clip = read(source, replace(options, base="fixed"))  # the rows contain the motion of the root
    if clip is None:
        raise source.make_error("has no MOTION; load() reads its body.", source.data.count(b"\n") + 1)
    if not len(clip.rows):
        raise source.make_error("has no frames (Frames: 0); load() reads its body.", clip.line)
    try:
        motion = Motion(model, columns.make_configurations(clip.rows), read_rate(clip.frame_time))
    except PoiseError as error:
        raise source.make_error(f"its rows are not a valid motion: {error}", clip.line) from error
    if options.model is not None and options.model != model:
        raise source.make_error("contains a body that differs from model=; leave model= out.")
    return motion


def read(source: Source, options: ReadOptions) -> tuple[Model, Columns, BvhClip | None]:
    """Return the model, the columns of its q, and the clip."""
    data = read_plain_bytes(source)
    found = _MOTION.search(data, 0, MAX_HIERARCHY_BYTES)
    if not found and len(data) > MAX_HIERARCHY_BYTES:
        raise source.make_error(
            f"has no MOTION in its first {MAX_HIERARCHY_BYTES} bytes.", find_line(data, MAX_HIERARCHY_BYTES)
        )
    head = data[: found.start(1)] if found else data
    nodes = read_tree(source, replace(source, data=head).read_text())
    clip = None
    if found:
        clip = read_clip(source, data, found.end(1), sum(len(node.channels or ()) for node in nodes))
    if clip is None:
        source.note_oddity("has no MOTION, so only the body was read")
    elif not len(clip.rows):
        source.note_oddity("has no frames, so only the body was read", clip.line)
    else:
        nodes = find_lengths(source, nodes, clip.rows[0])
        clip = replace(clip, rows=keep_offsets(source, nodes, clip.rows))
    model, columns = build(source, nodes, options)
    model = add_examples(model, columns, clip)
    return give_roles(model, source), columns, clip


def add_examples(model: Model, columns: Columns, clip: BvhClip | None) -> Model:
    """Return the model with example poses: pairs of consecutive frames of the clip, including the first frame."""
    if clip is None or not len(clip.rows):
        return model
    first = np.unique(np.linspace(0, max(len(clip.rows) - 2, 0), SHOWN).round().astype(np.intp))
    some = np.stack([first, first + 1], axis=1).ravel() if len(clip.rows) > 1 else first
    for rows in (clip.rows[some], clip.rows[:1].copy()):
        with suppress(PoiseError):
            return with_example_poses(model, columns.make_configurations(rows))
    return model


def find_lengths(source: Source, nodes: list[BvhNode], first: NDArray[np.float64]) -> list[BvhNode]:
    """Return the joints; if all offsets below the root are zero, take the offsets from the first frame.

    Position channels replace offsets, so some programs write no offsets; the rest pose would then be a single point.
    """
    written = [
        offset for node in nodes if node.parent >= 0 for offset in (node.offset or [], *(e[0] for e in node.ends))
    ]
    if any(map(any, written)):
        return nodes
    out, at = [], 0
    for node in nodes:
        channels = node.channels or ()
        offset = list(node.offset or [0.0] * 3)
        for k, channel in enumerate(channels):
            if node.parent >= 0 and not channel.turns:
                offset[channel.axis] = float(first[at + k])
        at += len(channels)
        out.append(replace(node, offset=offset))
    if any(any(node.offset or ()) for node in out if node.parent >= 0):
        source.note("its offsets are all zero; bone lengths were taken from its first frame")
    return out


def keep_offsets(source: Source, nodes: list[BvhNode], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows; if the positions below the root are all close to zero, add the offsets to them.

    Position channels replace offsets. If a program writes positions close to zero in all frames, they are relative to
    the offsets: otherwise the whole body would collapse into one point.
    """
    columns: list[int] = []
    values: list[float] = []
    at = 0
    for node in nodes:
        channels, offset = node.channels or (), node.offset or [0.0] * 3
        if node.parent >= 0 and any(offset):
            slides = [(at + k, offset[c.axis]) for k, c in enumerate(channels) if not c.turns]
            columns += [column for column, _ in slides]
            values += [value for _, value in slides]
        at += len(channels)
    if not columns or float(np.abs(rows[:, columns]).max()) > SMALL_POSITION * float(np.abs(values).max()):
        return rows
    source.note("its position channels below the root are nearly zero throughout; they were added to the offsets")
    out = rows.copy()
    out[:, columns] += values
    return out


def read_rate(frame_time: float) -> float:
    """Return the frame rate [1/s]: the reciprocal, rounded to 12 digits if that gives exactly the same frame time."""
    fps = 1.0 / frame_time
    short = float(f"{fps:.12g}")
    return short if 1.0 / short == frame_time else fps


def read_plain_bytes(source: Source) -> bytes:
    """Return the file's bytes in an 8-bit encoding, with lines that end in a line feed."""
    data = source.data.rstrip(b"\x1a")  # the DOS end-of-file mark
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = source.read_text().encode()
    if b"\n" not in data[: 1 << 16] and b"\r" in data[: 1 << 16]:
        data = data.replace(b"\r", b"\n")
    return data
