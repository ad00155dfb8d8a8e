"""MuJoCo's compiler in a subprocess.

A file can make the compiler crash, hang or use all memory: in 4.0, a model that attaches itself ends the process, and
nested replicates or a large `nkey` do not return. After some failures it hangs on the next file (a `model` asset
without a file), and it writes to the terminal. So a second interpreter compiles all files of a session, the user's own
too, with limits on time and memory; this costs no more than importing MuJoCo here. If no second interpreter exists (a
frozen program), the compiler runs in this process.
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

__all__ = ["compile_model", "make_environment"]

TIME_LIMIT = 60.0  # s, for one file
SANITIZERS = ("libasan", "libhwasan", "liblsan", "libtsan", "libubsan", "libclang_rt.")

# nothing may be imported from the working directory
BOOT = """import sys
if sys.path[:1] == [""]:
    del sys.path[0]
exec(compile(sys.argv[1], "mjcf_worker", "exec"), {"__name__": "__main__"})
"""

_LOCK = threading.Lock()


class Worker:
    """The second interpreter, started on first use and restarted if it has exited."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0

    def request(self, request: bytes) -> bytes | str:
        """Return the answer, or the reason for the failure as text."""
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
        except BaseException:  # interrupted: the next request would read this answer
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
        """Return the running process; starts a new one after a fork, because two processes must not share the pipes."""
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
        """Kill the process; in a forked child, only close its pipes."""
        process, self.process = self.process, None
        if process is None:
            return
        if self.owner == os.getpid():
            process.kill()
            process.wait()
        else:
            process.returncode = 0  # only the parent process may wait for it
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # unsent data for a dead process
                pipe.close()  # type: ignore[union-attr]


def make_environment() -> dict[str, str]:
    """Return the environment of the subprocess: that of this process, with its module paths and without sanitizers.

    A sanitizer reserves terabytes of address space, which the memory limit does not allow, and the subprocess runs no
    code of ours that needs checking.
    """
    modules = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    preloaded = os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
    kept = [library for library in preloaded if not Path(library).name.startswith(SANITIZERS)]
    out = {**os.environ, "PYTHONPATH": modules, "LD_PRELOAD": " ".join(kept)}
    return out if kept else {name: value for name, value in out.items() if name != "LD_PRELOAD"}


_WORKER = Worker()
atexit.register(_WORKER.stop)


def compile_model(text: str, assets: dict[str, bytes]) -> SimpleNamespace | str:
    """Return the compiled model as arrays and names, or MuJoCo's error message.

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
        except OSError:  # processes cannot be started here
            reply = worker.answer(request)
    if isinstance(reply, str):
        return reply
    words, arrays = worker.unpack(reply)
    return str(words["error"]) if "error" in words else SimpleNamespace(**words, **arrays)
