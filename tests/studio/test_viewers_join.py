"""Several viewers at once: each gets a folder of their own, and none is left behind."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")

from poise.studio.web.studio import Studio
from viewers import join_together
from waiting import wait_until


@pytest.fixture(scope="module")
def studio():
    with Studio("planar3", port=18217, shadows=False) as running:
        yield running


@pytest.mark.parametrize("_", range(3))
def test_viewers_who_come_together_all_get_their_folder(studio, capfd, _):
    own = studio.panel.pose.own
    with join_together(studio, 8):
        assert wait_until(lambda: len(studio.session.server.get_clients()) == 8)
        assert wait_until(lambda: set(own) == set(studio.session.server.get_clients()), 5)
        assert "RuntimeError" not in capfd.readouterr().err
    assert wait_until(lambda: not own)


def test_a_viewer_who_is_gone_before_their_folder_is_made_gets_none(studio):
    own = studio.panel.pose.own
    with studio.session.lock:
        with join_together(studio, 1):
            assert wait_until(studio.session.server.get_clients)
        assert wait_until(lambda: not studio.session.server.get_clients())
    with studio.session.lock:
        assert not own
    assert wait_until(lambda: not own)


def test_methods_that_are_chosen_together_leave_the_settings_of_one(studio):
    tab, failures = studio.panel.solver, []

    def choose():
        try:
            tab.on_method(None)
        except Exception as failure:
            failures.append(failure)

    tab.method.value = "dls"
    threads = [threading.Thread(target=choose) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    before = len(tab.inputs)
    tab.on_method(None)
    assert len(tab.inputs) == before
