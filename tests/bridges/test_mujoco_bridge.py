"""The bridge to MuJoCo: numbers, frames, velocities, servos and closures are MuJoCo's own."""

import pickle

import numpy as np
import pytest

import poise
from mjcf_files import mujoco, write
from poise.bridges.mujoco import Bridge
from poise.errors import FormatWarning, InvalidValue, MissingExtra, ModelMismatch, ShapeMismatch
from poise.goals import Orient, Reach

SOLID = '<geom size=".05" mass="1" contype="0"/>'
SCENE = f"""<mujoco model="scene"><worldbody>
<body name="arm" pos="0 0 .5"><joint name="turn" axis="0 0 1" range="-170 170"/>{SOLID}
  <body pos=".3 0 0"><joint name="bend" axis="0 1 0" ref="20" pos="0 0 .05" range="-150 150"/>{SOLID}
    <body name="hand" pos=".3 0 0"><joint name="wrist" type="ball"/>{SOLID}<site name="hand" pos=".1 0 0"/>
      <body name="f1" pos=".1 .05 0"><joint name="finger" type="slide" range="0 .05"/>{SOLID}</body>
      <body name="f2" pos=".1 -.05 0"><joint name="other" type="slide" axis="0 0 -1"/>{SOLID}</body>
</body></body></body>
<body name="box" pos="1 0 0"><freejoint/>{SOLID}<site pos=".1 .2 .3" euler="10 20 30"/></body>
</worldbody>
<equality><joint joint1="other" joint2="finger" polycoef=".01 2 0 0 0"/></equality>
<tendon><fixed name="both"><joint joint="turn" coef="1"/><joint joint="bend" coef="-.5"/></fixed></tendon>
<actuator>
  <position name="grip" joint="finger" kp="50"/><motor name="push" joint="turn"/>
  <general joint="turn" gear="3" gainprm="7" biasprm=".2 -5 -1" biastype="affine"/>
  <position tendon="both" kp="20" timeconst=".1"/><velocity joint="bend" kv="1"/>
  <position joint="bend" kp="3" ctrlrange="-.1 .1"/>
</actuator>
<keyframe><key name="home" qpos=".1 .2 1 0 0 0 .02 .05 1 2 3 0 1 0 0"/>
  <key qpos="0 0 0 1 0 0 0 .01 0 0 0 1 0 0 0"/></keyframe>
</mujoco>"""
BAR = '<joint name="{0}" axis="0 1 0"/><geom size=".02" mass="1" contype="0"/>'
LOOP = f"""<mujoco><worldbody>
<body name="a">{BAR.format("a")}
  <body name="b" pos="0 0 .3">{BAR.format("b")}<site name="top" pos=".25 0 .1"/></body></body>
<body name="c" pos=".5 0 0">{BAR.format("c")}</body>
</worldbody><equality><connect name="close" body1="b" body2="c" anchor=".5 0 0"/></equality></mujoco>"""


@pytest.fixture(scope="module")
def bridge():
    return Bridge(mujoco.MjModel.from_xml_string(SCENE))


def draw(bridge, size=None, seed=0):
    return bridge.model.random(np.random.default_rng(seed), size)


def test_bodies_and_sites_are_where_mujoco_has_them(bridge):
    data = mujoco.MjData(bridge.mjmodel)
    assert bridge.bodies == ("world", "arm", "body_2", "hand", "f1", "f2", "box")
    assert bridge.sites == ("hand_site", "site_1")
    for q in draw(bridge, 5):
        bridge.write(data, q)
        for names, places, turns in (
            (bridge.bodies, data.xpos, data.xmat),
            (bridge.sites, data.site_xpos, data.site_xmat),
        ):
            T = bridge.model.fk(q, list(names))
            np.testing.assert_allclose(T[:, :3, 3], places, atol=1e-12)
            np.testing.assert_allclose(T[:, :3, :3].reshape(-1, 9), turns, atol=1e-12)


def test_velocities_are_mujocos(bridge):
    m, data, rng = bridge.mjmodel, mujoco.MjData(bridge.mjmodel), np.random.default_rng(1)
    for q in draw(bridge, 5):
        v = rng.normal(size=bridge.model.nv)
        data.qvel[:] = bridge.to_qvel(v)
        bridge.write(data, q)
        mujoco.mj_forward(m, data)
        for i, name in enumerate(bridge.bodies):
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(m, data, mujoco.mjtObj.mjOBJ_XBODY, i, twist, 0)
            np.testing.assert_allclose(bridge.model.jacobian(q, name) @ v, [*twist[3:], *twist[:3]], atol=1e-12)
        np.testing.assert_array_equal(bridge.from_qvel(data.qvel), v)


