"""Draw docs/pictures/*.png: run `python docs/make_pictures.py`, optionally with names of pictures.

The galleries are drawn from the variables of the pages' snippets, so pictures and snippets always agree. The race also
writes its table into docs/shelf.md.
"""

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
from draw_bodies import BODIES, GALLERIES
from draw_failures import LOOPS
from PIL import Image

import poise
from poise import textbook
from poise.goals import Balance, LookAt, Reach, Rest
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import make_piece
from poise.pictures.body.stick import Camera
from poise.pictures.mesh_picture import draw_meshes
from poise.pictures.movie import keep_white
from poise.pictures.plots import (
    COLORS,
    draw_curves,
    draw_scene,
    make_figure,
    plot_race,
    read_errors,
    save_figure,
    trace_goals,
)
from poise.solvers import Race, race
from poise.solvers.race import Racer

DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "pictures"

VIEW = Camera(azimuth=np.radians(-48), elevation=np.radians(13))  # of the moving picture
MISSED, FOUND = COLORS[3], COLORS[2]
Names = dict[str, Any]


def singular(page: Names) -> Any:
    """Plot the first step against the bend, and the error by step of a nearly straight arm."""
    made, (left, right) = make_figure(8.0, 3.6, panels=2)
    bends = np.geomspace(3e-4, 0.4, 60)
    for k, method in enumerate(page["methods"]):
        steps = [page["first_step"](method, bend) for bend in bends]
        left.loglog(bends, steps, color=COLORS[k], linewidth=1.8, label=method)
    left.set(xlabel="bend of the elbow [rad]", ylabel="first step [rad]")
    runs = {method: read_errors(page["pulled_in"](method, 0.003))[:, 0, 0] for method in page["methods"]}
    draw_curves(right, runs)
    right.set(ylabel="error [m]", ylim=(1e-6, None))
    right.set_title("from a bend of 0.003 rad", loc="left", fontsize=10)
    right.get_legend().remove()
    made.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return made


def unreachable(page: Names) -> Any:
    """Draw the stretched arm and the circle of its reach."""
    made, axes = make_figure(5.0, 4.2)
    solution = page["far"]
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.plot(3 * np.cos(turn), 3 * np.sin(turn), "--", color="#999999", linewidth=1.2)
    draw_scene(axes, solution.pose, ghosts=[poise.Pose(solution.model)], targets=[(3.2, 1.4, 0.0)])
    axes.set(xlim=(-0.5, 3.7), ylim=(-0.6, 2.9))
    axes.text(2.2, 2.2, "farthest: 3 m", fontsize=9, color="#666666")
    return made


def local_minimum(page: Names) -> Any:
    """Draw the end of one search and of a restart."""
    made, (left, right) = make_figure(6.0, 4.0, panels=2)
    camera, target = Camera(azimuth=np.radians(-100), elevation=np.radians(15)), page["target"][:3, 3]
    draw_scene(left, page["stuck"].pose, targets=[target], camera=camera, color=MISSED)
    draw_scene(right, page["found"].pose, targets=[target], camera=camera, color=FOUND)
    missed = 1e3 * page["stuck"].errors["tool0"][0]
    left.set_title(f"one search: {missed:.0f} mm away", loc="left", fontsize=10)
    right.set_title(f"search {page['found'].searches}: reached", loc="left", fontsize=10)
    share_limits(left, right)
    return made


def limit_trap(page: Names) -> Any:
    """Draw the trapped arm, and the error over both angles with the search."""
    made, (left, right) = make_figure(8.2, 3.8, panels=2)
    trapped, freed = page["trapped"], page["freed"]
    draw_scene(left, trapped.pose, targets=[(1.25, 0, 0)], ghosts=[poise.Pose(trapped.model)], color=MISSED)
    draw_scene(left, freed.pose, color=FOUND)
    left.set(xlabel="x [m]", ylabel="y [m]")

    model = trapped.model
    shoulder, elbow = np.meshgrid(np.linspace(-1.6, 2.0, 181), np.linspace(-2.5, 2.5, 201))
    hand = model.fk(np.stack([shoulder, elbow], axis=-1), "hand")[..., :3, 3]
    error = np.linalg.norm(hand - (1.25, 0, 0), axis=-1)
    right.contourf(shoulder, elbow, error, levels=np.linspace(0, error.max(), 13), cmap="Blues_r")
    right.axvspan(-1.6, -0.3, color="#555555", alpha=0.55, linewidth=0)
    right.text(-0.95, -2.2, "outside\nthe range", ha="center", fontsize=9, color="white")
    q = trapped.history.q
    right.plot(*q.T, "o-", color="white", markersize=3, linewidth=1.4)
    for place, color in ((q[0], "white"), (trapped.q, MISSED), (freed.q, FOUND)):
        right.plot(*place, "o", color=color, markersize=8, markeredgecolor="black", markeredgewidth=0.8)
    right.set(xlabel="shoulder [rad]", ylabel="elbow [rad]", xlim=(-1.6, 2.0), ylim=(-2.5, 2.5))
    right.grid(False)
    return made


