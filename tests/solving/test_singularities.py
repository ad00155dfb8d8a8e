"""All singular poses of an arm, and the freedoms and demands of a problem."""

from functools import cache

import numpy as np
import pytest

import poise
from poise import find_singularities
from poise.diagnosis import count_freedoms
from poise.goals import Custom, Distance, LookAt, OnPlane, Orient, Reach, Rest
from poise.textbook import generic_jacobian


def measure_least(model, frame, q, rank=6):
    """The singular value that vanishes in a singular pose, by the textbook's Jacobian."""
    return np.linalg.svd(generic_jacobian(model, q, frame), compute_uv=False)[rank - 1]


@cache
def find_families(name, frame):
    """Return the singular families of a built-in arm; several tests look at the same ones."""
    return find_singularities(poise.load(name), frame)


def list_fixed(found):
    """The conditions of the families with values alone, as sets of joints and rounded values."""
    return {tuple((name, round(value, 2) + 0.0) for name, value in f.fixed.items()) for f in found if not f.related}


def make_scara() -> poise.Model:
    builder = poise.ModelBuilder("scara")
    builder.up = "z"
    builder.add_joint("j1", None, "revolute", axis=(0, 0, 1), lower=-2.6, upper=2.6)
    builder.add_joint("j2", "j1", "revolute", axis=(0, 0, 1), offset=(0.4, 0, 0), lower=-2.7, upper=3.3)
    builder.add_joint("j3", "j2", "prismatic", axis=(0, 0, 1), offset=(0.3, 0, 0), lower=-0.2, upper=0.1)
    builder.add_joint("j4", "j3", "revolute", axis=(0, 0, 1), lower=-3.0, upper=3.0)
    builder.add_frame("tool", "j4", (0, 0, -0.1))
    return builder.build()


def test_ur_has_elbow_wrist_and_shoulder_families():
    model = poise.load("ur5e")
    found = find_families("ur5e", "tool0")
    assert list_fixed(found) == {((name, v),) for name in ("elbow_joint", "wrist_2_joint") for v in (0.0, 3.14)}
    (shoulder,) = [family for family in found if family.related]
    assert shoulder.related == ("shoulder_lift_joint", "elbow_joint", "wrist_1_joint")
    _, q2, q3, q4, _, _ = shoulder.samples.T  # the wrist centre is on the axis of the first joint
    closed = 0.425 * np.cos(q2) + 0.3922 * np.cos(q2 + q3) - 0.0997 * np.sin(q2 + q3 + q4)
    assert np.abs(closed).max() < 1e-9
    assert {(family.rank, family.dimension) for family in found} == {(5, 5)}
    for family in found:
        assert max(measure_least(model, "tool0", q) for q in family.samples[:10]) < 1e-7


def test_scara_is_singular_where_its_arm_is_straight_or_folded():
    found = find_singularities(make_scara(), "tool")
    assert list_fixed(found) == {(("j2", 0.0),), (("j2", 3.14),)}
    assert found.rank == 4
    assert all(family.rank == 3 and family.dimension == 3 and not family.related for family in found)
    inner = np.linalg.norm(found[0].lost[:, :2], axis=1)
    assert inner == pytest.approx(1.0)  # along the arm, in the plane


def test_iiwa_has_the_families_of_every_arm_with_spherical_shoulder_and_wrist():
    found = find_singularities(poise.load("iiwa14"), "iiwa_link_ee")
    a, b = 1.57, -1.57
    j = "iiwa_joint_{}".format
    pairs = {((j(2), 0.0), (j(3), v)) for v in (a, b)} | {((j(5), v), (j(6), 0.0)) for v in (a, b)}
    assert list_fixed(found) == {((j(4), 0.0),), *pairs, ((j(2), 0.0), (j(6), 0.0))}
    assert [family.dimension for family in found] == [6, 5, 5, 5, 5, 5]


def measure_moments(q):
    """The moments of the Panda's axes 4 to 7 about its shoulder, (3, 4), from its published DH table."""
    rows = ((0.0, 0.0, 0.316), (0.0825, np.pi / 2, 0.0), (-0.0825, -np.pi / 2, 0.384), (0.0, np.pi / 2, 0.0))
    T, out = np.eye(4), []
    for (a, alpha, d), angle in zip((*rows, (0.088, np.pi / 2, 0.0)), (0.0, *q[3:]), strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        T = T @ np.array([[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]])
        out.append(np.cross(T[:3, 2], -T[:3, 3]))
    return np.array(out[1:]).T


def is_panda_singular(q):
    """The closed condition: its shoulder is straight, or the other axes cannot move the shoulder in three directions.

    A straight shoulder alone is one condition of two; the second follows from the rank of the whole.
    """
    return abs(np.sin(q[1])) < 1e-6 or np.linalg.svd(measure_moments(q), compute_uv=False)[2] < 1e-6


def test_panda_matches_its_closed_conditions():
    model = poise.load("panda")
    found = find_families("panda", "panda_link8")
    stretched = -(np.arctan(0.0825 / 0.316) + np.arctan(0.0825 / 0.384))  # shoulder, elbow axis and wrist in line
    assert list_fixed(found) == {(("panda_joint4", round(stretched, 2)), ("panda_joint5", 0.0))}
    assert sorted((f.fixed.keys() - {""}).pop() for f in found if f.related) == [
        "panda_joint2",
        "panda_joint5",
        "panda_joint5",
    ]
    for family in found:
        assert family.dimension == 5
        for q in family.samples[:10]:
            assert measure_least(model, "panda_link8", q) < 1e-7
            assert is_panda_singular(q)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_another_search_finds_no_other_singular_poses(name):
    optimize = pytest.importorskip("scipy.optimize")
    model = poise.load(name)
    frame = {"panda": "panda_link8", "ur5e": "tool0"}[name]
    found, hits = find_families(name, frame), 0

    def measure_fast(q):
        return np.linalg.svd(model.jacobian(q, frame), compute_uv=False)[5]

    for start in model.random(np.random.default_rng(3), size=16):
        made = optimize.minimize(measure_fast, start, method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-11})
        if made.fun < 1e-7 and (made.x > model.lower).all() and (made.x < model.upper).all():
            hits += 1
            fixed = any(
                all(abs(np.sin(made.x[model.joint(n).q] - v)) < 1e-3 for n, v in f.fixed.items()) for f in found
            )
            assert fixed, made.x
    assert hits > 3


