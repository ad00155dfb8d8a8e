"""Files: load a URDF, mount a tool, solve, and write the pose for other programs."""

import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.goals import Reach

folder = Path(tempfile.mkdtemp())

# any URDF, MJCF, BVH or glTF works; this one is a built-in arm, saved first
poise.save(poise.load("ur5e"), folder / "arm.urdf")
model = poise.load(folder / "arm.urdf")
print(f"{model.name}: {model.nv} degrees of freedom, read from {Path(model.source).name}")

# a gripper 12 cm in front of the flange
tool = np.eye(4)
tool[:3, 3] = (0, 0, 0.12)
model = model.with_frame("gripper", "tool0", tool)

# over the table, pointing down
down = np.array([[1, 0, 0, 0.45], [0, -1, 0, 0.15], [0, 0, -1, 0.30], [0, 0, 0, 1]], dtype=float)
solution = poise.solve(model, Reach("gripper", down))
print(solution)
assert solution.reached

# one row of a table, and back
poise.save(solution.pose, folder / "pose.csv")
again = poise.load_motion(folder / "pose.csv", model=model)[0]
print("in the file:", again.q.round(4))
assert np.allclose(again.q, solution.q)
