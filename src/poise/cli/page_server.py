"""PageServer: the page of `poise follow`, for headsets, phones and mice, behind the gate of the studio.

The page sends the messages of `live_messages` over a WebSocket. It is the only client, and its clock gives the time of
each step. The body brakes when the page is silent for SILENT_S, is closed, or its connection is lost; a page that sends
again goes on from there, as after `Follower.resume`.
"""

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from poise.cli.line_server import LONGEST
from poise.cli.live_messages import LiveMessages, Message
from poise.errors import INDEX_NAME, MissingExtra, PoiseError
from poise.pages.live import LivePage
from poise.studio.web.gate import EVERYWHERE, Gate

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

__all__ = ["PageServer"]

SILENT_S = 0.25  # s without a message, in which a moving body begins to brake
PING_S, PONG_S = 1.0, 2.0  # s: between pings, and for an answer to one or to the end of the connection
BRAKING_S = 0.01  # s, of a step without the page
MOST_BRAKING = 1000  # steps
STANDING = 1e-6  # rad/s or m/s
SHOWN = ("q", "velocity", "state")
ANY_PLACE = ("192.0.2.1", 9)  # an address for documentation, to which nothing is sent


class PageServer:
    """A server of one page at a time.

    Args:
        messages: The conversation.
        host: The address that it listens on.
        security: The certificate, or None for an unencrypted server.
        show: A function that is called with each step, as a line of JSON.

    Raises:
        MissingExtra: The package websockets is not installed.
    """

    def __init__(
        self, messages: LiveMessages, host: str, security: ssl.SSLContext | None, show: Callable[[str], object]
    ) -> None:
        try:
            from websockets.asyncio.server import serve

            from poise.studio.web.connections import list_options, respond
        except ImportError:
            raise MissingExtra(f"the page needs websockets. Type: pip install '{INDEX_NAME}[studio]'") from None
        self.messages, self.host, self.security, self.show = messages, host, security, show
        self.gate, self.page = replace(Gate.make(host), advice=""), LivePage(messages.follower)
        body = self.page.html.encode()
        quiet = logging.getLogger("poise.follow")  # of clients that speak other protocols
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        options = list_options(
            self.gate, lambda _, request: None if "Upgrade" in request.headers else respond(HTTPStatus.OK, body)
        )
        pings = {"ping_interval": PING_S, "ping_timeout": PONG_S, "close_timeout": PONG_S}
        self.options = {**options, **pings, "ssl": security, "max_size": LONGEST, "logger": quiet}
        self.start, self.ended = serve, asyncio.Event()

    def write_url(self, port: int) -> str:
        """Return the address of the page, with its token."""
        name = find_own_address() if self.host in EVERYWHERE else f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * bool(self.security)}://{name}:{port}/?token={self.gate.token}"

    async def serve(self, listener: socket.socket) -> None:
        """Serve pages until the task is cancelled, or nobody reads the steps."""
        async with self.start(self.handle, sock=listener, **self.options):
            await self.ended.wait()

    async def handle(self, connection: "ServerConnection") -> None:
        """Serve or reject one page."""
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed, asyncio.TimeoutError):
            try:
                with self.messages.admit("{}:{}".format(*connection.remote_address[:2])) as greeting:
                    try:
                        await self.send(connection, greeting)
                        await self.converse(connection)
                    finally:
                        for _ in range(MOST_BRAKING):
                            if not self.brake():
                                break
                            await asyncio.sleep(BRAKING_S)
            except PoiseError as error:
                await connection.send(json.dumps({"error": str(error)}))

    async def converse(self, connection: "ServerConnection") -> None:
        """Answer messages, and brake while none come, until the page goes."""
        follower, wait, ours = self.messages.follower, SILENT_S, False
        while True:
            try:
                text = await asyncio.wait_for(connection.recv(), wait)
            except asyncio.TimeoutError:
                paused = follower.paused
                moves = self.brake()
                wait, ours = BRAKING_S if moves else SILENT_S, ours or (moves and not paused)
                continue
            if ours:
                follower.resume()
            wait, ours = SILENT_S, False
            await self.send(connection, self.messages.answer(text))

    async def send(self, connection: "ServerConnection", message: Message) -> None:
        """Send a message; raise TimeoutError if the page reads none, which ends its connection."""
        await asyncio.wait_for(connection.send(self.write(message)), SILENT_S)

    def write(self, message: Message) -> str:
        """Return a message with the places to draw, and show it if it is a step."""
        if "velocity" in message:
            try:
                self.show(json.dumps({name: message[name] for name in SHOWN}))
            except OSError:
                self.ended.set()  # the program that reads the steps has ended
        return json.dumps({**message, **(self.page.list_places(message["q"]) if "q" in message else {})})

    def brake(self) -> bool:
        """Take one step towards rest if the body moves; return whether it moved."""
        follower = self.messages.follower
        moves = bool((abs(follower.velocity) > STANDING).any())
        if moves:
            follower.pause()
            self.write(self.messages.answer(json.dumps({"dt": BRAKING_S})))
        return moves


def find_own_address() -> str:
    """Return the address of this machine in its network, or its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ANY_PLACE)  # sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