def test_numbers_go_there_and_back_in_batches_of_any_shape(bridge):
    q, m = draw(bridge, (3, 2)), bridge.mjmodel
    qpos = bridge.to_qpos(q)
    assert qpos.shape == (3, 2, m.nq)
    assert m.nq == bridge.model.nq + 1
    np.testing.assert_array_equal(bridge.from_qpos(qpos), q)
    np.testing.assert_allclose(qpos[..., 7], 0.01 + 2.0 * qpos[..., 6], atol=1e-15)  # the finger that follows
    qpos[..., 7] = 0.5
    qpos[..., 2:6] *= 3.0  # MuJoCo's integration lets quaternions grow
    np.testing.assert_allclose(bridge.from_qpos(qpos), q, atol=1e-15)
    qpos[..., 2:6] = 0.0  # as MuJoCo reads it
    assert (bridge.from_qpos(qpos)[..., 2:6] == [1.0, 0.0, 0.0, 0.0]).all()
    assert bridge.to_qvel(np.ones((4, bridge.model.nv))).shape == (4, m.nv)
    assert bridge.to_qvel(np.ones(bridge.model.nv))[m.joint("other").dofadr] == 2.0


def test_keyframes_are_poses(bridge):
    key = bridge.mjmodel.key("home").qpos
    np.testing.assert_array_equal(bridge.from_qpos(key), bridge.model.poses["home"])
    np.testing.assert_array_equal(bridge.to_qpos(bridge.model.poses["home"]), key)
    assert list(bridge.model.poses) == ["home", "key_1"]
    assert any("1 tendons are not part" in note for note in bridge.model.notes)


def test_solve_begins_at_the_data_and_writes_into_them(bridge):
    data = mujoco.MjData(bridge.mjmodel)
    bridge.write(data, bridge.model.poses["home"])
    data.qvel[:] = 0.5
    goal = Reach("hand_site", bridge.model.fk(draw(bridge, seed=4), "hand_site"))
    solution = bridge.solve(data, goal, seed=1)
    assert solution.reached
    np.testing.assert_allclose(data.site("hand").xpos, goal.target.translation, atol=1e-4)
    np.testing.assert_array_equal(bridge.from_qpos(data.qpos), solution.q)
    assert (data.qvel == 0.5).all()
    box = bridge.model.joint("box_joint")
    np.testing.assert_array_equal(solution.q[box.q], bridge.model.poses["home"][box.q])  # props stay
    missed = bridge.solve(data, Reach("hand", (9.0, 9.0, 9.0)))
    assert not missed.reached
    np.testing.assert_array_equal(bridge.from_qpos(data.qpos), missed.q)


def test_servos_are_without_force_at_the_configuration(bridge):
    data, q = mujoco.MjData(bridge.mjmodel), bridge.model.poses["home"]
    assert bridge.actuators == ("grip", "push", "", "", "", "")
    assert bridge.servos.tolist() == [True, False, True, True, False, True]
    data.ctrl[:] = bridge.to_ctrl(q, np.full(6, 0.7))
    assert data.ctrl[[1, 4]].tolist() == [0.7, 0.7]
    assert data.ctrl[5] == 0.1  # its range
    assert bridge.to_ctrl(q)[1] == 0.0
    data.act[:] = data.ctrl[3]  # that of the filtered servo in the end
    bridge.write(data, q)
    mujoco.mj_forward(bridge.mjmodel, data)
    np.testing.assert_allclose(data.actuator_force[[0, 2, 3]], 0.0, atol=1e-12)
    assert data.actuator_force[1] == 0.7


def test_servos_of_joints_that_the_model_lacks_keep_their_controls(bridge):
    arm = Bridge(bridge.mjmodel, bridge.model.locked({"finger": 0.02, "turn": 0.1}))
    assert arm.servos.tolist() == [False, False, False, True, False, True]
    q, qpos = arm.model.random(np.random.default_rng(0)), np.array(bridge.mjmodel.qpos0)
    ctrl = arm.to_ctrl(q, np.full(6, 0.7))
    assert ctrl[:3].tolist() == [0.7, 0.7, 0.7]
    qpos[0] = 1.0
    tendon = arm.to_ctrl(q, qpos=qpos)[3]  # of both joints, the sum of turn and of half of bend
    assert tendon - ctrl[3] == pytest.approx(1.0)


def test_a_bridge_is_pickled(bridge):
    copy, q = pickle.loads(pickle.dumps(bridge)), draw(bridge)
    np.testing.assert_array_equal(copy.to_ctrl(q), bridge.to_ctrl(q))
    np.testing.assert_array_equal(copy.to_qpos(q), bridge.to_qpos(q))


