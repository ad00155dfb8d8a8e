"""The body of a job as JSON: a built-in name, a full description, or the file that it was read from.

`key` is a hash of the whole body, which detects changes in all three cases:

    {"name": "panda", "key": "5f0c...", "built_in": true}
    {"name": "arm", "key": "91ab...", "described": {...}, "file": "arm.urdf", "sha256": "77d1..."}
    {"name": "g1", "key": "0be2...", "file": "g1.xml", "sha256": "c3f0...", "load": {"base": "free"}}

The second form needs no other file: it runs on machines without the URDF. The third is for work that reads more than
the tree of joints, such as the soles of the feet in the meshes next to the file.
"""

import json
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

from poise import models
from poise.errors import FormatError, ModelMismatch, PoiseError
from poise.formats import load
from poise.formats.plain_values import encode_model, parse_model
from poise.model import Model

__all__ = ["check_unchanged", "describe_body", "hash_model", "read_body"]

# all fields except the file and the notes
DESCRIBES = ("name", "parts", "shapes", "poses", "roles", "example_poses", "subject", "up", "units", "disabled_pairs")


def hash_model(model: Model) -> str:
    """Return a hash of the whole body: joints, frames, masses, shapes, poses and roles, to the last bit."""
    values = encode_model(model)
    return sha256(json.dumps([values[key] for key in DESCRIBES if values[key] is not None]).encode()).hexdigest()[:16]


def describe_body(model: Model, *, with_files: bool) -> dict[str, Any]:
    """Return a body as plain values.

    Args:
        model: The body.
        with_files: Whether the work needs the meshes next to the body's file.
    """
    fields: dict[str, Any] = {"name": model.name, "key": hash_model(model)}
    if model.name in models.names() and models.build(model.name) == model:
        return fields | {"built_in": True}
    file = find_file(model)
    if file is not None:
        fields |= {"file": str(file), "sha256": hash_file(file)}
        if with_files and (how := find_options(model, file)) is not None:
            return fields | {"load": how}
    return fields | {"described": encode_model(model)}


def find_file(model: Model) -> Path | None:
    """Return the file that a body was read from, if it exists."""
    try:
        file = Path(model.source)
        return file if model.source and file.is_file() else None
    except (OSError, ValueError):
        return None


def find_options(model: Model, file: Path) -> dict[str, Any] | None:
    """Return the options with which `load` reproduces this body, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for base in ("fixed", "free"):
            if load(file, base=base) == model:
                return {"base": base}
    return None


def hash_file(file: Path) -> str:
    """Return a hash of the content of a file."""
    return sha256(file.read_bytes()).hexdigest()[:16]


def read_body(fields: Any) -> Model:
    """Return the body of a job.

    Raises:
        FormatError: The values do not describe a body, or its file is missing.
        ModelMismatch: The body has changed since the job was made.
    """
    if isinstance(fields, str):  # written by hand
        return load(fields)
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
        raise FormatError('its "model" must be the name of a body, a file, or what poise.save wrote there.')
    if fields.get("built_in"):
        model = models.build(fields["name"])
    elif isinstance(fields.get("load"), dict):
        model = load_again(fields)
    else:
        model = parse_model(json.dumps(fields.get("described")))
    if "key" in fields and fields["key"] != hash_model(model):
        if "described" in fields:
            raise FormatError(f"its body {fields['name']!r} does not match its key: it is damaged; save the job again.")
        raise ModelMismatch(f"{name_body(fields)} has changed since the job was made: make the job again.")
    return model


def load_again(fields: dict[str, Any]) -> Model:
    """Load the body from its file."""
    check_unchanged(fields)
    try:
        return load(str(fields["file"]), **fields["load"])
    except (PoiseError, TypeError, KeyError) as error:
        raise FormatError(f"its body {fields['name']!r} cannot be read again: {error}") from None


def check_unchanged(fields: dict[str, Any]) -> None:
    """Raise if the body's file has changed since the job was made; a missing file is accepted.

    Raises:
        ModelMismatch: The file has changed.
    """
    file = Path(str(fields.get("file", "")))
    if "sha256" in fields and file.is_file() and hash_file(file) != fields["sha256"]:
        raise ModelMismatch(
            f"{name_body(fields)} has changed since the job was made, so new answers would not match the existing "
            'ones. Make the job again and give another folder; or continue with the old body: remove "file" from '
            "the job's JSON, which contains the body itself."
        )


def name_body(fields: dict[str, Any]) -> str:
    """Return the name of the body, with its file."""
    if fields.get("built_in"):
        return f"the built-in body {fields['name']!r}"
    return f"the body {fields['name']!r}" + (f" ({fields['file']})" if "file" in fields else "")
