"""Mistakes of new users, and the messages: what was given, what exists, what to type."""

import inspect
import json
import pickle
import re
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from command_line import run_poise
from poise import Solver
from poise.errors import FormatError, InvalidValue, ModelMismatch, PoiseError, ShapeMismatch, UnitWarning
from poise.goals import Balance, Orient, Reach, Rest
from poise.limits import Clearance, ConvexMesh, HalfSpace, HeightMap
from poise.model import Box, Capsule
from poise.textbook import loop

HUMAN, ARM = poise.load("humanoid"), poise.load("panda")
REACH = Reach("panda_hand_tcp", (0.4, 0.0, 0.3))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("left_hand", "hand_l"),
        ("LeftHand", "hand_l"),
        ("hand.R", "hand_r"),
        ("r_knee", "knee_r"),
        ("RightFoot", "foot_r"),
        ("hand", "hand_r"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours_on_the_same_side(given: str, meant: str) -> None:
    with pytest.raises(PoiseError, match=f"Did you mean '{meant}'") as caught:
        HUMAN.frame(given)
    if given != "hand":
        other = "_r'" if meant.endswith("_l") else "_l'"
        assert other not in str(caught.value)


def ANY(value: Any) -> Any:  # a wrong argument, which the types would reject
    return value


HERE = Path(__file__).parent
HUGE = 10**400
NAMELESS: Any = Rest()
NAME: Any = "panda"  # where a model, or a goal, is wanted
MISTAKES: list[tuple[Callable[[], Any], type[PoiseError], str]] = [
    (lambda: poise.solve(NAME, REACH), ModelMismatch, "type: poise.load('panda')"),
    (lambda: poise.solve(ARM, REACH, NAMELESS), InvalidValue, "put all goals in one list: solve(model, [goal"),
    (lambda: Reach("a", np.eye(3)), ShapeMismatch, "Orient(frame, rotation)"),
    (lambda: Reach("a", ("x", "y", "z")), InvalidValue, "target is ('x', 'y', 'z'); give 3 numbers"),
    (lambda: Reach("a", [[1.0, 2.0], [3.0]]), InvalidValue, "give 3 numbers [m]"),
    (lambda: Balance("foot_l"), InvalidValue, "Balance(['foot_l'])"),
    (
        lambda: poise.solve_batch(ARM, REACH, [[0.1, 0.2, 0.3], [0.1]]),
        ShapeMismatch,
        "targets['panda_hand_tcp'] is not an array",
    ),
    (lambda: poise.solve_batch(ARM, REACH, None), InvalidValue, "targets['panda_hand_tcp'] is None"),
    (
        lambda: poise.solve_batch(ARM, REACH, np.zeros((2, 3)), [[0.1] * 7, [0.1]]),
        ShapeMismatch,
        "starts is not an array",
    ),
    (lambda: poise.load(str(HERE)), FormatError, "is a folder; name a file inside it: '"),
    (lambda: poise.load("franka"), PoiseError, "Did you mean 'panda'"),
    (lambda: poise.load(ANY(ARM)), InvalidValue, "must be a string or a pathlib.Path"),
    (lambda: poise.load("panda", scale="cm"), InvalidValue, "type scale=0.01"),
    (lambda: poise.load("panda", **ANY({"units": "cm"})), PoiseError, "type scale=..., metres per unit"),
    (lambda: poise.load("nofile.urdf"), FormatError, "is missing; searched"),
    (lambda: poise.solve(ARM, Reach("panda_hand_tcp")), InvalidValue, "has no target; type Reach("),
    (lambda: Reach(ANY((1, 2, 3)), "hand"), InvalidValue, "comes first: Reach('hand_l'"),
    (lambda: poise.solve(ARM, ANY((0.4, 0.0, 0.3))), InvalidValue, "such as Reach(frame, (x, y, z))"),
    (lambda: poise.solve(ANY(REACH), ANY(ARM)), ModelMismatch, "the model comes first"),
    (lambda: ANY(Reach)("a", 0.4, 0.0, 0.3), PoiseError, "numbers of a point in one tuple"),
    (lambda: ANY(Reach)("a", position=(1, 2, 3)), PoiseError, "type target=(1, 2, 3)"),
    (lambda: ANY(Reach)("a", (1, 2, 3), rotation=np.eye(3)), PoiseError, "type Orient(frame, rotation)"),
    (lambda: poise.solve(ARM, REACH, **ANY({"q0": ARM.rest})), PoiseError, "type start="),
    (lambda: poise.solve(ARM, REACH, **ANY({"tol": 1e-3})), PoiseError, "tolerance=0.001), in the goal"),
    (lambda: poise.solve(ARM, REACH, np.zeros(6)), ShapeMismatch, "it must be (7,)"),
    (lambda: poise.solve(ARM, REACH, method="juggling"), PoiseError, "There are: 'auto'"),
    (lambda: poise.solve(ARM, REACH, limits=ANY([Clearance])), InvalidValue, "such as Clearance("),
    (lambda: Orient("a", (0, 0, 90)), ShapeMismatch, "type Rotation.from_euler('XYZ', radians)"),
    (lambda: poise.Transform((0, 0, 1)), ShapeMismatch, "Transform(None, xyz)"),
    (lambda: poise.Pose(ARM, ANY("home")), InvalidValue, "type model.poses[name]"),
    (lambda: poise.Pose(ARM, ANY({"a": 1.0})), InvalidValue, "type Pose(model).replace(values)"),
    (lambda: poise.Motion(ARM, ARM.rest), ShapeMismatch, "it must be (frames, 7)"),
    (lambda: poise.save("arm.urdf", ANY(ARM)), InvalidValue, "type poise.save(thing, 'arm.urdf')"),
    (lambda: poise.save(np.zeros(7), "q.npz"), InvalidValue, "numbers of a pose Pose(model, q)"),
    (lambda: poise.save(ARM, "arm.fbx"), FormatError, "Write a .glb, import it in Blender"),
    (lambda: poise.retarget(ANY("walk.bvh"), HUMAN), InvalidValue, "poise.load_motion('walk.bvh')"),
    (lambda: poise.retarget(ANY(HUMAN), HUMAN), InvalidValue, "load_motion(path), before the model"),
    (lambda: poise.motion.lock(ANY("walk.bvh")), InvalidValue, "type: poise.load_motion('walk.bvh')"),
    (lambda: Solver(ARM, REACH).solve(None, ANY((1, 2, 3))), InvalidValue, "{'hand_l': (x, y, z)}"),
    (lambda: poise.show("pose.html"), InvalidValue, "Type: show(thing, path)"),
    (lambda: poise.show(poise.Pose(ARM), "pose.pdf"), FormatError, "type poise.plot(thing, 'pose.pdf')"),
    (lambda: ANY(poise.solve)(REACH), PoiseError, "solve(model, goals) needs all of these values"),
    (lambda: poise.load_motion("panda"), FormatError, "is a built-in body, which has no motion"),
    (lambda: ANY(Box)(1, 2, 3), InvalidValue, "Box((1, 2, 3))"),
    (lambda: ANY(Capsule)(0.1), InvalidValue, "type Capsule(radius, length) or Capsule(start, end"),
    (lambda: poise.ModelBuilder().add_joint("a", None, "hinge"), PoiseError, "Did you mean 'revolute'"),
    (lambda: ANY(poise.ModelBuilder().add_joint)("a", None, type="revolute"), PoiseError, "type kind='revolute'"),
    (lambda: poise.Solver(ARM, REACH).solve(targets=ANY(np.zeros(3))), InvalidValue, "{goal name: target}"),
    (lambda: poise.find_singularities(ARM, "panda_hand_tcp", seed=-1), InvalidValue, "seed is -1; it must be a whole"),
    (lambda: loop(ARM, ARM.rest, REACH, step=ANY(5)), InvalidValue, "step is 5"),
    (lambda: loop(ARM, ARM.rest, NAMELESS), InvalidValue, "posture"),
    (lambda: ConvexMesh([[HUGE, 0, 0], [0, 1, 0], [0, 0, 1]]), InvalidValue, "real numbers"),
    (lambda: HeightMap([[HUGE, 0], [0, 0]], 0.1), InvalidValue, "real numbers"),
    (lambda: poise.show(poise.Pose(ARM), "nowhere/x.html"), FormatError, "there is no folder"),
    (lambda: ARM.fk("panda_hand_tcp"), InvalidValue, "q comes before the frame: type (model.rest, 'panda_hand_tcp')"),
    (lambda: ANY(ARM.jacobian)(ARM.rest), InvalidValue, "type (model.rest, 'panda_hand_tcp')"),
    (lambda: ANY(poise.Pose)(ARM, ARM.rest, degrees=True), PoiseError, "type q=np.deg2rad(q)"),
    (lambda: ANY(poise.save)(poise.Pose(ARM)), PoiseError, "save(thing, path) needs all of these values"),
    (lambda: ANY(poise.Transform)(1, 2, 3), PoiseError, "type Transform(None, (1, 2, 3))"),
    (lambda: ANY(poise.Rotation)(0, 0, 90), PoiseError, "type Rotation.from_euler('XYZ', np.deg2rad((0, 0, 90)))"),
    (lambda: poise.motion.edit(ANY({0: REACH}), ANY(HUMAN)), InvalidValue, "edit(motion, {frame: goals})"),
    (
        lambda: ANY(poise.load_motion)("q.csv", ARM),
        PoiseError,
        "options by name: scale=..., up=..., clip=..., model=...",
    ),
    (lambda: ANY(poise.load_motion)("walk.bvh", fps=60), PoiseError, "type motion.resampled(fps)"),
    (lambda: poise.load("https://a.b/robot.urdf"), FormatError, "download the file with its meshes"),
    (lambda: poise.solve(ARM, NAME), InvalidValue, "such as Reach('panda', (x, y, z))"),
    (lambda: poise.solve(ARM, REACH, ANY("random")), InvalidValue, "type model.random(rng)"),
    (lambda: poise.solve(ARM, REACH).errors["hand"], PoiseError, "There are: 'panda_hand_tcp'"),
    (lambda: poise.motion.contacts(NAME), InvalidValue, "type: poise.load_motion('panda')"),
    (lambda: ANY(poise.Motion(ARM, [ARM.rest], 30))["hand"], InvalidValue, "type motion.positions('hand')"),
    (lambda: poise.show(ARM, ANY(5)), InvalidValue, "a path must be a string or a pathlib.Path, not 5"),
    (lambda: poise.show(ANY(ARM.rest), "x.html"), InvalidValue, "Pose(model, q)"),
]


@pytest.mark.parametrize(("call", "error", "fragment"), MISTAKES, ids=[words for *_, words in MISTAKES])
def test_a_mistake_is_answered(call: Callable[[], Any], error: type[PoiseError], fragment: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert fragment in str(caught.value)


@pytest.mark.slow
def test_a_picture_in_no_folder(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(FormatError, match="there is no folder"):
        poise.plot(poise.Pose(ARM), tmp_path / "nowhere" / "x.png")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m.avi", "m.xyz"])
def test_a_film_for_a_picture(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    motion = poise.Motion(ARM, np.tile(ARM.rest, (3, 1)), fps=30)
    with pytest.raises(FormatError, match=r"is not a picture; use the suffix \.png.*poise\.show\(thing, '.*m\.html'\)"):
        poise.plot(motion, tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidValue, match="a path must be"):
        poise.plot(motion, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        *[("IK", "poise.solve(model, goals)"), ("Studio", "poise.studio.Studio(thing)"), ("load_bvh", "poise.load_mo")],
        *[("Model.q", "model.rest"), ("Model.solve", "poise.solve(model, goals)"), ("Rotation.from_quat", "Rotation.")],
        *[("Solution.success", "solution.reached"), ("Solution.plot", "poise.plot("), ("Pose.__getitem__", "pose.pos")],
        *[("Model.dof", "model.nv"), ("Model.limits", "model.lower")],
        *[("Transform.__mul__", "T_a_b @ T_b_c"), ("ModelBuilder.add_link", "builder.add_joint(name")],
    ],
)
def test_a_name_of_another_library_is_answered_with_ours(name: str, typed: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"type {typed}")):
        attrgetter(name)(poise)


@pytest.mark.parametrize(
    ("name", "room"), [("Reach", "goals"), ("Clearance", "limits"), ("DLS", "methods"), ("BatchSolver", "batch")]
)
def test_a_name_of_a_package_is_reported_with_its_package(name: str, room: str) -> None:
    with pytest.raises(AttributeError, match=f"type poise.{room}.{name}, or: from poise.{room} import {name}"):
        getattr(poise, name)


@pytest.mark.slow
def test_things_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pose, solution = poise.Pose(ARM), poise.solve(ARM, REACH, record=True)
    pictures = (
        *(poise.plot(pose, tmp_path / "pose.png"), poise.plot(solution, title="Solved")),
        *(poise.plot(pose, style="stick"), poise.plot(poise.Motion(ARM, np.tile(pose.q, (3, 1)), fps=30))),
    )
    for picture in pictures:
        assert picture.figure.axes
    assert (tmp_path / "pose.png").stat().st_size > 1000
    page = poise.show(solution, tmp_path / "page.html")
    assert page.html == (tmp_path / "page.html").read_text("utf-8")


# ------------------------------------------------------------------------------------------------ in the shell


SHELL = [
    ("solve humanoid --reach hand_l a b c", "--reach hand_l a b c: give a name and X Y Z [m] or X Y Z QW"),
    ("solve humanoid --reach hand_l 0.4 1 0.3 --out a.xyz", "page or picture (.html .htm .png"),
    ("solve humanoid --reach hand_l 0.4 1 0.3 --out no/a.json", "there is no folder"),
    ("solve panda --reach panda_hand_tcp 1 2 3 --start tpose", "--out pose.json writes a pose"),
    ("solve panda --reach panda_hand_tcp 1 2 3 --restarts many", "--restarts is 'many'"),
    ("solve panda", "no goal is given. Type: poise solve"),
    ("info x.c4d", "Export it as FBX."),
    ("info x.obj", "That is a mesh without joints: name it in a URDF or MJCF"),
    ("info q.csv", "does not say which body it is for: give --model robot.urdf"),
    ("convert walk.bvh walk.bvh", "is read; write to another file, such as walk_new.bvh"),
    ("info walk.bvh --scale cm", "(metres per unit) or 'auto'. For cm type --scale 0.01"),
    ("info walk.bvh --up x", "--up is 'x'; it must be 'y', 'z'"),
    ("info walk.bvh --clip run", "contains one clip; leave --clip out"),
    ("convert walk.bvh x.fbx", "Write a .glb, import it in Blender"),
    ("convert humanoid a.bvh --as motion", "is a built-in body, which has no motion"),
    ("convert walk.bvh q.csv --keep", "replace it by leaving out --keep"),
    ("convert walk.bvh a.csv --like a.glb", "--like puts a pose or motion into a glTF character"),
    ("race --out race.txt", "write a page or picture (.html"),
    ("retarget . humanoid --out g1.csv", "give a folder, such as --out g1/"),
    ("retarget walk.bvh humanoid --out a.txt", "Formats for a motion: BVH (.bvh)"),
    ("retarget walk.bvh humanoid --out a.csv --style unitre", "--style is 'unitre'; it must be one of"),
    ("retarget walk.bvh humanoid --out a.npz --style unitree", "--style unitree is written to .csv"),
    ("retarget humanoid walk.bvh --out a.csv", "is a built-in body, which has no motion"),
    ("lock walk.bvh --out locked.png", "Formats for a motion: BVH (.bvh)"),
    ("quality .", "is a folder; name a file inside it: 'q.csv', 'walk.bvh'"),
    ("map panda --out map.png", "suffix .npz; --picture draws it"),
    ("demo --out q.csv", "is a file; give a folder"),
    ("info q.csv --model panda", "after the joints, or give another body: --model robot.urdf"),
    ("retarget walk.bvh panda --out a.csv", "Choose another body, or give --mapping mapping.json"),
    ("info", "Type for example: poise info robot.urdf"),
    ("info walk.bvh --scale", "requires an argument. Type for example: poise info robot.urdf"),
    ("retarget walk.bvh", "Type for example: poise retarget dance.bvh g1.xml"),
    ("retarget walk.bvh humanoid", "Missing option '--out' / '-o'. Type for example: poise retarget"),
    ("info walk.bvh q.csv", "(q.csv). Type for example: poise info robot.urdf"),
    ("inof walk.bvh", "Type one of: demo, studio, solve, info"),
    ("job rnu job.json", "Type one of: run, show"),
    ("walk.bvh", "Type poise studio walk.bvh, or poise info walk.bvh"),
    ("help", "Type poise --help"),
    ("info walk.zip", "Unpack it, and name the file inside"),
    ("info a.srdf", "An SRDF belongs to a URDF: load that one"),
    ("info empty.urdf", "Was it copied or downloaded completely?"),
    ("info cut.bvh", "Is the file complete?"),
    ("quality empty", "is an empty folder"),
    ("job show empty", "Name the JSON file of a poise job"),
    ("info walk.glb --clip run", ". Give a name or a number, such as --clip 0"),
    ("convert walk.bvh x.mp4", "type in Python: poise.plot(poise.load_motion('walk.bvh'), 'x.mp4')"),
    ("convert walk.bvh x.png", "type poise solve --out x.png; for a view of the file, poise studio walk.bvh"),
]


FILES = {
    **{
        "x.c4d": b"QC4DC4D6",
        "x.obj": b"v 0 0 0",
        "walk.zip": b"PK",
        "empty.urdf": b"",
        "a.srdf": b"<robot name='a'/>",
        "cut.bvh": b"HIERARCHY\nROOT Hips\n{\n",
    },
}


@pytest.mark.parametrize(("typed_words", "fragment"), SHELL)
def test_a_mistake_in_the_shell_is_one_line_and_code_2(
    typed_words: str, fragment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = typed_words.split()
    monkeypatch.chdir(tmp_path)
    poise.save(poise.Motion(HUMAN, np.tile(HUMAN.rest, (3, 1)), 30.0), "walk.bvh")
    Path("q.csv").write_text("a,b\n1,2\n", "utf-8")
    if "walk.glb" in words:
        poise.save(poise.load_motion("walk.bvh"), "walk.glb")
    for name in set(words) & FILES.keys():
        Path(name).write_bytes(FILES[name])
    if "empty" in words:
        Path("empty").mkdir()
    there = sorted(Path().iterdir())
    shown = run_poise(*words)
    assert shown.exit_code == 2, shown.output
    assert fragment in shown.output
    assert "\n" not in shown.output.strip()
    assert sorted(Path().iterdir()) == there, "nothing was written"
    assert not re.search(r"\b\w+=", shown.output), "an argument of Python"


def test_numbers_that_look_like_degrees_or_millimetres_are_reported() -> None:
    with pytest.warns(UnitWarning, match=r"in radians: for degrees type np\.deg2rad"):
        poise.Rotation.from_euler("XYZ", (90, 0, 0))
    with pytest.warns(UnitWarning, match=r"type math\.radians\(90\)"):
        poise.Pose(ARM).replace({"panda_joint1": 90})
    why = poise.solve(ARM, Reach("panda_hand_tcp", (400, 0, 300))).why()
    assert "Relax first: give the target in metres: divide millimetres by 1000." in why
    assert not re.search("closer|tolerance", why)


def test_a_solver_waits_for_the_targets_of_its_goals() -> None:
    solver = Solver(ARM, Reach("panda_hand_tcp"))
    for waiting in (solver, solver.copy(), pickle.loads(pickle.dumps(solver))):
        with pytest.raises(InvalidValue, match="has no target"):
            waiting.solve()
        with pytest.raises(ShapeMismatch, match=r"type Reach\('panda_hand_tcp', Transform\(\)\)"):
            waiting.solve(None, {"panda_hand_tcp": poise.Transform()})
        found = waiting.solve(None, {"panda_hand_tcp": (0.4, 0.0, 0.3)})
        assert found.q == pytest.approx(poise.solve(ARM, REACH).q, abs=1e-9)
        assert waiting.solve(found.q).reached, "a target is kept"


@pytest.mark.parametrize("kind", [Box, Capsule, ConvexMesh, HalfSpace, HeightMap])
def test_help_shows_typed_signatures(kind: type) -> None:
    given = inspect.signature(kind).parameters
    assert not {"given", "named"} & set(given)
    assert not {inspect.Parameter.empty, "Any"} & {each.annotation for each in given.values()}


def test_poses_go_between_the_studio_and_the_shell(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from poise.studio.downloads import pose_from_json, pose_to_json

    pose = poise.Pose(ARM, ARM.random(np.random.default_rng(0)))
    (tmp_path / "studio.json").write_text(pose_to_json(pose))
    written = tmp_path / "shell.json"
    reach = [str(round(x, 6)) for x in pose.position("panda_hand_tcp")]
    start = ("--start", str(tmp_path / "studio.json"), "--no-rest")
    assert (
        run_poise("solve", "panda", "--reach", "panda_hand_tcp", *reach, *start, "--out", str(written)).exit_code == 0
    )
    answer = json.loads(written.read_text("utf-8"))
    assert np.abs(np.array(answer["q"]) - pose.q).max() < 1e-3  # it was there already
    assert pose_from_json(ARM, written.read_text("utf-8")).q == pytest.approx(answer["q"])
