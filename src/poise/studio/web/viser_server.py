"""The server of the studio: viser's, behind a gate.

Viser has no option to check requests: it serves its page and a WebSocket to everyone who reaches the port. A proxy in
front of it would leave viser's own port open to the same pages and to other users of the machine, so there is only one
port. Viser opens it with `websockets.asyncio.server.serve`, whose documented options check requests and limit messages.
While a studio starts, that function is replaced by one that adds these options to the one call with our address, and
passes every other call through. If a release of viser listens in another way, the studio does not start.

Remaining risks: anyone who sees the address with its token (in the terminal, in the list of processes while a browser
is opened, in the browser's history) can use the studio. The traffic is not encrypted, which matters beyond this
machine.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any
from unittest import mock

from poise.errors import INDEX_NAME, MissingExtra
from poise.studio.web.gate import Gate

if TYPE_CHECKING:
    import viser

__all__ = ["start_server"]

STARTING = threading.Lock()
MAX_WINDOW_MESSAGES = 8192  # sent together, so that a frame is drawn as a whole; 128 by default


class Address(str):
    """The host of one studio, compared by identity in `serve`."""

    __slots__ = ()


def start_server(host: str, port: int, label: str, gate: Gate) -> viser.ViserServer:
    """Start a server behind a gate, on the given port or the next free one.

    Raises:
        MissingExtra: viser is not installed, or its version does not support the token.
    """
    try:
        import viser
        from websockets.asyncio import server as sockets

        from poise.studio.web.connections import edit_page, list_options
    except ImportError:
        raise MissingExtra(f"the studio needs viser. Type: pip install '{INDEX_NAME}[studio]'") from None
    address, serve, guarded = Address(host), sockets.serve, threading.Event()

    def serve_guarded(handler: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if host is address:
            options.update(list_options(gate, edit_page(options["process_request"])))
            guarded.set()
        return serve(handler, host, port, **options)

    with (
        STARTING,
        mock.patch.object(sockets, "serve", serve_guarded),
        mock.patch("rich.print"),  # the command line prints the address itself
    ):
        server = viser.ViserServer(host=address, port=port, label=label, verbose=False)
    with contextlib.suppress(AttributeError):  # of a viser whose frames are sent in parts
        server._websock_server.get_message_buffer().max_window_size = MAX_WINDOW_MESSAGES
    if not guarded.is_set():
        server.stop()
        raise MissingExtra(
            f"this version of viser does not support the token. Type: pip install '{INDEX_NAME}[studio]' viser==1.1.1"
        )
    return server
