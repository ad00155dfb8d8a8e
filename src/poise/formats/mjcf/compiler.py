"""MuJoCo's compiler: in this process for a user's own files, in a subprocess with limits for uploads.

A file can make the compiler crash, hang or use all memory: in 4.0, a model that attaches itself ends the process, and
nested replicates or a large `nkey` do not return. What is known of that kind is rejected before (see `safe_xml`); the
limits on time and memory of the subprocess are for what is not. If no second interpreter exists (a frozen program), the
compiler always runs in this process.
"""

import importlib.util
import pickle
import threading
from typing import Any

from poise.errors import INDEX_NAME, MissingExtra
from poise.formats.apart import can_run, run_apart
from poise.formats.mjcf import worker

__all__ = ["compile_model", "list_names", "read_text"]

_LOCK = threading.Lock()


def compile_model(text: str, assets: dict[str, bytes], *, trusted: bool = True) -> Any:
    """Return the compiled `MjModel`, or MuJoCo's error message.

    Raises:
        MissingExtra: MuJoCo is not installed.
    """
    if importlib.util.find_spec("mujoco") is None:
        raise MissingExtra(f'reading MJCF needs MuJoCo: pip install "{INDEX_NAME}[formats]"')
    if not trusted and can_run():
        try:
            return compile_apart(text, assets)
        except OSError:  # processes cannot be started here
            pass
    with _LOCK:
        return worker.compile_text(text, assets)


def compile_apart(text: str, assets: dict[str, bytes]) -> Any:
    """Compile in a second interpreter with limits on time and memory."""
    import mujoco

    answer = run_apart(worker.__file__, pickle.dumps((text, assets)))
    return answer if isinstance(answer, str) else mujoco.MjModel.from_binary_path("poise.mjb", {"poise.mjb": answer})


def list_names(addresses: Any, data: bytes) -> list[str]:
    """Return the names at some addresses of a compiled model's `names`; "" for what has no name."""
    return [read_text(data, int(start)) for start in addresses]


def read_text(data: bytes, start: int) -> str:
    """Return the text at an address of a compiled model's `names` or `paths`."""
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")
