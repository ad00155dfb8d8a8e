"""Build the native module in other ways, and run tests on it; each command ends with an error if a test fails.

    python tools/trials.py levels                # or make levels: every level and rounding of this machine, four seeds
    python tools/trials.py levels --seeds 0      # only the tests' own numbers
    python tools/trials.py compilers             # or make compilers: every compiler; a missing one is an error
    python tools/trials.py compilers g++-12 zig  # some
    python tools/trials.py cross                 # or make cross: the other processor, under qemu; the tests of LAWS
    python tools/trials.py cross --short         # the levels that qemu runs; the tests of SHORT, as in CI

A law that holds on one processor and fails on another depends on the last bit; `levels` makes it fail here. The table
of `compilers` is for RELEASING.md. On x86-64, `cross` runs the laws at the baseline and at AVX2; qemu does not support
AVX-512. Python, NumPy and pytest of the other processor are downloaded from Debian and the package index.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import debian
from module_build import Target, Toolchain, build_module, make_zig
from trial_site import LAWS, QUICK, ROOT, SHORT, Trial, copy_package, install_packages, run_trials

BUILD = ROOT / "build"
HERE = Target(f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine())
CORES = os.cpu_count() or 1

ROUNDINGS = {"contracted": "-ffp-contract=fast", "plain": "-ffp-contract=off"}
PACKAGES = {"g++-11": "g++-11", "g++-12": "g++-12", "clang++-14": "clang-14", "clang++-16": "clang-16"}
PACKAGES |= {"clang++-19": "clang-19", "zig": ""}

PYTHON = "3.11"  # the version of Debian 12
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}
LEVELS = {"x86_64": ("baseline", "avx2"), "aarch64": ("baseline",)}
SHORT_NEEDED = ("numpy>=2.0", "pytest>=8.2")
NEEDED = ("hypothesis>=6.100", "mpmath>=1.3", "numpy>=2.0", "pytest>=8.2", "scipy>=1.13")
FLAGS = "-Werror -Wno-error=maybe-uninitialized"  # a false positive of GCC 12 is shown but not an error


def require_program(name: str, packages: str) -> str:
    """Return the name of a program; if it is missing, exit with the install command."""
    if not shutil.which(name):
        raise SystemExit(f"{name} is missing. Type: sudo apt install {packages}")
    return name


def build_site(folder: Path, name: str, tools: Toolchain) -> Path:
    """Return a site with a module for this machine."""
    site = folder / f"site-{name}"
    copy_package(site, build_module(HERE, tools, ROOT, [Path(sysconfig.get_path("include"))], folder / name))
    return site


# ------------------------------------------------------------------------------------------------ levels


def try_levels(given: argparse.Namespace) -> bool:
    """Run tests at every level of this machine, with every rounding and seed."""
    trials = []
    for rounding in given.roundings:
        tools = Toolchain(os.environ.get("CXX", "c++"), ROUNDINGS[rounding])
        site = build_site(BUILD / "levels", rounding, tools)
        for level in list_levels(site):
            for seed in given.seeds:
                words = ["--hypothesis-profile=quick", f"--other-seed={seed}"]
                name = f"{rounding} {level} seed {seed}"
                trials.append(Trial(name, site, given.tests or LAWS, words=words, levels=[level]))
    return run_trials(trials, together=CORES)


def list_levels(site: Path) -> list[str]:
    """Return the instruction levels that this machine supports."""
    path = os.pathsep.join([str(site), sysconfig.get_path("purelib")])
    words = [sys.executable, "-S", "-c", "from poise import native; print(*native.levels())"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split()


# ------------------------------------------------------------------------------------------------ compilers


def try_compilers(given: argparse.Namespace) -> bool:
    """Build with every compiler, run the quick tests, and print the table."""
    found = {name: find_tools(name) for name in given.compilers}
    results = {name: try_compiler(name, tools) for name, tools in found.items()}
    print("| compiler | processor | build | quick tests | on |\n|---|---|---|---|---|")
    for name, (_, seconds, summary) in results.items():
        command = [found[name].compiler, "--version"]
        version = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]
        print(f"| {version} | {platform.machine()} | {seconds} | {summary} | {time.strftime('%Y-%m-%d')} |")
    return all(passed for passed, *_ in results.values())


def find_tools(name: str) -> Toolchain:
    """Return the toolchain of a compiler."""
    if name == "zig":
        return make_zig(BUILD / "compilers" / "zig-tools", platform.machine())
    return Toolchain(require_program(name, " ".join(filter(None, PACKAGES.values()))))


def try_compiler(name: str, tools: Toolchain) -> tuple[bool, str, str]:
    """Build and run the quick tests; return whether all passed, the build time, and a summary."""
    begin = time.monotonic()
    try:
        site = build_site(BUILD / "compilers", name, tools)
    except subprocess.CalledProcessError as error:
        return False, "failed", f"not run: {error}"
    seconds = time.monotonic() - begin
    trial = Trial(name, site, QUICK)
    return run_trials([trial], together=1), f"{seconds:.0f} s", trial.read_summary().strip("= ")


# ------------------------------------------------------------------------------------------------ the other processor


def try_cross(given: argparse.Namespace) -> bool:
    """Build with Debian's cross compiler, and run tests under qemu."""
    if platform.machine() not in OTHER:
        raise SystemExit(f"There is no cross build from {platform.machine()}; use {' or '.join(OTHER)}.")
    machine, folder = OTHER[platform.machine()], BUILD / "cross"
    packages = f"g++-{machine.replace('_', '-')}-linux-gnu qemu-user-static"
    tools = Toolchain(require_program(f"{machine}-linux-gnu-g++", packages), FLAGS)
    if reason := debian.explain_missing_apt():
        raise SystemExit(reason)
    headers = debian.list_header_folders(debian.unpack_headers(PYTHON, machine, folder / "debian"), PYTHON)
    levels = "avx2" if given.short else "all"
    module = build_module(Target(PYTHON, machine), tools, ROOT, headers, folder / machine, levels)
    print(f"Built for {machine} by {tools.compiler}, levels: {levels}.", flush=True)
    return given.build_only or run_trials(list_cross_trials(machine, folder, module, given.short), together=CORES)


