"""Ends of limbs, and what copies of a model keep."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import load
from poise import Model
from poise.formats.plain_values import dump_model, parse_model
from poise.formats.units import scale_model, with_up
from poise.kinematics import Mirror
from poise.model.derive import add_objects
from poise.rig import Rig
from recordings import write_lying
from walks import make_walk

LEGS = {"fl": (0.2, 0.1), "fr": (0.2, -0.1), "hl": (-0.2, 0.1), "hr": (-0.2, -0.1)}
SOLIDS = {  # the last geom of a shank: its type, and the distance of its end from the knee [m]
    "sphere": ('type="sphere" size=".02" pos="0 0 -.2"', 0.2),
    "capsule": ('type="capsule" size=".015" fromto="0 0 -.02 0 0 -.19"', 0.19),
    "box": ('type="box" size=".01 .01 .1" pos="0 0 -.1"', 0.2),
}
SCRAMBLED = ("qax", "vub", "zil", "pom")


def write_leg(name: str, place: tuple[float, float], geom: str) -> str:
    """Return a leg of a dog: a thigh and a shank that ends in a geom."""
    x, y = place
    return f"""<body name="{name}_a" pos="{x} {y} 0"><joint axis="1 0 0" range="-60 60"/>
      <geom type="sphere" size=".02"/>
      <body name="{name}_b" pos="0 {0.05 * np.sign(y)} 0" euler="0 30 0"><joint axis="0 1 0" range="-110 110"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/>
        <body name="{name}_c" pos="0 0 -.2" euler="0 -60 0"><joint axis="0 1 0" range="-110 110"/><geom {geom}/></body>
      </body></body>"""


def make_dog(folder: Path, geom: str, marks: tuple[str, ...] = ("",) * 4, height: float = 0.42) -> Model:
    """Return a dog whose names mean nothing; `marks` are the names of its last geoms."""
    named = [f'name="{mark}" {geom}' if mark else geom for mark in marks]
    legs = "".join(write_leg(n, at, g) for n, at, g in zip(SCRAMBLED, LEGS.values(), named, strict=True))
    head = '<body name="hod" pos=".35 0 .1"><joint axis="0 1 0" range="-60 60"/><geom type="sphere" size=".05"/></body>'
    inner = f'<freejoint/><geom type="box" size=".25 .1 .05"/>{head}{legs}'
    return load(folder, f'<body name="origin"/><body name="trunk" pos="0 0 {height}">{inner}</body>')


@pytest.mark.slow  # MuJoCo compiles in a process
@pytest.mark.parametrize("solid", SOLIDS)
@pytest.mark.parametrize("marks", [("",) * 4, ("A1", "B2", "C3", "D4")])
def test_the_feet_of_a_dog_are_at_the_ends_of_its_legs(tmp_path: Path, solid: str, marks: tuple[str, ...]) -> None:
    geom, far = SOLIDS[solid]
    model = make_dog(tmp_path, geom, marks)
    listed = model.frames
    for mark, (side, place) in zip(marks, LEGS.items(), strict=True):
        foot, knee = (model.fk(model.rest, f"{part}_{side}")[:3, 3] for part in ("foot", "knee"))
        assert np.sign(foot[:2]) == pytest.approx(np.sign(place))
        assert np.linalg.norm(foot - knee) == pytest.approx(far if not mark or solid == "sphere" else far / 2, rel=0.11)
        assert model.roles[f"foot_{side}"] == (mark or f"foot_{side}")
    assert model.frames == listed, "the frames of the file stay as they are"
    assert model.fk(model.rest).shape[0] == len(listed)


@pytest.mark.slow  # MuJoCo compiles in a process
def test_its_feet_are_planted_and_stay_while_the_trunk_moves(tmp_path: Path) -> None:
    rig = Rig(make_dog(tmp_path, SOLIDS["sphere"][0]))
    rig.plant()
    assert set(rig.state.planted) == {f"foot_{side}" for side in LEGS}
    before = {name: rig.state.transform(name).matrix[:3, 3] for name in rig.state.planted}
    place = rig.state.transform("pelvis").matrix[:3, 3]
    for share in np.linspace(0.1, 1.0, 10):
        rig.drag({"pelvis": place + share * np.array([0.02, 0.01, -0.05])})
    assert rig.state.transform("pelvis").matrix[2, 3] < place[2] - 0.045
    for name, at in before.items():
        assert np.linalg.norm(rig.state.transform(name).matrix[:3, 3] - at) < 1e-4


@pytest.mark.slow  # MuJoCo compiles in a process
def test_the_origin_below_a_dog_is_not_its_ground(tmp_path: Path) -> None:
    assert poise.roles(make_dog(tmp_path, SOLIDS["sphere"][0], height=0.8)).kind == "quadruped"


@pytest.mark.slow  # MuJoCo compiles in a process
def test_copies_keep_the_ends(tmp_path: Path) -> None:
    geom = SOLIDS["sphere"][0]

    def make() -> Model:
        return make_dog(tmp_path, geom)

    whole = make()
    wanted = whole.fk(whole.rest, "foot_fl")
    assert pickle.loads(pickle.dumps(make())) == whole, "also if its roles were never used"
    assert make() == whole
    assert np.allclose(scale_model(make(), 2.0).fk(whole.rest * 2.0, "foot_fl")[2, 3], 2.0 * wanted[2, 3], atol=0.5)
    for copy in (with_up(make(), "y"), make().with_frame("more", "trunk", (0.1, 0.0, 0.0)), make().locked({})):
        assert copy.roles["foot_fl"] == "foot_fl"
    assert make().subtree("qax_b").fk(np.zeros(1), "foot_fl").shape == (4, 4)


def write_chain(*parts: tuple[str, tuple[float, float, float], str, float]) -> str:
    """Return nested bodies: name, place, axis of the hinge, and length of a capsule down from it (0 for none)."""
    if not parts:
        return ""
    (name, (x, y, z), axis, long), *below = parts
    solid = f'type="capsule" size=".02" fromto="0 0 0 0 0 {-long}"' if long else 'type="sphere" size=".02"'
    hinge = f'<joint axis="{axis}" range="-110 110"/><geom {solid} mass="1"/>'
    return f'<body name="{name}" pos="{x} {y} {z}">{hinge}{write_chain(*below)}</body>'


@pytest.mark.slow  # MuJoCo compiles in a process
@pytest.mark.parametrize("twist", [0.0, 0.06])  # m, from the elbow to a joint that turns the forearm; 0 for none
def test_a_hand_is_not_where_the_elbow_is(tmp_path: Path, twist: float) -> None:
    limbs = ""
    for side, y in (("left", 1.0), ("right", -1.0)):
        shoulder, x, down = (f"{side}_a1", (0.0, 0.2 * y, 0.45), "0 1 0", 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, -0.35)
        arm = (f"{side}_a2", x, "1 0 0", 0.0), (f"{side}_a3", x, "0 0 1", 0.25)
        fore = (f"{side}_hand_link", (0.0, 0.0, -0.25), "0 1 0", 0.0 if twist else 0.22)
        yaw = (f"{side}_wrist_yaw", (0.0, 0.0, -twist), "0 0 1", 0.22 - twist)
        limbs += write_chain(shoulder, *arm, fore, *([yaw] if twist else []))
        hip = (f"{side}_l1", (0.0, 0.1 * y, 0.0), "1 0 0", 0.0), (f"{side}_l2", x, "0 1 0", 0.35)
        limbs += write_chain(*hip, (f"{side}_shank", down, "0 1 0", 0.35), (f"{side}_foot", down, "0 1 0", 0.05))
    head = write_chain(("head", (0.0, 0.0, 0.6), "0 1 0", 0.0))
    trunk = f'<body name="pelvis" pos="0 0 .8"><freejoint/><geom size=".1" mass="5"/>{head}{limbs}</body>'
    model = load(tmp_path, trunk)
    for side in "lr":
        hand, elbow = (model.fk(model.rest, f"{part}_{side}")[:3, 3] for part in ("hand", "elbow"))
        assert np.linalg.norm(hand - elbow) == pytest.approx(0.22, abs=1e-6)
        assert model.roles[f"elbow_{side}"].endswith("hand_link")


def copy_by_pickle(model: poise.Model) -> poise.Model:
    twin: poise.Model = pickle.loads(pickle.dumps(model))
    return twin


def copy_by_json(model: poise.Model) -> poise.Model:
    return parse_model(dump_model(model))


COPIES = pytest.mark.parametrize("copy", [copy_by_pickle, copy_by_json])


@pytest.fixture(scope="module")
def lying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a clip whose rest pose lies down, so that only its frames tell how the feet stand."""
    return write_lying(tmp_path_factory.mktemp("clips") / "lying.bvh", make_walk(40))


