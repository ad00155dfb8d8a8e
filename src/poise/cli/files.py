"""`poise info` and `poise convert`: describe a file, and convert it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import poise
from poise.cli.body_kinds import describe_kind
from poise.cli.console import PAGES, PICTURES, Body, check_out, report_errors, write_as_options
from poise.errors import FormatError
from poise.files.source import Source
from poise.files.target import check_target
from poise.formats import registry
from poise.formats.meshes.looks import name_missing_meshes
from poise.formats.units import UNIT_NAMES
from poise.kinematics import Motion
from poise.model import Model
from poise.model.joints.text import describe_joint
from poise.model.text import count_parts
from poise.motion import measure_spot_speed

__all__ = ["convert_command", "info_command"]

MAX_ROWS, MOVIES = 200, (".gif", ".mp4")

Base = Annotated[str, typer.Option(help="fixed, or free: add a free root joint (6 DOF).")]
Scale = Annotated[str, typer.Option(help="Metres per unit of the file, or auto.")]
Up = Annotated[str | None, typer.Option(help="y or z: rotate the body so that this axis points up.")]
Packages = Annotated[
    list[Path] | None,
    typer.Option("--package-path", help="A folder with ROS packages of a robot's meshes; may be repeated."),
]
Tool = Annotated[
    tuple[str, float, float, float] | None,
    typer.Option(metavar="FRAME X Y Z", help="Add a frame called tool at this offset [m] from a frame."),
]
Clip = Annotated[str | None, typer.Option(help="The animation to use, by name or number.")]
For = Annotated[str | None, typer.Option("--model", help="The body of a motion table: a file or a built-in name.")]
RobotStyle = Annotated[
    str | None,
    typer.Option(
        "--style",
        help="Layout of a robot's motion: unitree (csv), gmr, mjlab, beyondmimic (npz), twist, phc (pkl).",
    ),
]
KeepRest = Annotated[bool, typer.Option("--keep-rest", help="Keep a first frame that only shows the rest pose.")]


def info_command(
    file: Body,
    base: Base = "fixed",
    scale: Scale = "1",
    up: Up = None,
    package_path: Packages = None,
    tool: Tool = None,
    clip: Clip = None,
    model: For = None,
    joints: Annotated[bool, typer.Option("--joints", help="List the joints: parent, kind, axis and range.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Describe a file: size, unit, motion, assumptions made on reading, roles and poses; with --joints each joint."""
    with report_errors("info", quiet=not as_json):  # the notes list every warning
        chosen = read_options(base=base, scale=scale, up=up, package_path=package_path)
        body, motion = load_all(file, chosen, clip, model, tool)
    facts = list_facts(body, motion)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console = Console(highlight=False)
    summary = write_summary(body, motion)
    console.print(escape(summary), soft_wrap=True)
    for note in merge_notes([note for note in facts["notes"] if note not in summary]):
        console.print(f"[bold]note[/bold]     {escape(write_as_options(note, 'info'))}", soft_wrap=True)
    for key in ("source", "frames", "mass", "shapes", "roles", "poses"):
        if value := facts[key]:
            text = write_roles(value) if key == "roles" else write_value(value) + " kg" * (key == "mass")
            console.print(f"[bold]{key:8}[/bold] {escape(text)}", soft_wrap=True)
    if joints:
        console.print(make_joint_table(body))
    elif body.joints:
        console.print(f"[bold]joints[/bold]   {len(body.joints)}; --joints lists them", soft_wrap=True)


