"""Kinematics: load a figure, compute the position and velocity of its hand, then build an arm."""

import numpy as np

import poise

humanoid = poise.load("humanoid")
print(humanoid)

# Where is the left hand, and how fast does it move if the elbow turns at one radian per second?
pose = poise.Pose(humanoid).replace({"elbow_l": -1.0})
print("\nhand_l is at", pose.position("hand_l").round(3), "m")
J = humanoid.jacobian(pose.q, "hand_l")
elbow = humanoid.joint("elbow_l")
speed = np.linalg.norm(J[:3, elbow.v])
print(f"the Jacobian is {J.shape[0]} x {J.shape[1]}; the elbow moves the hand at {speed:.3f} m/s per rad/s")

# The speed is the distance from elbow to hand; joints of the other arm do not move this hand.
arm = np.linalg.norm(pose.position("hand_l") - pose.position("elbow_l"))
assert abs(speed - arm) < 1e-12
assert not J[:, humanoid.joint("elbow_r").v].any()

# Build a body: a turntable, a shoulder and an elbow.
builder = poise.ModelBuilder("arm")
builder.add_joint("turntable", None, "continuous", axis=(0, 0, 1))
builder.add_joint("shoulder", "turntable", "revolute", axis=(0, 1, 0), offset=(0, 0, 0.3), lower=-2, upper=2)
builder.add_joint("elbow", "shoulder", "revolute", axis=(0, 1, 0), offset=(0.4, 0, 0), lower=0, upper=2.5)
builder.add_frame("tip", "elbow", (0.3, 0, 0))
model = builder.build()
print(f"\n{model}")

T_world_tip = model.fk([0.0, 0.0, np.pi / 2], "tip")
print("tip with a bent elbow:", T_world_tip[:3, 3].round(3), "m")
assert np.allclose(T_world_tip[:3, 3], (0.4, 0, 0))
assert model.fk(model.random(np.random.default_rng(0), 1000), "tip").shape == (1000, 4, 4)