@COPIES
def test_a_copy_has_the_same_roles_and_soles(lying: Path, copy: Callable[[poise.Model], poise.Model]) -> None:
    model = poise.load(lying)
    twin = copy(model)
    assert twin == model
    one, other = poise.roles(model), poise.roles(twin)
    assert other == one
    assert list(other.contacts) == list(one.contacts)
    for name, point in one.contacts.items():
        assert other.contacts[name].frame == point.frame
        np.testing.assert_array_equal(other.contacts[name].point, point.point)


@COPIES
def test_a_copy_is_retargeted_alike(lying: Path, copy: Callable[[poise.Model], poise.Model]) -> None:
    model, walk = poise.load(lying), make_walk(8)
    one, other = (poise.retarget(walk, body).motion.q for body in (model, copy(model)))
    np.testing.assert_array_equal(other, one)


@COPIES
def test_a_copy_with_objects_has_the_roles_of_its_body(copy: Callable[[poise.Model], poise.Model]) -> None:
    body = poise.load("humanoid")
    held = poise.ModelBuilder("things").add_joint("ladder", None, "free", rest=(0, 0, 9, 1, 0, 0, 0)).build()
    scene = add_objects(body, held.layout.specs)
    assert copy(scene) == scene
    assert poise.roles(copy(scene)) == poise.roles(scene) == poise.roles(body)


