"""Lock contacts on the surfaces of a scene, with the whole body outside it.

1. Contacts are placed on the surfaces, and the hips rise with them (`stances`).
2. The contacts are locked with a plane below every point near a surface (`scene_goals`), in rounds until nothing is
   inside the scene.
"""

import warnings
from dataclasses import replace

import numpy as np

from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carriers import Root
from poise.motion.clips.lock import lock_places
from poise.motion.clips.lock_options import LockOptions
from poise.motion.clips.result import Track
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene
from poise.motion.scenes.scene_goals import list_scene_goals, measure_depths
from poise.motion.scenes.stances import place_contacts

__all__ = ["enter_scene", "lock_in_scene"]

ROUNDS = 6  # largest number of times that planes are set
OUTSIDE_M, SHALLOW_M = 1e-3, 5e-3  # depths at which no further round is needed, and only one that gains enough
LEAST_GAIN = 0.7  # of a depth, by another round
STEP_SHARE = 0.3  # of the body's length: height of a step that is too high for it


def lock_in_scene(scene: Scene, free: Motion, ledger: Contacts, options: LockOptions, root: Root | None) -> Track:
    """Return a motion with its contacts on the surfaces of a scene, and its body outside.

    Args:
        scene: The scene.
        free: The motion without contacts.
        ledger: The contacts, at the heights of the scaled source.
        options: The options of the lock.
        root: The root of the body.

    Raises:
        InvalidValue: The root does not move, or the body begins inside the scene.
    """
    lifted, placed = enter_scene(scene, free, ledger, root)
    moved = lifted
    best: tuple[float, Track] | None = None
    for _ in range(ROUNDS):
        goals = list_scene_goals(scene, moved, placed)
        track = lock_places(lifted, placed, replace(options, extra=(*options.extra, *goals), start=moved.q))
        moved = track.motion
        deepest = float(measure_depths(scene, moved).depths.max())
        gains = best is None or deepest < LEAST_GAIN * best[0] or deepest > SHALLOW_M
        best = (deepest, track) if best is None or deepest < best[0] else best
        if deepest < OUTSIDE_M or not gains:
            break
    assert best is not None, "there is a round"
    return best[1]


def enter_scene(scene: Scene, free: Motion, ledger: Contacts, root: Root | None) -> tuple[Motion, Contacts]:
    """Return a motion whose hips rise with the ground, and its contacts on the surfaces of a scene.

    Args:
        scene: The scene.
        free: The motion without contacts.
        ledger: The contacts, at the heights of the scaled source.
        root: The root of the body.

    Raises:
        InvalidValue: The root does not move, or the body begins inside the scene.
    """
    if root is None:
        raise InvalidValue("scene= needs a body whose root moves: leave out joints=, or name the root in it.")
    check_start(scene, free, root)
    placed = place_contacts(scene, free, ledger)
    q, at = np.array(free.q), root.slide.q.start
    q[:, at : at + 3] += np.outer(placed.lift, scene.up) @ root.base[:3, :3]
    check_steps(free, placed.highest_step)
    return Motion(free.model, q, free.fps), placed.ledger


def check_start(scene: Scene, free: Motion, root: Root) -> None:
    """Raise if a body begins inside a scene."""
    gap, _, region = scene.measure_gaps(free[:1].positions(root.frame)[0])
    if gap < 0.0:
        raise InvalidValue(
            f"scene: the body begins inside {scene.name(int(region))!r}: {root.frame!r} is {-float(gap):.2g} m deep in "
            "the first frame. The scene is in the metres of the target; move it, or the clip."
        )


def check_steps(free: Motion, highest: float) -> None:
    """Warn if a step is too high for a body."""
    length = free.model.length
    if highest > STEP_SHARE * length:
        warnings.warn(
            f"retarget: a step of {highest:.2g} m in scene= is too high for {free.model.name!r}, which is "
            f"{length:.2g} m long; contacts that are out of reach are released. Scale the scene with the body.",
            stacklevel=4,
        )
