"""The npm package under Node, judged in Python by forward kinematics of the configurations that it returns."""

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import npm_package
import poise
from node_programs import find_node, run_node
from paths import DOCS
from poise.formats.solver_data import describe_solver
from poise.native import read_wasm
from poise.spatial import Rotation
from studio_page import PATIENCE

pytestmark = pytest.mark.slow

CALLS = Path(__file__).with_name("npm_calls.mjs")
EXACT = 1e-6  # m, rad
PAGE = """<!doctype html><script type="module">
import {load} from "/index.js";
const rig = await load("body.ik"), q = Array.from(rig.solve({hand_l: TARGET}).q);
const error = await load("nothing.ik").catch((problem) => problem.message);
document.title = JSON.stringify({q, error});
</script>"""
STANDING = ("toe_l", "toe_r")  # a heel may rise


@pytest.fixture(scope="module")
def node():
    """Node and the module, which CI has."""
    return find_node()


@pytest.fixture(scope="module")
def package(node, tmp_path_factory):
    """The folder that is packed."""
    assert node
    return npm_package.stage(tmp_path_factory.mktemp("poise-ik"))


@pytest.fixture(scope="module")
def call(node, package, tmp_path_factory):
    """A function that saves a body and returns the results of calls."""
    folder = tmp_path_factory.mktemp("bodies")

    def run(thing, *calls, **request):
        path = poise.save(thing, folder / "body.ik")
        calls = [["load", str(path)], *calls]
        return run_node(node, CALLS, package, calls=calls, **request)["results"][1:]

    return run


def keeps_ranges(model, q):
    """Whether all coordinates of joints are within their ranges."""
    q, ranged = np.array(q), [joint for joint in model.joints if joint.nq == joint.nv and not joint.mimic]
    return all(np.all((joint.lower - 1e-9 <= q[joint.q]) & (q[joint.q] <= joint.upper + 1e-9)) for joint in ranged)


def quaternion(T):
    """The rotation of a transform as [x, y, z, w]."""
    w, *xyz = Rotation.from_matrix(np.asarray(T)[:3, :3]).wxyz
    return [*xyz, w]


def test_an_arm_reaches_transforms(call):
    model = poise.load("ur5e")
    rng = np.random.default_rng(11)
    goals = [np.array(model.fk(model.random(rng), "tool0")) for _ in range(40)]
    targets = [{"position": T[:3, 3].tolist(), "rotation": quaternion(T)} for T in goals]
    found = call(model, *(["solve", {"tool0": target}] for target in targets))
    reached = [T for T, answer in zip(goals, found, strict=True) if answer["reached"]]
    assert len(reached) >= 0.9 * len(goals)
    for T, answer in zip(goals, found, strict=True):
        assert keeps_ranges(model, answer["q"])
        ours = np.array(model.fk(answer["q"], "tool0"))
        away = float(np.linalg.norm(ours[:3, 3] - T[:3, 3]))
        assert abs(away - answer["errors"]["tool0"]["position"]) < 1e-9
        if answer["reached"]:
            assert away < EXACT
            assert np.abs(ours - T).max() < 2 * EXACT


def test_a_figure_reaches_points_on_planted_feet(call):
    model = poise.load("humanoid")
    rng = np.random.default_rng(12)
    rest = np.array(model.fk(model.rest))
    goals = rest[model.frames.index("hand_l"), :3, 3] + rng.uniform(-0.15, 0.15, (25, 3))
    calls = [each for goal in goals for each in (["reset"], ["solve", {"hand_l": goal.tolist()}])]
    found = call(model, *calls)[1::2]
    errors = []
    for goal, answer in zip(goals, found, strict=True):
        T = np.array(model.fk(answer["q"]))
        assert answer["reached"]
        assert keeps_ranges(model, answer["q"])
        errors.append(np.linalg.norm(T[model.frames.index("hand_l"), :3, 3] - goal))
        assert abs(errors[-1] - answer["errors"]["hand_l"]["position"]) < 1e-9
        for foot in STANDING:
            k = model.frames.index(foot)
            assert np.abs(T[k] - rest[k]).max() < EXACT
        listed = [answer["transforms"][name]["matrix"] for name in model.frames]
        assert np.abs(np.reshape(listed, T.shape) - T).max() < 1e-9
    assert np.mean(np.array(errors) < EXACT) > 0.9, "a point at the edge is reached within its tolerance only"


