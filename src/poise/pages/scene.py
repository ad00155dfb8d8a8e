"""The scene of a page: solids on tracks and static solids, in plain values.

A track is a frame's transform over time. Solids are fixed to tracks or to the world.
"""

import base64
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.formats.meshes.looks import find_look
from poise.model import Model
from poise.model.plane import is_planar
from poise.pages.meshes import MeshShelf, fit_pieces
from poise.pictures.body.pieces import report_missing
from poise.pictures.body.solids import find_overlays, find_solids
from poise.pictures.body.surface import Solid
from poise.pictures.bounds import sample_outline
from poise.pictures.front import find_turn
from poise.spatial import Rotation

__all__ = ["BODY", "LONGEST", "PageScene", "find_planar_view", "leave_out_settings"]

Color = tuple[float, float, float]
LONGEST = 4000  # frames of a page at most

KINDS = ("capsule", "cylinder", "box")
BODY: Color = (0.68, 0.76, 0.85)
LEAST_RADIUS = 1e-6
LEVEL = 4e-3  # relative to the radius: a lowest point this close to height 0 counts as 0
MISSING_MESHES = "Some meshes were not found; these parts are drawn as limbs."
MOST_OUTLINES = 400  # frames at most whose mesh outlines are measured


def find_planar_view(up: str) -> tuple[float, float]:
    """Return azimuth and elevation [rad] for planar bodies: x to the right and y up on the screen."""
    return (0.0, 0.0) if up == "y" else (-0.5 * np.pi, 1.5)


