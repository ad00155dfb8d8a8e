"""Four ways to miss a goal, each explained: out of reach, a limit, a local minimum, no time."""

import numpy as np

import poise
from poise.goals import Reach

# too far: proved, with the distance that proves it
arm = poise.load("panda")
far = poise.solve(arm, Reach("panda_hand_tcp", (1.1, 0.2, 0.4)))
print(f"--- too far\n{far.why()}")
assert far.status is poise.Status.UNREACHABLE
assert far.proof is not None

# a limit in the way: named, and tested without it
builder = poise.ModelBuilder("arm")
builder.add_joint("shoulder", None, "revolute", lower=-0.5, upper=0.5)
builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), lower=0, upper=2.5, rest=0.2)
limited = builder.add_frame("hand", "elbow", (1, 0, 0)).build()
held = poise.solve(limited, Reach("hand", limited.fk([0.9, 0.4], "hand")[:3, 3]))
print(f"\n--- a limit\n{held.why()}")
assert [limit.joint for limit in held.active_limits] == ["shoulder"]
assert "without the upper limit of 'shoulder'" in held.why()

# a local minimum: one search is not enough; restarts are
ur5e = poise.load("ur5e")
goal = Reach("tool0", ur5e.fk(ur5e.random(np.random.default_rng(128)), "tool0"))
stuck = poise.solve(ur5e, goal, restarts=0)
print(f"\n--- a local minimum\n{stuck.why()}")
assert stuck.status is poise.Status.STALLED
assert poise.solve(ur5e, goal).reached

# no time: returns the best pose so far, inside the limits
hurried = poise.solve(arm, Reach("panda_hand_tcp", (0.1, 0.6, 0.7)), time_limit=1e-9)
print(f"\n--- no time\n{hurried.why()}")
assert hurried.status is poise.Status.OUT_OF_TIME

# to get an exception instead, call far.raise_if_missed()
