"""Conversion of MuJoCo's compiled model to a Poise model: frames and joints in the same order, so that q is qpos.

MuJoCo moves a body through its joints one by one. For a joint with anchor ``p``, axis ``a`` and reference ``ref``, the
body's transform is multiplied by ``T(p) R(a, q - ref) T(-p)`` for a hinge, and by ``T(a (q - ref))`` for a slide. The
reference is moved into the joint's offset, ``R(a, -ref)`` or ``T(-a ref)``, and q keeps the file's numbers. If the
anchor is not the body's origin, the joint's frame is at the anchor, and the body's frame is its child.
Source: MuJoCo documentation, "Computation", and `mj_kinematics`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from poise.files.source import Source, quote_names
from poise.formats.mjcf.assets import Assets
from poise.formats.mjcf.compiler import list_names, read_text
from poise.formats.mjcf.drives import read_drive
from poise.formats.mjcf.shapes import add_shapes, list_geom_frames
from poise.formats.names import reserve_name
from poise.formats.options import ReadOptions, look_source
from poise.formats.roles import give_roles
from poise.formats.units import adjust_model, turn_inertia
from poise.model import BallRange, Model, ModelBuilder
from poise.spatial import Rotation, Transform

__all__ = ["build"]

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
EQ_CONNECT, EQ_WELD, EQ_JOINT = range(3)  # mjtEq
SITE = 6  # mjtObj
KINDS = ("free", "ball", "prismatic", "revolute")
NUMBERS = (7, 4, 1, 1)
LARGEST = 1e12  # m, limit for all numbers of a body
NUMBERED = ("_{}", 1)  # how repeated names are numbered: foot, foot_1, foot_2

Row = dict[str, Any]


@dataclass
class UniqueNames:
    """Unique frame and joint names; MuJoCo has a namespace per kind and allows missing names."""

    compiled: Any
    source: Source
    frames: set[str] = field(default_factory=set)
    joints: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        m = self.compiled
        bodies = list_names(m.name_bodyadr, m.names)
        self.frames.update(filter(None, bodies))
        self.bodies = [name or self.make_new(f"body_{i}") for i, name in enumerate(bodies)]
        for name in list_names(m.name_siteadr, m.names):
            taken = name in self.frames
            self.sites.append(self.make_new(f"{name}_site" if taken else name or f"site_{len(self.sites)}"))
            if taken:
                self.source.note(f"the site {name!r} has a body's name; its frame is {self.sites[-1]!r}")
        joints = list_names(m.name_jntadr, m.names)
        known = set(filter(None, joints))
        for i, name in enumerate(joints):
            self.joints.append(name or reserve_name(f"{self.bodies[m.jnt_bodyid[i]]}_joint", known, *NUMBERED))

    def make_new(self, name: str) -> str:
        """Return the name, numbered if a frame already has it, and reserve it."""
        return reserve_name(name, self.frames, *NUMBERED)


def build(compiled: Any, assets: Assets, source: Source, options: ReadOptions) -> Model:
    """Build the model.

    Raises:
        FormatError: A number is not finite or is too large.
    """
    check_numbers(compiled, source)
    up = find_up(compiled, source)
    builder = ModelBuilder(read_model_name(compiled, source))
    builder.source, builder.up = source.path, up
    builder.look = look_source(source, options)
    body = BodyReader(compiled, builder, source, UniqueNames(compiled, source))
    body.add_all(free_base=options.base == "free")
    add_shapes(compiled, assets, builder, source, body.names.bodies)
    builder.extend(list_geom_frames(compiled, body.names.bodies, body.names.frames | set(body.names.joints)))
    body.add_poses()
    body.add_closures()
    builder.notes[:0] = source.notes
    if options.scale == "auto":
        source.note("scale='auto': MJCF is in metres, so nothing was scaled")
        options = replace(options, scale=1.0)
    return give_roles(adjust_model(builder.build(), options, source), source)


@dataclass
class BodyReader:
    """The builder of the joints, frames and poses of one compiled model."""

    compiled: Any
    builder: ModelBuilder
    source: Source
    names: UniqueNames
    base: str = ""
    mimics: dict[int, tuple[int, float, float]] = field(default_factory=dict)

    def add_all(self, *, free_base: bool) -> None:
        """Add the world, the base, the bodies with their joints, and the sites."""
        m = self.compiled
        self.mimics = read_couplings(m, self.names.joints, self.source)
        self.builder.add_frame(self.names.bodies[0])
        if free_base and self.list_fixed():
            self.base = reserve_name("root", set(self.names.joints) | self.names.frames, *NUMBERED)
            self.names.frames.add(self.base)
            self.builder.add_joint(self.base, None, "free")
        elif free_base:
            self.source.note("the model has a free joint of its own; none was added")
        if m.nbody == 1:
            say = self.source.note if m.ngeom or m.nsite else self.source.note_oddity
            say("has no bodies; the model contains only the world")
        if m.nmocap:
            self.source.note("mocap bodies stay where the file puts them")
        for i in range(1, m.nbody):
            self.add_body(i)
        for i, name in enumerate(self.names.sites):
            offset = read_transform(m.site_pos[i], m.site_quat[i])
            self.builder.add_frame(name, self.names.bodies[m.site_bodyid[i]], offset)

    def list_fixed(self) -> list[int]:
        """List the bodies on the world that need a free base: all, or only the moving ones if another body is free."""
        m = self.compiled
        tops = list(range(m.nbody))  # for each body, its ancestor on the world
        for i in range(1, m.nbody):
            tops[i] = i if m.body_parentid[i] == 0 else tops[m.body_parentid[i]]
        free = {i for i in tops[1:] if self.is_free(i)}
        moving = {tops[i] for i in range(1, m.nbody) if m.body_jntnum[i]}
        return sorted((moving if free else set(tops[1:])) - free)

    def is_free(self, i: int) -> bool:
        m = self.compiled
        return bool(m.body_jntnum[i]) and bool(m.jnt_type[m.body_jntadr[i]] == FREE)

    def add_body(self, i: int) -> None:
        """Add one body: its joints in order, the last one with the body's own frame if its anchor is the origin."""
        m, name = self.compiled, self.names.bodies[i]
        above = int(m.body_parentid[i])
        parent: str | None = self.base if above == 0 and self.base else self.names.bodies[above]
        inertia = turn_inertia(np.array(m.body_inertia[i]), Rotation(np.array(m.body_iquat[i])))
        mass: Row = {"mass": float(m.body_mass[i]), "center": np.array(m.body_ipos[i]), "inertia": inertia}
        if mass["mass"] <= 1e-11:  # the lower bound that `reader` gives the compiler
            mass = {}
        if self.is_free(i):
            joint = int(m.body_jntadr[i])
            rest = np.array(m.qpos0[m.jnt_qposadr[joint] :][:7])
            mass |= read_drive(m, joint)
            self.builder.add_joint(self.names.joints[joint], None, "free", frame=name, rest=rest, **mass)
            return
        at = read_transform(m.body_pos[i], m.body_quat[i])
        joints = range(int(m.body_jntadr[i]), int(m.body_jntadr[i] + m.body_jntnum[i]))
        for j in joints:
            anchor = np.array(m.jnt_pos[j])
            last = j == joints[-1] and not anchor.any()
            frame = name if last else self.names.make_new(self.names.joints[j])
            offset = at @ Transform(Rotation.identity(), anchor) @ self.find_reference(j)
            row = self.read_joint(j) | read_drive(m, j) | (mass if last else {})
            self.builder.add_joint(self.names.joints[j], parent, frame=frame, offset=offset, **row)
            parent, at = frame, Transform(Rotation.identity(), -anchor)
        if parent != name:
            self.builder.add_frame(name, parent, at, **mass)

    def find_reference(self, j: int) -> Transform:
        """Return the transform that cancels a joint's reference value, so that q matches the file's numbers."""
        m = self.compiled
        if m.jnt_type[j] not in (HINGE, SLIDE):
            return Transform.identity()
        ref, axis = float(m.qpos0[m.jnt_qposadr[j]]), np.array(m.jnt_axis[j])
        if m.jnt_type[j] == HINGE:
            return Transform(Rotation.from_axis_angle(axis, -ref), np.zeros(3))
        return Transform(Rotation.identity(), -ref * axis)

    def read_joint(self, j: int) -> Row:
        """Return the kind, axis, range, rest and coupling of a hinge, slide or ball."""
        m, kind = self.compiled, int(self.compiled.jnt_type[j])
        low, high = m.jnt_range[j].tolist() if m.jnt_limited[j] else (-np.inf, np.inf)
        if kind == BALL:
            return {"kind": "ball", "cone": BallRange(angle=high) if np.isfinite(high) else None}
        row: Row = {"kind": KINDS[kind], "axis": np.array(m.jnt_axis[j])}
        if j in self.mimics:
            leader, ratio, offset = self.mimics[j]
            if leader == j:  # fixed at one value
                low = high = offset
            else:
                row["mimic"] = (self.names.joints[leader], ratio, offset)
        if not np.isfinite([low, high]).any():
            return row | ({"kind": "continuous"} if kind == HINGE else {})
        rest = min(max(float(m.qpos0[m.jnt_qposadr[j]]), low), high)
        return row | {"lower": low, "upper": high, "rest": [rest]}

    def add_closures(self) -> None:
        """Add the active connect and weld constraints as closures.

        The point ``data[:3]`` of one body is at ``data[3:6]`` of the other, and a weld's ``data[6:10]`` is the second
        body's orientation relative to the first. Two sites coincide.
        """
        m, lost = self.compiled, 0
        for k in (k for k in range(m.neq) if m.eq_active0[k] and m.eq_type[k] != EQ_JOINT):
            weld, sites, data = m.eq_type[k] == EQ_WELD, m.eq_objtype[k] == SITE, np.array(m.eq_data[k])
            one, two = (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))[:: -1 if weld else 1]
            bodies = m.site_bodyid[[one, two]] if sites else (one, two)
            if m.eq_type[k] not in (EQ_CONNECT, EQ_WELD) or any(m.body_mocapid[body] >= 0 for body in bodies):
                lost += 1
                continue
            point, at = (np.zeros(3), np.zeros(3)) if sites else (data[:3], data[3:6])
            turn = Rotation.identity() if sites else Rotation(data[6:10]) if weld else None
            names = self.names.sites if sites else self.names.bodies
            self.builder.add_closure(names[one], names[two], Transform(turn, at) if weld else at, point=point)
        if idle := sum(not on for on in m.eq_active0[m.eq_type != EQ_JOINT]):
            self.source.note(f"{idle} equality constraints are not active and left out")
        if lost:
            self.source.note_oddity(f"{lost} equality constraints are left out: of tendons, flexes or mocap bodies")

    def add_poses(self) -> None:
        """Add keyframes as named poses, without the values of mimic joints."""
        m, names = self.compiled, list_names(self.compiled.name_keyadr, self.compiled.names)
        taken = set(names)
        for k, given in enumerate(names):
            parts = [np.array([0, 0, 0, 1.0, 0, 0, 0])] if self.base else []
            for j in range(m.njnt):
                if j in self.mimics and self.mimics[j][0] != j:
                    continue
                kind = int(m.jnt_type[j])
                parts.append(np.array(m.key_qpos[k][m.jnt_qposadr[j] :][: NUMBERS[kind]]))
            name = given or reserve_name(f"key_{k}", taken, *NUMBERED)
            self.builder.add_pose(name, np.concatenate([np.zeros(0), *parts]))


