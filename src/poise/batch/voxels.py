"""ReachMap: the fraction of orientations that a frame reaches in every voxel."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise import models
from poise.arguments import check_number
from poise.arrays import Floats
from poise.errors import FormatError
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.kinematics import Pose
from poise.model import Model
from poise.spatial.arrays import read_finite

__all__ = ["ReachMap", "Voxel"]

Shares = NDArray[np.float32]
KIND = "poise reach map 1"
SHARES = ("reached", "proved", "undecided")


class Voxel(NamedTuple):
    """The result of one voxel.

    Attributes:
        reached: Fraction of orientations that are reached, 0 to 1.
        proved: Fraction of orientations that are proved out of reach.
        undecided: Fraction of orientations that are neither.
        manipulability: The best manipulability of the poses found [m/rad]; None unless requested.
        center: The centre of the voxel, the tested position [m]; None outside the map.
    """

    reached: float
    proved: float
    undecided: float
    manipulability: float | None
    center: tuple[float, float, float] | None


@dataclass(frozen=True, eq=False, repr=False)
class ReachMap:
    """The positions that a frame can reach, and the fraction of orientations. Made by `poise.reach_map`.

    Every voxel is a cube, tested at its centre. In a map by `poise.base_map`, a map of bases, a voxel is a place of the
    body's base, and the shares are those of the given poses.

    Attributes:
        model: The body; None for a map from a file whose body is not built in.
        name: Name of the body.
        frame: Name of the frame.
        spacing: Edge of a voxel [m].
        origin: Centre of the first voxel, in the world [m], (3,).
        reached: Fraction of orientations that are reached, (nx, ny, nz), float32.
        proved: Fraction of orientations that are proved out of reach, likewise.
        undecided: Fraction of orientations that are neither, likewise.
        directions: The directions of the frame's axis, (n, 3); empty for a map of positions only.
        turns: The number of rotations about that axis for each direction; the yaws of the base in a map of bases.
        axis: The frame's axis that points along the directions, in the frame, (3,); the vertical in a map of bases.
        whole: Whether everything outside the map is out of reach; False if a box was given.
        manipulability: The best manipulability found in each voxel [m/rad], float32; None unless requested.
        transforms: The given poses of a map of bases, (n, 4, 4); otherwise None.
    """

    model: Model | None
    name: str
    frame: str
    spacing: float
    origin: Floats
    reached: Shares
    proved: Shares
    undecided: Shares
    directions: Floats
    turns: int
    axis: Floats
    whole: bool = True
    manipulability: Shares | None = None
    transforms: Floats | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of voxels along x, y and z."""
        nx, ny, nz = self.reached.shape
        return nx, ny, nz

    @property
    def orientations(self) -> int:
        """The number of poses tested in each voxel: orientations, or given poses and yaws; 1 for positions only."""
        return max(1, len(self.directions if self.transforms is None else self.transforms) * self.turns)

    @property
    def poses(self) -> int:
        """The number of poses in the map."""
        return int(self.reached.size) * self.orientations

    @property
    def centers(self) -> Floats:
        """The centre of every voxel [m], (nx, ny, nz, 3)."""
        places: Floats = self.origin + self.spacing * np.moveaxis(np.indices(self.shape), 0, -1)
        return places

    @property
    def points(self) -> Floats:
        """The centres of all voxels reached in some orientation [m], (n, 3)."""
        return self.find(0.0)

    @property
    def volume(self) -> float:
        """The volume reached in some orientation [m^3]."""
        return float((self.reached > 0.0).sum() * self.spacing**3)

    @property
    def farthest(self) -> float:
        """The largest distance of a reached voxel from the body's root [m]; 0 without any, or without a body."""
        if self.model is None or not len(self.points):
            return 0.0
        root = self.model.fk(np.array(self.model.rest))[0, :3, 3]
        return float(np.linalg.norm(self.points - root, axis=1).max())

    @property
    def pose(self) -> Pose | None:
        """The rest pose of the body, with which the map is drawn; None without a body, and for a map of bases."""
        return None if self.model is None or self.transforms is not None else Pose(self.model)

    def at(self, point: ArrayLike) -> Voxel:
        """Return the record of the voxel that contains a point.

        Args:
            point: The point in the world [m], (3,). Outside the map, nothing can be reached, or, if a box was given,
                nothing is known.
        """
        index = self.locate(point)
        if index is None:
            return Voxel(0.0, float(self.whole), float(not self.whole), None, None)
        x, y, z = (self.origin + self.spacing * np.array(index)).tolist()
        best = None if self.manipulability is None else float(self.manipulability[index])
        reached, proved, undecided = (float(share[index]) for share in (self.reached, self.proved, self.undecided))
        return Voxel(reached, proved, undecided, best, (x, y, z))

    def locate(self, point: ArrayLike) -> tuple[int, int, int] | None:
        """Return the index of the voxel that contains a point, along x, y and z; None outside the map."""
        place = read_finite(point, (3,), "point")
        i, j, k = np.floor((place - self.origin) / self.spacing + 0.5).astype(int).tolist()
        inside = all(0 <= n < most for n, most in zip((i, j, k), self.shape, strict=True))
        return (i, j, k) if inside else None

    def find(self, share: float) -> Floats:
        """Return the centres of the voxels with more than a fraction of orientations reached [m], (n, 3).

        Args:
            share: The fraction, from 0 to 1.
        """
        share = check_number(share, "share", "a number from 0 to 1", 0, 1)
        found: Floats = self.origin + self.spacing * np.argwhere(self.reached > share)
        return found

    # ------------------------------------------------------------------------------------------ files

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays, by name, for an NPZ file."""
        optional = {"manipulability": self.manipulability, "transforms": self.transforms}
        return {
            "kind": np.array(KIND),
            "model": np.array(self.name),
            "frame": np.array(self.frame),
            "spacing": np.array(self.spacing),
            "origin": self.origin,
            **{name: getattr(self, name) for name in SHARES},
            "directions": self.directions,
            "turns": np.array(self.turns),
            "axis": self.axis,
            "whole": np.array(self.whole),
            **{name: array for name, array in optional.items() if array is not None},
        }

    @classmethod
    def load(cls, path: str | PathLike[str], model: Model | None = None) -> ReachMap:
        """Read a map that `poise.save` wrote.

        Args:
            path: The file.
            model: The body to draw the map with; needed only if it is not built in.

        Raises:
            FormatError: The file is missing, damaged, or not a reach map.
        """
        source = Source.open(str(path))
        arrays = read_arrays(source)
        if str(arrays.get("kind", "")) != KIND:
            raise FormatError("holds no reach map; `poise.save(map, path)` writes one.", str(path))
        try:
            return read_map(arrays, model)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"is not a complete reach map: {error}.", str(path)) from None

    @staticmethod
    def is_in(path: str | PathLike[str]) -> bool:
        """Return whether a file contains a reach map, by reading only its kind."""
        if Path(path).suffix != ".npz":
            return False
        try:
            return str(read_arrays(Source.open(str(path)), ("kind",)).get("kind", "")) == KIND
        except FormatError:
            return False

    # ------------------------------------------------------------------------------------------ words

    def list_lines(self) -> list[tuple[str, str, str]]:
        """Return the rows of the table: name, number of voxels, percentage of poses."""
        lines = []
        for name in SHARES:
            share = getattr(self, name)
            lines.append(
                (name, f"{int((share > 0.0).sum()):,}", f"{100.0 * float(share.mean(dtype=np.float64)):.2f} %")
            )
        return lines

    def _describe(self) -> str:
        what = "Reach" if self.transforms is None else "Bases for reach"
        return f"{what} of {self.frame!r} of {self.name!r}: {self._describe_size()}"

    def _describe_size(self) -> str:
        nx, ny, nz = self.shape
        if self.transforms is not None:
            poses = f"{len(self.transforms)} poses x {self.turns} yaws"
            return f"{nx} x {ny} x {nz} places of the base, {100 * self.spacing:g} cm apart, {poses}"
        asked = f"{len(self.directions)} directions x {self.turns} turns" if len(self.directions) else "places alone"
        return f"{nx} x {ny} x {nz} voxels of {100 * self.spacing:g} cm, {asked}"

    def __repr__(self) -> str:
        return f"<ReachMap of {self.frame!r} of {self.name!r}: {self._describe_size()}>"

    def __str__(self) -> str:
        lines = [self._describe()]
        lines.append(f"{'':10}{'voxels':>12}{'of all poses':>14}")
        lines += [f"{name:10}{voxels:>12}{share:>14}" for name, voxels, share in self.list_lines()]
        lines.append(self._describe_best())
        return "\n".join(lines)

    def _describe_best(self) -> str:
        if not len(self.points):
            return "nothing is reached"
        index = np.unravel_index(int(np.argmax(self.reached)), self.shape)
        x, y, z = self.origin + self.spacing * np.array(index)
        most = f"the most, {100 * self.reached[index]:.0f} %, at ({x:.2f}, {y:.2f}, {z:.2f})"
        return f"{self.volume:.2f} m3 reached; {most}" if self.transforms is None else most

    def _repr_html_(self) -> str:
        head = "<tr><th></th><th>voxels</th><th>of all poses</th></tr>"
        rows = "".join(f"<tr><td>{n}</td><td>{v}</td><td>{s}</td></tr>" for n, v, s in self.list_lines())
        title = html.escape(self._describe())
        return f"<p>{title}</p><table>{head}{rows}</table><p>{html.escape(self._describe_best())}</p>"


def read_map(arrays: Mapping[str, NDArray[Any]], model: Model | None) -> ReachMap:
    """Return a map from its arrays, or raise ValueError if they are inconsistent."""
    reached, proved, undecided = (np.asarray(arrays[name], dtype=np.float32) for name in SHARES)
    if reached.ndim != 3 or not reached.shape == proved.shape == undecided.shape:
        raise ValueError("its shares have different shapes")
    name = str(arrays["model"])
    body = models.build(name) if model is None and name in models.names() else model
    best, poses = arrays.get("manipulability"), arrays.get("transforms")
    return ReachMap(
        body,
        name,
        str(arrays["frame"]),
        float(arrays["spacing"]),
        np.asarray(arrays["origin"], dtype=np.float64).reshape(3),
        reached,
        proved,
        undecided,
        np.asarray(arrays["directions"], dtype=np.float64).reshape(-1, 3),
        int(arrays["turns"]),
        np.asarray(arrays["axis"], dtype=np.float64).reshape(3),
        bool(arrays["whole"]),
        None if best is None else np.asarray(best, dtype=np.float32).reshape(reached.shape),
        None if poses is None else np.asarray(poses, dtype=np.float64).reshape(-1, 4, 4),
    )
