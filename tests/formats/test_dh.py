"""DH tables of both conventions: compared with plain products, as lists and as files; and invalid tables."""

import math
from pathlib import Path

import numpy as np
import pytest

import poise
from file_cases import check_rejected
from poise.arrays import Floats
from poise.errors import FormatWarning, InvalidValue
from poise.formats.dh import from_table

ROWS = [(0.1, 0.3, 0.2, 0.4), (-0.425, -1.2, 0.0, 0.0), (0.0, math.pi / 2, 0.1, -0.7), (0.05, 0.0, -0.3, 1.0)]
KINDS = ("revolute", "prismatic", "revolute", "fixed")

UR5 = """# convention: standard
# name: UR5
joint, a [m], alpha_deg, d_mm, theta, lower, upper
shoulder, 0,        90,  89.159, q1, -2*pi, 2pi
lift,     -0.425,   0,   0,      q2, -pi, pi
elbow,    -0.39225, 0,   0,      q3, -3.14, 3.14
wrist1,   0,        90,  109.15, q4, -pi/2, +pi/2
wrist2,   0,        -90, 94.65,  q5, , 1
wrist3,   0,        0,   82.3,   q6, ,
"""


def step(a: float, alpha: float, d: float, theta: float, convention: str) -> Floats:
    def turn(axis: int, angle: float) -> Floats:
        out = np.eye(4)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        out[i, i] = out[j, j] = math.cos(angle)
        out[j, i] = math.sin(angle)
        out[i, j] = -math.sin(angle)
        return out

    def slide(axis: int, by: float) -> Floats:
        out = np.eye(4)
        out[axis, 3] = by
        return out

    if convention == "standard":
        return turn(2, theta) @ slide(2, d) @ slide(0, a) @ turn(0, alpha)
    return slide(0, a) @ turn(0, alpha) @ slide(2, d) @ turn(2, theta)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_products(convention: str) -> None:
    rows = [
        dict(zip(("a", "alpha", "d", "theta"), row, strict=True), type=k) for row, k in zip(ROWS, KINDS, strict=True)
    ]
    model = from_table(rows, convention=convention)
    q = np.array([0.3, -0.2, 1.1])
    at, used = np.eye(4), 0
    for i, ((a, alpha, d, theta), kind) in enumerate(zip(ROWS, KINDS, strict=True), 1):
        value, used = (0.0, used) if kind == "fixed" else (q[used], used + 1)
        turned, slid = (value, 0.0) if kind == "revolute" else (0.0, value)
        at = at @ step(a, alpha, d + slid, theta + turned, convention)
        np.testing.assert_allclose(model.fk(q, f"link{i}"), at, atol=1e-15)


def test_the_panda_is_a_modified_table() -> None:
    panda = poise.load("panda")
    quarter = math.pi / 2
    rows = [
        *((0, 0, 0.333, 0), (0, -quarter, 0, 0), (0, quarter, 0.316, 0), (0.0825, quarter, 0, 0)),
        *((-0.0825, -quarter, 0.384, 0), (0, quarter, 0, 0), (0.088, quarter, 0, 0)),
    ]
    arm = from_table(rows, convention="modified")
    q = panda.random(np.random.default_rng(1))
    np.testing.assert_allclose(arm.fk(q, "link7"), panda.fk(q, "panda_link7"), atol=1e-14)


def test_degrees_and_plain_rows() -> None:
    arm = from_table([(0.5, 90, 0, 30)], degrees=True)
    np.testing.assert_allclose(arm.fk([0.0], "link1"), step(0.5, math.pi / 2, 0, math.pi / 6, "standard"), atol=1e-15)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "ur5.CSV"
    path.write_text(UR5, encoding="utf-8")
    model = poise.load(path)
    assert model.name == "UR5"
    assert model.joints[0].name == "shoulder"
    assert model.joint("wrist1").upper == math.pi / 2
    assert np.isinf(model.joint("wrist2").lower)
    expected = np.array([-0.81725, -0.19145, -0.005491])  # the maker's UR5 at zero
    np.testing.assert_allclose(model.fk(np.zeros(6), "link6")[:3, 3], expected, atol=1e-12)
    for mark in (";", "\t"):
        path.write_text(UR5.replace(",", mark).replace("\n", "\r\n"), encoding="utf-8-sig")
        assert poise.load(path) == model
    assert poise.load(path, base="free").nv == 12
    assert poise.load(path, scale=2.0).length == pytest.approx(2 * model.length)


