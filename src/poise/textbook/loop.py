"""The loop of inverse kinematics, taken apart: the rule of a step, the gain, the ranges and the stop are arguments.

    e = gain (goal - here),  J = de/dq,  dq = rule(q, J, e),  q <- q + dq,  until it is close enough, stuck or too late

Source: UCSD, "Basic Jacobian IK Technique", "Choosing Delta e" and "When to Stop"; DLUT, "IK Algorithm" and "Joint
limits"; CIMAT, "Structure of the simplest IK algorithm".
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.goals import Orient, Reach
from poise.model import Joint, Model
from poise.model.plane import find_normal
from poise.textbook.arguments import read_array, read_positive
from poise.textbook.bodies import configuration, forward_kinematics, integrate
from poise.textbook.frames import point_jacobian, world_jacobian
from poise.textbook.inverses import truncated_svd_inverse
from poise.textbook.iteration import limited_step
from poise.textbook.jacobians import adjusted_jacobian
from poise.textbook.rotations import Array, rotation_error
from poise.textbook.twists import rigid

Rule: TypeAlias = Callable[..., Any]
Goals: TypeAlias = Reach | Orient | Sequence[Reach | Orient]

RANGES = ("off", "clamp")


@dataclass(frozen=True)
class LoopGoal:
    """A goal of the loop: a point, a rotation, or both, of one frame.

    Attributes:
        name: the goal's name, by default that of its frame.
        frame: the frame that moves.
        point: ``(3,)`` the point of the frame [m, in the frame].
        target: ``(4, 4)`` the wanted position and rotation in the world.
        weight: ``(6,)`` of the rows, [linear; angular]; 0 for a free component.
        rows: the indices of the rows that count and that the body can move in.
        priority: 0 is served first, by rules that have levels.
    """

    name: str
    frame: str
    point: Array
    target: Array
    weight: Array
    rows: Array
    priority: int

    def linearise(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Return six rows without weights, in world axes: ``[p_d - p; log(R_d R^T)]``, and their Jacobian."""
        here = forward_kinematics(model, q, self.frame)
        place = here[:3, :3] @ self.point + here[:3, 3]
        turn = rotation_error(self.target[:3, :3], here[:3, :3])
        jacobian = world_jacobian(point_jacobian(adjusted_jacobian(model, q, self.frame), self.point), here)
        return np.concatenate([self.target[:3, 3] - place, turn]), jacobian


@dataclass(frozen=True, repr=False)
class LoopTrace:
    """The record of a loop: `poise.plot` draws it, `poise.show` plays it.

    Attributes:
        model: the body.
        goals: the goals, in the order of the rows.
        poses: ``(steps + 1, nq)``, before each step and at the end.
        errors: ``(steps + 1, goals, 2)`` [m, rad], the errors at each pose, without gain and weights.
        residuals: ``(steps + 1, m)``, the stacked error of the goals, with weights and without the gain.
        jacobians: ``(steps + 1, m, nv)``, J at each pose.
        steps: ``(steps, nv)``, the step of the rule at each pose but the last.
        reason: why it ended: "reached", "stalled", "out of steps", or the answer of your ``stop``.
        sketches: the lines that the rule drew: the number of the step, a label and points ``(n, 3)`` [m].
    """

    model: Model
    goals: tuple[LoopGoal, ...]
    poses: Array
    errors: Array
    residuals: Array
    jacobians: Array
    steps: Array
    reason: str
    sketches: tuple[tuple[int, str, Array], ...] = ()

    @property
    def q(self) -> Array:
        """The last configuration."""
        return np.array(self.poses[-1])

    @property
    def reached(self) -> bool:
        """Whether it ended within the tolerance."""
        return self.reason == "reached"

    def __len__(self) -> int:
        return len(self.poses)

    def __repr__(self) -> str:
        metres, radians = self.errors[-1].max(axis=0)
        return f"<LoopTrace: {len(self) - 1} steps, {self.reason}, {metres:.3g} m, {radians:.3g} rad>"


