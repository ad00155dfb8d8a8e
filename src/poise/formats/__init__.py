"""Reading and writing of files: `load`, `load_motion` and `save`. Each format is a module with a reader and a writer.

Readers keep the file's numbers. They reject malformed files with a `FormatError` (path, line, advice), and read unusual
ones with a `FormatWarning` and a line in `model.notes`. Writers never leave incomplete files.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from poise import models
from poise.errors import AS_THINGS, FormatError, FormatWarning, InvalidValue, MissingExtra, PoiseError, name_not_found
from poise.files.paths import convert_path, path_exists
from poise.files.source import Source
from poise.files.target import replace_file
from poise.formats import registry
from poise.formats.options import ReadOptions
from poise.formats.tables.robot_csv import write_style
from poise.formats.units import add_free_root, adjust_model
from poise.keywords import refuse_unknown
from poise.kinematics import Motion, Pose
from poise.kinematics.pose import check_model
from poise.kinematics.rest_frames import LEFT_OUT, begins_at_rest
from poise.model import Model
from poise.model.attachments import UNITS
from poise.model.derive import with_roles

__all__ = ["load", "load_motion", "save"]

OWN_VERBS = ("write_arrays", "write_values")  # for objects that convert themselves to arrays or plain values


@refuse_unknown
def load(
    path_or_name: str | PathLike[str],
    *,
    base: str = "fixed",
    scale: float | str = 1.0,
    up: str | None = None,
    package_path: Sequence[str | PathLike[str]] = (),
    srdf: str | PathLike[str] | None = None,
) -> Model:
    """Return a model: a built-in body by its name, or a body from a file.

    Args:
        path_or_name: "humanoid" or another of `poise.models.names()`; or a file: URDF, MJCF, USD, BVH, glTF, FBX,
            SMPL, a DH table.
        base: "fixed", or "free": adds a joint with six degrees of freedom at the root.
        scale: Metres per unit of the file; "auto" guesses it and records the guess in `model.notes`.
        up: "y" or "z" rotates the body so that this axis points up; None keeps the file's axes.
        package_path: Folders with the packages that a URDF refers to (``package://name/...``), searched before the
            folders above the file, ROS_PACKAGE_PATH and installed packages. Meshes are opened when the body is drawn.
        srdf: The SRDF of a URDF, with the pairs of links that `Clearance` leaves out; by default one next to the URDF.

    Raises:
        NameNotFound: Neither a file nor a built-in body has this name.
        FormatError: The file is missing, malformed, or has no known format.
        MissingExtra: The reader needs a package that is not installed; the message has the command.
    """
    text = convert_path(path_or_name)
    folders, semantics = list_folders(package_path), None if srdf is None else convert_path(srdf)
    options = check_options(ReadOptions(base=base, scale=scale, up=up, package_path=folders, srdf=semantics))
    if isinstance(path_or_name, str) and not Path(text).suffix and not set(text) & {"/", "\\"}:
        if text in models.names():
            return check_srdf(load_built_in(text, options), options)
        if not text or not path_exists(text):
            raise name_not_found("built-in body", text, models.names())
    model = read(Source.open(text), "read_model", options)
    assert isinstance(model, Model)
    return check_srdf(model, options)


def check_srdf(model: Model, options: ReadOptions) -> Model:
    """Return the model; raise `InvalidValue` if `srdf=` was given for another format than URDF."""
    if options.srdf is not None and model.attachments.disabled_pairs is None:
        raise InvalidValue(f"srdf is {options.srdf!r}, but {model.name!r} is not from a URDF; leave it out.")
    return model


def list_folders(paths: Sequence[str | PathLike[str]]) -> tuple[str, ...]:
    """Return the folders of `package_path=`, as text.

    Raises:
        InvalidValue: The value is not a list, or an entry is not an existing folder.
    """
    if isinstance(paths, (str, PathLike)):
        raise InvalidValue(f"package_path is {paths!r}; it must be a list of folders: package_path=[{str(paths)!r}].")
    out = tuple(convert_path(path) for path in paths)
    for folder in out:
        if not path_exists(folder) or not Path(folder).is_dir():
            raise InvalidValue(f"package_path names {folder!r}, which is not a folder.")
    return out


def load_within(path: str | PathLike[str], folder: str | PathLike[str], **options: Any) -> Model:
    """Return a model from an uploaded file; files that it refers to are searched only in `folder`."""
    chosen = check_options(ReadOptions(**options, within=convert_path(folder)))
    model = read(Source.open(convert_path(path)), "read_model", chosen)
    assert isinstance(model, Model)
    return model


def load_built_in(name: str, options: ReadOptions) -> Model:
    """Return a built-in body; always the same object unless an option changes it."""
    model = models.build(name)
    if replace(options, package_path=()) == ReadOptions():
        return model
    return adjust_model(add_free_root(model) if options.base == "free" else model, options, Source(name, b""))


@refuse_unknown
def load_motion(
    path: str | PathLike[str],
    *,
    scale: float | str = 1.0,
    up: str | None = None,
    clip: str | int | None = None,
    model: Model | str | PathLike[str] | None = None,
    keep_rest: bool = False,
) -> Motion:
    """Return a motion from a file: BVH, glTF, FBX, USD, a table (CSV, NPZ, Parquet), AMASS.

    Args:
        path: The file.
        scale: Metres per unit of the file; "auto" guesses it and records the guess in `model.notes`.
        up: "y" or "z" rotates the body so that this axis points up; None keeps the file's axes.
        clip: The name or index of the animation, if the file has several (default: the first).
        model: The body of the motion, or the path of its file, if the motion contains only numbers. AMASS takes the NPZ
            of SMPL, SMPL+H or SMPL-X; a body given by its path gets the shape of the clip's person.
        keep_rest: True keeps a first frame that only shows the rest pose, such as the T-pose of many BVH recordings.
            Otherwise it is left out, with a note: the motion does not continue it.

    Raises:
        FormatError: The file is missing, malformed, or has no motion.
        MissingExtra: The reader needs a package that is not installed; the message has the command.
    """
    file = convert_path(model) if isinstance(model, (str, PathLike)) else ""
    model = load(file) if file else model
    options = ReadOptions(scale=scale, up=up, clip=clip, model=model, model_file=file, keep_rest=keep_rest)
    check_options(options)
    text = convert_path(path)
    if text in models.names():
        raise FormatError("is a built-in body, which has no motion; name a file with one, such as walk.bvh.", text)
    motion = read(Source.open(text), "read_motion", options)
    assert isinstance(motion, Motion)
    return motion


@refuse_unknown
def save(
    thing: Any,
    path: str | PathLike[str],
    *,
    overwrite: bool = True,
    like: str | PathLike[str] | None = None,
    style: str | None = None,
) -> Path:
    """Write a model, motion, pose, solution, track or contacts; the suffix of `path` determines the format.

    Writing is atomic: the file is written under another name in the same folder, then renamed.

    Args:
        thing: A `Model`, `Motion`, `Pose`, `Solution` or `Track`; `Contacts` as JSON, a `ReachMap` as NPZ. A `Model`,
            `Pose` or `Rig` as .ik is solved in JavaScript by the npm package poise-ik.
        path: The file to write; its folder must exist.
        overwrite: False raises if the file exists.
        like: A glTF file whose character (mesh, materials, skin) is used for the pose or motion; glTF output only.
        style: Layout of a robot's motion: "unitree" (CSV), "gmr" (NPZ), or that of a trainer: "mjlab", "beyondmimic"
            (NPZ), "twist" or "phc" (pickle); see `poise.formats.tables.robot_csv` and `trainers`.

    Returns:
        The path.

    Raises:
        FormatError: The format cannot store the object, the suffix is unknown, or the file cannot be written.
    """
    if isinstance(thing, (str, PathLike)):
        raise InvalidValue(f"the object to save comes before its path: type poise.save(thing, {thing!r}).")
    text = convert_path(path)
    verb, value = choose_writer(thing, text)
    if style is not None:
        value = thing.motion if verb == "write_track" else value
        with replace_file(text, overwrite=overwrite) as temporary:
            write_style(value, temporary, text, style)
        return Path(text)
    module = registry.find_writer(text, verb, type(thing).__name__ if verb in OWN_VERBS else "")
    write = getattr(module, verb)
    if isinstance(value, Model):
        check_joint_kinds(value, module, text)
    extra = {} if like is None else {"like": convert_path(like)}
    if extra and "like" not in signature(write).parameters:
        raise FormatError(
            f"like= puts a pose or motion into a glTF character; {module.NAME} has none. Leave it out.", text
        )
    warn_of_objects(value, module)
    with replace_file(text, overwrite=overwrite) as temporary:
        write(value, temporary, **extra)
    return Path(text)


def check_joint_kinds(model: Model, module: Any, path: str) -> None:
    """Raise `FormatError` if the body has joints that only Poise's JSON format can store."""
    odd = next((joint for joint in model.joints if joint.kind in ("path", "scale", "uniform_scale")), None)
    if odd is not None and not getattr(module, "HOLDS_EVERY_JOINT", False):
        raise FormatError(
            f"joint {odd.name!r} is a {odd.kind} joint, which {module.NAME} cannot hold; save the body as .json. "
            "A motion of it is written frame by frame: poise.save(motion, path).",
            path,
        )


def warn_of_objects(thing: Any, module: Any) -> None:
    """Warn if the motion has objects and the format is not glTF, the only one that can store them."""
    if isinstance(thing, Motion) and thing.objects and module.NAME != "glTF":
        names = ", ".join(repr(each.name) for each in thing.objects)
        text = f"{module.NAME} stores only the body, not {names}; save a .glb to keep both."
        warnings.warn(text, FormatWarning, stacklevel=4)


def choose_writer(thing: Any, path: str) -> tuple[str, Any]:
    """Return the name of the writer function, and the value to write: for a solution, the solution or its pose."""
    if hasattr(thing, "to_arrays"):
        return "write_arrays", thing
    if isinstance(thing, Model):
        return "write_model", thing
    if isinstance(thing, Motion):
        return "write_motion", thing
    if isinstance(thing, Pose):
        return "write_pose", thing
    if isinstance(getattr(thing, "motion", None), Motion):
        labelled = hasattr(thing, "label_frames") and is_written_by("write_track", path)
        return ("write_track", thing) if labelled else ("write_motion", thing.motion)
    if hasattr(thing, "handles") and is_written_by("write_rig", path):
        return "write_rig", thing
    if isinstance(getattr(thing, "pose", None), Pose):
        return ("write_solution", thing) if is_written_by("write_solution", path) else ("write_pose", thing.pose)
    if hasattr(thing, "plain_values"):
        return "write_values", thing
    raise InvalidValue(
        f"only a Model, Motion, Pose, Solution, Track, Contacts or ReachMap can be saved, not {type(thing).__name__}. "
        f"{AS_THINGS}"
    )


def is_written_by(verb: str, path: str) -> bool:
    """Return whether the format of a path has a writer function."""
    wanted = registry.find_suffix(path)
    return any(wanted in module.SUFFIXES and hasattr(module, verb) for module in registry.list_formats())


def check_options(options: ReadOptions) -> ReadOptions:
    """Return the options; raise `InvalidValue` for an invalid one."""
    if options.base not in ("fixed", "free"):
        raise InvalidValue(f"base is {options.base!r}; it must be 'fixed' or 'free'.")
    if options.up not in (None, "y", "z"):
        raise InvalidValue(f"up is {options.up!r}; it must be 'y', 'z' or None.")
    scale = options.scale
    if scale != "auto" and not (isinstance(scale, (int, float)) and 0.0 < scale < float("inf")):
        meant = f" For {scale} type scale={UNITS[scale]:g}." if isinstance(scale, str) and scale in UNITS else ""
        raise InvalidValue(f"scale is {scale!r}; it must be a positive number (metres per unit) or 'auto'.{meant}")
    if options.model is not None:
        check_model(options.model)
    return options


def read(source: Source, verb: str, options: ReadOptions) -> Any:
    """Read a file by its format, and issue its oddities as warnings at the caller's line.

    Readers raise `FormatError` themselves; any other exception is wrapped here, so that the caller sees no other
    exception.
    """
    try:
        result = getattr(registry.find_reader(source, verb), verb)(source, options)
    except (FormatError, MissingExtra):
        raise
    except PoiseError as error:
        raise source.make_error(str(error)) from error
    except Exception as error:
        raise source.make_error(f"could not be read ({type(error).__name__}: {error}).") from error
    if isinstance(result, Motion) and not options.keep_rest and begins_at_rest(result):
        source.note_oddity(f"{LEFT_OUT}; keep_rest=True keeps it")
        result = Motion(with_roles(result.model, {}, [LEFT_OUT]), result.q[1:], result.fps)
    for oddity in source.oddities:
        warnings.warn(f"{source.path}: {oddity}", FormatWarning, stacklevel=4)  # above the wrapper of `load`
    return result