def list_cross_trials(machine: str, folder: Path, module: Path, short: bool) -> list[Trial]:
    """Return the trials of a module of another processor, with its NumPy and pytest."""
    root = debian.unpack_python(PYTHON, machine, folder / "debian")
    command = debian.make_command(root, PYTHON, machine, folder / "debian")
    site = folder / f"site-{machine}{'-short' * short}"
    install_packages(site, PYTHON, machine, SHORT_NEEDED if short else NEEDED)
    copy_package(site, module)
    compile_sources(root / "usr/lib" / f"python{PYTHON}", site)
    variables = {"PYTHONHOME": str(root / "usr"), "QEMU_CPU": "max"}
    plain = ["--noconftest", "-p", "no:hypothesispytest"]  # their imports take longer than the short list
    words = plain if short else ["--hypothesis-profile=quick"]
    together: list[Sequence[str]] = [LEVELS[machine]] if short else [[level] for level in LEVELS[machine]]
    tests = SHORT if short else LAWS
    return [Trial(f"{machine} {' '.join(own)}", site, tests, command, variables, words, own) for own in together]


def compile_sources(*folders: Path) -> None:
    """Compile the Python sources here if this version writes the same bytecode; under qemu that takes minutes."""
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        words = ("-m", "compileall", "-q", "-j0", *map(str, folders))
        subprocess.run([sys.executable, *words], check=False, stdout=subprocess.DEVNULL)  # one Debian file is broken


def main() -> None:
    """Run the command that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    levels = commands.add_parser("levels")
    levels.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3], help="0 is the tests' own numbers")
    levels.add_argument("--roundings", nargs="+", choices=ROUNDINGS, default=list(ROUNDINGS))
    levels.add_argument("tests", nargs="*", help="instead of LAWS")
    levels.set_defaults(work=try_levels)
    compilers = commands.add_parser("compilers")
    compilers.add_argument("compilers", nargs="*", default=list(PACKAGES), help=", ".join(PACKAGES))
    compilers.set_defaults(work=try_compilers)
    cross = commands.add_parser("cross")
    cross.add_argument("--short", action="store_true", help="the short list")
    cross.add_argument("--build-only", action="store_true", help="run nothing")
    cross.set_defaults(work=try_cross)
    given = parser.parse_args()
    if not given.work(given):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
