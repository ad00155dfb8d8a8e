"""Build for the other processor with Debian's cross compiler, and run the laws there under qemu: `make cross`.

    python tools/cross.py            # all levels, warnings as errors; the tests of LAWS
    python tools/cross.py --short    # the levels that qemu runs; the tests of SHORT, as in CI

On x86-64 the laws run at the baseline and at AVX2; qemu does not support AVX-512. Python, NumPy and pytest of the other
processor are downloaded from Debian and the package index into build/cross.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import debian
from module_build import Target, Toolchain, build_module
from trial_site import LAWS, ROOT, SHORT, Trial, copy_package, install_packages, run_trials

BUILD = ROOT / "build" / "cross"
PYTHON = "3.11"  # the version of Debian 12
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}
LEVELS = {"x86_64": ("baseline", "avx2"), "aarch64": ("baseline",)}
SHORT_NEEDED = ("numpy>=2.0", "pytest>=8.2")
NEEDED = ("hypothesis>=6.100", "mpmath>=1.3", "numpy>=2.0", "pytest>=8.2", "scipy>=1.13")
FLAGS = "-Werror -Wno-error=maybe-uninitialized"  # a false positive of GCC 12 is shown but not an error


def find_compiler(machine: str) -> str:
    """Return the cross compiler for a processor; if it is missing, exit with the install command."""
    name = f"{machine}-linux-gnu-g++"
    if not shutil.which(name):
        package = f"g++-{machine.replace('_', '-')}-linux-gnu"
        raise SystemExit(f"{name} is missing. Type: sudo apt install {package} qemu-user-static")
    return name


def make_site(machine: str, module: Path, short: bool) -> Path:
    """Return a site of the other processor: NumPy, pytest, and the package with the module."""
    site = BUILD / f"site-{machine}{'-short' * short}"
    install_packages(site, PYTHON, machine, SHORT_NEEDED if short else NEEDED)
    copy_package(site, module)
    return site


def compile_sources(*folders: Path) -> None:
    """Compile the Python sources here if this version writes the same bytecode; under qemu that takes minutes."""
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        words = ("-m", "compileall", "-q", "-j0", *map(str, folders))
        subprocess.run([sys.executable, *words], check=False, stdout=subprocess.DEVNULL)  # one Debian file is broken


def main() -> None:
    """Build the module, run the tests and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="the short list")
    parser.add_argument("--build-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    if platform.machine() not in OTHER:
        raise SystemExit(f"There is no cross build from {platform.machine()}; use {' or '.join(OTHER)}.")
    machine = OTHER[platform.machine()]
    compiler = find_compiler(machine)
    if reason := debian.explain_missing_apt():
        raise SystemExit(reason)
    target = Target(PYTHON, machine)
    headers = debian.list_header_folders(debian.unpack_headers(PYTHON, machine, BUILD / "debian"), PYTHON)
    levels = "avx2" if options.short else "all"
    module = build_module(target, Toolchain(compiler, FLAGS), ROOT, headers, BUILD / machine, levels)
    print(f"Built for {machine} by {compiler}, levels: {levels}.", flush=True)
    if options.build_only:
        return
    root = debian.unpack_python(PYTHON, machine, BUILD / "debian")
    command = debian.make_command(root, PYTHON, machine, BUILD / "debian")
    site, tests = make_site(machine, module, options.short), SHORT if options.short else LAWS
    compile_sources(root / "usr/lib" / f"python{PYTHON}", site)
    variables = {"PYTHONHOME": str(root / "usr"), "QEMU_CPU": "max"}
    plain = ["--noconftest", "-p", "no:hypothesispytest"]  # their imports take longer than the short list
    words = plain if options.short else ["--hypothesis-profile=quick"]
    together = [LEVELS[machine]] if options.short else [[level] for level in LEVELS[machine]]
    trials = [
        Trial(f"{machine} {' '.join(levels)}", site, tests, command, variables, words, levels) for levels in together
    ]
    if not run_trials(trials, together=os.cpu_count() or 1):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
