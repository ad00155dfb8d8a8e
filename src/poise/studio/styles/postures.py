"""The rest posture in the studio: the rest pose, a style learned from clips, or a mixture.

    cost  (1 - s) sum_i g_i(s) (q_i - rest_i)^2 + s k style(q),     g_i(s) = g_i^(1 - s) (k p_i)^s

s is the position of the slider, g_i the gain of the rig towards the rest pose, p_i that of the style, and k makes the
two comparable on average: without it the slider would have most of its effect near one end. At 0 this is the rest pose
only, at 1 the style only.
"""

from dataclasses import replace

import numpy as np

from poise.goals import Rest, Style
from poise.model import Model

__all__ = ["mix_postures"]


def mix_postures(model: Model, rest: Rest, style: Style, share: float) -> list[Rest]:
    """Return the posture goals of a mixture of rest pose and style; `share` is 0 (rest pose) to 1 (style)."""
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
