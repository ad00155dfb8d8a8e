"""Objects in hands: lift a box from the floor onto a shelf with both hands, planted feet and balance."""

import numpy as np

import poise
from poise import motion
from poise.goals import Balance, Grasp, LookAt
from poise.kinematics import MotionWithObjects
from poise.limits import Clearance
from poise.model import Box

humanoid = poise.load("humanoid")

# the given path of the box: up from the floor, forward over the shelf, and down onto it
keys = np.array([(0.12, 0.44), (0.5, 0.43), (1.05, 0.4), (1.28, 0.44), (1.28, 0.58), (1.235, 0.6)])  # height, ahead
seconds = np.cumsum([0.0, 0.9, 1.0, 0.6, 0.6, 0.4])
times = np.linspace(0.0, seconds[-1], 106)
path = np.tile(np.eye(4), (106, 1, 1))
path[:, 1:3, 3] = np.stack([np.interp(times, seconds, column) for column in keys.T], axis=1)
box = poise.Object(Box((0.36, 0.24, 0.26)), path, name="box", fps=30)
box = box.move(MotionWithObjects(humanoid, [humanoid.rest] * 106, 30, [box]).smoothed(1.2).objects[0].transforms)

goals = [Grasp("hand_l", box), Grasp("hand_r", box), Balance(["foot_l", "foot_r"]), LookAt("head", (0, 0.9, 0.6))]
track = motion.track(humanoid, goals, contacts="auto", limits=Clearance())
print(track.motion, track.why(), sep="\n")
assert max(track.errors[hand].max() for hand in ("hand_l", "hand_r")) < 1e-6
assert np.array_equal(track.motion.objects[0].transforms, box.transforms)
assert np.ptp(track.motion.positions("toe_l"), axis=0).max() < 1e-5

place = poise.Transform(None, (0.0, 1.1, 0.72))
shelf = poise.Object(Box((0.9, 0.03, 0.28)), place, name="shelf", color=(0.5, 0.5, 0.55))
both = MotionWithObjects(humanoid, track.motion.q, 30, [*track.motion.objects, shelf])
poise.plot(both, "lift.png")
poise.save(both, "lift.glb")
assert {"box", "shelf"} <= set(poise.load_motion("lift.glb").model.frames)
