"""`poise export`: write a C++ header that solves for one frame of a robot."""

from pathlib import Path
from typing import Annotated

import typer

from poise.cli.console import Body, report_errors
from poise.cli.files import Base, Packages, Scale, Tool, Up, load_all, read_options
from poise.errors import FormatError
from poise.files.target import check_target
from poise.formats.cpp_header import find_axes, write_header

__all__ = ["export_command"]

SUFFIXES = (".hpp", ".h", ".hh", ".hxx")


def export_command(
    model: Body,
    out: Annotated[Path, typer.Option("--out", "-o", help="The header to write, such as robot_ik.hpp.")],
    frame: Annotated[str | None, typer.Option(help="The frame to bring to targets; default: the last one.")] = None,
    name: Annotated[str | None, typer.Option(help="The namespace; default: the name of the model.")] = None,
    base: Base = "fixed",
    scale: Scale = "1",
    up: Up = None,
    tool: Tool = None,
    package_path: Packages = None,
    keep: Annotated[bool, typer.Option("--keep", help="Do not overwrite an existing file.")] = False,
) -> None:
    """Write inverse kinematics of a robot as one C++ header, without heap or library, also for microcontrollers."""
    with report_errors("export"):
        if out.suffix.lower() not in SUFFIXES:
            raise FormatError(f"must have a suffix of a C++ header: {' '.join(SUFFIXES)}.", str(out))
        check_target(out, overwrite=not keep)
        options = read_options(base=base, scale=scale, up=up, package_path=package_path)
        body, _ = load_all(model, options, None, None, tool)
        chosen = body.frames[-1] if frame is None else frame
        count = len({axis.q for axis in find_axes(body, chosen)[0]})
        write_header(body, chosen, out, name=name, overwrite=not keep)
    typer.echo(f"wrote {out}: frame {chosen} of {body.name}, {count} joints")
