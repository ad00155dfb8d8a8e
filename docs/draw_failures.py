"""The pictures of the failure gallery that show loops: see make_pictures.py."""

from typing import Any

import numpy as np

import poise
from poise.pictures.plots import COLORS, draw_curves, draw_scene, make_figure, read_errors

Names = dict[str, Any]
MISSED, FOUND = COLORS[3], COLORS[2]


def euler_order(page: Names) -> Any:
    """Plot the error by step of every order, all targets thin and their median thick."""
    made, panels = make_figure(9.0, 2.9, panels=4)
    for axes, (order, errors) in zip(panels, page["orders"].items(), strict=True):
        color = FOUND if order == "ZXY" else MISSED
        for one in errors:
            axes.semilogy(np.maximum(one, 1e-9), color=color, linewidth=0.6, alpha=0.5)
        axes.axhline(1e-3, color="#999999", linewidth=1, linestyle="--")
        title = "ZXY, as in the model" if order == "ZXY" else f"{order}: wrong"
        axes.set_title(title, loc="left", fontsize=10)
        axes.set(xlabel="step", ylim=(1e-9, 10.0), ylabel="error [m]" if order == "ZXY" else "")
        if order != "ZXY":
            axes.set_yticklabels([])
    return made


def wrong_jacobian(page: Names) -> Any:
    """Plot the error by step with each Jacobian."""
    made, axes = make_figure(6.4, 3.6)
    draw_curves(axes, page["wrong"])
    axes.set(ylabel="error [m]", ylim=(1e-6, 3.0))
    return made


def jumps_from_restarts(page: Names) -> Any:
    """Plot the elbow by frame, and draw the arm before and after the jump."""
    made, (left, right) = make_figure(8.6, 3.6, panels=2)
    styles = {"nearest": (MISSED, 4.5), "continuous": (COLORS[0], 1.6), "continuous, other elbow": (FOUND, 1.6)}
    for name, (q, _) in page["ways"].items():
        left.plot(q[:, 1], "-", color=styles[name][0], linewidth=styles[name][1], label=name)
    left.set(xlabel="frame", ylabel="elbow [rad]")
    left.legend(frameon=False, fontsize=9)
    q = page["ways"]["nearest"][0]
    at = int(np.abs(np.diff(q, axis=0)).max(axis=1).argmax())
    poses = [poise.Pose(page["arm"], one) for one in q[at : at + 2]]
    targets = [page["line"][0].target, page["line"][-1].target]
    draw_scene(right, poses[1], ghosts=poses[:1], targets=targets, color=MISSED)
    right.set_title(f"frames {at} (pale) and {at + 1}", loc="left", fontsize=10)
    return made


def mixed_units(page: Names) -> Any:
    """Plot the error by step in each unit, and the angles at the end."""
    made, (left, right) = make_figure(8.2, 3.4, panels=2)
    draw_curves(left, {f"in {name}": errors for name, (errors, _) in page["loops"].items()})
    left.set(ylabel="error [m]", ylim=(1e-9, 3.0))
    for k, (_, q) in enumerate(page["loops"].values()):
        right.bar(np.arange(3) + 0.27 * (k - 1), np.degrees(q), 0.25, color=COLORS[k])
    right.axhspan(-180, 180, color="#999999", alpha=0.2, linewidth=0)
    right.set_xticks(range(3), ["one", "two", "three"])
    right.set(ylabel="joint at the end [deg]")
    right.set_title("grey: within one turn", loc="left", fontsize=10)
    return made


def too_little_damping(page: Names) -> Any:
    """Plot the largest move of a joint by step."""
    made, axes = make_figure(7.0, 3.6)
    draw_curves(axes, page["shaking"])
    axes.set(ylabel="largest move of a joint [rad]", ylim=(1e-6, 30.0))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return made


def clamping_outside_the_solve(page: Names) -> Any:
    """Draw the start and the end of both runs, and their errors by step."""
    made, (left, right) = make_figure(8.6, 3.6, panels=2)
    clamped, active = page["handled"]["clamp"], page["handled"]["active"]
    start = poise.Pose(page["leg"], page["bent_knee"])
    draw_scene(left, clamped.pose, ghosts=[start], targets=[page["step_out"].target], color=MISSED)
    draw_scene(left, active.pose, color=FOUND)
    left.set(xlabel="x [m]", ylabel="y [m]")
    left.set_title("pale: start, pink: clamp, green: active", loc="left", fontsize=10)
    for run, color, name in ((clamped, MISSED, "clamp"), (active, FOUND, "active")):
        right.semilogy(np.maximum(read_errors(run)[:, 0, 0], 1e-8), "o-", color=color, markersize=3, label=name)
    right.set(xlabel="step", ylabel="error [m]")
    right.legend(frameon=False, fontsize=9)
    return made


LOOPS = {
    "euler_order": euler_order,
    "wrong_jacobian": wrong_jacobian,
    "jumps_from_restarts": jumps_from_restarts,
    "mixed_units": mixed_units,
    "too_little_damping": too_little_damping,
    "clamping_outside_the_solve": clamping_outside_the_solve,
}
