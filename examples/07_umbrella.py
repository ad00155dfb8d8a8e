"""Strict priorities: stand in balance, then reach, then look, then hold an umbrella upright."""

import poise
from poise.goals import Align, Balance, LookAt, Reach, Rest

# an umbrella in the right hand: its tip is 1.1 m from the grip, along the thumb
model = poise.load("humanoid").with_frame("umbrella", "hand_r", (0.0, 0.0, 1.1))
letterbox, bird = (0.45, 0.9, 0.7), (-1.5, 2.5, 3.0)

feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
wishes = [
    *feet,
    Balance(["foot_l", "foot_r"], margin=0.01),
    Reach("hand_l", letterbox, priority=1, name="letter"),
    LookAt("head", bird, priority=2, name="gaze"),
    Align("umbrella", "z", (0, 1, 0), priority=3),
    Rest(),
]
solution = poise.solve(model, wishes, record=True)
print(solution)
assert solution.reached

# level by level: higher levels keep their errors while lower ones converge
errors = solution.history.errors.max(axis=2)
names = list(solution.errors)
for step in (0, len(errors) // 3, 2 * len(errors) // 3, -1):
    print(*(f"{name} {error:.1e}" for name, error in zip(names, errors[step], strict=True)), sep="  ")

# a letterbox too far away: the feet come first, and lower levels use the remaining freedom
far = poise.solve(model, [*wishes[:3], Reach("hand_l", (0.4, 0.8, 1.3), priority=1, name="letter"), *wishes[4:]])
print(f"\n{far.why()}")
served, missed = (far.errors[name][0] for name in ("balance", "letter"))
assert served < 1e-8
assert missed > 0.05
