"""LineServer: the socket of `poise follow`. Each line of a client gets one line as an answer.

One client is served at a time, another one gets an error. Beyond this machine, the first line of a client must be
``{"token": ...}``. A client whose first line is not a JSON object is disconnected, so that no page in a browser can
move a robot: every request of a browser begins with a line of HTTP.
"""

import asyncio
import json
import secrets
import socket
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from poise.cli.live_messages import LiveMessages, Message, read_message
from poise.errors import InvalidValue, PoiseError

__all__ = ["LineServer"]

LONGEST_LINE = 65536  # bytes
TOKEN_S = 10.0  # in which the token must arrive
KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}  # s, s, times; not on every system
LINGER_S = 2.0  # for the rest of what a rejected client sends; without it the error could be lost


class LineServer:
    """A server of one client at a time.

    Args:
        messages: The conversation.
        report: A function that is called with a line of text when a client comes or goes.
        token: The secret that clients must send first; "" for none.
    """

    def __init__(self, messages: LiveMessages, report: Callable[[str], object], token: str = "") -> None:
        self.messages, self.report, self.token = messages, report, token
        self.busy = False

    async def serve(self, listener: socket.socket) -> None:
        """Serve clients until the task is cancelled."""
        server = await asyncio.start_server(self.handle, sock=listener, limit=LONGEST_LINE)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()  # without waiting for clients, whose tasks end with the loop

    async def handle(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve or reject one client."""
        name = "{}:{}".format(*writer.get_extra_info("peername") or ("a client", "gone"))
        try:
            set_options(writer.get_extra_info("socket"))
            await self.admit(reader, writer, name)
        except (OSError, IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the server ends
        except (PoiseError, LimitOverrunError) as error:
            text = str(error) if isinstance(error, PoiseError) else f"the line is longer than {LONGEST_LINE} bytes."
            self.report(f"{name} was disconnected: {text}")
            await dismiss(reader, writer, text)
        finally:
            writer.close()

    async def admit(self, reader: StreamReader, writer: StreamWriter, name: str) -> None:
        """Check the token and that no other client is connected, then answer lines until the client goes."""
        if self.token:
            await self.check_token(reader)
        if self.busy:
            raise InvalidValue("another client is connected; one at a time is served. Disconnect it and try again.")
        self.busy = True
        self.report(f"{name} is connected")
        try:
            await send(writer, self.messages.greet())
            line = await reader.readuntil()
            read_message(line)  # raises for HTTP
            while True:
                await send(writer, self.messages.answer(line))
                line = await reader.readuntil()
        finally:
            self.busy = False
            self.report(f"{name} has left")

    async def check_token(self, reader: StreamReader) -> None:
        """Read the first line of a client, and raise an error if it has not the token."""
        wanted = 'The first line must be {"token": "..."} with the token that `poise follow` printed.'
        try:
            message = read_message(await asyncio.wait_for(reader.readuntil(), TOKEN_S))
        except asyncio.TimeoutError:
            raise InvalidValue(f"no token has arrived. {wanted}") from None
        if not secrets.compare_digest(str(message.get("token")).encode("utf-8", "replace"), self.token.encode()):
            raise InvalidValue(f"the token is missing or wrong. {wanted}")


def set_options(connection: Any) -> None:
    """Send answers at once, and notice within half a minute that a client was switched off, which frees its place."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so only for some listeners
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def send(writer: StreamWriter, message: Message) -> None:
    """Send a message as one line."""
    writer.write(json.dumps(message, allow_nan=False).encode() + b"\n")
    await writer.drain()


async def dismiss(reader: StreamReader, writer: StreamWriter, text: str) -> None:
    """Send an error and end the stream; ignore for a while what the client still sends."""

    async def discard() -> None:
        while await reader.read(LONGEST_LINE):
            pass

    with suppress(OSError, asyncio.TimeoutError):
        await send(writer, {"error": text})
        writer.write_eof()
        await asyncio.wait_for(discard(), LINGER_S)
