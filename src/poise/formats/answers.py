"""Poses and solutions as JSON: plain values, read by any language, and by `poise solve --start` and the studio.

A pose is ``{"poise": "pose", "model": name, "q": [...], "joints": {joint: [numbers as in q]}}``. A solution has, in the
same object, what it came to: ``status reached steps searches microseconds``, ``goals`` (what is left of each, in metres
and radians, and whether it is reached) and ``why`` (empty where all are).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from poise.errors import FormatError
from poise.kinematics import Pose

__all__ = ["NAME", "SUFFIXES", "list_pose_values", "looks_like", "write_pose", "write_solution"]

NAME = "JSON"
SUFFIXES = (".json",)


def looks_like(head: bytes) -> bool:
    """Return whether a file begins as ours do; no body or motion is read from them."""
    return head.lstrip()[:1] == b"{" and b'"poise": "pose"' in head


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
