"""Bodies that are not bipeds: legs around a hub, and two arms that hang from a mast."""

import numpy as np

import poise

AXES = np.eye(3)


def add_limb(
    builder: poise.ModelBuilder, name: str, parent: str, at: tuple[float, float, float], joints: int, length: float
) -> None:
    """Add a limb of hinges that hangs down, and a frame at its end."""
    steps = [at, *[(0.0, 0.0, -length / joints)] * (joints - 1)]
    for k, step in enumerate(steps):
        axis = AXES[(0, 1, 1, 2, 1, 0)[k % 6]]
        builder.add_joint(f"{name}{k}", parent, "revolute", offset=step, axis=axis, lower=-2.0, upper=2.0, mass=0.5)
        parent = f"{name}{k}"
    builder.add_frame(f"{name}_end", parent, offset=(0.0, 0.0, -length / joints))


def make_stool(legs: int, joints: int = 3, turn: float = 0.0, free: bool = True, mast: float = 0.0) -> poise.Model:
    """Return a hub on legs in a circle, with a mast above it if its length is not zero."""
    builder = poise.ModelBuilder("stool")
    if free:
        builder.add_joint("hub", None, "free", offset=(0.0, 0.0, 0.8), mass=5.0)
    else:
        builder.add_frame("hub", None, offset=(0.0, 0.0, 0.8))
    for leg in range(legs):
        angle = turn + 2.0 * np.pi * leg / legs
        place = (0.25 * float(np.cos(angle)), 0.25 * float(np.sin(angle)), 0.0)
        add_limb(builder, f"limb_{leg}_", "hub", place, joints, 0.8)
    if mast:
        builder.add_joint("mast", "hub", "revolute", offset=(0.0, 0.0, mast), axis=(0, 0, 1), lower=-1.0, upper=1.0)
    return builder.build()


def make_hanger(joints: int = 5, height: float = 1.2, length: float = 0.7, waist: bool = False) -> poise.Model:
    """Return two arms that hang from the top of a mast, which is fixed to the world below them."""
    builder = poise.ModelBuilder("hanger")
    builder.add_frame("base", None)
    above, rise = "base", height
    if waist:
        builder.add_joint("waist", "base", "revolute", offset=(0, 0, 0.6 * height), axis=(0, 0, 1), lower=-1, upper=1)
        above, rise = "waist", 0.4 * height
    for side, sign in (("a", 1.0), ("b", -1.0)):
        add_limb(builder, f"limb_{side}_", above, (0.0, 0.2 * sign, rise), joints, length)
    return builder.build()


def make_star(arms: int, joints: int = 3, turn: float = 0.0, up: str = "z", free: bool = True) -> poise.Model:
    """Return a hub with equal arms around it in the xy plane, with hinges that move them out of that plane."""
    builder = poise.ModelBuilder("star")
    builder.up = up
    builder.add_joint("hub", None, "free" if free else "fixed", mass=2.0)
    for arm in range(arms):
        angle = turn + 2.0 * np.pi * arm / arms
        way, axis = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])
        parent = "hub"
        for k in range(joints):
            name = f"limb_{arm}_{k}"
            builder.add_joint(name, parent, "revolute", offset=(0.3 if k else 0.1) * way, axis=axis, mass=0.5)
            parent = name
        builder.add_frame(f"limb_{arm}_end", parent, offset=0.3 * way)
    return builder.build()
