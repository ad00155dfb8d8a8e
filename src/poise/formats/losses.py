"""Values of a body that formats for animation cannot hold."""

import numpy as np

from poise.model import Model
from poise.model.spec import DRIVE

__all__ = ["list_losses"]


def list_losses(model: Model) -> list[str]:
    """List the kinds of values that are lost if only the skeleton of a body is written."""
    found = {
        "ranges": np.isfinite([model.lower, model.upper]).any() or any(joint.cone for joint in model.joints),
        "joints that follow others": any(joint.mimic for joint in model.joints),
        "drives (effort, velocity, damping, friction, armature)": any(
            getattr(joint, key) not in (0.0, np.inf) for joint in model.joints for key in DRIVE
        ),
        "closed loops": bool(model.closures),
        "masses": model.mass > 0,
        "shapes": bool(model.shapes),
    }
    return [what for what, has in found.items() if has]