@dataclass(frozen=True)
class IterationTrace:
    """The record of :func:`basic_ik`.

    Attributes:
        q: the last configuration.
        errors: the distance to the goal [m], before each step and at the end.
    """

    q: Array
    errors: tuple[float, ...]


def loop(
    model: Model,
    q: ArrayLike,
    goals: Goals,
    *,
    step: Rule = truncated_svd_inverse,
    gain: float = 1.0,
    ranges: str = "off",
    stop: float | tuple[float, float] | Rule = 1e-6,
    max_steps: int = 200,
    patience: int | None = 50,
) -> LoopTrace:
    """Move a body to its goals by repeated steps of any rule, and record everything.

    A rule is a function of ``(q, J, e)`` that returns the step ``(nv,)``, or an inverse ``(nv, m)`` that is multiplied
    with e. Its parameters are filled by name, so it can also take:

    ====================== ================================================================================
    ``q`` ``theta``        the configuration
    ``J`` ``jacobian``     ``(m, nv)``, the stacked rows of all goals, with weights
    ``e`` ``error``        ``(m,)``, gain times the stacked errors [m, rad]
    ``jacobians`` ``errors`` the same as lists, one for each priority
    ``lower`` ``upper``    the joint ranges ``(nv,)``
    ``k``                  the number of the step, from 0
    ``model`` ``goals`` ``gain``  the body, the goals (:class:`LoopGoal`), the gain
    ``sketch``             ``sketch(label, points)`` keeps a line ``(n, 3)`` in the trace, to be drawn
    ====================== ================================================================================

    So ``transpose_step``, ``frozen_step``, ``priority_step``, ``ccd_step`` and the others are rules as they are;
    set other parameters with ``functools.partial(damped_inverse, damping=0.1)`` or write a ``lambda q, J, e: ...``.

    Args:
        model: The body.
        q: The start.
        goals: One or several :class:`poise.goals.Reach` or :class:`poise.goals.Orient`, with weights and priorities. A
            planar body has no rows for directions in which it cannot move.
        step: The rule; by default the pseudo-inverse.
        gain: beta of "Choosing Delta e": the share of the error that a step should remove. Above 1 it overshoots.
        ranges: "off" leaves the joint ranges to the rule (:func:`poise.textbook.frozen_step` keeps them); "clamp"
            clamps the pose after each step.
        stop: The tolerance [m], or ``(metres, radians)``; or a function that takes its parameters by name as a rule
            does, and returns whether to stop, or a text with the reason.
        max_steps: The largest number of steps.
        patience: The number of steps without a new least error after which it has stalled; None: never.

    Raises:
        InvalidValue: an option is invalid, the rule has an unknown parameter, or its step is not finite.
        ShapeMismatch: ``q`` or the rule's step has the wrong length.
        NameNotFound: the model has no such frame.
    """
    targets, here = read_goals(model, goals), configuration(model, q)
    if not callable(step):
        raise InvalidValue(f"step is {step!r}; it must be a rule, such as textbook.damped_inverse.")
    if ranges not in RANGES or max_steps < 0:
        raise InvalidValue(f"ranges is {ranges!r} and max_steps {max_steps}; give one of {RANGES}, and 0 or more.")
    run = _LoopRun(model, targets, step, read_positive(gain, "gain"))
    reason, least, waited = "out of steps", np.inf, 0
    for k in range(max_steps + 1):
        error = run.look(here, k)
        waited, least = (0, error) if error < least else (waited + 1, least)
        if ended := find_end(stop, run) or ("stalled" if patience is not None and waited >= patience else ""):
            reason = ended
            break
        if k < max_steps:
            run.steps.append(run.ask_rule())
            here = integrate(model, here, run.steps[-1])
            here = clamp_ranges(model, here) if ranges == "clamp" else here
    poses, errors, residuals, jacobians = (np.array(column) for column in zip(*run.rows, strict=True))
    steps = np.array(run.steps).reshape(-1, model.nv)
    return LoopTrace(model, targets, poses, errors, residuals, jacobians, steps, reason, tuple(run.sketches))