def test_rotations_and_pins_are_kept_together(call):
    model = poise.load("humanoid")
    hand = np.array(model.fk(model.rest, "hand_r"))[:3, 3]
    wanted = np.array(model.fk(model.rest, "foot_r"))
    wanted[:3, 3] += [0.05, 0.15, 0.1]
    wanted[:3, :3] = Rotation.from_vector([0.0, 0.3, 0.0]).matrix @ wanted[:3, :3]
    x, y, z = wanted[:3, 3].tolist()
    forms = [
        {"position": [x, y, z], "rotation": wanted[:3, :3].tolist()},
        {"position": {"x": x, "y": y, "z": z}, "rotation": quaternion(wanted)},
    ]
    calls = [[["reset"], ["pin", "hand_r"], ["solve", {"foot_r": form}]] for form in forms]
    found = call(model, *calls[0], *calls[1], ["get", "held"])
    for answer in (found[2], found[5]):
        assert answer["reached"]
        assert np.abs(np.array(model.fk(answer["q"], "foot_r")) - wanted).max() < EXACT
        assert np.abs(np.array(model.fk(answer["q"], "hand_r"))[:3, 3] - hand).max() < EXACT
    assert found[-1] == {"foot_l": "plant", "foot_r": "plant", "hand_r": "pin"}


def test_a_target_does_not_move_the_pin_that_it_replaces(call):
    model = poise.load("humanoid")
    hand = np.array(model.fk(model.rest, "hand_r"))
    there = {"position": (hand[:3, 3] + [0.0, 0.1, 0.1]).tolist(), "rotation": quaternion(hand)}
    _, away, back = call(model, ["pin", "hand_r"], ["solve", {"hand_r": there}], ["solve"])
    assert np.abs(np.array(model.fk(away["q"], "hand_r"))[:3, 3] - there["position"]).max() < EXACT
    assert np.abs(np.array(model.fk(back["q"], "hand_r")) - hand).max() < EXACT


def test_solves_equal_those_of_a_page_and_of_a_rig(call):
    model = poise.load("humanoid")
    rig = poise.Rig(model)
    rig.plant()
    data = describe_solver(rig, rig.q[None])
    target = np.add(rig.state.transform("hand_l").translation, [0.1, 0.2, 0.15]).tolist()
    own, page = call(model, ["solve", {"hand_l": target}, {"restarts": 0}], ["page", data, "hand_l", target])
    assert np.abs(np.array(own["q"]) - page).max() < 2e-3  # the page goes on until nothing moves
    for _ in range(50):
        rig.drag("hand_l", target)
    assert np.abs(np.array(own["q"]) - rig.q).max() < 2e-3
    assert own["errors"]["balance"]["reached"]


def test_a_rig_keeps_its_pins_and_frozen_joints(call):
    model = poise.load("humanoid")
    rig = poise.Rig(model)
    rig.pin("hand_r")
    rig.freeze("elbow_l")
    k = model.joint("elbow_l").q.start
    held, far = call(rig, ["get", "held"], ["solve", {"hand_l": [3.0, 3.0, 3.0]}])
    assert held == {"hand_r": "pin"}
    assert not far["reached"]
    assert far["q"][k] == rig.q[k]


def test_a_pin_at_a_point_takes_points_only(call):
    model = poise.load("humanoid")
    rig = poise.Rig(model)
    hand = np.array(rig.pose.position("hand_r"))
    rig.pin("hand_r", hand)
    point, turned = np.add(hand, [0.0, 0.1, 0.05]).tolist(), [0, 0, 0, 1]
    place = {"position": point, "rotation": turned}
    calls = [["pin", "hand_r", place], ["solve", {"hand_r": place}], ["pin", "hand_r", point], ["solve"]]
    pinned, solved, none, moved = call(rig, *calls)
    assert 'pin: target.rotation: "hand_r" was saved with a pin at a point' in pinned["error"]
    assert "targets.hand_r.rotation:" in solved["error"]
    assert none is None
    assert np.abs(np.array(model.fk(moved["q"], "hand_r"))[:3, 3] - point).max() < EXACT


def test_out_of_reach_is_reported_within_the_ranges(call):
    model = poise.load("ur5e")
    target = [2.0, 0.3, 0.4]
    far, near, first, again = call(
        model, ["solve", {"tool0": target}], ["solve", {"tool0": [0.4, 0.2, 0.4]}], ["reset"], ["get", "q"]
    )
    assert not far["reached"]
    assert keeps_ranges(model, far["q"])
    away = np.linalg.norm(np.array(model.fk(far["q"], "tool0"))[:3, 3] - target)
    assert abs(away - far["errors"]["tool0"]["position"]) < 1e-9
    assert away > 0.5
    assert near["reached"]
    assert first is None
    assert np.abs(np.array(again) - model.rest).max() == 0.0


