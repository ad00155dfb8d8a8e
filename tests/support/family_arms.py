"""Random arms of every family, from random axes that are adjusted to the family; and their targets."""

import itertools
from dataclasses import dataclass

import numpy as np

import poise
from poise.arrays import Floats

WRISTS = {  # the first three joints of a spherical wrist: kinds, and the relation of two of them
    "parallel last": ("RRR", (1, 2), "parallel"),
    "parallel first": ("RRR", (0, 1), "parallel"),
    "meet first": ("RRR", (0, 1), "meet"),
    "meet last": ("RRR", (1, 2), "meet"),
    "slide, parallel": ("PRR", (1, 2), "parallel"),
    "slide, meet": ("PRR", (1, 2), "meet"),
    "parallel, slide": ("RRP", (0, 1), "parallel"),  # SCARA
    "meet, slide": ("RRP", (0, 1), "meet"),  # the Stanford arm
    "gantry": ("PPP", (), ""),
}
KINDS = [*WRISTS, "planar", "planar on a slide"]


@dataclass(frozen=True)
class Line:
    """An axis at zero."""

    slides: bool
    h: Floats
    p: Floats


def unit(rng: np.random.Generator) -> Floats:
    """Return a random direction."""
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def across(h: Floats, other: Floats) -> float:
    """Return the sine of the angle between two directions."""
    return float(np.linalg.norm(np.cross(h, other)))


def draw_lines(rng: np.random.Generator, kind: str) -> list[Line]:
    """Return six axes of a family, at least 0.4 rad from an arm that is singular in every pose."""
    while True:
        lines = [Line(False, unit(rng), rng.uniform(-0.5, 0.5, 3)) for _ in range(6)]
        slides, pair, how = WRISTS.get(kind, ("PRR" if "slide" in kind else "RRR", (1, 2, 3), "parallel"))
        for k, letter in enumerate(slides):
            lines[k] = Line(letter == "P", lines[k].h, lines[k].p)
        for k in pair[1:]:
            first = lines[pair[0]]
            h = first.h * rng.choice([-1.0, 1.0]) if how == "parallel" else lines[k].h
            p = (
                lines[k].p
                if how == "parallel"
                else first.p + rng.uniform(-0.3, 0.3) * first.h + rng.uniform(-0.3, 0.3) * h
            )
            lines[k] = Line(False, h, p)
        center = rng.uniform(-0.5, 0.5, 3)
        for k in range(4 if kind.startswith("planar") else 3, 6):
            lines[k] = Line(False, lines[k].h, center + rng.uniform(-0.2, 0.2) * lines[k].h)
        neighbours = [across(a.h, b.h) for a, b in itertools.pairwise(lines[3:])]
        box = abs(np.linalg.det(np.stack([line.h for line in lines[:3]])))
        others = [across(lines[0].h, lines[1].h), across(lines[1].h, lines[2].h)]
        rest = [abs(float(a.h @ b.h)) for a in lines[:3] if a.slides for b in lines[:3] if not b.slides]
        if kind == "gantry":
            others, rest = [box], []
        elif how == "parallel":
            others = [max(others)] if not any(line.slides for line in lines[:3]) else []
            if kind.startswith("planar"):
                others = [] if lines[0].slides else [across(lines[0].h, lines[1].h)]
        if min([*neighbours, *others, *rest, 1.0]) > 0.4:
            return lines


def build_arm(lines: list[Line], rng: np.random.Generator, reach: tuple[float, float] = (1.0, 2.8)) -> poise.Model:
    """Return a model with these axes at zero, random ranges, a fixed joint in the middle and a tool."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("foot", None, "fixed", offset=poise.Transform(translation=np.zeros(3)))
    parent, at = "foot", np.zeros(3)
    for k, line in enumerate(lines):
        half = rng.uniform(0.3, 0.8) if line.slides else rng.uniform(*reach)
        middle = 0.0 if line.slides else rng.uniform(-0.5, 0.5)
        offset = poise.Transform(translation=line.p - at)
        kind = "prismatic" if line.slides else "revolute"
        builder.add_joint(f"j{k}", parent, kind, offset=offset, axis=line.h, lower=middle - half, upper=middle + half)
        parent, at = f"j{k}", line.p
        if k == 2:
            builder.add_joint("plate", parent, "fixed", offset=poise.Transform(translation=np.array([0.0, 0.1, 0.0])))
            parent, at = "plate", at + np.array([0.0, 0.1, 0.0])
    builder.add_frame(
        "tool",
        parent,
        offset=poise.Transform(rotation=poise.Rotation(rng.normal(size=4)), translation=rng.uniform(-0.2, 0.2, 3)),
    )
    return builder.build()


def draw_arm(rng: np.random.Generator, kind: str, *, mirrored: bool = False, joints: int = 6) -> poise.Model:
    """Return an arm of a family; with seven joints, a random one is added at either end."""
    lines = draw_lines(rng, kind)
    if joints == 7:
        lines.append(Line(False, unit(rng), rng.uniform(-0.5, 0.5, 3)))
        if rng.random() < 0.5:
            lines = [lines[-1], *lines[:-1]]
    return build_arm(lines[::-1] if mirrored else lines, rng)


def draw_poses(model: poise.Model, rng: np.random.Generator, count: int) -> Floats:
    """Return poses, a third of their joints within 1e-3 of a limit or of a quarter turn."""
    q = model.random(rng, count)
    edge = np.where(
        rng.random(q.shape) < 0.5, model.lower + 1e-3 * rng.random(q.shape), model.upper - 1e-3 * rng.random(q.shape)
    )
    quarter = np.clip(
        np.pi / 2 * rng.integers(-2, 3, q.shape) + 1e-3 * rng.normal(size=q.shape), model.lower, model.upper
    )
    choice = rng.random(q.shape)
    return np.asarray(np.where(choice < 0.17, edge, np.where(choice < 0.33, quarter, q)))


def shake(T: Floats, rng: np.random.Generator, metres: float, radians: float) -> Floats:
    """Return transforms moved by at most the given amounts, often by nearly as much."""
    out = T.copy()
    for one in out:
        far = rng.choice([0.0, 0.5, 0.999], 2)
        one[:3, 3] += far[0] * metres * unit(rng)
        one[:3, :3] = poise.Rotation.from_vector(far[1] * radians * unit(rng)).matrix @ one[:3, :3]
    return out


def measure_turns(model: poise.Model, a: Floats, b: Floats) -> Floats:
    """Return the largest motion of a joint between poses, without whole turns."""
    d = np.abs(a - b)
    return np.asarray(np.where(model.slides, d, np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi)))).max(axis=-1))
