"""C++ headers: inverse kinematics of one frame of a robot as a single file without dependencies.

    from poise.formats.cpp_header import write_header

    write_header(poise.load("ur5e"), "tool0", "ur5e_ik.hpp")

The file is `chain.h` and `solver.h` of `native/arm` with the numbers of the robot. The joints between the base and the
frame are hinges and slides; fixed and locked joints become part of their neighbours, and a follower reads the joint
that it follows. Lengths become metres; an unknown unit counts as one.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidModel, InvalidValue
from poise.files.target import replace_file
from poise.formats.units import scale_model
from poise.kinematics.column_names import name_columns
from poise.model import Model
from poise.model.chain import find_way, motion, placement
from poise.model.joints.kinds import Primitive
from poise.model.joints.primitives import make_kernel_table

__all__ = ["write_header"]

PARTS = [Path(__file__).parents[1] / "native" / "arm" / name for name in ("chain.h", "solver.h")]
OPEN = 1e30  # instead of infinity
ROUNDING = 1e-15  # smaller numbers of a transform are zero
SEEDS, SEEDS_TRIED, TARGETS = 24, 64, 2000
KEYWORDS = (  # of C++ to C++20, and names of functions and macros of the C library: no namespace may have them
    "INFINITY NAN NULL abort abs acos acosh alignas alignof and and_eq asin asinh asm assert atan atan2 atanh atof "
    "atoi auto bitand bitor bool break calloc case catch cbrt ceil char char16_t char32_t char8_t class compl concept "
    "const const_cast consteval constexpr constinit continue copysign cos cosh co_await co_return co_yield decltype "
    "default delete div do double drem dynamic_cast else enum erf erfc errno exit exp exp2 explicit expm1 export "
    "extern fabs false fdim float floor fma fmax fmin fmod for free frexp friend gamma getenv goto hypot if ilogb "
    "inline int j0 j1 jn labs ldexp lgamma linux log log10 log1p log2 logb long lrint lround main malloc modf mutable "
    "namespace nan nearbyint new nextafter noexcept not not_eq nullptr operator or or_eq pow private protected public "
    "qsort rand random realloc register reinterpret_cast remainder remquo requires return rint round scalb scalbn "
    "select short signed significand sin sinh sizeof sqrt srand static static_assert static_cast std struct switch "
    "system tan tanh template tgamma this thread_local throw true trunc try typedef typeid typename union unix "
    "unsigned using virtual void volatile wchar_t while xor xor_eq y0 y1 yn"
)


def write_header(
    model: Model,
    frame: str,
    path: str | PathLike[str],
    *,
    name: str | None = None,
    overwrite: bool = True,
) -> Path:
    """Write a C++ header that solves for a frame; it takes a few seconds, in which the seeds of the search are chosen.

    Args:
        model: The robot.
        frame: The frame to bring to targets.
        path: The file, such as "robot_ik.hpp"; its folder must exist.
        name: The namespace; by default the name of the model.
        overwrite: False raises if the file exists.

    Returns:
        The path.

    Raises:
        NameNotFound: The model lacks the frame.
        InvalidModel: A joint above the frame is neither a hinge nor a slide, no joint moves it, or a loop is closed.
        InvalidValue: `name` is not an identifier of C++.
        FormatError: The file cannot be written.
    """
    with replace_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(write_source(model, frame, name), encoding="utf-8")
    return Path(path)


def write_source(model: Model, frame: str, name: str | None = None) -> str:
    """Return the header of a frame."""
    tables = write_tables(scale_model(model, model.metres_per_unit) if model.units != "m" else model, frame)
    filled = {
        "TITLE": f"Inverse kinematics of frame {clean(frame)} of {clean(model.name)}.",
        "MADE": f"Written by Poise {sys.modules['poise'].__version__}.",
        "SPACE": name_space(model.name) if name is None else check_name(name),
        "TABLES": tables,
    }
    text = "\n".join(part.read_text("utf-8") for part in PARTS)
    return re.sub(r"/\*([A-Z]+)\*/", lambda match: filled[match[1]], text)


def name_space(name: str) -> str:
    """Return the name of a model as an identifier of C++."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower() or "robot"
    return f"robot_{word}" if word in KEYWORDS.split() or word[0].isdigit() else word


def check_name(name: str) -> str:
    """Return the name of a namespace; raise `InvalidValue` for one that C++ does not allow."""
    if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) is None or "__" in name or name in KEYWORDS.split():
        raise InvalidValue(f"name is {name!r}; it must be an identifier of C++, such as {name_space(name)!r}.")
    return name


