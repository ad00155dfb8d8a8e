"""C++ headers: exported, compiled, run, and judged by Pinocchio; also on a Cortex-M7 under QEMU."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from command_line import run_poise
from native_programs import SANITIZE, find_compiler
from paths import NATIVE_TESTS, ROOT
from poise.errors import InvalidModel, InvalidValue
from poise.formats.cpp_header import find_axes, write_header

PROGRAM = NATIVE_TESTS / "arm_header.cpp"
WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wshadow",
    "-Wno-shadow=compatible-local",
    "-Werror",
)
CHECKED = (*SANITIZE, "-fsanitize=float-cast-overflow", "-fno-sanitize-recover=float-cast-overflow")
CORTEX_M7 = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-O3", "-fno-exceptions", "-fno-rtti")
QEMU = ("qemu-system-arm", "-M", "mps2-an500", "-cpu", "cortex-m7", "-nographic", "-semihosting", "-icount", "shift=0")
FRAMES = {"so101": "gripper_frame_link", "ur5e": "tool0", "panda": "panda_hand_tcp", "crane": "hook"}
NUMBERS = {"float": np.float32, "double": np.float64}


def build_crane():
    """An arm with a slide, a continuous and a universal joint, a follower, and joints that are fixed or locked."""
    builder = poise.ModelBuilder("crane")
    builder.add_joint("track", None, "prismatic", axis=(0.6, 0.8, 0), offset=(0, 0, 0.1), lower=-1.0, upper=1.5)
    builder.add_joint("swivel", "track", "continuous", axis=(0, 0, 1), offset=(0.1, 0, 0.2))
    builder.add_joint("boom", "swivel", "revolute", axis=(0, 1, 0), offset=(0, 0.05, 0.4), lower=-2.0, upper=0.5)
    builder.add_joint("mast", "boom", "prismatic", axis=(0, 0, 1), offset=(0.2, 0, 0), lower=0.0, upper=0.3)
    builder.add_joint("mast2", "mast", "prismatic", axis=(0, 0, 1), mimic=("mast", 0.5, 0.02))
    builder.add_joint("stay", "mast2", "ball", offset=(0.0, 0.0, 0.3))
    builder.add_joint(
        "head", "stay", "universal", axis=(1, 0, 0), axis2=(0, 1, 0), lower=(-1.5, -1.2), upper=(1.5, 1.4)
    )
    builder.add_joint("roll", "head", "revolute", axis=(1, 2, -2), offset=(0, 0, 0.1), lower=-9.0, upper=9.0)
    builder.add_frame("hook", "roll", offset=(0.1, 0.02, 0.3))
    return builder.build().locked({"stay": (0.9, 0.1, 0.3, 0.3)})


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """Return a function that writes the header of an arm once, and returns the arm and the header."""
    folder, known = tmp_path_factory.mktemp("headers"), {}

    def export(name):
        if name not in known:
            model = build_crane() if name == "crane" else poise.load(name)
            known[name] = model, write_header(model, FRAMES[name], folder / f"{name}.hpp")
        return known[name]

    return export


def compile_for(name, header, real, goal, program, *command):
    given = {"HEADER": f'"{header}"', "SPACE": name, "REAL": real, "GOAL": goal}
    defined = (f"-D{key}={value}" for key, value in given.items())
    subprocess.run([*command, "-std=c++17", *defined, str(PROGRAM), "-o", str(program)], check=True)


def solve_by(command, folder, model, frame, targets, real, start=None):
    """Run a program on targets from a pose (None: the rest pose); return q, and the other numbers of its answers."""
    columns = list(dict.fromkeys(axis.q for axis in find_axes(model, frame)[0]))
    starts = np.tile((model.rest if start is None else start)[columns], (len(targets), 1))
    tasks = np.hstack([targets[:, :3, :3].reshape(-1, 9), targets[:, :3, 3], starts]).astype(NUMBERS[real])
    (folder / "tasks.bin").write_bytes(np.int32(len(tasks)).tobytes() + tasks.tobytes())
    subprocess.run(command, check=True, cwd=folder, timeout=300)
    rows = np.fromfile(folder / "answers.bin").reshape(len(tasks), -1)
    q = np.tile(model.rest, (len(tasks), 1))
    q[:, columns] = rows[:, : len(columns)]
    return q, rows[:, len(columns) :].T


def measure(model, frame, q, targets):
    """Return the distances and angles from targets, by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    from pinocchio_body import PinocchioBody

    there = PinocchioBody(model)
    errors = []
    for row, target in zip(q, targets, strict=True):
        pin.framesForwardKinematics(there.model, there.data, there.q_there(row))
        at = there.data.oMf[there.model.getFrameId(frame)]
        errors.append(
            (np.linalg.norm(at.translation - target[:3, 3]), np.linalg.norm(pin.log3(at.rotation.T @ target[:3, :3])))
        )
    return np.array(errors).T


