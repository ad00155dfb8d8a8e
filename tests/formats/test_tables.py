"""Tables: motions, poses and solutions keep every bit in CSV, NPZ and Parquet; hostile files are rejected."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import models, random_model
from budget import within
from file_cases import check_rejected, written
from poise.errors import FormatError, FormatWarning
from poise.files.source import Source
from poise.formats.plain_values import dump_model, parse_model
from poise.formats.tables import motions
from poise.formats.tables.containers import WRITERS, choose_reader
from poise.goals import Reach
from poise.kinematics.column_names import name_columns
from poise.model import BallRange, Box, Capsule, Mesh

SUFFIXES = [".csv", ".npz", ".parquet"]


@pytest.fixture(params=SUFFIXES)
def suffix(request: pytest.FixtureRequest) -> str:
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return str(request.param)


# ------------------------------------------------------------------------------------------------ there and back


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(model=models(), seed=st.integers(0, 2**32 - 1), fps=st.sampled_from([24.0, 29.97, 30.0, 1 / 3, 119.88012]))
@pytest.mark.parametrize("kind", SUFFIXES)
def test_motions_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, kind: str, model: poise.Model, seed: int, fps: float
) -> None:
    if kind == ".parquet":
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(seed)
    motion = poise.Motion(model, model.random(rng, int(rng.integers(1, 6))), fps)
    path = poise.save(motion, tmp_path_factory.mktemp("tables") / f"m{kind}")
    assert poise.load_motion(path, model=model) == motion
    if kind != ".csv":
        assert poise.load_motion(path) == motion


def test_poses_come_back(tmp_path: Path, suffix: str) -> None:
    model = poise.load("humanoid")
    pose = poise.Pose(model, model.random(np.random.default_rng(0)))
    assert poise.load_motion(poise.save(pose, tmp_path / f"p{suffix}"))[0] == pose


def test_solutions_come_back(tmp_path: Path, suffix: str) -> None:
    solution = poise.solve(poise.load("humanoid"), [Reach("hand_l", (0.4, 1.2, 0.3)), Reach("head", (0, 9, 0))])
    path = poise.save(solution, tmp_path / f"s{suffix}")
    assert poise.load_motion(path)[0] == solution.pose
    columns = motions.read_table(path).columns
    assert columns["reached"].tolist() == [solution.reached]
    assert columns["status"].tolist() == [str(solution.status)]
    assert columns["steps"].tolist() == [solution.steps]
    assert columns["seconds"].tolist() == [solution.seconds]
    for goal, (metres, radians) in solution.errors.items():
        assert columns[f"error.{goal}.m"].tolist() == [metres]
        assert columns[f"error.{goal}.rad"].tolist() == [radians]


def test_a_long_motion(tmp_path: Path, suffix: str) -> None:
    model = poise.load("panda")
    motion = poise.Motion(model, model.random(np.random.default_rng(0), 10_000), 60)
    assert poise.load_motion(poise.save(motion, tmp_path / f"m{suffix}"), model=model) == motion


def test_columns_say_what_they_are(tmp_path: Path) -> None:
    header = next(
        csv.reader(io.StringIO(poise.save(poise.Pose(poise.load("humanoid")), tmp_path / "p.csv").read_text()))
    )
    assert header[:7] == [f"pelvis.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    assert {"knee_l", "head.ry", "head.rx", "neck.angle1"} <= set(header)
    builder = poise.ModelBuilder("m").add_joint("time", None, "revolute").add_joint("a", "time", "free")
    model = builder.add_joint("a.x", "a", "revolute").add_joint("e", "a", "euler", order="XYX").build()
    assert name_columns(model) == [
        *("time#2", "a.x", "a.y", "a.z", "a.qw", "a.qx", "a.qy", "a.qz", "a.x#2", "e.rx", "e.ry", "e.rx2"),
    ]
    motion = poise.Motion(model, model.random(np.random.default_rng(0), 4))
    assert poise.load_motion(poise.save(motion, tmp_path / "m.csv"), model=model) == motion


NAMES = {
    "awkward": ["a,b", 'say "x"', "two\nlines", " ahead", "Tête", "腰", "error.x", "x" * 300, "\u2028", "-1"],
    "formulas": ["=1+1", "-2", "'@x"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_any_names_come_back(tmp_path: Path, suffix: str, names: list[str]) -> None:
    builder = poise.ModelBuilder("m")
    for above, name in zip([None, *names], names, strict=False):
        builder.add_joint(name, above, "revolute")
    model = builder.build()
    motion = poise.Motion(model, model.random(np.random.default_rng(0), 4))
    assert poise.load_motion(poise.save(motion, tmp_path / f"m{suffix}"), model=model) == motion


@pytest.mark.slow
def test_a_model_in_words_is_the_same_model() -> None:
    for seed in range(10):
        model = random_model(seed, joints=14)
        assert parse_model(dump_model(model)) == model
    builder = poise.ModelBuilder("m").add_joint(
        "b", None, "ball", cone=BallRange(swing=(0.5, 0.25), twist=(-1, 1), axis=(0, 1, 0))
    )
    builder.add_shape("b", Capsule(0.1, 0.5), offset=(1, 2, 3), use="visual", color=(1, 0, 0))
    builder.add_shape("b", Mesh("a/b.stl", (2, 2, 2))).add_shape("b", Box((1, 2, 3)))
    builder.add_pose("home", [0.6, 0.8, 0, 0]).add_role("hand_l", "b")
    builder.up, builder.units, builder.notes = "y", "cm", ["assumed"]
    model = builder.build()
    again = parse_model(dump_model(model))
    assert again == model
    assert again.notes == ("assumed",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"mass": 0.0', '"mass": 1e308'),
        ('"mass": 0.0', '"mass": -1'),
        ('"mass": 0.0', '"mass": NaN'),
        ('"mass": 0.0', '"mass": [1, 2]'),
        ('"parts": [', '"parts": [7, '),
        ('"parts": [', '"parts": {}, "x": ['),
        ('"kind": "revolute"', '"kind": "magic"'),
        ('"kind": "revolute"', '"kind": 1' + "0" * 5000),
        ('"parent": null', '"parent": "nobody"'),
        ('"roles": {}', '"roles": {"a": "nobody"}'),
        ('"roles": {}', '"roles": []'),
        ('"up": "z"', '"up": null'),
    ],
)
def test_words_that_make_no_model_are_rejected(old: str, new: str) -> None:
    text = dump_model(poise.ModelBuilder("m").add_joint("j", None, "revolute").build())
    assert old in text
    with pytest.raises(FormatError, match="description of the model"):
        parse_model(text.replace(old, new, 1))


# ------------------------------------------------------------------------------------------------ other people's CSV


def other(tmp_path: Path, text: str, **options: Any) -> poise.Motion:
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    return poise.load_motion(path, model=poise.load("planar2"), **options)


def planar(separator: str = ",") -> str:
    a, b = name_columns(poise.load("planar2"))
    return (
        separator.join(["time", b, a])
        + "\n"
        + separator.join(["0", "1", "2"])
        + "\n"
        + separator.join(["0.5", "3", "4"])
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
def test_columns_in_any_order(tmp_path: Path, separator: str) -> None:
    motion = other(tmp_path, planar(separator))
    np.testing.assert_array_equal(motion.q, [[2, 1], [4, 3]])
    assert motion.fps == 2.0


def test_styles_of_csv(tmp_path: Path) -> None:
    plain = other(tmp_path, planar())
    for text in (
        planar().replace("\n", "\r\n"),
        "\ufeff" + planar(),
        "\n" + planar() + "\n\n",
        planar().replace("\n", "\r"),
    ):
        assert other(tmp_path, text) == plain


def test_odd_tables_are_read_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="'mood' are not joints"):
        other(tmp_path, planar().replace("\n", ",mood\n", 1).replace("2\n", "2,1\n") + ",2")
    lines = [line.split(",", 1)[1] for line in planar().splitlines()]
    with pytest.warns(FormatWarning, match="30 frames per second were assumed"):
        assert other(tmp_path, "\n".join(lines)).fps == 30.0


BAD_CSV = {
    "empty": ("", "is empty"),
    "header alone": (planar().splitlines()[0], "no rows"),
    "a cell too few": (planar().replace("0,1,2", "0,1"), "2 cells"),
    "a cell too many": (planar().replace("0,1,2", "0,1,2,3"), "4 cells"),
    "nan": (planar().replace("0,1,2", "0,nan,2"), "'nan'"),
    "infinity": (planar().replace("0,1,2", "0,1e999,2"), "'1e999'"),
    "1_0": (planar().replace("0,1,2", "0,1_0,2"), "'1_0'"),
    "Arabic": (planar().replace("0,1,2", "0,\u0661,2"), "not a number"),
    "a gap": (planar().replace("0,1,2", "0,,2"), "not a number"),
    "a word": (planar().replace("0,1,2", "0,one,2"), "not a number"),
    "a column twice": (planar().replace("time", name_columns(poise.load("planar2"))[0]), "more than once"),
    "a column missing": (planar().replace(name_columns(poise.load("planar2"))[0], "z"), "has no column"),
    "uneven times": (planar() + "\n0.6,1,1", "even steps"),
    "times backwards": (planar().replace("0.5", "-0.5"), "even steps"),
    "an open quote": (planar() + '\n"1,2,3', "not a CSV"),
    "a huge cell": (planar() + "\n0.6,1," + "1" * 200_000, "not a CSV"),
    "NUL": (planar() + "\0", "NUL"),
    "zero fps": (planar().replace("time", "fps"), "fps"),
}


@pytest.mark.parametrize(("text", "fragment"), BAD_CSV.values(), ids=BAD_CSV)
def test_bad_csv_is_rejected(tmp_path: Path, text: str, fragment: str) -> None:
    check_rejected(tmp_path / "m.csv", text, fragment, read=poise.load_motion, model=poise.load("planar2"))


def test_rounded_times_are_an_even_beat(tmp_path: Path) -> None:
    model = poise.load("planar2")
    names = list(name_columns(model))

    def table(times: list[float]) -> Path:
        rows = [",".join(["time", *names]), *(f"{t},0.1,0.2" for t in times)]
        return written(tmp_path / "a.csv", "\n".join(rows))

    with pytest.warns(FormatWarning, match="read as even steps"):
        motion = poise.load_motion(table([round(k / 60, 3) for k in range(61)]), model=model)
    assert motion.fps == pytest.approx(60.0)
    with pytest.raises(FormatError, match="even steps"):
        poise.load_motion(table([k / 60 for k in range(61) if k != 30]), model=model)


def test_a_column_twice_among_many_is_found_in_time(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(90_000))
    with within(20), pytest.raises(FormatError, match="'c7' occur more than once"):
        poise.load_motion(written(tmp_path / "a.csv", f"{names},c7\n"))


@pytest.mark.slow
@pytest.mark.parametrize("read", [poise.load, poise.load_motion])
@pytest.mark.parametrize("filler", ["\n", "\r", " ", "\r\n"])
def test_endless_nothing_is_rejected_in_time(read: Any, filler: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "time,a,alpha,d\n" + filler * 20_000_000)
    with within(20), pytest.raises(FormatError):
        read(path)


def test_a_table_needs_a_model(tmp_path: Path) -> None:
    model = poise.ModelBuilder("mine").add_joint("j", None, "revolute").build()
    path = poise.save(poise.Motion(model, [[1.0], [2.0]]), tmp_path / "m.csv")
    with pytest.raises(FormatError, match=r"model=poise\.load"):
        poise.load_motion(path)
    with pytest.raises(FormatError, match=r"scale= and clip= do not apply"):
        poise.load_motion(path, model=model, scale=0.01)


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-2", "@SUM(1)", "\tx", "\rx", "'=y", "''-z", "'plain", "plain", "\uff1d1"]


def test_no_cell_of_text_is_a_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    numbers = np.linspace(-1.0, 1.0, len(FORMULAS))
    columns = {**dict.fromkeys(FORMULAS, numbers), "status": np.array(FORMULAS)}
    WRITERS[".csv"](columns, "", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    for cell in [*header, *(row[-1] for row in rows)]:
        assert cell[0] not in "=+-@\t\r\uff1d", cell
    assert [row[0] for row in rows] == [repr(float(x)) for x in numbers], "numbers are written as they are"
    back, _ = choose_reader(Source("a.csv", b""))(Source.open(tmp_path / "a.csv"))
    assert list(back) == list(columns)
    assert back["status"].tolist() == FORMULAS
    assert np.array_equal(back["+1"], numbers)
