"""Edits of whole clips: resampling, smoothing, joining, looping, means, and velocities.

Edits work on samples (see `samples`), so that rotations stay rotations. Sampling interpolates the frames by a cubic,

    b(u) = lerp of lerps of [q_i, q_i + v_i / 3, q_{i+1} - v_{i+1} / 3, q_{i+1}],    v_i = half the step of two frames,

by de Casteljau's construction with geodesics as straight lines (Shoemake 1985): it passes through every frame with a
continuous velocity, and does not depend on the direction of time or the choice of world frame.
"""

import numpy as np

from poise.arrays import Floats
from poise.kinematics.carriers import Root, carry, find_root, level_motion
from poise.kinematics.samples import SampleLayout, Samples, name_angles
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["average", "join", "loop", "measure_speeds", "sample", "smooth"]

TO_HALF_POWER = (np.sqrt(2.0) - 1.0) ** -0.25  # corrects the cutoff for two passes
FADED = 14.0  # the filter is cut off where its response has fallen by exp(-14)
MOST_MEANS = 50


def sample(model: Model, q: Floats, at: Floats) -> Floats:
    """Return configurations between frames; `at` counts frames from zero and is clamped to the clip."""
    at = np.clip(at, 0.0, len(q) - 1)
    nearest = np.rint(at).astype(np.int64)
    near = q[nearest]
    if len(q) == 1:
        return near
    layout = SampleLayout.read_model(model)
    x = layout.read(q)
    left = np.minimum(at.astype(np.int64), len(q) - 2)
    u = at - left
    speeds = differentiate(x)
    a, d = x[left], x[left + 1]
    b, c = a.move(speeds[left] / 3.0), d.move(-speeds[left + 1] / 3.0)
    ab, bc, cd = a.blend(b, u), b.blend(c, u), c.blend(d, u)
    out = layout.write(ab.blend(bc, u).blend(bc.blend(cd, u), u), near)
    return np.where((at == nearest)[:, None], near, out)  # an exact frame is returned bit for bit


def differentiate(x: Samples) -> Floats:
    """Return the derivative per frame at each sample, in its own chart, (frames, n + 3 r)."""
    steps = x[:-1].measure(x[1:])
    if len(x) == 2:
        return np.concatenate([steps, steps])
    return take_central(steps, x[:1].measure(x[2:3]), x[-3:-2].measure(x[-1:]))


def take_central(steps: Floats, first: Floats, last: Floats) -> Floats:
    """Return derivatives at every frame from the steps between neighbours, of second order also at both ends.

    A geodesic has the same body axes along its whole length, so a step to a frame is valid in that frame's chart.

    Args:
        steps: The steps between neighbours, (frames - 1, n).
        first: The step from the first frame to the third.
        last: The step from the third-last frame to the last.
    """
    inner = 0.5 * (steps[1:] + steps[:-1])
    return np.concatenate([2.0 * steps[:1] - 0.5 * first, inner, 2.0 * steps[-1:] - 0.5 * last])


def measure_speeds(model: Model, q: Floats, fps: float) -> Floats:
    """Return the velocities of the joints at each frame, (frames, nv), by central differences on the manifold.

    Jumps of angles by whole turns, and branch changes of Euler angles, do not count as motion.
    """
    if len(q) == 1:
        return np.zeros((1, model.nv))
    q = follow_branches(model, q)
    steps = model.difference(q[:-1], q[1:])
    if len(q) == 2:
        return fps * np.concatenate([steps, steps])
    return fps * take_central(steps, model.difference(q[:1], q[2:3]), model.difference(q[-3:-2], q[-1:]))


def follow_branches(model: Model, q: Floats) -> Floats:
    """Return configurations without jumps of whole turns and without branch changes of Euler joints."""
    layout = SampleLayout.read_model(model)
    out = np.array(q)
    out[:, layout.numbers] = layout.read(q).numbers
    for start, order in layout.eulers:
        angles = out[:, start : start + 3]
        jumps = np.abs(np.diff(angles, axis=0)).sum(axis=1) > 0.5 * np.pi
        for i in range(int(np.argmax(jumps)) + 1 if jumps.any() else len(angles), len(angles)):
            angles[i] = name_angles(Rotation.from_euler(order, angles[i]), order, angles[i - 1])
    return out


