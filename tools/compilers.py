"""Build with every supported compiler and run the quick tests: `make compilers`.

    python tools/compilers.py                  # all of them; a missing one is an error with the install command
    python tools/compilers.py g++-12 zig       # some

Copy the printed table to RELEASING.md.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from module_build import Target, Toolchain, build_module, make_zig
from trial_site import QUICK, ROOT, Trial, copy_package, run_trials

BUILD = ROOT / "build" / "compilers"
PACKAGES = {"g++-11": "g++-11", "g++-12": "g++-12", "clang++-14": "clang-14", "clang++-16": "clang-16"}
PACKAGES |= {"clang++-19": "clang-19", "zig": ""}


def find_tools(name: str) -> Toolchain:
    """Return the toolchain of a compiler; if it is missing, exit with the install command."""
    if name == "zig":
        return make_zig(BUILD / "zig-tools", platform.machine())
    if not shutil.which(name):
        raise SystemExit(f"{name} is missing. Type: sudo apt install {' '.join(filter(None, PACKAGES.values()))}")
    return Toolchain(name)


def read_version(tools: Toolchain) -> str:
    """Return the first line of a compiler's `--version`."""
    done = subprocess.run([tools.compiler, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[0]


def try_compiler(name: str, tools: Toolchain, target: Target) -> tuple[bool, str, str]:
    """Build and run the quick tests; return whether all passed, the build time, and a summary."""
    begin = time.monotonic()
    try:
        module = build_module(target, tools, ROOT, [Path(sysconfig.get_path("include"))], BUILD / name)
    except subprocess.CalledProcessError as error:
        return False, "failed", f"not run: {error}"
    seconds = time.monotonic() - begin
    site = BUILD / f"site-{name}"
    copy_package(site, module)
    trial = Trial(name, site, QUICK)
    passed = run_trials([trial], together=1)
    return passed, f"{seconds:.0f} s", trial.read_summary().strip("= ")


def main() -> None:
    """Build, run the tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("compilers", nargs="*", default=list(PACKAGES), help=", ".join(PACKAGES))
    names = parser.parse_args().compilers
    found = {name: find_tools(name) for name in names}
    target = Target(f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine())
    rows, good = [], True
    for name, tools in found.items():
        passed, seconds, summary = try_compiler(name, tools, target)
        good = good and passed
        cells = read_version(tools), platform.machine(), seconds, summary, time.strftime("%Y-%m-%d")
        rows.append(f"| {' | '.join(cells)} |")
    print("| compiler | processor | build | quick tests | on |", "|---|---|---|---|---|", *rows, sep="\n")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
