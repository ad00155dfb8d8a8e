"""Reach maps: the time of a map, and its undecided share.

    python benchmarks/maps.py [--spacing 0.15] [--directions 40] [--turns 3]     on all cores
    python benchmarks/maps.py --gpu [--spacing 0.05] [--directions 200] [--turns 12]

The Panda's tool; on a GPU 5 cm, 200 directions and 12 turns are the defaults, on a CPU a coarser map, whose rate
predicts the time of the fine one. "asked" counts the poses that distance bounds do not exclude; the rate counts all.
"""

from __future__ import annotations

import argparse
import os
import platform
import time

import poise

ARMS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
HEAD = (
    f"{'arm':8}{'poses':>13}{'asked':>13}{'reached':>9}{'proved':>9}{'open':>9}{'of asked':>9}{'s':>8}{'million/s':>11}"
)


def measure(name: str, spacing: float, directions: int, turns: int, device: str) -> poise.ReachMap:
    """Print the figures of one map."""
    seen = [0]
    model = poise.load(name)
    if device == "gpu":  # kernels are compiled once, and kept on the disk
        poise.reach_map(model, ARMS[name], 0.2, directions, turns, device=device)
    begun = time.perf_counter()
    found = poise.reach_map(
        model, ARMS[name], spacing, directions, turns, lambda _, total: seen.__setitem__(0, total), device=device
    )
    took = time.perf_counter() - begun
    share = [float(x.mean(dtype="f8")) for x in (found.reached, found.proved, found.undecided)]
    print(
        f"{name:8}{found.poses:>13,}{seen[0]:>13,}{share[0]:>9.2%}{share[1]:>9.2%}{share[2]:>9.3%}"
        f"{share[2] * found.poses / max(1, seen[0]):>9.3%}{took:>8.2f}{found.poses / took / 1e6:>11.3f}",
        flush=True,
    )
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--arms", default="panda")
    parser.add_argument("--spacing", type=float)
    parser.add_argument("--directions", type=int)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--out", help="file for the last map (NPZ)")
    given = parser.parse_args()
    spacing = given.spacing or (0.05 if given.gpu else 0.15)
    directions, turns = given.directions or (200 if given.gpu else 40), given.turns or (12 if given.gpu else 3)
    where = "a GPU" if given.gpu else f"{len(os.sched_getaffinity(0))} cores"
    print(f"{platform.machine()}, {where}: {100 * spacing:g} cm, {directions} directions x {turns} turns")
    print(HEAD)
    for name in given.arms.split(","):
        found = measure(name, spacing, directions, turns, "gpu" if given.gpu else "cpu")
    if given.out:
        poise.save(found, given.out)


if __name__ == "__main__":
    main()