def clean(name: str) -> str:
    """Return a name for a comment of one line."""
    return re.sub(r"[^\x20-\x5b\x5d-\x7e]", "_", name)


# ------------------------------------------------------------------------------------------------ the chain


@dataclass(frozen=True, slots=True)
class ArmAxis:
    """A joint of the chain: it moves along or about the z axis of `T`, its frame in the base with all axes at zero."""

    T: Floats
    slides: bool
    q: int
    gain: float
    bias: float

    @property
    def winds(self) -> bool:
        """Whether a whole turn of the joint changes nothing."""
        return not self.slides and self.gain == round(self.gain)


def find_axes(model: Model, frame: str) -> tuple[list[ArmAxis], Floats]:
    """Return the axes that move a frame, base first, and its transform with all axes at zero.

    Raises:
        InvalidModel: A joint above the frame is neither a hinge nor a slide, none moves it, or a loop is closed.
    """
    table, T = make_kernel_table(model.layout), np.eye(4)
    index = table["frame_names"].index(model.frame(frame).name)
    above = {joint.name for joint in model.joints_above(frame)}
    for loop in model.closures:
        first, second = ({joint.name for joint in model.joints_above(end)} for end in (loop.frame, loop.other))
        if held := sorted(above & (first ^ second)):
            raise InvalidModel(f"joint {held[0]!r} above frame {frame!r} is in a closed loop, unknown to a C++ header.")
    locked = {joint.v.start + k for joint in model.joints if joint.locked for k in range(joint.nv)}
    axes: list[ArmAxis] = []
    for i in find_way(table, index):
        kind, _, _, q, v = table["ints"][i]
        gain, bias, pitch = map(float, table["numbers"][i])
        T = T @ placement(table["R"][i], table["p"][i])
        moves = gain != 0.0 and v not in locked
        if (moves and kind not in (Primitive.TURN, Primitive.SLIDE)) or kind in (Primitive.PATH, Primitive.SCALE):
            joint = next(each for each in model.joints if each.q.start <= q < each.q.stop)
            raise InvalidModel(
                f"joint {joint.name!r} above frame {frame!r} is a {joint.kind} joint; a C++ header has hinges and "
                "slides only. Lock it, or load the body without a free base."
            )
        if moves:
            axes.append(ArmAxis(T, kind == Primitive.SLIDE, q, gain, bias))
        else:
            values = model.rest[q : q + 4] if kind == Primitive.BALL else gain * model.rest[q : q + 3] + bias
            T = T @ motion(kind, values, pitch)
    if not axes:
        moved = ", ".join(repr(each) for each in model.frames if model.joints_above(each))
        raise InvalidModel(f"no joint moves frame {frame!r}; joints move {moved}.")
    return axes, T @ placement(table["frame_R"][index], table["frame_p"][index])


def align(axes: Sequence[ArmAxis]) -> list[Floats]:
    """Return the frames of axes, turned about z so that each next axis is tilted about x only."""
    out: list[Floats] = []
    for k, axis in enumerate(axes):
        z, after = axis.T[:3, 2], axes[min(k + 1, len(axes) - 1)].T[:3, 2]
        x = np.cross(z, after)
        if np.linalg.norm(x) == 0.0:
            x = (out[-1] if out else axis.T)[:3, 0]
        x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
        out.append(placement(np.stack([x, np.cross(z, x), z], 1), axis.T[:3, 3]))
    return out


# ------------------------------------------------------------------------------------------------ the tables


