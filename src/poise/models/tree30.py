"""The abstract tree of the Jacobian recipes: floating root, 8 ball joints, 6 end sites, 30 DOF.

Source: Rabbani, "A recipe to cook Jacobian", Ubisoft La Forge, 2017, section 2.1, which gives the counts (root, joints,
end sites, 8 * 3 + 6 = 30) but no dimensions: a tree that does not resemble a human skeleton, for generality. The
lengths here are our own; two ends share one joint, so that an end is not the same as a last joint.
"""

from poise.model import Model, ModelBuilder

# joint, parent, offset [m]; y is up
JOINTS = (
    ("joint_1", "root", (0.00, 0.40, 0.00)),
    ("joint_2", "joint_1", (-0.25, 0.30, 0.05)),
    ("joint_3", "joint_1", (0.25, 0.35, -0.05)),
    ("joint_4", "root", (0.35, 0.10, 0.10)),
    ("joint_5", "joint_2", (-0.30, 0.15, 0.10)),
    ("joint_6", "joint_2", (0.00, 0.35, -0.10)),
    ("joint_7", "joint_4", (0.30, 0.20, 0.00)),
    ("joint_8", "joint_4", (0.25, -0.20, 0.15)),
)

ENDS = (
    ("end_1", "joint_5", (-0.30, 0.05, 0.00)),
    ("end_2", "joint_6", (-0.10, 0.30, 0.05)),
    ("end_3", "joint_3", (0.05, 0.35, 0.10)),
    ("end_4", "joint_3", (0.30, 0.15, -0.10)),
    ("end_5", "joint_7", (0.25, 0.20, 0.05)),
    ("end_6", "joint_8", (0.30, -0.15, 0.00)),
)


def tree30() -> Model:
    """Build the free joint ``root``, balls ``joint_1 ... joint_8``, ends ``end_1 ... end_6``; 30 DOF, no limits."""
    builder = ModelBuilder(name="tree30")
    builder.source = "Rabbani, A recipe to cook Jacobian, 2017, section 2.1"
    builder.notes.append("lengths and masses are ours: the source gives the counts alone")
    builder.add_joint("root", None, "free", mass=1.0)
    for name, parent, offset in JOINTS:
        builder.add_joint(name, parent, "ball", offset=offset, mass=1.0)
    for name, parent, offset in ENDS:
        builder.add_frame(name, parent, offset)
    return builder.build()
