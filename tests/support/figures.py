"""Figures of random proportions without meaningful names, whose roles are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import poise
from poise.model import Model

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Proportions:
    """The lengths of a figure [m]: bones of legs and arms, widths of hips and shoulders, trunk and neck."""

    thigh: float = 0.42
    shin: float = 0.40
    foot: float = 0.18
    upper_arm: float = 0.28
    forearm: float = 0.25
    hand: float = 0.1
    hips: float = 0.1
    shoulders: float = 0.18
    trunk: float = 0.5
    neck: float = 0.12

    @classmethod
    def draw(cls, seed: int) -> Proportions:
        """Draw proportions within 15 % of an adult's."""
        rng, plain = np.random.default_rng(seed), cls()
        return cls(**{name: float(rng.uniform(0.85, 1.15)) * getattr(plain, name) for name in cls.__dataclass_fields__})


@dataclass
class Figure:
    """A biped that faces x, with its left side at positive y, built limb by limb.

    Attributes:
        size: Its lengths.
        head: Whether it has a head.
        arms: Whether it has arms.
        feet: Whether its legs have feet.
        digits: The fingers of each hand, the first of them a thumb.
        order: The order in which limbs are added.
        signs: Factors of all x and y: (-1, 1) reverses its facing, (1, -1) swaps its sides.
        scale: The factor of all lengths.
        turn: An angle about the vertical [rad].
    """

    size: Proportions = field(default_factory=Proportions)
    head: bool = True
    arms: bool = True
    feet: bool = True
    digits: int = 0
    order: tuple[int, ...] = (0, 1, 2, 3, 4)
    signs: tuple[float, float] = (1.0, 1.0)
    scale: float = 1.0
    turn: float = 0.0

    def make(self) -> tuple[Model, dict[str, str]]:
        """Return the model, and the frames of its roles."""
        self.builder, self.roles, self.count = poise.ModelBuilder("figure"), dict[str, str](), 0
        leg = self.size.thigh + self.size.shin
        self.roles["pelvis"] = self.add(None, (0.0, 0.0, leg + 0.15), "free", 8.0)
        spine = self.add(self.roles["pelvis"], (0.0, 0.0, 0.3 * self.size.trunk), "ball", 5.0)
        self.roles["chest"] = self.add(spine, (0.0, 0.0, 0.3 * self.size.trunk), "ball", 8.0)
        limbs = [lambda: self.add_leg("l", 1.0), lambda: self.add_leg("r", -1.0)]
        limbs += [lambda: self.add_arm("l", 1.0), lambda: self.add_arm("r", -1.0), self.add_head]
        for k in self.order:
            limbs[k]()
        return self.builder.build(), self.roles

    def place(self, at: tuple[float, float, float]) -> np.ndarray:
        """Return an offset, scaled, mirrored and rotated; all frames have the axes of the world."""
        x, y, z = self.scale * np.array(at) * (*self.signs, 1.0)
        c, s = np.cos(self.turn), np.sin(self.turn)
        return np.array([c * x - s * y, s * x + c * y, z])

    def add(self, parent: str | None, at: tuple[float, float, float], kind: str, mass: float, bend: int = 0) -> str:
        """Add a joint and return its name; `bend` 1 bends as a knee does, -1 as an elbow does."""
        name, self.count = f"n{self.count}", self.count + 1
        hinge: dict[str, Any] = {}
        if kind == "revolute":
            axis = self.place((0.0, 1.0, 0.0)) / self.scale * np.prod(self.signs)  # a mirror image reverses hinges
            hinge = {"axis": axis, "lower": min(2.2 * bend, 0.0), "upper": max(2.2 * bend, 0.0)}
        self.builder.add_joint(name, parent, kind, offset=self.place(at), mass=mass, **hinge)
        return name

    def end(self, parent: str, at: tuple[float, float, float]) -> None:
        """Mark the end of a part by a frame."""
        self.builder.add_frame(f"end{self.count}", parent, offset=self.place(at))
        self.count += 1

    def add_leg(self, side: str, sign: float) -> None:
        """Add a leg."""
        hip = self.add(self.roles["pelvis"], (0.0, sign * self.size.hips, -0.05), "ball", 3.0)
        knee = self.add(hip, (0.0, 0.0, -self.size.thigh), "revolute", 2.0, bend=1)
        self.roles |= {f"hip_{side}": hip, f"knee_{side}": knee}
        if self.feet:
            foot = self.add(knee, (0.0, 0.0, -self.size.shin), "ball", 0.5)
            self.end(foot, (self.size.foot, 0.0, -0.06))
            self.roles |= {f"ankle_{side}": foot, f"foot_{side}": foot}
        else:
            self.end(knee, (0.0, 0.0, -self.size.shin))

    def add_arm(self, side: str, sign: float) -> None:
        """Add an arm that hangs down, and its fingers."""
        if not self.arms:
            return
        chest = (0.0, sign * self.size.shoulders, 0.35 * self.size.trunk)
        shoulder = self.add(self.roles["chest"], chest, "ball", 1.5)
        elbow = self.add(shoulder, (0.0, 0.0, -self.size.upper_arm), "revolute", 1.0, bend=-1)
        hand = self.add(elbow, (0.0, 0.0, -self.size.forearm), "ball", 0.4)
        self.roles |= {f"shoulder_{side}": shoulder, f"elbow_{side}": elbow, f"hand_{side}": hand}
        if not self.digits:
            self.end(hand, (0.0, 0.0, -self.size.hand))
        for k in range(self.digits):
            thumb = k == 0
            at = (0.03, 0.0, -0.02) if thumb else (0.03 - 0.02 * k, 0.0, -0.08)
            step = (0.03, 0.0, -0.015) if thumb else (0.0, 0.0, -0.03)
            first = self.add(hand, at, "ball", 0.02)
            second = self.add(first, step, "revolute", 0.02, bend=-1)
            self.end(second, step)
            word = ("thumb", "index", "middle", "ring", "little")[k]
            self.roles |= {f"{word}_1_{side}": first, f"{word}_2_{side}": second}

    def add_head(self) -> None:
        """Add a neck and a head."""
        if self.head:
            neck = self.add(self.roles["chest"], (0.0, 0.0, 0.4 * self.size.trunk), "ball", 0.5)
            head = self.add(neck, (0.0, 0.0, self.size.neck), "ball", 3.0)
            self.end(head, (0.0, 0.0, 0.15))
            self.roles |= {"neck": neck, "head": head}