def test_a_table_without_a_convention_is_standard_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    path.write_text("a,alpha,d,theta\n1,0,0,q1\n1,0,0,q2\n", encoding="utf-8")
    with pytest.warns(FormatWarning, match="standard"):
        model = poise.load(path)
    assert model.fk([0, 0], "link2")[0, 3] == 2.0


def test_what_moves_may_be_marked(tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    path.write_text("# convention: modified\na,alpha,d,theta\n0,0,0,q1\n0,0,d2,0\n", encoding="utf-8")
    assert [joint.kind for joint in poise.load(path).joints] == ["revolute", "prismatic"]


BAD = {
    "no rows": "# convention: standard\na,alpha,d,theta\n",
    "no header": "1,2,3,4\n1,2,3,4\n",
    "missing column": "a,alpha,theta\n1,2,3\n",
    "column twice": "a,a,alpha,d\n1,2,3,4\n",
    "word": "a,alpha,d,theta\n1,x,3,4\n",
    "nan": "a,alpha,d,theta\n1,nan,3,4\n",
    "underscore": "a,alpha,d,theta\n1_0,0,3,4\n",
    "too few": "a,alpha,d,theta\n1,2\n",
    "too many": "a,alpha,d,theta\n1,2,3,4,5\n",
    "unknown type": "a,alpha,d,theta,type\n1,2,3,4,wobbly\n",
    "bad convention": "# convention: mine\na,alpha,d,theta\n1,2,3,4\n",
    "two conventions": "# convention: standard\n# convention: modified\na,alpha,d,theta\n1,2,3,4\n",
    "inverted": "a,alpha,d,theta,lower,upper\n1,2,3,4,1,-1\n",
    "same name": "joint,a,alpha,d,theta\nj,1,2,3,4\nj,1,2,3,4\n",
    "over zero": "a,alpha,d,theta\n1,pi/0,3,4\n",
    "nul": "a,alpha,d,theta\n1,\0,3,4\n",
    "huge": "a,alpha,d,theta\n1e300,0,3,4\n",
    "empty": "",
    "long blanks": "a,alpha,d,theta\n1,1" + " " * 300_000 + "x,3,4\n",
    "long heading": "a" + " " * 300_000 + "x,alpha,d,theta\n1,1,3,4\n",
    "long digits": "a,alpha,d,theta\n1," + "9" * 300_000 + "x,3,4\n",
}


@pytest.mark.parametrize("name", BAD)
def test_rejected(name: str, tmp_path: Path) -> None:
    check_rejected(tmp_path / "arm.csv", BAD[name])


@pytest.mark.parametrize("rows", [[], [(1, 2, 3)], ["abcd"], [3], [{"b": 1}], [(0, float("nan"), 0, 0)], [{"a": "x"}]])
def test_bad_lists(rows: list[object]) -> None:
    with pytest.raises(InvalidValue):
        from_table(rows)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue):
        from_table([(0, 0, 0, 0)], convention="mine")


@pytest.mark.parametrize("mark", [",", ";", "\t", "   ", " , "])
@pytest.mark.parametrize("name", ["arm.csv", "arm.dh", "arm.txt", "arm"])
def test_any_mark_between_cells(mark: str, name: str, tmp_path: Path) -> None:
    rows = [("a", "alpha", "d", "theta"), ("0.5", "pi/2", "0", "0.1"), ("0.4", "0", "0.2", "0")]
    (tmp_path / name).write_text("# convention: standard\n" + "\n".join(mark.join(row) for row in rows))
    model = poise.load(tmp_path / name)
    expected = from_table([(0.5, np.pi / 2, 0, 0.1), (0.4, 0, 0.2, 0)])
    np.testing.assert_allclose(model.fk([0.3, 0.4]), expected.fk([0.3, 0.4]), atol=1e-15)