@pytest.mark.parametrize("turned", [False, True])
def test_bones_follow_the_frames(call, turned):
    """Bones with other axes than the frames, of another size, below an object that is not a bone."""
    model = poise.load("humanoid")
    rng = np.random.default_rng(5)
    rest, scale = np.array(model.fk(model.rest)), 100.0 if turned else 1.0
    own = {"": np.eye(4)}  # of each bone in the world
    if turned:
        own[""][:3, :3], own[""][:3, 3] = Rotation.random(rng).matrix, [1.0, 2.0, 3.0]
    bones = [{"name": "scene", "parent": -1, "position": own[""][:3, 3].tolist(), "quaternion": quaternion(own[""])}]
    order = [name for name in model.frames if model.joints_above(name)]
    for name in order:
        parent = next((each for each in model.ancestors(name)[1:] if each in own), "")
        own[name] = rest[model.frames.index(name)].copy()
        own[name][:3, 3] *= scale
        if turned:
            own[name][:3, :3] = own[name][:3, :3] @ Rotation.random(rng).matrix
        local = np.linalg.inv(own[parent]) @ own[name]
        at = {"position": local[:3, 3].tolist(), "quaternion": quaternion(local)}
        bones.append({"name": name, "parent": order.index(parent) + 1 if parent else 0, **at})
    target = (rest[model.frames.index("hand_l"), :3, 3] + [0.1, 0.2, 0.1]).tolist()
    calls = [["bind", bones, {"scale": scale}], ["solve", {"hand_l": target}], ["update"]]
    _, answer, moved = call(model, *calls, unbound=1)
    T, world = np.array(model.fk(answer["q"])), list[np.ndarray]()
    for bone, now in zip(bones, moved, strict=True):
        x, y, z, w = now["quaternion"]
        local = np.eye(4)
        local[:3, :3], local[:3, 3] = Rotation([w, x, y, z]).matrix, now["position"]
        world.append(local if bone["parent"] < 0 else world[bone["parent"]] @ local)
    for name, found in zip(["", *order], world, strict=True):
        if name:
            k = model.frames.index(name)
            assert np.abs(found[:3, 3] / scale - T[k, :3, 3]).max() < 1e-9
            offset = rest[k, :3, :3].T @ own[name][:3, :3]
            assert np.abs(found[:3, :3] - T[k, :3, :3] @ offset).max() < 1e-9


WRONG = {
    'targets: a name is "hand"; it must be one of: hand_l': ["solve", {"hand": [0, 0, 0]}],
    "targets.hand_l is [1, 2]; it must be 3 finite numbers": ["solve", {"hand_l": [1, 2]}],
    "targets.hand_l is [1, 2, ]; it must be 3": ["solve", {"hand_l": [1, 2, None]}],
    "targets.hand_l has no position; add position": ["solve", {"hand_l": {"rotation": [0, 0, 0, 1]}}],
    'targets.hand_l has the key "at"; its keys are position': ["solve", {"hand_l": {"position": [0, 0, 0], "at": 1}}],
    "is a quaternion of length 0": ["solve", {"hand_l": {"position": [0, 0, 0], "rotation": [0, 0, 0, 0]}}],
    "is not a rotation: its rows": ["solve", {"hand_l": {"position": [0, 0, 0], "rotation": [[2, 0, 0]] * 3}}],
    "targets is 3; it must be an object": ["solve", 3],
    'options has the key "restart"; its keys are restarts': ["solve", {}, {"restart": 3}],
    "options.restarts is -1; it must be an integer": ["solve", {}, {"restarts": -1}],
    "options.look is 3; it must be 3 finite numbers": ["solve", {}, {"look": 3}],
    'pin: name is "tail"; it must be one of': ["pin", "tail"],
    'plant: name is "hand_l"; it must be one of: foot_l, foot_r. For other handles use pin': ["plant", "hand_l"],
    'release: name is "tail"': ["release", "tail"],
    'transform: frame is "tail"': ["transform", "tail"],
    "q is [1, 2]; it must be a list of": ["setQ", [1, 2]],
    "bindSkeleton: bones must be a THREE.Skeleton": ["bind", []],
    "bindSkeleton: no bone has the name of a frame. Bones: tail": [
        "bind",
        [{"name": "tail", "parent": -1, "position": [0, 0, 0], "quaternion": [0, 0, 0, 1]}],
    ],
    "load: source cannot be read: nothing.ik": ["load", "nothing.ik"],
    "load: source is number; it must be a path": ["load", 3],
}


def test_bad_input_is_an_error_with_advice(call):
    found = call(poise.load("humanoid"), *WRONG.values())
    assert [text for text, answer in zip(WRONG, found, strict=True) if text not in answer["error"]] == []


def test_a_configuration_outside_a_range_is_rejected(call):
    model = poise.load("ur5e")
    (found,) = call(model, ["setQ", [9.0, *model.rest[1:]]])
    assert 'q[0], of joint "shoulder_pan_joint", is 9, outside its range from -6.28' in found["error"]


