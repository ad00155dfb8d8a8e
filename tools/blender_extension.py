"""Pack the Blender extension with Poise's wheels into dist/: `make blender-extension`.

    python tools/blender_extension.py    # dist/poise_ik-<version>.zip

Wheels of this version in dist/ are packed, such as those of `make wheels`; without one, the wheel of this Python and
this system is built first. The zip has one folder, so that Blender 3.4 and later installs it as an add-on, and Blender
4.2 and later as an extension.
"""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from trial_site import ROOT

DIST, SOURCE = ROOT / "dist", ROOT / "blender" / "poise_ik"
MANIFEST = "blender_manifest.toml"


def read_version() -> str:
    """Return the version of the extension, which is that of Poise."""
    found = re.search(r'^version = "(.+)"$', (SOURCE / MANIFEST).read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def find_wheels(dist: Path) -> list[Path]:
    """Return the wheels of this version in a folder, one for each Python and system."""
    return sorted(dist.glob(f"poise_ik-{read_version()}-*.whl"))


def build_wheel(dist: Path) -> None:
    """Build the wheel of this Python and this system."""
    options = ["--no-deps", "--no-build-isolation", f"--config-settings=build-dir={ROOT / 'build' / 'extension'}"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", dist, ROOT], check=True)


def pack(wheels: list[Path], dist: Path) -> Path:
    """Write the zip of the extension with these wheels, and return its path."""
    path = dist / f"poise_ik-{read_version()}.zip"
    listed = json.dumps([f"./wheels/{wheel.name}" for wheel in wheels])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(SOURCE.glob("*.py")):
            archive.write(file, f"poise_ik/{file.name}")
        archive.writestr(f"poise_ik/{MANIFEST}", (SOURCE / MANIFEST).read_text("utf-8") + f"wheels = {listed}\n")
        for wheel in wheels:
            archive.write(wheel, f"poise_ik/wheels/{wheel.name}")
    return path


def main() -> None:
    """Build a wheel if there is none, and pack."""
    DIST.mkdir(exist_ok=True)
    if not find_wheels(DIST):
        build_wheel(DIST)
    print(pack(find_wheels(DIST), DIST))


if __name__ == "__main__":
    main()
