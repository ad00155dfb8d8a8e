"""Random bodies for property tests: trees that mix joint kinds, Euler orders, mimic joints, masses and frames.

``random_model(seed)`` returns one body, deterministic in its arguments; ``models()`` is a hypothesis strategy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import poise

if TYPE_CHECKING:  # the imports of hypothesis and scipy take most of a short run under qemu
    from hypothesis.strategies import SearchStrategy

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
GIVEN_KINDS = ("path", "scale")  # kinds with extra data: a curve, a length
EVERY_KIND = (*ALL_KINDS, *GIVEN_KINDS)
GROWING_KINDS = ("uniform_scale",)  # laws of their own: no twist and no simple motion of the textbook describes them
EULER_ORDERS = ("XYX", "XYZ", "XZX", "XZY", "YXY", "YXZ", "YZX", "YZY", "ZXY", "ZXZ", "ZYX", "ZYZ")
LIMITED = ("revolute", "prismatic", "screw")
ONE_DOF = ("revolute", "continuous", "prismatic", "screw")
LEADING = (*ONE_DOF, "path", "scale")  # a follower's range would have to fit its leader's
AXIAL = (*ONE_DOF, "planar", "universal", "cylindrical", "scale")


@lru_cache(maxsize=256)  # models are immutable, and many tests ask for the same ones
def random_model(seed: int, joints: int = 12, kinds: tuple[str, ...] = ALL_KINDS, mimic: bool = True) -> poise.Model:
    """Return a random tree of ``joints`` joints; with at least ``len(kinds)`` joints, every kind occurs.

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
        if kind in LEADING:
            leaders.append(name)
        if rng.random() < 0.3:
            site = f"site_{i}"
            builder.add_frame(site, frame, random_transform(rng), mass=float(rng.uniform(0, 1)))
            frames.append(site)
    return builder.build()


def models(
    *, max_joints: int = 14, kinds: tuple[str, ...] = ALL_KINDS, mimic: bool = True
) -> SearchStrategy[poise.Model]:
    """Return a strategy of :func:`random_model`, including small bodies."""
    from hypothesis import strategies as st

    return st.builds(
        random_model,
        seed=st.integers(0, 2**32 - 1),
        joints=st.integers(1, max_joints),
        kinds=st.just(kinds),
        mimic=st.just(mimic),
    )


def random_transform(rng: np.random.Generator, scale: float = 0.5) -> NDArray[np.float64]:
    """Return a random ``(4, 4)`` transform: any rotation, and a translation of about ``scale`` metres."""
    transform = np.eye(4)
    orthogonal, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    transform[:3, :3] = orthogonal * np.linalg.det(orthogonal)
    transform[:3, 3] = rng.normal(scale=scale, size=3)
    return transform


