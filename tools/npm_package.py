"""Pack the npm package poise-ik into dist/: `make npm`.

    python tools/npm_package.py    # dist/poise-ik-<version>.tgz

The package is the folder npm/ with the scripts of pages that it imports, and the kernels in WebAssembly (`make wasm`).
It has no dependencies, and npm needs no network to pack it.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from trial_site import ROOT

DIST, STAGE, SOURCE = ROOT / "dist", ROOT / "build" / "npm", ROOT / "npm"
PAGES, WASM = ROOT / "src" / "poise" / "pages", ROOT / "src" / "poise" / "native" / "wasm" / "kernels.wasm"
SHARED = {"bytes.js": ("bytesOf", "unpack"), "kernels.js": ("Kernels",), "goal_choice.js": ("GoalChoice",)}


def read_version() -> str:
    """Return the version of the package, which is that of Poise."""
    text = (ROOT / "src" / "poise" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def stage(folder: Path) -> Path:
    """Write the files of the package into a folder, and return it."""
    if not WASM.exists():
        sys.exit("The kernels in WebAssembly are missing. Type: make wasm")
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    for name, exported in SHARED.items():
        script = (PAGES / name).read_text("utf-8")
        (folder / name).write_text(f"{script}\nexport {{{', '.join(exported)}}};\n", encoding="utf-8")
    version = read_version()
    (folder / "version.js").write_text(f'export const VERSION = "{version}";\n', encoding="utf-8")
    package = json.loads((SOURCE / "package.json").read_text("utf-8"))
    (folder / "package.json").write_text(json.dumps(package | {"version": version}, indent=2) + "\n", encoding="utf-8")
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(WASM, folder)
    return folder


def pack(folder: Path, dist: Path) -> Path:
    """Pack a staged folder by npm, and return the path of the archive."""
    command = ["npm", "pack", "--silent", "--offline", "--pack-destination", str(dist)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return dist / f"poise-ik-{read_version()}.tgz"


def main() -> None:
    """Stage the package and pack it."""
    if shutil.which("npm") is None:
        sys.exit("npm is missing. Type: sudo apt install npm")
    shutil.rmtree(STAGE, ignore_errors=True)
    DIST.mkdir(exist_ok=True)
    print(pack(stage(STAGE), DIST))


if __name__ == "__main__":
    main()