def read_transform(position: Any, wxyz: Any) -> Transform:
    """Return the transform of a position and a quaternion."""
    return Transform(Rotation(np.array(wxyz)), np.array(position))


# ------------------------------------------------------------------------------------------------ couplings


def read_couplings(m: Any, names: list[str], source: Source) -> dict[int, tuple[int, float, float]]:
    """Return mimic joints as (leader, ratio, offset). A joint fixed at one value is its own leader.

    MuJoCo's joint constraint is ``y - y0 = a0 + a1 (x - x0) + ... + a4 (x - x0)^4``, with x0 and y0 the values in the
    reference configuration; without a second joint, ``y - y0 = a0``.
    """
    out: dict[int, tuple[int, float, float]] = {}
    for k in (k for k in range(m.neq) if m.eq_type[k] == EQ_JOINT):
        y, x = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        a = m.eq_data[k][:5].tolist()
        y0 = float(m.qpos0[m.jnt_qposadr[y]])
        reason = explain_lost_coupling(m, a, y, x, out)
        if not m.eq_active0[k]:
            source.note(f"the coupling of joint {names[y]!r} is not active and left out")
        elif reason:
            source.note_oddity(f"the coupling of joint {names[y]!r} is left out: {reason}")
        elif x < 0 or a[1] == 0.0:
            out[y] = (y, 0.0, y0 + a[0])
        else:
            out[y] = (x, a[1], y0 + a[0] - a[1] * float(m.qpos0[m.jnt_qposadr[x]]))
    return out


