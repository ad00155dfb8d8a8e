"""The timeline in the panel: slip over time, contacts as bars below it, keys, and the current time.

Plain HTML and SVG at the width of the panel, without external resources, readable on white and on black.
"""

import html

import numpy as np

from poise.arrays import Floats
from poise.motion import Contacts
from poise.studio.clips.timeline import ClipState, measure_slip

__all__ = ["draw_marker", "draw_timeline"]


MAX_POINTS = 400  # points of a curve at most
TALL, ROW = 58, 13  # [px], heights of the slip plot and of a row of bars
LEFT, RIGHT = 52, 14  # [px], margins of the plot
GREY, NOW = "#8a94a0", "#0d8078"
SIDE_COLORS = {"l": ("#1a9d92", "#6cc9c0"), "r": ("#d9822b", "#f0b878")}  # for heels, for other points
OTHER_COLORS = ("#7a6fd0", "#c05f9c", "#5b8fd6", "#8a9a3a")
MAX_ROWS = 8
FACE = "font-size:10.5px;line-height:1.2;font-variant-numeric:tabular-nums"


def draw_timeline(state: ClipState, part: tuple[float, float], chosen: int | None = None) -> str:
    """Draw a clip: slip of the original and of the edited clip, a bar for each contact, a diamond for each key.

    Args:
        state: The clip.
        part: The in and out points [s].
        chosen: The index of the chosen contact, or None.
    """
    length = max(len(state.motion) - 1, 1)
    rows = [] if state.contacts is None else draw_rows(state.contacts, length, chosen)
    plot = draw_plot(state) if rows else draw_hint(state)
    shade = shade_outside(part, length / state.motion.fps)
    keys = draw_keys(state, length) if state.keys else ""
    body = f"<div style='position:relative'>{plot}{''.join(rows)}{keys}{shade}</div>"
    return (
        f"<div style='{FACE};padding:{14 if rows else 2}px {RIGHT}px 0 {LEFT}px'>{body}"
        f"<div style='display:flex;justify-content:space-between;color:{GREY}'>"
        f"<span>0 s</span><span>{length / state.motion.fps:.2f} s</span></div></div>"
    )


def measure_height(state: ClipState) -> int:
    """Return the height of the timeline above its time labels [px]."""
    rows = 0 if state.contacts is None else len(name_rows(state.contacts))
    return (TALL if rows else ROW) + ROW * (rows + bool(state.keys))


def draw_marker(state: ClipState, seconds: float) -> str:
    """Draw the marker of the current time: a line over the timeline, which is the element just above."""
    share = 100.0 * seconds * state.motion.fps / max(len(state.motion) - 1, 1)
    tall = measure_height(state)
    foot = 13  # the time labels below the plot
    return (
        f"<div style='position:relative;height:0;margin:0 {RIGHT}px 0 {LEFT}px;pointer-events:none;z-index:2'>"
        f"<div style='position:absolute;left:{min(max(share, 0.0), 100.0):.2f}%;bottom:{foot}px;height:{tall + 3}px;"
        "width:2px;margin-left:-1px;background:#de343c;border-radius:1px'></div></div>"
    )


def draw_hint(state: ClipState) -> str:
    """Draw an empty strip with a hint."""
    said = "nothing stands still" if state.contacts is not None else "Find contacts shows where feet stand"
    box = f"height:{ROW}px;background:#9aa5b122;border-radius:3px;color:{GREY};text-align:center;white-space:nowrap"
    return f"<div style='{box};overflow:hidden'>{said}</div>"


def draw_plot(state: ClipState) -> str:
    """Draw slip over time: the original in grey, the edited clip in green."""
    assert state.contacts is not None
    now = measure_slip(state.motion, state.contacts)
    before = measure_slip(state.original, state.contacts) if state.edited else None
    top = max(float(now.max(initial=0.0)), 0.0 if before is None else float(before.max(initial=0.0)), 1e-3)
    lines = "" if before is None else draw_curve(before, top, GREY)
    lines += draw_curve(now, top, NOW)
    legend = f"<span style='color:{NOW}'>slip{'' if before is None else ' now'}</span>"
    legend += "" if before is None else f" <span style='color:{GREY}'>before</span>"
    label = f"position:absolute;left:-{LEFT - 2}px;width:{LEFT - 6}px;text-align:right;color:{GREY}"
    return (
        f"<div style='position:relative;height:{TALL}px;border-bottom:1px solid #9aa5b166;border-top:1px solid "
        "#9aa5b133;box-sizing:border-box'>"
        f"<div style='{label};top:-2px'>{write_number(top)}<br>mm a<br>frame</div>"
        f"<div style='{label};bottom:-1px'>0</div>"
        f"<svg width='100%' height='{TALL - 2}' viewBox='0 0 1000 100' preserveAspectRatio='none' "
        f"style='display:block'>{lines}</svg>"
        f"<div style='position:absolute;right:0;top:-15px'>{legend}</div></div>"
    )


