"""Solve the frames of a live stream one after the other, without look-ahead.

Contacts are decided from the frames so far. Given contacts begin and end at their own frames, and a point is held at
its position when its contact began. With contacts="auto", `ContactDetector` runs on a copy of the body that follows its
goals without any contact: a contact begins after 0.05 s, and also ends when the goals would move the point 5 cm away.
The floor is the lowest height of a sole so far. The state of a stream has a fixed size, so the cost per frame does not
grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from poise.anatomy import ContactPoint
from poise.arrays import Floats
from poise.goals import Goal, Reach, Rest
from poise.kinematics import Motion
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_targets import ClipTargets
from poise.motion.clips.result import Track
from poise.motion.contact.detector import ContactDetector
from poise.motion.contact.ledger import Contact, Contacts, Place
from poise.motion.contact.soles import find_soles
from poise.solvers import Solution, Solver
from poise.solvers.starts import read_start

__all__ = ["follow"]

Key = tuple[str, Place]
NOTICED_S = 0.05  # shortest time that a point is slow before it is held; feet do not settle here, so they would jerk
STRAY_M = 0.05  # largest distance between a held point and its position on the body without contacts
MAX_FRAME_STEP = 0.3  # rad (slides: relative to the model's length): largest step of one frame


def follow(clip: ClipTargets, contacts: Contacts | str) -> Track:
    """Solve each frame from the previous one; the cost per frame is constant.

    A contact holds its point at its position when the contact began, with priority over the goals.
    """
    model, goals, frames, fps = clip.model, clip.goals, clip.frames, clip.fps
    stream = Stream(model, goals, clip.limits, fps, read_start(model, clip.start), begun=clip.start is not None)
    watch = FootWatch(stream.copy_free()) if isinstance(contacts, str) else None
    ledger = Contacts((), frames, fps) if isinstance(contacts, str) else contacts
    record = Record(model)
    served = {name: goal for name, goal in goals.items() if not isinstance(goal, Rest)}
    out, errors = np.empty((frames, model.nq)), {name: np.zeros((frames, 2)) for name in served}
    for t in range(frames):
        targets = {name: path[t] if path.ndim > 1 else path for name, path in clip.paths.items()}
        standing = list_given(ledger, t) if watch is None else watch.watch(targets, record.places)
        record.update(t, standing, stream.q)
        solution = stream.go_on(targets, record.places)
        out[t] = stream.q
        for name in served:
            errors[name][t] = solution.errors[name]
        if clip.progress is not None:
            clip.progress(t + 1, frames)
    tolerances = {name: goal.tolerances(model, False) for name, goal in served.items()}
    held = Contacts(tuple(record.close(frames)), frames, fps, ledger.floor)
    return Track(Motion(model, out, fps), errors, tolerances, held, limits=clip.limits)


@dataclass(eq=False)
class Stream:
    """A body solved from frame to frame, with a solver for each set of points in contact."""

    model: Model
    goals: Mapping[str, Goal]
    limits: Sequence[Limit]
    fps: float
    q: Floats
    begun: bool  # whether the pose is that of an earlier frame; the first frame may jump
    velocity: Floats | None = None
    solvers: dict[tuple[Key, ...], Solver] = field(default_factory=dict)

    def copy_free(self) -> Stream:
        """Return a copy without rate limits, to find the pose that the goals alone lead to."""
        return replace(self, limits=[limit for limit in self.limits if not limit.timed], solvers={})

    def go_on(self, targets: Mapping[str, Floats], places: Mapping[Key, Floats]) -> Solution:
        """Solve the next frame, with points held at their places."""
        key = tuple(sorted(places))
        if key not in self.solvers:
            self.solvers[key] = make_solver(self.model, self.goals, key, self.limits)
        solver = self.solvers[key]
        wanted = {**targets, **{f"contact {i}": places[each] for i, each in enumerate(key)}}
        if not self.begun:
            lasting = tuple(limit for limit in self.limits if not limit.timed)
            solution = solver.with_targets(wanted, mode="nearest", step_limit=None, limits=lasting).solve(self.q)
        elif solver.timed:
            solution = solver.step(self.q, 1.0 / self.fps, wanted, velocity=self.velocity)
            self.velocity = solution.velocity
        else:
            solution = solver.solve(self.q, wanted)
        self.begun = True
        self.q = np.array(solution.q)
        return solution


def make_solver(model: Model, goals: Mapping[str, Goal], held: Sequence[Key], limits: Sequence[Limit]) -> Solver:
    """Return a solver for one set of points in contact, which keeps its branch from frame to frame."""
    below = 1 if held else 0
    listed: list[Goal] = [
        Reach(frame, (0.0, 0.0, 0.0), point=point, name=f"contact {i}") for i, (frame, point) in enumerate(held)
    ]
    listed += [replace(goal, name=name, priority=goal.priority + below) for name, goal in goals.items()]
    return Solver(model, listed, limits=list(limits), mode="continuous", step_limit=MAX_FRAME_STEP)


@dataclass(eq=False)
class Record:
    """The contacts so far: active ones with their places, and finished ones."""

    model: Model
    places: dict[Key, Floats] = field(default_factory=dict)
    since: dict[Key, tuple[int, str]] = field(default_factory=dict)
    over: list[Contact] = field(default_factory=list)

    def update(self, t: int, standing: Mapping[Key, Contact | ContactPoint], q: Floats) -> None:
        """Begin and end contacts at a frame; a point is held at its position in the previous pose."""
        for key in [key for key in self.places if key not in standing]:
            self.end(key, t)
        for key, what in standing.items():
            if key not in self.places:
                given = what.place if t == 0 and isinstance(what, Contact) else None
                self.places[key] = find_point(self.model, q, key) if given is None else np.array(given)
                self.since[key] = t, what.name

    def end(self, key: Key, t: int) -> None:
        """End a contact before frame t."""
        x, (start, name) = self.places.pop(key), self.since.pop(key)
        self.over.append(Contact(key[0], start, t, place=(x[0], x[1], x[2]), point=key[1], name=name))

    def close(self, frames: int) -> list[Contact]:
        """End the active contacts and list all contacts."""
        for key in list(self.places):
            self.end(key, frames)
        return self.over


def list_given(ledger: Contacts, t: int) -> dict[Key, Contact | ContactPoint]:
    """List the points in contact at a frame."""
    return {(contact.frame, contact.point): contact for contact in ledger.list_at(t)}


class FootWatch:
    """Detects the standing feet on a copy of the body that follows its goals alone."""

    def __init__(self, free: Stream) -> None:
        self.free = free
        self.soles = {(sole.frame, sole.point): sole for sole in find_soles(free.model)}
        self.size, self.floor = measure_rest(free.model), np.inf
        self.detector = ContactDetector(len(self.soles), free.fps, max(2, round(NOTICED_S * free.fps)))

    def watch(self, targets: Mapping[str, Floats], held: Mapping[Key, Floats]) -> dict[Key, Contact | ContactPoint]:
        """Process the next frame and return the points that stand in it."""
        self.free.go_on(targets, {})
        places = np.array([find_point(self.free.model, self.free.q, key) for key in self.soles])
        heights = places @ self.free.model.up_direction
        self.floor = min(self.floor, float(heights.min()))
        above = (heights - self.floor).tolist()
        strays = [
            key in held and float(np.linalg.norm(x - held[key])) for key, x in zip(self.soles, places, strict=True)
        ]
        near = [stray < STRAY_M * self.size for stray in strays]
        standing = self.detector.watch(places.tolist(), above, self.size, near)
        return {key: sole for (key, sole), stands in zip(self.soles.items(), standing, strict=True) if stands}


def measure_rest(model: Model) -> float:
    """Return the size of a body at rest relative to a person of 1.75 m, whose frames span 1.6 m."""
    heights = model.fk(model.rest)[:, :3, 3] @ model.up_direction
    return max(float(np.ptp(heights)), 0.5 * model.length, 1e-9) / 1.6


def find_point(model: Model, q: Floats, key: Key) -> Floats:
    """Return the position of a point of the body [m]."""
    T = model.fk(q, key[0])
    out: Floats = T[:3, :3] @ np.array(key[1]) + T[:3, 3]
    return out
