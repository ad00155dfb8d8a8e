"""Follow a moving target without jumps: one prepared, warm-started solver over a hundred frames."""

from itertools import pairwise

import numpy as np

import poise
from poise.goals import LookAt, Reach, Rest

model = poise.load("humanoid")
ball = np.array([0.35, 1.30, 0.40])
feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]

# prepared once, so a frame costs only a solve
goals = [*feet, Reach("hand_l", ball), LookAt("eyes", ball), Rest()]
solver = poise.Solver(model, goals, mode="continuous", step_limit=0.2)

q = poise.solve(model, goals).q
frames = [q]
times = []
for turn in np.linspace(0, 2 * np.pi, 100):
    target = ball + 0.15 * np.array([np.sin(turn), np.sin(2 * turn), 0])
    solution = solver.solve(q, {"hand_l": target, "eyes": target})
    assert solution.reached
    q = solution.q
    frames.append(q)
    times.append(solution.seconds)

# no joint exceeds its step limit; the feet stay
steps = [np.abs(model.difference(a, b)).max() for a, b in pairwise(frames)]
print(f"largest change of a joint in a frame: {max(steps):.3f} rad; {1e6 * np.median(times):.0f} us a frame")
assert max(steps) <= 0.2 + 1e-12

motion = poise.Motion(model, frames[1:], fps=30)
print(motion)
drift = max(np.linalg.norm(pose.position("foot_l") - model.fk(model.rest, "foot_l")[:3, 3]) for pose in motion)
assert drift < 1e-4
