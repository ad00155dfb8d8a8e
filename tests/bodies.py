"""Random bodies for property tests: trees that mix joint kinds, Euler orders, mimicry, masses and frames.

``random_model(seed)`` is one body, the same for the same arguments; ``models()`` is a hypothesis strategy of
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import poise

ALL_KINDS = (
    "fixed",
    "revolute",
    "continuous",
    "prismatic",
    "universal",
    "ball",
    "euler",
    "planar",
    "translation3",
    "free",
    "screw",
    "cylindrical",
)
EULER_ORDERS = ("XYX", "XYZ", "XZX", "XZY", "YXY", "YXZ", "YZX", "YZY", "ZXY", "ZXZ", "ZYX", "ZYZ")
LIMITED = ("revolute", "prismatic", "screw")
ONE_DOF = ("revolute", "continuous", "prismatic", "screw")
AXIAL = (*ONE_DOF, "planar", "universal", "cylindrical")


def random_model(seed: int, joints: int = 12, kinds: tuple[str, ...] = ALL_KINDS, mimic: bool = True) -> poise.Model:
    """A random tree of ``joints`` joints; from ``len(kinds)`` joints on, every kind is in it.

    Joints are named ``j0 j1 ...`` (some child frames ``link_<i>``), plain frames ``site_0 ...``. With
    ``mimic``, some one-DOF joints follow an earlier one, followers of followers included.
    """
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder(name=f"random{seed}")
    frames: list[str | None] = [None]
    leaders: list[str] = []
    for i, kind in enumerate(_deal(rng, kinds, joints)):
        name = f"j{i}"
        frame = f"link_{i}" if rng.random() < 0.3 else name
        follow = mimic and kind in ONE_DOF and bool(leaders) and rng.random() < 0.4
        options = _options(rng, kind, limited=not follow)
        if follow:
            options["mimic"] = (
                str(rng.choice(leaders)),
                float(rng.uniform(-2, 2)),
                float(rng.uniform(-1, 1)),
            )
        builder.add_joint(name, _parent(rng, frames), kind, frame=frame, offset=random_transform(rng), **options)
        frames.append(frame)
        if kind in ONE_DOF:
            leaders.append(name)
        if rng.random() < 0.3:
            site = f"site_{i}"
            builder.add_frame(site, frame, random_transform(rng), mass=float(rng.uniform(0, 1)))
            frames.append(site)
    return builder.build()


def models(
    *, max_joints: int = 14, kinds: tuple[str, ...] = ALL_KINDS, mimic: bool = True
) -> st.SearchStrategy[poise.Model]:
    """A strategy of :func:`random_model`, small bodies included."""
    return st.builds(
        random_model,
        seed=st.integers(0, 2**32 - 1),
        joints=st.integers(1, max_joints),
        kinds=st.just(kinds),
        mimic=st.just(mimic),
    )


def random_transform(rng: np.random.Generator, scale: float = 0.5) -> NDArray[np.float64]:
    """A ``(4, 4)`` transform: any rotation, and a translation of about ``scale`` metres."""
    transform = np.eye(4)
    orthogonal, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    transform[:3, :3] = orthogonal * np.linalg.det(orthogonal)
    transform[:3, 3] = rng.normal(scale=scale, size=3)
    return transform


def _deal(rng: np.random.Generator, kinds: tuple[str, ...], count: int) -> list[str]:
    """``count`` kinds: whole shuffled decks, so that none is left out."""
    decks = [rng.permutation(kinds) for _ in range(-(-count // len(kinds)))]
    return [str(kind) for kind in np.concatenate(decks)[:count]]


def _parent(rng: np.random.Generator, frames: list[str | None]) -> str | None:
    """A frame to hang on: mostly the newest, so that paths grow long; sometimes any, so that they branch."""
    return frames[-1] if rng.random() < 0.7 else frames[int(rng.integers(len(frames)))]


def _options(rng: np.random.Generator, kind: str, *, limited: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "mass": float(rng.uniform(0, 3)),
        "center": tuple(rng.normal(scale=0.2, size=3)),
    }
    if kind in AXIAL:
        options["axis"] = random_axis(rng)
    if kind == "universal":
        # at any angle to the first but nearly none
        axis = np.array(options["axis"])
        options["axis2"] = tuple(np.cross(axis, rng.normal(size=3)) + 0.5 * axis)
    if kind == "euler":
        options["order"] = str(rng.choice(EULER_ORDERS))
    if kind == "screw":
        options["pitch"] = float(rng.uniform(-0.3, 0.3))
    if kind in LIMITED and limited and rng.random() < 0.7:
        options["lower"], options["upper"] = float(-rng.uniform(0.2, 2.5)), float(rng.uniform(0.2, 2.5))
    return options


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    """A unit axis: half the time a coordinate axis of either sign, since those take branches of their own."""
    if rng.random() < 0.5:
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    else:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
    return tuple(float(a) for a in axis)
