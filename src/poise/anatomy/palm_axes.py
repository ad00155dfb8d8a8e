"""The axes of a palm, from the joints and tips of its digits: along the fingers, to the thumb's side, to the palm's."""

import numpy as np

from poise.anatomy.contacts import list_points
from poise.anatomy.parts import Body, list_parts
from poise.arrays import Floats
from poise.kinematics.symmetry import make_zero_pose

__all__ = ["MOST_BONES", "SAME_PLACE", "find_axes", "find_knuckle", "find_tip", "flatten", "make_unit", "measure_digit"]

MOST_BONES = 3  # of a digit with roles: those before them are in the palm
END_SHARE = 0.9  # of the length of the last bone: the points farther out are its end
SAME_PLACE = 0.05  # of a digit's length: two joints nearer to each other are those of one bone
FLAT = 0.02  # of a digit's length: the sum of the bends of fingers that are not bent
MOST_EXAMPLES = 20  # example poses in which fingers may be bent
STRAIGHTER = 0.01  # of the distances from knuckles to tips: a pose in which they are longer is a flatter hand


def find_axes(body: Body, digits: list[list[int]], tips: list[Floats]) -> Floats:
    """Return the axes of a palm in the world, as columns; the digits are in order.

    Jaws that begin in one place, as those of the Franka hand, are apart where they slide to, or at their tips.
    """
    begins, slides = [find_knuckle(body, chain) for chain in digits], [find_slide(body, chain) for chain in digits]
    first = 1 if len(digits) > 2 else 0
    ways = [make_unit(tip - body.parts[chain[0]].place) for chain, tip in zip(digits, tips, strict=True)]
    palm = body.parts[body.parts[digits[0][0]].parent].place
    along = choose_axis([np.sum(ways[first:], axis=0), np.mean(begins, axis=0) - palm])
    size = max(measure_digit(body, chain) for chain in digits)
    apart = [(each[first] - each[-1]) / size for each in (begins, slides, tips)]
    aside = choose_axis([way - (way @ along) * along for way in (*apart, *np.eye(3))])
    bend = np.cross(along, aside)
    toward = sum(float(find_bend(body, digits[i], tips[i]) @ bend) for i in range(first, len(digits)))
    if first and abs(toward) < FLAT * size:
        toward = float(find_shown_bend(body, digits[1:]) @ bend)
    if first and abs(toward) < FLAT * size:  # the thumb is on the side of the palm
        toward = float((tips[0] - np.mean(begins[1:], axis=0)) @ bend)
    return np.column_stack([along, aside, -bend if toward < 0.0 else bend])


def choose_axis(ways: list[Floats]) -> Floats:
    """Return the first direction that is long enough to have one, with length 1; z if none is."""
    return make_unit(next((way for way in ways if np.linalg.norm(way) > SAME_PLACE), np.array([0.0, 0.0, 1.0])))


def flatten(body: Body, fingers: list[list[int]]) -> Body:
    """Return the body with all angles zero if its fingers are straighter then, as those of a resting hand are."""
    zero = body.model.clamp(make_zero_pose(body.model))
    flat = list_parts(body.model, zero, body.up)

    def measure(pose: Body) -> float:
        return sum(float(np.linalg.norm(find_tip(pose, f) - find_knuckle(pose, f))) for f in fingers)

    return flat if measure(flat) > (1.0 + STRAIGHTER) * measure(body) else body


def find_slide(body: Body, chain: list[int]) -> Floats:
    """Return the displacement of a digit by its slides, to the farther ends of their ranges, (3,) [m]."""
    slides = [part for part in (body.parts[k] for k in chain) if part.joint and part.slides == part.joint.nv == 1]
    moves = [(p.joint.lower + p.joint.upper) * body.places[p.frame][:3, :3] @ p.joint.axis for p in slides if p.joint]
    return np.array(np.sum(moves, axis=0)) if moves else np.zeros(3)


def find_bend(body: Body, chain: list[int], tip: Floats) -> Floats:
    """Return the direction in which a finger bends: by its ranges, else as it is bent already."""
    out, first = np.zeros(3), body.parts[chain[0]].place
    for part in (body.parts[k] for k in chain):
        if part.axis is not None and part.joint is not None and -np.inf < part.joint.lower < part.joint.upper < np.inf:
            low, high = float(part.joint.lower), float(part.joint.upper)
            out += (low + high) / (high - low) * np.cross(part.axis, tip - part.place)
    if out.any():
        return out
    knuckles, way = np.reshape([body.parts[k].place for k in chain[1:]], (-1, 3)) - first, make_unit(tip - first)
    return np.array(((knuckles @ way)[:, None] * way - knuckles).sum(axis=0))


def find_shown_bend(body: Body, fingers: list[list[int]]) -> Floats:
    """Return the direction in which fingers bend in the example pose in which they are bent most; zero without one."""
    model, out = body.model, np.zeros(3)
    if model.example_poses is None:
        return out
    q = model.example_poses[:: max(1, len(model.example_poses) // MOST_EXAMPLES)]
    ends = [body.parts[k].frame for chain in fingers for k in (chain[0], chain[-1])]
    places = model.fk(q, ends)[..., :3, 3]
    bent = list_parts(model, q[np.linalg.norm(places[:, 1::2] - places[:, ::2], axis=2).sum(axis=1).argmin()], body.up)
    for chain in fingers:
        out += find_bend(bent, chain, find_tip(bent, chain))
    palm = body.parts[body.parts[fingers[0][0]].parent].frame
    return np.array(body.places[palm][:3, :3] @ bent.places[palm][:3, :3].T @ out)


def find_tip(body: Body, chain: list[int]) -> Floats:
    """Return the end of a digit: the mean of the points of its last part farthest along it, (3,) [m]."""
    last = body.parts[chain[-1]]
    below = [body.parts[k].place for k in body.children[last.index]]
    points = np.concatenate([list_points(body, list(last.frames))[0], last.ends, np.reshape(below, (-1, 3))])
    way, off = last.place - body.parts[chain[0]].place, points - last.place
    far = off @ make_unit(way) if way.any() else np.linalg.norm(off, axis=1)
    return np.array(points[far >= END_SHARE * far.max()].mean(axis=0)) if far.max() > 0.0 else last.place


def find_knuckle(body: Body, chain: list[int]) -> Floats:
    """Return the place where a digit leaves the palm: that of its third last joint, (3,) [m]."""
    return body.parts[chain[-MOST_BONES:][0]].place


def measure_digit(body: Body, chain: list[int]) -> float:
    """Return the largest distance of a digit's points from its first joint [m]."""
    at = body.parts[chain[0]].place
    return max(float(np.linalg.norm(body.parts[k].ends - at, axis=1).max()) for k in chain)


def make_unit(x: Floats) -> Floats:
    """Return a vector with length 1; a zero one as it is."""
    length = float(np.linalg.norm(x))
    return np.array(x / length) if length > 0.0 else x
