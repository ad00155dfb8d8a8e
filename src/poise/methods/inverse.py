"""Inverse Jacobian: Newton's method, for problems with as many goal rows as degrees of freedom.

    dq = J^-1 r          (elimination with row pivots)

Quadratic near the goal (Whitney 1969, Resolved motion rate control). Directions without weight do not count, nor those
in which the body cannot move: a planar arm with two joints is square with Reach(frame, (x, y)), one with three joints
with Reach(frame, transform).

Other sizes are rejected: they have no inverse. If a limit removes a joint from the step, or a pivot is at rounding
level (a singular pose), the step is the least-squares one (see qr). Near singular poses only the step limit bounds the
steps. Stiffness has no effect: the step is unique.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["Inverse"]


@dataclass(frozen=True, kw_only=True)
class Inverse(JacobianMethod):
    """Inverse of a square Jacobian.

    Attributes:
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    stall_steps: int = 20

    name: ClassVar[str] = "inverse"
    code: ClassVar[core.MethodCode] = core.MethodCode.INVERSE

    def refuse(self, count: Callable[[], tuple[int, int]]) -> str | None:
        """Return the reason that the problem size is not supported; see `Method.refuse`."""
        rows, velocities = count()
        if rows == velocities:
            return None
        return (
            f"method 'inverse' needs a square Jacobian; this problem has {rows} goal rows and {velocities} degrees of "
            "freedom that move them. Use method='pseudoinverse' (or 'dls', calm near singular poses), or name "
            f"{rows} degrees of freedom in joints=."
        )
