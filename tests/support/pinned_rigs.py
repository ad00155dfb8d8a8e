"""A rig of the humanoid with pinned feet, for tests."""

import poise

__all__ = ["make_pinned_rig"]


def make_pinned_rig(*pins: str) -> poise.Rig:
    """Return a rig of the humanoid with some handles pinned; both feet if none are named."""
    rig = poise.Rig(poise.load("humanoid"))
    for pin in pins or ("foot_l", "foot_r"):
        rig.pin(pin)
    return rig
