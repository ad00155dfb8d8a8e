"""Rig: pin the feet, drag a hand, mirror, undo, release."""

import numpy as np

import poise

rig = poise.Rig(poise.load("humanoid"))
print(rig, *rig.handles.values(), sep="\n")

# pinned feet; the eyes follow the hand; the hand follows the mouse, one frame per call
rig.pin("foot_l")
rig.pin("foot_r")
feet = rig.state.transform("foot_l").matrix
for height in np.linspace(0.8, 1.5, 60):
    mouse = (-0.35, height, 0.35)
    rig.look_at("head", mouse)
    pose = rig.drag("hand_r", mouse)
print(rig.solution)
assert abs(pose.transform("foot_l").matrix - feet).max() < 1e-6
assert abs(pose.position("hand_r") - mouse).max() < 1e-4

# elbow up and outward, hand in place
rig.pole("arm_r", (-1.0, 1.0, 0.0))
rig.settle()
assert abs(rig.pose.position("hand_r") - mouse).max() < 1e-4

# mirror, and undo exactly
before = rig.q
rig.mirror()
assert "hand_l" in rig.state.held
rig.history.undo()
assert (rig.q == before).all()

# release: arm and eyes return, the feet stay pinned
rig.release("hand_r")
rig.release("head")
rig.pole("arm_r", None)
rig.settle()
assert abs(rig.model.difference(rig.q, rig.model.rest)).max() < 1e-4
