"""MJCF: kinematics, names of geoms, inertias and drives are MuJoCo's."""

import contextlib
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import GEOM, agrees, load, mujoco, qpos_of, worst, write
from poise.errors import FormatWarning, NameNotFound

pytestmark = pytest.mark.slow


END = GEOM + "</body>"


KINEMATICS = {
    "hinge": '<body name="a" pos="1 2 3" quat="1 2 3 4"><joint axis="1 1 0"/><site name="s" pos="1 0 0"/>' + END,
    "slide": '<body name="a" pos="1 2 3"><joint type="slide" axis="1 2 3" range="-1 2"/>' + END,
    "ball": '<body name="a" pos="1 2 3"><joint type="ball" pos="0.1 0.2 0.3"/>' + END,
    "free": '<body name="a" pos="1 2 3" euler="10 20 30"><freejoint/><body name="b" pos="1 0 0"><joint/>' + END + END,
    "anchors": '<body name="a"><joint pos="1 2 3" axis="0 1 0"/>'
    '<body name="b" pos="1 1 1"><joint pos="0 0 -1"/>' + END + END,
    "several joints": '<body name="a" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/>'
    '<joint name="y" axis="0 1 0" pos="0.5 0 0"/><joint name="z" axis="0.6 0 0.8"/>'
    '<joint name="w" type="ball" pos="0 0 0.25"/>' + END,
    "refs": '<body name="a"><joint ref="30" pos="1 0 0"/>'
    '<body name="b" pos="1 0 0"><joint type="slide" axis="1 1 0" ref="0.25"/>' + END + END,
    "names shared": '<body name="a"><joint name="a" pos="1 0 0"/><body name="b"><joint name="b"/>' + END + END,
    "no names": '<body pos="1 0 0"><joint/><site/>'
    '<body pos="0 1 0"><joint/><joint axis="1 0 0"/><site name="end"/>' + END + END,
    "orientations": '<body name="a" euler="10 20 30"/><body name="b" axisangle="1 1 0 45"/>'
    '<body name="c" xyaxes="1 1 0 0 1 1"/><body name="d" zaxis="1 2 3"/><site name="s" zaxis="0 1 1"/>',
    "frames": '<frame pos="1 2 3" euler="0 90 0"><frame quat="1 1 0 0">'
    '<body name="a" pos="1 0 0"><joint/>' + END + "</frame></frame>",
    "replicas": '<replicate count="3" offset="0.5 0 0" euler="0 0 30">'
    '<body name="a"><joint name="j"/>' + END + "</replicate>",
    "mocap": '<body name="m" mocap="true" pos="1 2 3" quat="1 1 0 0"/>',
    "nearly an axis": '<body name="a"><joint axis="1.3e-8 0 -1"/><body name="b" pos="5 5 5"/>' + END,
    "two trees": '<body name="a" pos="1 0 0"><joint/>' + END + '<body name="b"><freejoint/>' + END,
    "on the world": '<site name="w" pos="0 0 2"/><body name="a"/>',
}


@pytest.mark.parametrize("worldbody", KINEMATICS.values(), ids=KINEMATICS.keys())
@pytest.mark.parametrize("compiler", ["", '<compiler angle="radian" eulerseq="zyx"/>', '<compiler eulerseq="XZY"/>'])
def test_kinematics_are_mujocos(tmp_path: Path, worldbody: str, compiler: str) -> None:
    agrees(write(tmp_path, f"<mujoco>{compiler}<worldbody>{worldbody}</worldbody></mujoco>"))


def random_body(rng: np.random.Generator, depth: int, count: list[int]) -> str:
    """A body with up to three joints (a ball only as the last), a site and children."""

    def vector() -> str:
        return " ".join(f"{x:.6g}" for x in rng.normal(size=3))

    count[0] += 1
    name = f"b{count[0]}"
    kinds = [*rng.choice(["hinge", "slide"], rng.integers(0, 3)), *rng.choice(["ball", "hinge"], rng.integers(0, 2))]
    joints = "".join(
        f'<joint name="{name}_{k}" type="{kind}" axis="{vector()}" pos="{vector()}"'
        + ("/>" if kind == "ball" else f' ref="{rng.normal():.6g}"/>')
        for k, kind in enumerate(kinds)
    )
    if depth == 0 and rng.random() < 0.3:
        joints = "<freejoint/>"
    children = "".join(random_body(rng, depth + 1, count) for _ in range(rng.integers(0, 3) if depth < 4 else 0))
    site = f'<site name="s_{name}" pos="{vector()}" euler="{vector()}"/>'
    return f'<body name="{name}" pos="{vector()}" axisangle="{vector()} 0.7">{joints}{GEOM}{site}{children}</body>'


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_agree(tmp_path: Path, seed: int) -> None:
    rng, count = np.random.default_rng(seed), [0]
    bodies = "".join(random_body(rng, 0, count) for _ in range(2))
    text = f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'
    assert len(agrees(write(tmp_path, text), seed).frames) > 2 * count[0]


