"""Reach two places with two hands, then find out why a third target is missed."""

import poise
from poise.goals import Reach, Rest

model = poise.load("humanoid")

# both hands, pinned feet (the pelvis moves freely, so pin what should stay), otherwise relaxed
hands = [Reach("hand_l", (0.40, 1.20, 0.30)), Reach("hand_r", (-0.30, 1.00, 0.35))]
feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
solution = poise.solve(model, [*hands, *feet, Rest()])
print(solution)
assert solution.reached

# the result is an ordinary pose
print(solution.pose.position("hand_l"))
assert abs(solution.pose.position("hand_l") - [0.40, 1.20, 0.30]).max() < 1e-4

# too far for an arm with a fixed base: the solution says by how much
arm = poise.load("panda")
missed = poise.solve(arm, Reach("panda_hand_tcp", (1.50, 0.0, 0.40)))
print(missed)
print(missed.why())
assert not missed.reached
assert missed.status is poise.Status.UNREACHABLE
