"""Plots with matplotlib, without a display."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import MissingExtra
from poise.solvers.race import Race

__all__ = ["figure", "plot_race", "save_figure"]

# distinct in hue and in lightness, readable on white and in grey (Okabe and Ito's palette)
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
DASHES = ("-", "--", ":")


def figure(width: float = 7.0, height: float = 4.2) -> tuple[Any, Any]:
    """A figure and its axes, drawn without a display.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("pictures need matplotlib. Type: pip install 'poise[studio]'") from None
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    axes = made.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return made, axes


def save_figure(made: Any, path: str | PathLike[str]) -> Path:
    """Writes the picture whole: to a temporary file first, then under its name."""
    target = Path(path)
    rough = target.with_name(f".{target.stem}.partial{target.suffix or '.png'}")
    made.savefig(rough, dpi=160)
    rough.replace(target)
    return target


def plot_race(race: Race, path: str | PathLike[str]) -> Path:
    """Error curves of a race: mean error against step, both logarithmic."""
    made, axes = figure()
    for k, racer in enumerate(r for r in race.racers if not r.refused and len(r.curve)):
        steps = np.arange(len(racer.curve)) + 1
        style = DASHES[(k // len(COLORS)) % len(DASHES)]
        axes.loglog(steps, racer.curve, style, color=COLORS[k % len(COLORS)], linewidth=1.8, label=racer.method)
    axes.set_xlabel("step")
    axes.set_ylabel("error, geometric mean [m or rad]")
    axes.set_title(f"{race.frame} of {race.model}", loc="left", fontsize=11)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return save_figure(made, path)
