"""Uniform scale joints: similarities between frames, and rigid frames.

`test_kinematics_laws.py` has the laws that they share with all other joints, such as those of derivatives.
"""

import pickle

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND, GROWING_KINDS, random_model
from poise.errors import FormatError, InvalidValue
from poise.goals import Align, Balance, CenterOfMass, Distance, LookAt, OnPlane, Reach, Relative, Rest
from poise.limits import Clearance
from poise.textbook import AffineJoint, affine_jacobian, affine_point

KINDS = (*EVERY_KIND, *GROWING_KINDS, *GROWING_KINDS)
H = 1e-6
SEEDS = range(12)


def draw(seed: int) -> tuple[poise.Model, np.ndarray, np.random.Generator]:
    """A body with several scales among joints of every kind, and a pose within its ranges."""
    model, rng = random_model(seed, 24, KINDS), np.random.default_rng(seed)
    return model, model.random(rng), rng


def difference(model: poise.Model, q: np.ndarray, f) -> np.ndarray:
    """The derivative of f(q) along every velocity, last axis, by central differences."""
    steps = H * np.eye(model.nv)
    return np.stack([(f(model.integrate(q, s)) - f(model.integrate(q, -s))) / (2 * H) for s in steps], axis=-1)


def find_sizes(model: poise.Model, q: np.ndarray) -> dict[str, float]:
    """The product of the scales above every frame and at it."""
    leader = {joint.name: joint for joint in model.joints}

    def read(joint: poise.Joint) -> float:
        if joint.mimic is None:
            return float(q[joint.q][0])
        return joint.mimic.ratio * read(leader[joint.mimic.joint]) + joint.mimic.offset

    out = {}
    for name in model.frames:
        above = [joint for joint in model.joints_above(name) if joint.kind == "uniform_scale"]
        out[name] = float(np.prod([read(joint) for joint in above]))
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_offsets_are_multiplied_and_frames_stay_rigid(seed) -> None:
    model, q, _ = draw(seed)
    T, sizes = model.fk(q), find_sizes(model, q)
    assert any(abs(size - 1) > 0.05 for size in sizes.values())
    for i, name in enumerate(model.frames):
        assert np.allclose(T[i, :3, :3] @ T[i, :3, :3].T, np.eye(3), atol=1e-12)
        assert np.allclose(T[i], model.fk(q, name), atol=1e-12)
        frame = model.frame(name)
        if frame.parent is None or frame.joint is not None:
            continue
        parent = model.fk(q, frame.parent)
        wanted = parent[:3, 3] + sizes[frame.parent] * parent[:3, :3] @ frame.offset.translation
        assert np.allclose(T[i, :3, 3], wanted, atol=1e-12)


def make_growing_arm() -> poise.Model:
    """An arm on a base that grows as a whole, with a hand that grows once more."""
    b = poise.ModelBuilder("growing")
    b.add_joint("size", None, "uniform_scale", lower=0.5, upper=2.0, offset=(0.1, 0, 0.2))
    b.add_joint("shoulder", "size", "ball", offset=(0, 0, 0.5), mass=2.0, center=(0.1, 0, 0))
    b.add_joint("elbow", "shoulder", "revolute", axis=(0, 1, 0), offset=(0.4, 0, 0), lower=-2.5, upper=2.5, mass=1.0)
    b.add_joint("hand_size", "elbow", "uniform_scale", offset=(0.3, 0, 0), lower=0.8, upper=1.2)
    b.add_joint("wrist", "hand_size", "universal", axis=(0, 0, 1), axis2=(0, 1, 0), mass=0.5)
    b.add_frame("tip", "wrist", (0.1, 0, 0))
    return b.add_frame("thumb", "hand_size", (0.05, 0.05, 0)).build()


def test_the_column_of_a_scale_is_the_arm_over_its_factor() -> None:
    model = make_growing_arm()
    q = model.random(np.random.default_rng(0))
    column = model.jacobian(q, "tip")[:, model.joint("size").v][:, 0]
    assert np.allclose(column[:3], (model.fk(q, "tip") - model.fk(q, "size"))[:3, 3] / q[0])
    assert not column[3:].any()


def test_it_is_the_uniform_scale_of_the_textbook() -> None:
    b = poise.ModelBuilder()
    b.add_joint("a", None, "revolute", offset=(0, 0, 0.2))
    b.add_joint("s", "a", "uniform_scale", offset=(0.3, 0, 0))
    b.add_joint("b", "s", "revolute", offset=(0.4, 0.1, 0))
    model = b.add_frame("tip", "b", (0.5, 0, 0.1)).build()
    joints = [
        AffineJoint("turn", offset=(0, 0, 0.2)),
        AffineJoint("uniform_scale", offset=(0.3, 0, 0)),
        AffineJoint("turn", offset=(0.4, 0.1, 0)),
    ]
    q, point = (0.3, 1.7, -0.8), (0.5, 0, 0.1)
    assert np.allclose(model.fk(q, "tip")[:3, 3], affine_point(joints, q, point))
    assert np.allclose(model.jacobian(q, "tip")[:3], affine_jacobian(joints, q, point))


