"""MkDocs hooks: create the embedded pages of `poise.show`, site/live/*.html, and keep the search on this machine.

They are created with the site, so they always match the code. Each has a picture, site/live/*.png, for browsers without
scripts. If Poise or a robot's files are missing, a page shows a picture too; the rest of the site needs only the
sources.
"""

import re
import runpy
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIVE = re.compile(r'<iframe class="live" src="((?:\.\./)*live/\w+)\.html".*?title="(.*?)"></iframe>')
UNABLE = "This page was built without kernels, so the body cannot be dragged: run make wasm, then make docs."
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


def follow_stream() -> Any:
    """Follow a hand with an arm; targets are lost and jump."""
    import numpy as np

    import poise
    from poise.goals import Reach
    from poise.limits import Acceleration, Speed

    arm, dt, found = poise.load("panda"), 1.0 / 60.0, []
    q = np.array([0.3, -0.4, 0.2, -2.0, 0.1, 1.7, 0.5, *arm.rest[7:]])
    follower = poise.motion.Follower(arm, Reach("panda_hand_tcp"), [Speed(2.0), Acceleration(20.0)], q)
    start = arm.fk(q, "panda_hand_tcp")[:3, 3]
    for k in range(480):
        wave = 1.0 - np.cos(np.array([0.7, 1.1, 1.6]) * k * dt)
        target = start + np.array([-0.08, -0.14, 0.09]) * wave + [0.0, 0.0, 0.2 * (k % 50 == 49)]
        found.append(follower.step({"panda_hand_tcp": None if k % 20 == 19 else target}, dt).solution)
    return found[::2]


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


def race_methods(body: str, *methods: str) -> Any:
    """Run several methods on the same targets."""
    import poise
    from poise.solvers import race

    return race(poise.load(body), problems=8, methods=methods)


def race_bodies() -> Any:
    """Run the same methods on three bodies."""
    return [race_methods(body, "transpose", "dls", "lm", "ccd") for body in ("panda", "iiwa14", "planar3")]


def pin_tip(links: int) -> Any:
    """Pin the tip of a planar arm of two, three or four links, with handles at its other joints."""
    import poise

    builder, parent = poise.ModelBuilder(f"planar{links}"), None
    for k, angle in enumerate((0.3, 1.2, 1.0, 0.8)[:links]):
        builder.add_joint(f"joint_{k + 1}", parent, "revolute", offset=(1.0 if k else 0.0, 0, 0), rest=angle)
        parent = f"joint_{k + 1}"
    rig = poise.Rig(builder.add_frame("tip", parent, (1, 0, 0)).build())
    for k in range(2, links + 1):
        rig.handles.add(f"joint_{k}", f"joint_{k}", "end")
    rig.pin("tip", rig.pose.position("tip"))
    return rig


def make_body(name: str, *given: str) -> Any:
    """Make a body of docs/live_bodies.py."""
    return runpy.run_path(str(HERE / "live_bodies.py"))[name](*given)


MENAGERIE = {"so101": "robotstudio_so101/so101.xml", "g1": "unitree_g1/g1.xml"}
DRAGGED: Mapping[str, Callable[[], Any]] = {
    **{name: partial(load_body, name) for name in ("humanoid", "quadruped", "hand", "panda", "snake100")},
    **{name: partial(load_body, name) for name in ("planar2", "planar3")},
    **{name: partial(make_body, "load_menagerie", path) for name, path in MENAGERIE.items()},
    "character": partial(make_body, "make_character"),
    "spider": partial(make_body, "make_spider"),
    "missed": reach_too_far,
    "null_space": partial(pin_tip, 4),
    "priorities": partial(pin_tip, 3),
    "race": partial(race_methods, "panda", "transpose", "dls", "sdls", "lm", "ccd", "fabrik"),
    "race_bodies": race_bodies,
    "steps": partial(race_methods, "planar3", "transpose", "pseudoinverse", "dls"),
    "sweeps": partial(race_methods, "planar3", "ccd", "fabrik", "lm"),
}  # can be dragged if the kernels were compiled by `make wasm`
PLAYED: Mapping[str, Callable[[], Any]] = {
    "follow": follow_ball,
    "search": search_ball,
    "path": follow_path,
    "stream": follow_stream,
    "crouch": crouch,
    "snake": bend_snake,
}


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Add the pictures of embedded pages, and replace the script that the theme requests from the network."""
    from mkdocs.utils import get_relative_url

    return add_pictures(output).replace(REMOTE_SCRIPT, get_relative_url("worker_from_disk.js", page.url))


def add_pictures(text: str) -> str:
    """Add a picture to each embedded page, for browsers without scripts."""
    return LIVE.sub(r'\g<0><noscript><img src="\1.png" alt="\2"></noscript>', text)


def on_post_template(output: str, **_: Any) -> str:
    """Do the same in pages without a source, such as 404.html."""
    return output.replace(REMOTE_SCRIPT, "worker_from_disk.js")


def on_post_build(config: Any) -> None:
    """Create every page and its picture."""
    folder = Path(config["site_dir"]) / "live"
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in {**DRAGGED, **PLAYED}.items():
        write_page(folder, name, make)


def write_page(folder: Path, name: str, make: Callable[[], Any]) -> None:
    """Write a page and its picture, or if Poise or a file is missing, a page that shows a picture."""
    try:
        import poise
        from poise.native import read_wasm

        thing = make()
    except (ImportError, FileNotFoundError):
        picture = HERE / "pictures" / f"{name}.png"
        shutil.copy(picture if picture.exists() else HERE / "pictures" / "hero.png", folder / f"{name}.png")
        style = "width: 100%; height: 100%; object-fit: contain"
        page = f'<!doctype html><title>{name}</title><img src="{name}.png" alt="{name}" style="{style}">'
        (folder / f"{name}.html").write_text(page, "utf-8")
        return
    drag = name in DRAGGED and read_wasm() is not None
    poise.show(thing, folder / f"{name}.html", drag=drag, note=UNABLE if name in DRAGGED and not drag else None)
    draw_picture(thing, folder / f"{name}.png")


def draw_picture(thing: Any, path: Path) -> None:
    """Draw the last pose of a body, or the curves of a race."""
    import poise

    try:
        last = thing[-1] if isinstance(thing, (list, poise.Motion)) else thing
        poise.plot(getattr(last, "pose", last), path)
    except poise.PoiseError:  # matplotlib is missing
        shutil.copy(HERE / "pictures" / "hero.png", path)
