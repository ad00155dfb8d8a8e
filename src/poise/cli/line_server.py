"""LineServer: the socket of `poise follow`. Each message of a client gets one answer.

Messages are lines of JSON. If the first byte of a client is 0, its messages and their answers are msgpack, each after
its length in four bytes, the largest first; only the first answer is always a line of JSON. One client is served at a
time, another one gets an error. Beyond this machine, the first message of a client must be ``{"token": ...}``. A client
whose first message is not an object is disconnected. That rejects the requests of browsers, which begin with a line of
HTTP.
"""

import asyncio
import json
import secrets
import socket
import struct
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from contextlib import suppress
from typing import Any

from poise.cli.live_messages import LiveMessages, Message, read_message
from poise.errors import INDEX_NAME, InvalidValue, MissingExtra, PoiseError

__all__ = ["LineServer"]

LONGEST = 65536  # bytes of a message
TOKEN_S = 10.0  # in which the token must arrive
KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}  # s, s, times; not on every system
LINGER_S = 2.0  # for the rest of what a rejected client sends; without it the error could be lost


class LineServer:
    """A server of one client at a time.

    Args:
        messages: The conversation.
        token: The secret that clients must send first; "" for none.
    """

    def __init__(self, messages: LiveMessages, token: str = "") -> None:
        self.messages, self.token = messages, token

    async def serve(self, listener: socket.socket) -> None:
        """Serve clients until the task is cancelled."""
        server = await asyncio.start_server(self.handle, sock=listener, limit=LONGEST)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()  # without waiting for clients, whose tasks end with the loop

    async def handle(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve or reject one client."""
        name = "{}:{}".format(*writer.get_extra_info("peername") or ("a client", "gone"))
        stream = MessageStream(reader, writer)
        try:
            set_options(writer.get_extra_info("socket"))
            if self.token:
                await self.check_token(stream)
            with self.messages.admit(name) as greeting:
                await stream.send(greeting, first=True)
                await self.converse(stream)
        except (OSError, IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the server ends
        except PoiseError as error:
            self.messages.report(f"{name} was disconnected: {error}")
            await stream.dismiss(str(error))
        finally:
            writer.close()

    async def converse(self, stream: "MessageStream") -> None:
        """Answer messages until the client goes."""
        data = await stream.read()
        read_message(data, stream.parse)  # raises for other protocols
        while True:
            await stream.send(self.messages.answer(data, stream.parse))
            while True:
                try:
                    data = await stream.read()
                    break
                except InvalidValue as error:
                    await stream.send({"error": str(error)})

    async def check_token(self, stream: "MessageStream") -> None:
        """Read the first message of a client, and raise an error if it has not the token."""
        wanted = 'The first message must be {"token": "..."} with the token that `poise follow` printed.'
        try:
            data = await asyncio.wait_for(stream.read(), TOKEN_S)
        except asyncio.TimeoutError:
            raise InvalidValue(f"no token has arrived. {wanted}") from None
        message = read_message(data, stream.parse)
        if not secrets.compare_digest(str(message.get("token")).encode("utf-8", "replace"), self.token.encode()):
            raise InvalidValue(f"the token is missing or wrong. {wanted}")


class MessageStream:
    """The messages of one client.

    Attributes:
        binary: Whether messages are msgpack after their length.
        parse: The function that parses a message.
    """

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.begun = self.binary = self.skipping = False
        self.parse: Any = json.loads

    async def read(self) -> bytes:
        """Return the next message.

        Raises:
            InvalidValue: It is longer than LONGEST, and was skipped.
            MissingExtra: Msgpack is not installed.
        """
        head = b"" if self.begun else await self.reader.readexactly(1)
        if not self.begun and head == b"\0":
            self.binary, self.parse = True, import_msgpack().unpackb
        self.begun = True
        if not self.binary:
            return head + await self.read_line()
        (length,) = struct.unpack(">I", head + await self.reader.readexactly(4 - len(head)))
        if length <= LONGEST:
            return await self.reader.readexactly(length)
        for start in range(0, length, LONGEST):
            await self.reader.readexactly(min(LONGEST, length - start))
        raise InvalidValue(f"the message has {length} bytes; {LONGEST} are allowed.")

    async def read_line(self) -> bytes:
        """Return the next line; a long one is rejected when it reaches the limit, and its rest is skipped."""
        while True:
            try:
                line = await self.reader.readuntil()
            except LimitOverrunError as error:
                await self.reader.readexactly(error.consumed)
                known, self.skipping = self.skipping, True
                if not known:
                    raise InvalidValue(f"the line is longer than {LONGEST} bytes.") from None
                continue
            skipped, self.skipping = self.skipping, False
            if not skipped:
                return line

    async def send(self, message: Message, *, first: bool = False) -> None:
        """Send a message; the first one is always JSON, because clients write after it."""
        if self.binary and not first:
            data = import_msgpack().packb(message)
            self.writer.write(struct.pack(">I", len(data)) + data)
        else:
            self.writer.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        await self.writer.drain()

    async def dismiss(self, text: str) -> None:
        """Send an error and end the stream; ignore for a while what the client still sends."""

        async def discard() -> None:
            while await self.reader.read(LONGEST):
                pass

        with suppress(OSError, asyncio.TimeoutError):
            await self.send({"error": text}, first=True)
            self.writer.write_eof()
            await asyncio.wait_for(discard(), LINGER_S)


def import_msgpack() -> Any:
    """Return the package msgpack.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import msgpack
    except ImportError:
        raise MissingExtra(f"this format needs msgpack. Type: pip install '{INDEX_NAME}[cli]'") from None
    return msgpack


def set_options(connection: Any) -> None:
    """Send answers at once, and notice within half a minute that a client was switched off, which frees its place."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so only for some listeners
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
