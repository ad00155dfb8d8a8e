"""Animations: channels of keyframes, and their interpolation.

Between two keys ``v0`` at ``t0`` and ``v1`` at ``t1``, with ``u = (t - t0) / (t1 - t0)`` and ``d = t1 - t0``
(glTF 2.0, appendix C): STEP is v0; LINEAR is ``(1 - u) v0 + u v1``, or slerp along the shorter arc for rotations.
CUBICSPLINE is a Hermite spline, ``(2u^3 - 3u^2 + 1) v0 + d (u^3 - 2u^2 + u) b0 + (3u^2 - 2u^3) v1 + d (u^3 - u^2) a1``,
normalised for rotations.
Before the first key and after the last one the value is constant.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, name_not_found
from poise.formats.gltf.accessors import read_accessor
from poise.formats.gltf.document import Document, Object, name_kind, read_own_extras, shorten
from poise.spatial import Rotation

__all__ = ["AnimationChannel", "GltfAnimation", "Keyframes", "choose_clip", "read_clips", "read_keys", "sample"]


KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
MODES = ("STEP", "LINEAR", "CUBICSPLINE")
UNIT = 2e-2  # tolerance of a quaternion's length: a byte quaternion has an error of up to 1/127


@dataclass(frozen=True, slots=True)
class AnimationChannel:
    """The animation of one property of one node.

    Attributes:
        where: The JSON element, such as ``animations[0].channels[2]``.
        node: The index of the node.
        path: "translation", "rotation" or "scale".
        input: The accessor of the times [s].
        output: The accessor of the values.
        mode: STEP, LINEAR or CUBICSPLINE.
    """

    where: str
    node: int
    path: str
    input: int
    output: int
    mode: str


@dataclass(frozen=True, slots=True)
class GltfAnimation:
    """An animation of the file.

    Attributes:
        index: The index in the file.
        name: The name, or ``clip_3`` if it has none.
        channels: The animated properties.
        fps: The frame rate of a clip written by Poise [1/s], otherwise None.
    """

    index: int
    name: str
    channels: tuple[AnimationChannel, ...]
    fps: float | None = None

    @property
    def where(self) -> str:
        """The JSON element, for messages."""
        return f"animations[{self.index}] ({self.name!r})"


@dataclass(frozen=True, slots=True)
class Keyframes:
    """The keys of a channel: times (n,) [s], values (n, k), and for CUBICSPLINE the in- and out-tangents."""

    mode: str
    times: Floats
    values: Floats
    before: Floats | None = None
    after: Floats | None = None


def read_clips(document: Document) -> list[GltfAnimation]:
    """Read all animations and check their channels; `read_keys` reads the numbers later.

    A single one without a name has that of its file.
    """
    clips, items = [], document.read_items("animations")
    for i, item in enumerate(items):
        name = item.get("name", "")
        if not isinstance(name, str):
            raise document.fail(f"animations[{i}].name", f"is {name_kind(name)}; it must be text.")
        channels = read_channels(document, item, f"animations[{i}]")
        fps = read_own_extras(item).get("fps")
        stated = float(fps) if isinstance(fps, (int, float)) and 0 < fps < 1e6 else None
        unnamed = Path(document.source.path).stem if len(items) == 1 else f"clip_{i}"
        clips.append(GltfAnimation(i, name or unnamed, channels, stated))
    return clips


def read_channels(document: Document, animation: Object, where: str) -> tuple[AnimationChannel, ...]:
    """Read the channels that move nodes; morph weights and extensions are ignored."""
    samplers = document.read_objects(animation, "samplers", where)
    channels: dict[tuple[int, str], AnimationChannel] = {}
    for k, item in enumerate(document.read_objects(animation, "channels", where)):
        at = f"{where}.channels[{k}]"
        target = document.read_object(item, "target", at)
        path = target.get("path") if isinstance(target.get("path"), str) else None
        if path in ("weights", "pointer") or (path in KINDS and "node" not in target):
            continue
        if path is None or path not in KINDS:
            raise document.fail(
                f"{at}.target.path", f"is {shorten(target.get('path'))}; it must be one of {', '.join(KINDS)}, weights."
            )
        node = document.read_index(target["node"], "nodes", f"{at}.target.node")
        if (node, path) in channels:
            raise document.fail(
                at, f"moves the {path} of nodes[{node}] as {channels[node, path].where} does; keep one."
            )
        sampler = item.get("sampler")
        if type(sampler) is not int or not 0 <= sampler < len(samplers):
            raise document.fail(f"{at}.sampler", f"is {shorten(sampler)}; {where} has {len(samplers)} samplers.")
        channels[node, path] = read_channel(document, samplers[sampler], f"{where}.samplers[{sampler}]", at, node, path)
    return tuple(channels.values())


def read_channel(document: Document, sampler: Object, where: str, at: str, node: int, path: str) -> AnimationChannel:
    """Read one channel with its sampler."""
    mode = sampler.get("interpolation", "LINEAR")
    if mode not in MODES:
        raise document.fail(f"{where}.interpolation", f"is {shorten(mode)}; it must be one of {', '.join(MODES)}.")
    times = document.read_index(sampler.get("input"), "accessors", f"{where}.input")
    values = document.read_index(sampler.get("output"), "accessors", f"{where}.output")
    return AnimationChannel(at, node, path, times, values, mode)


def choose_clip(document: Document, clips: list[GltfAnimation], clip: str | int | None) -> GltfAnimation:
    """Return the clip with this name or index, or the first one for None.

    Raises:
        FormatError: The file has no animation.
        NameNotFound: The file has no animation of that name.
    """
    if not clips:
        raise document.source.make_error("has no animation; poise.load reads its body.")
    names = [item.name for item in clips]
    if clip is None:
        return clips[0]
    shown = f"the file has {len(clips)}: {', '.join(map(repr, names[:20]))}. Give a name or a number, such as clip=0."
    if isinstance(clip, str):
        if clip not in names:
            close = str(name_not_found("clip", clip, names)).partition(" There are")[0]
            raise NameNotFound(f"{close} T{shown[1:]}", clip, tuple(names))
        return clips[names.index(clip)]
    if type(clip) is not int or not -len(clips) <= clip < len(clips):
        raise InvalidValue(f"clip is {clip!r}; {shown}")
    return clips[clip]


# ------------------------------------------------------------------------------------------------ keys


def read_keys(document: Document, channel: AnimationChannel) -> Keyframes:
    """Read the keys of a channel.

    Raises:
        FormatError: Times decrease, the number of values is wrong, or a quaternion has length zero.
    """
    times = read_accessor(document, channel.input, "SCALAR", channel.where)[:, 0]
    if (np.diff(times) < 0).any():
        k = int(np.argmax(np.diff(times) < 0)) + 1
        raise document.fail(f"accessors[{channel.input}]", f"has times that fall at key {k}; they must rise.")
    if (np.diff(times) == 0).any():
        document.note_oddity("two keys have the same time; the later one was used", f"accessors[{channel.input}]")
    if times[0] < 0:
        document.note_oddity("times begin below zero; they were kept", f"accessors[{channel.input}]")
    integers = channel.path != "translation"
    values = read_accessor(document, channel.output, KINDS[channel.path], channel.where, integers=integers)
    needed = len(times) * (3 if channel.mode == "CUBICSPLINE" else 1)
    if len(values) != needed:
        raise document.fail(
            f"accessors[{channel.output}]",
            f"has {len(values)} values; {len(times)} keys of a {channel.mode} sampler need {needed} ({channel.where}).",
        )
    if channel.mode != "CUBICSPLINE":
        return Keyframes(channel.mode, times, normalize(document, channel, values))
    before, middle, after = values[0::3], values[1::3], values[2::3]
    return Keyframes(channel.mode, times, normalize(document, channel, middle), before, after)


def normalize(document: Document, channel: AnimationChannel, values: Floats) -> Floats:
    """Return the values of a channel, with quaternions normalised (except those of a CUBICSPLINE)."""
    if channel.path != "rotation":
        return values
    lengths = np.linalg.norm(values, axis=1)
    if lengths.min() < 1e-6:
        key = int(np.argmin(lengths))
        raise document.fail(f"accessors[{channel.output}]", f"has a quaternion of length zero at key {key}.")
    if np.abs(lengths - 1.0).max() > UNIT:
        document.note_oddity(
            "quaternions are not of length 1; they were scaled to that", f"accessors[{channel.output}]"
        )
    # the tangents of a spline belong to the values as written, so these are not normalised
    return values if channel.mode == "CUBICSPLINE" else values / lengths[:, None]


def sample(keys: Keyframes, times: Floats, *, rotation: bool) -> Floats:
    """Interpolate at these times [s], (times, k); rotations are unit quaternions xyzw."""
    last = len(keys.times) - 1
    if last == 0:
        held = np.repeat(keys.values, len(times), axis=0)
        return held / np.linalg.norm(held, axis=1, keepdims=True) if rotation else held
    right = np.searchsorted(keys.times, times, side="right")
    i = np.clip(right - 1, 0, last - 1)
    d = keys.times[i + 1] - keys.times[i]
    u = np.clip((times - keys.times[i]) / np.where(d > 0, d, 1.0), 0.0, 1.0)[:, None]
    if keys.mode == "STEP":
        values = keys.values[np.clip(right - 1, 0, last)]
    elif keys.mode == "CUBICSPLINE":
        values = follow_spline(keys, i, u, d[:, None])
    elif rotation:
        values = follow_arc(keys.values[i], keys.values[i + 1], u[:, 0])
    else:
        values = (1 - u) * keys.values[i] + u * keys.values[i + 1]
    return values / np.linalg.norm(values, axis=1, keepdims=True) if rotation else values


def follow_arc(a: Floats, b: Floats, u: Floats) -> Floats:
    """Return the slerp from a to b along the shorter arc."""
    return Rotation.from_xyzw(a).slerp(Rotation.from_xyzw(b), u).wxyz[:, [1, 2, 3, 0]]


def follow_spline(keys: Keyframes, i: NDArray[np.intp], u: Floats, d: Floats) -> Floats:
    """Return the Hermite cubic between key i and the next key."""
    assert keys.before is not None
    assert keys.after is not None
    u2, u3 = u * u, u * u * u
    start = (2 * u3 - 3 * u2 + 1) * keys.values[i] + d * (u3 - 2 * u2 + u) * keys.after[i]
    return np.asarray(start + (3 * u2 - 2 * u3) * keys.values[i + 1] + d * (u3 - u2) * keys.before[i + 1])
