"""The points on which a body may stand, and its size.

The points are those of `Foot.standing`: the heel and toe of every foot, or the single point that it stands on. The size
scales lengths and speeds that are set for a person.
"""

import numpy as np

from poise.anatomy import ContactPoint, find_feet
from poise.anatomy import roles as find_roles
from poise.anatomy.people import cut_out, find_carrier, list_carried
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = ["find_soles", "list_soles", "measure_giant", "measure_size"]

ORDINARY_SIZE = 1.25  # relative to a person: lengths in metres suit bodies up to this size


def list_soles(model: Model) -> list[ContactPoint]:
    """List the points on which a body stands; empty if it has no known feet."""
    return [point for foot in find_feet(model) for point in foot.standing]


def find_soles(model: Model, given: object = None) -> list[ContactPoint]:
    """List the points on which a body stands, or the origins of the given frames.

    Raises:
        InvalidValue: The body has no known feet; pass the names of its frames.
    """
    if given is not None:
        names = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
        return [ContactPoint(str(name), model.frame(name).name, (0.0, 0.0, 0.0), "frame") for name in names]
    found = list_soles(model)
    if not found:
        raise InvalidValue(
            f"model {model.name!r} has no feet with known names: name the frames that stand, "
            "such as motion.contacts(clip, points=['left_foot', 'right_foot'])."
        )
    return found


def measure_size(clip: Motion) -> float:
    """Return the size of a body relative to a person of 1.75 m, whose frames span 1.6 m; it scales thresholds.

    It is measured in the tallest frames of the clip, because many files have a rest pose that lies down, and over the
    frames that move with the pelvis, because files may also contain cameras, objects and other people; without the
    arms, which may be raised.
    """
    model = clip.model
    frames, length = find_own(model)
    places = model.fk(clip.q[:: max(1, len(clip) // 100)])[:, :, :3, 3][:, frames]
    heights = places @ model.up_direction
    tall = float(np.percentile(np.ptp(heights, axis=1), 90.0)) if heights.size else 0.0
    if find_roles(model).kind == "quadruped":  # as long as a person of its size is tall
        tall = float(np.percentile(np.linalg.norm(np.ptp(places, axis=1), axis=1), 90.0)) if heights.size else 0.0
    return max(tall, 0.5 * length, 1e-9) / 1.6


def measure_giant(clip: Motion) -> float:
    """Return the size of a giant relative to a person; 1 for every body up to ORDINARY_SIZE."""
    size = measure_size(clip)
    return size if size > ORDINARY_SIZE else 1.0


@keep_with_model
def find_own(model: Model) -> tuple[list[int], float]:
    """Return the indices of the body's own frames without its arms, and its length [m].

    If the body has no free root, these are all frames but those of its arms.
    """
    roles = find_roles(model)
    pelvis, arms = roles.get("pelvis"), {roles[name] for name in ("shoulder_l", "shoulder_r") if name in roles}
    carrier = None if pelvis is None else find_carrier(model, pelvis)
    carried = set(model.frames) if carrier is None else set(list_carried(model, carrier))
    own = [i for i, frame in enumerate(model.frames) if frame in carried and arms.isdisjoint(model.ancestors(frame))]
    return own, model.length if carrier is None or len(carried) == len(model.frames) else cut_out(model, carrier).length
