"""Sequential: solve the body part by part: limbs alone if possible, otherwise root, spine, limbs.

    round 0        every limb alone, the rest fixed
    round 1, 2 ... the root takes the mean of the remaining errors, then the spine, then every limb
    last           all parts together, from the current pose (`finish`)

Each part is a small problem, solved by the closed form of a limb (two_bone) if it has one, otherwise by bounded
Levenberg-Marquardt; so the root moves only if the limbs are not enough, and limbs cost very little. It is block
coordinate descent on the cost of all goals. Parts are found from the tree: a limb is the path from a goal to the first
branch above it, the root is the part before the first branch, the spine the part between; or they are given by name.

Source: Tolani, Goswami and Badler 2000 for the limbs; Kulpa and Multon, Fast inverse kinematics and kinetics
solver for human-like figures, Humanoids 2005, for the order of the parts.

Limitations: convergence is slow for goals that need several parts together, such as a deep bend with pinned feet; use
`finish` for those. In mode="continuous" there is one pass, root, spine, limbs, so that no joint moves twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from poise.arguments import check_flag, check_whole
from poise.errors import InvalidValue
from poise.methods.method import Method
from poise.model import Joint
from poise.native import core

__all__ = ["Sequential"]


@dataclass(frozen=True, kw_only=True)
class Sequential(Method):
    """Solve the body part by part.

    Attributes:
        parts: Joint names of each part, in the order of solving; None finds root, spine and limbs from the tree.
        rounds: Largest number of passes over the parts.
        finish: Whether goals that are still missed are then solved with all parts together.
    """

    parts: Sequence[Sequence[str]] | None = None
    rounds: int = 4
    finish: bool = True

    name: ClassVar[str] = "sequential"
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "rotation", "pose", "posture"})
    code: ClassVar[core.MethodCode] = core.MethodCode.LM
    levels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.rounds, "Sequential: rounds", 1)
        check_flag(self.finish, "Sequential: finish")
        if self.parts is not None and not (is_list(self.parts) and all(map(is_part, self.parts))):
            raise InvalidValue(f"Sequential: parts is {self.parts!r}; give lists of joint names, none empty.")


def is_list(value: object) -> bool:
    """Return whether the value is a non-empty list, not text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) > 0


def is_part(value: object) -> bool:
    """Return whether the value is a list of names (or joints, which are equal to their names)."""
    return is_list(value) and all(isinstance(name, (str, Joint)) for name in value)  # type: ignore[attr-defined]
