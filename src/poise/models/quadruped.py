"""A dog of shepherd size: 0.6 m at the withers, 30 kg, 41 DOF, floating base; y up, facing +z.

Sources. Ranges of shoulder, elbow, carpus, hip, stifle and hock in flexion: Jaegger, Marcellin-Little and
Levine, "Reliability of goniometry in Labrador Retrievers", Am. J. Vet. Res. 63(7), 2002. Proportions:
near-equal scapula, upper arm and forearm, near-equal thigh and shank, the scapula moving as the fore leg's first
segment, after Fischer and Lilje, "Dogs in Motion", 2011. The lengths are rounded for such a dog, the masses and the
ranges of back, neck and tail are reasonable choices; neither is measured.

Zero pose: every leg a straight vertical line, back, neck and tail straight along z. It is only a reference for angles:
the ranges of the leg joints exclude zero. Rest pose: standing square, paws flat on y = 0. Ranges of left and right are
mirror images, see `poise.models.figure`.
"""

import math
from collections.abc import Iterable

from poise.model import Model, ModelBuilder
from poise.models.figure import Angles, FigurePart, Landmark, add_figure

# segment lengths [m] and rest angles [degrees], from the top; the angles of a leg add up to zero for level paws
SCAPULA, UPPER_ARM, FOREARM, FORE_PAW = 0.160, 0.175, 0.195, 0.105
THIGH, SHANK, HIND_PAW = 0.200, 0.205, 0.150
FORE = ((SCAPULA, -30.0), (UPPER_ARM, 70.0), (FOREARM, -40.0), (FORE_PAW, 0.0))
HIND = ((THIGH, -25.0), (SHANK, 60.0), (HIND_PAW, -35.0))
HIP_DROP, SPINE_RISE, PAW = 0.050, 0.030, 0.050


def _drop(leg: Iterable[tuple[float, float]]) -> float:
    """Return the height of a standing leg's first joint above the ground [m]: ``sum_k l_k cos(a_1 + ... + a_k)``."""
    height, angle = 0.0, 0.0
    for length, turn in leg:
        angle += turn
        height += length * math.cos(math.radians(angle))
    return height


# the height of the fore legs puts both pairs on the same ground
PELVIS_HEIGHT = _drop(HIND) + HIP_DROP
SCAPULA_RISE = _drop(FORE) - PELVIS_HEIGHT - SPINE_RISE

# fmt: off
PARTS = (
    FigurePart("spine_1", "pelvis", (0.0, SPINE_RISE, 0.06), "XYZ", ((-20, 30), (-25, 25), (-10, 10)),
         5.5, (0.0, -0.06, 0.11), stiffness=2.0),
    FigurePart("chest", "spine_1", (0.0, 0.0, 0.22), "XYZ", ((-15, 20), (-20, 20), (-10, 10)),
         7.0, (0.0, -0.09, 0.07), stiffness=2.0),
    FigurePart("neck", "chest", (0.0, -0.01, 0.24), "XY", ((-80, 40), (-50, 50)), 1.8, (0.0, 0.0, 0.09)),
    FigurePart("head", "neck", (0.0, 0.0, 0.19), "XYZ", ((-20, 80), (-45, 45), (-30, 30)), 2.2, (0.0, 0.01, 0.07)),
    FigurePart("tail_1", "pelvis", (0.0, 0.02, -0.13), "XY", ((-75, 60), (-60, 60)), 0.2, (0.0, 0.0, -0.08)),
    FigurePart("tail_2", "tail_1", (0.0, 0.0, -0.16), "XY", ((-60, 60), (-60, 60)), 0.1, (0.0, 0.0, -0.08)),

    FigurePart("scapula_fl", "chest", (0.065, SCAPULA_RISE, 0.17), "X", ((-50, -10),), 0.8, (0.0, -SCAPULA / 2, 0.0)),
    FigurePart("shoulder_fl", "scapula_fl", (0.0, -SCAPULA, 0.0), "XZ", ((15, 123), (-15, 30)),
         0.7, (0.0, -UPPER_ARM / 2, 0.0)),
    FigurePart("elbow_fl", "shoulder_fl", (0.0, -UPPER_ARM, 0.0), "X", ((-144, -15),), 0.35, (0.0, -FOREARM / 2, 0.0)),
    FigurePart("carpus_fl", "elbow_fl", (0.0, -FOREARM, 0.0), "X", ((-16, 148),), 0.15, (0.0, -FORE_PAW / 2, 0.01)),

    FigurePart("hip_hl", "pelvis", (0.055, -HIP_DROP, -0.03), "XZY", ((-80, 32), (-15, 45), (-25, 25)),
         0.95, (0.0, -THIGH / 2, 0.0)),
    FigurePart("stifle_hl", "hip_hl", (0.0, -THIGH, 0.0), "X", ((18, 138),), 0.3, (0.0, -SHANK / 2, 0.0)),
    FigurePart("hock_hl", "stifle_hl", (0.0, -SHANK, 0.0), "X", ((-141, -16),), 0.1, (0.0, -HIND_PAW / 2, 0.01)),
)