def test_what_mujoco_ships() -> None:
    paths = [path for path in Path(mujoco.__file__).parent.rglob("*.xml") if b"<mujoco" in path.read_bytes()[:3000]]
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # one has no bodies
            model = poise.load(path)
        m = mujoco.MjModel.from_xml_path(str(path))
        assert worst(model, m, model.rest) < 1e-10
        assert model.mass == pytest.approx(m.body_mass.sum())


def test_deep_chains(tmp_path: Path) -> None:
    chain = f'<body pos="0 0 0.1"><joint/>{GEOM}' * 400 + "</body>" * 400
    assert agrees(write(tmp_path, f"<mujoco><worldbody>{chain}</worldbody></mujoco>")).nq == 400


LEG = (
    '<body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-90 90"/>{}'
    '<geom name="foot" type="sphere" size="0.02" pos="0 0.1 -0.5" euler="90 0 0"/>{}</body>'
)


def test_a_geom_has_a_name_and_no_row(tmp_path: Path) -> None:
    model = load(tmp_path, LEG.format(GEOM, ""))
    plain = load(tmp_path, LEG.format(GEOM, "").replace('name="foot"', ""))
    assert model.frames == plain.frames == ("world", "leg")
    assert model.length == plain.length
    q = np.array([[0.3], [0.5]])
    assert model.fk(q).shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(model.fk(q), plain.fk(q))
    m = mujoco.MjModel.from_xml_path(
        str(write(tmp_path, f"<mujoco><worldbody>{LEG.format(GEOM, '')}</worldbody></mujoco>"))
    )
    data = mujoco.MjData(m)
    data.qpos[:] = q[0]
    mujoco.mj_kinematics(m, data)
    T = model.fk(q[0], "foot")
    np.testing.assert_allclose(T[:3, 3], data.geom("foot").xpos, atol=1e-12)
    np.testing.assert_allclose(T[:3, :3].ravel(), data.geom("foot").xmat, atol=1e-12)
    assert poise.solve(model, poise.goals.Reach("foot", T[:3, 3])).reached
    assert model.frame("foot").parent == "leg"


def test_geoms_come_after_bodies_sites_joints_and_roles(tmp_path: Path) -> None:
    named = "".join(f'<geom name="{name}" size="0.1" pos="0 0 9"/>' for name in ("leg", "tip", "hip", "head"))
    model = load(tmp_path, LEG.format(GEOM, f'<site name="tip" pos="0 0 -1"/>{named}'))
    assert [model.frame(name).name for name in ("leg", "tip", "hip")] == ["leg", "tip", "leg"]
    with pytest.raises(NameNotFound, match="head"):
        model.frame("head")
    taken = model.with_roles({"foot": "tip"})
    assert taken.frame("foot").name == "tip"
    np.testing.assert_array_equal(taken.fk(taken.rest, "foot"), taken.fk(taken.rest, "tip"))


def test_geoms_stay_with_the_body(tmp_path: Path) -> None:
    model = load(tmp_path, LEG.format(GEOM, ""))
    place = model.fk(model.rest, "foot")[:3, 3]
    poise.save(model, tmp_path / "leg.json")
    for other in (pickle.loads(pickle.dumps(model)), poise.load(tmp_path / "leg.json"), model.locked({"hip": 0.0})):
        assert other.frames == model.frames
        np.testing.assert_allclose(other.fk(other.rest, "foot")[:3, 3], place, atol=1e-12)
    larger = load(tmp_path, LEG.format(GEOM, ""), scale=2.0)
    np.testing.assert_allclose(larger.fk(larger.rest, "foot")[:3, 3], 2.0 * place, atol=1e-12)
    tool = model.with_frame("sole", "foot", (0.0, 0.0, 0.02))
    assert tool.frame("sole").parent == "leg"
    np.testing.assert_allclose(tool.fk(tool.rest, "sole"), model.fk(model.rest, "foot") @ tool_offset(), atol=1e-12)
    own = model.with_frame("foot", "leg", (0.0, 0.0, -0.6))
    assert own.frames[-1] == "foot"
    np.testing.assert_allclose(own.fk(own.rest, "foot")[:3, 3], (0.0, 0.0, 0.4), atol=1e-12)


def tool_offset() -> np.ndarray:
    offset = np.eye(4)
    offset[2, 3] = 0.02
    return offset


BONES = '<geom type="box" size="0.1 0.1 0.4" group="5" contype="0" conaffinity="0"/>'


SKIN = '<deformable><skin name="fur" file="fur.skn"/></deformable>'


