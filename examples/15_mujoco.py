"""MuJoCo: servos draw a circle with an arm; `python examples/15_mujoco.py --view` shows it in MuJoCo's viewer."""

import sys
from contextlib import nullcontext
from math import cos, pi, sin

import mujoco.viewer
import numpy as np

import poise
from poise.bridges.mujoco import Bridge
from poise.goals import Reach


def link(name, axis, inside):
    solid = '<geom type="capsule" fromto="0 0 0 0 0 .25" size=".03" mass=".5" contype="0"/>'
    joint = f'<joint name="{name}" axis="{axis}" range="-150 150" armature=".2"/>'
    return f'<body name="{name}" pos="0 0 .25">{joint}{solid}{inside}</body>'


arm, servos = '<site name="tip" pos="0 0 .25"/>', ""
for name, axis in (("wrist", "0 1 0"), ("elbow", "0 1 0"), ("shoulder", "0 1 0"), ("yaw", "0 0 1")):
    arm, servos = link(name, axis, arm), servos + f'<position joint="{name}" kp="4000" kv="60"/>'
m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{arm}</worldbody><actuator>{servos}</actuator></mujoco>")
data, bridge = mujoco.MjData(m), Bridge(m)
solver = poise.Solver(bridge.model, Reach("tip", (0.4, 0.0, 0.7)), mode="continuous")
bridge.solve(data, Reach("tip", (0.4, 0.0, 0.7)))

misses = []
with mujoco.viewer.launch_passive(m, data) if "--view" in sys.argv else nullcontext() as viewer:
    for t in np.linspace(0.0, 2.0 * pi, 1500):
        target = (0.4, 0.15 * sin(t), 0.7 + 0.15 * (1.0 - cos(t)))
        solution = solver.solve(bridge.from_qpos(data.qpos), {"tip": target})
        data.ctrl[:] = bridge.to_ctrl(solution.q)
        mujoco.mj_step(m, data)
        misses.append(np.linalg.norm(data.site("tip").xpos - target))
        _ = viewer and viewer.sync()
print(f"{bridge}: at most {1e3 * max(misses):.1f} mm from the circle")
assert max(misses) < 0.02
