"""The page of `poise follow`: its gate, a finger on a phone, and the stream of a headset, which a script plays."""

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import numpy as np
import pytest

pytest.importorskip("websockets", reason="the page needs websockets: pip install 'poise-ik[studio]'")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from command_line import run_poise
from live_arms import ACCELERATION, SPEED, find_hand, make_follower
from paths import ROOT
from poise.cli import page_server
from poise.cli.follow import read_certificate, write_greeting
from poise.cli.live_messages import LiveMessages
from poise.cli.page_server import PageServer
from poise.errors import InvalidValue
from poise.spatial import Rotation
from studio_page import PATIENCE, until

HEADSET = ROOT / "tests" / "support" / "headset.js"
STILL = (1.0, 0.0, 0.0, 0.0)


class Running:
    """A server of a page in a thread, and the steps that it prints."""

    def __init__(self, security=None):
        self.follower, self.lines = make_follower("ur5e"), list[str]()
        self.start, self.messages = self.follower.q, LiveMessages(self.follower)
        self.server = PageServer(self.messages, "127.0.0.1", security, self.lines.append)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.url, self.loop = self.server.write_url(self.port), asyncio.new_event_loop()
        self.task = self.loop.create_task(self.server.serve(listener))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            self.loop.run_until_complete(self.task)
        except asyncio.CancelledError:
            pass
        finally:
            self.loop.close()

    def stop(self):
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join(PATIENCE)

    @property
    def steps(self):
        return [json.loads(line) for line in list(self.lines)]

    @property
    def speed(self):
        return np.abs(self.steps[-1]["velocity"]).max()

    def check_steps(self):
        """Compare the velocities with the limits; the time of a step is that of its largest motion."""
        q, v, moved = self.start, np.zeros(6), 0
        for step in self.steps:
            new, way = np.array(step["velocity"]), np.array(step["q"]) - q
            assert np.abs(new).max() <= SPEED * (1.0 + 1e-9)
            k = np.abs(new).argmax()
            if abs(new[k]) > 1e-6:
                moved += 1
                assert np.abs(new - v).max() <= ACCELERATION * way[k] / new[k] * (1.0 + 1e-6)
            q, v = np.array(step["q"]), new
        return moved


@pytest.fixture
def running(monkeypatch):
    monkeypatch.setattr(page_server, "SILENT_S", PATIENCE)  # a browser on a busy machine is late
    running = Running()
    yield running
    running.stop()


def test_its_greeting_and_its_gate_speak_of_its_own_options(running):
    gate = running.server.gate
    assert "--allow-origin" not in gate.find_fault(["evil.example"], [], "/")
    assert "--allow-origin" not in gate.find_fault(["127.0.0.1"], ["http://evil.example"], "/")
    assert "give --certificate" in write_greeting(running.follower, "0.0.0.0", 80, "", "http://10.0.0.1:80")
    assert "give --certificate" not in write_greeting(running.follower, "0.0.0.0", 80, "", "https://10.0.0.1:80")


def test_a_file_that_is_no_certificate_is_named(tmp_path):
    (tmp_path / "k.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(InvalidValue, match="no certificate with its unencrypted private key"):
        read_certificate(tmp_path / "k.pem", None)


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": 390, "height": 640}, device_scale_factor=0.5)
    page = context.new_page()
    page.set_default_timeout(1e3 * PATIENCE)
    page.problems = []
    page.on("pageerror", lambda problem: page.problems.append(str(problem)))
    yield page
    context.close()
    assert page.problems == []


def open_page(tab, running):
    tab.goto(running.url)
    until(lambda: running.steps, tab)
    tab.locator(".handle").wait_for()


# ------------------------------------------------------------------------------------------------ the gate


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/?token={}", None, None),
        ("/?token=other", None, 403),
        ("/", None, 403),
        ("/?token={}", "http://evil.example", 403),
    ],
)
def test_the_token_and_the_origin_are_checked(running, path, origin, status):
    url = f"ws://127.0.0.1:{running.port}{path.format(running.server.gate.token)}"
    if status is None:
        with connect(url, origin=origin) as line:
            assert json.loads(line.recv())["poise"] == "follow"
            line.send("junk")
            assert "not JSON" in json.loads(line.recv())["error"]
            line.send('{"dt": 0.01}')
            answer = json.loads(line.recv())
            np.testing.assert_allclose(answer["points"], [find_hand(running.follower)[:3, 3]], atol=1e-12)
            with connect(url) as second:
                assert "another client" in json.loads(second.recv())["error"]
    else:
        with pytest.raises(InvalidStatus) as caught:
            connect(url, origin=origin)
        assert caught.value.response.status_code == status


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def pull(line, hand):
    """Send ten steps towards a place that is far."""
    for _ in range(10):
        line.send(json.dumps({"targets": {"hand": hand.tolist()}, "dt": 0.02}))
        answer = json.loads(line.recv())
    assert np.abs(answer["velocity"]).max() > 0.5