@pytest.mark.parametrize(
    ("skin", "bones", "uses"),
    [
        ("", BONES, ["collision", "collision"]),
        (SKIN, BONES, ["visual", "collision"]),
        (SKIN, "", ["both"]),
    ],
)
def test_bones_are_drawn_in_place_of_a_skin(skin: str, bones: str, uses: list[str], tmp_path: Path) -> None:
    body = f'<body name="leg"><joint axis="0 1 0"/>{bones}<geom type="capsule" size="0.1 0.4" group="3"/></body>'
    path = write(tmp_path, f"<mujoco>{skin}<worldbody>{body}</worldbody></mujoco>")
    with pytest.warns(UserWarning, match="skin") if skin else contextlib.nullcontext():
        model = poise.load(path)
    assert [shape.use for shape in model.shapes] == uses


SOLID = '<inertial pos="{0} 0.1 -0.2" mass="{1}" fullinertia="0.9 0.8 0.7 {2} -0.1 0.2"/>'


BODIES = "".join(
    f'<body name="b{i}" pos="0.3 0.1 {i}" euler="{10 * i} 20 5"><joint name="j{i}" type="{kind}" axis="1 {i} 2" '
    f'damping="{0.1 * i}" frictionloss="{0.2 * i}" armature="{0.05 * i}"/>{SOLID.format(0.1 * i, 1 + i, 0.1 * i)}'
    for i, kind in enumerate(("hinge", "slide", "hinge", "hinge"))
)


ARM = BODIES + "</body>" * 4


def find_mass_matrix(path: str, q: np.ndarray) -> np.ndarray:
    """Return MuJoCo's mass matrix of a file at qpos = q."""
    m = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    columns = []
    for unit in np.eye(m.nv):
        column = np.zeros(m.nv)
        mujoco.mj_mulM(m, data, column, unit)
        columns.append(column)
    return np.array(columns)


def test_the_mass_matrix_is_the_one_of_the_saved_urdf(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
    from pinocchio_urdf import q_there

    model = load(tmp_path, ARM)
    with pytest.warns(FormatWarning, match="no armature"):
        path = poise.save(model, tmp_path / "arm.urdf")
    theirs = pin.buildModelFromUrdf(str(path))
    order = [theirs.joints[theirs.getJointId(joint.name)].idx_v for joint in model.joints]
    for q in model.random(np.random.default_rng(0), 5):
        M = pin.crba(theirs, theirs.createData(), q_there(theirs, model, q))
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)] + np.diag([joint.armature for joint in model.joints])
        assert np.allclose(M, find_mass_matrix(model.source, qpos_of(model, q)), atol=1e-9)


def test_gravity_is_mujoco_s_bias(tmp_path: Path) -> None:
    model = load(tmp_path, ARM, '<option gravity="1 -2 -9"/>')
    m = mujoco.MjModel.from_xml_path(model.source)
    data = mujoco.MjData(m)
    for q in model.random(np.random.default_rng(0), 5):
        data.qpos[:] = qpos_of(model, q)
        mujoco.mj_forward(m, data)
        assert np.allclose(model.gravity(q, (1, -2, -9)), data.qfrc_bias, atol=1e-9)


def test_losses_are_mujoco_s(tmp_path: Path) -> None:
    model = load(tmp_path, ARM)
    m = mujoco.MjModel.from_xml_path(model.source)
    assert [joint.damping for joint in model.joints] == m.dof_damping.tolist()
    assert [joint.friction for joint in model.joints] == m.dof_frictionloss.tolist()
    assert [joint.armature for joint in model.joints] == m.dof_armature.tolist()


@pytest.mark.parametrize(
    ("actuators", "effort"),
    [
        ("", np.inf),
        ('<motor joint="j0"/>', np.inf),
        ('<motor joint="j0" ctrlrange="-2 3" gear="5"/>', 15.0),
        ('<motor joint="j0" ctrlrange="-2 3" gear="-5" forcerange="-1 2"/>', 10.0),
        ('<position joint="j0" kp="20" ctrlrange="-1 1"/>', np.inf),
        ('<position joint="j0" kp="20" forcerange="-7 6"/>', 7.0),
        ('<motor joint="j0" ctrlrange="-1 1"/><position joint="j0" forcerange="-2 2"/>', 3.0),
        ('<motor joint="j0" ctrlrange="-1 1"/><motor joint="j0"/>', np.inf),
        ('<motor joint="j1" ctrlrange="-1 1"/>', np.inf),
    ],
)
def test_effort_is_the_largest_force_of_the_actuators(actuators: str, effort: float, tmp_path: Path) -> None:
    model = load(tmp_path, ARM, f"<actuator>{actuators}</actuator>")
    assert model.joint("j0").effort == effort
    body = ARM.replace('name="j0"', 'name="j0" actuatorfrcrange="-4 5"')
    assert load(tmp_path, body, f"<actuator>{actuators}</actuator>").joint("j0").effort == min(effort, 5.0)
