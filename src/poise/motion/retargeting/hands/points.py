"""The motion of a person's hand from tracked points, such as those of MediaPipe or of a headset.

1. Frames without a hand are bridged: those with a missing point, with a palm of another size than most (a false
   detection), or with fingers that bend backwards (a left hand taken for a right one, for a moment). Their points are
   interpolated between the frames around them.
2. Bones have the median lengths of all frames, or of a calibration, and the palm its median shape.
3. The palm of each frame is laid on its points (Kabsch, A solution for the best rotation to relate two sets of vectors,
   1976), and the fingers are solved over all frames within their ranges.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import FormatWarning, InvalidValue, ShapeMismatch, show_value
from poise.goals import Reach
from poise.kinematics import Motion
from poise.model import Model
from poise.models.hand import DIGITS, Digit, Segment, build_hand
from poise.motion.clips.clip_limits import read_number
from poise.motion.clips.whole_clip import ClipGoal, solve_whole
from poise.motion.contact.detector import find_runs
from poise.motion.retargeting.hands.layouts import HandLayout, read_layout
from poise.spatial import Rotation
from poise.spatial.arrays import read_reals

__all__ = ["hand_points"]

HOLD_WEIGHT = 0.01  # of a displacement from the rest pose, relative to the place of a point
POINT_WEIGHT = 5.0  # of the place of a point [1 / L]
OTHER_SIZE = 0.3  # of the size of a palm: frames in which it differs by more from the median are false
BACKWARDS = 0.35  # mean sine of the angles by which the outer joints of a false finger bend to the back of the hand
FLAT = 0.03  # mean sine: a hand whose fingers bend less does not show its side
NAMES = {"l": "a left", "r": "a right"}


def hand_points(
    points: ArrayLike,
    layout: str | HandLayout = "mediapipe",
    *,
    fps: float = 30.0,
    side: str | None = None,
    calibration: ArrayLike | None = None,
    smooth: float = 0.3,
) -> Motion:
    """Return the motion of a person's hand from tracked points.

    The model has the joints of ``poise.load("hand")`` and the lengths of this hand; its wrist is free. A
    `FormatWarning` says which frames were bridged.

    Args:
        points: The points, (frames, points, 3) [m], in any right-handed axes; NaN where one is missing.
        layout: The order of the points: "mediapipe", "openxr", "webxr", "apple", "mano" with fingertips, or a
            HandLayout.
        fps: Frames per second.
        side: "l" or "r"; by default found from the side to which the fingers bend.
        calibration: Points of a frame, (points, 3), or of several, to measure the lengths of bones in; by default all
            frames.
        smooth: The spread of changes in time; 1 is 0.1 s.

    Raises:
        ShapeMismatch: The array does not have the points of the layout.
        InvalidValue: The layout is unknown, no frame has all points, or the hand is flat in all frames and no side is
            given.
    """
    rows, rate = read_layout(layout), check_positive(fps, "fps")
    found = read_points(points, rows, layout, "points")
    shown = found if calibration is None else read_points(calibration, rows, layout, "calibration")
    spread = read_number(smooth, "smooth", 0.0)
    if side not in (None, "l", "r"):
        raise InvalidValue(f"side is {show_value(side)}; it must be 'l' or 'r', or None to find it.")
    own = find_side(found, rows) if side is None else str(side)
    whole = bridge(found, find_false(found, shown, rows, own), rate)
    body = fit_hand(shown[find_complete(shown)], rows, own)
    return solve_points(body, whole, rows, rate, spread)


def read_points(given: ArrayLike, rows: HandLayout, layout: Any, what: str) -> Floats:
    """Return points as (frames, points, 3)."""
    out = read_reals(given, what)
    out = out[None] if out.ndim == 2 and what == "calibration" else out
    if out.ndim != 3 or out.shape[1:] != (rows.count, 3):
        raise ShapeMismatch(
            f"{what} has shape {np.shape(given)}; layout {show_value(layout)} has {rows.count} points a frame: "
            f"(frames, {rows.count}, 3)."
        )
    if not find_complete(out).any():
        raise InvalidValue(f"{what} has no frame in which all points are known.")
    return out


def find_complete(points: Floats) -> NDArray[np.bool_]:
    """Flag the frames with all points, of which no two joints of a palm are in one place."""
    known = np.asarray(np.isfinite(points).all(axis=(1, 2)))
    known[known] = np.ptp(points[known], axis=1).max(axis=1) > 0.0
    return known


def find_palms(points: Floats, rows: HandLayout, side: str) -> Floats:
    """Return the transforms of the wrist: y to the knuckles, z out of the palm, (frames, 4, 4)."""
    wrist, knuckles = points[:, rows.wrist], points[:, [digit[0] for digit in rows.digits[1:]]]
    along, aside = knuckles.mean(axis=1) - wrist, knuckles[:, 0] - knuckles[:, -1]
    y = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    x = aside - (aside * y).sum(axis=1, keepdims=True) * y
    x *= (1.0 if side == "r" else -1.0) / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    out = np.tile(np.eye(4), (len(points), 1, 1))
    out[:, :3, :3] = np.stack([x, y, np.cross(x, y)], axis=2)
    out[:, :3, 3] = wrist
    return out


def place_in_palms(points: Floats, rows: HandLayout, side: str) -> Floats:
    """Return points in the frames of their palms, as those of a right hand [m]."""
    T = find_palms(points, rows, side)
    local = (points - T[:, None, :3, 3]) @ T[:, :3, :3]
    out: Floats = local * np.array([1.0 if side == "r" else -1.0, 1.0, 1.0])
    return out


def measure_bend(points: Floats, rows: HandLayout, side: str) -> Floats:
    """Return the mean sine of the angles by which the outer joints of each finger bend to the palm, (frames, 4)."""
    bones = np.diff(place_in_palms(points, rows, side)[:, np.array(rows.digits[1:])], axis=2)
    bones /= np.maximum(np.linalg.norm(bones, axis=3, keepdims=True), 1e-12)
    out: Floats = np.cross(bones[:, :, :-1], bones[:, :, 1:])[..., 0].mean(axis=2)
    return out


def find_side(points: Floats, rows: HandLayout) -> str:
    """Return the side of a hand: fingers bend to the palm."""
    bend = float(np.mean(measure_bend(points[find_complete(points)], rows, "r")))
    if abs(bend) < FLAT:
        raise InvalidValue("points show a flat hand, left or right: give side='l' or side='r'.")
    return "r" if bend > 0.0 else "l"


def find_false(points: Floats, shown: Floats, rows: HandLayout, side: str) -> NDArray[np.bool_]:
    """Flag the frames without a hand: points are missing, the palm has another size, or fingers bend backwards."""
    known = find_complete(points)
    palm = [rows.wrist, *(digit[0] for digit in rows.digits[1:])]

    def measure(frames: Floats) -> Floats:
        off = frames[:, palm] - frames[:, palm].mean(axis=1, keepdims=True)
        return np.asarray(np.sqrt((off**2).sum(axis=(1, 2))))

    usual = float(np.median(measure(shown[find_complete(shown)])))
    good = np.array(known)
    good[known] &= np.abs(measure(points[known]) / usual - 1.0) < OTHER_SIZE
    good[known] &= measure_bend(points[known], rows, side).min(axis=1) > -BACKWARDS
    if not good.any():
        raise InvalidValue(f"points have no frame of {NAMES[side]} hand: look at layout= and side=.")
    return ~good


def bridge(points: Floats, false: NDArray[np.bool_], fps: float) -> Floats:
    """Return points without false frames: interpolated between those around them; warns of them."""
    if not false.any():
        return points
    at, good = np.arange(len(points)), np.flatnonzero(~false)
    paths = points.reshape(len(points), -1)
    out = np.stack([np.interp(at, good, path[good]) for path in paths.T], axis=1).reshape(points.shape)
    runs = [f"{a} to {b - 1}" if b - a > 1 else f"{a}" for a, b in find_runs(false)]
    more = f" and {len(runs) - 5} others" if len(runs) > 5 else ""
    longest = max(b - a for a, b in find_runs(false)) / fps
    text = f"points show no hand in {int(false.sum())} of {len(points)} frames ({', '.join(runs[:5])}{more})"
    warnings.warn(f"{text}, for up to {longest:.2f} s; they were interpolated.", FormatWarning, stacklevel=3)
    return out


def fit_hand(points: Floats, rows: HandLayout, side: str) -> Model:
    """Return a hand with the median lengths of bones, and the median palm, of some frames."""
    local, digits = 1000.0 * place_in_palms(points, rows, side), list[Digit]()
    for digit, own in zip(DIGITS, rows.digits, strict=True):
        lengths = np.median(np.linalg.norm(np.diff(local[:, own], axis=1), axis=2), axis=0).tolist()
        x, y, z = np.median(local[:, own[0]], axis=0).tolist()
        bones = [part for part in digit.segments if digit.name == "thumb" or not part.joint.endswith("cmc")]
        segments = [Segment(b.joint, length, b.ranges, b.rest) for b, length in zip(bones, lengths, strict=True)]
        digits.append(digit._replace(base=(x, y, z), segments=tuple(segments)))
    return build_hand(side, digits, name=f"{'left' if side == 'l' else 'right'} hand", free=True)


def solve_points(body: Model, points: Floats, rows: HandLayout, fps: float, smooth: float) -> Motion:
    """Return the motion of a hand whose joints are at points."""
    q, root = np.tile(body.rest, (len(points), 1)), body.joint("wrist").q
    T = lay_palms(body, points, rows)
    q[:, root.start : root.start + 3] = T[:, :3, 3]
    q[:, root.stop - 4 : root.stop] = Rotation.from_matrix(T[:, :3, :3]).wxyz
    wanted, every = list[ClipGoal](), np.full(len(points), POINT_WEIGHT)
    for digit, own in zip(DIGITS, rows.digits, strict=True):
        for frame, row in zip(list_frames(digit)[1:], own[1:], strict=True):
            targets = np.zeros((len(points), 12))
            targets[:, [0, 4, 8]], targets[:, 9:] = 1.0, points[:, row]
            wanted.append(ClipGoal(Reach(frame, (0.0, 0.0, 0.0), name=frame), targets, every))
    fingers = [joint.name for joint in body.joints if joint.nv and joint.name != "wrist"]
    answer = solve_whole(Motion(body, q, fps), wanted, hold=HOLD_WEIGHT, smooth=smooth, joints=fingers)
    return Motion(body, answer.q, fps)


def list_frames(digit: Digit) -> list[str]:
    """List the frames of a digit's joints and of its tip."""
    return [*(part.joint for part in digit.segments if part.joint != "pinky_cmc"), f"{digit.name}_tip"]


def lay_palms(body: Model, points: Floats, rows: HandLayout) -> Floats:
    """Return the transforms of the wrist that lay the palm of a hand on its points, (frames, 4, 4)."""
    own = [rows.wrist, *(digit[0] for digit in rows.digits)]
    names = ["wrist", *(list_frames(digit)[0] for digit in DIGITS)]
    rest = body.fk(body.rest, "wrist")
    model = np.array([(np.linalg.inv(rest) @ body.fk(body.rest, name))[:3, 3] for name in names])
    seen = points[:, own]
    middle, centre = model.mean(axis=0), seen.mean(axis=1)
    U, _, Vh = np.linalg.svd(np.einsum("tni,nj->tij", seen - centre[:, None], model - middle))
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vh))[:, None]
    out = np.tile(np.eye(4), (len(points), 1, 1))
    out[:, :3, :3] = U @ Vh
    out[:, :3, 3] = centre - out[:, :3, :3] @ middle
    return out
