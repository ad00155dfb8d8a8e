"""A motion on the surfaces of a scene: contacts are placed on them, and the hips rise with them (`stances`)."""

import warnings

import numpy as np

from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carriers import Root
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene
from poise.motion.scenes.stances import place_contacts

__all__ = ["enter_scene"]

STEP_SHARE = 0.3  # of the body's length: height of a step that is too high for it


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
            stacklevel=5,
        )
