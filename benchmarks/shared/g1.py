"""The Unitree G1 as a whole-body problem, independent of Poise: Pinocchio makes the targets and checks every answer.

29 hinges under a floating base. Two hands and two feet each have a transform to reach; the targets are those of the
bent stance with every joint turned a little, so all can be reached inside the ranges. All solvers start in the stance.

Configurations of the problem are Pinocchio's: `[x y z, qx qy qz qw, 29 angles]`.
"""

import importlib.metadata
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from shared.robots import ROUNDING, Array

PACKAGE, FILE = "example-robot-data", "g1_29dof_rev_1_0.urdf"
ENDS = ("left_rubber_hand", "right_rubber_hand", "left_ankle_roll_link", "right_ankle_roll_link")
TOLERANCE = (1e-3, 1e-2)  # metres and radians

SPREAD = 0.15  # standard deviation of every joint's turn, and of the base's [rad]
SHIFT = 0.3  # metres that the base is moved by for every radian of it
MARGIN = 0.02  # joints stay that far inside their ranges [rad]

# the bent stance [rad]; joints that are not named are straight
STANCE = {
    "hip_pitch": -0.40,
    "knee": 0.80,
    "ankle_pitch": -0.40,
    "shoulder_pitch": 0.10,
    "elbow": 0.60,
}
BASE_HEIGHT = 0.74  # [m]

Targets = dict[str, Array]


def urdf_text() -> str:
    """Return the maker's file from the package, without meshes, which are not needed and not always found."""
    package = importlib.metadata.distribution(PACKAGE)
    path = next(file for file in package.files or () if file.name == FILE)
    root = ET.parse(Path(str(package.locate_file(path)))).getroot()
    for link in root.iter("link"):
        for shape in link.findall("visual") + link.findall("collision"):
            link.remove(shape)
    return ET.tostring(root, encoding="unicode")


@dataclass(frozen=True)
class Problem:
    """The body and its targets.

    Attributes:
        path: The URDF file, for peers that need one.
        model: Pinocchio's model.
        start: The bent stance.
        targets: The target of each end effector, one dictionary per problem.
    """

    path: str
    model: Any
    start: Array
    targets: Sequence[Targets]

    def places(self, q: Array) -> Targets:
        """Return the transforms of the end effectors, by Pinocchio."""
        import pinocchio as pin

        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, q)
        return {name: data.oMf[self.model.getFrameId(name)].homogeneous for name in ENDS}

    def errors(self, q: Array, targets: Targets) -> Array:
        """Return the errors of each end effector in metres and radians, (4, 2)."""
        import pinocchio as pin

        places = self.places(q)
        return np.array(
            [
                (np.linalg.norm(T[:3, 3] - P[:3, 3]), np.linalg.norm(pin.log3(T[:3, :3] @ P[:3, :3].T)))
                for T, P in ((targets[name], places[name]) for name in ENDS)
            ]
        )

    def serves(self, q: Array, targets: Targets) -> bool:
        """Return whether q is inside the ranges and every end effector reaches its target, to TOLERANCE."""
        if not np.isfinite(q).all() or abs(np.linalg.norm(q[3:7]) - 1.0) > ROUNDING:
            return False
        low, high = self.model.lowerPositionLimit[7:], self.model.upperPositionLimit[7:]
        inside = ((q[7:] >= low - ROUNDING) & (q[7:] <= high + ROUNDING)).all()
        return bool(inside and (self.errors(q, targets) <= np.array(TOLERANCE) + ROUNDING).all())

    def joint_names(self) -> list[str]:
        """The hinges in the order of the configuration."""
        return [str(name) for name in self.model.names][2:]


def stance_of(model: Any) -> Array:
    """Return the bent stance."""
    q = np.zeros(model.nq)
    q[2], q[6] = BASE_HEIGHT, 1.0
    for name, at in zip(list(model.names)[2:], range(7, model.nq), strict=True):
        part = str(name).removeprefix("left_").removeprefix("right_").removesuffix("_joint")
        q[at] = STANCE.get(part, 0.0)
    return q


def make_problem(folder: str, count: int, spread: float = SPREAD) -> Problem:
    """Return the G1 with `count` targets, `spread` about the stance; its file is written into the folder.

    Raises:
        ImportError: Pinocchio is not installed, or the package with the robot.
    """
    import pinocchio as pin

    path = Path(folder) / "g1.urdf"
    path.write_text(urdf_text())
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    start = stance_of(model)
    rng = np.random.default_rng(0)
    sizes = np.array([SHIFT] * 3 + [1.0] * (model.nv - 3))
    problem = Problem(str(path), model, start, [])
    targets = []
    for _ in range(count):
        q = pin.integrate(model, start, spread * sizes * rng.standard_normal(model.nv))
        q[7:] = np.clip(q[7:], model.lowerPositionLimit[7:] + MARGIN, model.upperPositionLimit[7:] - MARGIN)
        targets.append(problem.places(q))
    return Problem(str(path), model, start, targets)
