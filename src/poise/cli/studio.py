"""`poise studio`: pose a body in the browser."""

import json
import os
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

import poise
from poise.cli.console import Body, report_errors
from poise.cli.files import Base, Clip, For, Packages, Tool, Up, load_all, read_options

__all__ = ["studio_command"]

MOST_LISTED = 12  # bodies of a folder
LOCAL = ("127.0.0.1", "localhost", "::1")


def studio_command(
    model: Body = "humanoid",
    base: Base = "fixed",
    scale: Annotated[
        str | None, typer.Option(help="Metres per unit of the file, or auto; default: 1, with --onto auto.")
    ] = None,
    up: Up = None,
    tool: Tool = None,
    package_path: Packages = None,
    clip: Clip = None,
    host: Annotated[str, typer.Option(help="The address to listen on; default: this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port, or the next free one.")] = 8080,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser window.")] = True,
    shadows: Annotated[bool, typer.Option(help="Draw shadows; turn off without a GPU.")] = True,
    table_model: For = None,
    onto: Annotated[
        str | None, typer.Option(help="Retarget the clip onto this body: a file or a built-in name.")
    ] = None,
    style: Annotated[
        list[str] | None, typer.Option(help="A clip or a saved style whose posture dragging follows; may be repeated.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="The origin of a proxy in front of the studio, such as https://hub.example. May be repeated."
        ),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark/--light", help="Colour theme: dark or light.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Pose a body in the browser, or play and edit a clip: handles, pins, methods, lessons, a race. Ctrl-C stops it."""
    from poise.studio.web.studio import Studio

    with report_errors("studio"):
        file = choose_file(model)
        unit = scale or ("1" if onto is None else "auto")  # two bodies side by side must have the same unit
        options = read_options(base=base, scale=unit, up=up, package_path=package_path)
        thing: Any = file
        if not poise.ReachMap.is_in(file):
            body, motion = load_all(file, options, clip, table_model, tool)
            thing = body if motion is None else motion
        other, clips = None if onto is None else choose_file(onto), style or ()
        origins = allow_origin or ()
        studio = Studio(
            thing, host=host, port=port, shadows=shadows, dark=dark, onto=other, style=clips, allow_origin=origins
        )
    if as_json:
        typer.echo(json.dumps({"url": studio.url, "model": studio.model.name, "port": studio.port}))
    else:
        typer.echo(write_greeting(studio.url, studio.model.name, host, studio.port))
    if open_browser and not is_remote():
        webbrowser.open(studio.url)
    studio.wait()


def choose_file(given: str) -> str:
    """Return the file or name of a body; of a folder, its first body, after the others were listed on stderr."""
    from poise.studio.showable import list_bodies

    if not Path(given).is_dir():
        return given
    first, *others = list_bodies(Path(given), given)
    if others:
        listed = ", ".join(str(path) for path in others[:MOST_LISTED])
        more = f", ... ({len(others)} in all)" if len(others) > MOST_LISTED else ""
        typer.echo(f"{given} is a folder; opened {first}. Also there: {listed}{more}", err=True)
    return str(first)


def is_remote() -> bool:
    """Return whether this is an SSH session, in which no browser should be opened."""
    return "SSH_CONNECTION" in os.environ


def write_greeting(url: str, model: str, host: str, port: int) -> str:
    """Return the text to print on the terminal."""
    lines = [f"{model} is in the studio: {url}", "Drag a handle; click one to pin it. Ctrl-C ends the studio."]
    if is_remote() and host in LOCAL:
        lines.append(f"Over SSH, type on your own machine: ssh -L {port}:127.0.0.1:{port} <this machine>")
    if host not in LOCAL:
        lines.append("It listens beyond this machine: whoever has this address can move the body and open files in it.")
    return "\n".join(lines)
