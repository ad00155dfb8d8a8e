"""Reading files, compared with other readers: `python benchmarks/formats.py [urdf bvh robots]`.

URDFs come from the package example-robot-data (Talos, a humanoid, unless it is missing: then the built-in one, written
first). The BVH is made here, as large as a take of CMU's: 31 joints, 96 channels, 5,000 frames. No reader
opens meshes. Readers take turns and the best turn counts. `robots` compares every robot of example-robot-data with
Pinocchio.
"""

import contextlib
import io
import tempfile
import time
import warnings
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from shared.command import Call, Part, Table, run_command

import poise

HUMANOIDS = ("talos_full_v2", "g1_29dof_rev_1_0", "romeo", "icub", "simple_humanoid")
JOINTS, FRAMES = 31, 5_000
TURNS = 15


def read_urdfs(given: Namespace) -> None:
    """Compare readers of URDF."""
    with tempfile.TemporaryDirectory() as folder:
        for path in urdfs(Path(folder)):
            model = quietly(lambda path=path: poise.load(path))
            title = f"{path.stem}: {len(model.joints)} joints, {path.stat().st_size // 1024} KiB"
            report(title, urdf_readers(path), given.repeats)


def read_bvh(given: Namespace) -> None:
    """Compare readers of BVH."""
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "take.bvh")
        write_take(clip)
        title = f"{JOINTS} joints, {FRAMES} frames, {clip.stat().st_size / 1e6:.0f} MB"
        report(title, bvh_readers(clip), max(2, given.repeats // 5))


def quietly(call: Call) -> Any:
    """Return the result of a call, without its warnings and output."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return call()


def report(title: str, readers: dict[str, Call], turns: int) -> None:
    """Print the best of many turns of each reader, in milliseconds and relative to ours."""
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(turns):
        for name, call in list(readers.items()):
            start = time.perf_counter()
            try:
                quietly(call)
            except Exception as error:
                print(f"  {name} cannot: {type(error).__name__}: {str(error)[:80]}")
                del readers[name], best[name]
                continue
            best[name] = min(best[name], time.perf_counter() - start)
    table = Table(f"{title}:46", "ms:9.1f", "to Poise:7.1f")
    for name, seconds in best.items():
        table.add(name, 1e3 * seconds, seconds / best.get("Poise", seconds))


# ------------------------------------------------------------------------------------------------ URDF


def urdfs(folder: Path) -> Iterator[Path]:
    """Return humanoids of example-robot-data, otherwise ours."""
    try:
        from pinocchio_urdf import robots as every

        found = {path.stem: path for path in every()}
    except ImportError:
        found = {}
    if not found:
        quietly(lambda: poise.save(poise.load("humanoid"), folder / "humanoid.urdf"))
        yield folder / "humanoid.urdf"
    yield from (found[name] for name in HUMANOIDS if name in found)


def urdf_readers(path: Path) -> dict[str, Call]:
    """Those readers that are installed."""
    readers: dict[str, Call] = {"Poise": lambda: poise.load(path)}
    with contextlib.suppress(ImportError):
        import yourdfpy

        bare = {"load_meshes": False, "load_collision_meshes": False}
        readers["yourdfpy"] = lambda: yourdfpy.URDF.load(
            str(path), build_scene_graph=True, build_collision_scene_graph=False, **bare
        )
        readers["yourdfpy, without its scene"] = lambda: yourdfpy.URDF.load(
            str(path), build_scene_graph=False, build_collision_scene_graph=False, **bare
        )
    with contextlib.suppress(ImportError):
        import pinocchio

        readers["Pinocchio (C++), no shapes"] = lambda: pinocchio.buildModelFromUrdf(str(path))
    return readers


def read_robots(_: Namespace) -> None:
    """Print the joints and the largest difference from Pinocchio for every robot."""
    try:
        from pinocchio_urdf import refuses, worst_difference
        from pinocchio_urdf import robots as every
    except ImportError as missing:
        print(f"left out: {missing}")
        return
    table = Table("robot:58", "joints:6", "DOF:4", "ms:6.1f", "worst difference:17.1e")
    for path in every():
        name = f"{path.parents[1].name}/{path.stem}"
        if refuses(path):
            table.add(f"{name} rejected by Pinocchio and by us: {refused(path)}")
            continue
        start = time.perf_counter()
        model = quietly(lambda path=path: poise.load(path))
        took = 1e3 * (time.perf_counter() - start)
        table.add(name, len(model.joints), model.nv, took, worst_difference(model, path))


def refused(path: Path) -> str:
    """Return the reason why we do not read it either."""
    try:
        quietly(lambda: poise.load(path))
    except poise.errors.FormatError as error:
        return error.message
    return "it was read!"


# ------------------------------------------------------------------------------------------------ BVH


def write_take(path: Path) -> None:
    """Write a skeleton of CMU's size in smooth motion."""
    lines, depth = ["HIERARCHY"], 0
    for i in range(JOINTS):
        channels = "6 Xposition Yposition Zposition" if i == 0 else "3"
        lines += [f"{'ROOT' if i == 0 else 'JOINT'} joint{i}", "{", "OFFSET 0.0 2.5 0.1"]
        lines.append(f"CHANNELS {channels} Zrotation Yrotation Xrotation")
        depth += 1
        if i % 6 == 5 or i == JOINTS - 1:  # the end of a limb
            lines += ["End Site", "{", "OFFSET 0 1 0", "}"]
            closing = depth - 1 if i < JOINTS - 1 else depth
            lines += ["}"] * closing
            depth -= closing
    lines += ["MOTION", f"Frames: {FRAMES}", "Frame Time: 0.0083333"]
    phases = np.linspace(0.0, 60.0, FRAMES)[:, None] + np.arange(3 * JOINTS + 3)
    rows = 40.0 * np.sin(phases)
    lines += [" ".join(f"{number:.6f}" for number in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def bvh_readers(path: Path) -> dict[str, Call]:
    """Those readers that are installed."""
    readers: dict[str, Call] = {"Poise": lambda: poise.load_motion(path)}
    with contextlib.suppress(ImportError):
        import pybvh

        readers["pybvh"] = lambda: pybvh.read_bvh_file(str(path))
    with contextlib.suppress(ImportError):
        import bvhio

        readers["bvhio"] = lambda: bvhio.readAsBvh(str(path))
    return readers


if __name__ == "__main__":
    parts = {"urdf": Part(read_urdfs), "bvh": Part(read_bvh), "robots": Part(read_robots)}
    packages = ["example-robot-data", "yourdfpy", "pin", "pybvh", "bvhio"]
    run_command(__doc__, parts, {"repeats": (TURNS, "turns of each reader")}, packages)
