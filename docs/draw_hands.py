"""Draw docs/pictures/hands.png: poses of a person's hand, and of robot hands that follow it.

python docs/draw_hands.py MENAGERIE        # a checkout of google-deepmind/mujoco_menagerie
"""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import poise
from poise.arrays import Floats
from poise.models.hand import build_hand
from poise.motion.retargeting.hands.goals import DigitPoints
from poise.pictures import Camera
from poise.pictures.body.pieces import find_pieces
from poise.pictures.mesh_picture import draw_meshes
from poise.pictures.plots import draw_scene, make_figure, save_figure
from poise.spatial import Rotation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from hand_poses import FINGERS, bend_hand, pinch_hand

HANDS = {"a person": None, "Shadow": "shadow_hand", "LEAP": "leap_hand", "Allegro": "wonik_allegro"}
FRAMES = 20  # from each pose to the next
VIEW = Camera(azimuth=np.radians(-62), elevation=np.radians(12), up="z", floor=None)
UPRIGHT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # fingers up, the palm to the camera


def make_poses(model: poise.Model) -> dict[str, Floats]:
    """Return the poses of the person's hand."""
    return {
        "open": bend_hand(model, 0.0, thumb=(0.0,)),
        "point": bend_hand(model, 85.0, FINGERS[1:], thumb=(20.0, 30.0)),
        "index": pinch_hand(model, "index"),
        "ring": pinch_hand(model, "ring"),
        "fist": bend_hand(model, 85.0, thumb=(20.0, 40.0)),
        "thumbs up": bend_hand(model, 85.0, thumb=(-15.0,)),
    }


def stand_upright(model: poise.Model, q: Floats) -> poise.Pose:
    """Return a pose of a free model with the fingers up and the palm to the camera."""
    (hand,) = poise.roles(model).hands
    turn, root = UPRIGHT @ (model.fk(q, hand.palm)[:3, :3] @ hand.axes).T, next(j for j in model.joints if j.nq)
    out = np.array(q)
    out[root.q.stop - 4 : root.q.stop] = (Rotation.from_matrix(turn) @ Rotation(q[root.q.stop - 4 : root.q.stop])).wxyz
    return poise.Pose(model, out)


def measure_digits(poses: list[poise.Pose]) -> tuple[Floats, Floats]:
    """Return the corners of a picture of the digits in all poses, with a margin."""
    digits = DigitPoints(poses[0].model, poise.roles(poses[0].model).hands[0])
    frames = [poses[0].model.frames[i] for i in sorted({digits.palm, *digits.at.tolist()})]
    places = np.concatenate([VIEW.project(pose.model.fk(pose.q, frames)[:, :3, 3]) for pose in poses])
    return places.min(axis=0) - 0.5 * digits.length, places.max(axis=0) + 0.5 * digits.length


def draw_body(axes: Any, pose: poise.Pose) -> None:
    """Draw a hand, finely enough if it has a forearm that is cut off."""
    pieces = find_pieces(pose.model)
    if not pieces:
        draw_scene(axes, pose, camera=VIEW)
        return
    draw_meshes(axes, pose, pieces, VIEW, pixels=1600)
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw(menagerie: Path) -> None:
    """Draw the picture."""
    person = build_hand("r", free=True)
    poses = make_poses(person)
    share = np.linspace(0.0, 1.0, FRAMES, endpoint=False)[:, None]
    paths = [a + share * (b - a) for a, b in pairwise([*poses.values()])]
    clip = poise.Motion(person, np.concatenate([*paths, [[*poses.values()][-1]]]), 30.0)
    made, _ = make_figure(1.7 * len(poses), 1.9 * len(HANDS))
    made.clear()
    panels = made.subplots(len(HANDS), len(poses))
    for row, (name, folder) in enumerate(HANDS.items()):
        model = person if folder is None else poise.load(menagerie / folder / "right_hand.xml", base="free")
        moved = clip if folder is None else poise.retarget(clip, model).motion
        shown = [stand_upright(model, moved.q[FRAMES * k]) for k in range(len(poses))]
        low, high = measure_digits(shown)
        for axes, pose, title in zip(panels[row], shown, poses, strict=True):
            draw_body(axes, pose)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            axes.set_title(title if row == 0 else "", fontsize=10)
        panels[row, 0].text(-0.02, 0.5, name, rotation=90, va="center", transform=panels[row, 0].transAxes, fontsize=10)
    path = save_figure(made, Path(__file__).resolve().parent / "pictures" / "hands.png")
    with Image.open(path) as image:
        small = image.convert("RGB").resize((1000, round(1000 * image.height / image.width)), Image.Resampling.LANCZOS)
    small.quantize(40).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