@pytest.mark.parametrize("method", ["lm", "transpose", "gradient", "pseudoinverse", "svd", "qr", "dls", "sdls"])
def test_a_body_grows_to_reach(method) -> None:
    model = make_growing_arm()
    far = (1.3, 0.2, 0.9)
    small = model.locked({"size": 1.0, "hand_size": 1.0})
    assert not poise.solve(small, Reach("tip", far), method=method, max_steps=300).reached
    grown = poise.solve(model, Reach("tip", far), method=method, max_steps=3000)
    assert grown.reached
    assert np.all(grown.q >= model.clamp(grown.q) - 1e-15)
    assert grown.q[0] > 1.2


def list_goals(model: poise.Model, q: np.ndarray) -> list[list[poise.goals.Goal]]:
    """Lists of goals that the pose q reaches."""
    tip, thumb, elbow = (model.fk(q, name) for name in ("tip", "thumb", "elbow"))
    point = np.array([0.05, 0.02, 0.1])
    return [
        [Reach("tip", (tip @ np.append(point, 1))[:3], point=point)],
        [Reach("tip", tip, weight=(1, 1, 1, 0.3, 0.3, 0.3))],
        [Relative("tip", "thumb", np.linalg.inv(thumb) @ tip)],
        [Reach("tip", (np.linalg.inv(thumb) @ tip @ np.append(point, 1))[:3], point=point, relative_to="thumb")],
        [Distance("elbow", "tip", float(np.linalg.norm(elbow[:3, 3] - tip[:3, 3])))],
        [LookAt("tip", tip[:3, 3] + 0.6 * tip[:3, 2]), OnPlane("elbow", elbow[:3, 3], (0, 0, 1))],
        [CenterOfMass(model.center_of_mass(q))],
        [Reach("thumb", thumb[:3, 3]), Align("tip", "x", tip[:3, 0])],
        [Reach("tip", tip[:3, 3]), Reach("elbow", elbow[:3, 3], priority=1)],
    ]


@pytest.mark.parametrize("index", range(9))
def test_the_rows_of_goals_have_the_right_derivative(index) -> None:
    model = make_growing_arm()
    q = model.random(np.random.default_rng(index))
    solver = poise.Solver(model, list_goals(model, q)[index])
    J, r = solver.linearise(q)[:2]
    assert np.abs(r).max() < 1e-6
    assert np.abs(J + difference(model, q, lambda x: solver.linearise(x)[1])).max() < 1e-6 * (1 + np.abs(J).max())


@pytest.mark.parametrize("index", range(9))
def test_goals_of_every_kind_are_reached(index) -> None:
    model = make_growing_arm()
    q = model.random(np.random.default_rng(10 + index))
    goals = list_goals(model, q)[index]
    near = model.clamp(model.integrate(q, np.random.default_rng(0).normal(scale=0.05, size=model.nv)))
    solution = poise.solve(model, [*goals, Rest()], near)
    assert solution.reached
    if index == 0:
        place = (model.fk(solution.q, "tip") @ np.append(goals[0].point, 1.0))[:3]
        assert np.abs(place - goals[0].target).max() < 1.1e-4


def test_no_proof_where_lengths_may_grow() -> None:
    model = make_growing_arm()
    far = poise.solve(model, Reach("tip", (9, 0, 0)))
    assert not far.reached
    assert far.proof is None
    assert far.status is not poise.Status.UNREACHABLE
    assert far.q[0] == 2.0


def test_balance_and_clearance_know_the_growing_body() -> None:
    b = poise.ModelBuilder("toy")
    b.add_joint("size", None, "uniform_scale")
    for side, y in (("l", 0.1), ("r", -0.1)):
        b.add_frame(f"foot_{side}", "size", (0.1, y, 0))
    b.add_joint("hip", "size", "universal", offset=(0, 0, 0.5), mass=5.0, center=(0, 0, 0.3))
    model = b.add_frame("head", "hip", (0, 0, 0.6)).build()
    goals = [Reach("head", (0.1, 0.05, 1.6)), Balance(["foot_l", "foot_r"], priority=1)]
    solution = poise.solve(model, goals, limits=[Clearance()])
    assert np.isclose(model.fk(solution.q, "head")[2, 3], 1.6, atol=1e-3)


def test_a_solver_and_a_batch_agree() -> None:
    model, rng = make_growing_arm(), np.random.default_rng(2)
    targets = model.fk(model.random(rng, 30), "tip")[:, :3, 3]
    batch = poise.solve_batch(model, Reach("tip", targets[0]), targets)
    assert batch.reached.all()
    found = model.fk(batch.q, "tip")[:, :3, 3]
    assert np.abs(found - targets).max() < 1.1e-4
    assert poise.solve_batch(model, Reach("tip", targets[0]), targets, dtype="float32").reached.all()
    follow = poise.Solver(model, Reach("tip", targets[0]), mode="continuous")
    q = np.array(model.rest)
    for _ in range(60):
        q = follow.solve(q).q
    assert follow.solve(q).reached


