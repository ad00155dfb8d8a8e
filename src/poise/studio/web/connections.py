"""Connections to the studio: requests pass the gate, messages are limited in size and rate."""

import asyncio
import html
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from poise.studio.web.gate import Gate

__all__ = ["edit_page", "list_options", "respond"]

ServePage = Callable[[ServerConnection, Request], Response | None]
MAX_MESSAGE_BYTES = 16 << 20  # [bytes] per message; a file comes in parts of 0.5 MiB, a picture of the window in one
MAX_MESSAGES = 2000  # in a burst, refilled within 2 s; a drag sends about 125 per second
MAX_BYTES = 300 << 20  # in a burst, refilled within 60 s: enough for the largest ZIP allowed
POLICY_VIOLATION = 1008  # WebSocket close code
TITLE = b"<title>Viser</title>"
OURS = b"""<title>Poise studio</title>
<style>
  [role="tab"] { padding-left: 6px !important; padding-right: 6px !important; }  /* all tabs in one row */
  @media (max-width: 36em) {  /* viser's panel of phones: below the body, as wide as the window */
    [style*="max-height: 60%"] { max-height: 45% !important; } [style*="width: 20em"] { width: 100% !important; }
  }
  #poise-loading { position: fixed; inset: 0; z-index: 9999; display: grid; place-items: center; text-align: center;
    font: 16px/1.6 system-ui, sans-serif; color: #5b6672; background: #f4f6f8; }
</style>
"""
SCRIPT = f"<head>\n<script>\n{(Path(__file__).parent / 'page.js').read_text(encoding='utf-8')}</script>".encode()
REJECTED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Poise</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto">
<h1>This address does not open the page</h1>
<p>{}</p>
<p>Open the whole address that <code>poise</code> printed in the terminal, in Python the <code>url</code>: it ends in
<code>?token=</code> and a secret that is new each time.</p>
"""
HEADERS = {
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
}


@dataclass
class Allowance:
    """A rate limit: an amount that can be used in a burst and is refilled within some seconds."""

    most: float
    seconds: float
    left: float = field(init=False)
    at: float = field(init=False, default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.left = self.most

    def spend(self, amount: float) -> bool:
        """Use an amount; return whether it was within the limit."""
        now = time.monotonic()
        self.left = min(self.most, self.left + (now - self.at) * self.most / self.seconds) - amount
        self.at = now
        return self.left >= 0.0


class BoundedConnection(ServerConnection):
    """A connection that is closed if its viewer sends more than a browser would."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.messages, self.bytes = Allowance(MAX_MESSAGES, 2.0), Allowance(MAX_BYTES, 60.0)

    async def recv(self, decode: bool | None = None) -> Any:
        """Receive a message, or close the connection if the limits are exceeded."""
        message = await super().recv(decode)
        if not (self.messages.spend(1) and self.bytes.spend(len(message))):
            self.ending = asyncio.create_task(self.close(POLICY_VIOLATION, "too many messages"))
            while True:  # discard the rest until it is closed, which raises
                await super().recv()
        return message


def list_options(gate: Gate, serve_page: ServePage) -> dict[str, Any]:
    """Return the options of websockets' `serve` that apply the gate and the limits."""

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        headers = request.headers
        fault = gate.find_fault(headers.get_all("Host"), headers.get_all("Origin"), request.path)
        if fault:
            return respond(HTTPStatus.FORBIDDEN, REJECTED.format(html.escape(fault)).encode())
        return serve_page(connection, request)

    return {"process_request": answer, "max_size": MAX_MESSAGE_BYTES, "create_connection": BoundedConnection}


def edit_page(serve_page: ServePage) -> ServePage:
    """Return a function that serves viser's page with our title and script."""

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        request.headers.pop("Accept-Encoding", None)  # a page that is modified must not be compressed
        page = serve_page(connection, request)
        if page is None or page.status_code != HTTPStatus.OK:
            return page
        return respond(HTTPStatus.OK, bytes(page.body).replace(TITLE, OURS, 1).replace(b"<head>", SCRIPT, 1))

    return answer


def respond(status: HTTPStatus, body: bytes) -> Response:
    """Return a response with an HTML page."""
    kind = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, status.phrase, Headers({**kind, **HEADERS}), body)