def convert_command(
    source: Body,
    target: Annotated[Path, typer.Argument(help="The file to write; its suffix determines the format.")],
    base: Base = "fixed",
    scale: Scale = "1",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    like: Annotated[str | None, typer.Option(help="A glTF file: write the motion into its character.")] = None,
    keep_rest: KeepRest = False,
    style: RobotStyle = None,
    what: Annotated[str, typer.Option("--as", help="model or motion, if the formats allow both.")] = "auto",
    keep: Annotated[bool, typer.Option("--keep", help="Do not overwrite an existing file.")] = False,
) -> None:
    """Convert between formats: models and motions, URDF, MJCF, USD, BVH, glTF, FBX, DH tables, AMASS, CSV, NPZ."""
    with report_errors("convert"):
        if what not in ("auto", "model", "motion"):
            raise FormatError(f"--as is {what!r}; it must be model or motion.")
        if target.suffix.lower() in MOVIES:
            typed = f"poise.plot(poise.load_motion({source!r}), {str(target)!r})"
            raise FormatError(f"is a movie; type in Python: {typed}", str(target))
        if target.suffix.lower() in PAGES + PICTURES:
            typed = f"poise solve --out {target}; for a view of the file, poise studio {source}"
            raise FormatError(f"is a page or picture; for one of a pose type {typed}", str(target))
        if style is not None:
            check_out(target, style=style)
            what = "motion"
        elif not can_write(str(target), "write_motion"):
            registry.find_writer(str(target), "write_model")
        check_target(target, overwrite=not keep)
        if target.exists() and Path(source).exists() and target.samefile(source):
            raise FormatError(f"is read; write to another file, such as {target.stem}_new{target.suffix}.", str(target))
        chosen = read_options(base=base, scale=scale, up=up)
        thing = load_to_convert(source, str(target), "motion" if keep_rest else what, chosen, clip, model, keep_rest)
        poise.save(thing, target, overwrite=not keep, like=like, style=style)
    typer.echo(f"wrote {target}: {thing!r}")


# ------------------------------------------------------------------------------------------------ reading


def read_options(
    *, base: str, scale: str, up: str | None, package_path: Sequence[Path] | None = None
) -> dict[str, Any]:
    """Return the options of `poise.load` from text."""
    try:
        number: float | str = "auto" if scale == "auto" else float(scale)
    except ValueError:
        number = scale  # `load` raises for it
    return {"base": base, "scale": number, "up": up} | ({"package_path": package_path} if package_path else {})


def load_all(
    file: str,
    chosen: dict[str, Any],
    clip: str | None,
    model: str | None,
    tool: tuple[str, float, float, float] | None = None,
) -> tuple[Model, Motion | None]:
    """Read the body of a file, with a tool if one is given, and its motion if it has one."""
    body, motion = read_file(file, chosen, clip, model)
    if tool is None:
        return body, motion
    frame, *place = tool
    if motion is not None:
        motion = Motion(motion.model.with_frame("tool", frame, place), motion.q, motion.fps)
    return body.with_frame("tool", frame, place), motion


def read_file(file: str, chosen: dict[str, Any], clip: str | None, model: str | None) -> tuple[Model, Motion | None]:
    """Read the body of a file, and its motion if it has one."""
    if file in poise.models.names() or not (Path(file).suffix or Path(file).exists()):
        return poise.load(file, **chosen), None
    model_format, motion_format = find_formats(Source.open(file))
    if motion_format is None:
        return poise.load(Path(file), **chosen), None
    if model_format is None:
        motion = load_one_motion(file, chosen, clip, model)
        return motion.model, motion
    body = poise.load(Path(file), **chosen)
    try:
        return body, load_one_motion(file, chosen, clip, model)
    except FormatError:
        if clip is not None:
            raise
        return body, None


def load_one_motion(
    file: str, chosen: dict[str, Any], clip: str | None, model: str | None, keep_rest: bool = False
) -> Motion:
    """Return the motion of a file."""
    which = int(clip) if clip is not None and clip.isdecimal() else clip
    return poise.load_motion(file, scale=chosen["scale"], up=chosen["up"], clip=which, model=model, keep_rest=keep_rest)


def find_formats(source: Source) -> tuple[Any, Any]:
    """Return the formats that read a model and a motion from the file; if they differ, the content decides."""
    found = []
    for verb in ("read_model", "read_motion"):
        try:
            found.append(registry.find_reader(source, verb))
        except FormatError:
            found.append(None)
    model_format, motion_format = found
    if model_format is not motion_format and None not in found:
        return (model_format, None) if model_format.looks_like(source.data[: registry.HEAD]) else (None, motion_format)
    return model_format, motion_format


def can_write(target: str, verb: str) -> bool:
    """Return whether a format can write to a file of this name; `verb` is "write_model" or "write_motion"."""
    try:
        registry.find_writer(target, verb)
    except FormatError:
        return False
    return True


