"""Scenes of nodes that a foreign parser found in a file (FBX, USD), handed as glTF to its reader.

So bones, scales, frame rates, clips, options and limits are treated as `poise.formats.gltf` treats them. A parser runs
as a worker (see `poise.formats.apart`) and answers with an NPZ archive of three arrays: `scene`, UTF-8 JSON; `times`
(keys,) [s] and `values` (keys, 4), the keyframes of all channels. The JSON has

    up, metres          "y" or "z", and the metres per unit
    oddities            texts
    nodes               [name, parent or -1, translation, rotation xyzw, scale]
    skins               [indices of bones, their matrices in the bind pose (16 numbers, row by row), or no matrices]
    clips               [name, [node, path, first key, keys] of each channel]

and whatever else a format reads from it.
"""

import json
from importlib.util import find_spec
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import INDEX_NAME, MissingExtra
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats.apart import can_run, run_apart
from poise.formats.gltf.body import TURN_UP
from poise.formats.gltf.document import Object
from poise.formats.gltf.draft import GltfDraft, format_chunks
from poise.formats.options import ReadOptions
from poise.model.attachments import UNITS
from poise.spatial import Rotation

__all__ = ["NodeScene", "parse_apart"]

WIDTHS = {"translation": (3, "VEC3"), "rotation": (4, "VEC4"), "scale": (3, "VEC3")}


class NodeScene:
    """The answer of a parser.

    Attributes:
        values: The JSON.
        up: The file's up axis, "y" or "z".
        units: The file's unit of length, a key of `UNITS`.
    """

    def __init__(self, source: Source, answer: bytes) -> None:
        arrays = read_arrays(Source(source.path, answer))
        self.values = json.loads(arrays["scene"].tobytes())
        self.up: str = self.values["up"]
        if self.up not in TURN_UP:
            raise source.make_error(f"has the up axis {self.up.upper()!r}; it must be Y or Z.")
        self.units = find_unit(source, float(self.values["metres"]))
        self._source, self._times, self._keys = source, arrays["times"], arrays["values"]
        self._turn = Rotation.from_matrix(TURN_UP[self.up].T)
        for oddity in self.values["oddities"]:
            source.note_oddity(oddity)

    def pack(self) -> Source:
        """Return the nodes, bones and clips as a GLB, with the path, notes and oddities of their file."""
        draft = GltfDraft({"asset": {"version": "2.0", "extras": {"poise": {"up": self.up, "units": self.units}}}})
        nodes: list[Object] = []
        for name, parent, *parts in self.values["nodes"]:
            if parent >= 0:
                nodes[parent].setdefault("children", []).append(len(nodes))
            turned = {path: self.turn(parent, path, np.array(part)) for path, part in zip(WIDTHS, parts, strict=True)}
            nodes.append({"name": name} | {path: part.tolist() for path, part in turned.items()})
        draft.json["nodes"] = nodes
        for bones, bind in self.values["skins"]:
            draft.append(
                "skins", {"joints": bones} | ({"inverseBindMatrices": add_inverse(draft, bind)} if bind else {})
            )
        for name, channels in self.values["clips"]:
            self.add_clip(draft, name, channels)
        return Source(self._source.path, format_chunks(draft, stays=False), self._source.notes, self._source.oddities)

    def turn(self, parent: int, path: str, values: Floats) -> Floats:
        """Return values of a node with y up: only nodes without a parent change."""
        if parent >= 0 or path == "scale":
            return values
        if path == "translation":
            return self._turn.apply(values)
        return (self._turn @ Rotation.from_xyzw(values)).wxyz[..., [1, 2, 3, 0]]

    def add_clip(self, draft: GltfDraft, name: str, channels: list[Any]) -> None:
        """Add a clip; channels at the same times share them."""
        known: dict[bytes, int] = {}
        samplers: list[Object] = []
        items: list[Object] = []
        for node, path, first, count in channels:
            width, kind = WIDTHS[path]
            times, keys = self._times[first : first + count], self._keys[first : first + count, :width]
            if times.tobytes() not in known:
                known[times.tobytes()] = draft.add_accessor(times, "SCALAR")
            values = self.turn(self.values["nodes"][node][1], path, keys)
            items.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            samplers.append({"input": known[times.tobytes()], "output": draft.add_accessor(values, kind)})
        draft.append("animations", {"name": name, "samplers": samplers, "channels": items})


def parse_apart(
    worker: str, request: bytes, source: Source, options: ReadOptions, package: tuple[str, str]
) -> NodeScene:
    """Return what a worker finds in a file.

    Args:
        worker: The path of the worker's file.
        request: What it reads from stdin.
        source: The file.
        options: The read options; uploads are rejected, since no sandbox surrounds a worker.
        package: The module that parses, and the extra that installs it.

    Raises:
        FormatError: The parser rejects the file, breaks down, or takes too long.
        MissingExtra: The package is not installed.
    """
    module, extra = package
    name = {"pxr": "usd-core"}.get(module, module)
    if options.within:
        raise source.make_error("is not read from an upload; open it with poise.load.")
    if find_spec(module) is None:
        raise MissingExtra(f'{name} reads this format. Type: pip install "{INDEX_NAME}[{extra}]"')
    try:
        answer: bytes | str = run_apart(worker, request) if can_run() else "no second Python can be started"
    except OSError as error:
        answer = f"no second Python can be started ({error})"
    if isinstance(answer, str):
        raise source.make_error(f"{name} cannot read it: {answer.strip().rstrip('.')[:300]}.")
    return NodeScene(source, answer)


def add_inverse(draft: GltfDraft, bind: list[Any]) -> int:
    """Add the inverses of matrices as an accessor; return its index."""
    inverse = np.linalg.pinv(np.reshape(bind, (-1, 4, 4))).swapaxes(1, 2)
    inverse[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
    return draft.add_accessor(np.asarray(inverse.reshape(-1, 16)), "MAT4")


def find_unit(source: Source, metres: float) -> str:
    """Return the name of a unit of length; "unknown", with an oddity, if it has none."""
    if not 0.0 < metres < np.inf:
        raise source.make_error(f"has a unit of {metres:g} metres (metersPerUnit); it must be positive and finite.")
    unit = next((name for name, size in UNITS.items() if abs(size - metres) < 1e-4 * size), "unknown")
    if unit == "unknown":
        source.note_oddity(f"a unit is {metres:g} metres; its numbers were kept, scale={metres:g} makes them metres")
    return unit