class _LoopRun:
    """A running loop: the values available to rules, and the record."""

    def __init__(self, model: Model, goals: tuple[LoopGoal, ...], rule: Rule, gain: float) -> None:
        self.model, self.goals, self.rule, self.gain = model, goals, rule, gain
        self.rows: list[tuple[Array, Array, Array, Array]] = []  # pose, errors, residual, Jacobian
        self.steps: list[Array] = []
        self.sketches: list[tuple[int, str, Array]] = []
        self.offers: dict[str, Any] = {}

    def look(self, q: Array, k: int) -> float:
        """Record a pose, prepare the arguments of the rule, and return the length of the residual."""
        seen = [(goal, *goal.linearise(self.model, q)) for goal in self.goals]
        parts = [(goal.weight * e)[goal.rows] for goal, e, _ in seen]
        blocks = [(goal.weight[:, None] * J)[goal.rows] for goal, _, J in seen]
        away = np.array([e * (goal.weight > 0.0) for goal, e, _ in seen]).reshape(-1, 2, 3)
        e, J = np.concatenate(parts), np.concatenate(blocks)
        self.rows.append((q, np.linalg.norm(away, axis=2), e, J))
        levels = sorted({goal.priority for goal in self.goals})
        chosen = [[i for i, goal in enumerate(self.goals) if goal.priority == level] for level in levels]
        self.offers = {
            **{"q": q.copy(), "theta": q.copy(), "e": self.gain * e, "error": self.gain * e},
            **{"J": J.copy(), "jacobian": J.copy(), "k": k, "model": self.model, "goals": self.goals},
            "jacobians": [np.concatenate([blocks[i] for i in level]) for level in chosen],
            "errors": [self.gain * np.concatenate([parts[i] for i in level]) for level in chosen],
            **{"lower": np.array(self.model.lower), "upper": np.array(self.model.upper), "gain": self.gain},
            "sketch": lambda label, points: self.sketches.append((k, label, read_array(points, "points", None, 3))),
        }
        return float(np.linalg.norm(e))

    def ask_rule(self) -> Array:
        """Return the step of the rule at the present pose."""
        answer, e = call_by_names(self.rule, self.offers, "step"), self.offers["e"]
        name = f"the result of {name_rule(self.rule)} at step {self.offers['k']}"
        if np.ndim(answer) == 2:
            return np.asarray(read_array(answer, name, self.model.nv, len(e)) @ e)
        return read_array(answer, name, self.model.nv)


def find_end(stop: float | tuple[float, float] | Rule, run: _LoopRun) -> str:
    """Return why the loop ends at the present pose, or an empty text."""
    if callable(stop):
        answer = call_by_names(stop, run.offers, "stop")
        return answer if isinstance(answer, str) else "stopped" * bool(answer)
    allowed = read_array((stop, stop) if np.ndim(stop) == 0 else stop, "stop", 2)
    if (allowed < 0.0).any():
        raise InvalidValue(f"stop is {stop}; a tolerance must not be negative.")
    return "reached" * bool((run.rows[-1][1] <= allowed).all())


def call_by_names(function: Rule, offers: Mapping[str, Any], what: str) -> Any:
    """Call a function with those of the offered arguments that it has parameters for.

    Raises:
        InvalidValue: it needs a parameter that is not offered.
    """
    parameters = list(inspect.signature(function).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in named if p.default is p.empty and p.name not in offers]
    if len(named) == len(missing) == 3 or (parameters and not named):  # other names for q, J and e, or *args
        return function(offers["q"], offers["J"], offers["e"])
    if missing:
        fix = f"functools.partial({name_rule(function)}, {missing[0]}=...)"
        raise InvalidValue(f"{what} needs {missing[0]!r}; the loop has {', '.join(offers)}. Set it first: {fix}.")
    return function(**{p.name: offers[p.name] for p in named if p.name in offers})


