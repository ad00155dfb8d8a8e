"""A human figure: 1.75 m, 75 kg, 52 degrees of freedom, floating base; y up, facing +z, left side at +x.

Sources. Masses and centres: de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J.
Biomechanics 29(9), 1996, table 4, male. Lengths: the same table, rounded so that they add up to 1.75 m; missing heights
(ankle, eyes) and foot length from Drillis and Contini's fractions of the stature in Winter, "Biomechanics and Motor
Control of Human Movement", figure 4.1. Ranges: rounded from Boone and Azen, J. Bone Joint Surg. 61-A, 1979, and the
American Academy of Orthopaedic Surgeons' handbook (1965); the spine's 9 angles share the total range.

Zero pose: upright, feet under the hips, arms hanging, palms facing the thighs. Rest pose: a relaxed stance with
slightly bent knees and elbows, feet flat on y = 0. Ranges of left and right are mirror images, see
`poise.models.figure`.

Three-angle joints have a singular direction, which is kept outside the range. For hips and spine it is an abduction of
90 degrees. The arm can reach that, so its joint is yawed by 35 degrees: the singular directions are then
back-and-outward and across the chest, at the end of the range.

Stiffness is zero in the limbs, higher in neck, shoulder girdle and back, highest in the root: a reach uses the arm
first, then the back, and moves the whole body last.
"""

import math

import numpy as np
from numpy.typing import NDArray

from poise.model import Model, ModelBuilder
from poise.models.figure import Angles, FigurePart, Landmark, add_figure
from poise.names import swap_side

MASS = 75.0  # [kg]

# lengths [m]
SHANK, THIGH, ANKLE_HEIGHT = 0.430, 0.418, 0.075
UPPER_ARM, FOREARM, HAND = 0.285, 0.265, 0.187
HEEL, BALL, TOES = -0.060, 0.128, 0.072  # from the ankle back, from the ankle forward, from the ball forward
HIP = (0.088, -0.060, 0.010)  # left hip in the pelvis
SHOULDER_YAW = 35.0  # [degrees]

ROOT_STIFFNESS = 50.0


def _weigh(percent: float) -> float:
    return MASS * percent / 100.0


# fmt: off
TRUNK = (
    FigurePart("spine_1", "pelvis", (0.0, 0.060, -0.030), "XZY", ((-15, 30), (-15, 15), (-8, 8)),
         _weigh(8.165), (0.0, 0.085, 0.035), stiffness=20.0),
    FigurePart("spine_2", "spine_1", (0.0, 0.130, 0.005), "XZY", ((-12, 28), (-15, 15), (-15, 15)),
         _weigh(8.165), (0.0, 0.065, 0.030), stiffness=20.0),
    FigurePart("chest", "spine_2", (0.0, 0.130, -0.020), "XZY", ((-10, 20), (-12, 12), (-20, 20)),
         _weigh(15.96), (0.0, 0.080, 0.040), stiffness=20.0),
    FigurePart("neck", "chest", (0.0, 0.200, 0.000), "XZ", ((-35, 35), (-25, 25)), stiffness=3.0),
    FigurePart("head", "neck", (0.0, 0.100, 0.020), "YXZ", ((-75, 75), (-30, 25), (-15, 15)),
         _weigh(6.94), (0.0, 0.030, 0.015), stiffness=1.0),
)

ARM = (
    FigurePart("clavicle_l", "chest", (0.022, 0.130, 0.060), "YZ", ((-25, 20), (-8, 35)), stiffness=5.0),
    FigurePart("shoulder_l", "clavicle_l", (0.163, 0.005, -0.055), "XZY", ((-170, 50), (-50, 65), (-85, 70)),
         _weigh(2.71), (0.0, -0.5772 * UPPER_ARM, 0.0), yaw=SHOULDER_YAW),
    FigurePart("elbow_l", "shoulder_l", (0.0, -UPPER_ARM, 0.0), "X", ((-145, 0),), yaw=-SHOULDER_YAW),
    FigurePart("forearm_l", "elbow_l", (0.0, -FOREARM / 2, 0.0), "Y", ((-80, 80),),
         _weigh(1.62), (0.0, (0.5 - 0.4574) * FOREARM, 0.0)),
    FigurePart("wrist_l", "forearm_l", (0.0, -FOREARM / 2, 0.0), "ZX", ((-75, 70), (-20, 35)),
         _weigh(0.61), (0.0, -0.3624 * HAND, 0.0)),
)