def check_answers(model, frame, targets, q, told, real, share):
    """Check that as many as `share` are reached, that errors are as reported, and that ranges hold exactly."""
    reached, distance, angle, *_ = told
    found = measure(model, frame, q, targets)
    small = 2e-6 if real == "float" else 1e-9
    assert np.mean(reached) >= share
    assert np.all(found[0][reached > 0] <= 1e-5 + small)
    np.testing.assert_allclose(found[0], distance, atol=small)
    np.testing.assert_allclose(found[1], angle, atol=1e-3 if real == "float" else 1e-6)
    for joint in model.joints:
        if joint.nq == joint.nv and not joint.mimic:
            assert np.all((q[:, joint.q] >= joint.lower) & (q[:, joint.q] <= joint.upper)), joint.name


@pytest.mark.slow
@pytest.mark.parametrize("real", NUMBERS)
@pytest.mark.parametrize("name", FRAMES)
def test_a_header_reaches_what_the_arm_reaches(headers, tmp_path, name, real):
    model, header = headers(name)
    frame = FRAMES[name]
    targets = model.fk(model.random(np.random.default_rng(1), 1000), frame)
    compile_for(name, header, real, "TRANSFORM", tmp_path / "solve", find_compiler(), "-O2", *WARNINGS)
    q, told = solve_by([tmp_path / "solve"], tmp_path, model, frame, targets, real)
    check_answers(model, frame, targets, q, told, real, 0.99)
    assert np.all(measure(model, frame, q, targets)[1][told[0] > 0] <= 1.1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["POSITION", "POSITION_FIRST"])
def test_five_joints_reach_positions_with_rotations_that_they_cannot_have(headers, tmp_path, goal):
    model, header = headers("so101")
    rng, frame = np.random.default_rng(2), FRAMES["so101"]
    targets = model.fk(model.random(rng, 300), frame)
    targets[:, :3, :3] = model.fk(model.random(rng, 300), frame)[:, :3, :3]
    compile_for("so101", header, "double", goal, tmp_path / "solve", find_compiler(), "-O2")
    q, told = solve_by([tmp_path / "solve"], tmp_path, model, frame, targets, "double")
    check_answers(model, frame, targets, q, told, "double", 0.99)
    angles = measure(model, frame, q, targets)[1]
    if goal == "POSITION_FIRST":
        levels = poise.Solver(
            model,
            [
                poise.goals.Reach(frame, np.zeros(3), name="p"),
                poise.goals.Orient(frame, np.eye(3), name="r", priority=1),
            ],
        )
        best = [levels.solve(model.rest, {"p": T[:3, 3], "r": T[:3, :3]}).errors["r"][1] for T in targets]
        assert angles.mean() < 1.1 * np.mean(best)
    else:
        assert angles.mean() > 1.4


@pytest.mark.slow
def test_a_straight_arm_bends_without_a_jump(tmp_path):
    model = poise.load("planar3")
    frame, straight = model.frames[-1], np.zeros(3)
    header = write_header(model, frame, tmp_path / "planar3.hpp")
    targets = np.tile(model.fk(straight, frame), (20, 1, 1))
    targets[:, 0, 3] -= np.linspace(0.01, 0.8, 20)
    compile_for("planar3", header, "double", "POSITION", tmp_path / "solve", find_compiler(), "-O2")
    q, told = solve_by([tmp_path / "solve"], tmp_path, model, frame, targets, "double", straight)
    check_answers(model, frame, targets, q, told, "double", 1.0)
    assert np.abs(q - straight).max() < 1.6


@pytest.mark.slow
def test_bad_targets_and_starts_end_after_the_steps_inside_the_ranges(headers, tmp_path):
    model, header = headers("panda")
    frame = FRAMES["panda"]
    targets = model.fk(model.random(np.random.default_rng(3), 4), frame)
    targets[0, :3, 3] = 50.0
    targets[1] = np.nan
    targets[2, 0, 0] = np.inf
    compile_for("panda", header, "float", "TRANSFORM", tmp_path / "solve", find_compiler(), *CHECKED)
    q, told = solve_by([tmp_path / "solve"], tmp_path, model, frame, targets, "float")
    assert list(told[0]) == [0.0, 0.0, 0.0, 1.0]
    assert np.all(told[3] <= 128)
    assert np.all((q >= model.lower) & (q <= model.upper))


