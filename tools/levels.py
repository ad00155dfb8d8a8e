"""Run the laws at every instruction level and rounding of this machine, with other random numbers: `make levels`.

    python tools/levels.py                 # four seeds, all levels, both roundings
    python tools/levels.py --seeds 0       # only the tests' own numbers

A law that holds on one processor and fails on another depends on the last bit; this tool makes it fail here.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

from module_build import Target, Toolchain, build_module
from trial_site import LAWS, ROOT, Trial, copy_package, run_trials

BUILD = ROOT / "build" / "levels"
ROUNDINGS = {"contracted": "-ffp-contract=fast", "plain": "-ffp-contract=off"}


def build_site(rounding: str) -> Path:
    """Return a site with a module for this machine, built with one rounding mode."""
    target = Target(f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine())
    tools = Toolchain(os.environ.get("CXX", "c++"), ROUNDINGS[rounding])
    headers = [Path(sysconfig.get_path("include"))]
    site = BUILD / f"site-{rounding}"
    copy_package(site, build_module(target, tools, ROOT, headers, BUILD / rounding))
    return site


def list_levels(site: Path) -> list[str]:
    """Return the instruction levels that this machine supports."""
    path = os.pathsep.join([str(site), sysconfig.get_path("purelib")])
    words = [sys.executable, "-S", "-c", "from poise import native; print(*native.levels())"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split()


def main() -> None:
    """Build the modules, run the tests and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3], help="0 is the tests' own numbers")
    parser.add_argument("--roundings", nargs="+", choices=ROUNDINGS, default=list(ROUNDINGS))
    parser.add_argument("tests", nargs="*", help="instead of LAWS")
    options = parser.parse_args()
    tests = options.tests or LAWS
    trials = []
    for rounding in options.roundings:
        site = build_site(rounding)
        for level in list_levels(site):
            for seed in options.seeds:
                name = f"{rounding} {level} seed {seed}"
                trials.append(
                    Trial(
                        name, site, tests, words=["--hypothesis-profile=quick", f"--other-seed={seed}"], levels=[level]
                    )
                )
    if not run_trials(trials, together=os.cpu_count() or 1):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
