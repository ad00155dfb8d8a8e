"""`poise follow`: follow live targets of another program over a socket, or of a headset, phone or mouse on a page."""

import json
import secrets
import socket
import ssl
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import poise
from poise.arguments import check_positive
from poise.cli.console import Body, report_errors
from poise.cli.files import Base, Packages, Scale, Tool, Up, load_all, read_options
from poise.cli.solve import read_start, split_names
from poise.cli.studio import LOCAL
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Limit, Speed
from poise.model import Model
from poise.motion import Follower
from poise.motion.live.joint_rates import convert_rate
from poise.rig.ends import find_machine_ends
from poise.spatial import Transform

__all__ = ["follow_command"]

HANDS = ("hand_l", "hand_r")
LAST_PORT = 65535


def follow_command(
    model: Body,
    listen: Annotated[
        str, typer.Option(metavar="[ADDRESS:]PORT", help="The address to listen on; port 0 chooses a free one.")
    ] = "127.0.0.1:7450",
    remote: Annotated[bool, typer.Option("--remote", help="Allow an address that other machines can reach.")] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a page for a headset, a phone or a mouse; print the steps as JSON.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="PEM", help="A certificate for https, which headsets need beyond this machine."),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="Its private key, if in another file.")] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(help="A frame that follows targets (default: hands, or the tip); may be repeated."),
    ] = None,
    rotation: Annotated[bool, typer.Option(help="Targets include the rotation.")] = False,
    joint: Annotated[
        list[str] | None, typer.Option(help="The only joints that may move; commas or repeated. Default: all.")
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="The largest speed of a joint [rad/s, m/s]; default: that of the file.")
    ] = None,
    acceleration: Annotated[float, typer.Option(help="The largest acceleration of a joint [rad/s^2, m/s^2].")] = 20.0,
    clearance: Annotated[bool, typer.Option("--clearance", help="Avoid self-collisions.")] = False,
    start: Annotated[str | None, typer.Option(help="A named pose of the model, or a JSON file from --out.")] = None,
    base: Base = "fixed",
    scale: Scale = "1",
    up: Up = None,
    tool: Tool = None,
    package_path: Packages = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Follow live targets of another program over TCP, or with --page those of a headset. Ctrl-C ends it."""
    import asyncio

    from poise.cli.line_server import LineServer
    from poise.cli.live_messages import LiveMessages
    from poise.cli.page_server import PageServer

    with report_errors("follow"):
        host, port = read_address(listen)
        if host not in LOCAL and not remote:
            raise InvalidValue(f"--listen {listen} can be reached from other machines; add --remote to allow that.")
        options = read_options(base=base, scale=scale, up=up, package_path=package_path)
        body, _ = load_all(model, options, None, None, tool)
        most = None if speed is None else convert_rate(body, check_positive(speed, "--speed"))
        rates = Speed(most), Acceleration(convert_rate(body, check_positive(acceleration, "--acceleration")))
        limits: list[Limit] = [*rates, *([Clearance()] if clearance else [])]
        goals = [Reach(name, Transform() if rotation else None) for name in split_names(goal) or list_ends(body)]
        follower = Follower(body, goals, limits, read_start(body, start), joints=split_names(joint) or None)
        security = read_certificate(certificate, key, page=page)
        listener = open_listener(host, port)
        messages = LiveMessages(follower, partial(typer.echo, err=True))
        token = "" if host in LOCAL else secrets.token_urlsafe(16)
        server = PageServer(messages, host, security, typer.echo) if page else LineServer(messages, token)
    port = listener.getsockname()[1]
    url = server.write_url(port) if isinstance(server, PageServer) else ""
    facts = {"host": host, "port": port, "model": body.name, "goals": list(follower.rows)}
    if as_json:
        typer.echo(json.dumps({**facts, **({"url": url} if url else {"token": token} if token else {})}))
    else:
        typer.echo(write_greeting(follower, host, port, token, url), err=page)  # the steps of a page go to stdout
    with listener, suppress(KeyboardInterrupt):
        asyncio.run(server.serve(listener))


def read_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address such as "127.0.0.1:7450", "[::1]:7450" or "7450"."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) <= LAST_PORT) or text.startswith(":"):
        raise InvalidValue(f"--listen is {text!r}; give a port, or an address and a port: 127.0.0.1:7450.")
    return host.removeprefix("[").removesuffix("]") or LOCAL[0], int(port)


def list_ends(model: Model) -> list[str]:
    """Return the hands of a body that can move, otherwise its end effectors."""
    roles = poise.roles(model)
    hands = [hand for hand in HANDS if hand in roles and any(joint.nv for joint in model.joints_above(roles[hand]))]
    return hands or find_machine_ends(model) or [model.frames[-1]]


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = error.strerror
    raise InvalidValue(f"--listen {host}:{port}: {reason}. Choose another address or port; 0 is a free port.")


def read_certificate(certificate: Path | None, key: Path | None, *, page: bool = True) -> ssl.SSLContext | None:
    """Return the settings of an encrypted server, or None without a certificate."""
    if certificate is None and key is None:
        return None
    if not page:
        raise InvalidValue("--certificate needs --page; the socket of other programs is not encrypted.")
    if certificate is None:
        raise InvalidValue(f"--key is {key}, but --certificate is missing.")
    out = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        out.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, ssl.SSLError):
            reason = "it has no certificate with its unencrypted private key"
        raise InvalidValue(
            f"--certificate {certificate}: {reason}. Give a PEM file with a certificate, and its private key in the "
            "same file or by --key; mkcert makes both."
        ) from None
    return out


def write_greeting(follower: Follower, host: str, port: int, token: str, url: str) -> str:
    """Return the text to print on the terminal."""
    goals = ", ".join(follower.rows)
    if url:
        lines = [f"{follower.model.name} follows {goals} on this page: {url}"]
        if host in LOCAL:
            lines.append(f"For a headset or phone on a USB cable, type first: adb reverse tcp:{port} tcp:{port}")
        elif url.startswith("http:"):
            lines.append("Neither it nor its token is encrypted: in a network of others, give --certificate.")
        return "\n".join([*lines, "Ctrl-C ends it."])
    lines = [f"{follower.model.name} listens on {host}:{port} for targets of {goals}. Ctrl-C ends it."]
    if token:
        lines.append(f"Clients first send this line: {json.dumps({'token': token})}")
        lines.append("It is not encrypted: in a network of others, use an SSH tunnel to 127.0.0.1 instead.")
    return "\n".join(lines)
