"""Joints along a curve and bones that stretch: a camera on a dolly, an arm that reaches farther than its bones."""

import numpy as np

import poise
from poise.goals import LookAt, Reach, Rest
from poise.model import Path

# an arm with two bones that stretch to 1.5 times their length
builder = poise.ModelBuilder("stage")
builder.add_joint("shoulder", None, "revolute", axis=(0, 0, 1), lower=-3, upper=3)
builder.add_joint("upper_arm", "shoulder", "scale", axis=(1, 0, 0), length=0.5, lower=0.8, upper=1.5)
builder.add_joint("elbow", "upper_arm", "revolute", axis=(0, 0, 1), lower=0, upper=2.6)
builder.add_joint("forearm", "elbow", "scale", axis=(1, 0, 0), length=0.5, lower=0.8, upper=1.5)
builder.add_frame("hand", "forearm")

# a camera on a curved track, upright, that pans and tilts
track = Path([(-2, -2, 1), (0, -1.5, 1.3), (2, -2, 1)], up=(0, 0, 1))
builder.add_joint("dolly", None, "path", path=track)
builder.add_joint("camera", "dolly", "universal", axis=(0, 0, 1), axis2=(0, 1, 0))
model = builder.build()
print(model.joint("dolly"))

# the hand moves along a line; the camera follows it
goals = [Reach("hand", (0.6, 0.0, 0.0)), LookAt("camera", (0.6, 0.0, 0.0), axis="x"), Rest(weight=0.01)]
solver = poise.Solver(model, goals, mode="continuous")
q = poise.solve(model, goals).q
stretches = []
for x in np.linspace(0.6, 1.4, 40):
    solution = solver.solve(q, {"hand": (x, 0.2, 0.0), "camera": (x, 0.2, 0.0)})
    assert solution.reached
    q = solution.q
    stretches.append(q[model.joint("forearm").q][0])

assert max(stretches) > 1.3  # 1.41 m away, with bones of 0.5 m
print(f"the forearm is {stretches[0]:.2f} times its length at first, {stretches[-1]:.2f} at the end")

far = poise.solve(model, Reach("hand", (3.0, 0.0, 0.0)))  # beyond the maximum stretch
assert not far.reached, far.why()
