"""The bridge to MuJoCo: solve for a body that MuJoCo simulates, and write the pose into its data.

    import mujoco
    from poise.bridges.mujoco import Bridge

    m = mujoco.MjModel.from_xml_path("scene.xml")
    data = mujoco.MjData(m)
    bridge = Bridge(m)
    solution = bridge.solve(data, Reach("attachment_site", T))
    data.ctrl[:] = bridge.to_ctrl(solution.q, data.ctrl)

Joints are matched by their names. q has the numbers of qpos in the same order, and v those of qvel, without joints that
follow others by an equality constraint: `to_qpos` computes these, `from_qpos` drops them. Quaternions are wxyz in both;
velocities of free joints are linear in world axes and angular in body axes in both.
Source: MuJoCo documentation, "Computation" and "XML Reference" (actuator/general).
"""

import importlib.util
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import INDEX_NAME, FormatWarning, InvalidValue, MissingExtra, ModelMismatch, ShapeMismatch
from poise.files.source import Source, quote_names
from poise.formats.mjcf.assets import Assets
from poise.formats.mjcf.body import UniqueNames, build, read_model_name
from poise.formats.options import ReadOptions
from poise.goals.goal import Goal
from poise.model import Model
from poise.model.joints.kinds import KINDS
from poise.solvers import Solution, solve
from poise.spatial.arrays import read_finite

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

__all__ = ["Bridge"]

SORTS = (("free",), ("ball",), ("prismatic",), ("revolute", "continuous"))  # our kinds of an mjtJoint
LEAST = 1e-15  # mjMINVAL: MuJoCo replaces a quaternion that is shorter
LEAST_MOTION = 1e-9  # of an actuator: more than rounding
FIXED_GAIN, AFFINE_BIAS, SERVO_DYNAMICS = 0, 1, (0, 2, 3)  # mjtGain, mjtBias; mjtDyn none, filter and filterexact