def write_tables(model: Model, frame: str) -> str:
    """Return the constants of a frame as C++."""
    axes, T = find_axes(model, frame)
    columns, frames = list(dict.fromkeys(axis.q for axis in axes)), align(axes)
    names = [name_columns(model)[q] for q in columns]
    own = [[axis for axis in axes if axis.q == q] for q in columns]
    by_joint = {
        "constexpr const char* names[joints]": [write_string(name) for name in names],
        "constexpr bool slides[joints]": [write_bool(any(axis.slides for axis in each)) for each in own],
        "constexpr bool winds[joints]": [write_bool(all(axis.winds for axis in each)) for each in own],
        "template <class T> constexpr T lower[joints]": write_bounds(model, model.lower, columns, "round_up"),
        "template <class T> constexpr T upper[joints]": write_bounds(model, model.upper, columns, "round_down"),
    }
    seeds = [f"{{{write_numbers(np.round(row[columns], 4))}}}" for row in choose_seeds(model, frame, columns)]
    lines = [
        f"constexpr int joints = {len(columns)}, axes = {len(axes)}, n_seeds = {len(seeds)};",
        *(f"{what} = {{{', '.join(values)}}};" for what, values in by_joint.items()),
        f"template <class T> constexpr T scale = T({model.length!r});  // m per radian",
        f"template <class T> constexpr Pose<T> base = {write_pose(frames[0])};",
        "template <class T> constexpr Axis<T> chain[axes] = {",
        *(f"    {text}," for text in write_axes(axes, frames, columns)),
        "};",
        f"template <class T> constexpr Pose<T> tool = {write_pose(np.linalg.inv(frames[-1]) @ T)};",
        "template <class T> constexpr T seeds[n_seeds][joints] = {",
        *(f"    {row}," for row in seeds),
        "};",
    ]
    return "\n".join(lines)


def write_axes(axes: Sequence[ArmAxis], frames: Sequence[Floats], columns: Sequence[int]) -> list[str]:
    """Return the initialisers of axes, given in frames of `align`."""
    out = []
    for k, axis in enumerate(axes):
        step = np.linalg.inv(frames[max(k - 1, 0)]) @ frames[k]
        tilt = np.array([step[2, 2], -step[1, 2]]) / np.hypot(step[2, 2], step[1, 2])
        turn = float(np.arctan2(-step[0, 1], step[0, 0]))
        numbers = (axis.gain, axis.bias, turn) if axis.slides else (axis.gain, axis.bias + turn, 0.0)
        where = f"{{{write_numbers(step[:3, 3])}}}, {write_numbers(tilt)}"
        out.append(f"{{{where}, {write_bool(axis.slides)}, {columns.index(axis.q)}, {write_numbers(numbers)}}}")
    return out


def write_bounds(model: Model, ends: Floats, columns: Sequence[int], rounding: str) -> list[str]:
    """Return the bounds of coordinates, with a large number for infinity."""
    where = {joint.q.start + k: joint.v.start + k for joint in model.joints for k in range(len(joint.coordinates))}
    return [f"{rounding}<T>({float(np.clip(ends[where[q]], -OPEN, OPEN))!r})" for q in columns]


def write_pose(T: Floats) -> str:
    """Return a 4x4 matrix as the initialiser of a pose."""
    return f"{{{{{write_numbers(T[:3, :3].ravel())}}}, {{{write_numbers(T[:3, 3])}}}}}"


def write_numbers(values: Iterable[float]) -> str:
    """Return numbers as C++, converted to the type T where float cannot hold them; zeros up to rounding are zero."""
    plain = (0.0 if abs(x) < ROUNDING else float(x) for x in values)
    return ", ".join(repr(x) if float(np.float32(x)) == x else f"T({x!r})" for x in plain)


def write_string(text: str) -> str:
    """Return a C++ string: quotes, backslashes, "?" of trigraphs, and other bytes than ASCII are octal."""
    plain = re.sub(rb"[^ !#->@-[\]-~]", lambda byte: b"\\%03o" % ord(byte[0]), text.encode())
    return f'"{plain.decode()}"'


def write_bool(value: bool) -> str:
    """Return a C++ boolean."""
    return "true" if value else "false"


def choose_seeds(model: Model, frame: str, columns: Sequence[int]) -> Floats:
    """Return poses to search from, in order: each is the one that reaches most of what those before it leave.

    Random poses are tried on random targets. A target that seeds before it reach counts less, but still counts.
    """
    from poise.batch import solve_batch
    from poise.goals import Reach

    q = np.tile(model.rest, (SEEDS_TRIED + TARGETS, 1))
    q[:, columns] = model.random(np.random.default_rng(0), len(q))[:, columns]
    starts, targets = q[:SEEDS_TRIED], model.fk(q[SEEDS_TRIED:], frame)
    goal, tried = Reach(frame, np.eye(4)), np.repeat(starts, TARGETS, 0)
    every = np.tile(targets, (SEEDS_TRIED, 1, 1))
    found = solve_batch(model, goal, every, tried, restarts=0, max_steps=12, method="lm")
    reached, times = found.reached.reshape(SEEDS_TRIED, TARGETS), np.zeros(TARGETS)
    chosen: list[int] = []
    for _ in range(SEEDS):
        gain = reached @ 0.2**times
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        times += reached[chosen[-1]]
    return starts[chosen]
