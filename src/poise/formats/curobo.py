"""The collision spheres of cuRobo's robot files (YAML), for `Model.with_spheres`.

    collision_spheres:
      panda_hand:
        - {center: [0.0, 0.02, 0.01], radius: 0.03}

The spheres are at the top of the file or under `robot_cfg: kinematics:`, or in a file that is named there. A negative
radius disables a sphere; `collision_sphere_buffer` is added to all radii. `self_collision_ignore` lists the pairs of
links that may overlap. Other settings are not read. Source: NVlabs, cuRobo, content/configs/robot.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from poise.errors import InvalidValue, PoiseError
from poise.files.source import Source, quote_names
from poise.formats.urdf.expressions import Budget, Evaluator, ExpressionError
from poise.formats.urdf.xacro_yaml import read_yaml
from poise.model import Model
from poise.model.derive import reattach
from poise.model.geometry.shapes import SPHERE_COLOR, Shape, Sphere
from poise.spatial import Transform

__all__ = ["with_spheres"]


def with_spheres(model: Model, path: str | PathLike[str]) -> Model:
    """Return the body with the collision spheres of a file; see `Model.with_spheres`."""
    source = Source.open(fspath(path))
    settings = read_settings(source)
    where = settings.get("collision_spheres")
    if isinstance(where, str):
        file = Source.open(source.find_sibling(where, above=(".yml", ".yaml")))
        where = read_settings(file).get("collision_spheres")
    if not isinstance(where, Mapping):
        raise source.make_error("has no collision_spheres: {link: [{center: [x, y, z], radius: r}, ...]}.")
    known = {name: rows for name, rows in where.items() if name in model.frames}
    if not known:
        names = f"{quote_names(map(str, where))}; the body has {quote_names(model.frames)}"
        raise InvalidValue(f"with_spheres: no link of {source.path} is a frame of the body. It names {names}.")
    buffers = settings.get("collision_sphere_buffer", 0.0)
    spheres = [shape for name, rows in known.items() for shape in list_spheres(source, name, rows, buffers)]
    return attach(model, source, spheres, list_ignored(source, settings, model), set(where) - set(known))


def read_settings(source: Source) -> Mapping[str, Any]:
    """Return the settings of the kinematics, wherever the file has them."""
    try:
        settings = read_yaml(source, Evaluator(Budget()), NoNames())
    except ExpressionError as error:  # the budget
        raise source.make_error(f"is too large: {error}.") from None
    for key in ("robot_cfg", "kinematics"):
        if isinstance(settings, Mapping) and key in settings:
            settings = settings[key]
    if not isinstance(settings, Mapping):
        raise source.make_error("is not a mapping, as cuRobo's robot files are.")
    return settings


class NoNames:
    """A scope without names."""

    def look_up(self, name: str) -> Any:
        """Raise `ExpressionError`."""
        raise ExpressionError(f"{name[:80]!r} is not defined")


def list_spheres(source: Source, link: str, rows: Any, buffers: Any) -> Iterator[Shape]:
    """Yield the spheres of a link."""
    if not isinstance(rows, list):
        raise source.make_error(f"collision_spheres of {link!r} must be a list of {{center: ..., radius: ...}}.")
    for row in rows:
        try:
            radius, center = float(row["radius"]), row["center"]
            buffer = float(buffers.get(link, 0.0) if isinstance(buffers, Mapping) else buffers)
            if not math.isfinite(radius + buffer):
                raise ValueError
            if radius > 0.0 and radius + buffer > 0.0:
                yield Shape(link, Sphere(radius + buffer), Transform(None, center), "collision", SPHERE_COLOR)
        except (KeyError, TypeError, ValueError, OverflowError, PoiseError):
            added = f" and the buffer is {str(buffers)[:40]}" if buffers else ""
            text = f"a sphere of {link!r} is {str(row)[:80]}{added}; write {{center: [x, y, z], radius: r}}."
            raise source.make_error(text) from None


def list_ignored(source: Source, settings: Mapping[str, Any], model: Model) -> tuple[tuple[str, str], ...] | None:
    """Return the pairs of links that may overlap, or None if the file has no such list."""
    ignored = settings.get("self_collision_ignore")
    if not isinstance(ignored, Mapping):
        return None
    if not all(others is None or isinstance(others, (list, tuple)) for others in ignored.values()):
        raise source.make_error("self_collision_ignore must be {link: [link, ...]}.")
    pairs = ((str(one), str(other)) for one, others in ignored.items() for other in others or ())
    return tuple(pair for pair in pairs if set(pair) <= set(model.frames))


def attach(
    model: Model, source: Source, spheres: list[Shape], pairs: tuple[tuple[str, str], ...] | None, unknown: set[str]
) -> Model:
    """Return the body with these collision spheres, and the pairs that may overlap if the file lists them."""
    seen = (replace(shape, use="visual") for shape in model.shapes if shape.use != "collision")
    notes = [f"{len(spheres)} collision spheres are from {source.path}."]
    notes += (
        [f"{source.path} has spheres for unknown links: {quote_names(sorted(map(str, unknown)))}."] if unknown else []
    )
    old = model.attachments
    return reattach(
        model,
        replace(old, shapes=(*seen, *spheres), disabled_pairs=old.disabled_pairs if pairs is None else pairs),
        notes=notes,
    )
