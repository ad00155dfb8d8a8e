"""Words of the studio: reasons with a page to read, notes, file names, and hostile names as text."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
import viser

import poise
from hostile_names import find_foreign, make_body, make_clip, use_every_tab, write_files
from paths import ROOT
from poise.errors import FormatError
from poise.studio.markup import say_plainly, shorten_lists
from poise.studio.panel.failure_help import PAGE, REASONS
from poise.studio.panel.panel import describe_why
from poise.studio.puppet import Puppet
from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")


def test_every_reason_has_its_section_in_the_failure_gallery():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert [r.section for r in REASONS if f"\n## {r.section}\n" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "section"),
    [((2.5, 1.6, 0.3), "Unreachable"), ((-0.9, 0.2, -0.8), "Conflicting goals")],
)
def test_a_missed_handle_leads_to_the_page_that_explains_it(target, section):
    puppet = Puppet(poise.load("humanoid"))
    puppet.hold("hand_l", np.array(target))
    for _ in range(60):
        puppet.frame()
    message = html.unescape(describe_why(puppet.explain()))
    assert PAGE in message
    assert f"“{section}”" in message


# ---------------------------------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def studio():
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    from poise.studio.web.studio import Studio

    with Studio("humanoid", port=18070) as running:
        yield running


@pytest.mark.parametrize(("name", "content"), [("broken.urdf", b"<robot"), ("note.txt", b"hello")])
def test_a_file_that_cannot_be_read_is_called_by_its_own_name(studio, name, content):
    from poise.studio.web.uploads import open_upload

    with pytest.raises(FormatError) as caught:
        open_upload(studio.session, name, content)
    assert str(caught.value).startswith(f"{name}:")


@pytest.mark.slow
def test_a_motion_is_announced_and_saved_whole(studio, tmp_path):
    from poise.studio.downloads import make_file
    from poise.studio.web.uploads import open_upload

    model = poise.load("planar2")
    poise.save(poise.Motion(model, np.linspace(0, 1, 60).reshape(30, 2), fps=30), tmp_path / "wave.bvh")
    open_upload(studio.session, "wave.bvh", (tmp_path / "wave.bvh").read_bytes())
    assert studio.panel.pose.describe_file().startswith("30 poses, played in the Motion tab")
    assert studio.panel.motion.time.max >= studio.session.player.motion.times[-1]
    for kind in ("GLB", "BVH"):
        (tmp_path / f"again.{kind.lower()}").write_bytes(make_file(studio.session, kind))
        assert len(poise.load_motion(tmp_path / f"again.{kind.lower()}")) == 30
    studio.show("humanoid")
    assert "Motion tab" not in studio.panel.pose.describe_file()


@pytest.mark.parametrize(
    ("note", "plain"),
    [
        ("2 clips: 'SambaDance', 'TPose'", "2 clips: “SambaDance”, “TPose”"),
        (
            "the body is 153 units tall, as in centimetres; its numbers were kept, scale='auto' makes them metres",
            "the body is 153 units tall, as in centimetres; its numbers were kept",
        ),
        (
            "nodes[3], nodes[4] and 13 more: several nodes have one name; each got its number, as in 'name#3'",
            "several nodes have one name; each got its number, as in “name#3”",
        ),
        ("open that body first, or type: Studio(ReachMap.load(path, model)).", "open that body first"),
        ("base='free' adds nothing: the root of the body is free already", "the root of the body is free already"),
        (
            "pictures need imageio. Type: pip install 'poise-ik[studio]'",
            "pictures need imageio. Type: pip install 'poise-ik[studio]'",
        ),
    ],
)
def test_toasts_are_words_and_not_python(note, plain):
    assert say_plainly(note) == plain


def test_a_note_ends_where_its_clause_about_python_ended():
    note = "the body is 62.6 units tall; its numbers were kept, scale='auto' makes them metres; roles: 54 from names"
    assert say_plainly(note) == "the body is 62.6 units tall; its numbers were kept; roles: 54 from names"


@pytest.mark.parametrize("count", [1, 4, 5, 15])
def test_long_lists_of_names_are_shortened(count):
    names = [f"'Rig|Clip_{k}'" for k in range(count)]
    message = shorten_lists(f"{count} clips: {', '.join(names)}; y is up")
    listed = ", ".join(names if count < 5 else names[:3]) + (f" and {count - 3} more" if count > 4 else "")
    assert message == f"{count} clips: {listed}; y is up"


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
