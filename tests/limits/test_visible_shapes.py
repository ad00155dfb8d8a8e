"""Visual shapes that stand out of the collision shapes are parts of the body: of its floor and its clearance."""

import pytest

import poise
from poise.limits.convex_parts import find_convex_parts
from poise.limits.support_points import find_support_points
from poise.model.derive import hide_visual, with_shapes
from poise.model.geometry.shapes import Box, Shape
from poise.spatial import Transform

FRAMES = ["pelvis", "chest", *(f"{part}_{side}" for part in ("shoulder", "elbow", "hand") for side in "lr")]


def make_body(seen: dict[str, float], use: str = "collision") -> poise.Model:
    """Return a body of boxes of 0.1 m, and visual boxes on some frames that stand out of them [m]."""
    boxes = [(frame, 0.1, use) for frame in FRAMES] + [
        (frame, 0.1 + 2.0 * out, "visual") for frame, out in seen.items()
    ]
    shapes = [Shape(frame, Box((side,) * 3), Transform(), use) for frame, side, use in boxes]
    return with_shapes(poise.load("humanoid"), shapes)


def test_a_visual_shape_joins_the_body_if_it_stands_out() -> None:
    model = make_body({"chest": 0.0, "hand_l": 0.005, "hand_r": 0.012})
    assert [part.frame for part in find_support_points(model) if part.seen] == ["hand_r"]
    assert not [part for part in find_support_points(hide_visual(model)) if part.seen]


@pytest.mark.parametrize(("seen", "use"), [({}, "visual"), ({"chest": 1.5}, "collision")])
def test_visual_shapes_collide_unless_they_overlap_at_rest(seen: dict[str, float], use: str) -> None:
    parts = find_convex_parts(make_body(seen, use))
    assert parts is not None
    assert ("chest", "hand_l") in [tuple(parts.solids[k].frame for k in pair) for pair in parts.pairs]
    assert all(parts.solids[k].seen == (use == "visual") for k in parts.pairs.ravel())
