"""Pages of others in a real browser: they open no WebSocket to the studio, and a rebound name shows no page of it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

import viser

from chromium import EVIL

pytestmark = pytest.mark.browser

PROTOCOL = f"viser-v{viser.__version__}"
TRY = """([url, protocol]) => new Promise((done) => {
  const line = new WebSocket(url, [protocol]);
  line.onmessage = () => done("reads the scene");
  line.onclose = () => done("is turned away");
})"""


class EvilPage(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Nothing to see here.</p>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def evil():
    """The address of a page of somebody else."""
    with HTTPServer(("127.0.0.1", 0), EvilPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{EVIL}:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


def attempt(page, host, studio):
    return page.evaluate(TRY, [f"ws://{host}:{studio.port}/?token={studio.gate.token}", PROTOCOL])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", EVIL])
def test_a_page_of_another_origin_cannot_use_the_studio(page, studio, evil, host):
    page.goto(evil)
    assert attempt(page, host, studio) == "is turned away"


def test_a_rebound_name_shows_no_studio(page, studio):
    shown = page.goto(f"http://{EVIL}:{studio.port}/?token={studio.gate.token}")
    assert shown.status == 403
    assert page.get_by_text("does not answer to this host name").is_visible()
    assert attempt(page, EVIL, studio) == "is turned away"


def test_the_studios_own_origin_is_let_in_with_the_token_alone(page, studio):
    assert page.goto(f"http://127.0.0.1:{studio.port}/").status == 403
    assert page.get_by_text("in the terminal").is_visible()
    assert attempt(page, "127.0.0.1", studio) == "reads the scene"
    assert page.evaluate(TRY, [f"ws://127.0.0.1:{studio.port}/", PROTOCOL]) == "is turned away"
