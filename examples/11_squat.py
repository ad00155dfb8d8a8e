"""Planted feet: pull the pelvis down, move a foot sideways, and explain where it stops."""

import numpy as np

import poise

rig = poise.Rig(poise.load("humanoid"))
print("planted:", *rig.plant())

# a squat: the balls of the feet stay, the knees go forward, the heels rise at the ankle limit
start, ball = rig.pose.position("pelvis"), rig.pose.position("ball_l")
for depth in np.linspace(0.0, 0.4, 60):
    pose = rig.drag("pelvis", start - np.array([0.0, depth, 0.0]))
print("knee ahead of the ankle:", round(pose.position("knee_l")[2] - pose.position("ankle_l")[2], 2), "m")
assert rig.misses == ()
assert abs(pose.position("ball_l") - ball).max() < 1e-6
assert 0.05 < pose.position("heel_l")[1] < 0.12
assert pose.position("knee_l")[2] > 0.3

# up again, then a foot sideways: only the hip turns, and the foot is planted at its new place
for depth in np.linspace(0.4, 0.0, 60):
    rig.drag("pelvis", start - np.array([0.0, depth, 0.0]))
rig.release("pelvis")
foot = rig.pose.position("foot_l")
for way in np.linspace(0.0, 0.2, 40):
    pose = rig.drag("foot_l", foot + np.array([way, 0.0, 0.0]))
assert rig.state.planted == ("foot_l", "foot_r")
assert np.degrees(np.arccos(pose.transform("pelvis").matrix[1, 1])) < 10.0

# the floor is a limit: a foot pulled into it stays on it and is reported
for way in np.linspace(0.0, 0.3, 40):
    pose = rig.drag("foot_l", foot + np.array([0.2, -way, 0.0]))
print(rig.why())
assert min(pose.position(name)[1] for name in ("heel_l", "ball_l", "toe_l")) > -1e-6