def test_without_goals_nothing_moves(call):
    model = poise.load("ur5e")
    (found,) = call(model, ["solve"])
    assert found["q"] == list(model.rest)
    assert (found["reached"], found["errors"]) == (True, {})


def test_files_of_other_versions_are_rejected(node, package, tmp_path):
    path = poise.save(poise.load("planar3"), tmp_path / "arm.ik")
    data = json.loads(path.read_text("utf-8"))
    changes = [{"library": "9.9.9"}, {"version": 7}, {"poise": "body"}, {"problem": data["body"]}, {"q": "?"}]
    texts = [*(json.dumps(data | change) for change in changes), "\0"]
    calls = [["loadBytes", str(path)]]
    for k, text in enumerate(texts):
        (tmp_path / f"{k}.ik").write_text(text)
        calls.append(["load", str(tmp_path / f"{k}.ik")])
    found = run_node(node, CALLS, package, calls=calls)["results"]
    assert found[0] == "planar3"
    other, damaged = "is not a body for poise-ik", "is damaged"
    words = ["saved by Poise 9.9.9", "has version 7", other, damaged, damaged, other]
    assert [word for word, answer in zip(words, found[1:], strict=True) if word not in answer["error"]] == []


@pytest.mark.browser
def test_a_browser_solves_as_node(call, browser, package, tmp_path):
    model = poise.load("humanoid")
    target = (np.array(model.fk(model.rest, "hand_l"))[:3, 3] + [0.1, 0.2, 0.1]).tolist()
    page = PAGE.replace("TARGET", json.dumps(target))
    body = poise.save(model, tmp_path / "body.ik")
    asked = []

    def answer(route):
        name = route.request.url.rpartition("/")[2]
        asked.append(name)
        kind = {"": "text/html", "js": "text/javascript", "wasm": "application/wasm"}.get(name.rpartition(".")[2])
        if name == "nothing.ik":
            return route.fulfill(status=404)
        content = {"": page.encode(), body.name: body.read_bytes()}.get(name) or (package / name).read_bytes()
        return route.fulfill(body=content, content_type=kind or "application/octet-stream")

    with browser.new_context() as context:
        tab = context.new_page()
        tab.route("**/*", answer)
        tab.goto("http://poise.test/")
        tab.wait_for_function("document.title !== ''", timeout=1e3 * PATIENCE)
        found = json.loads(tab.title())
    (own,) = call(model, ["solve", {"hand_l": target}])
    assert {"kernels.wasm", "body.ik"} <= set(asked)
    assert np.abs(np.array(found["q"]) - own["q"]).max() < 1e-9
    assert "load: source cannot be read: nothing.ik (HTTP 404)" in found["error"]


def test_the_scripts_of_the_docs_run(node, package, tmp_path):
    """In a project with the package; scripts that need three.js are left out."""
    blocks = re.findall(r"```js\n(.*?)```", (DOCS / "javascript.md").read_text("utf-8"), re.DOTALL)
    script = "".join(block for block in blocks if "three" not in block)
    poise.save(poise.load("humanoid"), tmp_path / "humanoid.ik")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "poise-ik").symlink_to(package)
    (tmp_path / "solve.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run([node, "solve.mjs"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("true true\n")


def test_types_and_script_have_the_same_names(package):
    types, script, rig = ((package / name).read_text("utf-8") for name in ("index.d.ts", "index.js", "rig.js"))
    names = re.findall(r"^export (?:declare )?(?:function|class|const) (\w+)", types, re.MULTILINE)
    assert sorted(names) == sorted(re.findall(r"export \{(\w+)\}", script))
    (body,) = re.findall(r"^export class Rig \{(.*?)^\}", types, re.MULTILINE | re.DOTALL)
    typed = set(re.findall(r"^  (?:readonly |get |set )?(\w+)[(:]", body, re.MULTILINE))
    methods = re.findall(r"^  (?:get |set )?([a-z]\w*)\(.*\{", rig, re.MULTILINE)
    fields = re.findall(r"this\.([a-z]\w*) =", rig)
    assert typed == {*methods, *fields} - {"constructor"}


def test_npm_packs_the_module_types_and_readme(package, tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is missing: type sudo apt install npm")
    archive = npm_package.pack(package, tmp_path)
    with tarfile.open(archive) as packed:
        names = {name.removeprefix("package/") for name in packed.getnames()}
        described = json.load(packed.extractfile("package/package.json"))
        module = packed.extractfile("package/kernels.wasm").read()
    assert archive.name == f"poise-ik-{poise.__version__}.tgz"
    assert names >= {"index.js", "index.d.ts", "README.md", "LICENSE", "kernels.js"}
    assert "dependencies" not in described
    assert module == read_wasm()