@pytest.mark.parametrize("paused", [False, True])
def test_the_body_brakes_while_the_page_is_silent(running, monkeypatch, paused):
    hand = find_hand(running.follower)
    hand[0, 3] += 0.3
    with connect(running.url.replace("http", "ws")) as line:
        line.recv()
        pull(line, hand)
        if paused:
            line.send('{"pause": true}')
            line.recv()
        monkeypatch.setattr(page_server, "SILENT_S", 0.25)
        line.send("{}")  # the next wait is short
        line.recv()
        wait_until(lambda: running.speed < 1e-6)
        assert running.messages.busy
        line.send(json.dumps({"targets": {"hand": hand.tolist()}, "dt": 0.02}))
        assert (json.loads(line.recv())["state"] == "held") == paused
    assert running.check_steps() > 10


def test_a_page_that_answers_no_ping_loses_its_place(monkeypatch):
    for name, seconds in {"SILENT_S": PATIENCE, "PING_S": 0.2, "PONG_S": 0.2}.items():
        monkeypatch.setattr(page_server, name, seconds)
    running = Running()
    step = json.dumps({"targets": {"hand": find_hand(running.follower).tolist()}, "dt": 0.02}).encode()
    words = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    words.append(f"Sec-WebSocket-Key: {'A' * 22}==")
    request = [f"GET /?token={running.server.gate.token} HTTP/1.1", f"Host: 127.0.0.1:{running.port}", *words, "", ""]
    with socket.create_connection(("127.0.0.1", running.port)) as frozen:
        frozen.sendall("\r\n".join(request).encode())
        frozen.sendall(b"\x81\xfe" + len(step).to_bytes(2, "big") + bytes(4) + step)
        wait_until(lambda: running.lines)
        wait_until(lambda: not running.messages.busy)
    running.stop()


def test_the_body_brakes_when_the_page_has_gone(running):
    hand = find_hand(running.follower)
    hand[0, 3] += 0.3
    with connect(running.url.replace("http", "ws")) as line:
        line.recv()
        pull(line, hand)
    wait_until(lambda: not running.messages.busy)
    assert np.abs(running.steps[9]["velocity"]).max() > 0.5
    assert running.speed < 1e-6
    assert running.check_steps() > 10


def test_the_server_ends_when_nobody_reads_the_steps(running):
    def fail(_):
        raise BrokenPipeError

    running.server.show = fail
    with connect(running.url.replace("http", "ws")) as line:
        line.recv()
        line.send('{"dt": 0.01}')
        running.thread.join(PATIENCE)
    assert not running.thread.is_alive()


@pytest.mark.slow
def test_a_certificate_encrypts_the_page(tmp_path):
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "k.pem"]
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    subprocess.run(["openssl", *words, "-out", "c.pem"], check=True, capture_output=True, cwd=tmp_path)
    running = Running(read_certificate(tmp_path / "c.pem", tmp_path / "k.pem"))
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(running.url, context=trust, timeout=PATIENCE) as page:
        assert b"LiveLayer" in page.read()
    running.stop()
    assert running.url.startswith("https://")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--page", "--key", "k.pem"], "--certificate is missing"),
        (["--certificate", "c.pem"], "--certificate needs --page"),
        (["--key", "k.pem"], "--certificate needs --page"),
        (["--page", "--certificate", "none.pem"], "--certificate none.pem: No such file"),
        (["--page", "--listen", "0.0.0.0:0"], "add --remote"),
    ],
)
def test_wrong_options_of_the_page_are_named(words, message):
    shown = run_poise("follow", "ur5e", "--speed", "2", *words)
    assert shown.exit_code == 2
    assert message in shown.output