def make_dog(seed: int, signs: tuple[float, float] = (1.0, 1.0), scale: float = 1.0) -> tuple[Model, dict[str, str]]:
    """Return a quadruped of random proportions with a head ahead, and the frames of its roles."""
    rng = np.random.default_rng(seed)
    figure = Figure(signs=signs, scale=scale)
    figure.builder, figure.roles, figure.count = poise.ModelBuilder("dog"), dict[str, str](), 0
    upper, lower, long = rng.uniform(0.18, 0.26), rng.uniform(0.18, 0.26), rng.uniform(0.35, 0.6)
    figure.roles["pelvis"] = pelvis = figure.add(None, (0.0, 0.0, upper + lower + 0.05), "free", 5.0)
    figure.roles["chest"] = chest = figure.add(pelvis, (long, 0.0, 0.0), "ball", 5.0)
    for end, trunk in (("h", pelvis), ("f", chest)):
        for side, sign in (("l", 1.0), ("r", -1.0)):
            hip = figure.add(trunk, (0.0, sign * 0.1, -0.02), "ball", 1.0)
            knee = figure.add(hip, (0.0, 0.0, -upper), "revolute", 0.5, bend=1)
            foot = figure.add(knee, (0.0, 0.0, -lower), "ball", 0.1)
            figure.end(foot, (0.04, 0.0, -0.02))
            figure.roles |= {f"hip_{end}{side}": hip, f"knee_{end}{side}": knee, f"foot_{end}{side}": foot}
    neck = figure.add(chest, (0.1, 0.0, 0.12), "ball", 0.5)
    figure.roles["head"] = head = figure.add(neck, (0.12, 0.0, 0.1), "ball", 1.0)
    figure.end(head, (0.12, 0.0, 0.0))
    return figure.builder.build(), figure.roles