def over_damped(page: Names) -> Any:
    """Plot the error by step for every damping."""
    made, axes = make_figure(7.0, 3.8)
    draw_curves(axes, {name: read_errors(run)[:, 0, 0] for name, run in page["runs"].items()})
    axes.axhline(1e-4, color="#999999", linewidth=1, linestyle="--")
    axes.text(60, 1.2e-4, "tolerance", ha="right", fontsize=9, color="#666666")
    axes.set(ylabel="error [m]", xlim=(0, 60), ylim=(1e-6, 1))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return made


def solving() -> Any:
    """Draw the arm of the page on solving, and its error by step."""
    made, (left, right) = make_figure(7.6, 3.6, panels=2)
    model, target = poise.load("panda"), (0.4, 0.3, 0.5)
    solution = poise.solve(model, Reach("panda_hand_tcp", target), record=True)
    draw_scene(left, solution.pose, ghosts=[poise.Pose(model)], targets=[target], camera=Camera(np.radians(-75)))
    draw_curves(right, dict(trace_goals(solution)))
    return made


def branches() -> Any:
    """Draw the eight poses of the UR5e for one transform."""
    model = poise.load("ur5e")
    q = np.array([0.5, -1.2, 1.4, -0.8, 1.1, 0.3])
    answers = poise.solve_all(model, Reach("tool0", model.fk(q, "tool0")), q)
    made, panels = make_figure(11.0, 1.6, panels=8)
    camera, target = Camera(np.radians(-60), np.radians(18)), model.fk(q, "tool0")[:3, 3]
    for k, (axes, answer) in enumerate(zip(panels, answers, strict=True)):
        draw_scene(axes, answer.pose, ghosts=[answers[0].pose] if k else [], targets=[target], camera=camera)
        axes.set_title(f"answer {k}", loc="left", fontsize=9)
        axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
    share_limits(*panels)
    return made


def arcs() -> Any:
    """Draw the arcs of the Panda's free joint by branch, and poses along the longest arc."""
    model, frame = poise.load("panda"), "panda_hand_tcp"
    answers = poise.solve_all(model, Reach(frame, model.fk(model.rest, frame)))
    made, (left, right) = make_figure(9.0, 3.8, panels=2)
    longest = max(answers.arcs, key=lambda arc: arc.width)
    for arc in answers.arcs:
        color = COLORS[0] if arc is longest else COLORS[7 % len(COLORS)]
        left.plot(np.degrees([arc.low, arc.high]), [arc.branch] * 2, linewidth=7, solid_capstyle="butt", color=color)
    low, high = np.degrees([model.joint(longest.joint).lower, model.joint(longest.joint).upper])
    left.set(xlabel=f"{longest.joint} [degrees]", ylabel="branch", yticks=range(8), ylim=(7.6, -0.6), xlim=(low, high))
    steps = np.linspace(longest.low + 1e-3, longest.high - 1e-3, 9)
    along = [answers.at(float(u)) for u in steps]
    way = [min(along[4], key=lambda one: float(np.abs(one.q - model.rest).max())).q]
    for side in (along[5:], along[3::-1]):
        last = way[0]
        for at in side:
            last = min((one.q for one in at), key=lambda q: float(np.abs(q - last).max()))
            way.append(last)
    poses = [poise.Pose(model, q) for q in way]
    camera = Camera(np.radians(-35), np.radians(25))
    target = model.fk(model.rest, frame)[:3, 3]
    draw_scene(right, poses[0], ghosts=poses[1:], targets=[target], camera=camera, style="stick")
    right.set(xticks=[], yticks=[], xlabel="", ylabel="")
    return made