@pytest.mark.slow
def test_clang_compiles_a_header_without_a_warning(headers, tmp_path):
    clang = shutil.which("clang++")
    if clang is None:
        pytest.skip("no clang on this machine: apt-get install clang")
    model, header = headers("crane")
    targets = model.fk(model.random(np.random.default_rng(1), 300), "hook")
    compile_for("crane", header, "float", "TRANSFORM", tmp_path / "solve", clang, "-O2", *WARNINGS[:5], "-Werror")
    q, told = solve_by([tmp_path / "solve"], tmp_path, model, "hook", targets, "float")
    check_answers(model, "hook", targets, q, told, "float", 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("real", NUMBERS)
@pytest.mark.parametrize("name", ["so101", "ur5e"])
def test_a_microcontroller_solves_in_half_a_million_instructions(headers, tmp_path, name, real):
    compiler, qemu = shutil.which("arm-none-eabi-g++"), shutil.which(QEMU[0])
    if compiler is None or qemu is None:
        pytest.skip("apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    model, header = headers(name)
    frame, program = FRAMES[name], tmp_path / "solve.elf"
    link = ("-nostartfiles", "--specs=nosys.specs", "-T", str(NATIVE_TESTS / "cortex_m7.ld"))
    compile_for(name, header, real, "TRANSFORM", program, compiler, *CORTEX_M7, *link)
    symbols = subprocess.run(["arm-none-eabi-nm", str(program)], check=True, capture_output=True, text=True).stdout
    assert re.search(r" (malloc|free|_sbrk|_Zn\w+)$", symbols, re.MULTILINE) is None
    size = subprocess.run(["arm-none-eabi-size", str(program)], check=True, capture_output=True, text=True).stdout
    assert sum(map(int, size.splitlines()[1].split()[:2])) < 64_000
    targets = model.fk(model.random(np.random.default_rng(1), 2000), frame)
    targets[0, :3, 3] *= 3.0 / np.linalg.norm(targets[0, :3, 3])  # out of reach: takes every step
    q, told = solve_by([*QEMU, "-kernel", str(program)], tmp_path, model, frame, targets, real)
    check_answers(model, frame, targets, q, told, real, 0.99)
    assert 10_000 < told[4].max() < 500_000


# ------------------------------------------------------------------------------------------------ CMake, misuse

CMAKE = """cmake_minimum_required(VERSION 3.19)
project(app LANGUAGES CXX)
find_package(poise 0.2 REQUIRED)
add_executable(kernels kernels.cpp)
target_link_libraries(kernels PRIVATE poise::kernels)
poise_add_header(ur5e_ik ur5e FRAME tool0)
add_executable(arm arm.cpp)
target_link_libraries(arm PRIVATE ur5e_ik)
"""
KERNELS = """#include "kernels/algebra/factor.h"
#include <cstdio>
int main() {
  double A[4] = {2.0, 1.0, 1.0, 3.0}, x[2] = {3.0, 5.0};
  const bool solved = poise::solve_square(2, A, x);
  std::printf("%d %.3f %.3f\\n", solved, x[0], x[1]);
}
"""


@pytest.mark.slow
def test_cmake_finds_the_kernels_and_writes_headers(tmp_path):
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake: pip install cmake")
    given = (f"-Dpoise_DIR={poise.get_cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}", "-G", "Unix Makefiles")

    page = (ROOT / "docs" / "cpp.md").read_text("utf-8")
    (example,), (answer,) = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("cpp", "text"))

    def run_cmake(*words):
        return subprocess.run([cmake, *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    for name, text in (
        ("CMakeLists.txt", CMAKE),
        ("kernels.cpp", KERNELS),
        ("arm.cpp", example.replace("ur5e::", "ur5e_ik::")),
    ):
        (tmp_path / name).write_text(text)
    for words in (("-S", ".", "-B", "out", *given), ("--build", "out")):
        done = run_cmake(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    for name, printed in (("kernels", "1 0.800 1.400\n"), ("arm", answer)):
        assert subprocess.run([tmp_path / "out" / name], capture_output=True, text=True, check=True).stdout == printed
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("poise 0.2", "poise 0.1"))
    assert "version: " in run_cmake("-S", ".", "-B", "old", *given).stderr
    (tmp_path / "later" / "native" / "cmake").mkdir(parents=True)
    (tmp_path / "later" / "__init__.py").write_text('__version__ = "0.20.1"\n')
    version = tmp_path / "later" / "native" / "cmake" / "poiseConfigVersion.cmake"
    version.write_text(
        Path(poise.get_cmake_dir(), version.name).read_text() + '\nmessage("${PACKAGE_VERSION_COMPATIBLE}")'
    )
    for wanted, answer in (("0.2", "\n"), ("0", "\n"), ("0.20", "TRUE\n"), ("0.20.1", "TRUE\n"), ("0.20.2", "\n")):
        assert run_cmake(f"-DPACKAGE_FIND_VERSION={wanted}", "-P", version).stderr == answer, wanted


MISUSE = [
    ("humanoid --frame hand_l -o {}/a.hpp", "joint 'pelvis' above frame 'hand_l' is a free joint"),
    ("panda --frame tool9 -o {}/a.hpp", "no frame is called 'tool9'"),
    ("panda --frame panda_link0 -o {}/a.hpp", "no joint moves frame 'panda_link0'; joints move 'panda_link1'"),
    ("panda -o {}/a.py", "must have a suffix of a C++ header: .hpp"),
    ("panda -o {}/none/a.hpp", "there is no folder"),
    ("panda -o {}", "is a folder"),
    ("panda --name co_await -o {}/a.hpp", "--name is 'co_await'; it must be an identifier of C++"),
    ("panda --name y1 -o {}/a.hpp", "--name is 'y1'; it must be an identifier of C++, such as 'robot_y1'"),
    ("panda --name int -o {}/a.hpp", "--name is 'int'; it must be an identifier of C++, such as 'robot_int'"),
]


@pytest.mark.parametrize(("words", "message"), MISUSE)
def test_misuse_is_answered_in_one_line(tmp_path, words, message):
    folder = tmp_path / "out.hpp" if words.endswith("{}") else tmp_path
    folder.mkdir(exist_ok=True)
    shown = run_poise("export", *words.format(folder).split())
    assert shown.exit_code == 2
    assert message in shown.output
    assert shown.output.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_existing_header_is_kept_on_request(tmp_path):
    (tmp_path / "a.hpp").write_text("mine")
    shown = run_poise("export", "so101", "-o", tmp_path / "a.hpp", "--keep")
    assert (shown.exit_code, (tmp_path / "a.hpp").read_text()) == (2, "mine")
    assert "exists already" in shown.output


def test_loops_and_strange_names_are_rejected(tmp_path):
    builder = poise.ModelBuilder("7 class").add_joint("a", None, "revolute")
    body = builder.add_joint("b", "a", "screw", pitch=0.1).build()
    with pytest.raises(InvalidModel, match="'b' above frame 'b' is a screw joint"):
        write_header(body, "b", tmp_path / "a.hpp")
    builder.add_frame("end", "b").add_joint("c", None, "revolute", offset=(1, 0, 0)).add_closure("c", "end")
    with pytest.raises(InvalidModel, match="'a' above frame 'a' is in a closed loop"):
        write_header(builder.build(), "a", tmp_path / "a.hpp")
    with pytest.raises(InvalidValue, match="such as 'a_b'"):
        write_header(body, "a", tmp_path / "a.hpp", name="a b")
    assert "namespace robot_7_class {" in write_header(body, "a", tmp_path / "a.hpp").read_text()


def test_lengths_become_metres(tmp_path):
    texts = []
    for units, size in (("m", 1.0), ("cm", 100.0)):
        builder = poise.ModelBuilder("lift").add_joint("rise", None, "prismatic", axis=(0, 0, 1), upper=0.5 * size)
        builder.add_joint("turn", "rise", "revolute", offset=(0.25 * size, 0, 0)).add_frame("end", "turn", (size, 0, 0))
        builder.units = units
        texts.append(write_header(builder.build(), "end", tmp_path / "a.hpp").read_text())
    metres, other = (re.findall(r"(?:upper|tool|scale = ).*", text) for text in texts)
    assert metres == other


@pytest.mark.slow
def test_names_of_joints_compile_as_they_are(tmp_path):
    names = ["a\U0001f6001", "??/", 'a"b', "c\\n"]
    builder, parent = poise.ModelBuilder("abs"), None
    for name in names:
        builder.add_joint(name, parent, "revolute", offset=(1, 0, 0))
        parent = name
    write_header(builder.build(), names[-1], tmp_path / "a.hpp")
    (tmp_path / "a.cpp").write_text(
        '#include "a.hpp"\n#include <cstdio>\nint main() { for (auto name : robot_abs::names) std::puts(name); }'
    )
    subprocess.run([find_compiler(), "-std=c++17", *WARNINGS, tmp_path / "a.cpp", "-o", tmp_path / "a"], check=True)
    shown = subprocess.run([tmp_path / "a"], capture_output=True, check=True)
    assert shown.stdout.decode().split("\n")[:-1] == names