LEG = (
    FigurePart("hip_l", "pelvis", HIP, "XZY", ((-120, 20), (-25, 45), (-40, 45)),
         _weigh(14.16), (0.0, -0.4095 * THIGH, 0.0)),
    FigurePart("knee_l", "hip_l", (0.0, -THIGH, 0.0), "X", ((0, 145),),
         _weigh(4.33), (0.0, -0.4395 * SHANK, 0.0)),
    FigurePart("ankle_l", "knee_l", (0.0, -SHANK, 0.0), "XZ", ((-25, 50), (-30, 20)),
         _weigh(1.37), (0.0, -0.045, HEEL + 0.4415 * (BALL + TOES - HEEL))),
    FigurePart("ball_l", "ankle_l", (0.0, -ANKLE_HEIGHT, BALL), "X", ((-60, 30),)),
)

MARKS = (
    Landmark("head_top", "head", (0.0, 0.150, 0.0)),
    Landmark("eyes", "head", (0.0, 0.040, 0.090)),
    Landmark("hand_l", "wrist_l", (0.0, -0.090, 0.0)),
    Landmark("fingertip_l", "hand_l", (0.0, 0.090 - HAND, 0.0)),
    Landmark("thumb_l", "wrist_l", (0.0, -0.095, 0.060)),
    Landmark("heel_l", "ankle_l", (0.0, -ANKLE_HEIGHT, HEEL)),
    Landmark("foot_l", "ankle_l", (0.0, -ANKLE_HEIGHT, 0.050)),
    Landmark("toe_l", "ball_l", (0.0, 0.0, TOES)),
)
# fmt: on

# rest angles [degrees]; the ankle is computed from hip and knee
HIP_REST, KNEE_REST = (-3.0, 3.0, 8.0), 11.0
STANCE: dict[str, Angles] = {
    "shoulder_l": (-7.0, 10.0, -30.0),
    "elbow_l": (-20.0,),
    "forearm_l": (-15.0,),
    "hip_l": HIP_REST,
    "knee_l": (KNEE_REST,),
}


def humanoid() -> Model:
    """Build the free joint ``pelvis``, 23 joints of 1 to 3 angles, and frames with ``_l`` and ``_r``; 52 DOF.

    Frames for goals: ``hand_l`` (palm), ``fingertip_l``, ``head`` and ``eyes`` (both look along their z), ``foot_l``,
    ``heel_l``, ``toe_l`` (on the sole), ``chest``, ``pelvis``.
    """
    hanging = _build_standing(0.0)
    return _build_standing(-float(hanging.fk(hanging.rest, "foot_l")[1, 3]))


def _build_standing(height: float) -> Model:
    """Build the figure with its pelvis at the given height [m]."""
    builder = ModelBuilder(name="humanoid")
    builder.source = "de Leva, J. Biomechanics 29(9), 1996; Boone and Azen, J. Bone Joint Surg. 61-A, 1979"
    builder.up = "y"
    builder.notes.append("y is up; it faces +z, its left side is at +x")
    builder.add_joint(
        "pelvis",
        None,
        "free",
        rest=(0.0, height, 0.0, 1.0, 0.0, 0.0, 0.0),
        mass=_weigh(11.17),
        center=(0.0, -0.003, 0.010),
        stiffness=ROOT_STIFFNESS,
    )
    stance = STANCE | {"ankle_l": _level_ankle(HIP_REST, KNEE_REST)}
    add_figure(builder, TRUNK + ARM + LEG, MARKS, stance)
    for name in ("pelvis", *(row.name for row in TRUNK + ARM + LEG + MARKS)):
        for role in sorted({name, swap_side(name)}):
            builder.add_role(role, role)
    return builder.build()


def _level_ankle(hip: Angles, knee: float) -> Angles:
    """Return ankle angles (X, Z) [degrees] that make the sole level below an upright pelvis.

    The sole is level if the world's up, seen from the shank, is the foot's y axis: ``Rx(a) Rz(b) y = u``, with
    ``u = (Rx(h0) Rz(h1) Ry(h2) Rx(knee))^T y``.
    """
    turns = zip("XZYX", (*hip, knee), strict=True)
    up = np.array([0.0, 1.0, 0.0])
    for axis, degrees in turns:
        up = _turn(axis, degrees).T @ up
    return math.degrees(math.atan2(up[2], up[1])), -math.degrees(math.asin(up[0]))


def _turn(axis: str, degrees: float) -> NDArray[np.float64]:
    """Return the rotation about one axis as a 3x3 matrix."""
    i = "XYZ".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    turn = np.eye(3)
    turn[[j, k], [j, k]] = math.cos(math.radians(degrees))
    turn[k, j] = math.sin(math.radians(degrees))
    turn[j, k] = -turn[k, j]
    return turn