@COPIES
def test_a_copy_lacks_the_roles_that_nothing_plays(copy: Callable[[poise.Model], poise.Model]) -> None:
    model = poise.load("humanoid").with_roles({"head": None})
    assert copy(model) == model
    assert "head" not in poise.roles(copy(model))


def test_models_with_other_example_poses_differ(lying: Path) -> None:
    model = poise.load(lying)
    (lying.parent / "other").mkdir()
    other = write_lying(lying.parent / "other" / "lying.bvh", make_walk(30))
    assert poise.load(other) != model
    assert poise.load(lying) == model


def test_a_tool_changes_no_role_and_no_sole(lying: Path) -> None:
    model = poise.load(lying)
    tool = model.with_frame("tool", model.roles["hand_l"], (0.0, 0.0, 0.1))
    np.testing.assert_array_equal(tool.example_poses, model.example_poses)


def write_arm(name: str, y: float) -> str:
    """Return an arm on a table, like a UR: its upper arm is next to its shoulder, its flange twists."""
    inner = '<body name="tool" pos="0 .09 0"><geom type="sphere" size=".02"/></body>'.replace("tool", f"{name}_tool")
    chain = (("flange", 0.0, 0.0, "0 1 0"), ("turn", 0.0, -0.1, "0 0 1"), ("wrist", 0.5, 0.0, "0 1 0"))
    for part, x, side, axis in (*chain, ("fore", 0.6, -0.1, "0 1 0"), ("upper", 0.0, 0.2, "0 1 0")):
        hinge = f'<joint axis="{axis}" range="-170 170"/><geom type="sphere" size=".05"/>'
        inner = f'<body name="{name}_{part}" pos="{x} {side} 0">{hinge}{inner}</body>'
    base = '<joint axis="0 0 1" range="-170 170"/><geom type="sphere" size=".08"/>'
    return f'<body name="{name}_base" pos="0 {y} .2">{base}{inner}</body>'