def test_it_is_kept_by_pickles_and_json_and_rejected_elsewhere(tmp_path) -> None:
    model = make_growing_arm()
    q = model.random(np.random.default_rng(1))
    poise.save(model, tmp_path / "arm.json")
    for copy in (pickle.loads(pickle.dumps(model)), poise.load(tmp_path / "arm.json")):
        assert np.array_equal(copy.fk(q), model.fk(q))
        assert copy.joint("size").kind == "uniform_scale"
    for suffix in ("urdf", "bvh", "gltf"):
        with pytest.raises(FormatError, match="'size'"):
            poise.save(model, tmp_path / f"arm.{suffix}")
    motion = poise.Motion(model, np.stack([model.rest, q]))
    with pytest.raises(FormatError, match=r"'size'.*glTF"):
        poise.save(motion, tmp_path / "arm.bvh")
    poise.save(motion, tmp_path / "arm.npz")
    assert np.array_equal(poise.load_motion(tmp_path / "arm.npz").q, motion.q)
    poise.save(motion, tmp_path / "arm.glb")
    again = poise.load_motion(tmp_path / "arm.glb")
    assert np.allclose(again.model.fk(again.q[-1], "tip")[:3, 3], model.fk(q, "tip")[:3, 3], atol=1e-5)


@pytest.mark.parametrize("method", ["ccd", "fabrik", "two_bone", "halley"])
@pytest.mark.parametrize("joints", [None, ["shoulder", "elbow"]])
def test_methods_for_rigid_bodies_say_so(method, joints) -> None:
    with pytest.raises(InvalidValue, match=r"size.*uniform_scale|needs a limb"):
        poise.solve(make_growing_arm(), Reach("tip", (0.5, 0, 0.5)), method=method, joints=joints)


def test_a_mimic_scale_grows_two_limbs_alike() -> None:
    b = poise.ModelBuilder()
    b.add_joint("left", None, "uniform_scale", offset=(0, 1, 0))
    b.add_joint("right", None, "uniform_scale", offset=(0, -1, 0), mimic=("left", 1.0, 0.0))
    b.add_frame("l", "left", (1, 0, 0))
    model = b.add_frame("r", "right", (1, 0, 0)).build()
    solution = poise.solve(model, Reach("l", (1.5, 1, 0)))
    assert solution.reached
    assert np.allclose(model.fk(solution.q, "r")[:3, 3], (1.5, -1, 0), atol=1e-4)


@pytest.mark.parametrize("size", [0.5, 1.7])
def test_a_locked_scale_keeps_its_size(size) -> None:
    model = make_growing_arm()
    still = model.locked({"size": size})
    assert still.nv == model.nv - 1
    q = model.random(np.random.default_rng(4))
    q[0] = size
    for frame in model.frames:
        assert np.allclose(still.fk(q[1:], frame), model.fk(q, frame), atol=1e-12)
    assert np.allclose(still.center_of_mass(q[1:]), model.center_of_mass(q))
    b = poise.ModelBuilder()
    b.add_joint("s", None, "uniform_scale")
    b.add_joint("slide", "s", "prismatic")
    with pytest.raises(InvalidValue, match=r"'s' cannot be locked.*'slide'"):
        b.build().locked({"s": 2.0})


def test_limbs_that_grow_are_mirrored() -> None:
    b = poise.ModelBuilder()
    for side, y in (("l", 1.0), ("r", -1.0)):
        b.add_joint(f"size_{side}", None, "uniform_scale", offset=(0, y, 0))
        b.add_joint(f"arm_{side}", f"size_{side}", "revolute", axis=(0, 0, 1), offset=(0, 0.3 * y, 0))
        b.add_frame(f"hand_{side}", f"arm_{side}", (0.5, 0.1 * y, 0))
    model = b.build()
    q = np.array([1.5, 0.3, 0.7, -0.2])
    mirrored = poise.Motion(model, q[None]).mirrored().q[0]
    flip = np.array([1, -1, 1])
    for one, other in (("l", "r"), ("r", "l")):
        place = model.fk(mirrored, f"hand_{one}")[:3, 3]
        assert np.allclose(place, flip * model.fk(q, f"hand_{other}")[:3, 3])


def test_a_closed_form_is_not_claimed() -> None:
    b = poise.ModelBuilder()
    b.add_joint("s", None, "uniform_scale")
    arm = poise.load("ur5e")
    parent = "s"
    for joint in arm.joints:
        if joint.kind == "revolute":
            frame = arm.frame(joint.frame)
            b.add_joint(joint.name, parent, "revolute", axis=joint.axis, offset=frame.offset)
            parent = joint.name
    model = b.build()
    assert "scales the lengths" in str(model.family(parent))
