"""Solver methods: one problem with every method, a method with settings, and a race."""

import poise
from poise.goals import Reach
from poise.methods import DLS, TwoBone
from poise.solvers import race

# one problem, every method by name; unsupported problems raise an error that lists other methods
arm = poise.load("panda")
goal = Reach("panda_hand_tcp", (0.45, 0.25, 0.55))
for method in poise.methods.names():
    try:
        solution = poise.solve(arm, goal, method=method, max_steps=2000)
    except poise.errors.InvalidValue as refusal:
        print(f"{method:14} {str(refusal).split('; ')[0]}")
    else:
        print(f"{method:14} {solution.status} in {solution.steps} steps, {solution.seconds * 1e6:.0f} us")
        assert solution.reached

# a method with settings: more damping, smaller and more steps
calm, quick = (poise.solve(arm, goal, method=DLS(damping=damping)) for damping in (0.3, 0.03))
print(f"\ndamping 0.3: {calm.steps} steps, damping 0.03: {quick.steps} steps")
assert calm.steps > quick.steps

# an arm in closed form, with the elbow pointing outward and back
figure = poise.load("humanoid")
limb = poise.solve(figure, Reach("hand_l", (0.30, 1.30, 0.35)), method=TwoBone(pole=(1, 0, -1)))
print(f"two_bone: {limb.status} in {limb.steps} step")
assert limb.reached

# the race: the same targets for all; see also `poise race`
result = race(arm, methods=["lm", "dls", "transpose", "ccd", "fabrik"], problems=50)
print(f"\n{result}")
racers = {racer.method: racer for racer in result.racers}
assert racers["lm"].steps < racers["dls"].steps < racers["transpose"].steps