def umbrella() -> Any:
    """Draw the figure of examples/07_umbrella.py, and the errors of its levels by step."""
    with redirect_stdout(None):
        names = run_path(str(DOCS.parent / "examples" / "07_umbrella.py"))
    model, solution = names["model"], names["solution"]
    made, (left, right) = make_figure(9.0, 4.6, panels=2)
    camera = Camera(np.radians(-35), np.radians(12), up="y")
    draw_scene(left, solution.pose, ghosts=[poise.Pose(model)], targets=[names["letterbox"]], camera=camera)
    draw_canopy(left, solution.pose, camera)
    errors = read_errors(solution).max(axis=2)
    for k, (label, goals) in enumerate(UMBRELLA.items()):
        worst = np.max([errors[:, list(solution.errors).index(name)] for name in goals], axis=0)
        right.semilogy(np.maximum(worst, 1e-12), color=COLORS[k], linewidth=1.8, label=label)
    right.set(xlabel="step", ylabel="error [m or rad]", ylim=(1e-12, 10))
    right.set_xticks(range(0, len(errors), 2))
    right.legend(frameon=False, fontsize=9, loc="center right")
    return made


UMBRELLA = {
    "first: feet and balance": ("foot_l", "foot_r", "balance"),
    "second: the letter": ("letter",),
    "third: the gaze": ("gaze",),
    "fourth: the umbrella": ("umbrella",),
}


FLAT, BEND = "planar3", np.radians([30.0, 40.0, 50.0])
LEFT, BELOW = Reach("tip", (-1.6, 1.1)), Reach("tip", (1.0, -1.5))


def move_in_frames(J: Any, e: Any, k: int) -> Any:
    """Return step k of 20 along a straight line."""
    return textbook.truncated_svd_inverse(J) @ e / (20 - k)


def make_bias(gains: list[float]) -> Callable[..., Any]:
    """Return the same step with joints pulled to zero in the null space."""
    return lambda q, J, e, k: textbook.controlled_step(J, e / (20 - k), -textbook.posture_gradient(q, 0.0, gains))


def alpha_bias() -> Any:
    """Draw the frames of a motion with three gains of the posture."""
    arm, options = poise.load(FLAT), {"max_steps": 20}
    runs = {"no bias": textbook.loop(arm, BEND, LEFT, step=move_in_frames, **options)}
    for gains in ([0.1, 0.5, 0.1], [0.1, 0.1, 0.5]):
        runs[f"alpha = {gains}"] = textbook.loop(arm, BEND, LEFT, step=make_bias(gains), **options)
    return poise.plot(runs, layout="overlay").figure


def gains() -> Any:
    """Draw the stability of the rules of the texts."""
    arm = poise.load(FLAT)
    near = Reach("tip", arm.fk(np.add(BEND, (0.05, -0.08, 0.06)), "tip")[:2, 3])
    return poise.plot(textbook.study_gains(arm, BEND, near)).figure


def draw_figure(thing: Callable[[poise.Model], Any], layout: str = "auto", **options: Any) -> Callable[[], Any]:
    """Return a function that draws a figure of the textbook for the planar arm."""
    return lambda: poise.plot(thing(poise.load(FLAT)), layout=layout, **options).figure


def find_tree_blocks(_: poise.Model) -> textbook.JacobianBlocks:
    """Return the Jacobian of one end of a tree."""
    tree = poise.load("tree30")
    return textbook.find_blocks(tree, tree.random(np.random.default_rng(0)), "end_1")


def move_by_priorities(_: poise.Model) -> textbook.LoopTrace:
    """Return 75 short steps of a figure that serves three levels."""
    body = poise.load("humanoid")
    feet = [Reach(foot, body.fk(body.rest, foot)) for foot in ("foot_l", "foot_r")]
    levels = [*feet, Reach("hand_l", (0.5, 0.5, 0.5), priority=1), Reach("hand_r", (-0.6, 1.6, 0.4), priority=2)]
    options: dict[str, Any] = {"step": textbook.priority_step, "gain": 0.06, "max_steps": 75, "patience": None}
    return textbook.loop(body, body.rest, levels, **options)


