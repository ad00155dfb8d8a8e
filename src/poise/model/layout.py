"""Compile a builder into a tree: resolve parents, reject loops, collapse mimic chains, assign indices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidModel, name_not_found
from poise.model.joints.joint import Mimic
from poise.model.joints.kinds import KINDS
from poise.model.spec import FrameSpec, JointSpec

__all__ = ["Layout", "is_listed", "lay_out", "name_frame", "sort_depth_first"]

Spec = JointSpec | FrameSpec


@dataclass(frozen=True, slots=True)
class Layout:
    """The tree of a model.

    Attributes:
        specs: In declaration order, unlisted frames last, each parent by the name of its frame.
        frames: Frame names in the same order; frame i belongs to specs[i].
        listed: The first of these names, without those of unlisted frames.
        parents: Index of each frame's parent; -1 for the world.
        order: Frame indices in depth-first order, parents first.
        q_slices: Slice of q for each joint (a follower has its leader's).
        v_slices: Slice of v for each joint.
        mimics: Followers, each mapped directly to the first leader of its chain.
        lower: Lower bounds of all velocities; the ranges of followers are mapped to their leaders.
        upper: Upper bounds, likewise.
    """

    specs: tuple[Spec, ...]
    frames: tuple[str, ...]
    listed: tuple[str, ...]
    parents: tuple[int, ...]
    order: tuple[int, ...]
    q_slices: dict[str, slice]
    v_slices: dict[str, slice]
    mimics: dict[str, Mimic]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @property
    def joints(self) -> list[JointSpec]:
        """The joints, in declaration order."""
        return [spec for spec in self.specs if isinstance(spec, JointSpec)]


def lay_out(specs: Sequence[Spec]) -> Layout:
    """Compile specs into a tree."""
    if not specs:
        raise InvalidModel("a model needs at least one joint or frame: call add_joint or add_frame first.")
    specs = put_unlisted_last(specs)
    frames = tuple(map(name_frame, specs))
    parents = resolve_parents(specs, frames)
    order = sort_depth_first(parents)
    if len(order) < len(parents):
        raise InvalidModel(f"the parents form a loop: {' -> '.join(find_loop(parents, frames, set(order)))}.")
    specs = [hang_on(spec, None if i < 0 else frames[i]) for spec, i in zip(specs, parents, strict=True)]
    joints = {spec.name: spec for spec in specs if isinstance(spec, JointSpec)}
    mimics = {name: find_leader(joints, name) for name, spec in joints.items() if spec.mimic}
    q_slices, v_slices = give_indices(joints, mimics)
    lower, upper = pull_back(joints, mimics, v_slices)
    listed = frames[: sum(map(is_listed, specs))]
    return Layout(tuple(specs), frames, listed, parents, order, q_slices, v_slices, mimics, lower, upper)


def put_unlisted_last(specs: Sequence[Spec]) -> list[Spec]:
    """Return the specs with unlisted frames last, without those whose name a listed frame has."""
    listed = [spec for spec in specs if is_listed(spec)]
    taken = {*map(name_frame, listed)} if len(listed) < len(specs) else set()
    return listed + [spec for spec in specs if not is_listed(spec) and spec.name not in taken]


def is_listed(spec: Spec) -> bool:
    """Return whether the frame of a spec has a row in `fk(q)`."""
    return isinstance(spec, JointSpec) or spec.listed


def name_frame(spec: Spec) -> str:
    """Return the name of the frame of a spec."""
    return spec.frame if isinstance(spec, JointSpec) else spec.name


def resolve_parents(specs: Sequence[Spec], frames: tuple[str, ...]) -> tuple[int, ...]:
    """Return the index of each parent; a joint's name means its frame unless a frame has that name."""
    index = {spec.name: i for i, spec in enumerate(specs) if isinstance(spec, JointSpec)}
    index.update({name: i for i, name in enumerate(frames)})
    parents = []
    for spec in specs:
        if spec.parent is not None and spec.parent not in index:
            raise name_not_found("frame", spec.parent, frames)
        parents.append(-1 if spec.parent is None else index[spec.parent])
    return tuple(parents)


def hang_on(spec: Spec, parent: str | None) -> Spec:
    """Return the spec with the name of its parent frame, so that a frame added later cannot capture a joint's name."""
    return spec if spec.parent == parent else replace(spec, parent=parent)


def sort_depth_first(parents: Sequence[int]) -> tuple[int, ...]:
    """Return all indices in depth-first order, parents first, -1 above the roots; those below a loop are missing."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for i in reversed(range(len(parents))):
        children[parents[i]].append(i)
    order, stack = [], children[-1]
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    return tuple(order)


def find_loop(parents: tuple[int, ...], frames: tuple[str, ...], reached: set[int]) -> list[str]:
    """Return the names in a loop, the first repeated at the end; a long loop is shortened."""
    at = next(i for i in range(len(parents)) if i not in reached)
    seen: dict[int, int] = {}
    walk: list[int] = []
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = parents[at]
    loop = [frames[i] for i in walk[seen[at] :]] + [frames[at]]
    return loop if len(loop) <= 8 else [*loop[:6], "...", loop[-1]]


def find_leader(joints: dict[str, JointSpec], name: str) -> Mimic:
    """Return a follower's ratio and offset with respect to the first leader of its mimic chain."""
    ratio, offset, at, seen = 1.0, 0.0, name, {name}
    while (mimic := joints[at].mimic) is not None:
        if mimic.joint not in joints:
            raise name_not_found("joint", mimic.joint, joints)
        if mimic.joint in seen:
            raise InvalidModel(f"joint {name!r}: its mimic chain is a loop through {mimic.joint!r}.")
        ratio, offset, at = ratio * mimic.ratio, ratio * mimic.offset + offset, mimic.joint
        seen.add(at)
    if KINDS[joints[at].kind].nv != 1:
        raise InvalidModel(f"joint {name!r} mimics {at!r}, which is {joints[at].kind}; it must have one coordinate.")
    if not (np.isfinite(ratio) and np.isfinite(offset)):
        raise InvalidModel(f"joint {name!r}: the ratios of its mimics multiply to {ratio}; they must stay finite.")
    return Mimic(at, ratio, offset)


def give_indices(joints: dict[str, JointSpec], mimics: dict[str, Mimic]) -> tuple[dict[str, slice], dict[str, slice]]:
    """Return the slices of q and v of each joint, in declaration order."""
    q: dict[str, slice] = {}
    v: dict[str, slice] = {}
    nq = nv = 0
    for name, spec in joints.items():
        if name in mimics:
            continue
        facts = KINDS[spec.kind]
        q[name], v[name] = slice(nq, nq + facts.nq), slice(nv, nv + facts.nv)
        nq, nv = nq + facts.nq, nv + facts.nv
    for name, mimic in mimics.items():
        q[name], v[name] = q[mimic.joint], v[mimic.joint]
    return q, v


def pull_back(
    joints: dict[str, JointSpec], mimics: dict[str, Mimic], v: dict[str, slice]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all bounds; the range of a follower, mapped to its leader, narrows the leader's range."""
    free = [spec for spec in joints.values() if spec.name not in mimics]
    lower = np.concatenate([np.zeros(0), *(write_range(spec, "lower") for spec in free)])
    upper = np.concatenate([np.zeros(0), *(write_range(spec, "upper") for spec in free)])
    for name, mimic in mimics.items():
        spec, at = joints[name], v[mimic.joint].start
        low, high = float(spec.lower[0]), float(spec.upper[0])
        if mimic.ratio == 0.0:
            if not low <= mimic.offset <= high:
                raise InvalidModel(
                    f"joint {name!r} mimics with ratio 0 and stands at {mimic.offset}, outside its range."
                )
            continue
        ends = sorted(find_exact_end(mimic, bound, low, high) for bound in (low, high))
        lower[at], upper[at] = max(lower[at], ends[0]), min(upper[at], ends[1])
        if lower[at] > upper[at]:
            raise InvalidModel(
                f"joint {name!r} mimics {mimic.joint!r}, and no value of {mimic.joint!r} keeps both in their ranges."
            )
    lower.setflags(write=False)
    upper.setflags(write=False)
    return lower, upper


def find_exact_end(mimic: Mimic, bound: float, low: float, high: float) -> float:
    """Return the leader's value at a follower's bound, moved by the last digit until the follower is in range."""
    end = (bound - mimic.offset) / mimic.ratio
    inward = np.inf if (bound == low) == (mimic.ratio > 0) else -np.inf
    for _ in range(8):
        if not np.isfinite(end) or low <= mimic.ratio * end + mimic.offset <= high:
            break
        end = float(np.nextafter(end, inward))
    return end


def write_range(spec: JointSpec, side: str) -> NDArray[np.float64]:
    bound: NDArray[np.float64] = getattr(spec, side)
    return bound
