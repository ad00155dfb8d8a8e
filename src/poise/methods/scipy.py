"""Scipy: a SciPy optimiser applied to our residual and Jacobian.

    minimise |r(q0 (+) x)|^2 over the step x from the start, within the joint ranges if the optimiser supports bounds

Steps are taken on the manifold, so ball joints and floating bases work as with every other method. "trf", "dogbox",
"L-BFGS-B", "TNC", "SLSQP" and "trust-constr" keep the ranges inside the solve; "lm", "CG", "BFGS" and "trust-ncg" do
not support bounds: their result is clamped. None supports cones: each evaluates the pose with its ball joints projected
into their cones, and the Jacobian of that pose. Source: UCSD CSE169, "Jacobian Method as a Black Box" and "Other
Numerical Methods".

Limitations: it is slow (each evaluation calls Python), local, and stops on its own criteria; it is meant for
comparison.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from poise.errors import InvalidValue, name_not_found
from poise.methods.method import Method

__all__ = ["LEAST_SQUARES", "MINIMIZERS", "WITHOUT_BOUNDS", "Scipy"]

LEAST_SQUARES = ("trf", "dogbox", "lm")
MINIMIZERS = ("L-BFGS-B", "TNC", "SLSQP", "trust-constr", "CG", "BFGS", "trust-ncg")
WITHOUT_BOUNDS = ("lm", "CG", "BFGS", "trust-ncg")


@dataclass(frozen=True)
class Scipy(Method):
    """SciPy's optimisers over our residual and Jacobian.

    Attributes:
        optimizer: "trf", "dogbox" or "lm" (scipy.optimize.least_squares), or "L-BFGS-B", "TNC", "SLSQP",
            "trust-constr", "CG", "BFGS" or "trust-ncg" (scipy.optimize.minimize).
    """

    optimizer: str = "trf"

    name: ClassVar[str] = "scipy"
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "rotation", "pose", "custom"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.optimizer, str):
            raise InvalidValue(f"Scipy: optimizer is {self.optimizer!r}; it must be a name such as 'trf'.")
        if self.optimizer not in (*LEAST_SQUARES, *MINIMIZERS):
            raise name_not_found("SciPy optimizer", self.optimizer, (*LEAST_SQUARES, *MINIMIZERS))

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; the kernels evaluate but do not step."""
        return {**super().settings(), "damping": 0.1, "damping_floor": 1e-6, "rounds": 0}
