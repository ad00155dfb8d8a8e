"""Ask a body for something: two hands to two places, then find out why a third wish cannot be had."""

import poise
from poise.goals import Reach, Rest

model = poise.load("humanoid")

# both hands, the feet where they stand (the pelvis is free to move: pin what should stay), otherwise relaxed
hands = [Reach("hand_l", (0.40, 1.20, 0.30)), Reach("hand_r", (-0.30, 1.00, 0.35))]
feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
solution = poise.solve(model, [*hands, *feet, Rest()])
print(solution)
assert solution.reached

# the pose is a pose like any other
print(solution.pose.position("hand_l"))
assert abs(solution.pose.position("hand_l") - [0.40, 1.20, 0.30]).max() < 1e-4

# too far for an arm that stands on a fixed base: the answer says so, and by how much
arm = poise.load("panda")
missed = poise.solve(arm, Reach("panda_hand_tcp", (1.50, 0.0, 0.40)))
print(missed)
print(missed.why())
assert not missed.reached
assert missed.status is poise.Status.UNREACHABLE