MARKS = (
    Landmark("head_top", "head", (0.0, 0.06, 0.04)),
    Landmark("nose", "head", (0.0, -0.02, 0.20)),
    Landmark("tail_tip", "tail_2", (0.0, 0.0, -0.16)),
    Landmark("foot_fl", "carpus_fl", (0.0, -FORE_PAW, 0.0)),
    Landmark("toe_fl", "foot_fl", (0.0, 0.0, PAW)),
    Landmark("foot_hl", "hock_hl", (0.0, -HIND_PAW, 0.0)),
    Landmark("toe_hl", "foot_hl", (0.0, 0.0, PAW)),
)
# fmt: on

# roles of the frames on any four-legged body; some frames have the name of their role
ROLES = {name: name for name in ("pelvis", "spine_1", "chest", "neck", "head", "head_top", "foot_fl", "foot_hl")} | {
    "hip_fl": "shoulder_fl",
    "knee_fl": "elbow_fl",
    "ankle_fl": "carpus_fl",
    "toe_fl": "toe_fl",
    "hip_hl": "hip_hl",
    "knee_hl": "stifle_hl",
    "ankle_hl": "hock_hl",
    "toe_hl": "toe_hl",
}

STANCE: dict[str, Angles] = {
    "neck": (-50.0, 0.0),
    "head": (58.0, 0.0, 0.0),
    "tail_1": (-50.0, 0.0),
    "tail_2": (15.0, 0.0),
    "scapula_fl": (FORE[0][1],),
    "shoulder_fl": (FORE[1][1], 0.0),
    "elbow_fl": (FORE[2][1],),
    "carpus_fl": (FORE[3][1],),
    "hip_hl": (HIND[0][1], 0.0, 0.0),
    "stifle_hl": (HIND[1][1],),
    "hock_hl": (HIND[2][1],),
}


def quadruped() -> Model:
    """Build the free joint ``pelvis`` and feet ``foot_fl foot_fr foot_hl foot_hr`` (fore, hind, left, right); 41 DOF.

    A leg: ``scapula_fl shoulder_fl elbow_fl carpus_fl`` in front, ``hip_hl stifle_hl hock_hl`` behind.
    ``head`` looks along its z.
    """
    builder = ModelBuilder(name="quadruped")
    builder.source = "Jaegger et al., Am. J. Vet. Res. 63(7), 2002; Fischer and Lilje, Dogs in Motion, 2011"
    builder.up = "y"
    builder.notes.append("y is up; it faces +z, its left side is at +x; lengths and masses are rounded, not measured")
    builder.add_joint(
        "pelvis",
        None,
        "free",
        rest=(0.0, PELVIS_HEIGHT, 0.0, 1.0, 0.0, 0.0, 0.0),
        mass=6.5,
        center=(0.0, -0.03, -0.02),
        stiffness=10.0,
    )
    add_figure(builder, PARTS, MARKS, STANCE)
    for role, name in ROLES.items():
        for side in "lr" if name[-2:] in ("fl", "hl") else ("",):
            builder.add_role(role[:-1] + side if side else role, name[:-1] + side if side else name)
    return builder.build()
