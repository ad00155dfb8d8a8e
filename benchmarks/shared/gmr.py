"""GMR's own code on clips of LAFAN1, frame by frame.

Meshes of its robot are left out; they do not affect the result.
"""

import importlib
import re
import sys
import tempfile
import time
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["run_gmr"]

PACKAGE = "general_motion_retargeting"


def import_gmr(root: Path, robot: Path) -> tuple[Any, Any]:
    """Import GMR's solver and its BVH reader, without the modules that only its viewer needs."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(root)]  # type: ignore[attr-defined]
    sys.modules[PACKAGE] = package
    params = types.ModuleType(f"{PACKAGE}.params")
    params.ROBOT_XML_DICT = {"g1": robot}  # type: ignore[attr-defined]
    params.IK_CONFIG_DICT = {"bvh": {"g1": next((root / "ik_configs").glob("bvh*_to_g1.json"))}}  # type: ignore[attr-defined]
    sys.modules[f"{PACKAGE}.params"] = params
    solver = importlib.import_module(f"{PACKAGE}.motion_retarget")
    reader = importlib.import_module(f"{PACKAGE}.utils.lafan1")
    return solver.GeneralMotionRetargeting, reader.load_lafan1_file


def strip_meshes(path: Path, folder: Path) -> Path:
    """Write the robot without its meshes, and return the path."""
    text = re.sub(r"<mesh [^>]*/>", "", path.read_text())
    text = re.sub(r"<geom [^>]*mesh=[^>]*/>", "", text)
    out = folder / "g1.xml"
    out.write_text(text)
    return out


def run_clip(gmr: Any, load: Any, path: Path, frames: int) -> dict[str, Any]:
    """Retarget one clip with GMR, frame by frame."""
    humans, height = load(str(path))
    solver = gmr(src_human="bvh", tgt_robot="g1", actual_human_height=height)
    table = {entry[0]: body for body, entry in solver.ik_match_table2.items() if entry[1] != 0}
    q, targets = [], []
    begun = time.process_time()
    for human in humans[:frames]:
        q.append(solver.retarget(human))
        targets.append([solver.scaled_human_data[name][0] for name in table])
    seconds = time.process_time() - begun
    return {"q": np.array(q), "targets": np.array(targets), "bodies": list(table.values()), "fps": len(q) / seconds}


def run_gmr(data: Path, clips: Iterable[str], frames: int) -> None:
    """Run GMR on the available clips of a folder with a checkout of it, and write gmr_walk.npz and so on there."""
    root, robot = (next(data.rglob(name), None) for name in (PACKAGE, "g1_mocap_29dof.xml"))
    if root is None or robot is None:
        sys.exit(f"{data} holds no checkout of YanjieZe/GMR: {PACKAGE}/ and assets/unitree_g1/ are needed.")
    with tempfile.TemporaryDirectory() as folder:
        gmr, load = import_gmr(root, strip_meshes(robot, Path(folder)))
        for name in clips:
            path = next(data.rglob(f"{name}.bvh"), None)
            if path is None:
                print(f"missing: {name}.bvh")
                continue
            found = run_clip(gmr, load, path, frames)
            np.savez(data / f"gmr_{name}.npz", **found)
            print(f"{name}: {found['fps']:.0f} frames a second")
