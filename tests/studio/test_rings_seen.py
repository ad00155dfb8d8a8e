"""Visible parts are found by clicks: a ray through the middle of every part that a camera sees gives its joint rings.

The parts are painted into a picture here, as a graphics card does, from what the browser is sent; the ray goes another
way, through the meshes that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bvh_cases
import looks_files as made
import poise
from poise.model.geometry.looks import Patch, Piece, deform
from poise.pictures.body.pieces import find_pieces
from poise.pictures.raster import Canvas, Sheet

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

from poise.studio import Studio, session
from poise.studio.scene.stage import find_direction, find_view

WIDE = 0.6  # half of the picture, at distance one
PIXELS = 150
VIEWER = 7


def write_strip(folder: Path) -> Path:
    return made.strip(4, 4)[0].glb(folder / "strip.glb")


def write_robot(folder: Path) -> Path:
    made.robot(folder)
    return made.robot(folder / "elsewhere")


def write_bvh(folder: Path) -> Path:
    return bvh_cases.write(folder, bvh_cases.six_channels("0 0 0"))


MADE = {"strip.glb": write_strip, "robot.urdf": write_robot, "six.bvh": write_bvh}
BARE = ("strip.glb bare", "robot.urdf bare")  # their meshes are still being read
BODIES = ("humanoid", "panda", "quadruped", "hand", "ur5e", *MADE, *BARE)


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with Studio("planar2", port=18064, shadows=False) as running:
        running.panel.joints.rings.listen(True)
        yield running


def list_drawn(studio: Studio) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """What the browser draws: the frame that moves it, its points in the world, its triangles."""
    view, T = studio.session.view, studio.session.view.places
    at = dict(zip(studio.model.frames, T, strict=True))
    if view.dressed is None:
        return [(p.frame, place(p.surface.vertices, at[p.frame]), p.surface.faces) for p in view.flesh]
    out = [(p.frame, place(p.vertices, at[p.frame]), p.faces) for p in view.dressed.dress.rigid]
    pieces = [piece for piece in find_pieces(studio.model) if piece.skin is not None]
    return out + [row for piece in pieces for row in sort_by_bone(piece, deform(piece, studio.model.frames, T))]


def place(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    return points @ at[:3, :3].T + at[:3, 3]


def sort_by_bone(piece: Piece, points: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """The triangles of a skin by the bone that has most of their weight."""
    skin, faces = piece.skin, np.asarray(piece.patch.triangles, np.int64)
    assert skin is not None
    share = np.zeros((len(faces), len(skin.frames)))
    for corner in range(3):
        for k in range(skin.joints.shape[1]):
            rows = skin.joints[faces[:, corner], k]
            np.add.at(share, (np.arange(len(faces)), rows), skin.weights[faces[:, corner], k])
    heaviest = share.argmax(axis=1)
    return [(skin.frames[k], points, faces[heaviest == k]) for k in np.unique(heaviest)]


def paint(studio: Studio, eye: np.ndarray, axes: np.ndarray) -> dict[str, np.ndarray]:
    """The middle of each part that is seen, as the direction of a ray from the eye; axes are right, up, ahead."""
    drawn = list_drawn(studio)
    canvas = Canvas(np.full(2, -WIDE), np.full(2, WIDE), PIXELS)
    for number, (_, points, faces) in enumerate(drawn):
        right, up, ahead = axes @ (points - eye).T
        flat = np.stack([right / ahead, up / ahead], axis=1)
        patch = Patch(points.astype(np.float32), faces.astype(np.uint32), None)
        canvas.draw(number, Sheet(flat, -1.0 / ahead, np.zeros_like(points), patch))  # linear in the picture
    seen = canvas.sheet.reshape(canvas.rows, canvas.columns)
    names = np.array([frame for frame, _, _ in drawn] + [""], dtype=object)[seen]
    out = {}
    for frame in sorted({*names.ravel().tolist()} - {""}):
        middle = find_middle(names == frame)
        if middle is not None:
            row, column = middle
            x, y = canvas.low + (np.array([column, row]) + 0.5) * canvas.step
            out[frame] = axes.T @ np.array([x, y, 1.0])
    return out


def find_middle(mask: np.ndarray) -> tuple[int, int] | None:
    """The pixel farthest from the rim of what is seen; None where hardly anything is."""
    for k in range(999):
        inner = mask.copy()
        for axis in (0, 1):
            for step in (1, -1):
                inner &= np.roll(mask, step, axis)
        if not inner.any():
            rows, columns = np.nonzero(mask)
            return (int(rows[0]), int(columns[0])) if k > 0 else None
        mask = inner
    raise AssertionError("it has no rim")


def find_joint_above(model: poise.Model, frame: str) -> str | None:
    """The nearest joint that turns a frame and is moved by hand, written plainly."""
    at: str | None = frame
    while at is not None:
        for joint in model.joints:
            if joint.frame == at and joint.mimic is None and not joint.locked and joint.nv > sum(joint.slides):
                return joint.name
        at = model.frame(at).parent
    return None


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_a_click_on_the_middle_of_what_is_seen_gives_its_joint_rings(
    studio: Studio, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if body in BARE:
        monkeypatch.setattr(session, "has_own_look", lambda _: False)
    name = body.split(maxsplit=1)[0]
    studio.show(str(MADE[name](tmp_path)) if name in MADE else name)
    studio.session.player.stop()
    rings, clicked = studio.panel.joints.rings, 0
    points = studio.session.view.sample_points(studio.session.view.places)
    for side in ("fit", "side"):
        view = find_view(studio.model, studio.puppet.size, points, find_direction(studio.model, side), 1.0)
        ahead = (view.look_at - view.position) / np.linalg.norm(view.look_at - view.position)
        right = np.cross(ahead, studio.model.up_direction)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(right, ahead), ahead])
        for frame, direction in paint(studio, view.position, axes).items():
            assert studio.session.view.find_clicked(view.position, direction) == frame
            rings.click(VIEWER, view.position, direction)
            found = rings.turns.get(VIEWER)
            assert (None if found is None else found.joint) == find_joint_above(studio.model, frame)
            rings.put_away(VIEWER)
            clicked += 1
    assert clicked >= 2
