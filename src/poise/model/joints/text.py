"""Describe a joint as text: in one line of a tree, or by itself with its range in degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poise.model.curves.path import Path
    from poise.model.joints.joint import BallRange, Joint

__all__ = ["describe_joint", "print_joint"]


def describe_joint(joint: Joint) -> str:
    """Describe a joint: kind, axis or order, range, leader, and whether it is locked."""
    words = [joint.kind]
    if joint.order:
        words.append(joint.order)
    elif joint.axis.any():
        words.append(write_axis(joint.axis))
    bounds = np.stack([np.atleast_1d(joint.lower), np.atleast_1d(joint.upper)], axis=1)
    if np.isfinite(bounds).any():
        words.append(" ".join(f"[{low:.4g}, {high:.4g}]" for low, high in bounds))
    if joint.length:
        words.append(f"of {joint.length:.4g} m")
    if joint.path:
        words.append(write_path(joint.path))
    if joint.cone:
        words.append(write_cone(joint.cone))
    if joint.mimic:
        words.append(f"= {joint.mimic.ratio:g} * {joint.mimic.joint} + {joint.mimic.offset:g}")
    if joint.locked:
        words.append("locked")
    return " ".join(words)


def print_joint(joint: Joint) -> str:
    """Return the printed form of a joint: name, kind, parent, axis, and range with degrees."""
    follows = f", mimics {joint.mimic.joint}" if joint.mimic else ""
    lines = [f"{joint.name}: {joint.kind} joint on {joint.parent or 'the world'}, moves {joint.frame}{follows}"]
    if joint.order:
        lines.append(f"  order {joint.order}")
    if joint.axis.any():
        second = f", then {write_axis(joint.axis2)}" if joint.axis2.any() else ""
        lines.append(f"  axis {write_axis(joint.axis)}{second}")
    if joint.length:
        lines.append(f"  length {joint.length:.4g} m at 1")
    if joint.path:
        lines.append(f"  along {write_path(joint.path)}")
    lows, highs = np.atleast_1d(joint.lower), np.atleast_1d(joint.upper)
    units = list_units(joint)
    for low, high, unit in zip(lows, highs, units, strict=False):
        if np.isfinite([low, high]).any():
            lines.append(f"  range {write_range(float(low), float(high), unit)}")
    if joint.cone:
        lines.append(f"  range {write_cone(joint.cone)} rad")
    return "\n".join(lines)


def list_units(joint: Joint) -> list[str]:
    """List the unit of each of a joint's degrees of freedom: "rad", "m", or "" for a factor."""
    return ["m" if slides else "rad" if turns else "" for slides, turns in zip(joint.slides, joint.turns, strict=True)]


def write_range(low: float, high: float, unit: str) -> str:
    """Return a range with its unit; angles also in degrees."""
    words = f"{low:.4g} to {high:.4g} {unit}".rstrip()
    return f"{words} ({np.degrees(low):.4g} to {np.degrees(high):.4g} degrees)" if unit == "rad" else words


def write_path(path: Path) -> str:
    """Describe a curve in a few words."""
    closed = "closed " if path.closed else ""
    return f"a {closed}{path.shape} through {len(path.points)} points, {path.length:.4g} m"


def write_cone(cone: BallRange) -> str:
    """Describe the range of a ball joint, in radians."""
    words = []
    if cone.swing is not None:
        words.append("swing " + " x ".join(f"{a:.4g}" for a in np.atleast_1d(cone.swing)))
    if cone.twist is not None:
        words.append(f"twist [{cone.twist[0]:.4g}, {cone.twist[1]:.4g}]")
    if cone.angle is not None:
        words.append(f"at most {cone.angle:.4g}")
    return ", ".join(words)


def write_axis(axis: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Return an axis as a letter if it is x, y or z, and as three numbers otherwise."""
    for k, letter in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return letter if axis[k] > 0 else f"-{letter}"
    return "(" + ", ".join(f"{x:.3g}" for x in axis) + ")"