def explain_lost_coupling(m: Any, a: list[float], y: int, x: int, known: dict[int, tuple[int, float, float]]) -> str:
    """Return the reason that a coupling cannot be a mimic joint, or ""."""
    if x >= 0 and any(a[2:]):
        return "it is not linear"
    if y in known:
        return "the joint follows another already"
    leader = x
    while leader in known and known[leader][0] != leader:
        leader = known[leader][0]
    if leader == y:
        return "they follow each other"
    return explain_no_range(m, a, y, x) if x >= 0 and a[1] else ""


def explain_no_range(m: Any, a: list[float], y: int, x: int) -> str:
    """Return an explanation if no value of the leader keeps both joints in their ranges, otherwise ""."""
    if not (m.jnt_limited[y] and m.jnt_limited[x]):
        return ""
    x0, y0 = float(m.qpos0[m.jnt_qposadr[x]]), float(m.qpos0[m.jnt_qposadr[y]])
    ends = sorted((end - y0 - a[0]) / a[1] + x0 for end in m.jnt_range[y].tolist())
    low, high = m.jnt_range[x].tolist()
    return "no value keeps both joints in their ranges" if max(low, ends[0]) > min(high, ends[1]) else ""


# ------------------------------------------------------------------------------------------------ the whole model


def check_numbers(m: Any, source: Source) -> None:
    """Raise `FormatError` if a number in use is not finite or is too large."""
    arrays: Iterable[tuple[str, Any]] = (
        ("a body's pos", m.body_pos),
        ("a body's orientation", m.body_quat),
        ("a body's mass", m.body_mass),
        ("a body's inertial pos", m.body_ipos),
        ("a body's inertia", m.body_inertia),
        ("the damping, friction or armature of a joint", [m.dof_damping, m.dof_frictionloss, m.dof_armature]),
        ("a joint's pos", m.jnt_pos),
        ("a joint's axis", m.jnt_axis),
        ("a joint's ref", m.qpos0),
        ("a site's pos", m.site_pos),
        ("a site's orientation", m.site_quat),
        ("a key's qpos", m.key_qpos),
        ("the coefficients of an equality constraint", m.eq_data[m.eq_type == EQ_JOINT][:, :5]),
        ("the points of an equality constraint", m.eq_data[m.eq_type <= EQ_WELD]),
    )
    for what, values in arrays:
        array = np.asarray(values)
        if array.size and not (np.abs(array) <= LARGEST).all():
            bad = array[~(np.abs(array) <= LARGEST)].ravel()[:3]
            raise source.make_error(f"{what} is {quote_names(map(str, bad))}; it must be finite and below {LARGEST:g}.")
    if np.isnan(m.jnt_range).any():
        raise source.make_error("a joint's range is not a number.")


def find_up(m: Any, source: Source) -> str:
    """Return the axis opposite to gravity if it is a coordinate axis; otherwise "z", MuJoCo's default."""
    gravity = np.asarray(m.opt.gravity, np.float64)
    k = int(np.argmax(np.abs(gravity)))
    if gravity[k] < 0.0 and abs(gravity[k]) > 0.99 * float(np.linalg.norm(gravity)):
        axis = "xyz"[k]
        source.note(f"in metres; {axis} is up, against the file's gravity")
        return axis
    source.note("in metres; z is up, as in MuJoCo: the file's gravity is not along a negative axis")
    return "z"


def read_model_name(m: Any, source: Source) -> str:
    """Return the model attribute of the file, or the name of the file."""
    name = read_text(m.names, 0)
    return name if name and name != "MuJoCo Model" else PurePath(source.path).stem or "model"