def write_number(value: float) -> str:
    """Format a number in few characters."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else f"{value:.2g}"


def draw_curve(values: Floats, top: float, color: str) -> str:
    """Draw one curve; a curve with too many points shows the maximum of each interval."""
    stretches = np.array_split(np.arange(len(values)), min(len(values), MAX_POINTS))
    x = [1000.0 * float(own.mean()) / max(len(values) - 1, 1) for own in stretches]
    y = [98.0 - 94.0 * float(values[own].max()) / top for own in stretches]
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    look = f"fill='none' stroke='{color}' stroke-width='1.6' vector-effect='non-scaling-stroke'"
    return f"<polyline points='{points}' {look}/>"


def name_rows(ledger: Contacts) -> list[str]:
    """Return the names of the contact points, left before right."""
    names = sorted({contact.name for contact in ledger}, key=lambda name: (name.rpartition("_")[2], name))
    return names[:MAX_ROWS]


def choose_color(name: str, row: int) -> str:
    """Return the colour of a contact point, by its side and whether it is a heel."""
    part, _, side = name.rpartition("_")
    return SIDE_COLORS[side][part != "heel"] if side in SIDE_COLORS else OTHER_COLORS[row % len(OTHER_COLORS)]


def draw_rows(ledger: Contacts, length: int, chosen: int | None) -> list[str]:
    """Draw a row of bars for each contact point."""
    out = []
    for row, name in enumerate(name_rows(ledger)):
        bars = []
        for line, contact in enumerate(ledger):
            if contact.name != name:
                continue
            start = 100.0 * contact.start / length
            wide = 100.0 * (contact.end - 1 - contact.start) / length
            edge = ";box-shadow:0 0 0 2px #de343c" if line == chosen else ""
            bars.append(
                f"<div title='{html.escape(name)}' style='position:absolute;left:{start:.2f}%;width:{wide:.2f}%;"
                f"min-width:2px;top:2px;height:{ROW - 4}px;border-radius:2px;"
                f"background:{choose_color(name, row)}{edge}'></div>"
            )
        label = f"position:absolute;left:-{LEFT - 2}px;width:{LEFT - 6}px;text-align:right;overflow:hidden;color:{GREY}"
        label_text = html.escape(name)
        out.append(
            f"<div style='position:relative;height:{ROW}px;border-bottom:1px solid #9aa5b122;box-sizing:border-box'>"
            f"<div style='{label};white-space:nowrap'>{label_text}</div>{''.join(bars)}</div>"
        )
    return out


def draw_keys(state: ClipState, length: int) -> str:
    """Draw a diamond for each key."""
    look = "top:3px;width:7px;height:7px;margin-left:-3.5px;transform:rotate(45deg);background:#f5a623"
    marks = "".join(
        f"<div title='{html.escape(', '.join(key.names))}' style='position:absolute;{look};"
        f"left:{100.0 * key.frame / length:.2f}%'></div>"
        for key in state.keys
    )
    label = f"position:absolute;left:-{LEFT - 2}px;width:{LEFT - 6}px;text-align:right;color:{GREY}"
    return f"<div style='position:relative;height:{ROW}px'><div style='{label}'>keys</div>{marks}</div>"


def shade_outside(part: tuple[float, float], duration: float) -> str:
    """Shade the parts before the in point and after the out point."""
    start, end = (100.0 * min(max(at / max(duration, 1e-9), 0.0), 1.0) for at in part)
    box = "position:absolute;top:0;bottom:0;background:#8a94a04d"
    left = f"<div style='{box};left:0;width:{start:.2f}%'></div>" if start > 0.0 else ""
    right = f"<div style='{box};right:0;width:{100.0 - end:.2f}%'></div>" if end < 100.0 else ""
    return left + right
