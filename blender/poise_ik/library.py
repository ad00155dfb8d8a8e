"""The Poise library: installed with the extension, in Blender's Python, or unpacked from the add-on's wheel."""

import importlib.util
import platform
import sys
import zipfile
from pathlib import Path

import bpy

from .refusal import Refusal

__all__ = ["find_library"]

WHEELS = Path(__file__).parent / "wheels"


def find_library() -> None:
    """Make `import poise` work.

    Blender 4.2 installs the wheels of an extension. Earlier versions do not, so the wheel is unpacked into the folder
    of user scripts.

    Raises:
        Refusal: Poise is not there.
    """
    if importlib.util.find_spec("poise") is None:
        wheel = next((path for path in sorted(WHEELS.glob("*.whl")) if fits(path)), None)
        if wheel is None:
            version = ".".join(map(str, sys.version_info[:2]))
            raise Refusal(
                f"Poise is missing. Install the extension from its zip, made for Python {version} on this system, or "
                f"type: {sys.executable} -m pip install poise-ik"
            )
        folder = Path(bpy.utils.user_resource("SCRIPTS", path="poise_ik", create=True)) / wheel.stem
        if not folder.exists():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        sys.path.append(str(folder))
        importlib.invalidate_caches()


def fits(wheel: Path) -> bool:
    """Return whether a wheel is for this Python and this system."""
    python, abi, systems = wheel.stem.split("-")[-3:]
    made, own = int(python.removeprefix("cp3")), sys.version_info[1]
    system = {"linux": "linux", "darwin": "macosx"}.get(sys.platform, "win")
    here = system in systems and ("universal2" in systems or platform.machine().lower() in systems)
    return here and (made == own or (abi == "abi3" and made <= own))
