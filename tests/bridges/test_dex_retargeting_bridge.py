"""The bridge to dex-retargeting: its costs, written here again with NumPy, and minima that SciPy does not improve."""

import builtins

import numpy as np
import pytest
from scipy.optimize import minimize

import poise
from poise.bridges.dex_retargeting import DUMMIES, LPFilter, RetargetingConfig
from poise.errors import InvalidValue, MissingExtra, NameNotFound, ShapeMismatch
from poise.model import ModelBuilder

DIGITS = ("thumb", "index", "ring")
TIPS = [f"{name}_tip" for name in DIGITS]
VECTORS = {
    "type": "vector",
    "target_origin_link_names": ["base"] * 3,
    "target_task_link_names": TIPS,
    "target_link_human_indices": [[0, 0, 0], [4, 8, 12]],
    "scaling_factor": 1.2,
    "low_pass_alpha": 2.0,
}
PILOT = {"type": "DexPilot", "wrist_link_name": "base", "finger_tip_link_names": TIPS, "low_pass_alpha": 2.0}
PLACES = {"type": "position", "target_link_names": TIPS, "target_link_human_indices": [4, 8, 12], "low_pass_alpha": 2.0}


def make_robot():
    """Three digits of three joints; the last joint of each follows the second."""
    builder = ModelBuilder("hand").add_frame("base", None, (0.0, 0.0, 0.0))
    for k, name in enumerate(DIGITS):
        thumb = name == "thumb"
        at, above = ((0.02, 0.03, 0.02) if thumb else (0.0, 0.05 - 0.03 * k, 0.08)), "base"
        way = np.array((0.0, 0.8, 0.6) if thumb else (0.0, 0.0, 1.0))
        for bone, share in enumerate((0.04, 0.03, 0.02)):
            axis = (0.0, 0.0, -1.0) if thumb else (1.0, 0.0, 0.0)
            bend = (1.0, 0.0, 0.0) if thumb else (0.0, 1.0, 0.0)
            mimic = (f"{name}_1", 0.7, 0.05) if bone == 2 else None
            lower, upper = ((-0.4, 0.5), (-0.1, 1.6), (-0.2, 1.5))[bone]
            builder.add_joint(
                f"{name}_{bone}", above, "revolute", offset=at, axis=bend if bone else axis, lower=lower, upper=upper,
                mimic=mimic, frame=f"{name}_link_{bone}",
            )  # fmt: skip
            above, at = f"{name}_link_{bone}", share * way
        builder.add_frame(f"{name}_tip", above, at)
    return builder.build()


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hands")
    poise.save(make_robot(), path / "hand.urdf")
    RetargetingConfig.set_default_urdf_dir(path)
    return path


def build(**settings):
    return RetargetingConfig.from_dict({"urdf_path": "hand.urdf", **settings}).build()


def list_frames(count=40):
    """Points of a person's hand, (count + 2, 21, 3): tips that wander, and that pinch."""
    rng = np.random.default_rng(2)
    points = 0.03 * rng.normal(size=(21, 3))
    points[0] = 0.0
    points[[4, 8, 12]] = (0.05, 0.07, 0.06), (0.03, 0.02, 0.15), (0.03, -0.02, 0.14)
    way = rng.normal(size=(21, 3))
    phase = np.linspace(0.0, np.pi, count)[:, None, None]
    out = points + 0.03 * way * np.sin(2.0 * phase)
    turn = 4.0 * phase[:, 0]
    near = 0.02 * np.hstack([0.0 * turn, np.sin(turn), np.cos(turn)])
    out[:, 8] += np.sin(phase[:, 0]) ** 4 * (out[:, 4] + near - out[:, 8])
    out[:, 12] += np.sin(0.8 * phase[:, 0]) ** 4 * (out[:, 4] + (0.0, 0.02, 0.0) - out[:, 12])
    out[:, 0] = 0.0
    one, both = out[-1].copy(), out[-1].copy()  # fingers meet, one of them at the thumb; two at the thumb do not meet
    one[[8, 12]] = one[4] + [[0.0, 0.028, 0.0], [0.0, 0.036, 0.0]]
    both[[8, 12]] = both[4] + [[0.0, 0.025, 0.0], [0.0, -0.025, 0.0]]
    return np.array([*out, one, both])


def take_refs(retargeting, points):
    indices = np.asarray(retargeting.optimizer.target_link_human_indices)
    if retargeting.optimizer.retargeting_type == "POSITION":
        return points[:, indices]
    return points[:, indices[1]] - points[:, indices[0]]


def huber(s, b):
    return np.where(s < b, 0.5 * s * s / b, s - 0.5 * b)


