"""Extras open doors and change no answer: the same bits where none is installed, and where all are there and loaded."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import poise
from paths import ROOT, SOURCES
from poise.bridges.rerun import log
from poise.cli.line_server import import_msgpack
from poise.errors import MissingExtra
from poise.goals import Reach
from poise.methods import Scipy
from poise.native import gpu
from poise.scale.on_ray import load_ray
from poise.studio import downloads
from poise.studio.web.gate import Gate
from poise.studio.web.viser_server import start_server
from source_trees import read_nodes

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
USERS = {name: lines for name, lines in DECLARED.items() if name not in ("all", "peers")}
FILES = sorted(SOURCES.rglob("*.py"))
MODULES = {
    "imageio-ffmpeg": "imageio_ffmpeg",
    "cupy-cuda12x": "cupy",
    "cupy-cuda13x": "cupy",
    "pillow": "PIL",
    "pyyaml": "yaml",
    "rerun-sdk": "rerun",
    "usd-core": "pxr",
}  # the others are called as their package
# Packages that users have in addition to Poise, and the dependencies of the extras.
OTHERS = ("lxml", "pinocchio", "pygltflib", "ray", "torch", "yourdfpy", "rich", "click", "PIL")

THEIR_OWN = {"jax", "torch"}  # whoever hands in their arrays has them
FOR_TYPES = {"typing_extensions"}  # type checkers have it; nothing loads it


def module_of(requirement: str) -> str:
    """The module that a requirement brings."""
    package = re.split(r"[<>=;\[ ]", requirement)[0]
    return MODULES.get(package, package)


EXTRAS = sorted({module_of(line) for lines in USERS.values() for line in lines} | set(OTHERS))


class Hiding:
    """A finder of modules that does not find some, as if they were not installed."""

    def __init__(self, finder: Any, hidden: Collection[str]) -> None:
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


# Hidden modules are not found by anybody; loaded ones are there before Poise is.
HIDE = f"""
from typing import Any, Collection
{inspect.getsource(Hiding)}
sys.meta_path[:] = [Hiding(finder, EXTRAS) for finder in sys.meta_path]
for name in EXTRAS:
    assert importlib.util.find_spec(name) is None
"""
LOAD = """
for name in EXTRAS:
    if importlib.util.find_spec(name):
        importlib.import_module(name)
        loaded.append(name)
"""

# Arms, a character with levels and limits, every method, a batch, a rig, files and words.
ANSWERS = """
import hashlib, tempfile, warnings
from pathlib import Path
import numpy as np
import poise
from poise.goals import Balance, LookAt, Reach, Rest

def note(name, *values):
    data = b"".join(v.encode() if isinstance(v, str) else np.asarray(v, np.float64).tobytes() for v in values)
    hashes[name] = hashlib.sha256(data).hexdigest()

rng = np.random.default_rng(3)
for name, frame in (("panda", "panda_hand_tcp"), ("ur5e", "tool0"), ("iiwa14", None), ("snake100", None)):
    model = poise.load(name)
    frame = frame or model.frames[-1]
    targets = model.fk(model.random(rng, 20), frame)
    found = [poise.solve(model, [Reach(frame, T)]) for T in targets[:6]]
    note(name, *(s.q for s in found), str([s.status.name for s in found]))
    rows = poise.solve_batch(model, [Reach(frame, targets[0])], targets)
    note(name + " batch", rows.q, rows.reached)
    far = poise.solve(model, [Reach(frame, (9.0, 9.0, 9.0))])
    note(name + " why", far.q, far.why())

human = poise.load("humanoid")
ball = (0.4, 1.2, 0.3)
feet = [Reach(f, human.fk(np.array(human.rest), f)) for f in ("foot_l", "foot_r")]
goals = [Reach("hand_l", ball), LookAt("eyes", ball, priority=1), *feet, Balance(["foot_l", "foot_r"]), Rest()]
posed = poise.solve(human, goals)
note("humanoid", posed.q, *posed.errors.values(), str(posed.active_limits))
rig = poise.Rig(human)
note("rig", rig.drag("hand_r", (-0.3, 1.3, 0.4)).q)

arm = poise.load("planar3")
for method in poise.methods.names():
    if method != "scipy":
        try:
            note(method, poise.solve(arm, [Reach(arm.frames[-1], (0.8, 0.7, 0.0))], method=method).q)
        except poise.errors.PoiseError as error:
            note(method, str(error))

with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    motion = poise.Motion(human, np.array([human.rest, posed.q]), 30)
    for suffix in ("bvh", "glb", "csv", "npz"):
        path = poise.save(motion, Path(folder) / f"clip.{suffix}")
        note(suffix, poise.load_motion(path, **({"model": human} if suffix in ("csv", "npz") else {})).q)
    path = poise.save(poise.load("panda"), Path(folder) / "arm.urdf")
    read = poise.load(path)
    note("urdf", read.fk(np.array(read.rest)))
