"""The rest posture in the studio: the own pose, a style that was learned from clips, or a mixture.

    cost  (1 - s) sum_i g_i(s) (q_i - rest_i)^2 + s k style(q),     g_i(s) = g_i^(1 - s) (k p_i)^s

s is where the slider stands. g_i is how strongly the rig draws a joint to its pose, p_i how strongly the style does,
and k makes the two alike on the whole: without it the slider would do all of its work near one end. At 0 this is the
rest pose alone, at 1 the style alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.goals import Rest, Style
from poise.model import Model

__all__ = ["mix_postures"]


def mix_postures(model: Model, rest: Rest, style: Style, share: float) -> list[Rest]:
    """Return the postures of a body that is so far on its way from its rest pose to a style, from 0 to 1."""
    if share <= 0.0:
        return [rest]
    if share >= 1.0:
        return [style]
    drawn, strict = rest.gain(model), style.gain(model)
    both = (drawn > 0.0) & (strict > 0.0)
    alike = float(np.exp(np.mean(np.log(drawn[both] / strict[both])))) if both.any() else 1.0
    gains = drawn.copy()
    gains[both] = drawn[both] ** (1.0 - share) * (alike * strict[both]) ** share
    weight = float(np.asarray(style.weight)) * np.sqrt(share * alike)
    return [replace(rest, gains=(1.0 - share) * gains, weight=1.0), replace(style, weight=float(weight))]