def test_closed_loops_stay_closed():
    m = mujoco.MjModel.from_xml_string(LOOP)
    bridge, data = Bridge(m), mujoco.MjData(m)
    solution = bridge.solve(data, Reach("top", (0.4, 0.0, 0.3)))
    assert len(bridge.model.closures) == 1
    assert abs(solution.q).max() > 0.1
    mujoco.mj_forward(m, data)
    assert data.nefc >= 3
    assert np.abs(data.efc_pos[:3]).max() < 1e-6
    free = bridge.to_qpos(solution.q + np.array([0.1, 0.0, 0.0]))
    data.qpos[:] = free
    mujoco.mj_forward(m, data)
    assert np.abs(data.efc_pos[:3]).max() > 1e-3


def test_a_model_of_ones_own_is_matched_by_the_names_of_joints(bridge, tmp_path):
    m, loaded = bridge.mjmodel, poise.load(write(tmp_path, SCENE))
    own = loaded.locked({"finger": 0.02}).with_frame("tool", "hand", (0.0, 0.0, 0.1))
    held, data = Bridge(m, own), mujoco.MjData(m)
    assert held.model is own
    data.qpos[:] = bridge.to_qpos(draw(bridge))
    before = data.qpos.copy()
    assert held.solve(data, Orient("tool", np.eye(3))).reached
    assert data.qpos[m.joint("finger").qposadr] == before[6]
    np.testing.assert_allclose(data.body("hand").xmat.reshape(3, 3), np.eye(3), atol=2e-3)
    q = own.random(np.random.default_rng(0))
    assert held.to_qpos(q)[6] == m.qpos0[6]
    arm = loaded.subtree("body_2")
    assert Bridge(m, arm).from_qpos(before).tolist() == bridge.from_qpos(before)[2:7].tolist()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda _: Bridge("scene.xml"), InvalidValue, r"mjmodel is a str; type Bridge\(mujoco.MjModel.from_xml_path"),
        (lambda b: Bridge(b.model), InvalidValue, r"mjmodel is a Model.*Bridge\(mjmodel, model\)"),
        (lambda b: Bridge(b.mjmodel, poise.load("panda")), ModelMismatch, "'panda_joint1'.* are not in the MjModel"),
        (lambda b: Bridge(b.mjmodel, "panda"), InvalidValue, r"model is a str; it must be a poise.Model"),
        (
            lambda b: b.to_qpos(draw(b, 3), b.to_qpos(draw(b, 2))),
            ShapeMismatch,
            r"q and qpos have shapes \(3, 14\) and",
        ),
        (lambda b: b.to_qvel(np.ones((3, b.model.nv)), np.ones((2, 13))), ShapeMismatch, "v and qvel have shapes"),
        (lambda b: b.to_qpos(np.zeros(3)), ShapeMismatch, r"q has shape \(3,\)"),
        (lambda b: b.from_qpos(np.full(b.mjmodel.nq, np.nan)), InvalidValue, "qpos"),
        (lambda b: b.to_ctrl(draw(b, 2)), ShapeMismatch, r"q has shape \(2, 14\); it must be one row, \(14,\)"),
        (lambda b: b.to_ctrl(draw(b), np.zeros(2)), ShapeMismatch, "ctrl"),
        (lambda b: b.write(b.mjmodel, draw(b)), InvalidValue, "data is a MjModel; it must be mujoco.MjData"),
        (lambda b: b.solve(other_data(), Reach("hand", (0, 0, 0))), ModelMismatch, "data has 3 numbers in qpos"),
    ],
)
def test_misuse_is_explained(bridge, call, error, words):
    with pytest.raises(error, match=words):
        call(bridge)


def other_data():
    return mujoco.MjData(mujoco.MjModel.from_xml_string(LOOP))


def test_a_joint_of_another_kind_is_named(bridge):
    builder = poise.ModelBuilder("mine")
    builder.add_joint("turn", None, "ball")
    with pytest.raises(ModelMismatch, match="joint 'turn' is ball in 'mine' and revolute in the MjModel"):
        Bridge(bridge.mjmodel, builder.build())


def test_what_the_body_cannot_have_is_warned_of():
    text = SCENE.replace('polycoef=".01 2 0 0 0"', 'polycoef="0 1 1 0 0"')
    with pytest.warns(FormatWarning, match="the coupling of joint 'other' is left out: it is not linear"):
        bridge = Bridge(mujoco.MjModel.from_xml_string(text))
    assert bridge.model.nq == bridge.mjmodel.nq


def test_without_mujoco_the_error_has_the_install_command(bridge, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r'pip install "poise-ik\[formats\]"'):
        Bridge(bridge.mjmodel)
