"""Tolerances from pixels: an error below a tenth of a pixel is invisible."""

import math

from poise.arguments import check_positive
from poise.errors import InvalidValue

__all__ = ["pixel_tolerance"]


def pixel_tolerance(distance: float, *, field_of_view: float, resolution: int, pixels: float = 0.1) -> float:
    """Return the length [m] that covers `pixels` on the screen at a distance [m].

        metres = pixels * 2 * distance * tan(field_of_view / 2) / resolution

    Args:
        distance: The distance from the camera to the body, along the view [m].
        field_of_view: Full angle of the view [rad], along the side that `resolution` counts.
        resolution: Pixels along that side, such as 1080 for the height of a full-HD picture.
        pixels: The allowed error in pixels.

    Returns:
        A tolerance [m], as in `Reach(frame, target, tolerance=pixel_tolerance(...))`.

    Raises:
        InvalidValue: A number is not positive and finite, or the view is half a turn or more.
    """
    given = {"distance": distance, "field_of_view": field_of_view, "resolution": resolution, "pixels": pixels}
    for name, value in given.items():
        check_positive(value, name)
    if field_of_view >= math.pi:
        raise InvalidValue(f"field_of_view is {field_of_view!r}; it is in radians and must be less than pi.")
    return pixels * 2.0 * distance * math.tan(0.5 * field_of_view) / resolution