"""

PROGRAM = """
import importlib, importlib.util, json, sys
EXTRAS, loaded, hashes = {extras!r}, [], {{}}
{setting}
{answers}
print(json.dumps([loaded, hashes]))
"""


def answers(setting: str) -> tuple[list[str], dict[str, str]]:
    """Which extras were loaded, and a fingerprint of each answer."""
    code = PROGRAM.format(extras=EXTRAS, setting=setting, answers=ANSWERS)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded, hashes = json.loads(done.stdout.splitlines()[-1])
    return loaded, hashes


@pytest.mark.slow
def test_no_answer_depends_on_which_extras_are_installed() -> None:
    _, bare = answers(HIDE)
    loaded, full = answers(LOAD)
    assert {"scipy", "matplotlib"} <= set(loaded), "this test needs some extras to hide: make test installs them"
    assert len(bare) > 25
    assert [name for name in bare if bare[name] != full.get(name)] == []
    assert bare.keys() == full.keys()


def imported_roots(path: Path) -> set[str]:
    """The packages that a file imports, anywhere in it."""
    roots = set()
    for node in read_nodes()[path]:
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            roots.add(node.module.partition(".")[0])
    return roots


@pytest.mark.slow
def test_what_is_imported_is_numpy_or_named_by_an_extra() -> None:
    known = {*sys.stdlib_module_names, *THEIR_OWN, *FOR_TYPES, "poise", "numpy"}
    foreign = set().union(*map(imported_roots, FILES)) - known
    assert foreign <= {module_of(line) for lines in USERS.values() for line in lines}


@pytest.mark.parametrize("extra", USERS)
def test_an_extra_names_only_what_is_imported(extra: str) -> None:
    text = "\n".join(path.read_text("utf-8") for path in FILES)
    for line in USERS[extra]:
        assert re.search(rf"\b(import|from) {module_of(line)}\b", text), f"nothing imports {line}"


# ------------------------------------------------------------------------------------------------ one that is missing


def hide(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package impossible to import, as if it were not installed, whether it was imported before or not."""
    for name in list(sys.modules):
        if name == module or name.startswith((f"{module}.", "poise.cli.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Hiding(finder, {module}) for finder in sys.meta_path])


def load_text(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    poise.load(folder / name)


def open_command_line(_: Path) -> None:
    from poise.cli import main

    main()


def save_parquet(folder: Path) -> None:
    poise.save(poise.Pose(poise.load("planar2")), folder / "pose.parquet")


def load_xacro(folder: Path) -> None:
    (folder / "a.yaml").write_text("base", "utf-8")
    load_text(folder, "a.xacro", XACRO)


def solve_with_scipy(_: Path) -> None:
    arm = poise.load("planar2")
    poise.solve(arm, Reach(arm.frames[-1], (0.5, 0.5, 0.0)), method=Scipy())


XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${load_yaml(\'a.yaml\')}"/></robot>'
MJCF = '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
MOVE = poise.Motion(poise.load("planar2"), [[0.0, 0.0], [0.1, 0.2]])
DOORS: dict[str, Callable[[Path], Any]] = {
    "cupy": lambda _: gpu.load_cupy(),
    "imageio": lambda _: downloads.take_picture(None),
    "imageio_ffmpeg": lambda folder: poise.plot(MOVE, folder / "a.mp4"),
    "matplotlib": lambda folder: poise.plot(poise.load("planar2"), folder / "a.png"),
    "msgpack": lambda _: import_msgpack(),
    "mujoco": lambda folder: load_text(folder, "a.xml", MJCF),
    "pyarrow": save_parquet,
    "ray": lambda _: load_ray(),
    "rerun": lambda _: log("arm", poise.load("planar2")),
    "rich": open_command_line,
    "scipy": solve_with_scipy,
    "typer": open_command_line,
    "pxr": lambda folder: load_text(folder, "a.usda", "#usda 1.0"),
    "ufbx": lambda folder: load_text(folder, "a.fbx", "; FBX"),
    "viser": lambda _: start_server("127.0.0.1", 0, "a studio", Gate.make("127.0.0.1")),
    "yaml": load_xacro,
}
# who has the one on the right has the one on the left
BROUGHT = {"trimesh": "viser", "websockets": "viser", "PIL": "matplotlib"}


@pytest.mark.parametrize("module", DOORS)
def test_without_a_package_the_error_has_the_install_command(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extras = [name for name, lines in USERS.items() if module in map(module_of, lines)]
    hide(module, monkeypatch)
    with pytest.raises((MissingExtra, SystemExit), match=rf"pip install ['\"]poise-ik\[({'|'.join(extras)})\]['\"]"):
        DOORS[module](tmp_path)


def test_every_package_of_an_extra_has_a_door() -> None:
    named = {module_of(line) for lines in USERS.values() for line in lines}
    assert named == {*DOORS, *BROUGHT}
    for module, owner in BROUGHT.items():
        pytest.importorskip(owner)
        assert module in {module_of(line) for line in metadata.requires(owner) or ()}
