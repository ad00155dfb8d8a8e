"""Run the tests on a native module other than the installed one: another processor, compiler or rounding.

A site is a folder with the package from `src`, one module and, for another processor, NumPy and pytest of that
processor. Python finds it through PYTHONPATH; without `site`, no editable install takes precedence.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["LAWS", "QUICK", "ROOT", "SHORT", "Trial", "copy_package", "install_packages", "run_trials"]

ROOT = Path(__file__).parents[1]

CLOSED_PROOFS = (
    "random_transforms_are_decided",
    "no_pose_is_called_unreachable",
    "why_says_that_every_branch_is_ruled_out",
    "without_limits_there_are_none_to_prove_with",
    "a_joint_that_stands_still_on_the_way_is_taken_from_the_start",
)
# The tests that depend most on rounding.
LAWS = (
    "tests/laws/test_goal_laws.py",
    "tests/laws/test_kinematics_laws.py",
    "tests/laws/test_last_digits.py",
    "tests/laws/test_spatial.py",
    "tests/limits/test_limits_exact.py",
    "tests/limits/test_limits_kept.py",
    "tests/native/test_native_levels.py",
    "tests/solving/test_explanation.py",
    *(f"tests/solving/test_family_edges.py::test_{name}" for name in CLOSED_PROOFS),
    "tests/solving/test_solver_promises.py",
    "tests/solving/test_strict.py",
    "tests/solving/test_strict_minimum.py",
    "tests/solving/test_unreachable.py",
    "tests/solving/test_why.py",
)
# The most sensitive laws, for every run of CI: each failed on one processor and held on another.
SHORT = (
    "tests/solving/test_strict_minimum.py",
    "tests/solving/test_explanation.py::test_words_are_the_golden_ones[no branch-]",
    "tests/solving/test_strict.py::test_a_style_costs_no_goal_anything",
    "tests/native/test_native_levels.py::test_solves_from_near_by_end_in_the_same_pose",
)
# Tests without a browser, a compiler or a peer library.
QUICK = (
    "tests/house/test_import.py",
    "tests/house/test_public_names.py",
    "tests/laws/test_spatial.py",
    "tests/laws/test_kinematics_laws.py",
    "tests/model/test_model.py",
    "tests/model/test_model_arms.py",
    "tests/model/test_model_errors.py",
    "tests/native/test_native_levels.py",
    "tests/laws/test_goal_laws.py",
    "tests/goals/test_goals.py",
    "tests/limits/test_limits_exact.py",
    "tests/solving/test_solution.py",
    "tests/solving/test_solver_promises.py",
    "tests/solving/test_unreachable.py",
    "tests/scale/test_batch.py",
    "tests/formats/test_bvh.py",
    "tests/formats/test_urdf.py",
)


@dataclass
class Trial:
    """One run of pytest on a site.

    Attributes:
        name: The name of the run, used for its log.
        site: The folder with the package.
        command: The Python command, including an emulator.
        tests: The test files and tests.
        variables: Environment variables.
        words: Further arguments of pytest.
        levels: The instruction levels at which the tests run in turn; by default the best one.
    """

    name: str
    site: Path
    tests: Sequence[str]
    command: Sequence[str] = (sys.executable,)
    variables: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ("--hypothesis-profile=quick",)
    levels: Sequence[str] = ()

    def start(self) -> subprocess.Popen[bytes]:
        """Start pytest; its output goes to a log next to the site."""
        path = [str(self.site)]
        if self.command[0] == sys.executable:
            path.append(sysconfig.get_path("purelib"))
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(path)}
        runner = [str(ROOT / "tools" / "level_runs.py"), ",".join(self.levels)] if self.levels else ["-m", "pytest"]
        options = ["-q", "-p", "no:cacheprovider", "--assert=plain", "-m", "not slow and not timing"]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [*self.command, "-S", *runner, *options, *self.words, *self.tests],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**environment, **self.variables},
            )

    @property
    def log(self) -> Path:
        """The log's path."""
        return self.site.parent / f"{self.name.replace(' ', '-')}.log"

    def read_summary(self) -> str:
        """Return the last line that pytest printed for each level."""
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        ends = [line.strip("= ") for line in lines if re.search(r"\d+ (passed|failed|error).* in [0-9.]+s", line)]
        return "; ".join(ends) or (lines[-1] if lines else "no output")

    def read_failures(self) -> list[str]:
        """Return the lines of failed tests."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return [line for line in lines if line.startswith(("FAILED", "ERROR"))]


def run_trials(trials: Sequence[Trial], together: int) -> bool:
    """Run trials, up to `together` at a time, and print one line for each; return whether all passed."""
    waiting, running, good = list(trials), list[tuple[Trial, "subprocess.Popen[bytes]"]](), True
    while waiting or running:
        while waiting and len(running) < together:
            running.append((waiting[0], waiting.pop(0).start()))
        trial, process = running.pop(0)
        passed = process.wait() == 0
        good = good and passed
        print(f"  {trial.name}: {trial.read_summary()}", *trial.read_failures(), sep="\n    ", flush=True)
        if not passed:
            print(f"    The whole log: {trial.log.relative_to(ROOT)}", flush=True)
    return good


def install_packages(site: Path, python: str, machine: str, packages: Sequence[object]) -> None:
    """Install packages for another CPython and processor into a site, unless the same ones are there."""
    wanted, record = "\n".join(map(str, packages)), site / "packages.txt"
    if record.exists() and record.read_text("utf-8") == wanted:
        return
    shutil.rmtree(site, ignore_errors=True)
    plats = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (28, 27, 17)]
    chosen = (*plats, "--python-version", python, "--implementation", "cp", "--only-binary=:all:")
    words = ("-m", "pip", "install", "-q", *chosen, "--target", str(site), *map(str, packages))
    subprocess.run([sys.executable, *words], check=True)
    record.write_text(wanted, "utf-8")


def copy_package(site: Path, module: Path) -> None:
    """Copy the package and one native module into a site, with the metadata of an installation."""
    shutil.rmtree(site / "poise", ignore_errors=True)
    shutil.copytree(ROOT / "src" / "poise", site / "poise", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(module, site / "poise" / "native")
    version = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[0]
    facts = site / f"poise_ik-{version}.dist-info"
    facts.mkdir(exist_ok=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: poise-ik\nVersion: {version}\n", "utf-8")
