"""Random arms for the exercises: fixed offsets, axes and angles, and the model for the textbook."""

from dataclasses import dataclass

import numpy as np

from poise.model import Model, ModelBuilder
from poise.textbook.bodies import forward_kinematics
from poise.textbook.rotations import Array, quaternion_exponential, quaternion_rotation
from poise.textbook.twists import rigid


@dataclass(frozen=True)
class Arm:
    """A chain of hinges.

    Attributes:
        offsets: ``(n + 1, 4, 4)``: from the previous frame to each joint, the last one from the last joint to the tip.
        axes: ``(n, 3)``: each joint's unit axis, in its own frame.
        angles: ``(n,)`` [rad].
        model: the same arm; its frames are ``joint_1`` to ``joint_n`` and ``tip``.
    """

    offsets: Array
    axes: Array
    angles: Array
    model: Model

    @property
    def pivots(self) -> Array:
        """The positions of the joints in the world, ``(n, 3)`` [m]."""
        return np.stack([self.find_hinge(i)[1] for i in range(len(self.axes))])

    @property
    def world_axes(self) -> Array:
        """The joints' axes in the world, ``(n, 3)``."""
        return np.stack([self.find_hinge(i)[0] for i in range(len(self.axes))])

    @property
    def tip(self) -> Array:
        """The position of the tip in the world [m]."""
        return self._place("tip")[:3, 3]

    def find_hinge(self, joint: int) -> tuple[Array, Array]:
        """Return a joint's axis and pivot in the world; a hinge does not rotate its own axis."""
        place = self._place(f"joint_{joint + 1}")
        return place[:3, :3] @ self.axes[joint], place[:3, 3]

    def _place(self, frame: str) -> Array:
        return forward_kinematics(self.model, self.angles, frame)


def name_arm(joints: int) -> str:
    """Return the name of an arm for messages."""
    return f"an arm of {joints} joint{'s' * (joints != 1)}"


def draw_arm(rng: np.random.Generator, joints: int) -> Arm:
    """Draw an arm with random offsets, axes and angles of any direction and sign."""
    offsets = np.stack([_draw_offset(rng) for _ in range(joints + 1)])
    axes = rng.normal(size=(joints, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    builder = ModelBuilder("arm")
    for i in range(joints):
        parent = None if i == 0 else f"joint_{i}"
        builder.add_joint(f"joint_{i + 1}", parent, "continuous", offset=offsets[i], axis=axes[i])
    builder.add_frame("tip", f"joint_{joints}", offsets[-1])
    return Arm(offsets, axes, rng.uniform(-2.0, 2.0, joints), builder.build())


def _draw_offset(rng: np.random.Generator) -> Array:
    turn = quaternion_rotation(quaternion_exponential(rng.normal(size=3)))
    return rigid(turn, rng.uniform(0.2, 0.5, 3))
