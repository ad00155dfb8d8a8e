"""A second interpreter with limits on time and memory, for the foreign parsers of some formats.

A file can make such a parser crash, hang or use all memory; here that ends the second process only. A worker is a
file that imports nothing from Poise: it reads a request from stdin, and writes its answer to stdout.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["FAILED", "can_run", "make_environment", "run_apart"]

TIME_LIMIT = 60.0  # s, for one file
MEMORY = 8 << 30  # bytes, where the system can limit it
FAILED = b"error: "  # the first bytes of an answer without a result
SANITIZERS = ("libasan", "libhwasan", "liblsan", "libtsan", "libubsan", "libclang_rt.")

# nothing may be imported from the working directory
BOOT = f"""import sys
if sys.path[:1] == [""]:
    del sys.path[0]
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
except (ImportError, OSError, ValueError):
    pass
try:
    exec(compile(sys.argv[1], "poise_worker", "exec"), {{"__name__": "__main__"}})
except Exception as error:
    sys.stdout.buffer.write({FAILED!r} + (str(error) or type(error).__name__).encode())
"""


def can_run() -> bool:
    """Return whether there is an interpreter to start; a frozen program has none."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def run_apart(worker: str, request: bytes) -> bytes | str:
    """Return the answer of a worker to a request, or why it has none.

    Args:
        worker: The path of its file.
        request: What it reads from stdin.

    Raises:
        OSError: The process cannot be started.
    """
    command = [sys.executable, "-c", BOOT, Path(worker).read_text("utf-8")]
    place, environment = tempfile.gettempdir(), make_environment()
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, timeout=TIME_LIMIT, cwd=place, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it takes more than {TIME_LIMIT:g} s"
    if done.stdout.startswith(FAILED):
        return done.stdout.removeprefix(FAILED).decode("utf-8", "replace")
    return "its parser breaks down" if done.returncode or not done.stdout else done.stdout


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
