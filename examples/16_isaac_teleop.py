"""Isaac Teleop: a retargeter that moves an arm by a controller while it is squeezed (`pip install isaacteleop`)."""

import numpy as np

import poise

try:
    from isaacteleop.retargeting_engine.interface import BaseRetargeter, OptionalType, TensorGroup, TensorGroupType
    from isaacteleop.retargeting_engine.tensor_types import ControllerInput, FloatType
except ImportError:
    raise SystemExit(print("This example needs isaacteleop. Type: pip install isaacteleop")) from None
POSITION, SEEN, SQUEEZE, DT = 0, 2, 12, 1.0 / 90.0  # of the controller; s
AXES = poise.Rotation.from_matrix([[0, 0, -1], [-1, 0, 0], [0, 1, 0]])  # OpenXR has x to the right, y up, z back
model, controller = poise.load("ur5e"), TensorGroup(ControllerInput())
follower, engaged = poise.motion.Follower(model, poise.goals.Reach("tool0"), poise.limits.Speed(1.0)), set()


class ArmRetargeter(BaseRetargeter):
    def input_spec(self):
        return {"hand": OptionalType(ControllerInput())}

    def output_spec(self):
        return {"joints": TensorGroupType("joints", [FloatType(joint.name) for joint in model.joints if joint.nq])}

    def _compute_fn(self, inputs, outputs, context):
        place = np.array(inputs["hand"][POSITION]) if inputs["hand"][SEEN] else None  # None is bridged
        if place is not None and (inputs["hand"][SQUEEZE] > 0.5) != bool(engaged):  # the clutch
            follower.release("tool0") if engaged else follower.engage("tool0", place, axes=AXES)
            engaged.symmetric_difference_update({"tool0"})
        for k, angle in enumerate(follower.step({"tool0": place} if engaged else {}, DT).q):
            outputs["joints"][k] = float(angle)


arm, before = ArmRetargeter("arm"), model.fk(follower.q, "tool0")[:3, 3]
for k in range(200):  # it moves 0.1 m ahead, and is lost for some frames
    controller[POSITION], controller[SQUEEZE] = np.array([0.2, 1.0, -0.0005 * k], np.float32), float(k > 0)
    controller[SEEN] = not 50 < k < 60
    joints = list(arm({"hand": controller})["joints"])
assert np.allclose(model.fk(joints, "tool0")[:3, 3] - before, (0.0995, 0.0, 0.0), atol=1e-3), joints
