"""The bridge to dex-retargeting: its Python interface and YAML files, without torch, NLopt and Pinocchio.

    from poise.bridges.dex_retargeting import RetargetingConfig

    RetargetingConfig.set_default_urdf_dir("robots/hands")
    retargeting = RetargetingConfig.load_from_file("shadow_hand_right.yml").build()
    qpos = retargeting.retarget(ref_value)  # the values of retargeting.joint_names

The cost of dex-retargeting is minimised within the joint ranges, from the pose of the frame before:

    sum_i w_i h(|v_i - t_i|) + normal_delta |x - x_before|^2,   h(s) = s^2 / 2b below b = huber_delta, s - b / 2 above

v_i is a vector between two links (a coordinate of a link for "position"), t_i its target. Goals are squares and h is
not, so its Newton steps are made here, with places and Jacobians from a `poise.Solver`.
Sources: dexsuite/dex-retargeting, `optimizer.py`; Handa et al., DexPilot, ICRA 2020; Bertsekas, Projected Newton
methods for optimization problems with simple constraints, SIAM J. Control and Optimization 20, 1982.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue, MissingExtra, ShapeMismatch, name_not_found
from poise.formats import load
from poise.goals import Reach
from poise.model import Model
from poise.model.derive import list_specs
from poise.model.spec import JointSpec
from poise.solvers import Solver
from poise.spatial import Rotation
from poise.spatial.arrays import read_finite

__all__ = ["LPFilter", "Optimizer", "RetargetingConfig", "SeqRetargeting"]

DUMMIES = [f"dummy_{axis}_{kind}_joint" for kind in ("translation", "rotation") for axis in "xyz"]
MANO = {"right": [[0, 0, -1], [-1, 0, 0], [0, 1, 0]], "left": [[0, 0, -1], [1, 0, 0], [0, -1, 0]]}  # from the operator
NEEDED = {
    "vector": ("target_origin_link_names", "target_task_link_names", "target_link_human_indices"),
    "position": ("target_link_names", "target_link_human_indices"),
    "dexpilot": ("finger_tip_link_names", "wrist_link_name"),
}
UNLIMITED = 1e4
SETTLED, MOST_STEPS = 1e-5, 25  # expected relative decrease of the cost that ends a search
PILOT = (0.03, 4e-3)  # huber_delta and normal_delta of DexPilot, whatever the file has
PINCH = 0.03  # m: fingers that pinch with the thumb also close on each other if they are nearer
GAPS, WEIGHTS = (1e-4, 3e-2), (200.0, 400.0)  # of closed vectors: length [m] and weight, to the thumb and to others


@dataclass
class RetargetingConfig:
    """Settings of a retargeting, with the names and defaults of dex-retargeting's files."""

    type: str
    urdf_path: str
    add_dummy_free_joint: bool = False
    target_link_human_indices: Any = None
    wrist_link_name: str | None = None
    target_link_names: Sequence[str] | None = None
    target_joint_names: Sequence[str] | None = None
    target_origin_link_names: Sequence[str] | None = None
    target_task_link_names: Sequence[str] | None = None
    finger_tip_link_names: Sequence[str] | None = None
    scaling_factor: float = 1.0
    normal_delta: float = 4e-3
    huber_delta: float = 2e-2
    project_dist: float = 0.03
    escape_dist: float = 0.05
    has_joint_limits: bool = True
    ignore_mimic_joint: bool = False
    low_pass_alpha: float = 0.1

    _DEFAULT_URDF_DIR: ClassVar[str | PathLike[str]] = "./"

    def __post_init__(self) -> None:
        self.type = str(self.type).lower()
        if self.type not in NEEDED:
            raise InvalidValue(f"type is {self.type!r}; it must be one of {', '.join(NEEDED)}.")
        if missing := [name for name in NEEDED[self.type] if getattr(self, name) is None]:
            raise InvalidValue(f"type {self.type!r} also needs {' and '.join(missing)}.")
        for name in ("scaling_factor", "normal_delta", "huber_delta"):
            check_positive(getattr(self, name), name)
        path = Path(self._DEFAULT_URDF_DIR, self.urdf_path).absolute()
        if not path.exists():
            raise InvalidValue(
                f"urdf_path: {path} does not exist; type RetargetingConfig.set_default_urdf_dir(folder)."
            )
        self.urdf_path = str(path)

    @classmethod
    def set_default_urdf_dir(cls, urdf_dir: str | PathLike[str]) -> None:
        """Set the folder of relative `urdf_path`s."""
        if not Path(urdf_dir).exists():
            raise InvalidValue(f"urdf_dir: {urdf_dir} does not exist.")
        cls._DEFAULT_URDF_DIR = urdf_dir

    @classmethod
    def load_from_file(
        cls, config_path: str | PathLike[str], override: Mapping[str, Any] | None = None
    ) -> "RetargetingConfig":
        """Read the settings of a YAML file, those under `retargeting:`; `override` replaces some.

        Raises:
            MissingExtra: PyYAML is not installed.
        """
        try:
            import yaml
        except ImportError:
            raise MissingExtra(f"{config_path} is YAML, which needs PyYAML. Type: pip install pyyaml") from None
        content = yaml.safe_load(Path(config_path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not isinstance(content.get("retargeting"), dict):
            raise InvalidValue(f"config_path: {config_path} has no settings under retargeting:.")
        return cls.from_dict(content["retargeting"], override)

    @classmethod
    def from_dict(cls, cfg: Mapping[str, Any], override: Mapping[str, Any] | None = None) -> "RetargetingConfig":
        """Make the settings from a dictionary; `override` replaces some."""
        given, known = {**cfg, **(override or {})}, [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise name_not_found("setting", name, known)
        return cls(**given)

    def build(self) -> "SeqRetargeting":
        """Read the hand and return the retargeting."""
        smooth = LPFilter(self.low_pass_alpha) if 0 <= self.low_pass_alpha <= 1 else None
        return SeqRetargeting(Optimizer(self, make_hand(self)), smooth)

    def list_vectors(self) -> tuple[list[str], list[str], Any]:
        """Return the links at the ends and at the origins of the vectors, and the human indices."""
        ends, origins = list(self.target_task_link_names or ()), list(self.target_origin_link_names or ())
        indices: Any = self.target_link_human_indices
        if self.type == "position":
            ends, origins, indices = list(self.target_link_names or ()), [], np.atleast_1d(np.squeeze(indices))
        elif self.type == "dexpilot":
            names = [str(self.wrist_link_name), *(self.finger_tip_link_names or ())]
            if not 3 <= len(names) <= 6:
                raise InvalidValue(f"finger_tip_link_names has {len(names) - 1} names; give 2 to 5, the thumb's first.")
            at = [(j, i) for i, j in combinations(range(1, len(names)), 2)] + [(0, i) for i in range(1, len(names))]
            origins, ends = [names[i] for i, _ in at], [names[i] for _, i in at]
            indices = 4 * np.array(at).T if indices is None else indices
        wanted, indices = (2, len(ends)) if origins else (len(ends),), np.asarray(indices)
        if indices.shape != wanted or len(origins) not in (0, len(ends)):
            raise ShapeMismatch(f"target_link_human_indices has shape {indices.shape}; these links need {wanted}.")
        return ends, origins, indices


def make_hand(config: RetargetingConfig) -> Model:
    """Return the hand, on six joints that move its root or without followers if asked for."""
    model = load(config.urdf_path)
    specs = list(list_specs(model))
    if config.ignore_mimic_joint:
        specs = [replace(spec, mimic=None) if isinstance(spec, JointSpec) else spec for spec in specs]
    if config.add_dummy_free_joint:
        specs = [replace(spec, parent=spec.parent or DUMMIES[-1]) for spec in specs]
        for k in (5, 4, 3, 2, 1, 0):
            kind, most = ("prismatic", 5.0) if k < 3 else ("revolute", 2.0 * np.pi)
            above, axis = DUMMIES[k - 1] if k else None, np.eye(3)[k % 3]
            specs.insert(0, JointSpec.make(DUMMIES[k], above, kind, axis=axis, lower=-most, upper=most))
    return Model(model.name, specs)


def list_joints(model: Model, frame: str | None = None) -> list[str]:
    """List the joints that move below a frame in Pinocchio's order: depth first, those of a link by their names."""
    found = []
    for spec in sorted((each for each in list_specs(model) if each.parent == frame), key=lambda each: each.name):
        own = isinstance(spec, JointSpec) and spec.kind != "fixed"
        found += [spec.name] * own + list_joints(model, spec.frame if isinstance(spec, JointSpec) else spec.name)
    return found


class Optimizer:
    """The cost of a hand and its minimum.

    Attributes:
        model: The hand.
        retargeting_type: "VECTOR", "POSITION" or "DEXPILOT".
        joint_names: All joints that move, followers too.
        target_joint_names: Those that are optimised; `fixed_joint_names` are those whose values the caller gives.
        joint_limits: The ranges of the target joints, (n, 2), narrowed by those of their followers.
        target_link_human_indices: Points of a person's hand: (2, vectors), origins above ends; or (links,).
        cost: The last minimum.
    """

    def __init__(self, config: RetargetingConfig, model: Model) -> None:
        self.model, self.retargeting_type, self.cost = model, config.type.upper(), 0.0
        self.joint_names = list_joints(model)
        joints = {name: model.joint(name) for name in self.joint_names}
        if odd := [name for name, joint in joints.items() if joint.kind not in ("revolute", "prismatic", "continuous")]:
            raise InvalidValue(f"joint {odd[0]!r} of the hand is {joints[odd[0]].kind}; it must be a hinge or a slide.")
        own = [name for name, joint in joints.items() if not joint.mimic]
        given = config.target_joint_names
        self.target_joint_names = own if given is None else DUMMIES * config.add_dummy_free_joint + list(given)
        for k, name in enumerate(self.target_joint_names):
            if model.joint(name).name not in own or name in self.target_joint_names[:k]:
                raise InvalidValue(f"target_joint_names: {name!r} does not move by itself or is given twice.")
        self.fixed_joint_names = [name for name in own if name not in self.target_joint_names]
        at, leads = {name: joint.q.start for name, joint in joints.items()}, [each.mimic for each in joints.values()]
        self._columns = np.array(
            [(at[name], *((m.ratio, m.offset) if m else (1.0, 0.0))) for name, m in zip(at, leads, strict=True)]
        ).T
        self._own = np.array([at[name] for name in self.target_joint_names], np.intp)
        self._fixed = np.array([at[name] for name in self.fixed_joint_names], np.intp)
        ranges = [(joints[name].lower, joints[name].upper) for name in self.target_joint_names]
        limits = np.array(ranges if config.has_joint_limits else [(-np.inf, np.inf)] * len(ranges), np.float64)
        self.joint_limits = np.clip(limits, -UNLIMITED, UNLIMITED)
        ends, origins, self.target_link_human_indices = config.list_vectors()
        links = list(dict.fromkeys([*ends, *origins]))
        self._solver = Solver(model, [Reach(name, (0.0, 0.0, 0.0), name=name) for name in links], restarts=0)
        mix = np.array([[float(link == end) for link in links] for end in ends])
        for row, origin in enumerate(origins):
            mix[row, links.index(origin)] -= 1.0
        self._mix, self._q = np.kron(mix, np.eye(3)) * model.length, np.array(model.rest)
        used = list(self._solver.linearise(self._q)[2])
        self._choice = np.equal.outer(used, self._own).astype(np.float64)  # of the columns of Jacobians
        self._tips = len(config.finger_tip_link_names or ()) if config.type == "dexpilot" else 0
        self._rows = len(ends) if origins else 3 * len(ends)
        self._scale = config.scaling_factor if origins else 1.0
        self._huber, self._delta = PILOT if self._tips else (config.huber_delta, config.normal_delta)
        self._near, self._closed = (config.project_dist, config.escape_dist), np.zeros(len(ends), bool)

    def retarget(self, ref_value: ArrayLike, fixed_qpos: ArrayLike, last_qpos: ArrayLike) -> Floats:
        """Return the target joints, (n,), of the least cost near those of the frame before."""
        ref = read_rows(ref_value, (len(self._mix) // 3, 3), "ref_value")
        self._q[self._fixed] = read_rows(fixed_qpos, (len(self._fixed),), "fixed_qpos")
        last = np.clip(read_rows(last_qpos, (len(self._own),), "last_qpos"), *self.joint_limits.T)
        weights, targets = self._aim(ref) if self._tips else (np.ones(self._rows), self._scale * ref)
        found = self._minimise(weights / self._rows, targets.ravel(), last, last)
        if self._closed.any():  # a cost with several minima: the second search begins in the middle of the ranges
            middle = self.joint_limits.mean(axis=1)
            found = min(found, self._minimise(weights / self._rows, targets.ravel(), last, middle), key=itemgetter(0))
        self.cost, x = found
        return x

    def complete(self, x: Floats) -> Floats:
        """Return the values of `joint_names` for target joints `x` and the fixed joints given last."""
        self._q[self._own] = x
        columns, ratio, offset = self._columns
        return np.asarray(self._q[columns.astype(np.intp)] * ratio + offset)

    def _aim(self, ref: Floats) -> tuple[Floats, Floats]:
        """Return DexPilot's weights and targets: fingertips that come near are closed until they part again."""
        thumb, count = self._tips - 1, len(ref) - self._tips  # pairs with the thumb; all pairs
        gap = np.linalg.norm(ref, axis=1)
        closed = (self._closed | (gap < self._near[0])) & (gap <= self._near[1])
        others = np.array([*combinations(range(thumb), 2)], np.intp).reshape(-1, 2)
        closed[thumb:count] = closed[others].all(axis=1) & (gap[thumb:count] <= PINCH)
        closed[count:] = False  # from the wrist
        self._closed, kind = closed, np.repeat((0, 1), (thumb, len(ref) - thumb))
        weights = np.where(closed, np.take(WEIGHTS, kind), np.repeat((1.0, len(ref)), (count, self._tips)))
        return weights, ref * np.where(closed, np.take(GAPS, kind) / (gap + 1e-6), self._scale)[:, None]

    def _minimise(self, weights: Floats, targets: Floats, last: Floats, start: Floats) -> tuple[float, Floats]:
        """Return a minimum by Newton steps from `start`; joints stay at an end to which the cost pulls them."""
        (lower, upper), rows, b, delta = self.joint_limits.T, self._rows, self._huber, self._delta

        def look(x: Floats) -> tuple[float, Floats, Floats, Floats]:
            self._q[self._own] = x
            J, r, _ = self._solver.linearise(self._q)
            miss, away = self._mix @ -r - targets, x - last
            far = np.sqrt((miss * miss).reshape(rows, -1).sum(axis=1))
            near = np.minimum(far, b)
            return float(weights @ (near * (far - 0.5 * near)) / b + delta * (away @ away)), miss, far, J

        x, (cost, miss, far, J) = start, look(start)
        for _ in range(MOST_STEPS):
            A, pull = self._mix @ J @ self._choice, weights / np.maximum(far, b)
            force = np.repeat(pull, len(miss) // rows)
            g = (force * miss) @ A + 2.0 * delta * (x - last)
            H = (A * force[:, None]).T @ A
            if (out := far > b).any():  # there h has no second derivative along the vector
                along = (A * miss[:, None]).reshape(rows, -1, len(x))[out].sum(axis=1)
                H -= (along * (pull[out] / far[out] ** 2)[:, None]).T @ along
            H.flat[:: len(x) + 1] += 2.0 * delta
            held = ((x <= lower) & (g > 0.0)) | ((x >= upper) & (g < 0.0))
            if held.any():
                free = 1.0 - held
                g, H = g * free, H * free * free[:, None] + np.diag(held.astype(np.float64))
            step, share = np.linalg.solve(H, -g), 1.0
            while -share * (g @ step) > SETTLED * cost:
                new = np.minimum(np.maximum(x + share * step, lower), upper)
                then = look(new)
                if then[0] <= cost + 1e-4 * min(0.0, float(g @ (new - x))):
                    break
                share *= 0.5
            else:
                break
            x, (cost, miss, far, J) = new, then
        return cost, x


class SeqRetargeting:
    """A retargeting of frame after frame, each from the one before.

    Attributes:
        optimizer: The cost, with the names of the joints.
        last_qpos: The target joints of the frame before.
        filter: The low-pass filter of the results, or None.
    """

    last_qpos: Floats
    num_retargeting: int
    accumulated_time: float

    def __init__(self, optimizer: Optimizer, lp_filter: "LPFilter | None" = None) -> None:
        self.optimizer, self.filter = optimizer, lp_filter
        self.joint_names, self.joint_limits = optimizer.joint_names, optimizer.joint_limits
        self.reset()

    def retarget(self, ref_value: ArrayLike, fixed_qpos: ArrayLike = ()) -> Floats:
        """Return the values of `joint_names` for a frame.

        Args:
            ref_value: Vectors or points of a person's hand, (n, 3) [m], in the axes of the robot hand's base.
            fixed_qpos: The values of `optimizer.fixed_joint_names`.
        """
        begin = time.perf_counter()
        self.last_qpos = self.optimizer.retarget(ref_value, fixed_qpos, self.last_qpos)
        self.accumulated_time += time.perf_counter() - begin
        self.num_retargeting += 1
        out = self.optimizer.complete(self.last_qpos)
        return out if self.filter is None else self.filter.next(out)

    def warm_start(
        self, wrist_pos: ArrayLike, wrist_quat: ArrayLike, hand_type: Any = "right", is_mano_convention: bool = False
    ) -> None:
        """Put the root of a hand with `add_dummy_free_joint` at a place, turned by a quaternion wxyz."""
        names = self.optimizer.target_joint_names
        if not set(DUMMIES) <= set(names):
            raise InvalidValue("warm_start needs a hand that moves freely; set add_dummy_free_joint: true.")
        turn = Rotation(read_rows(wrist_quat, (4,), "wrist_quat")).matrix
        if is_mano_convention:
            turn = turn @ np.transpose(MANO[getattr(hand_type, "name", hand_type)])
        values = [*read_rows(wrist_pos, (3,), "wrist_pos"), *Rotation.from_matrix(turn).to_euler("XYZ")]
        self.last_qpos[[names.index(name) for name in DUMMIES]] = values

    def reset(self) -> None:
        """Begin anew from the middle of the ranges; the filter keeps its state."""
        self.last_qpos = self.joint_limits.mean(axis=1)
        self.num_retargeting, self.accumulated_time = 0, 0.0

    def verbose(self) -> None:
        """Print the time so far and the last cost."""
        count, seconds = self.num_retargeting, self.accumulated_time
        sys.stdout.write(f"{count} frames in {seconds:.3f} s; the last cost is {self.optimizer.cost:.6g}\n")


class LPFilter:
    """A low-pass filter: each result moves by the share `alpha` towards the new values."""

    def __init__(self, alpha: float) -> None:
        self.alpha, self.y = alpha, np.zeros(0)

    def next(self, x: Floats) -> Floats:
        """Return the filtered values; the first are those given."""
        self.y = self.y + self.alpha * (x - self.y) if self.y.size else x
        return self.y.copy()

    def reset(self) -> None:
        """Begin anew with the next values."""
        self.y = np.zeros(0)


def read_rows(values: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    """Return finite numbers of exactly this shape."""
    out = read_finite(values, shape, name)
    if out.shape != shape:
        raise ShapeMismatch(f"{name} has shape {out.shape}; it must be {shape}.")
    return out
