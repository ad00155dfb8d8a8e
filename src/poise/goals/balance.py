"""Balance: keep the centre of mass above the support polygon.

    seen along the world's up axis, with the contact points of the supports in the current pose:
    rows      r_k = min(d_k - n_k . c - margin, 0)        metres (in units of L), one row per edge of their convex hull
              c the centre of mass, n_k . x <= d_k the half-plane of edge k
    error     the distance from the set where all rows are zero [m]: beyond a sharp corner much larger than any row

The hull moves with the contacts, and so does the Jacobian. This is static balance on level ground, without forces or
friction. Source: McGhee and Frank, On the stability properties of quadruped creeping gaits, 1968 (support polygon);
Baerlocher and Boulic, An inverse kinematics architecture enforcing an arbitrary number of strict priority levels, 2004
(as a goal).
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from poise.errors import InvalidValue
from poise.goals.center_of_mass import require_mass
from poise.goals.contacts import Contact, find_supports
from poise.goals.goal import BALANCE, Goal, GoalRows, pack_target, read_one_weight
from poise.kinematics.regions import read_length, read_position
from poise.model import Model
from poise.model.joints.joint import get_name

__all__ = ["Balance"]

MOST_POINTS = 32


@dataclass(frozen=True, eq=False)
class Balance(Goal):
    """Keep the centre of mass above the convex hull of the supports.

    Attributes:
        support: Frames that stand on the ground. The contacts of a frame are its own origin and the lowest points of
            its part and of the child parts, such as the heel, ball and toe of a foot. A pair (frame, point) is a single
            point of the frame, in its own coordinates.
        margin: Smallest distance from the edge of the hull [m].
    """

    support: Any
    _: KW_ONLY
    margin: float = 0.0

    default_name = "balance"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "support", read_support(self.support))
        object.__setattr__(self, "margin", read_length(self.margin, "Balance: margin"))
        read_one_weight(self.weight, 0, "Balance")

    def contacts(self, model: Model) -> tuple[Contact, ...]:
        """Return the contact points: frames and points on them."""
        return find_supports(model, self.support)

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        require_mass(model, "Balance")
        contacts = self.contacts(model)
        if len(contacts) > MOST_POINTS:
            raise InvalidValue(
                f"Balance: the supports have {len(contacts)} contact points, and {MOST_POINTS} is the most; "
                "name single points as (frame, point)."
            )
        return GoalRows(
            op=BALANCE,
            frame=None,
            weight=read_one_weight(self.weight, 0, "Balance"),
            target=np.append(pack_target(None, model.up_direction), self.margin),
            convert=lambda margin: np.append(
                pack_target(None, model.up_direction), read_length(margin, "Balance: margin")
            ),
            size=max(4, len(contacts)),
            points=contacts,
        )


def read_support(support: Any) -> tuple[Any, ...]:
    """Return a support as frames, and pairs of frame and point."""
    name = support if isinstance(support, str) else getattr(support, "name", None)
    if isinstance(name, str):
        raise InvalidValue(
            f"Balance: support is {name!r}, one frame; give a list of all that stand on the ground: "
            f"Balance([{name!r}]) is over that one alone, Balance([{name!r}, ...]) over the hull of several."
        )
    if not isinstance(support, Iterable):
        raise InvalidValue(f"Balance: support is {support!r}; give a list of frames, such as the feet.")
    given: tuple[Any, ...] = tuple(support)
    if len(given) == 2 and isinstance(given[0], str) and is_point(given[1]):
        given = (given,)  # a single pair, without a list
    if not given:
        raise InvalidValue("Balance: support is empty; give the frames that stand on the ground, such as a foot.")
    return tuple(read_part(part) for part in given)


def is_point(x: Any) -> bool:
    """Return whether the value is three numbers, and not a list of supports."""
    return isinstance(x, (tuple, list, np.ndarray)) and len(x) == 3 and all(np.ndim(part) == 0 for part in x)


def read_part(part: Any) -> Any:
    """Return one support: a frame name, or a pair of frame name and point."""
    if isinstance(part, (tuple, list)):
        if len(part) != 2:
            raise InvalidValue(f"Balance: {part!r} is not a support; give a frame, or (frame, point).")
        return get_name(part[0]), read_position(part[1], f"Balance: support {get_name(part[0])!r}: its point")
    if not isinstance(part, str) and not hasattr(part, "name"):
        raise InvalidValue(f"Balance: {part!r} is not a support; give a frame, or (frame, point).")
    return get_name(part)
