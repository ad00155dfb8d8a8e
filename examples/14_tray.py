"""Objects in hands: carry a level tray on flat hands while walking."""

import numpy as np

import poise
from poise import motion
from poise.goals import Grasp, LookAt, Reach
from poise.model import Box

humanoid = poise.load("humanoid")
frames, beat, stride = 91, 0.6, 0.36
u = np.arange(frames) / 30.0 / beat  # counted in steps


def step(foot, shift, lead):
    """Return the position of a foot: it swings every other step and stands in between."""
    swing = np.minimum((u - shift) % 2.0, 1.0)
    path = np.tile(humanoid.fk(humanoid.rest, foot), (frames, 1, 1))
    path[:, 2, 3] += stride * (2.0 * (np.floor((u - shift) / 2.0) + swing**2 * (3.0 - 2.0 * swing)) - 1.0 + lead)
    path[:, 1, 3] += 0.07 * np.sin(np.pi * swing) ** 2
    return Reach(foot, path)


tray = np.tile(np.eye(4), (frames, 1, 1))
tray[:, :3, 3] = np.stack([0.0 * u, 1.06 + 0.0 * u, 0.42 + stride * (u - 0.5)], axis=1)
hips = np.array([0.0, 0.9, 0.0]) + np.stack([0.02 * np.sin(np.pi * (u - 0.5)), 0.0 * u, stride * (u - 0.5)], axis=1)
thing = poise.Object(Box((0.5, 0.02, 0.32)), tray, name="tray", fps=30)
left = [(0, 0, 1, 0.17), (-1, 0, 0, -0.035), (0, -1, 0, -0.03), (0, 0, 0, 1)]  # palm up, fingers ahead
right = [(0, 0, -1, -0.17), (1, 0, 0, -0.035), (0, -1, 0, -0.03), (0, 0, 0, 1)]

goals = [Grasp("hand_l", thing, np.array(left, float)), Grasp("hand_r", thing, np.array(right, float))]
goals += [step("foot_l", 0.0, 0.0), step("foot_r", 1.0, 1.0), Reach("pelvis", hips, weight=(1, 0, 1))]
track = motion.track(humanoid, [*goals, LookAt("head", (0.0, 1.4, 6.0))])
print(track.motion, track.why(), sep="\n")
assert track.reached.all()
palms = track.motion.positions("hand_l") - track.motion.positions("hand_r")
assert np.abs(palms[:, 1]).max() < 1e-6  # level to a micrometre
poise.plot(track.motion[:45], "tray.png")