TEXTS: dict[str, Callable[[], Any]] = {
    "jacobian_blocks": draw_figure(find_tree_blocks),
    "on_path": draw_figure(find_tree_blocks, "arrows"),
    "joint_arrows": draw_figure(lambda arm: textbook.find_blocks(arm, BEND, "tip"), "arrows"),
    "descent": draw_figure(lambda _: textbook.trace_descent(lambda x: x**3, lambda x: 3 * x**2, 8.0, 4.0, beta=0.5)),
    "priorities": draw_figure(move_by_priorities, "steps", steps=(5, 35, 75)),
    "flops": draw_figure(
        lambda arm: race(arm, problems=200, methods=["dls", "svd", "qr", "transpose", "pseudoinverse"])
    ),
    "transform_views": draw_figure(lambda _: textbook.find_chain(poise.load("planar2"), [0.6, 0.9], "tip")),
    "loop": draw_figure(lambda arm: textbook.loop(arm, BEND, Reach("tip", (1.2, 1.5)), gain=0.3, stop=1e-3)),
    "rules": draw_figure(lambda arm: textbook.run_rules(arm, BEND, Reach("tip", (1.2, 1.5)))),
    "ccd_steps": draw_figure(lambda arm: textbook.loop(arm, BEND, BELOW, step=textbook.ccd_step), "steps"),
    "fabrik_strokes": draw_figure(
        lambda arm: textbook.loop(arm, BEND, Reach("tip", (2.6, -1.2)), step=textbook.fabrik_step), "steps"
    ),
    "alpha_bias": alpha_bias,
    "gains": gains,
}


def draw_canopy(axes: Any, pose: poise.Pose, camera: Camera) -> None:
    """Draw an umbrella's canopy around its tip: a rim and eight ribs."""
    T = pose.transform("umbrella").matrix
    turn = np.linspace(0, 2 * np.pi, 73)
    rim = np.stack([0.45 * np.cos(turn), 0.45 * np.sin(turn), np.full_like(turn, -0.18), np.ones_like(turn)])
    points = camera.project((T @ rim)[:3].T)
    axes.fill(*points.T, color=COLORS[1], alpha=0.25, linewidth=0, zorder=2)
    axes.plot(*points.T, color=COLORS[1], linewidth=1.8, zorder=4)
    for x, y in points[:-1:9]:
        top = camera.project(T[:3, 3])
        axes.plot([top[0], x], [top[1], y], color=COLORS[1], linewidth=1.0, zorder=4)


FAILURES: dict[str, Callable[[Names], Any]] = {
    "singular": singular,
    "all_singular_poses": lambda page: poise.plot(page["found"]).figure,
    "unreachable": unreachable,
    "local_minimum": local_minimum,
    "limit_trap": limit_trap,
    "over_damped": over_damped,
    **LOOPS,
}
PAGES: dict[str, dict[str, Callable[[Names], Any]]] = {"failures": FAILURES, **GALLERIES}


def share_limits(*panels: Any) -> None:
    """Give all panels the same limits."""
    for axis in ("x", "y"):
        all_of_them = [getattr(axes, f"get_{axis}lim")() for axes in panels]
        limits = min(low for low, _ in all_of_them), max(high for _, high in all_of_them)
        for axes in panels:
            getattr(axes, f"set_{axis}lim")(limits)


def draw_gallery(name: str, wanted: set[str]) -> None:
    """Run a page section by section, and draw each section's picture after its snippets."""
    page = (DOCS / f"{name}.md").read_text("utf-8")
    names: Names = {"__name__": "docs"}
    for section in page.split("\n## "):
        for code in re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            with redirect_stdout(None):
                exec(code, names)
        picture = re.sub(r"[^a-z]+", "_", section.splitlines()[0].lower())
        if picture in wanted:
            slim(save_figure(PAGES[name][picture](names), PICTURES / f"{picture}.png"))


def draw_race() -> None:
    """Draw the error curves of the solver methods, and write their table."""
    model = poise.load("panda")
    points, transforms = (quiet_race(model, rotation) for rotation in (False, True))
    slim(plot_race(points, PICTURES / "race.png"))
    page = DOCS / "shelf.md"
    before, rest = page.read_text("utf-8").split("<!-- race -->\n")
    after = rest.split("<!-- end -->\n")[1]
    table = race_table(points, transforms)
    page.write_text(f"{before}<!-- race -->\n{table}<!-- end -->\n{after}", "utf-8")


def quiet_race(model: poise.Model, rotation: bool) -> Race:
    """Return the race with the least mean time of several runs."""
    runs = [race(model, problems=200, recorded=50, rotation=rotation) for _ in range(5)]
    quickest = [
        min(racers, key=lambda racer: racer.microseconds) for racers in zip(*(r.racers for r in runs), strict=True)
    ]
    return replace(runs[0], racers=tuple(quickest))


def race_table(points: Race, transforms: Race) -> str:
    """Return both races in Markdown, one line per method."""
    head = "| | points | steps | us | mult/step | transforms | steps | us | mult/step |\n|---|" + "---:|" * 8 + "\n"
    both = zip(points.racers, transforms.racers, strict=True)
    return head + "".join(f"| `{one.method}` | {figures(one)} | {figures(two)} |\n" for one, two in both)


