"""Draw a sheet of pictures of a motion retargeted to many bodies.

    python tools/retarget_sheet.py walk.bvh g1.xml dancer.glb ... --scale 0.01 --out sheet.png

Each row is a body: the source first, then the same mid-stride frames of every result, seen slightly from the side.
Errors are printed. The quality figures of each result are printed next to its name.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import poise
from poise.pictures.body.clay import draw_clay
from poise.pictures.body.stick import Camera


def choose_frames(clip: poise.Motion, count: int) -> list[int]:
    """Choose mid-stride frames: those with the feet furthest apart, at least a third of a second from each other.

    Recordings often begin and end with a person standing still; evenly spaced frames would show that.
    """
    roles, up = poise.roles(clip.model), clip.model.up_direction
    way = clip.positions(roles["ankle_l"]) - clip.positions(roles["ankle_r"])
    apart = np.linalg.norm(way - np.outer(way @ up, up), axis=1)
    chosen: list[int] = []
    for t in np.argsort(-apart).tolist():
        if len(chosen) < count and all(abs(t - other) > clip.fps / 3.0 for other in chosen):
            chosen.append(t)
    return sorted(chosen)


def draw_row(axes: np.ndarray, clip: poise.Motion, frames: list[int], title: str) -> None:
    """Draw a few frames of a motion."""
    for ax, t in zip(axes, frames, strict=False):
        draw_clay(ax, clip[t], Camera(up=clip.model.up, azimuth=0.6, elevation=0.15))
        ax.set_aspect("equal")
        ax.autoscale_view()
        ax.axis("off")
    axes[0].set_title(title, fontsize=7, loc="left")


def carry(clip: poise.Motion, path: str) -> tuple[poise.Motion | None, str]:
    """Retarget a clip onto the body of a file; return the motion, or the error."""
    name = f"{Path(path).parent.name}/{Path(path).name}"
    try:
        body = poise.load(path, base="free", scale="auto")
        begun = time.process_time()
        carried = poise.retarget(clip, body)
    except poise.PoiseError as error:
        return None, f"{name}: {error}"
    q = carried.quality
    words = (
        f"{name}: {len(carried.mapping)} parts, slip {q.slip_max:.3f}, sink {q.sink_max:.1f} mm, step {q.step_max:.2f}"
    )
    words += f", jerk {q.jerk_p95:.0f}, released {len(carried.track.released)}"
    return carried.motion, f"{words}, {len(clip) / (time.process_time() - begun):.0f} fps"


def main() -> None:
    """Retarget the clip to all bodies and draw the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clip")
    parser.add_argument("bodies", nargs="+")
    parser.add_argument("--scale", default="auto", help="metres of a unit of the clip's file")
    parser.add_argument("--frames", type=int, nargs=2, default=(0, 300), help="the first, and one past the last")
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("build/retarget.png"))
    options = parser.parse_args()
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    scale = options.scale if options.scale == "auto" else float(options.scale)
    clip = poise.load_motion(options.clip, scale=scale)[slice(*options.frames)]
    frames = choose_frames(clip, options.columns)
    rows = [(clip, Path(options.clip).name)]
    for path in options.bodies:
        motion, words = carry(clip, path)
        print(words, flush=True)
        if motion is not None:
            rows.append((motion, words))
    deep = -(-len(rows) // 2)
    figure, axes = plt.subplots(deep, 2 * options.columns, figsize=(4.0 * options.columns, 2.2 * deep), squeeze=False)
    for ax in axes.ravel():
        ax.axis("off")
    for i, (motion, words) in enumerate(rows):
        first = (i // deep) * options.columns
        draw_row(axes[i % deep, first : first + options.columns], motion, frames, words)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, dpi=90, bbox_inches="tight")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
