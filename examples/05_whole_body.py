"""A whole body: planted feet, balance, a hand, a gaze; then priorities if not everything is reachable."""

import numpy as np

import poise
from poise.goals import Balance, LookAt, Reach, Rest

model = poise.load("humanoid")  # y is up, it faces +z, its left side is at +x
ball = (0.35, 1.40, 0.45)
feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
balance = Balance(["foot_l", "foot_r"], margin=0.02)

# all goals are reachable
solution = poise.solve(model, [*feet, balance, Reach("hand_l", ball), LookAt("eyes", ball), Rest()])
print(solution)
assert solution.reached

# too far: a hand with the same priority pulls the feet away, one with a lower priority does not
far = (0.35, 1.20, 1.30)
equal = poise.solve(model, [*feet, balance, Reach("hand_l", far), Rest()])
after = poise.solve(model, [*feet, balance, Reach("hand_l", far, priority=1), Rest()])


def slip(found):
    """Return how far the left foot moved."""
    return np.linalg.norm(found.pose.position("foot_l") - model.fk(model.rest, "foot_l")[:3, 3])


print(
    f"\nequal priorities: the foot slips {100 * slip(equal):.1f} cm, the hand misses {equal.errors['hand_l'][0]:.2f} m"
)
print(f"the hand second:  the foot slips {100 * slip(after):.1f} cm, the hand misses {after.errors['hand_l'][0]:.2f} m")
assert slip(after) < 1e-4 < slip(equal)

print(f"\n{after.why()}")
assert "hand_l" in after.why()
