"""Check that a version is ready to be released: `make release-check`.

    python tools/release_check.py

It changes nothing. Each line is a fact of RELEASING.md with what to do if it does not hold.
"""

import re
import subprocess
import sys
from collections.abc import Iterator

from trial_site import ROOT

DIST = ROOT / "dist"
VERSIONS = {  # where the version is written
    "pyproject.toml": r'^version = "(.+)"$',
    "src/poise/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "blender/poise_ik/blender_manifest.toml": r'^version = "(.+)"$',
    "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
}
WHEELS = [
    f"{python}-{abi}-*{machine}.whl"
    for python, abi in (("cp311", "cp311"), ("cp312", "abi3"))
    for machine in ("x86_64", "aarch64")
]


def read_versions() -> dict[str, str]:
    """Return the version in each file, or what is there instead."""
    out = {}
    for file, pattern in VERSIONS.items():
        found = re.search(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)
        out[file] = found[1] if found else "none"
    return out


def run_git(*words: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def list_checks() -> Iterator[tuple[str, bool, str]]:
    """Yield each fact, whether it holds, and what to do if it does not."""
    versions = read_versions()
    version = versions["pyproject.toml"]
    for file, found in versions.items():
        yield f"{file}: {found}", found == version, f"write {version} there (CHANGELOG: as a heading with the date)"
    yield "all changes are committed", not run_git("status", "--porcelain"), "commit them"
    tags = run_git("tag", "--list").split()
    yield f"the tag v{version} is free", f"v{version}" not in tags, "choose the next version"
    name = re.findall(r'^name = "(.+?)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[0]
    stem = f"{name.replace('-', '_')}-{version}"
    for file in (f"{stem}.tar.gz", *(f"{stem}-{wheel}" for wheel in WHEELS), f"{name}-{version}.tgz"):
        made = "make npm" if file.endswith(".tgz") else "make wheels"
        yield f"dist/{file}", any(DIST.glob(file)), f"run {made}"


def main() -> None:
    """Print the facts; exit with 1 if one does not hold."""
    failed = 0
    for fact, holds, advice in list_checks():
        failed += not holds
        print(f"{'ok     ' if holds else 'missing'} {fact}" + ("" if holds else f"   -> {advice}"))
    if failed:
        sys.exit(f"{failed} of them {'is' if failed == 1 else 'are'} missing. Nothing was uploaded.")
    print("Ready. RELEASING.md has the commands that upload.")


if __name__ == "__main__":
    main()
