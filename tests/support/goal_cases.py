"""Every goal once, with its residual in NumPy, as a reference for the laws of goals.

``CASES[name](body)`` is a goal on a random body and its rows as a function of q: metres in units of L, and radians.
With ``body.at`` the target is taken from that pose, so that the residual is zero there.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import poise
from bodies import random_transform
from goal_bodies import Body, random_body
from poise.arrays import Floats
from poise.goals import (
    Align,
    Angle,
    Balance,
    Ball,
    Box,
    CenterOfMass,
    Custom,
    Distance,
    Goal,
    Grasp,
    HalfSpace,
    Inside,
    LookAt,
    MidRange,
    OnLine,
    OnPlane,
    Orient,
    Range,
    Reach,
    Relative,
    Rest,
)

Rows = Callable[[Floats], Floats]


def clip_out(deviation: Floats, low: Any, high: Any) -> Floats:
    """Return the deviation outside [low, high], with the sign of target minus current."""
    return np.asarray(np.clip(deviation, low, high) - deviation)


def turn(R: Floats) -> Floats:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def between(a: Floats, d: Floats) -> Floats:
    """Return the rotation vector of the shortest rotation from a to d."""
    n = np.cross(a, d)
    size = float(np.linalg.norm(n))
    return n * (np.arctan2(size, a @ d) / size) if size > 1e-12 else n


def angle_of(a: Floats, b: Floats) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def unit(v: Floats) -> Floats:
    return np.asarray(v / np.linalg.norm(v))


# ------------------------------------------------------------------------------------------------ places


def reach(body: Body) -> tuple[Goal, Rows]:
    point = body.rng.normal(size=3)
    target = body.place(body.a, point)
    return Reach(body.a, target, point=point), lambda q: (target - body.p(body.a, q, point)) / body.model.length


def reach_transform(body: Body) -> tuple[Goal, Rows]:
    target = body.wanted(lambda q: body.T(body.a, q), random_transform(body.rng))

    def rows(q: Floats) -> Floats:
        T = body.T(body.a, q)
        return np.concatenate(
            [(target[:3, 3] - T[:3, 3]) / body.model.length, turn(target[:3, :3] @ T[:3, :3].T)],
        )

    return Reach(body.a, target), rows


def grasp(body: Body) -> tuple[Goal, Rows]:
    target = body.wanted(lambda q: body.T(body.a, q), random_transform(body.rng))
    there = random_transform(body.rng)
    held = Grasp(body.a, poise.Object(poise.model.Sphere(0.1), there), np.linalg.inv(there) @ target)

    def rows(q: Floats) -> Floats:
        T = body.T(body.a, q)
        return np.concatenate([(target[:3, 3] - T[:3, 3]) / body.model.length, turn(target[:3, :3] @ T[:3, :3].T)])

    return held, rows


def reach_range(body: Body) -> tuple[Goal, Rows]:
    x, y, z = body.place(body.a)
    target = (x, Range(y - 0.1, y + 0.2), Range(z, None))
    low, high = [x, y - 0.1, z], [x, y + 0.2, np.inf]
    return Reach(body.a, target), lambda q: clip_out(body.p(body.a, q), low, high) / body.model.length


def reach_relative(body: Body) -> tuple[Goal, Rows]:
    target = body.wanted(lambda q: seen_from(body, q), body.rng.normal(size=3))
    goal = Reach(body.a, target, relative_to=body.b)
    return goal, lambda q: (body.p(body.b, q, target) - body.p(body.a, q)) / body.model.length


def reach_relative_range(body: Body) -> tuple[Goal, Rows]:
    x, y, z = body.wanted(lambda q: seen_from(body, q), body.rng.normal(size=3))
    goal = Reach(body.a, (x, Range(None, y), Range(z - 0.1, z + 0.1)), relative_to=body.b, weight=(2.0, 1.0, 0.5))
    low, high = [x, -np.inf, z - 0.1], [x, y, z + 0.1]
    weight = np.array([1.0, 0.5, 0.25])  # the heaviest becomes 1
    return goal, lambda q: weight * clip_out(seen_from(body, q), low, high) / body.model.length


def seen_from(body: Body, q: Floats) -> Floats:
    """Return the origin of frame a in frame b."""
    T = body.T(body.b, q)
    return np.asarray(T[:3, :3].T @ (body.p(body.a, q) - T[:3, 3]))


def relative(body: Body) -> tuple[Goal, Rows]:
    X = body.wanted(lambda q: np.linalg.inv(body.T(body.b, q)) @ body.T(body.a, q), random_transform(body.rng))

    def rows(q: Floats) -> Floats:
        target, T = body.T(body.b, q) @ X, body.T(body.a, q)
        return np.concatenate([(target[:3, 3] - T[:3, 3]) / body.model.length, turn(target[:3, :3] @ T[:3, :3].T)])

    return Relative(body.a, body.b, X), rows


def distance(body: Body) -> tuple[Goal, Rows]:
    one, other = body.rng.normal(size=(2, 3))

    def apart(q: Floats) -> float:
        return float(np.linalg.norm(body.p(body.a, q, one) - body.p(body.b, q, other)))

    wanted = 0.7 if body.at is None else apart(body.at)
    goal = Distance(body.a, body.b, wanted, point_a=one, point_b=other)
    return goal, lambda q: np.array([wanted - apart(q)]) / body.model.length


def distance_range(body: Body) -> tuple[Goal, Rows]:
    center = body.rng.normal(size=3)

    def apart(q: Floats) -> Floats:
        return np.array([np.linalg.norm(body.p(body.a, q) - center)])

    wanted = 0.5 if body.at is None else float(apart(body.at)[0])
    goal = Distance(body.a, center, Range(0.9 * wanted, 1.1 * wanted))
    return goal, lambda q: clip_out(apart(q), 0.9 * wanted, 1.1 * wanted) / body.model.length


def on_plane(body: Body) -> tuple[Goal, Rows]:
    point, normal, spot = body.place(body.a, (0.1, 0.2, 0.3)), body.rng.normal(size=3), (0.1, 0.2, 0.3)
    goal = OnPlane(body.a, point, normal, at=spot)
    return goal, lambda q: np.array([0.0, 0.0, unit(normal) @ (point - body.p(body.a, q, spot))]) / body.model.length


def on_line(body: Body) -> tuple[Goal, Rows]:
    point, along = body.place(body.a), unit(body.rng.normal(size=3))

    def rows(q: Floats) -> Floats:
        gap = point - body.p(body.a, q)
        return np.asarray(gap - along * (along @ gap)) / body.model.length

    return OnLine(body.a, point, along), rows


def inside_box(body: Body) -> tuple[Goal, Rows]:
    center, T, size = body.place(body.a), random_transform(body.rng), np.array([0.2, 0.1, 0.3])
    goal = Inside(body.a, Box(center, size, T[:3, :3]))
    return goal, lambda q: clip_out(T[:3, :3].T @ (body.p(body.a, q) - center), -size / 2, size / 2) / body.model.length


def inside_ball(body: Body) -> tuple[Goal, Rows]:
    center = body.place(body.a) + (body.at is not None) * np.array([0.1, 0.0, 0.0])
    goal = Inside(body.a, Ball(center, 0.2))
    return goal, lambda q: np.array([min(0.2 - np.linalg.norm(body.p(body.a, q) - center), 0.0)]) / body.model.length


def inside_planes(body: Body) -> tuple[Goal, Rows]:
    normals = body.rng.normal(size=(3, 3))
    points = [body.place(body.a) + (body.at is not None) * 0.1 * n for n in normals]
    goal = Inside(body.a, [HalfSpace(point, n) for point, n in zip(points, normals, strict=True)])

    def rows(q: Floats) -> Floats:
        left = [unit(n) @ (point - body.p(body.a, q)) for point, n in zip(points, normals, strict=True)]
        return np.minimum(left, 0.0) / body.model.length

    return goal, rows


# ------------------------------------------------------------------------------------------------ directions


def orient(body: Body) -> tuple[Goal, Rows]:
    R = body.wanted(lambda q: body.T(body.a, q), random_transform(body.rng))[:3, :3]
    return Orient(body.a, R), lambda q: turn(R @ body.T(body.a, q)[:3, :3].T)


def orient_some(body: Body) -> tuple[Goal, Rows]:
    R = body.wanted(lambda q: body.T(body.a, q), random_transform(body.rng))[:3, :3]
    free = np.array([1.0, 1.0, 0.0])
    return Orient(body.a, R, axes="xy"), lambda q: free * (R.T @ turn(R @ body.T(body.a, q)[:3, :3].T))


def orient_within(body: Body) -> tuple[Goal, Rows]:
    R = body.wanted(lambda q: body.T(body.a, q), random_transform(body.rng))[:3, :3]
    low, high = [-0.1, 0.0, -np.inf], [0.1, 0.3, 0.0]
    goal = Orient(body.a, R, within=(0.1, Range(0.0, 0.3), Range(None, 0.0)))
    return goal, lambda q: clip_out(-R.T @ turn(R @ body.T(body.a, q)[:3, :3].T), low, high)


def look_at(body: Body) -> tuple[Goal, Rows]:
    axis, eye = unit(body.rng.normal(size=3)), body.rng.normal(size=3)
    target = body.place(body.a, eye + 0.8 * axis)

    def rows(q: Floats) -> Floats:
        return between(body.T(body.a, q)[:3, :3] @ axis, unit(target - body.p(body.a, q, eye)))

    return LookAt(body.a, target, axis=axis, point=eye), rows


def look_at_frame(body: Body) -> tuple[Goal, Rows]:
    target = body.wanted(
        lambda q: np.linalg.inv(body.T(body.b, q)) @ np.append(body.p(body.a, q, (0, 0, 0.9)), 1.0),
        body.rng.normal(size=4),
    )[:3]

    def rows(q: Floats) -> Floats:
        return between(body.T(body.a, q)[:3, 2], unit(body.p(body.b, q, target) - body.p(body.a, q)))

    return LookAt(body.a, target, relative_to=body.b), rows


def align(body: Body) -> tuple[Goal, Rows]:
    direction = unit(body.wanted(lambda q: -body.T(body.a, q)[:3, 1], body.rng.normal(size=3)))
    return Align(body.a, "-y", direction), lambda q: between(-body.T(body.a, q)[:3, 1], direction)


def align_relative(body: Body) -> tuple[Goal, Rows]:
    direction = unit(
        body.wanted(lambda q: body.T(body.b, q)[:3, :3].T @ body.T(body.a, q)[:3, 0], body.rng.normal(size=3))
    )
    goal = Align(body.a, "x", direction, relative_to=body.b)
    return goal, lambda q: between(body.T(body.a, q)[:3, 0], body.T(body.b, q)[:3, :3] @ direction)


def angle(body: Body) -> tuple[Goal, Rows]:
    axis = unit(body.rng.normal(size=3))

    def value(q: Floats) -> float:
        return angle_of(body.T(body.a, q)[:3, 2], body.T(body.b, q)[:3, :3] @ axis)

    wanted = 1.0 if body.at is None else value(body.at)
    return Angle(body.a, "z", body.b, axis, wanted), lambda q: np.array([wanted - value(q)])


def angle_range(body: Body) -> tuple[Goal, Rows]:
    def value(q: Floats) -> Floats:
        return np.array([angle_of(body.T(body.a, q)[:3, 0], np.array([0.0, 1.0, 0.0]))])

    middle = 1.0 if body.at is None else float(value(body.at)[0])
    low, high = max(0.0, middle - 0.1), min(np.pi, middle + 0.1)
    return Angle(body.a, "x", None, "y", (low, high)), lambda q: clip_out(value(q), low, high)


# ------------------------------------------------------------------------------------------------ masses


def center(model: poise.Model, q: Floats) -> Floats:
    """Return the centre of mass, summed frame by frame."""
    total = np.zeros(3)
    for name in model.frames:
        frame, T = model.frame(name), model.fk(q, name)
        total += frame.mass * (T[:3, :3] @ frame.center + T[:3, 3])
    return np.asarray(total / model.mass)


def center_of_mass(body: Body) -> tuple[Goal, Rows]:
    target = body.wanted(lambda q: center(body.model, q), body.rng.normal(size=3))
    return CenterOfMass(target), lambda q: (target - center(body.model, q)) / body.model.length


def center_of_mass_range(body: Body) -> tuple[Goal, Rows]:
    x, _, z = body.wanted(lambda q: center(body.model, q), body.rng.normal(size=3))
    low, high = [x, -np.inf, z - 0.01], [x, np.inf, z + 0.02]
    goal = CenterOfMass((x, Range(), Range(z - 0.01, z + 0.02)))
    return goal, lambda q: clip_out(center(body.model, q), low, high) / body.model.length


def balance(body: Body) -> tuple[Goal, Rows]:
    """Return a balance goal and its rows; they are compared sorted, since the kernels may begin at another corner."""
    frames = body.rng.choice(body.model.frames, size=6)
    points = body.rng.normal(size=(6, 3))
    if body.at is not None:  # far around the centre
        middle, away = center(body.model, body.at), 5.0 * np.array([unit(p * [1, 1, 0]) for p in ring()])
        points = np.array(
            [
                np.linalg.inv(body.T(f, body.at))[:3] @ np.append(middle + d, 1.0)
                for f, d in zip(frames, away, strict=True)
            ]
        )
    margin = 0.05

    def rows(q: Floats) -> Floats:
        at = np.array([body.p(frame, q, point) for frame, point in zip(frames, points, strict=True)])[:, :2]
        from scipy.spatial import ConvexHull

        hull = ConvexHull(at)
        inside = -(hull.equations[:, :2] @ center(body.model, q)[:2] + hull.equations[:, 2])
        missing = np.maximum(margin - inside, 0.0) / body.model.length
        return np.sort(np.concatenate([missing, np.zeros(6 - len(missing))]))

    return Balance([*zip(map(str, frames), points, strict=True)], margin=margin), rows


def ring() -> Floats:
    turns = np.arange(6) * (np.pi / 3) + 0.2
    return np.stack([np.cos(turns), np.sin(turns), 0.0 * turns], axis=1)


def custom(body: Body) -> tuple[Goal, Rows]:
    model, rng = body.model, body.rng
    shift = rng.normal(size=2) if body.at is None else body.p(body.a, body.at)[:2] * body.p(body.b, body.at)[2]

    def residual(q: Floats) -> Floats:
        return np.asarray(body.p(body.a, q)[:2] * body.p(body.b, q)[2] - shift)

    def jacobian(q: Floats) -> Floats:
        a, b = model.jacobian(q, body.a)[:2], model.jacobian(q, body.b)[2]
        return np.asarray(a * body.p(body.b, q)[2] + np.outer(body.p(body.a, q)[:2], b))

    return Custom(residual, jacobian, size=2), lambda q: -residual(q)


def custom_differences(body: Body) -> tuple[Goal, Rows]:
    goal, rows = custom(body)
    assert isinstance(goal, Custom)
    return Custom(goal.residual, size=2), rows


MAKERS = (
    *(
        reach,
        reach_transform,
        grasp,
        reach_range,
        reach_relative,
        reach_relative_range,
        relative,
        distance,
        distance_range,
    ),
    *(on_plane, on_line, inside_box, inside_ball, inside_planes, orient, orient_some, orient_within, look_at),
    *(look_at_frame, align, align_relative, angle, angle_range, center_of_mass, center_of_mass_range, balance),
    *(custom, custom_differences),
)
CASES: dict[str, Callable[[Body], tuple[Goal, Rows]]] = {maker.__name__: maker for maker in MAKERS}
SORTED = {"balance"}  # goals whose rows have no defined order
TURNED = {"on_line"}  # goals whose rows are along axes chosen by the kernels


def place_goal(make: Callable[[Body], tuple[Goal, Rows]]) -> tuple[poise.Model, Goal]:
    """Return a body and a goal of it that a maker describes."""
    body, _ = random_body(3, at_pose=False)
    return body.model, make(body)[0]


# A goal of every kind, with the body that it is for.
GOALS: dict[str, Callable[[], tuple[poise.Model, Goal]]] = {
    **{name: partial(place_goal, make) for name, make in CASES.items()},
    "rest": lambda: (place_goal(CASES["reach"])[0], Rest()),
    "mid_range": lambda: (place_goal(CASES["reach"])[0], MidRange()),
}
