"""MuJoCo's compiler: in this process for a user's own files, in a subprocess with limits for uploads.

A file can make the compiler crash, hang or use all memory: in 4.0, a model that attaches itself ends the process, and
nested replicates or a large `nkey` do not return. What is known of that kind is rejected before (see `safe_xml`); the
limits on time and memory of the subprocess are for what is not. If no second interpreter exists (a frozen program), the
compiler always runs in this process.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from poise.errors import INDEX_NAME, MissingExtra
from poise.formats.mjcf import worker

__all__ = ["compile_model", "list_names", "make_environment", "read_text"]

TIME_LIMIT = 60.0  # s, for one file
SANITIZERS = ("libasan", "libhwasan", "liblsan", "libtsan", "libubsan", "libclang_rt.")

# nothing may be imported from the working directory
BOOT = """import sys
if sys.path[:1] == [""]:
    del sys.path[0]
exec(compile(sys.argv[1], "mjcf_worker", "exec"), {"__name__": "__main__"})
"""

_LOCK = threading.Lock()


def compile_model(text: str, assets: dict[str, bytes], *, trusted: bool = True) -> Any:
    """Return the compiled `MjModel`, or MuJoCo's error message.

    Raises:
        MissingExtra: MuJoCo is not installed.
    """
    if importlib.util.find_spec("mujoco") is None:
        raise MissingExtra(f'reading MJCF needs MuJoCo: pip install "{INDEX_NAME}[formats]"')
    if not trusted and sys.executable and not getattr(sys, "frozen", False):
        try:
            return compile_apart(text, assets)
        except OSError:  # processes cannot be started here
            pass
    with _LOCK:
        return worker.compile_text(text, assets)


def compile_apart(text: str, assets: dict[str, bytes]) -> Any:
    """Compile in a second interpreter with limits on time and memory."""
    import mujoco

    command = [sys.executable, "-c", BOOT, Path(worker.__file__).read_text("utf-8")]
    place, environment = tempfile.gettempdir(), make_environment()
    request = pickle.dumps((text, assets))
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, timeout=TIME_LIMIT, cwd=place, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it takes more than {TIME_LIMIT:g} s"
    if done.stdout.startswith(worker.FAILED):
        return done.stdout.removeprefix(worker.FAILED).decode()
    if done.returncode or not done.stdout:
        return "its compiler breaks down"
    return mujoco.MjModel.from_binary_path("poise.mjb", {"poise.mjb": done.stdout})


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


def list_names(addresses: Any, data: bytes) -> list[str]:
    """Return the names at some addresses of a compiled model's `names`; "" for what has no name."""
    return [read_text(data, int(start)) for start in addresses]


def read_text(data: bytes, start: int) -> str:
    """Return the text at an address of a compiled model's `names` or `paths`."""
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")