class Bridge:
    """A MuJoCo model and the Poise model of the same bodies.

    Attributes:
        mjmodel: MuJoCo's model.
        model: Poise's model. Bodies and sites are its frames, keyframes its poses, active connect and weld constraints
            its closures, which solvers hold. Geoms that are solids are its shapes.
        bodies: The frame of each body of MuJoCo, by its number; unnamed ones are called body_3.
        sites: The frame of each site, by its number; a site with the name of a body is called <name>_site.
        actuators: The name of each actuator, in the order of ctrl; "" if it has none.
        servos: Which actuators are position servos of joints of `model`, (nu,): `to_ctrl` sets these.
    """

    def __init__(self, mjmodel: "MjModel", model: Model | None = None) -> None:
        """Make the bridge.

        Args:
            mjmodel: The compiled model.
            model: A Poise model of the body, with the same names of joints: one from `poise.load`, which also has the
                meshes, or one with further frames or fewer joints. By default it is made from `mjmodel`.

        Raises:
            InvalidValue: `mjmodel` is not an MjModel, or `model` no Poise model.
            ModelMismatch: MuJoCo's model lacks a joint of `model`, or has it with another kind.
            MissingExtra: MuJoCo is not installed.
        """
        if importlib.util.find_spec("mujoco") is None:
            raise MissingExtra(f'the bridge to MuJoCo needs it: pip install "{INDEX_NAME}[formats]"')
        import mujoco

        if not isinstance(mjmodel, mujoco.MjModel):
            raise InvalidValue(
                f"mjmodel is a {type(mjmodel).__name__}; type Bridge(mujoco.MjModel.from_xml_path(path)), and for a "
                "Poise model Bridge(mjmodel, model)."
            )
        if not isinstance(model, (Model, type(None))):
            raise InvalidValue(
                f"model is a {type(model).__name__}; it must be a poise.Model, such as poise.load(path)."
            )
        source = Source(f"{read_model_name(mjmodel, Source('model.xml', b''))}.xml", b"")
        if mjmodel.ntendon:
            source.note(f"{mjmodel.ntendon} tendons are not part of the body; a solution may stretch them")
        names = UniqueNames(mjmodel, Source(source.path, b""))
        self.mjmodel, self._scratch = mjmodel, mujoco.MjData(mjmodel)
        self.model = build(mjmodel, Assets(), source, ReadOptions()) if model is None else model
        for oddity in source.oddities:
            warnings.warn(oddity, FormatWarning, stacklevel=2)
        self.bodies, self.sites = tuple(names.bodies), tuple(names.sites)
        self.actuators = tuple(mjmodel.actuator(i).name for i in range(mjmodel.nu))
        self._positions, self._velocities = match_joints(self.model, mjmodel, names.joints)
        turning = [joint.q.stop for joint in self.model.joints if joint.kind in ("free", "ball")]
        self._quaternions = np.array(turning, np.intp)[:, None] + np.arange(-4, 0)
        self.servos = find_servos(mjmodel) & self._find_moved()

    def __repr__(self) -> str:
        m = self.mjmodel
        return f"<Bridge of {self.model.name!r}: {m.njnt} joints, {m.nbody} bodies, {m.nsite} sites, {m.nu} actuators>"

    # -------------------------------------------------------------------------------------------- numbers

    def to_qpos(self, q: ArrayLike, qpos: ArrayLike | None = None) -> Floats:
        """Return qpos, (..., nq of MuJoCo), for configurations q, (..., nq).

        Args:
            q: The configurations.
            qpos: The values of joints that `model` lacks; by default those of the reference pose, `mjmodel.qpos0`.
        """
        base = self.mjmodel.qpos0 if qpos is None else read_finite(qpos, (self.mjmodel.nq,), "qpos")
        return self._positions.write(read_finite(q, (self.model.nq,), "q"), base, "q and qpos")

    def from_qpos(self, qpos: ArrayLike) -> Floats:
        """Return q, (..., nq), for qpos, (..., nq of MuJoCo), with quaternions made unit as MuJoCo does."""
        q = self._positions.read(read_finite(qpos, (self.mjmodel.nq,), "qpos"), self.model.nq)
        turns = q[..., self._quaternions]
        length = np.linalg.norm(turns, axis=-1, keepdims=True)
        unit = np.where(length < LEAST, [1.0, 0.0, 0.0, 0.0], turns / np.maximum(length, LEAST))
        q[..., self._quaternions] = np.where(np.abs(length - 1.0) <= LEAST, turns, unit)
        return q

    def to_qvel(self, v: ArrayLike, qvel: ArrayLike | None = None) -> Floats:
        """Return qvel, (..., nv of MuJoCo), for velocities v, (..., nv); `qvel` has those of other joints, or zeros."""
        base = np.zeros(self.mjmodel.nv) if qvel is None else read_finite(qvel, (self.mjmodel.nv,), "qvel")
        return self._velocities.write(read_finite(v, (self.model.nv,), "v"), base, "v and qvel")

    def from_qvel(self, qvel: ArrayLike) -> Floats:
        """Return v, (..., nv), for qvel, (..., nv of MuJoCo)."""
        return self._velocities.read(read_finite(qvel, (self.mjmodel.nv,), "qvel"), self.model.nv)

    def to_ctrl(self, q: ArrayLike, ctrl: ArrayLike | None = None, qpos: ArrayLike | None = None) -> Floats:
        """Return the controls, (nu,), with which position servos pull towards a configuration, in the order of ctrl.

        A servo's force ``g u + b0 + b1 l`` is zero at ``u = -(b0 + b1 l) / g``, where l is the length of its joint or
        tendon at q, with its gear. Controls are clipped to `ctrlrange`.

        Args:
            q: The configuration, (nq,).
            ctrl: The controls of other actuators, such as motors and the servos of joints that `model` lacks; zeros by
                default.
            qpos: The values of joints that `model` lacks, which tendons may join to its own; see `to_qpos`.
        """
        m, on = self.mjmodel, self.servos
        out = np.zeros(m.nu) if ctrl is None else read_row(ctrl, m.nu, "ctrl")
        row = self.to_qpos(read_row(q, self.model.nq, "q"), None if qpos is None else read_row(qpos, m.nq, "qpos"))
        bias, length = m.actuator_biasprm[on], self._measure_lengths(row)[on]
        out[on] = -(bias[:, 0] + bias[:, 1] * length) / m.actuator_gainprm[on, 0]
        held = on & (m.actuator_ctrllimited != 0)
        out[held] = np.clip(out[held], *m.actuator_ctrlrange[held].T)
        return out

    def _measure_lengths(self, qpos: Floats) -> Floats:
        """Return the lengths of all actuators, (nu,), as MuJoCo computes them."""
        import mujoco

        self._scratch.qpos[:] = qpos
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
            stage(self.mjmodel, self._scratch)
        return np.array(self._scratch.actuator_length)

    def _find_moved(self) -> Any:
        """Return which actuators change their length when joints of the model move, (nu,)."""
        import mujoco

        m, rng = self.mjmodel, np.random.default_rng(0)
        own, lengths = np.isin(np.arange(m.nv), self._velocities.theirs), []
        qpos = np.array(m.qpos0)
        for speed in (np.ones(m.nv), own.astype(np.float64)):  # first away from poses in which lengths are extreme
            mujoco.mj_integratePos(m, qpos, speed * rng.uniform(0.1, 0.5, m.nv), 1.0)
            lengths.append(self._measure_lengths(qpos))
        return np.abs(lengths[1] - lengths[0]) > LEAST_MOTION

    # -------------------------------------------------------------------------------------------- data

    def write(self, data: "MjData", q: ArrayLike) -> None:
        """Write a configuration, (nq,), into `data.qpos`, and update the places of bodies, sites, geoms and cameras.

        Joints that `model` lacks keep their values, and velocities do not change. Call `mujoco.mj_forward` for contacts
        and forces.
        """
        import mujoco

        self._check_data(data)
        data.qpos[:] = self.to_qpos(read_row(q, self.model.nq, "q"), data.qpos)
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight):
            stage(self.mjmodel, data)

    def solve(self, data: "MjData", goals: Goal | Iterable[Goal], **options: Any) -> Solution:
        """Solve from the pose in `data`, write the solution into it, and return it.

        If a goal is missed, the nearest pose is written; `solution.why()` explains it. For many calls with the same
        goals, prepare a `poise.Solver(bridge.model, goals)` and use `from_qpos` and `write`.

        Args:
            data: MuJoCo's data.
            goals: The goals.
            options: Options of `poise.solve`, such as `limits`, `joints` or `mode`.
        """
        self._check_data(data)
        solution: Solution = solve(self.model, goals, **{"start": self.from_qpos(data.qpos), **options})
        self.write(data, solution.q)
        return solution

    def _check_data(self, data: Any) -> None:
        """Raise an error unless these are data of the model."""
        import mujoco

        if not isinstance(data, mujoco.MjData):
            raise InvalidValue(f"data is a {type(data).__name__}; it must be mujoco.MjData(bridge.mjmodel).")
        if data.qpos.shape != (self.mjmodel.nq,):
            raise ModelMismatch(
                f"data has {len(data.qpos)} numbers in qpos and the bridge's MjModel {self.mjmodel.nq}; type "
                "mujoco.MjData(bridge.mjmodel)."
            )