def name_rule(rule: Rule) -> str:
    """Return the name of a function for messages."""
    return str(getattr(getattr(rule, "func", rule), "__name__", "the rule"))


def read_goals(model: Model, goals: Goals) -> tuple[LoopGoal, ...]:
    """Return the goals of a loop.

    Raises:
        InvalidValue: there are none, or one is not a point, a rotation or a transform in the world.
    """
    every = list(goals) if isinstance(goals, Iterable) else [goals]
    if not every:
        raise InvalidValue("goals is empty; give a Reach or an Orient.")
    return tuple(_read_goal(model, goal, number) for number, goal in enumerate(every))


def _read_goal(model: Model, goal: Reach | Orient, number: int) -> LoopGoal:
    if not isinstance(goal, (Reach, Orient)):
        use = "A posture is part of the rule: controlled_step(J, e, -posture_gradient(q, desired))."
        raise InvalidValue(f"goals[{number}] is {goal!r}; the loop takes Reach and Orient. {use}")
    rows = goal.rows(model)
    if rows.base is not None or rows.ranged or rows.exact:
        raise InvalidValue(f"goals[{number}]: the loop takes whole targets in the world, no relative_to, Range, axes.")
    normal = find_normal(model)
    lost = () if normal is None else (normal, 3 + (normal + 1) % 3, 3 + (normal + 2) % 3)
    kept = np.array([i for i in range(6) if rows.weight[i] > 0.0 and i not in lost], dtype=int)
    target, name = rigid(rows.target[:9].reshape(3, 3), rows.target[9:12]), goal.name or goal.frame
    return LoopGoal(name, model.frame(goal.frame).name, rows.point, target, rows.weight, kept, goal.priority)


def list_ranged(model: Model) -> list[Joint]:
    """Return the joints with ranges: all but balls, free joints, fixed joints and followers."""
    return [joint for joint in model.joints if joint.mimic is None and joint.kind not in ("ball", "free", "fixed")]


def clamp_ranges(model: Model, q: Array) -> Array:
    """Return a configuration with every joint clamped to its range. Source: UCSD, "Joint Limits"."""
    inside = np.array(q)
    for joint in list_ranged(model):
        inside[joint.q] = np.clip(q[joint.q], model.lower[joint.v], model.upper[joint.v])
    return inside


def basic_ik(
    model: Model,
    q: ArrayLike,
    frame: str,
    goal: ArrayLike,
    *,
    step: Callable[[Array, Array], Array] | None = None,
    threshold: float = np.deg2rad(5.0),
    tolerance: float = 1e-6,
    max_steps: int = 200,
) -> IterationTrace:
    """Move the origin of ``frame`` to ``goal`` [m, world] by repeated Jacobian steps. Joint ranges are ignored.

    A planar body takes two numbers, as in :class:`poise.goals.Reach`, and J has their two rows.
    ``step(J, e)`` is any rule of this module or of ``inverses`` (default: the pseudo-inverse); its result is limited by
    :func:`limited_step`. It stops at ``tolerance`` [m] or after ``max_steps``; the errors in the trace show which. It
    is the plainest :func:`loop`.

    Source: UCSD, "Basic Jacobian IK Technique"; DLUT, "IK Algorithm".

    Raises:
        NameNotFound, ShapeMismatch, InvalidValue: see :func:`loop`.
    """
    rule = step or (lambda J, e: truncated_svd_inverse(J) @ e)
    place = read_array(goal, "goal", None)
    target = Reach(frame, place if len(place) == 2 else read_array(place, "goal", 3))

    def take_limited_step(J: Array, e: Array) -> Array:
        return limited_step(rule(J, e), threshold)

    trace = loop(model, q, target, step=take_limited_step, stop=tolerance, max_steps=max_steps, patience=None)
    return IterationTrace(trace.q, tuple(float(error) for error in trace.errors[:, 0, 0]))