def smooth(model: Model, q: Floats, fps: float, cutoff_hz: float) -> Floats:
    """Low-pass filter configurations with a Butterworth filter, run forwards and backwards.

        |H(f)| = 1 / (1 + (f / f0)^4),   h(t) ~ exp(-w |t|) (cos w t + sin w |t|),   w = sqrt(2) pi f0

    It adds no delay and halves the power at the cutoff. Beyond the first and the last frame the clip is extended by its
    point reflection in that frame, so a constant velocity is preserved.
    """
    w = np.sqrt(2.0) * np.pi * cutoff_hz * TO_HALF_POWER / fps
    most = min(int(np.ceil(FADED / w)), len(q) - 1)
    if most < 1:
        return np.array(q)
    layout = SampleLayout.read_model(model)
    x = layout.read(q)
    k = np.arange(1, most + 1)
    weights = np.exp(-w * k) * (np.cos(w * k) + np.sin(w * k))
    weights /= 1.0 + 2.0 * weights.sum()
    steps = np.zeros((len(x), x.numbers.shape[1] + 3 * x.quaternions.shape[1]))
    for shift, weight in zip(k.tolist(), weights.tolist(), strict=True):
        steps += weight * (look_ahead(x, shift) + look_ahead(x[::-1], shift)[::-1])
    return layout.write(x.move(steps), q)


def look_ahead(x: Samples, shift: int) -> Floats:
    """Return the steps from every sample to the one `shift` later, extending the end by its point reflection."""
    inside = x[:-shift].measure(x[shift:])
    end = x[-1:].repeat(shift)
    images = end.move(-end.measure(x[len(x) - 1 - shift : len(x) - 1][::-1]))
    return np.concatenate([inside, x[len(x) - shift :].measure(images)])


def average(model: Model, q: Floats) -> Floats:
    """Return the mean configuration, (nq,): the steps from it to all frames sum to zero."""
    layout = SampleLayout.read_model(model)
    x = layout.read(q)
    middle = x[len(x) // 2 : len(x) // 2 + 1]
    for _ in range(MOST_MEANS):
        step = middle.repeat(len(x)).measure(x).mean(axis=0, keepdims=True)
        middle = middle.move(step)
        if np.abs(step).max(initial=0.0) < 1e-14:
            break
    out: Floats = layout.write(middle, q[len(q) // 2 : len(q) // 2 + 1])[0]
    return out


def join(model: Model, first: Floats, second: Floats, overlap: int) -> Floats:
    """Join two clips with a cross-fade over `overlap` frames.

    The second clip is moved over the ground to continue at the position and heading of the first.
    """
    root = find_root(model)
    if root is not None:
        half = overlap // 2
        i = min(len(first) - overlap + half, len(first) - 1)
        second = go_on_from(model, root, first[i], second, half if overlap else 0)
    if not overlap:
        return np.concatenate([first, second])
    layout = SampleLayout.read_model(model)
    ending, beginning = first[len(first) - overlap :], second[:overlap]
    share = ease((np.arange(overlap, dtype=np.float64) + 1.0) / (overlap + 1.0))
    faded = layout.read(ending).blend(layout.read(beginning), share)
    near = np.where((share < 0.5)[:, None], ending, beginning)
    return np.concatenate([first[: len(first) - overlap], layout.write(faded, near), second[overlap:]])


def loop(model: Model, q: Floats, overlap: int) -> Floats:
    """Return a cyclic clip: its end is faded into its beginning; it is shorter by `overlap` frames."""
    period = len(q) - overlap
    out = join(model, q, q, overlap)[period : 2 * period]
    root = find_root(model)
    return out if root is None else go_on_from(model, root, q[0], out, 0)


def go_on_from(model: Model, root: Root, pose: Floats, q: Floats, at: int) -> Floats:
    """Return a clip moved over the ground so that its frame `at` has the position and heading of a pose."""
    start, end = model.fk(q[at], root.frame), model.fk(pose, root.frame)
    return carry(root, q, level_motion(start, end, model.up_direction))


def ease(u: Floats) -> Floats:
    """Return a smooth step from 0 to 1 with zero velocity and acceleration at both ends."""
    return u * u * u * (10.0 + u * (6.0 * u - 15.0))
