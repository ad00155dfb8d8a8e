"""MuJoCo's compiler, which this process calls for a user's own files, and a bounded subprocess for uploads.

It imports nothing from Poise, because a bare interpreter runs its source (see `compiler`). There it reads the XML and
the assets from stdin, and writes the compiled model, or MuJoCo's error, to stdout.
"""

import pickle
import sys
from typing import Any

__all__ = ["FAILED", "compile_text"]

MEMORY = 8 << 30  # memory limit of the subprocess [bytes], if the system supports it
FAILED = b"error: "  # the first bytes of an answer without a model


def compile_text(text: str, assets: dict[str, bytes]) -> Any:
    """Return the compiled `MjModel`, or MuJoCo's error message."""
    import mujoco

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)  # otherwise it writes to the terminal and to a log file
    try:
        return mujoco.MjModel.from_xml_string(text, assets)
    except Exception as error:
        return str(error) or type(error).__name__
    finally:
        mujoco.set_mju_user_warning(before)


def serve() -> None:
    """Answer the request on stdin."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        pass
    import mujoco
    import numpy as np

    made = compile_text(*pickle.load(sys.stdin.buffer))
    if isinstance(made, str):
        answer = FAILED + made.encode()
    else:
        data = np.zeros(mujoco.mj_sizeModel(made), np.uint8)
        mujoco.mj_saveModel(made, None, data)
        answer = data.tobytes()
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    serve()
