"""Viewers of a studio without a browser: they connect and send a camera, as viser's page does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 3.0, 3.0),
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
    "fov": 1.0,
    "near": 0.01,
    "far": 1000.0,
    "image_height": 400,
    "image_width": 700,
}


@contextmanager
def join_together(studio: Any, count: int) -> Iterator[None]:
    """Connect several viewers at the same moment; disconnect them at the end."""
    url, protocol = studio.url.replace("http", "ws", 1), f"viser-v{viser.__version__}"
    lines = [connect(url, subprotocols=[protocol], max_size=None) for _ in range(count)]  # type: ignore[list-item]
    ready = threading.Barrier(count)

    def look(line: Any) -> None:
        ready.wait()
        line.send(msgspec.msgpack.encode(CAMERA))
        with suppress(ConnectionClosed):
            while True:
                line.recv()

    threads = [threading.Thread(target=look, args=(line,), daemon=True) for line in lines]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for line in lines:
            line.close()