@pytest.mark.slow
@pytest.mark.parametrize("names", [("tam", "gol"), ("left", "right")])
def test_two_equal_arms_have_roles(tmp_path: Path, names: tuple[str, str]) -> None:
    arms = "".join(write_arm(name, y) for name, y in zip(names, (0.4, -0.4), strict=True))
    model = load(tmp_path, f'<body name="table">{arms}</body>')
    for part, frame in (("shoulder", "upper"), ("elbow", "fore"), ("hand", "flange")):
        assert {model.roles[f"{part}_{side}"] for side in "lr"} == {f"{name}_{frame}" for name in names}


@pytest.mark.slow
def test_an_arm_that_ends_at_the_elbow_is_read_from_the_other(tmp_path: Path) -> None:
    limbs = ""
    for k, y in enumerate((1.0, -1.0)):
        out = (0.0, 0.3 * y, 0.0)
        arm = ((f"a{k}", (0.0, 0.2 * y, 0.5), "1 0 0", 0.0), (f"b{k}", out, "0 0 1", 0.0), (f"c{k}", out, "1 0 0", 0.0))
        down = (0.0, 0.0, -0.35)
        leg = (f"d{k}", (0.0, 0.1 * y, 0.0), "0 1 0", 0.0), (f"e{k}", down, "0 1 0", 0.0)
        limbs += write_chain(*arm[: 3 - k]) + write_chain(*leg, (f"f{k}", down, "0 1 0", 0.05))
    head = write_chain(("head", (0.0, 0.0, 0.7), "0 1 0", 0.0))
    model = load(tmp_path, f'<body name="x" pos="0 0 .8"><freejoint/><geom size=".1" mass="5"/>{head}{limbs}</body>')
    assert {model.roles[f"elbow_{side}"] for side in "lr"} == {"b0", "b1"}
    hands = [model.fk(model.rest, f"hand_{side}")[:3, 3] for side in "lr"]
    assert hands[0] == pytest.approx(hands[1] * (1.0, -1.0, 1.0), abs=1e-6)


@pytest.mark.slow
def test_a_gripper_is_the_hand(tmp_path: Path) -> None:
    limbs = ""
    for side, y in (("left", 1.0), ("right", -1.0)):
        grip = f'<body name="{side}_gripper_base" pos="0 0 -.1"><geom type="sphere" size=".02" mass=".1"/></body>'
        x, shoulder = (0.0, 0.0, 0.0), (f"{side}_shoulder", (0.0, 0.3 * y, 0.5), "0 1 0", 0.0)
        arm = (
            (f"{side}_a2", x, "1 0 0", 0.0),
            (f"{side}_a3", x, "0 0 1", 0.3),
            (f"{side}_a4", (0.0, 0.0, -0.3), "0 1 0", 0.25),
        )
        wrist = write_chain(*((f"{side}_a5", (0.0, 0.0, -0.25), "1 0 0", 0.0),)).replace("</body>", f"{grip}</body>")
        limbs += write_chain(shoulder, *arm).replace("</body>", f"{wrist}</body>", 1)
    model = load(tmp_path, f'<body name="mast"><geom size=".1" mass="5"/>{limbs}</body>')
    for side, name in (("l", "left"), ("r", "right")):
        assert model.roles[f"hand_{side}"] == f"{name}_gripper_base"
        assert model.roles[f"wrist_{side}"] == f"{name}_a5"


@pytest.mark.slow
def test_a_dog_whose_feet_are_geoms_is_mirrored(tmp_path: Path) -> None:
    model = make_dog(tmp_path, SOLIDS["sphere"][0], ("A1", "B2", "C3", "D4"))
    pairs = Mirror(model).partners
    assert pairs[model.roles["knee_fl"]] == model.roles["knee_fr"]