class ColumnMap:
    """The columns of qpos or qvel that a model has: theirs = ratio * ours + shift.

    Args:
        rows: For each column its index there, its index here, ratio, shift, and whether it is its joint's own: one of a
            joint that follows another is written and not read.
    """

    def __init__(self, rows: list[tuple[int, int, float, float, bool]]) -> None:
        table = np.array(rows, dtype=np.float64).reshape(-1, 5)
        self.theirs, self.ours, own = (table[:, k].astype(np.intp) for k in (0, 1, 4))
        self.ratio, self.shift, self.own = table[:, 2], table[:, 3], own.astype(bool)

    def write(self, ours: Floats, base: Floats, names: str) -> Floats:
        """Return their rows, with the other columns from `base`; `names` has both for an error."""
        try:
            shape = np.broadcast_shapes(ours.shape[:-1], base.shape[:-1])
        except ValueError:
            text = (
                f"{names} have shapes {ours.shape} and {base.shape}; give as many rows of both, or one row of either."
            )
            raise ShapeMismatch(text) from None
        out = np.array(np.broadcast_to(base, (*shape, base.shape[-1])))
        out[..., self.theirs] = ours[..., self.ours] * self.ratio + self.shift
        return out

    def read(self, theirs: Floats, size: int) -> Floats:
        """Return our rows."""
        out = np.zeros((*theirs.shape[:-1], size))
        out[..., self.ours[self.own]] = theirs[..., self.theirs[self.own]]
        return out


def match_joints(model: Model, m: Any, names: list[str]) -> tuple[ColumnMap, ColumnMap]:
    """Return the columns of positions and velocities, matched by the names of joints."""
    positions: list[tuple[int, int, float, float, bool]] = []
    velocities = list(positions)
    numbers = {name: j for j, name in enumerate(names)}
    moving = [joint for joint in model.joints if KINDS[joint.kind].nq]
    if lost := [joint.name for joint in moving if joint.name not in numbers]:
        raise ModelMismatch(
            f"joints {quote_names(lost)} of {model.name!r} are not in the MjModel, which has {quote_names(names)}."
        )
    for joint in moving:
        j = numbers[joint.name]
        if joint.kind not in SORTS[m.jnt_type[j]]:
            kind = SORTS[m.jnt_type[j]][0]
            raise ModelMismatch(f"joint {joint.name!r} is {joint.kind} in {model.name!r} and {kind} in the MjModel.")
        _, ratio, shift = joint.mimic or (None, 1.0, 0.0)
        own = not joint.mimic
        positions += [
            (m.jnt_qposadr[j] + k, at, ratio, shift, own) for k, at in enumerate(range(*joint.q.indices(model.nq)))
        ]
        velocities += [
            (m.jnt_dofadr[j] + k, at, ratio, 0.0, own) for k, at in enumerate(range(*joint.v.indices(model.nv)))
        ]
    return ColumnMap(positions), ColumnMap(velocities)


def find_servos(m: Any) -> Any:
    """Return which actuators pull towards a position: a constant gain, and a bias in proportion to the length."""
    dynamics = np.isin(m.actuator_dyntype, SERVO_DYNAMICS)
    kinds = (m.actuator_gaintype == FIXED_GAIN) & (m.actuator_biastype == AFFINE_BIAS)
    return dynamics & kinds & (m.actuator_gainprm[:, 0] != 0.0) & (m.actuator_biasprm[:, 1] != 0.0)


def read_row(values: ArrayLike, size: int, name: str) -> Floats:
    """Return one row of `size` finite numbers."""
    row = read_finite(values, (size,), name)
    if row.ndim != 1:
        raise ShapeMismatch(f"{name} has shape {row.shape}; it must be one row, ({size},).")
    return np.array(row, dtype=np.float64)
