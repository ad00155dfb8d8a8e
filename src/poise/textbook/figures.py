"""Data of figures: a Jacobian as named blocks, a chain of transforms, and the passes of two procedures.

`poise.plot` draws the first two. Source: Rabbani figures 4 and 6; DLUT, "Thinking of Transformations".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.model import Model
from poise.model.channels import name_channels
from poise.textbook.bodies import configuration, forward_kinematics, path
from poise.textbook.frames import world_jacobian
from poise.textbook.jacobians import Control, adjusted_jacobian, read_control
from poise.textbook.rotations import Array

LETTERS = ("x", "y", "z", "turn x", "turn y", "turn z")


@dataclass(frozen=True)
class JacobianBlocks:
    """A Jacobian with the names of its rows and columns.

    Attributes:
        matrix: ``(m, nv)``, world axes.
        rows: a name for each row, such as "end_1 x".
        columns: a name for each column: the joint's, or "hip.rz" for one of several.
        joints: the index of the joint of each column.
        on_path: whether each joint moves a frame of the rows; the blocks of the others are zero.
        model, q, frames: the body, its configuration and the frames of the rows.
    """

    matrix: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    joints: tuple[int, ...]
    on_path: tuple[bool, ...]
    model: Model
    q: Array
    frames: tuple[str, ...]


def find_blocks(
    model: Model, q: ArrayLike, frames: str | Sequence[str], *, control: Control = "linear"
) -> JacobianBlocks:
    """Return the Jacobian of one or several frames with named rows and columns. Source: Rabbani figure 4.

    ``control`` selects the rows of every frame: "linear", "angular" or "both".

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.adjusted_jacobian`.
    """
    names, kept = [frames] if isinstance(frames, str) else list(frames), read_control(control)
    blocks = [world_jacobian(adjusted_jacobian(model, q, f), forward_kinematics(model, q, f))[kept] for f in names]
    rows = tuple(f"{frame} {letter}" for frame in names for letter in LETTERS[kept])
    moving = [joint for joint in model.joints if joint.nv]
    columns = tuple(name for joint in moving for name in name_channels(joint))
    joints = tuple(i for i, joint in enumerate(moving) for _ in range(joint.nv))
    above = {step.joint.name for f in names for step in path(model, q, f) if step.joint is not None}
    on_path, here = tuple(j.name in above for j in moving), configuration(model, q)
    return JacobianBlocks(np.concatenate(blocks), rows, columns, joints, on_path, model, here, tuple(names))


@dataclass(frozen=True)
class TransformChain:
    """The factors of forward kinematics, ``T = F_1 F_2 ... F_n``, read in two ways.

    In the body's view each factor moves the frame in its own axes, from left to right. In the global view each factor
    moves everything about the world's origin, from right to left. Both end in the same pose.

    Attributes:
        labels: a name for each factor: "turn joint_1", "move joint_2", ...
        factors: ``(n, 4, 4)``.
    """

    labels: tuple[str, ...]
    factors: Array

    def list_body_views(self) -> list[Array]:
        """Return the frames ``(k + 1, 4, 4)`` after the first k factors, for k from 1 to n."""
        return [_chain(self.factors[:k]) for k in range(1, len(self.factors) + 1)]

    def list_global_views(self) -> list[Array]:
        """Return the frames ``(k + 1, 4, 4)`` of the last k factors, for k from 1 to n."""
        return [_chain(self.factors[-k:]) for k in range(1, len(self.factors) + 1)]


def find_chain(model: Model, q: ArrayLike, frame: str) -> TransformChain:
    """Return the factors of a frame's forward kinematics, without identities.

    Source: DLUT, "A Chain of Transformations" and "Thinking of Transformations".

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`poise.textbook.path`.
    """
    factors: list[tuple[str, Array]] = []
    for step in path(model, q, frame):
        name = frame if step.joint is None else step.joint.name
        factors += [(f"offset of {name}", step.offset), (f"joint {name}", step.motion)]
    kept = [(label, factor) for label, factor in factors if not np.array_equal(factor, np.eye(4))]
    return TransformChain(tuple(label for label, _ in kept), np.array([f for _, f in kept]).reshape(-1, 4, 4))


def _chain(factors: Array) -> Array:
    frames = [np.eye(4)]
    for factor in factors:
        frames.append(frames[-1] @ factor)
    return np.array(frames)


def count_passes(model: Model, frame: str) -> dict[str, dict[str, int]]:
    """Count the passes of procedures 1 and 2 for the Jacobian of a frame. Source: Rabbani figure 6.

    Procedure 1 walks from the effector, from every joint and from every axis to the world; with results kept along the
    path ("shared") these are two passes: the transforms to the world from the root outwards, then the columns back from
    the effector. Procedure 2 walks from the effector to every joint; with results kept it is one pass, which ends at
    the first joint: nothing above it is needed. ``transforms`` are the products of two transforms in the walks.

    Raises:
        NameNotFound: the model has no such frame.
    """
    steps = path(model, np.array(model.rest), frame)
    depths = [(i + 1, step.joint.nv) for i, step in enumerate(steps) if step.joint is not None and step.joint.nv]
    whole, inner = len(steps), [len(steps) - depth for depth, _ in depths]
    names = ("passes", "transforms", "shared passes", "shared transforms")
    walks = 1 + sum(1 + nv for _, nv in depths), whole + sum(depth * (1 + nv) for depth, nv in depths), 2, 2 * whole
    local = len(depths), sum(inner), 1, max(inner, default=0)
    return {name: dict(zip(names, n, strict=True)) for name, n in (("procedure 1", walks), ("procedure 2", local))}
