"""Reading files, compared with other readers: `python benchmarks/formats.py [--robots]`.

URDFs come from the package example-robot-data (Talos, a humanoid, unless it is missing: then the built-in one, written
first). The BVH is made here, as large as a take of CMU's: 31 joints, 96 channels, 5,000 frames. No reader
opens meshes. Readers take turns and the best turn counts. `--robots` compares every robot of example-robot-data with
Pinocchio.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import poise

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

HUMANOIDS = ("talos_full_v2", "g1_29dof_rev_1_0", "romeo", "icub", "simple_humanoid")
JOINTS, FRAMES = 31, 5_000
TURNS = 15

Call = Callable[[], Any]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--robots", action="store_true", help="compare all of example-robot-data with Pinocchio")
    arguments.add_argument("--turns", type=int, default=TURNS)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for path in urdfs(Path(folder)):
            model = quietly(lambda path=path: poise.load(path))
            report(
                f"URDF {path.stem}: {len(model.joints)} joints, {path.stat().st_size // 1024} KiB",
                urdf_readers(path),
                asked.turns,
            )
        clip = Path(folder, "take.bvh")
        write_take(clip)
        megabytes = clip.stat().st_size / 1e6
        report(
            f"BVH: {JOINTS} joints, {FRAMES} frames, {megabytes:.0f} MB", bvh_readers(clip), max(2, asked.turns // 5)
        )
    if asked.robots:
        robots()


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
    print(title)
    for name, seconds in best.items():
        print(f"  {name:34s} {1e3 * seconds:9.1f} ms {seconds / best.get('Poise', seconds):7.1f} x")


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


def robots() -> None:
    """Print the joints and the largest difference from Pinocchio for every robot."""
    from pinocchio_urdf import refuses, worst_difference
    from pinocchio_urdf import robots as every

    print(f"{'robot':58s} {'joints':>6s} {'DOF':>4s} {'ms':>6s} {'worst difference':>17s}")
    for path in every():
        name = f"{path.parents[1].name}/{path.stem}"
        if refuses(path):
            print(f"{name:58s} rejected by Pinocchio and by us: {refused(path)}")
            continue
        start = time.perf_counter()
        model = quietly(lambda path=path: poise.load(path))
        took = 1e3 * (time.perf_counter() - start)
        print(f"{name:58s} {len(model.joints):6d} {model.nv:4d} {took:6.1f} {worst_difference(model, path):17.1e}")


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
    main()