class Cost:
    """The costs of dex-retargeting for the hand of this file, by its formulas; it keeps which pairs are closed."""

    def __init__(self, retargeting):
        self.model = retargeting.optimizer.model
        self.kind = retargeting.optimizer.retargeting_type
        self.names = list(retargeting.joint_names)
        self.targets = [self.names.index(name) for name in retargeting.optimizer.target_joint_names]
        self.closed = {}

    def places(self, x):
        values = np.zeros(len(self.names))
        values[self.targets] = x
        q = {name: value for name, value in zip(self.names, values, strict=True) if not self.model.joint(name).mimic}
        row = np.zeros(self.model.nq)
        for name, value in q.items():
            row[self.model.joint(name).q] = value
        return np.array([self.model.fk(row, name)[:3, 3] for name in ("base", *TIPS)])

    def begin(self, ref):
        """Fix the vectors, as (origin, end, target, weight), for a frame."""
        rows = []
        if self.kind == "VECTOR":
            rows = [(0, k + 1, 1.2 * ref[k], 1.0) for k in range(3)]
        if self.kind == "DEXPILOT":
            gaps = dict(zip(((2, 1), (3, 1), (3, 2)), ref, strict=False))
            for pair in ((2, 1), (3, 1)):
                gap = np.linalg.norm(gaps[pair])
                self.closed[pair] = gap < 0.03 or (self.closed.get(pair, False) and gap <= 0.05)
            self.closed[3, 2] = all(self.closed[p] for p in ((2, 1), (3, 1))) and np.linalg.norm(gaps[3, 2]) <= 0.03
            for pair, vector in gaps.items():
                length, weight = (0.03, 400.0) if pair == (3, 2) else (1e-4, 200.0)
                target = vector / (np.linalg.norm(vector) + 1e-6) * length if self.closed[pair] else vector
                rows.append((*pair, target, weight if self.closed[pair] else 1.0))
            rows += [(0, k + 1, ref[3 + k], 6.0) for k in range(3)]
        self.rows, self.ref = rows, ref

    def __call__(self, x, last):
        p, kept = self.places(x), 4e-3 * float((x - last) @ (x - last))
        if self.kind == "POSITION":
            return huber(np.abs(p[1:] - self.ref), 0.02).mean() + kept
        b = 0.03 if self.kind == "DEXPILOT" else 0.02
        terms = [w * huber(np.linalg.norm(p[j] - p[i] - t), b) for i, j, t, w in self.rows]
        return float(np.mean(terms)) + kept


@pytest.mark.parametrize("settings", [VECTORS, PILOT, PLACES], ids=["vector", "dexpilot", "position"])
def test_costs_are_theirs_and_scipy_finds_none_lower(settings):
    retargeting, rng = build(**settings), np.random.default_rng(0)
    cost, last = Cost(retargeting), retargeting.last_qpos
    lower, upper = retargeting.joint_limits.T
    for k, ref in enumerate(take_refs(retargeting, list_frames())):
        cost.begin(ref)
        retargeting.retarget(ref)
        x = retargeting.last_qpos
        assert ((lower <= x) & (x <= upper)).all()
        assert retargeting.optimizer.cost == pytest.approx(cost(x, last), rel=1e-9)
        if k % 8 == 4:
            starts = [x, last, *rng.uniform(lower, upper, (3, len(x)))]
            bounds = list(zip(lower, upper, strict=True))
            ends = [minimize(cost, start, (last,), "L-BFGS-B", bounds=bounds) for start in starts]
            assert cost(x, last) <= 1.0002 * min(end.fun for end in ends)
        last = x


def test_dexpilot_closes_pinches():
    points, gaps = list_frames(), []
    for near in (0.03, 0.0):  # with and without
        retargeting, found = build(**PILOT, project_dist=near), []
        for ref in take_refs(retargeting, points):
            retargeting.retarget(ref)
            place = Cost(retargeting).places(retargeting.last_qpos)
            found.append(np.linalg.norm(place[1] - place[2]))
        gaps.append(min(found))
    assert gaps[0] < 0.85 * gaps[1]


def test_followers_and_order_of_joints():
    retargeting = build(**VECTORS)
    assert retargeting.joint_names == [f"{name}_{k}" for name in ("index", "ring", "thumb") for k in range(3)]
    assert retargeting.optimizer.target_joint_names == [n for n in retargeting.joint_names if n[-1] != "2"]
    qpos = retargeting.retarget(take_refs(retargeting, list_frames())[0])
    np.testing.assert_allclose(qpos[2::3], 0.7 * qpos[1::3] + 0.05, atol=1e-12)
    free = build(**VECTORS, ignore_mimic_joint=True)
    assert len(free.optimizer.target_joint_names) == 9


