"""Who may connect to the studio, and what it uses of other packages."""

from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from paths import SOURCES
from poise.errors import InvalidValue, MissingExtra
from poise.studio.web import connections
from poise.studio.web.gate import Gate
from poise.studio.web.studio import Studio
from source_trees import read_trees

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

PROTOCOL = f"viser-v{viser.__version__}"
HUB = "https://hub.example"


@pytest.fixture(scope="module")
def studio():
    with Studio("planar2", port=18210, allow_origin=HUB) as running:
        yield running


def request(studio, path=None, **headers):
    """Send one request by hand and return the status and everything that follows it."""
    place = urlsplit(studio.url)
    lines = {"Host": f"127.0.0.1:{studio.port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as line:
        line.sendall(f"GET {path or f'/?{place.query}'} HTTP/1.1\r\n{text}\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(1 << 16), b""))
    return int(answer.split(b" ", 2)[1]), answer.decode("utf-8", "replace")


def open_socket(studio, url=None, origin="same", **options):
    """Open a WebSocket as a page of that origin would."""
    page = f"http://127.0.0.1:{studio.port}" if origin == "same" else origin
    return connect((url or studio.url).replace("http", "ws", 1), origin=page, subprotocols=[PROTOCOL], **options)


def test_the_address_carries_the_token_and_serves_the_page(studio):
    status, answer = request(studio)
    assert status == 200
    assert "<title>Poise studio</title>" in answer
    assert "Referrer-Policy: no-referrer" in answer
    assert len(studio.gate.token) >= 22  # 128 bits


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/?token=", "/?token=wrong", "/?other=1", "/?token=a&token=b", "//[/"]
)
def test_a_page_without_the_token_is_an_explanation(studio, path):
    status, answer = request(studio, path)
    assert status == 403
    assert "terminal" in answer
    assert studio.gate.token not in answer
    assert len(answer) < 4000


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{18210}", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", None,
     "[::1", "a@127.0.0.1@evil.example", "127.0.0.1/evil.example", "127.0.0.1#evil", "[::1]evil.example"],
)  # fmt: skip
def test_a_name_that_was_rebound_to_this_machine_is_rejected(studio, host):
    assert request(studio, Host=host)[0] in (400, 403)
    assert request(studio, Host=host, Origin=f"http://{host}", Upgrade="websocket")[0] in (400, 403)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:8080", "127.8.8.8:1", "hub.example"]
)
def test_loopback_names_and_allowed_hosts_are_served_at_any_port(studio, host):
    assert request(studio, Host=host)[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost:18210", "file://", "http://"]
)
def test_a_page_of_another_origin_opens_no_websocket_even_with_the_token(studio, origin):
    with pytest.raises(InvalidStatus, match="403"), open_socket(studio, origin=origin):
        pass


def test_two_origins_or_two_hosts_are_rejected(studio):
    here = f"127.0.0.1:{studio.port}"
    assert request(studio, Origin=f"http://{here}\r\nOrigin: http://evil.example")[0] == 403
    assert request(studio, Host=f"{here}\r\nHost: evil.example")[0] in (400, 403)


@pytest.mark.parametrize("query", ["", "?token=wrong", "?token=%00", "?token=%C3%A9"])
def test_a_websocket_without_the_token_is_rejected(studio, query):
    for origin in ("same", None):
        with (
            pytest.raises(InvalidStatus, match="403"),
            open_socket(studio, f"http://127.0.0.1:{studio.port}/{query}", origin),
        ):
            pass


@pytest.mark.parametrize("origin", ["same", None, HUB])
def test_its_own_page_scripts_and_allowed_proxies_get_the_scene(studio, origin):
    with open_socket(studio, origin=origin, max_size=None) as line:
        assert line.recv(timeout=20)


def test_a_large_message_ends_the_connection(studio):
    with open_socket(studio, max_size=None) as line:
        line.send(b"\0" * (connections.MAX_MESSAGE_BYTES + 1))
        assert find_ending(line) == 1009


