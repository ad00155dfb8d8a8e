"""MuJoCo's compiler, run in a process of its own.

A file can make it crash, hang or take all memory, and after some failures it hangs on the next file (seen with 4.0: a
`model` asset without a file); it also writes to the terminal. So a second interpreter compiles, one for all loads of a
session, with a bound on time and memory; it costs no more than importing MuJoCo here would. Where no second interpreter
exists (a frozen program) the compiler runs in this one.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from poise.errors import MissingExtra
from poise.formats.mjcf import worker
from poise.formats.mjcf.subprocess_limits import make_environment

__all__ = ["compile_model"]

TIME_LIMIT = 60.0  # seconds for one file

# the folder where it runs is nobody's to import from
BOOT = """import sys
if sys.path[:1] == [""]:
    del sys.path[0]
exec(compile(sys.argv[1], "mjcf_worker", "exec"), {"__name__": "__main__"})
"""

_LOCK = threading.Lock()


class Worker:
    """The second interpreter, started on first use and restarted when it has ended."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0

    def request(self, request: bytes) -> bytes | str:
        """Return the answer, or the reason why there is no answer."""
        process = self.find_process()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        watch = threading.Timer(TIME_LIMIT, stop)
        watch.daemon = True
        watch.start()
        reply = None
        try:
            worker.send(process.stdin, request)
            reply = worker.receive(process.stdout)
        except (OSError, ValueError):
            pass
        except BaseException:  # interrupted: the answer would be taken for that of the next request
            self.stop()
            raise
        finally:
            watch.cancel()
        if reply is None or worker.unpack(reply)[0].get("dirty"):
            self.stop()
        if reply is None:
            return f"it takes more than {TIME_LIMIT:g} s" if late.is_set() else "its compiler breaks down"
        return reply

    def find_process(self) -> subprocess.Popen[bytes]:
        """Return the process; a new one after a fork too, since two must not share the pipes."""
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.stop()
            self.owner = os.getpid()
            self.process = subprocess.Popen(
                [sys.executable, "-c", BOOT, Path(worker.__file__).read_text("utf-8")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=tempfile.gettempdir(),
                env=make_environment(),
            )
        return self.process

    def stop(self) -> None:
        """End the process; in a fork of this one, release it only."""
        process, self.process = self.process, None
        if process is None:
            return
        if self.owner == os.getpid():
            process.kill()
            process.wait()
        else:
            process.returncode = 0  # it is the other's to wait for
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent to a dead process
                pipe.close()  # type: ignore[union-attr]


_WORKER = Worker()
atexit.register(_WORKER.stop)


def compile_model(text: str, assets: dict[str, bytes]) -> SimpleNamespace | str:
    """Return MuJoCo's model as arrays and names, or its error message.

    Raises:
        MissingExtra: MuJoCo is not installed.
    """
    if importlib.util.find_spec("mujoco") is None:
        raise MissingExtra('reading MJCF needs MuJoCo: pip install "poise[formats]"')
    arrays = {name: np.frombuffer(data, np.uint8) for name, data in assets.items()}
    request = worker.pack({"xml": text}, arrays)
    with _LOCK:
        try:
            alone = getattr(sys, "frozen", False) or not sys.executable
            reply = worker.answer(request) if alone else _WORKER.request(request)
        except OSError:  # no process may be started here
            reply = worker.answer(request)
    if isinstance(reply, str):
        return reply
    words, arrays = worker.unpack(reply)
    return str(words["error"]) if "error" in words else SimpleNamespace(**words, **arrays)
