"""MkDocs hooks: create the embedded pages of `poise.show`, site/live/*.html, and keep the search on this machine.

They are created with the site, so they always match the code. If Poise is not built, a page shows a picture instead;
the rest of the site needs only the sources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REMOTE_SCRIPT = "https://unpkg.com/iframe-worker/shim"


def follow_ball() -> Any:
    """Follow a ball with a hand and the eyes, with planted feet."""
    import poise
    from poise.cli.demo import follow

    return follow(poise.load("humanoid"))


def search_ball() -> Any:
    """Record one search, step by step."""
    import poise
    from poise.cli.demo import make_goals

    model = poise.load("humanoid")
    return poise.solve(model, make_goals(model), record=True)


def follow_path() -> Any:
    """Draw a circle with an arm, keeping its tool upright."""
    import numpy as np

    import poise
    from poise.goals import Orient, Reach, Rest

    arm = poise.load("panda")
    down = arm.fk(arm.rest, "panda_hand_tcp")[:3, :3]
    goals = [Reach("panda_hand_tcp", (0.45, 0.0, 0.35)), Orient("panda_hand_tcp", down), Rest()]
    solver = poise.Solver(arm, goals, mode="continuous", step_limit=0.2)
    q, found = poise.solve(arm, goals).q, []
    for turn in np.linspace(0.0, 2.0 * np.pi, 90):
        place = (0.45 + 0.12 * np.cos(turn), 0.2 * np.sin(turn), 0.35)
        found.append(solver.solve(q, {"panda_hand_tcp": place}))
        q = found[-1].q
    return found


def crouch() -> Any:
    """Lower the body of a dog over four pinned feet."""
    import numpy as np

    import poise

    rig = poise.Rig(poise.load("quadruped"))
    feet = [name for name in rig.handles if name.startswith("foot")]
    for foot in feet:
        rig.pin(foot)
    x, y, z = rig.pose.position("pelvis")
    poses = []
    for turn in np.linspace(0.0, 2.0 * np.pi, 60):
        poses.append(rig.drag("pelvis", (x + 0.04 * np.sin(2 * turn), y - 0.05 * (1 - np.cos(turn)), z)).q)
    return poise.Motion(rig.model, np.array(poses), fps=30)


def load_body(name: str) -> Any:
    """Load a built-in body, to be dragged; its feet are planted."""
    import poise

    return poise.load(name)


def reach_too_far() -> Any:
    """Reach for a point that is out of reach."""
    import poise
    from poise.goals import Reach

    return poise.solve(poise.load("planar3"), Reach("tip", (2.6, 2.4, 0.0)))


def bend_snake() -> Any:
    """Reach a target with a hundred joints."""
    import poise
    from poise.goals import Reach

    return poise.solve(poise.load("snake100"), Reach("tip", (2.0, 1.5, 2.5)), record=True)


def race_methods() -> Any:
    """Run several methods on the same targets."""
    import poise
    from poise.solvers import race

    return race(poise.load("panda"), problems=8, methods=("transpose", "dls", "sdls", "lm", "ccd", "fabrik"))


BODIES = ("humanoid", "quadruped", "hand", "panda", "ur5e", "iiwa14", "snake100", "tree30", "planar2", "planar3")
DRAGGED = frozenset({"missed", *BODIES})  # can be dragged if the kernels were compiled by `make wasm`
PAGES: dict[str, tuple[Callable[[], Any], str]] = {
    **{name: (partial(load_body, name), "hero.png") for name in BODIES},
    "missed": (reach_too_far, "unreachable.png"),
    "follow": (follow_ball, "hero.png"),
    "search": (search_ball, "demo.png"),
    "path": (follow_path, "hero.png"),
    "crouch": (crouch, "hero.png"),
    "snake": (bend_snake, "hero.png"),
    "race": (race_methods, "race.png"),
}


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Replace the script that the theme requests from the network, for the search from disk, by our own."""
    from mkdocs.utils import get_relative_url

    return output.replace(REMOTE_SCRIPT, get_relative_url("worker_from_disk.js", page.url))


def on_post_template(output: str, **_: Any) -> str:
    """Do the same in pages without a source, such as 404.html."""
    return output.replace(REMOTE_SCRIPT, "worker_from_disk.js")


def on_post_build(config: Any) -> None:
    """Create every page."""
    folder = Path(config["site_dir"]) / "live"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, picture) in PAGES.items():
        (folder / f"{name}.html").write_text(make_page(make, picture, name in DRAGGED), "utf-8")


def make_page(make: Callable[[], Any], picture: str, drag: bool = False) -> str:
    """Return the page, or a picture if Poise is not built."""
    try:
        import poise
        from poise.native import read_wasm
    except ImportError:
        return f'<!doctype html><title>Poise</title><img src="../pictures/{picture}" alt="" style="width: 100%">'
    return poise.show(make(), drag=drag and read_wasm() is not None, browser=False).html
