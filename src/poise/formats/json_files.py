"""Bodies, poses and solutions as JSON: plain values, read by any language, and by `poise solve --start` and the studio.

A body is ``{"poise": "body", "name": ..., "parts": [...]}``, whatever its joints, and comes back bit for bit
(`described.py`). A pose is ``{"poise": "pose", "model": name, "q": [...], "joints": {joint: [numbers as in q]}}``. A
solution has, in the same object, what it came to: ``status reached steps searches microseconds``, ``goals`` (what is
left of each, in metres and radians, and whether it is reached) and ``why`` (empty where all are).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from poise.errors import FormatError
from poise.formats.plain_model import describe_model, read_description
from poise.formats.source import ReadOptions, Source
from poise.formats.units import add_free_root, adjust_model
from poise.kinematics import Pose
from poise.model import Model

__all__ = [
    "HOLDS_EVERY_JOINT",
    "NAME",
    "SUFFIXES",
    "list_pose_values",
    "looks_like",
    "read_model",
    "write_model",
    "write_pose",
    "write_solution",
]

NAME = "JSON"
SUFFIXES = (".json",)
HOLDS_EVERY_JOINT = True
KIND = re.compile(rb'"poise"\s*:\s*"(body|pose)"')  # wherever other tools put it, with whatever space


def looks_like(head: bytes) -> bool:
    """Return whether a file begins as ours do: a body, or a pose."""
    return head.lstrip()[:1] == b"{" and KIND.search(head) is not None


def write_model(model: Model, target: Path) -> None:
    """Write a body, whatever its joints; a mesh by the path of its file."""
    words = {"poise": "body", **json.loads(describe_model(model))}
    target.write_text(json.dumps(words, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_model(source: Source, options: ReadOptions) -> Model:
    """Return the body of a file that `write_model` wrote."""
    kinds = {found.group(1) for found in KIND.finditer(source.data)}
    if b"body" not in kinds:
        told = "a pose or a solution and no body" if kinds else "no body"
        raise source.make_error(f"it holds {told}; poise.save(model, ...) writes one.")
    try:
        model = read_description(source.data.decode("utf-8"))
    except FormatError as error:
        raise source.make_error(error.message) from error
    except UnicodeDecodeError as error:
        raise source.make_error(f"is not text in UTF-8: {error}.") from error
    for note in model.notes:
        source.note(note)
    return adjust_model(add_free_root(model) if options.base == "free" else model, options, source)


def list_pose_values(pose: Pose) -> dict[str, Any]:
    """Return a pose in plain values."""
    joints = {j.name: pose.q[j.q].tolist() for j in pose.model.joints if j.nq and not j.mimic}
    return {"poise": "pose", "model": pose.model.name, "q": pose.q.tolist(), "joints": joints}


def write_pose(pose: Pose, target: Path) -> None:
    """Write a pose."""
    target.write_text(json.dumps(list_pose_values(pose), indent=2) + "\n", encoding="utf-8")


def write_solution(solution: Any, target: Path) -> None:
    """Write a solution: its pose, and what it came to. It is known by `plain_values`.

    Raises:
        FormatError: It has none, such as a batch of solutions.
    """
    values = getattr(solution, "plain_values", None)
    if values is None:
        raise FormatError(f"JSON holds one solution, not a {type(solution).__name__}; write .npz or .csv.", str(target))
    target.write_text(json.dumps(values(), indent=2) + "\n", encoding="utf-8")
