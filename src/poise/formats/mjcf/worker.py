"""The subprocess that runs MuJoCo's compiler: reads requests from stdin, writes answers to stdout.

It imports nothing from Poise, because a bare interpreter runs its source (see `compiler`). Requests and answers are
``npz`` files without pickles, each preceded by its length in eight bytes. A request has the XML and the assets; an
answer has the arrays and names of the compiled model, or MuJoCo's error.
"""

from __future__ import annotations

import io
import json
import sys
from typing import IO, Any

import numpy as np

__all__ = ["answer", "pack", "receive", "send", "unpack"]

SIZES = ("nbody", "njnt", "nsite", "ngeom", "nkey", "neq", "nmocap")
ARRAYS = (
    *("body_parentid", "body_jntnum", "body_jntadr", "body_pos", "body_quat", "body_mass", "body_ipos", "qpos0"),
    *("body_iquat", "body_inertia", "body_mocapid", "jnt_dofadr", "jnt_actfrclimited", "jnt_actfrcrange"),
    *("dof_damping", "dof_frictionloss", "dof_armature", "actuator_trntype", "actuator_trnid", "actuator_gear"),
    *("actuator_forcelimited", "actuator_forcerange", "actuator_ctrllimited", "actuator_ctrlrange"),
    *("actuator_gaintype", "actuator_biastype", "actuator_gainprm"),
    *("jnt_type", "jnt_qposadr", "jnt_pos", "jnt_axis", "jnt_range", "jnt_limited", "jnt_bodyid"),
    *("site_pos", "site_quat", "site_bodyid", "key_qpos", "mat_rgba", "mat_texid", "tex_width"),
    *("eq_type", "eq_obj1id", "eq_obj2id", "eq_data", "eq_active0", "eq_objtype"),
    *("geom_type", "geom_size", "geom_pos", "geom_quat", "geom_bodyid", "geom_dataid", "geom_matid", "geom_rgba"),
    *("geom_contype", "geom_conaffinity", "geom_group"),
    *("mesh_pathadr", "mesh_scale", "mesh_pos", "mesh_quat"),
)
MEMORY = 8 << 30  # memory limit of the process [bytes], if the system supports it


def pack(words: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Pack a dict and arrays into the bytes of one file."""
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(words).encode(), np.uint8)
    np.savez(stream, words_=text, **arrays)
    return stream.getvalue()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Unpack the dict and the arrays from `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("words_").tobytes()), arrays


def send(stream: IO[bytes], data: bytes) -> None:
    """Write a message to a stream."""
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a message from a stream; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    data = stream.read(size)
    return data if len(data) == size else None


def answer(request: bytes) -> bytes:
    """Compile a request; "dirty" in the answer means that MuJoCo failed and the process must be restarted."""
    import mujoco

    words, arrays = unpack(request)
    assets = {name: value.tobytes() for name, value in arrays.items()}
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)  # otherwise it writes to the terminal and to a log file
    try:
        model = mujoco.MjModel.from_xml_string(words["xml"], assets)
        return pack(*list_facts(mujoco, model))
    except ValueError as error:
        return pack({"error": str(error) or "ValueError", "dirty": False}, {})
    except Exception as error:
        return pack({"error": str(error) or type(error).__name__, "dirty": True}, {})
    finally:
        mujoco.set_mju_user_warning(before)


def list_facts(mujoco: Any, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sizes, names and arrays that kinematics needs."""
    kinds = {
        "body": (mujoco.mjtObj.mjOBJ_BODY, model.nbody),
        "joint": (mujoco.mjtObj.mjOBJ_JOINT, model.njnt),
        "site": (mujoco.mjtObj.mjOBJ_SITE, model.nsite),
        "geom": (mujoco.mjtObj.mjOBJ_GEOM, model.ngeom),
        "key": (mujoco.mjtObj.mjOBJ_KEY, model.nkey),
    }
    words: dict[str, Any] = {name: int(getattr(model, name)) for name in SIZES}
    words["names"] = {
        kind: [mujoco.mj_id2name(model, code, i) or "" for i in range(count)] for kind, (code, count) in kinds.items()
    }
    words["model"] = bytes(model.names).split(b"\0", 1)[0].decode("utf-8", "replace")
    words["paths"] = bytes(model.paths).decode("utf-8", "replace").split("\0")
    starts = np.cumsum([0, *(len(path.encode()) + 1 for path in words["paths"])]).tolist()
    words["path_of"] = {str(start): path for start, path in zip(starts, words["paths"])}  # noqa: B905
    arrays = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    return words, arrays | {"gravity": np.asarray(model.opt.gravity)}


def serve() -> None:
    """Answer requests until the input ends, or until an answer is "dirty"."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        pass
    while (request := receive(sys.stdin.buffer)) is not None:
        reply = answer(request)
        send(sys.stdout.buffer, reply)
        if unpack(reply)[0].get("dirty"):
            break


if __name__ == "__main__":
    serve()