def figures(racer: Racer) -> str:
    """Return the four cells of a method, also if it does not support the problem."""
    if racer.refused:
        return "not supported | | |"
    count = "" if racer.arithmetic is None else str(racer.arithmetic)
    return f"{100 * racer.reached:.1f} % | {racer.steps:.1f} | {racer.microseconds:.0f} | {count}"


def slim(path: Path) -> None:
    """Reduce a picture to 255 colours, or fewer if it is still large."""
    with Image.open(path) as image:
        full = image.convert("RGB")
    for colors in (255, 128, 64, 40):
        full.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=1).save(path, optimize=True)
        if path.stat().st_size < 75_000:
            break


def draw_moving() -> None:
    """Draw the README's first picture: a figure whose hand and eyes follow a ball."""
    model = poise.load("humanoid")
    balls = trace_ball(40)
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    goals = [Reach("hand_l", balls[0]), LookAt("eyes", balls[0], weight=0.5), Balance(["foot_l", "foot_r"]), *feet]
    solver = poise.Solver(model, [*goals, Rest(weight=0.05)])
    poses, q = [], None
    for ball in (*balls, *balls):  # the second round ends where it begins
        q = solver.solve(start=q, targets={"hand_l": ball, "eyes": ball}).q
        poses.append(poise.Pose(model, q))
    frames = [draw_follower(pose, ball) for pose, ball in zip(poses[len(balls) :], balls, strict=True)]
    palette = keep_white(frames[0].quantize(64, Image.Quantize.MAXCOVERAGE, kmeans=1))
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(PICTURES / "moving.gif", save_all=True, append_images=others, duration=80, loop=0, optimize=True)


def trace_ball(count: int) -> list[tuple[float, float, float]]:
    """Return a closed path in front of the figure."""
    turn = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    way = np.stack([0.32 + 0.33 * np.cos(turn), 1.25 + 0.38 * np.sin(turn), 0.42 + 0.12 * np.sin(2 * turn)], axis=1)
    return [(float(x), float(y), float(z)) for x, y, z in way]


def draw_follower(pose: poise.Pose, ball: tuple[float, float, float]) -> Image.Image:
    """Draw one frame: the shaded figure, and the ball with its shadow."""
    from matplotlib.patches import Ellipse

    made, axes = make_figure(3.75, 4.5)
    made.set_layout_engine("none")
    axes.set_position((0.0, 0.0, 1.0, 1.0))
    camera = replace(VIEW, floor=0.0).on(pose.model)
    skin = [make_piece(f.surface, f.frame, np.eye(4), (0.55, 0.70, 0.87, 1.0)) for f in find_flesh(pose.model)]
    draw_meshes(axes, pose, tuple(skin), camera, pixels=440)
    x, y = camera.project(ball)
    below = camera.cast_shadow(ball)
    axes.add_patch(Ellipse(below, 0.15, 0.06, color="#e4e4e4", zorder=1))
    for part in np.linspace(1.0, 0.1, 12):  # lighter towards the light
        tone = (1.0, 0.45 + 0.4 * (1 - part), 0.15 + 0.6 * (1 - part))
        place = (x - 0.022 * (1 - part), y + 0.028 * (1 - part))
        axes.add_patch(Ellipse(place, 0.15 * part, 0.15 * part, color=tone, zorder=9))
    axes.set(xlim=(-0.75, 0.95), ylim=(-0.22, 1.82), aspect="equal")
    axes.axis("off")
    made.set_dpi(96)
    made.canvas.draw()
    return Image.fromarray(np.asarray(made.canvas.buffer_rgba())[..., :3].copy())


if __name__ == "__main__":
    every = {picture for pictures in PAGES.values() for picture in pictures}
    single = {"solving": solving, "umbrella": umbrella, "branches": branches, "arcs": arcs, **TEXTS}
    asked = set(sys.argv[1:]) or {*every, *BODIES, *single, "race", "moving"}
    for page, pictures in PAGES.items():
        if asked & set(pictures):
            draw_gallery(page, asked & set(pictures))
    for picture in asked & set(BODIES):
        slim(save_figure(BODIES[picture](), PICTURES / f"{picture}.png"))
    for picture in asked & set(single):
        slim(save_figure(single[picture](), PICTURES / f"{picture}.png"))
    if "race" in asked:
        draw_race()
    if "moving" in asked:
        draw_moving()