@dataclass
class PageScene:
    """The content of a page; `to_data()` returns the values the viewer reads.

    Attributes:
        up: The up axis.
        frames: The number of frames.
        fps: The frame rate.
        title: The title of the page.
        note: The line below the title.
        stepwise: Whether the frames are steps of a search rather than of time.
        azimuth: The initial azimuth of the camera, around the up axis [rad].
        elevation: The initial elevation of the camera [rad].
    """

    up: str
    frames: int = 1
    fps: float = 30.0
    title: str = ""
    note: str = ""
    stepwise: bool = False
    azimuth: float = -0.72
    elevation: float = 0.2
    table: dict[str, Any] | None = None
    words: str = ""
    curves: list[dict[str, Any]] = field(default_factory=list)
    labels: list[dict[str, Any]] = field(default_factory=list)
    solids: list[list[Any]] = field(default_factory=list)
    meshes: MeshShelf = field(default_factory=MeshShelf)
    tracks: list[Floats] = field(default_factory=list)
    corners: list[Floats] = field(default_factory=list)
    follow: Floats | None = None
    near: tuple[Floats, Floats] | None = None
    bodies: list[dict[str, int]] = field(default_factory=list)
    drag: dict[str, Any] | None = None
    live: dict[str, Any] | None = None
    lacks_meshes: bool = False

    @property
    def up_axis(self) -> int:
        """The index of the up axis."""
        return "xyz".index(self.up)

    def follow_path(self, path: Floats, low: Floats, high: Floats) -> None:
        """Move the camera along a path, (frames, 3), showing a box from `low` to `high` around it."""
        self.follow, self.near = path - path[0], (path[0] + low, path[0] + high)

    def add_track(self, transforms: Floats) -> int:
        """Add a moving frame, (frames, 4, 4), and return its number; a shorter track stays at its last transform."""
        missing = self.frames - len(transforms)
        self.tracks.append(np.concatenate([transforms, np.repeat(transforms[-1:], max(missing, 0), axis=0)]))
        return len(self.tracks) - 1

    def add_solid(
        self,
        solid: Solid,
        track: int,
        color: Color,
        *,
        opacity: float = 1.0,
        mark: bool = False,
        stand_in: bool = False,
    ) -> None:
        """Add a solid on a track (-1 is the world). Marks glow; a stand-in replaces meshes the viewer cannot draw."""
        local = [round(x, 5) for x in solid.T_frame_solid.T.ravel().tolist()]
        half, around = [round(x, 5) for x in solid.half], [round(max(x, LEAST_RADIUS), 6) for x in solid.round]
        rgba = [round(x, 3) for x in (*(solid.color or color), opacity)]
        soft = around if any(solid.round) else [0, 0]
        flags = (2 if mark else int(opacity == 1.0)) + 4 * stand_in
        self.solids.append([track, KINDS.index(solid.kind), local, half, soft, rgba, flags])
        if not mark and not stand_in:
            self.corners += find_extents(solid, self.tracks[track] if track >= 0 else np.eye(4)[None])

    def add_body(
        self,
        model: Model,
        q: Floats,
        *,
        color: Color = BODY,
        opacity: float = 1.0,
        offset: Floats | None = None,
        turn: Floats | None = None,
    ) -> dict[str, int]:
        """Add a body over time, (frames, nq), rotated, then translated as a whole; return the tracks of its frames."""
        places = np.array(model.fk(q))
        shift, whole = (np.zeros(3) if offset is None else offset), (np.eye(3) if turn is None else turn)
        places[:, :, :3, :] = whole @ places[:, :, :3, :]
        places[:, :, :3, 3] += shift
        if is_planar(model):
            self.azimuth, self.elevation = find_planar_view(self.up)
        elif not self.tracks:
            self.azimuth += find_turn(model)
        numbers: dict[str, int] = {}

        def track_of(frame: str | None) -> int:
            name = model.frames[0] if frame is None else model.frame(frame).name
            if name not in numbers:
                numbers[name] = self.add_track(places[:, model.frames.index(name)])
            return numbers[name]

        report_missing(model)
        self.lacks_meshes |= bool(find_look(model).notes)
        pieces = fit_pieces(model)
        for piece in pieces:
            frames = (piece.frame,) if piece.skin is None else piece.skin.frames
            tint = None if color == BODY else color
            self.meshes.add(piece, [track_of(frame) for frame in frames], color=tint, opacity=opacity)
        for solid in find_solids(model):
            self.add_solid(solid, track_of(solid.frame), color, opacity=opacity, stand_in=bool(pieces))
        for solid, clear in find_overlays(model):
            self.add_solid(solid, track_of(solid.frame), color, opacity=opacity * clear)
        if pieces:
            outline = sample_outline(model, q[:: -(-len(q) // MOST_OUTLINES)]) @ whole.T + shift
            self.corners += [outline.min(axis=1), outline.max(axis=1)]
        self.bodies.append(numbers)
        return numbers

    def to_data(self) -> dict[str, Any]:
        """Return the scene as JSON-compatible values; transforms as base64 of float32, frame by frame."""
        low, high = self.find_box()
        seen = (low, high) if self.near is None else self.near
        radius = 0.5 * float(np.linalg.norm(high - low)) or 1.0
        return {
            "words": leave_out_settings(self.words),
            "note": "\n".join(filter(None, [self.note, MISSING_MESHES * self.lacks_meshes])),
            **{
                k: getattr(self, k)
                for k in ("up", "frames", "title", "stepwise", "table", "curves", "labels", "solids")
            },
            **self.meshes.to_data(),
            "fps": self.fps,
            "hold": 1.2 * self.fps,
            "tracks": len(self.tracks),
            "data": self.pack(),
            "middle": [round(x, 5) for x in ((seen[0] + seen[1]) / 2).tolist()],
            "ground": [round(x, 5) for x in ((low + high) / 2).tolist()],
            "follow": ""
            if self.follow is None
            else base64.b64encode(self.follow.astype("<f4").tobytes()).decode("ascii"),
            "radius": round(1.04 * radius, 5),
            "box": [round(x, 5) for x in ((seen[1] - seen[0]) / 2).tolist()],
            "size": round(float((high - low)[self.up_axis]) or radius, 5),
            "floor": round(0.0 if abs(low[self.up_axis]) < LEVEL * radius else float(low[self.up_axis]), 5),
            "cell": round(10.0 ** np.round(np.log10(radius)) * 0.5, 6),
            "azimuth": self.azimuth,
            "elevation": self.elevation,
            **{k: v for k, v in (("drag", self.drag), ("live", self.live)) if v is not None},
        }

    def find_box(self) -> tuple[Floats, Floats]:
        """Return the corners of the bounding box of the scene."""
        if not self.corners:
            return -np.ones(3), np.ones(3)
        every = np.concatenate(self.corners)
        return every.min(axis=0), every.max(axis=0)

    def pack(self) -> str:
        """Pack positions and quaternions (wxyz) of all tracks, (frames, tracks, 7)."""
        if not self.tracks:
            return ""
        T = np.stack(self.tracks, axis=1)
        wxyz = Rotation.from_matrix(T[..., :3, :3]).wxyz
        numbers = np.concatenate([T[..., :3, 3], wxyz], axis=-1).astype("<f4")
        return base64.b64encode(numbers.tobytes()).decode("ascii")


def find_extents(solid: Solid, ways: Floats) -> list[Floats]:
    """Return the lowest and highest corners of a solid's ends along its track, (frames, 3) each."""
    T = ways @ solid.T_frame_solid
    out = []
    for end, around in zip((-1.0, 1.0), solid.round, strict=True):
        centre = T[:, :3, 3] + end * solid.half[2] * T[:, :3, 2]
        reach = np.abs(T[:, :3, 0]) * solid.half[0] + np.abs(T[:, :3, 1]) * solid.half[1] + around
        out += [centre - reach, centre + reach]
    return out


def leave_out_settings(text: str) -> str:
    """Return an explanation without arguments of Python, which a page does not have."""
    lines = re.sub(r"reached with (max_steps|restarts|seed)=\d+", "reached by a longer search", text).splitlines()
    lines = [re.sub(r" with \w+=\d+| \([^()]*=[^()]*\)", "", line) for line in lines]
    return "\n".join(line for line in lines if not line.startswith("Or it would be reached by a longer"))
