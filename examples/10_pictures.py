"""Pictures: a plot, an interactive page, a reach map, a race. Writes files into the current folder."""

from pathlib import Path

import poise
from poise.errors import MissingExtra
from poise.goals import LookAt, Reach, Rest
from poise.solvers import race

model = poise.load("humanoid")
ball = (0.38, 1.35, 0.42)
feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
solution = poise.solve(model, [*feet, Reach("hand_l", ball), LookAt("eyes", ball), Rest()], record=True)

# pages need no other package: one file each, without network access
page = poise.show(solution, "search.html", title="How the hand found the ball")
print(page)
poise.show(race(poise.load("panda"), methods=["lm", "dls", "ccd"], problems=20), "race.html")
assert "default-src 'none'" in Path("search.html").read_text("utf-8")

# pictures need matplotlib: pip install 'poise-ik[studio]'
try:
    poise.plot(solution, "solution.png")
    poise.plot(solution.pose, "pose.pdf", title="A pose")
    poise.plot(poise.reach_map(poise.load("panda"), "panda_hand_tcp", 0.25, directions=8, turns=1), "reach.png")
except MissingExtra as missing:
    print(missing)
else:
    assert Path("reach.png").stat().st_size > 10_000
print("wrote", *sorted(path.name for path in Path().glob("*") if path.suffix in {".html", ".png", ".pdf"}))
