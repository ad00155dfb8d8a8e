"""`poise follow`: its socket, and its options."""

import asyncio
import json
import re
import signal
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest

import poise
from command_line import run_poise
from live_arms import DT, check_rates, find_hand, make_follower, shift
from poise.cli import line_server
from poise.cli.follow import list_ends, read_address
from poise.cli.line_server import LONGEST, LineServer
from poise.cli.live_messages import LiveMessages
from poise.errors import InvalidValue

PATIENCE = 60.0  # s
RUN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from poise.cli import main; main()"


@pytest.fixture(autouse=True)
def linger(monkeypatch):
    """On a busy machine, clients may read late why they were rejected."""
    monkeypatch.setattr(line_server, "LINGER_S", PATIENCE)


# ------------------------------------------------------------------------------------------------ sockets


class Client:
    """A client as other programs are: a socket, lines out and lines in."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        return json.loads(self.file.readline())

    def ask(self, message):
        self.send(json.dumps(message).encode() + b"\n")
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()

    def read_end(self):
        """What still comes until the server closes the connection."""
        return self.file.read()


def serve(work, token=""):
    """Run a client's work in a thread while the server runs; return the lines that the server reports."""
    reports: list[str] = []

    async def run():
        listener = socket.create_server(("127.0.0.1", 0))
        server = LineServer(LiveMessages(make_follower("ur5e"), reports.append), token)
        serving = asyncio.create_task(server.serve(listener))
        try:
            await asyncio.wait_for(asyncio.to_thread(work, listener.getsockname()[1]), PATIENCE)
        finally:
            serving.cancel()

    asyncio.run(run())
    return reports


def connect_when_free(port):
    """Connect; the place of the last client is free when the server has read its end."""
    while True:
        client = Client(port)
        greeting = client.read()
        if "error" not in greeting:
            return client, greeting
        assert "another client" in greeting["error"]
        client.close()


def test_a_stream_with_gaps_and_jumps_keeps_the_limits():
    def work(port):
        client, follower, rng, steps = Client(port), make_follower("ur5e"), np.random.default_rng(1), []
        start, hand, states = np.array(client.read()["q"]), find_hand(follower), []
        for k in range(400):
            target = shift(hand, 0.0, 0.05 - 0.05 * np.cos(0.03 * k), 0.0)
            lost, jumps = rng.random(2) < (0.05, 0.02)
            given = None if lost else shift(target, 0.2 * jumps, 0.0, 0.0).tolist()
            answer = client.ask({"targets": {"hand": given}, "dt": DT})
            assert not (lost or jumps) or (answer["state"] == "bridged" and answer["gaps"])
            states.append(answer["state"])
            steps.append((np.array(answer["q"]), DT))
        check_rates(follower.model, steps, start)
        assert states.count("following") > 200
        client.close()

    serve(work)


def test_one_client_is_served_at_a_time_and_the_next_begins_where_the_body_is():
    def work(port):
        first = Client(port)
        target = shift(find_hand(make_follower("ur5e")), 0.1, 0.0, 0.0).tolist()
        assert first.read()["poise"] == "follow"
        first.ask({"engage": "hand", "pose": np.eye(4).tolist()})
        second = Client(port)
        second.send(b'{"dt": 0.01}\n' * 1000)
        assert "another client" in second.read()["error"]
        assert second.read_end() == b""
        second.close()
        first.ask({"release": "hand"})
        first.ask({"reset": True})
        q = first.ask({"targets": {"hand": target}, "dt": DT})["q"]
        first.send(b'{"targets": {"hand": nu')  # and it is gone
        first.close()
        third, greeting = connect_when_free(port)
        assert greeting["q"] == q
        answer = third.ask({"dt": DT})
        assert answer["state"] == "held"
        assert answer["q"] == q
        third.close()

    assert any("has left" in line for line in serve(work))


def test_long_lines_and_other_protocols_end_the_connection_and_garbage_does_not():
    def work(port):
        for first in (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b'{"dt": 0.01}\n', b"x" * (200 * LONGEST)):
            client, greeting = connect_when_free(port)
            client.send(first)
            assert re.search("not JSON|longer than", client.read()["error"])
            assert client.read_end() == b""
            client.close()
        client, again = connect_when_free(port)
        assert again["q"] == greeting["q"]
        assert client.ask({"dt": DT})["state"] == "held"
        for line in (b"\xff\xfe\n", b"\x00\n", b"GET / HTTP/1.1\r\n", b"\n"):
            client.send(line)
            assert "not JSON" in client.read()["error"]
        client.send(b"[" * (5 * LONGEST) + b"\n")
        assert "longer than" in client.read()["error"]
        client.send(b'{"dt": 0.01,')
        client.send(b'"why": true}\r\n{"dt": 0.01}\n')
        assert client.read()["why"] == "held."
        assert "why" not in client.read()
        client.send(b'{"dt": 0.01}\n{"dt":')
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_end().count(b"\n") == 1
        client.close()

    serve(work)


