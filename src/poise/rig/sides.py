"""Left and right of a rig: the mirror images of handles, wishes and whole states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.rig.handles import Handle
from poise.rig.limbs import Limb
from poise.rig.mirror import Mirror
from poise.rig.state import Blend, Pole, State, Wish

__all__ = ["Sides"]

Floats = NDArray[np.float64]


class Sides:
    """What is left is right, and the other way round; what has no other side is its own."""

    def __init__(self, mirror: Mirror, handles: Mapping[str, Handle], limbs: Mapping[str, Limb]) -> None:
        self.mirror, self.handles, self.limbs = mirror, handles, limbs

    def target(self, q: Floats, handle: Handle, target: Floats) -> Floats:
        """The image of a handle's target in the plane of the body at q."""
        if target.ndim == 1:
            return self.mirror.point(q, target)
        return self.mirror.transform(q, handle.frame, target)

    def wish(self, q: Floats, handle: Handle, wish: Wish) -> Wish:
        """The image of a wish."""
        axis = None
        if wish.axis is not None:
            image = self.mirror.axis(handle.frame, np.array(wish.axis))
            axis = (float(image[0]), float(image[1]), float(image[2]))
        return replace(wish, target=self.target(q, handle, wish.target), axis=axis)

    def state(self, state: State, about: Floats | None = None) -> State:
        """The image of a state, in the plane of its own body or of another one."""
        image, q = self.mirror, state.q if about is None else about
        return replace(
            state,
            q=image.pose(state.q, about),
            shown=image.pose(state.shown, about),
            places={self.handle(name): self.wish(q, self.handles[name], w) for name, w in state.places.items()},
            aims={self.handle(name): self.wish(q, self.handles[name], w) for name, w in state.aims.items()},
            poles={self.limb(name): self.pole(q, pole) for name, pole in state.poles.items()},
            blends={self.limb(name): Blend(blend.ik, image.pose(blend.own)) for name, blend in state.blends.items()},
            strengths={self.handle(name): strength for name, strength in state.strengths.items()},
            frozen=frozenset(self.joint(name) for name in state.frozen),
            dragged=(),
            without={self.handle(name): self.state(other, q) for name, other in state.without.items()},
        )

    def pole(self, q: Floats, pole: Pole) -> Pole:
        """The image of a pole; a normal, being a cross product, also changes its sign."""
        normal = None if pole.normal is None else -self.mirror.direction(q, pole.normal)
        return Pole(self.mirror.direction(q, pole.direction), normal)

    def handle(self, name: str) -> str:
        """The handle on the other side."""
        return self.handles[name].mirror or name

    def limb(self, name: str) -> str:
        """The limb on the other side."""
        other = self.handle(self.limbs[name].handle)
        return next((limb.name for limb in self.limbs.values() if limb.handle == other), name)

    def joint(self, name: str) -> str:
        """The joint on the other side."""
        model = self.mirror.model
        return model.frame(self.mirror.partners[model.joint(name).frame]).joint or name
