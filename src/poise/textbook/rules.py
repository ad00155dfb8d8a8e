"""The rules of the texts by name, run on one problem, and the gain at which each of them starts to oscillate.

Source: UCSD, "Gradient Descent" and "Iteration Step Size"; DLUT, "Iteration Stepping" (step size, stability).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.model import Model
from poise.textbook.arguments import read_array
from poise.textbook.heuristics import ccd_step, fabrik_step
from poise.textbook.inverses import damped_inverse, truncated_svd_inverse
from poise.textbook.iteration import selectively_damped_step, transpose_step
from poise.textbook.loop import Goals, LoopTrace, Rule, loop
from poise.textbook.rotations import Array

NOTHING = 1e-12  # shorter residuals are rounding errors
FINE = 1e-3  # gains closer than this are not told apart
RULES: Mapping[str, Rule] = {
    "gradient descent": lambda J, e: J.T @ e / max(float(np.vdot(J, J)), NOTHING),  # the error never grows
    "transpose": transpose_step,
    "pseudo-inverse": truncated_svd_inverse,
    "damped, 0.3": partial(damped_inverse, damping=0.3),
    "selectively damped": selectively_damped_step,
    "CCD, joint by joint": ccd_step,
    "FABRIK": fabrik_step,
}
GAINED = {name: rule for name, rule in RULES.items() if rule is not fabrik_step}
GAINS = np.arange(0.25, 3.01, 0.125)


def run_rules(
    model: Model, q: ArrayLike, goals: Goals, rules: Mapping[str, Rule] = RULES, **options: Any
) -> dict[str, LoopTrace]:
    """Run several rules from one start to the same goals; `poise.plot` draws their errors on one pair of axes.

    ``options`` are those of :func:`poise.textbook.loop`. Source: UCSD, "Gradient Descent" and "Jacobian Transpose".
    """
    return {name: loop(model, q, goals, step=rule, **options) for name, rule in rules.items()}


@dataclass(frozen=True)
class GainStudy:
    """How fast each rule converges at each gain, and where it starts to oscillate: `poise.plot` draws it.

    Attributes:
        gains: ``(n,)`` the gains on the error, in ascending order.
        rates: by rule, ``(n,)``: the mean factor of the error in one step; 1 and more does not converge.
        oscillates: by rule, the gain from which on the error changes its sign from step to step, or None; it is found
            by bisection between the gains, to 0.001.
    """

    gains: Array
    rates: Mapping[str, Array]
    oscillates: Mapping[str, float | None]


def study_gains(
    model: Model, q: ArrayLike, goals: Goals, rules: Mapping[str, Rule] = GAINED, gains: ArrayLike = GAINS
) -> GainStudy:
    """Measure the stability of rules: run 20 steps at every gain, and find where the error oscillates and grows.

    An error e oscillates if ``e_k+1 . e_k < 0`` in most steps of the second half: the steps are too long. Near the goal
    a pseudo-inverse step of gain beta leaves ``(1 - beta) e``, so it oscillates above 1 and diverges from 2; damping
    moves both up, since its step is shorter. Start close to the goal for the rates of the linearised problem. FABRIK
    has no gain and is left out. Source: DLUT, "Iteration Stepping"; UCSD, "Choosing Delta e".

    Raises:
        InvalidValue: a gain is not positive.
    """
    tried = np.sort(read_array(gains, "gains", None))
    rates, oscillates = {}, {}
    for name, rule in rules.items():
        run = partial(loop, model, q, goals, step=rule, stop=NOTHING, max_steps=20, patience=None)
        runs = [run(gain=gain).residuals for gain in tried]
        rates[name] = np.array([_find_rate(residuals) for residuals in runs])
        first = next((k for k, residuals in enumerate(runs) if _is_oscillating(residuals)), None)
        low, high = (0.0, None) if first is None else (tried[first - 1] if first else 0.0, tried[first])
        while high is not None and high - low > FINE:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if _is_oscillating(run(gain=middle).residuals) else (middle, high)
        oscillates[name] = high if high is None else float(high)
    return GainStudy(tried, rates, oscillates)


def _find_rate(residuals: Array) -> float:
    """Return the mean factor of the error in one step: over the second half, or over all steps if it converged."""
    sizes = np.maximum(np.linalg.norm(residuals, axis=1), NOTHING)
    first = 0 if sizes[-1] <= NOTHING else len(sizes) // 2
    return float((sizes[-1] / sizes[first]) ** (1.0 / max(len(sizes) - 1 - first, 1)))


def _is_oscillating(residuals: Array) -> bool:
    """Return whether the error changes its sign in most steps of the second half."""
    counted = residuals[np.linalg.norm(residuals, axis=1) > 1e-9]
    turns = np.einsum("ij,ij->i", counted[1:], counted[:-1]) < 0.0
    return len(turns) > 0 and bool(turns[len(turns) // 2 :].mean() > 0.5)
