"""GeneralPosture: the base class of postures whose cost is not a sum of squares with one term per joint.

    cost c(q),   gradient g = dc/dv,   H: a symmetric, positive semidefinite model of its second derivative

The kernels support diagonal postures only (see `Rest`); such a posture is the first guess here. From there the solver
takes Newton steps in the null space of the goals: a few target poses, each closer to the minimum. Source: Nocedal and
Wright, Numerical Optimization, 2006, section 18.1 (Newton's method on a manifold of constraints).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.goals.postures.gaussian import Gaussian
from poise.goals.postures.pose_targets import PoseTargets
from poise.goals.postures.rest import POSTURE, Rest
from poise.model import Model

__all__ = ["GeneralPosture"]


@dataclass(frozen=True, eq=False)
class GeneralPosture(Rest, words=POSTURE):
    """A posture with its own `find_cost` and `find_slope`."""

    curved = True
    settled = 1e-6  # relative decrease of the cost below which the search stops

    def focus(self, model: Model, asked: PoseTargets, q: Floats) -> Any:
        """Return this posture specialised to the targets near `q`, or self if it does not depend on them."""
        return self

    def find_likely(self, model: Model, asked: PoseTargets, q: Floats) -> tuple[Gaussian, Floats] | None:
        """Return the Gaussian of this posture for the targets near `q`, and a start; otherwise None."""
        return None

    def find_seeds(self, model: Model, asked: PoseTargets, q: Floats, many: int = 4) -> Floats:
        """Return starts for a second search after a failed one, (up to many, nq)."""
        return np.zeros((0, model.nq))
