"""Text of a list of answers."""

from __future__ import annotations

from math import degrees
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poise.answers.answers import Answers

__all__ = ["table"]

MOST = 20  # rows


def table(answers: Answers) -> str:
    """Return the arcs, then one line per answer: its joints in degrees, slides in metres."""
    kind = "complete" if answers.complete else "perhaps not all"
    count = f"{len(answers)} answer{'s' * (len(answers) != 1)}"
    lines = [f"{count} ({kind}), {answers.family.name}"]
    if not answers:
        return "\n".join([*lines, answers.why()])
    lines += [f"  {arc}" for arc in answers.arcs]
    model, names = answers[0].model, answers.family.joints
    widths = [max(len(name), 8) for name in names]
    lines.append("   " + "  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True)))
    for i, answer in enumerate(answers[:MOST]):
        cells = []
        for name, width in zip(names, widths, strict=True):
            joint = model.joint(name)
            value, turns = float(answer.q[joint.q][0]), bool(model.turns[joint.v][0])
            cells.append((f"{degrees(value):.2f}" if turns else f"{value:.4f}").rjust(width))
        lines.append(f"{i:>2} " + "  ".join(cells))
    if len(answers) > MOST:
        lines.append(f"   and {len(answers) - MOST} more")
    return "\n".join(lines)
