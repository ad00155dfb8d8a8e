"""Small charts in the panel, as SVG and HTML."""

import html
import math

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.column_names import name_velocities
from poise.model import Model
from poise.studio.panel.lesson import OneStep

__all__ = ["describe_step", "draw_bars", "draw_errors", "make_table"]


WIDTH = 262
MAX_COLUMNS = 6  # columns of J at most to print as numbers
EQUATIONS = {
    "transpose": "dq = &alpha; J<sup>T</sup> e",
    "gradient": "dq = &alpha; J<sup>T</sup> e",
    "inverse": "dq = J<sup>-1</sup> e",
    "pseudoinverse": "dq = J<sup>+</sup> e",
    "svd": "dq = J<sup>+</sup> e, J<sup>+</sup> = V &Sigma;<sup>+</sup> U<sup>T</sup>",
    "qr": "dq = J<sup>+</sup> e, J<sup>T</sup> = Q R",
    "dls": "dq = J<sup>T</sup> (J J<sup>T</sup> + &lambda;&sup2; I)<sup>-1</sup> e",
    "sdls": "dq = &Sigma; v<sub>i</sub> &phi;<sub>i</sub>, each bounded along its singular vector",
    "lm": "dq = J<sup>T</sup> (J J<sup>T</sup> + &lambda;&sup2; I)<sup>-1</sup> e, within the ranges",
    "halley": "dq: as lm, with the second derivative of the place",
}  # the step of each method, from J and e


def draw_bars(values: Floats, damping: tuple[float, float] | None) -> str:
    """Draw singular values as bars on a logarithmic scale, with the largest and smallest damping as lines.

    Singular values left of the line are damped in that step.
    """
    low, high = 1e-3, 10.0

    def x(value: float) -> float:
        share = math.log10(max(value, low) / low) / math.log10(high / low)
        return 34 + (WIDTH - 84) * min(share, 1.0)

    rows = []
    for k, value in enumerate(values):
        y = 8 + 20 * k
        damped = damping is not None and value < damping[0]
        color = "#dc5050" if damped else "#0d8078"
        rows.append(
            f"<text x='0' y='{y + 10}' font-size='11' fill='#8a94a0'>s{k + 1}</text>"
            f"<rect x='34' y='{y}' width='{max(x(value) - 34, 1):.1f}' height='12' rx='2' fill='{color}'/>"
            f"<text x='{WIDTH}' y='{y + 10}' font-size='11' text-anchor='end' fill='currentColor'>{value:.3f}</text>"
        )
    height = 8 + 20 * len(values)
    line = ""
    if damping is not None:
        first, last = (f"{value:.2g}" for value in damping)
        said = first if first == last else f"{first} to {last}"
        line = "".join(
            f"<line x1='{x(value):.1f}' x2='{x(value):.1f}' y1='2' y2='{height}' stroke='#b44d12' stroke-width='1.5' "
            "stroke-dasharray='4 3'/>"
            for value in dict.fromkeys(damping)
        )
        line += (
            f"<text x='{min(max(x(damping[0]), 70.0), WIDTH - 70.0):.1f}' y='{height + 13}' font-size='11' "
            f"text-anchor='middle' fill='#b44d12'>damping {said}</text>"
        )
    words = "the handle's Jacobian, in body lengths a radian"
    return (
        f"<div style='padding:2px 10px'><svg width='{WIDTH}' height='{height + 18}'>{''.join(rows)}{line}</svg>"
        f"<div style='font-size:11px;color:#8a94a0'>{words}</div></div>"
    )