def test_msgpack_with_a_length_in_front_is_answered_like_json():
    msgpack = pytest.importorskip("msgpack")

    def work(port):
        client, follower = Client(port), make_follower("ur5e")
        assert client.read()["protocol"] == 1
        target = shift(find_hand(follower), 0.05, 0.0, 0.0)

        def ask(data):
            client.send(struct.pack(">I", len(data)) + data)
            (length,) = struct.unpack(">I", client.file.read(4))
            return msgpack.unpackb(client.file.read(length))

        whole = {"targets": {"hand": target.tolist()}, "dt": DT}
        assert ask(msgpack.packb(whole))["q"] == follower.step({"hand": target}, DT).q.tolist()
        wrong = {
            b"\xc1": "not msgpack",
            b"": "not msgpack: [A-Z]",
            b"\x82\xa2dt": "not msgpack",
            b"\x07": "send an object",
        }
        wrong |= {msgpack.packb({"dt": number}): "finite" for number in (np.inf, np.nan, 1e200)}
        wrong |= {
            msgpack.packb({"dt": b"1"}): "b'1'.*numbers",
            msgpack.packb({1: 2}): "not msgpack",
            b"\x91" * 60000: "not",
        }
        wrong |= {b"\x00" * (LONGEST + 1): "65537 bytes; 65536 are allowed"}
        for data, words in wrong.items():
            assert re.search(words, ask(data)["error"]), (data[:20], words)
            assert ask(msgpack.packb(whole))["q"] == follower.step({"hand": target}, DT).q.tolist()
        second = Client(port)
        assert "another client" in second.read()["error"]
        second.close()
        client.close()
        client, _ = connect_when_free(port)
        client.send(b"\x00\x00\x00\x01\x07")
        assert "send an object" in client.read()["error"]
        assert client.read_end() == b""
        client.close()
        client, _ = connect_when_free(port)
        client.send(b"\x00\x00\x00\x09\x81")  # and it is gone
        client.close()
        connect_when_free(port)[0].close()

    serve(work)


def test_without_msgpack_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgpack", None)

    def work(port):
        client = Client(port)
        client.read()
        client.send(b"\x00\x00\x00\x01\x80")
        assert "pip install" in client.read()["error"]
        assert client.read_end() == b""
        client.close()

    serve(work)


def test_answers_are_sent_at_once():
    with socket.socket() as connection:
        line_server.set_options(connection)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_token_comes_first():
    def work(port):
        for line in (
            b'{"dt": 0.01}\n',
            b'{"token": "other"}\n',
            b'{"token": null}\n',
            b'{"token": "\\ud800"}\n',
            b"hello\n",
        ):
            client = Client(port)
            client.send(line + b'{"dt": 0.01}\n')
            error = client.read()["error"]
            assert "token" in error or "JSON" in error
            assert client.read_end() == b""
            client.close()
        silent = Client(port)  # does not take the place of the one that has the token
        client = Client(port)
        assert client.ask({"token": "secret"})["poise"] == "follow"
        assert client.ask({"dt": DT})["state"] == "held"
        client.close()
        silent.close()

    serve(work, token="secret")


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ur5e", "--speed", "2", "--listen", "0.0.0.0:0"], "add --remote"),
        (["ur5e", "--speed", "2", "--listen", "here"], "--listen is 'here'"),
        (["humanoid"], "no velocity limits; give --speed 2"),
        (["ur5e", "--goal", "tol0", "--speed", "2"], "tool0"),
        (["humanoid", "--joint", "elbow_r,wist_r", "--speed", "2"], "wrist_r"),
        (["ur5e", "--speed", "2", "--start", "nowhere.json"], "--start"),
    ],
)
def test_wrong_options_are_named(words, message):
    shown = run_poise("follow", *words)
    assert shown.exit_code == 2
    assert message in shown.output
    assert "\n" not in shown.output.strip()


def test_a_port_that_is_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        shown = run_poise("follow", "ur5e", "--speed", 2, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert shown.exit_code == 2
    assert "Choose another address or port" in shown.output


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7450", ("127.0.0.1", 7450)),
        ("7450", ("127.0.0.1", 7450)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:80", ("localhost", 80)),
        (":80", None),
        ("127.0.0.1", None),
        ("a:65536", None),
        ("a:-1", None),
        ("", None),
    ],
)
def test_addresses(text, address):
    if address is None:
        with pytest.raises(InvalidValue, match="--listen"):
            read_address(text)
    else:
        assert read_address(text) == address


@pytest.mark.parametrize(
    ("body", "ends"), [("humanoid", ["hand_l", "hand_r"]), ("panda", ["panda_hand_tcp"]), ("ur5e", ["tool0"])]
)
def test_hands_or_the_tip_follow(body, ends):
    assert list_ends(poise.load(body)) == ends


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send Ctrl-C to one process")
def test_ctrl_c_ends_it_while_a_client_is_connected():
    words = ["follow", "ur5e", "--speed", "2", "--listen", "127.0.0.1:0", "--json"]
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            greeting = json.loads(process.stdout.readline())
            assert greeting["goals"] == ["tool0"]
            client = Client(greeting["port"])
            assert client.read()["poise"] == "follow"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
            client.close()
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