def test_a_flood_of_messages_ends_the_connection(studio, monkeypatch):
    monkeypatch.setattr(connections, "MAX_MESSAGES", 20)  # a loaded machine is slow to send thousands
    note = msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": "nobody", "updates": {}})
    with open_socket(studio, max_size=None) as line:
        with suppress(ConnectionClosed):
            for _ in range(2000):
                line.send(note)
        assert find_ending(line) == 1008


def find_ending(line):
    """Read until the connection ends and return its close code."""
    with suppress(ConnectionClosed):
        while True:
            line.recv(timeout=30)
    return line.close_code


def test_every_studio_has_a_token_of_its_own():
    assert Gate.make("127.0.0.1").token != Gate.make("127.0.0.1").token


@pytest.mark.parametrize(
    ("given", "host", "served"),
    [("0.0.0.0", "192.168.1.7:8080", True), ("0.0.0.0", "evil.example", False), ("lab.local", "lab.local:8080", True),
     ("lab.local", "192.168.1.7", False), ("::1", "[::1]:8080", True)],
)  # fmt: skip
def test_a_studio_on_a_network_answers_to_addresses_and_to_its_name(given, host, served):
    gate = Gate.make(given)
    assert (gate.find_fault([host], [], f"/?token={gate.token}") == "") == served


@pytest.mark.parametrize(
    "origin",
    ["*", "hub.example", "ftp://hub.example", "https://", "http://[", "https://*.example", "https://a@b.example", 3],
)
def test_an_origin_that_is_none_is_an_error(origin):
    with pytest.raises(InvalidValue, match="allow_origin"):
        Gate.make("127.0.0.1", origin)


def test_a_viser_that_cannot_be_guarded_serves_nothing(monkeypatch):
    stopped = []

    class Unguarded:
        def __init__(self, **_):
            pass

        def stop(self):
            stopped.append(True)

    monkeypatch.setattr(viser, "ViserServer", Unguarded)
    with pytest.raises(MissingExtra, match="viser"):
        Studio("planar2", port=18211)
    assert stopped


def test_an_ipv6_address_is_written_in_brackets(studio, monkeypatch):
    monkeypatch.setattr(studio.session, "host", "::1")
    assert studio.url.startswith(f"http://[::1]:{studio.port}/?token=")


def test_the_command_line_rejects_an_origin_that_is_none():
    from typer.testing import CliRunner

    from poise.cli.app import app

    shown = CliRunner().invoke(app, ["studio", "planar2", "--no-open", "--allow-origin", "hub.example"])
    assert shown.exit_code == 2
    assert "allow_origin" in shown.output


ROOMS = ("studio", "pages")
OWN = ("self", "cls")


# viser has no public way to move many bones without comparing each twice; where its insides differ, setters are used
OF_VISER = {
    ("node_moves.py", "handle._impl"),
    ("node_moves.py", "node.api._queue_scene_message"),
    ("viser_server.py", "server._websock_server"),  # the number of messages in one window
}


def read_rooms() -> Iterator[tuple[Path, ast.Module]]:
    """Yield every file of the rooms, parsed."""
    for room in ROOMS:
        yield from ((path, tree) for path, tree in read_trees().items() if path.is_relative_to(SOURCES / room))


def is_private(name: str) -> bool:
    """Return whether a name is private."""
    return name.startswith("_") and not name.startswith(("__", "_repr_"))


@pytest.mark.slow
def test_nothing_private_of_another_object_is_touched() -> None:
    found = [
        f"{path.name}:{node.lineno} {ast.unparse(node)}"
        for path, tree in read_rooms()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in OWN
        if (path.name, ast.unparse(node)) not in OF_VISER
    ]
    assert not found


@pytest.mark.slow
def test_the_rig_is_had_by_its_door() -> None:
    found = [
        f"{path.name}:{node.lineno} {node.module}"
        for path, tree in read_rooms()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("poise.rig.")
    ]
    assert not found


@pytest.mark.slow
def test_no_class_of_a_lower_room_is_made_another() -> None:
    for path, tree in read_rooms():
        lower = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("poise.")
            if str(node.module).split(".")[1] not in ROOMS
            for alias in node.names
        }
        bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
        assert not bases & lower, (path, bases & lower)
