"""The Blender extension: scenes of `blender_scenes.py` run in headless Blender and are judged here.

Places and rotations are Blender's own matrices. The tests need Blender (`sudo apt install blender python3-numpy`), or
in POISE_BPY a Python of the same version as this one that has the package bpy, for other versions of Blender.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import blender_extension
import poise
from paths import ROOT
from poise import native
from walks import make_walk, put_skate_in, stands

tomllib = pytest.importorskip("tomllib")  # from Python 3.11, which Blender has

NEAR = 1e-4  # m
NO_POISE = 77
EXTENSION = ROOT / "blender" / "poise_ik"
LIMBS = {  # of the walk, and of the hand-built person
    "hip_l knee_l": "thigh.L shin.L",
    "knee_r ankle_r": "shin.R foot.R",
    "shoulder_l elbow_l": "upper_arm.L forearm.L",
    "elbow_r wrist_r": "forearm.R hand.R",
}


def run_blender(script, *arguments, **environment):
    """Run a script in headless Blender, or by the Python of POISE_BPY, and return what it prints."""
    python = os.environ.get("POISE_BPY")
    if python is None and shutil.which("blender") is None:
        pytest.skip("Blender is missing: type sudo apt install blender python3-numpy")
    options = ["-b", "--factory-startup", "--python-use-system-env", "--python-exit-code", "1", "--python"]
    command = ["blender", *options] if python is None else [python]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*command, str(script), "--", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300.0,
        env={**kept, **environment, "OPENBLAS_NUM_THREADS": "1"},
    )
    if done.returncode == NO_POISE:
        pytest.skip("Blender's Python cannot import this build of Poise")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def copy_package(folder):
    """Copy Poise into a folder with its compiled part, which an editable build has elsewhere; return the folder."""
    shutil.copytree(Path(poise.__file__).parent, folder / "poise", ignore=shutil.ignore_patterns("__pycache__"))
    core = Path(native._core.__file__)
    shutil.copyfile(core, folder / "poise" / "native" / core.name)
    return folder


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """The results of all scenes, by name."""
    folder = tmp_path_factory.mktemp("blender")
    poise.save(put_skate_in(make_walk(60)), folder / "walk.glb")
    poise.save(make_walk(60), folder / "walk.bvh")
    script = ROOT / "tests" / "support" / "blender_scenes.py"
    run_blender(script, folder, PYTHONPATH=str(copy_package(tmp_path_factory.mktemp("package"))))
    return {path.stem: np.load(path) for path in folder.glob("*.npz")}


pytestmark = pytest.mark.slow


# ------------------------------------------------------------------------------------------------ pin and drag


def test_all_parts_are_at_their_empties_in_the_same_frame(scenes):
    """Nine moves of hands and hips: pinned, dragged and free parts, on a turned object in centimetres."""
    drag = scenes["drag"]
    assert set(drag["handles"]) == {"foot_l", "foot_r", "hand_l", "hand_r", "head", "pelvis"}
    assert drag["gaps"].shape == (9, 6)
    assert drag["gaps"].max() < NEAR
    modes = dict(zip(drag["handles"], drag["modes"], strict=True))
    assert [modes[name] for name in ("foot_l", "hand_l", "pelvis", "head")] == ["PIN", "REACH", "REACH", "FREE"]


def test_pinned_feet_stay_where_they_were(scenes):
    drag = scenes["drag"]
    feet = [list(drag["bones"]).index(f"foot.{side}") for side in "LR"]
    assert np.ptp(drag["moved"][:, feet], axis=0).max() < NEAR
    assert np.ptp(drag["moved"], axis=0).max() > 0.1


def test_bones_outside_the_body_do_not_move(scenes):
    """The root below the hips, and a prop on it."""
    drag = scenes["drag"]
    assert drag["untouched"] == 0.0
    root = drag["moved"][:, list(drag["bones"]).index("root")]
    assert np.ptp(root, axis=0).max() == 0.0


def test_limits_of_bones_are_ranges(scenes):
    """IK limits make a knee a hinge that bends back only; constraints do not change the pose that was written."""
    drag = scenes["drag"]
    assert 0.5 < drag["knee"][0] < 2.6
    assert np.abs(drag["hinge"]).max() < 1e-5
    assert abs(drag["elbow"][1]) < 0.1 + 1e-5
    assert drag["evaluated"] < 1e-4  # cm


def test_a_turned_empty_turns_its_part(scenes):
    assert scenes["drag"]["turned"] < 1e-4


def test_an_imported_character_is_dragged_over_its_action(scenes):
    """A BVH with Euler bones in several orders; the held parts stay on their empties in another frame."""
    follow = scenes["follow"]
    assert len(follow["modes"]) > 1
    assert follow["gaps"].max() < NEAR
    assert set(follow["held"]) == {"foot_l", "foot_r", "hand_l", "pelvis"}
    assert follow["later"].max() < NEAR


@pytest.mark.parametrize("change", ["dragged", "redone", "object", "edited", "opened"])
def test_the_body_still_follows_after(scenes, change):
    """A drag, redo, a moved object, an edited bone, and the saved file opened again."""
    assert float(scenes["change"][change]) < NEAR


def test_undo_restores_pose_and_handles(scenes):
    change = scenes["change"]
    assert np.abs(change["undone"]).max() < 1e-6
    assert np.abs(change["redone"]).max() < 1e-6
    assert str(change["mode"]) == "FREE"


def test_an_event_that_cannot_be_served_switches_live_off(scenes):
    """An uneven scale; the reason is logged once, and not with every event."""
    assert not scenes["change"]["live"]


def test_a_baked_action_has_the_hands_at_their_empties(scenes):
    bake = scenes["bake"]
    assert np.ptp(bake["wanted"][:, 0], axis=0).min() > 0.05
    assert np.linalg.norm(bake["wanted"] - bake["found"], axis=2).max() < NEAR
    assert np.ptp(bake["found"][:, 1], axis=0).max() < NEAR
    assert len(bake["left"]) == 0
    assert str(bake["report"]) == "INFO Baked 30 frames into 'person baked'."


def test_a_bake_reports_frames_out_of_reach(scenes):
    """The hand leaves the reach of the pinned body upwards."""
    said = str(scenes["overreach"]["report"])
    assert re.match(
        r"INFO Baked 30 frames into 'person baked'\. In \d+ of them, from frame \d+, hand_l is .* away", said
    )


# ------------------------------------------------------------------------------------------------ actions


def test_feet_that_slipped_are_held(scenes):
    """On an object of half the size, turned and moved."""
    lock = scenes["lock"]
    slips: dict[str, list[float]] = {"before": [], "after": []}
    for side in "lr":
        both = stands(side, 60, 30.0)
        both = both[1:] & both[:-1]
        ball = list(lock["bones"]).index(f"ball_{side}")
        for when, found in slips.items():
            found.append(np.linalg.norm(np.diff(lock[when][:, ball], axis=0), axis=1)[both].max())
    assert min(slips["before"]) > 5e-4
    assert max(slips["after"]) < 2e-6
    assert np.abs(lock["after"] - lock["before"]).max() < 0.02


def test_the_report_says_what_was_held_and_the_old_action_stays(scenes):
    lock = scenes["lock"]
    assert re.match(r"INFO walk locked: \d+ contacts\. Every goal is reached .* hold", str(lock["report"]))
    assert str(lock["action"]) == "walk locked"
    assert bool(lock["old"])


def test_a_retargeted_action_keeps_the_directions_of_limbs(scenes):
    """From a turned walk at half the size onto a body with other rest poses, rolls and rotation modes."""
    moved = scenes["retarget"]
    for own, other in LIMBS.items():
        ways = []
        for names, which in ((own, "source"), (other, "target")):
            start, end = (list(moved[f"{which}_bones"]).index(name) for name in names.split())
            way = moved[which][:, end] - moved[which][:, start]
            ways.append(way / np.linalg.norm(way, axis=1, keepdims=True))
        angles = np.degrees(np.arccos(np.clip((ways[0] * ways[1]).sum(axis=1), -1.0, 1.0)))
        assert np.median(angles) < 8.0, own
    hips = [moved[which][:, list(moved[f"{which}_bones"]).index(name)] for which, name in HIPS]
    legs = np.linalg.norm(hips[1][-1, :2] - hips[1][0, :2]) / np.linalg.norm(hips[0][-1, :2] - hips[0][0, :2])
    assert legs == pytest.approx(2.0, abs=0.1)
    assert list(moved["range"]) == [0.0, 59.0]
    assert moved["bends"].min() > -1e-5  # knees keep their range


HIPS = (("source", "pelvis"), ("target", "hips"))


# ------------------------------------------------------------------------------------------------ messages, package


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("nothing", "No armature is selected. Click one"),
        ("still", "has no action. Assign one"),
        ("source", "Choose another armature as Source"),
        ("handles", "Run Add Handles first"),
        ("selection", "No handle is selected. Click"),
        ("scale", "Apply it first"),
        ("feet", "Name the bones of its legs"),
    ],
)
def test_errors_say_what_to_do(scenes, scene, words):
    said = str(scenes["errors"][scene])
    assert said.startswith("ERROR ")
    assert words in said


def test_versions_agree():
    manifest = tomllib.loads((EXTENSION / "blender_manifest.toml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    numbers = re.search(r'"version": \((.+)\)', (EXTENSION / "__init__.py").read_text("utf-8"))
    assert manifest["version"] == project["version"] == blender_extension.read_version()
    assert numbers[1].replace(", ", ".") == manifest["version"]


INSTALL = """
import sys, bpy
bpy.ops.preferences.addon_install(filepath=sys.argv[-1])
bpy.ops.preferences.addon_enable(module="poise_ik")
bpy.ops.poise.add_handles()
import poise
print("loaded", poise.__file__)
"""
ARMATURE = """
import bpy
bpy.ops.object.armature_add()
"""


@pytest.fixture
def package(tmp_path):
    """A zip of the extension with a wheel of this build of Poise."""
    home = copy_package(tmp_path / "package") / "poise"
    tag = f"cp3{sys.version_info[1]}"
    wheel = tmp_path / f"poise_ik-{blender_extension.read_version()}-{tag}-{tag}-linux_{os.uname().machine}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in home.rglob("*"):
            if path.is_file() and path.suffix in (".py", ".so", ".js", ".html", ".typed"):
                archive.write(path, Path("poise") / path.relative_to(home))
    return blender_extension.pack([wheel], tmp_path)


def test_the_manifest_of_a_package_lists_its_wheels(package):
    with zipfile.ZipFile(package) as archive:
        manifest = tomllib.loads(archive.read("poise_ik/blender_manifest.toml").decode())
        assert [f"poise_ik/{name.removeprefix('./')}" for name in manifest["wheels"]] == [
            name for name in archive.namelist() if name.endswith(".whl")
        ]
    assert manifest["id"] == "poise_ik"


def test_an_installed_package_brings_poise_with_it(package, tmp_path):
    (tmp_path / "steps.py").write_text(ARMATURE + INSTALL)
    said = run_blender(tmp_path / "steps.py", package, BLENDER_USER_SCRIPTS=str(tmp_path / "user"))
    assert f"loaded {tmp_path / 'user'}" in said, said


def test_a_missing_library_is_reported_with_a_command(tmp_path):
    path = tmp_path / "steps.py"
    path.write_text(f"import sys\nsys.path.append({str(EXTENSION.parent)!r})\n{ARMATURE}{MISSING}")
    assert "ERROR Poise is missing. Install the extension" in run_blender(path)


MISSING = """
import poise_ik
poise_ik.register()
try:
    bpy.ops.poise.add_handles()
except RuntimeError as error:
    print(str(error).replace("Error: ", "ERROR "))
poise_ik.unregister()
"""