def test_positions_alone_and_planar_arms():
    found = find_singularities(poise.load("planar2"), "tip", rows="linear")
    assert list_fixed(found) == {(("joint_2", 0.0),), (("joint_2", 3.14),)}
    assert len(find_singularities(poise.load("planar2"), "tip")) == 0  # it always has two of its three directions
    text = str(found)
    assert text.splitlines()[0] == "2 singular families of 'tip' on 'planar2'; rank 2 elsewhere"
    assert "rank 1, dimension 1: joint_2 = 0.000" in text


def test_families_repeat_and_keep_the_ranges():
    model = poise.load("panda")
    one, other = (find_singularities(model, "panda_link8", starts=300, samples=5) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.samples, b.samples)
        assert len(a.samples) <= 5
        assert (a.samples >= model.lower - 1e-9).all()
        assert (a.samples <= model.upper + 1e-9).all()


@pytest.mark.slow
def test_a_picture_has_a_panel_for_each_family():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'poise-ik[studio]'")
    found = find_singularities(make_scara(), "tool", starts=200)
    assert [axes.get_title() for axes in poise.plot(found).figure.axes] == ["j2 = 0.000", "j2 = 3.142"]


# ---------------------------------------------------------------------- Freedoms and demands, counted and said in words


CASES = [
    ("planar2", Reach("tip", (1.0, 1.0, 0.0)), (2, 2, 2), "well-determined"),
    ("planar3", Reach("tip", (1.0, 1.0, 0.0)), (3, 2, 2), "under-determined"),
    ("planar2", Reach("tip", poise.Transform()), (2, 3, 2), "over-determined"),
    ("panda", Reach("panda_hand_tcp", poise.Transform()), (7, 6, 6), "under-determined"),
    ("panda", Reach("panda_link8", (0.4, 0.0, 0.4)), (6, 3, 3), "under-determined"),
    ("ur5e", Reach("tool0", poise.Transform()), (6, 6, 6), "well-determined"),
    ("ur5e", Orient("tool0", poise.Rotation((1, 0, 0, 0))), (6, 3, 3), "under-determined"),
    ("panda", OnPlane("panda_hand_tcp", (0, 0, 0.4), (0, 0, 1)), (5, 1, 1), "under-determined"),
    ("panda", LookAt("panda_hand_tcp", (1.0, 1.0, 1.0)), (6, 2, 2), "under-determined"),
    ("panda", Distance("panda_link0", "panda_hand_tcp", 0.5), (5, 1, 1), "under-determined"),
    ("panda", Custom(lambda q: q[:2], size=2), (2, 2, 2), "well-determined"),
    ("humanoid", [Reach("hand_l", (0.4, 1.2, 0.3)), Rest()], None, "under-determined"),
]


@pytest.mark.parametrize(("name", "goals", "counts", "kind"), CASES, ids=lambda value: str(value)[:24])
def test_counts(name, goals, counts, kind):
    model = poise.load(name)
    found = count_freedoms(model, goals)
    if counts is not None:
        assert (found.freedoms, found.demands, found.served) == counts
    assert found.kind == kind
    assert found.left_over == found.freedoms - found.served


def test_it_is_described_in_words():
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", model.fk(model.rest, "panda_hand_tcp"))
    solution = poise.solve(model, goal)
    assert str(count_freedoms(model, goal)) == "7 degrees of freedom for 6 equations: 1 left over (under-determined)"
    assert str(solution.redundancy) in str(solution)
    assert str(solution.redundancy) in solution._repr_html_()


def test_only_the_joints_that_may_move_count():
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", model.fk(model.rest, "panda_hand_tcp"))
    few = poise.solve(model, goal, joints=["panda_joint1", "panda_joint2", "panda_joint4"])
    assert (few.redundancy.freedoms, few.redundancy.too_many) == (3, 3)


def test_a_planar_arm_is_not_called_singular():
    model = poise.load("planar3")
    bent = poise.solve(model, Reach("tip", (1.0, 1.0, 0.0)))
    assert len(bent.conditioning.singular_values) == 2
    assert not bent.conditioning.singular
    above = poise.solve(model, Reach("tip", (1.0, 1.0, 1.0)))
    assert not above.conditioning.singular
    assert above.conditioning.never
    assert "singular" not in above.why()
    assert "in any pose" in above.why()


def test_a_stretched_planar_arm_is_singular():
    model = poise.load("planar2")
    straight = poise.solve(model, Reach("tip", (2.0, 0.0, 0.0)), start=np.zeros(2))
    assert straight.conditioning.singular
    assert not straight.conditioning.never