def _deal(rng: np.random.Generator, kinds: tuple[str, ...], count: int) -> list[str]:
    """Return ``count`` kinds from whole shuffled decks, so that none is missing."""
    decks = [rng.permutation(kinds) for _ in range(-(-count // len(kinds)))]
    return [str(kind) for kind in np.concatenate(decks)[:count]]


def _parent(rng: np.random.Generator, frames: list[str | None]) -> str | None:
    """Return a parent frame: usually the newest, for long paths; sometimes a random one, for branches."""
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
    if kind == "path":
        options["path"] = random_path(rng)
    if kind == "scale":
        options["length"] = float(rng.uniform(0.1, 0.6))
    if kind in LIMITED and limited and rng.random() < 0.7:
        options["lower"], options["upper"] = float(-rng.uniform(0.2, 2.5)), float(rng.uniform(0.2, 2.5))
    return options


def random_path(rng: np.random.Generator) -> poise.model.Path:
    """Return a random curve through 3 to 6 points: open or closed, spline or rounded polyline, following or not."""
    n = int(rng.integers(3, 7))
    steps = rng.normal(scale=0.1, size=(n, 3))
    steps[:, 0] += 0.3  # ahead on the whole, so that no corner is sharper than a radius can round
    points = np.cumsum(steps, axis=0)
    closed = bool(rng.random() < 0.3)
    if closed:
        angles = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        points = np.stack([0.4 * np.cos(angles), 0.3 * np.sin(angles), rng.uniform(-0.1, 0.1, n)], axis=1)
    follow, straight = bool(rng.random() < 0.7), bool(rng.random() < 0.3)
    forward = random_axis(rng)
    if straight:
        return poise.model.Path(points, "polyline", closed, follow, forward, corner=0.02)
    return poise.model.Path(points, "spline", closed, follow, forward)


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    """Return a unit axis: half the time a signed coordinate axis, since these have separate branches."""
    if rng.random() < 0.5:
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    else:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
    return tuple(float(a) for a in axis)


STAGE_POINTS = [(0, 0, 0), (0.6, 0.3, 0.1), (1.2, -0.2, 0.2), (1.8, 0.1, 0)]


def make_stage() -> poise.Model:
    """Return an arm with stretching bones on a carriage that follows a curve."""
    b = poise.ModelBuilder("stage")
    b.add_joint("carriage", None, "path", path=STAGE_POINTS, mass=2.0)
    b.add_joint("shoulder", "carriage", "universal", axis=(0, 0, 1), axis2=(0, 1, 0))
    b.add_joint("upper", "shoulder", "scale", axis=(1, 0, 0), length=0.3, lower=0.7, upper=1.5, mass=1.0)
    b.add_joint("elbow", "upper", "revolute", axis=(0, 1, 0), lower=0, upper=2.6)
    b.add_joint("lower", "elbow", "scale", axis=(1, 0, 0), length=0.3, lower=0.7, upper=1.5, mass=1.0)
    b.add_joint("wrist", "lower", "ball")
    return b.add_frame("hand", "wrist", (0.1, 0, 0)).build()


def build_elbow_arm(**elbow: Any) -> poise.ModelBuilder:
    """Two hinges and a tip; keywords go to the elbow."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", frame="upper_arm", lower=-2, upper=2, mass=2, center=(0.2, 0, 0))
    builder.add_joint("elbow", "upper_arm", "revolute", **dict[str, Any](offset=(0.4, 0, 0), mass=1.0) | elbow)
    return builder.add_frame("tip", "elbow", (0.3, 0, 0))


def build_hinge(lower: float, upper: float) -> poise.Model:
    """Return a hinge with a frame "hand" 1 m away."""
    builder = poise.ModelBuilder("hinge").add_joint("hinge", None, "revolute", lower=lower, upper=upper)
    return builder.add_frame("hand", "hinge", (1, 0, 0)).build()


def build_two_links(
    shoulder: tuple[float | None, float | None] = (-3.0, 3.0),
    elbow: tuple[float | None, float | None] = (-2.5, 2.5),
    *,
    rest: tuple[float | None, float | None] = (None, None),
    size: float = 1.0,
    units: str = "m",
) -> poise.Model:
    """Return a planar arm of two links: frames "shoulder", "elbow" and "hand", with the ranges of its joints."""
    builder = poise.ModelBuilder("arm")
    builder.units = units
    builder.add_joint("shoulder", None, "revolute", lower=shoulder[0], upper=shoulder[1], rest=rest[0])
    options: dict[str, Any] = {"lower": elbow[0], "upper": elbow[1], "rest": rest[1]}
    builder.add_joint("elbow", "shoulder", "revolute", offset=(size, 0, 0), **options)
    return builder.add_frame("hand", "elbow", (size, 0, 0)).build()


def build_ball_arm(upper: float = 2.5) -> poise.Model:
    """Return an arm with a ball joint and a hinge that bends one way, links of 0.3 m."""
    builder = poise.ModelBuilder("ball arm")
    builder.add_joint("shoulder", None, "ball")
    builder.add_joint("elbow", "shoulder", "revolute", offset=(0, 0, 0.3), axis=(0, 1, 0), lower=0.0, upper=upper)
    return builder.add_frame("hand", "elbow", (0, 0, 0.3)).build()