# ------------------------------------------------------------------------------------------------ in a browser


@pytest.mark.browser
def test_a_finger_moves_the_hand_and_letting_go_holds_it(tab, running):
    open_page(tab, running)
    first = find_hand(running.follower)
    box = tab.locator(".handle").bounding_box()
    x, y = box["x"] + 18, box["y"] + 18
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x, y - 40, steps=3)
    until(lambda: find_hand(running.follower)[2, 3] > first[2, 3] + 0.05, tab)
    until(lambda: running.steps[-1]["state"] == "following" and running.speed < 0.01, tab)
    seen = tab.locator(".handle").bounding_box()
    assert abs(seen["y"] + 18 - (y - 40)) < 4  # the dot is under the finger
    assert tab.locator("#note").inner_text() == "following"
    tab.mouse.up()
    until(lambda: running.steps[-1]["state"] == "held", tab)
    count = len(running.lines)
    until(lambda: len(running.lines) > count + 5, tab)
    assert running.speed < 1e-6
    assert running.check_steps()


@pytest.mark.browser
def test_a_controller_of_a_headset_moves_the_hand_while_its_trigger_is_pressed(tab, running):
    turn = Rotation.from_vector([0.0, 0.5, 0.0]).wxyz.tolist()
    pressed = [[1, 0.3 + 0.1 * s, 1.0 + 0.05 * s, -0.4 - 0.08 * s, *STILL] for s in np.linspace(0.0, 1.0, 10)]
    stream = [[0, 0.3, 1.0, -0.4, *STILL], *pressed, [1, 0.4, 1.05, -0.48, *turn]]
    tab.add_init_script(f"window.STREAM = {json.dumps(stream)};\n{HEADSET.read_text()}")
    first = find_hand(running.follower)
    open_page(tab, running)

    def play(at, state):
        """Play one more sample of the controller, until the arm stands in a state."""
        tab.evaluate(f"STREAM.push({json.dumps(at)})")
        until(lambda: running.steps[-1]["state"] == state and running.speed < 0.01, tab)

    tab.get_by_role("button", name="Start headset").click()
    until(lambda: tab.evaluate("window.played") >= len(stream), tab)
    play(stream[-1], "following")
    play(None, "bridged")
    play([0, 0.1, 1.0, 0.2, *STILL], "held")  # released: moves nothing
    hand = find_hand(running.follower)
    # forward is x, the controller's right is -y, and its up is z
    np.testing.assert_allclose(hand[:3, 3] - first[:3, 3], [0.08, -0.1, 0.05], atol=2e-3)
    np.testing.assert_allclose(Rotation.from_matrix(hand[:3, :3] @ first[:3, :3].T).log(), [0.0, 0.0, 0.5], atol=5e-3)
    assert running.check_steps()
    play([1, 0.5, 1.0, -0.5, *STILL], "following")  # pressed elsewhere: moves nothing, nor when the connection is lost
    tab.evaluate("player.puppet.line.close()")
    count = len(running.lines)
    until(lambda: len(running.lines) > count + 5 and running.steps[-1]["state"] == "held", tab)
    np.testing.assert_allclose(find_hand(running.follower), hand, atol=1e-2)
    assert tab.evaluate("window.problems") == []
    tab.evaluate("window.session.dispatchEvent(new Event('end'))")


@pytest.mark.browser
def test_a_page_takes_over_when_the_other_has_gone(tab, running):
    with connect(running.url.replace("http", "ws")) as line:
        line.recv()
        tab.goto(running.url)
        until(lambda: "another client" in tab.locator("#note").inner_text(), tab)
    until(lambda: running.steps, tab)
    until(lambda: tab.locator("#note").inner_text().startswith("Drag a dot"), tab)
