"""MuJoCo's compiler, which this process calls for a user's own files, and a bounded subprocess for uploads.

It imports nothing from Poise, because a bare interpreter runs its source (see `poise.formats.apart`). There it reads
the XML and the assets from stdin, and writes the compiled model to stdout, or raises with MuJoCo's error.
"""

import pickle
import sys
from typing import Any

__all__ = ["compile_text"]


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
    import mujoco
    import numpy as np

    made = compile_text(*pickle.load(sys.stdin.buffer))
    if isinstance(made, str):
        raise ValueError(made)
    data = np.zeros(mujoco.mj_sizeModel(made), np.uint8)
    mujoco.mj_saveModel(made, None, data)
    sys.stdout.buffer.write(data.tobytes())


if __name__ == "__main__":
    serve()