def test_fixed_joints_keep_the_values_of_the_caller():
    names = ["ring_1", "thumb_1", "thumb_0"]
    retargeting = build(**VECTORS, target_joint_names=names)
    assert retargeting.optimizer.fixed_joint_names == ["index_0", "index_1", "ring_0"]
    assert retargeting.optimizer.target_joint_names == names
    np.testing.assert_allclose(retargeting.joint_limits, [(-0.1, 1.6), (-0.1, 1.6), (-0.4, 0.5)])
    ref = take_refs(retargeting, list_frames())[0]
    qpos = dict(zip(retargeting.joint_names, retargeting.retarget(ref, np.array([0.1, 0.2, -0.3])), strict=True))
    assert (qpos["index_0"], qpos["index_1"], qpos["ring_0"]) == (0.1, 0.2, -0.3)
    assert [qpos[name] for name in names] == list(retargeting.last_qpos)
    with pytest.raises(ShapeMismatch, match="fixed_qpos"):
        retargeting.retarget(ref)


def test_a_free_hand_reaches_points_anywhere():
    retargeting = build(**PLACES, add_dummy_free_joint=True)
    assert retargeting.joint_names[:6] == DUMMIES
    turn = poise.spatial.Rotation.from_euler("XYZ", (0.3, -0.4, 0.5))
    place = np.array((0.4, -0.3, 0.2))
    points = place + list_frames(1)[0, [4, 8, 12]] @ turn.matrix.T
    retargeting.warm_start(place, turn.wxyz)
    np.testing.assert_allclose(retargeting.last_qpos[:6], [*place, 0.3, -0.4, 0.5], atol=1e-12)
    for _ in range(60):
        retargeting.retarget(points)
    model, q = retargeting.optimizer.model, np.zeros(retargeting.optimizer.model.nq)
    for name, value in zip(retargeting.optimizer.target_joint_names, retargeting.last_qpos, strict=True):
        q[model.joint(name).q] = value
    found = np.array([model.fk(q, name)[:3, 3] for name in TIPS])
    assert np.abs(found - points).max() < 2e-3


def test_the_filter_and_reset():
    half = build(**{**VECTORS, "low_pass_alpha": 0.5})
    plain = build(**VECTORS)
    refs = take_refs(plain, list_frames())[[0, 20]]
    first, second = (plain.retarget(ref) for ref in refs)
    np.testing.assert_allclose(half.retarget(refs[0]), first, atol=1e-12)
    np.testing.assert_allclose(half.retarget(refs[1]), 0.5 * (first + second), atol=1e-12)
    plain.reset()
    np.testing.assert_allclose(plain.retarget(refs[0]), first, atol=1e-12)
    assert LPFilter(0.0).next(first) is not first


def test_files_and_overrides(folder, monkeypatch, capsys):
    pytest.importorskip("yaml")
    text = "retargeting:\n  type: vector\n  urdf_path: hand.urdf\n  target_joint_names: null\n"
    text += "  target_origin_link_names: [base]\n  target_task_link_names: [index_tip]\n"
    text += "  target_link_human_indices: [[0], [8]]\n  scaling_factor: 1.5\n"
    path = folder / "hand.yml"
    path.write_text(text)
    config = RetargetingConfig.load_from_file(path, {"scaling_factor": 2.0})
    assert (config.scaling_factor, config.low_pass_alpha) == (2.0, 0.1)
    retargeting = config.build()
    retargeting.retarget(np.array([(0.0, 0.0, 0.1)]))
    retargeting.verbose()
    assert capsys.readouterr().out.startswith("1 frames in")
    path.write_text("type: vector")
    with pytest.raises(InvalidValue, match="retargeting:"):
        RetargetingConfig.load_from_file(path)
    real = builtins.__import__

    def block(name, *rest):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", block)
    with pytest.raises(MissingExtra, match="pip install pyyaml"):
        RetargetingConfig.load_from_file(path)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"type": "vektor"}, InvalidValue, "vector, position, dexpilot"),
        ({"scaling": 2.0}, NameNotFound, "scaling_factor"),
        ({"target_task_link_names": None}, InvalidValue, "target_task_link_names"),
        ({"target_link_human_indices": [[0], [4]]}, ShapeMismatch, r"\(2, 3\)"),
        ({"target_joint_names": ["thumb_2"]}, InvalidValue, "thumb_2"),
        ({"target_joint_names": ["thumb_9"]}, NameNotFound, "thumb_9"),
        ({"urdf_path": "lost.urdf"}, InvalidValue, "set_default_urdf_dir"),
        ({"huber_delta": 0.0}, InvalidValue, "huber_delta"),
    ],
)
def test_wrong_settings(change, error, words):
    with pytest.raises(error, match=words):
        build(**{**VECTORS, **change})


def test_wrong_frames():
    retargeting = build(**VECTORS)
    with pytest.raises(ShapeMismatch, match="ref_value"):
        retargeting.retarget(np.zeros((2, 3)))
    with pytest.raises(InvalidValue, match="ref_value"):
        retargeting.retarget(np.full((3, 3), np.nan))
    with pytest.raises(InvalidValue, match="add_dummy_free_joint"):
        retargeting.warm_start(np.zeros(3), (1.0, 0.0, 0.0, 0.0))
