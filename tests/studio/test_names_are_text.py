"""Names in a file are text: no panel, page or notebook takes one for HTML or markdown."""

from __future__ import annotations

import json
import re

import pytest

import poise
from hostile_names import find_foreign, make_body, make_clip, use_every_tab, write_files
from paths import ROOT

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")

import viser

from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload


@pytest.fixture
def shown(monkeypatch):
    """Every piece of HTML that a panel has."""
    handles, add = [], viser.GuiApi.add_html

    def remember(gui, *args, **options):
        handles.append(add(gui, *args, **options))
        return handles[-1]

    monkeypatch.setattr(viser.GuiApi, "add_html", remember)
    return lambda: [handle.content for handle in handles]


def check(shown):
    assert [found for markup in shown() if (found := find_foreign(markup))] == []


def test_the_check_sees_an_attack():
    assert find_foreign("<b><img src=x onerror=run()></b>") == ["img", "img src=x", "img onerror=run()"]


@pytest.mark.slow
def test_no_panel_takes_a_name_for_html(shown, tmp_path):
    with Studio("planar2", port=18215, shadows=False) as studio:
        for path in write_files(tmp_path):
            open_upload(studio.session, path.name, path.read_bytes())
            use_every_tab(studio)
            check(shown)


def test_the_studio_has_no_markdown_which_is_html_by_another_name():
    sources = (ROOT / "src" / "poise" / "studio").glob("*.py")
    assert [path.name for path in sources if "add_markdown" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("kind", ["model", "pose", "motion", "solution"])
def test_a_page_keeps_every_name_in_its_data(kind, tmp_path):
    model = make_body()
    made = {
        "model": lambda: model,
        "pose": lambda: poise.Pose(model),
        "motion": lambda: make_clip(model),
        "solution": lambda: miss_by_far(model),
    }[kind]()
    page = poise.show(made, tmp_path / "page.html", browser=False).html
    assert page.count("<script") == page.count("</script") == 2
    data = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page, re.S)[1]
    assert model.name in json.loads(data)["title"] + json.dumps(json.loads(data)).replace('\\"', '"')
    assert "<" not in data


@pytest.mark.parametrize("make", [make_body, lambda: miss_by_far(make_body())], ids=["model", "solution"])
def test_a_notebook_shows_names_as_text(make):
    found = [
        what for what in find_foreign(make()._repr_html_()) if not what.startswith("iframe srcdoc=<!doctype html>")
    ]
    assert found in ([], ["iframe"])  # at most the one page, whose names are data


def miss_by_far(model):
    """A solution that names everything it could not do."""
    return poise.solve(model, poise.goals.Reach(model.frames[-1], (9.0, 9.0, 9.0)), max_steps=3, restarts=0)
