"""A model as people read it: a tree in text, a table in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poise.model.joint import BallRange, Joint

if TYPE_CHECKING:
    from poise.model.model import Model

__all__ = ["html", "size_text", "tree"]

LONGEST = 120  # lines of a printed tree


def tree(model: Model) -> str:
    """The tree, one line a joint or frame; a chain runs straight down and only a branch is indented."""
    layout = model._layout
    children: dict[int, list[int]] = {}
    for i in layout.order:
        children.setdefault(layout.parents[i], []).append(i)
    lines = [headline(model)]
    stack = branches(children.get(-1, []), "  ")
    while stack and len(lines) <= LONGEST:
        i, first, rest = stack.pop()
        lines.append(first + line(model, layout.frames[i]))
        stack.extend(branches(children.get(i, []), rest))
    if stack:
        lines.append(f"  ... ({len(model.frames)} frames in all)")
    return "\n".join(lines)


def branches(below: list[int], prefix: str) -> list[tuple[int, str, str]]:
    """Children, last first, each with the text before its own line and before the lines under it."""
    if len(below) < 2:
        return [(i, prefix, prefix) for i in below]
    ends = [(prefix + "├ ", prefix + "│ ")] * (len(below) - 1) + [(prefix + "└ ", prefix + "  ")]
    return [(i, *end) for i, end in zip(reversed(below), reversed(ends), strict=True)]


def headline(model: Model) -> str:
    """Name and numbers."""
    mass = f", {model.mass:.3g} kg" if model.mass else ""
    counts = ((len(model.shapes), "shape"), (len(model.poses), "named pose"))
    more = "".join(f", {n} {what}{'s' * (n != 1)}" for n, what in counts if n)
    units = "" if model.units == "m" else f", lengths in {model.units}"
    return f"{model.name}: {size_text(model)}{mass}{more}{units}"


def size_text(model: Model) -> str:
    """How many joints, degrees of freedom and frames; those that solvers leave alone are counted."""
    locked = sum(joint.nv for joint in model.joints if joint.locked)
    aside = f" ({locked} locked)" if locked else ""
    return f"{len(model.joints)} joints, {model.nv} degrees of freedom{aside}, {len(model.frames)} frames"


def line(model: Model, frame: str) -> str:
    """One frame of the tree, with the joint that carries it."""
    carried = model.frame(frame).joint
    if carried is None:
        return frame
    joint = model.joint(carried)
    name = joint.name if joint.name == frame else f"{joint.name} -> {frame}"
    return f"{name}  {describe(joint)}"


def describe(joint: Joint) -> str:
    """Kind, axis or order, range, what it follows, and whether solvers leave it alone."""
    words = [joint.kind]
    if joint.order:
        words.append(joint.order)
    elif joint.axis.any():
        words.append(axis_text(joint.axis))
    bounds = np.stack([np.atleast_1d(joint.lower), np.atleast_1d(joint.upper)], axis=1)
    if np.isfinite(bounds).any():
        words.append(" ".join(f"[{low:.4g}, {high:.4g}]" for low, high in bounds))
    if joint.cone:
        words.append(cone_text(joint.cone))
    if joint.mimic:
        words.append(f"= {joint.mimic.ratio:g} * {joint.mimic.joint} + {joint.mimic.offset:g}")
    if joint.locked:
        words.append("locked")
    return " ".join(words)


def joint_words(joint: Joint) -> str:
    """A joint as it prints: name, kind, parent, axis, and its range with degrees."""
    follows = f", mimics {joint.mimic.joint}" if joint.mimic else ""
    lines = [f"{joint.name}: {joint.kind} joint on {joint.parent or 'the world'}, moves {joint.frame}{follows}"]
    if joint.order:
        lines.append(f"  order {joint.order}")
    if joint.axis.any():
        second = f", then {axis_text(joint.axis2)}" if joint.axis2.any() else ""
        lines.append(f"  axis {axis_text(joint.axis)}{second}")
    lows, highs = np.atleast_1d(joint.lower), np.atleast_1d(joint.upper)
    units = units_of(joint)
    for low, high, unit in zip(lows, highs, units, strict=False):
        if np.isfinite([low, high]).any():
            lines.append(f"  range {range_text(float(low), float(high), unit)}")
    if joint.cone:
        lines.append(f"  range {cone_text(joint.cone)} rad")
    return "\n".join(lines)


def units_of(joint: Joint) -> list[str]:
    """List the unit of each of a joint's degrees of freedom: radians or metres."""
    return ["m" if slides else "rad" for slides in joint.slides]


def range_text(low: float, high: float, unit: str) -> str:
    """A range with its unit, angles in degrees too."""
    words = f"{low:.4g} to {high:.4g} {unit}"
    return f"{words} ({np.degrees(low):.4g} to {np.degrees(high):.4g} degrees)" if unit == "rad" else words


def cone_text(cone: BallRange) -> str:
    """What bounds a ball joint, in radians."""
    words = []
    if cone.swing is not None:
        words.append("swing " + " x ".join(f"{a:.4g}" for a in np.atleast_1d(cone.swing)))
    if cone.twist is not None:
        words.append(f"twist [{cone.twist[0]:.4g}, {cone.twist[1]:.4g}]")
    if cone.angle is not None:
        words.append(f"at most {cone.angle:.4g}")
    return ", ".join(words)


def axis_text(axis: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """An axis in a word where it has one."""
    for k, letter in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return letter if axis[k] > 0 else f"-{letter}"
    return "(" + ", ".join(f"{x:.3g}" for x in axis) + ")"


def html(model: Model) -> str:
    """A table of the joints, for notebooks."""
    from html import escape  # slow to load

    rows = "".join(
        f"<tr><td>{escape(j.name)}</td><td>{escape(j.parent or 'world')}</td><td>{escape(describe(j))}</td></tr>"
        for j in model.joints[:LONGEST]
    )
    more = f"<p>... {len(model.joints)} joints in all</p>" if len(model.joints) > LONGEST else ""
    head = "<tr><th>joint</th><th>parent</th><th>kind, axis, range</th></tr>"
    return f"<p><b>{escape(headline(model))}</b></p><table>{head}{rows}</table>{more}"