def draw_errors(errors: Floats) -> str:
    """Draw an error [m] by iteration on a logarithmic scale."""
    left, top, wide, high = 40.0, 8.0, WIDTH - 50.0, 110.0
    values = np.log10(np.maximum(errors, 1e-9))
    first = math.floor(float(values.min()))
    last = max(math.ceil(float(values.max())), first + 1)
    x = left + wide * np.arange(len(values)) / max(len(values) - 1, 1)
    y = top + high * (last - values) / (last - first)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    dots = "".join(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.2' fill='#0d8078'/>" for a, b in zip(x, y, strict=True))
    marks = ""
    for power in range(first, last + 1, max(1, (last - first) // 4)):
        at = top + high * (last - power) / (last - first)
        marks += (
            f"<line x1='{left}' x2='{left + wide}' y1='{at:.1f}' y2='{at:.1f}' stroke='#9aa5b144'/>"
            f"<text x='{left - 5}' y='{at + 3:.1f}' font-size='10' text-anchor='end' fill='#8a94a0'>"
            f"{name_power(power)}</text>"
        )
    foot = f"error of the handle by iteration, {len(errors) - 1} in all"
    return (
        f"<div style='padding:2px 8px'><svg width='{WIDTH}' height='{top + high + 8}'>{marks}"
        f"<polyline points='{line}' fill='none' stroke='#0d8078' stroke-width='1.8'/>{dots}</svg>"
        f"<div style='font-size:11px;color:#8a94a0'>{foot}</div></div>"
    )


def name_power(power: int) -> str:
    """Format a power of ten in metres."""
    return {0: "1 m", -1: "10 cm", -2: "1 cm", -3: "1 mm", -6: "1 um", -9: "1 nm"}.get(power, f"1e{power} m")


def describe_step(model: Model, method: str, handle: str, step: OneStep | None) -> str:
    """Describe one iteration: e, J, the equation of dq, and the predicted and actual step."""
    if step is None:
        return f"<div style='font-size:12px'>Drag {html.escape(handle)} first: it has no target.</div>"
    names = name_velocities(model)
    used = np.nonzero(np.linalg.norm(step.J, axis=0) > 0)[0]
    most = np.sort(used[np.argsort(-np.abs(step.dq[used]))[:MAX_COLUMNS]])
    some = "" if len(most) == len(used) else f", the {len(most)} that move most of"
    return (
        "<div style='padding:2px 8px;font-size:12px;line-height:1.5;font-variant-numeric:tabular-nums'>"
        f"<b>e</b> = {millimetres(step.e)}, |e| = {1e3 * np.linalg.norm(step.e):.2f} mm<br>"
        f"<b>J</b> [m a radian]{some} {len(used)} columns"
        f"{draw_matrix(step.J[:, used], [names[k] for k in used])}"
        f"{tabulate_step(step, most, [names[k] for k in most])}"
        f"<b>{EQUATIONS.get(method, 'dq: a sweep over the joints, no Jacobian')}</b>{describe_damping(step)}<br>"
        f"predicted J dq = {millimetres(step.predicted)}<br>really moved = {millimetres(step.moved)}<br>"
        f"after it |e| = {1e3 * step.left:.2f} mm</div>"
    )


def millimetres(vector: Floats) -> str:
    """Format a vector in millimetres."""
    return "(" + ", ".join(f"{1e3 * v:.1f}" for v in vector) + ") mm"


def describe_damping(step: OneStep) -> str:
    """Describe the damping of a step, if any."""
    return "" if step.damping is None else f", &lambda; = {step.damping:.3g} L"


def tabulate_step(step: OneStep, columns: NDArray[np.intp], names: list[str]) -> str:
    """Return a table of named columns of J, with dq below them."""
    cell = "text-align:right;padding:0 2px"
    head = "".join(
        f"<th style='{cell};max-width:44px;overflow:hidden;text-overflow:ellipsis' title='{html.escape(name)}'>"
        f"{html.escape(name[-7:])}</th>"
        for name in names
    )
    rows = [(axis, row[columns], "") for axis, row in zip(step.axes, step.J, strict=True)]
    rows.append(("dq", step.dq[columns], "font-weight:600;"))
    body = "".join(
        f"<tr style='{style}'><td>{name}</td>"
        + "".join(f"<td style='{cell}'>{value:.3f}</td>" for value in values)
        + "</tr>"
        for name, values, style in rows
    )
    return f"<table style='font-size:10px;border-spacing:0;margin:2px 0'><tr><th></th>{head}</tr>{body}</table>"


def draw_matrix(J: Floats, names: list[str]) -> str:
    """Draw a matrix as coloured cells; hovering shows the column's name."""
    largest = float(np.abs(J).max(initial=1e-12))
    wide = WIDTH / max(J.shape[1], 1)
    cells = []
    for k in range(J.shape[1]):
        for row in range(J.shape[0]):
            share = J[row, k] / largest
            cold, warm = (255 - 190 * max(-share, 0.0)), (255 - 190 * max(share, 0.0))
            color = f"rgb({cold:.0f},{min(cold, warm):.0f},{warm:.0f})"
            cells.append(
                f"<rect x='{k * wide:.1f}' y='{14 * row}' width='{wide:.1f}' height='13' fill='{color}'>"
                f"<title>{html.escape(names[k])}: {J[row, k]:.3f}</title></rect>"
            )
    return f"<svg width='{WIDTH}' height='{14 * J.shape[0]}' style='display:block;margin:3px 0'>{''.join(cells)}</svg>"


def make_table(head: list[str], rows: list[list[str]], colors: list[str] | None = None) -> str:
    """Return a small HTML table; the first column may have coloured dots."""
    cells = "".join(f"<th style='text-align:{'left' if k == 0 else 'right'}'>{h}</th>" for k, h in enumerate(head))
    body = ""
    for i, row in enumerate(rows):
        dot = "" if colors is None else f"<span style='color:{colors[i]}'>&#9679;</span> "
        body += "<tr>" + "".join(
            f"<td style='text-align:{'left' if k == 0 else 'right'}'>{dot if k == 0 else ''}{cell}</td>"
            for k, cell in enumerate(row)
        )
        body += "</tr>"
    return (
        "<div style='padding:2px 10px'><table style='width:100%;font-size:12px;border-spacing:0 3px;"
        "font-variant-numeric:tabular-nums'>"
        f"<tr style='color:#8a94a0'>{cells}</tr>{body}</table></div>"
    )
