"""JSON files: bodies, poses, solutions, contacts, mappings and jobs, as plain values readable in any language.

A body is ``{"poise": "body", "name": ..., "parts": [...]}`` with joints of any kind, and is restored bit for bit
(`plain_values.py`). A pose is ``{"poise": "pose", "model": name, "q": [...], "joints": {joint: [numbers as in q]}}``. A
solution adds ``status reached steps searches microseconds``, ``goals`` (the error of each in metres and radians, and
whether it is reached) and ``why`` (empty if all are reached). For any other object, the result of its method
`plain_values()` is saved, and its class has a method `load`.
"""

import json
import re
from pathlib import Path
from typing import Any

from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.plain_values import encode_model, parse_model
from poise.formats.units import add_free_root, adjust_model
from poise.kinematics import Pose
from poise.model import Model

__all__ = [
    "HOLDS_EVERY_JOINT",
    "NAME",
    "SUFFIXES",
    "format_json",
    "looks_like",
    "read_model",
    "write_model",
    "write_pose",
    "write_solution",
    "write_values",
]

NAME = "JSON"
SUFFIXES = (".json",)
HOLDS_EVERY_JOINT = True
KIND = re.compile(rb'"poise"\s*:\s*"(body|pose)"')  # at any position and with any white space


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like a body or pose written by Poise."""
    return head.lstrip()[:1] == b"{" and KIND.search(head) is not None


# ------------------------------------------------------------------------------------------------ writing


def format_json(values: dict[str, Any]) -> str:
    """Return plain values as JSON text with a line for every entry of the upper two levels."""
    return "{\n" + ",\n".join(f"{dump(key)}: {format_entries(value)}" for key, value in values.items()) + "\n}\n"


def format_entries(value: Any) -> str:
    """Return a dict, or a list of lists and dicts, with one entry per line; any other value on one line."""
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f" {dump(key)}: {dump(each)}" for key, each in value.items()) + "\n}"
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        return "[\n" + ",\n".join(f" {dump(each)}" for each in value) + "\n]"
    return dump(value)


def dump(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def write_values(thing: Any, target: Path) -> None:
    """Write an object that has `plain_values()`."""
    target.write_text(format_json(thing.plain_values()), encoding="utf-8")


def write_model(model: Model, target: Path) -> None:
    """Write a body with joints of any kind; meshes are stored as file paths."""
    target.write_text(format_json({"poise": "body", **encode_model(model)}), encoding="utf-8")


def write_pose(pose: Pose, target: Path) -> None:
    """Write a pose."""
    target.write_text(format_json(pose.plain_values()), encoding="utf-8")


def write_solution(solution: Any, target: Path) -> None:
    """Write a solution: its pose, errors and status.

    Raises:
        FormatError: The object is a batch of solutions.
    """
    if not hasattr(solution, "plain_values"):
        raise FormatError(f"JSON holds one solution, not a {type(solution).__name__}; write .npz or .csv.", str(target))
    write_values(solution, target)


# ------------------------------------------------------------------------------------------------ reading


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read a body that `write_model` wrote."""
    kinds = {found.group(1) for found in KIND.finditer(source.data)}
    if b"body" not in kinds:
        found = "a pose or a solution and no body" if kinds else "no body"
        raise source.make_error(f"it holds {found}; poise.save(model, ...) writes one.")
    try:
        model = parse_model(source.data.decode("utf-8"))
    except FormatError as error:
        raise source.make_error(error.message) from error
    except UnicodeDecodeError as error:
        raise source.make_error(f"is not text in UTF-8: {error}.") from error
    for note in model.notes:
        source.note(note)
    return adjust_model(add_free_root(model) if options.base == "free" else model, options, source)
