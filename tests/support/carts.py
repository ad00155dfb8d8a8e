"""A body on wheels with two arms and no legs."""

import numpy as np

import poise


def make_cart() -> poise.Model:
    """Return a cart with a lift and two arms of five joints."""
    builder = poise.ModelBuilder("cart")
    builder.add_joint("base", None, "free", offset=(0.0, 0.0, 0.2))
    builder.add_joint("lift", "base", "prismatic", offset=(0.0, 0.0, 0.6), axis=(0, 0, 1), lower=0.0, upper=0.3)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        builder.add_joint(f"{side}_wheel", "base", "continuous", offset=(0, sign * 0.2, -0.1), axis=(0, 1, 0), mass=1.0)
        above, places = "lift", ((0.0, sign * 0.2, 0.4), (0.0, 0.0, 0.0), (0.0, 0.0, -0.1), (0.0, 0.0, -0.2))
        for k, at in enumerate((*places, (0.0, 0.0, -0.25))):
            axis = np.eye(3)[(1, 0, 2, 1, 0)[k]]
            builder.add_joint(f"{side}_{k}", above, "revolute", offset=at, axis=axis, lower=-2.0, upper=2.0, mass=0.5)
            above = f"{side}_{k}"
        builder.add_frame(f"{side}_tip", above, offset=(0.0, 0.0, -0.1))
    return builder.build()