def load_to_convert(
    file: str, target: str, what: str, chosen: dict[str, Any], clip: str | None, model: str | None, keep_rest: bool
) -> Model | Motion:
    """Return the motion if the file has one and the target can hold it, else the model."""
    if file in poise.models.names() and what != "motion":
        return poise.load(file, **chosen)
    if what == "auto" and not can_write(target, "write_motion"):
        what = "model"
    if what == "auto" and not can_write(target, "write_model"):
        what = "motion"
    if what == "motion":
        return load_one_motion(file, chosen, clip, model, keep_rest)
    if what == "model":
        model_format, motion_format = find_formats(Source.open(file))
        if model_format is None and motion_format is not None:  # a table that includes its model
            return load_one_motion(file, chosen, clip, model).model
        return poise.load(Path(file), **chosen)
    body, motion = load_all(file, chosen, clip, model)
    return body if motion is None else motion


# ------------------------------------------------------------------------------------------------ output


def list_facts(model: Model, motion: Motion | None) -> dict[str, Any]:
    """Return all facts to report, as plain values."""
    return {
        "name": model.name,
        "source": model.source,
        "size": count_parts(model),
        "nq": model.nq,
        "nv": model.nv,
        "frames": list(model.frames),
        "mass": round(model.mass, 6),
        "length": round(model.length, 6),
        "up": model.up,
        "units": model.units,
        "metres_per_unit": model.metres_per_unit,
        "shapes": len(model.shapes),
        "meshes": sorted({s.shape.path for s in model.shapes if hasattr(s.shape, "path")}),
        "roles": dict(model.roles),
        "poses": list(model.poses),
        "motion": None if motion is None else list_motion_facts(motion),
        "joints": [
            {"name": j.name, "kind": j.kind, "parent": j.parent, "frame": j.frame, "about": describe_joint(j)}
            for j in model.joints
        ],
        "notes": [*dict.fromkeys([*model.notes, *(motion.model.notes if motion else ()), *name_missing_meshes(model)])],
    }


def merge_notes(notes: list[str]) -> list[str]:
    """Return the notes; of those that differ only in names, numbers and lines, the first with their number."""
    groups: dict[str, list[str]] = {}
    for note in notes:
        groups.setdefault(re.sub(r"'[^']*'|\d+", "", note), []).append(note)
    return [same[0] + (f"; and {len(same) - 1} more like this" if len(same) > 1 else "") for same in groups.values()]


def write_summary(model: Model, motion: Motion | None) -> str:
    """Return one sentence on the kind, the size, the unit and the motion of a body."""
    kept = "" if model.units == "m" else f", lengths in {UNIT_NAMES.get(model.units, f'unit {model.units}')}"
    text = f"{model.name}: {describe_kind(model, motion)}; {count_parts(model)}, {model.up} is up{kept}"
    if motion is None:
        return f"{text}."
    seconds, speed = len(motion) / motion.fps, model.metres_per_unit * measure_spot_speed(motion)
    spot = f" that walks on the spot at about {speed:.1f} m/s" if speed else ""
    return f"{text}; a motion of {len(motion)} frames at {motion.fps:.4g} fps, {seconds:.3g} s{spot}."


def list_motion_facts(motion: Motion) -> dict[str, Any]:
    """Return the number of frames, the frame rate and the duration of a motion."""
    return {"frames": len(motion), "fps": round(motion.fps, 6), "seconds": round(len(motion) / motion.fps, 3)}


def write_value(value: Any) -> str:
    """Return a value on one line, with long lists shortened."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        more = f", ... ({len(value)} in all)" if len(value) > 8 else ""
        return ", ".join(map(str, value[:8])) + more
    return str(value)


def write_roles(roles: dict[str, str]) -> str:
    """Return roles and their frames; roles whose frame has the same name are only counted."""
    other = {role: frame for role, frame in roles.items() if role != frame}
    same = len(roles) - len(other)
    return ", and ".join(filter(None, (write_value(other), f"{same} frames named after theirs" if same else "")))


def make_joint_table(model: Model) -> Table:
    """Return the joints as a table for the terminal."""
    table = Table(show_edge=False)
    for column in ("joint", "parent", "frame", "kind, axis, range (rad or m)"):
        table.add_column(column, style="bold" * (column == "joint"), overflow="fold", no_wrap=column == "joint")
    for joint in model.joints[:MAX_ROWS]:
        table.add_row(*map(escape, (joint.name, joint.parent or "world", joint.frame, describe_joint(joint))))
    if len(model.joints) > MAX_ROWS:
        table.add_row("...", "", "", f"{len(model.joints)} in all")
    return table
