"""Four keys in a real browser: the figure walks while they are held, and comes to rest when they are released."""

from typing import Any

import numpy as np
import pytest

from studio_page import SIZE, until

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

from drive import Drive

pytestmark = pytest.mark.browser


def hold(page: Any, keys: str, done: Any) -> None:
    """Holds keys down, as a keyboard repeats them, until something is so."""
    for key in keys:
        page.keyboard.down(key)

    def repeat() -> bool:
        for key in keys[-1:]:  # a keyboard repeats the last one alone
            page.keyboard.down(key)
        return bool(done())

    until(repeat, page)
    for key in keys:
        page.keyboard.up(key)


def test_keys_walk_the_body_over_the_stage(studio: Any, page: Any) -> None:
    drive = Drive(studio)
    page.get_by_text("Walk", exact=True).click()
    page.get_by_label("Drive by keys").click()
    until(lambda: drive.box.value, page)
    page.mouse.click(8, SIZE["height"] - 8)  # keys are for the stage
    start = studio.pose.position("pelvis")
    camera = studio.session.server.get_clients()[page.viewer].camera
    eye = np.array(camera.position)
    hold(page, "i", lambda: studio.pose.position("pelvis")[2] - start[2] > 0.5)
    hold(page, "ij", lambda: drive.walker is not None and drive.walker.at[2] > 0.5)
    until(lambda: drive.walker is None, page)
    feet = np.array([studio.pose.position(foot) for foot in ("foot_l", "foot_r")])
    assert np.abs(feet[0] - feet[1])[1] < 0.01  # both stand
    assert np.linalg.norm(np.array(camera.position) - eye) > 0.3  # the camera went along
    page.get_by_label("Drive by keys").click()
    until(lambda: not drive.box.value, page)
