"""What several files about goals use."""

import pytest

from poise import Motion
from poise.goals import Style
from walks import make_walk


@pytest.fixture(scope="module")
def walk() -> Motion:
    """A made walk of the humanoid."""
    return make_walk()


@pytest.fixture(scope="module")
def style(walk: Motion) -> Style:
    """The style of every second frame of the walk."""
    return Style.fit(walk[::2], neighbours=12)
