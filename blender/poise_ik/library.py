"""The Poise library: installed with the extension, in Blender's Python, or unpacked from the add-on's wheel."""

import importlib.util
import sys
import sysconfig
import zipfile
from pathlib import Path

import bpy

from .refusal import Refusal

__all__ = ["find_library"]

WHEELS = Path(__file__).parent / "wheels"


def find_library() -> None:
    """Make `import poise` work.

    Blender 4.2 installs the wheels of an extension. Earlier versions do not, so the wheel is unpacked into the folder of
    user scripts.

    Raises:
        Refusal: Poise is not there.
    """
    if importlib.util.find_spec("poise") is None:
        wheel = next((path for path in sorted(WHEELS.glob("*.whl")) if fits(path)), None)
        if wheel is None:
            version = ".".join(map(str, sys.version_info[:2]))
            raise Refusal(
                f"Poise is missing. Install the extension from its zip, made for Python {version} on this system, or "
                f"type: {sys.executable} -m pip install poise"
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
    own = sys.version_info[1]
    made = int(python.removeprefix("cp3"))
    machine = sysconfig.get_platform().replace("-", "_").split("_", 1)[1]
    kind = {"linux": "linux", "darwin": "macosx", "win32": "win"}[sys.platform]
    here = kind in systems and (systems.endswith("universal2") or machine.split("_", 1)[-1] in systems or kind == "win")
    return here and (made == own or (abi == "abi3" and made <= own))
