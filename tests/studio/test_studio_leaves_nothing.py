"""A studio that has ended leaves nothing in the temporary folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

import poise
from waiting import wait_until
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")

from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload

CUT_SHORT = """
from poise.studio.web.studio import Studio
from poise.studio.web.uploads import open_upload
open_upload(Studio("planar2", port=18213).session, "arm.urdf", open({path!r}, "rb").read())
"""


@pytest.fixture
def arm(tmp_path):
    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    return tmp_path / "arm.urdf"


def test_a_stopped_studio_leaves_no_files(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with Studio("planar2", port=18212) as studio:
        open_upload(studio.session, "arm.urdf", arm.read_bytes())
        assert len(list((tmp_path / "temporary").iterdir())) == 1  # the upload, which saving needs
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_the_file_of_a_body_that_a_clip_is_carried_to_is_gone_too(tmp_path, monkeypatch):
    poise.save(poise.load("humanoid"), tmp_path / "other.glb")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with Studio(make_walk(), port=18219, shadows=False) as studio:
        beside = studio.second_body
        assert beside.open_upload("other.glb", (tmp_path / "other.glb").read_bytes())
        assert wait_until(lambda: beside.model is not None)
        assert list((tmp_path / "temporary").rglob("other.glb"))
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_program_that_ends_without_stopping_leaves_no_files(arm, tmp_path):
    (tmp_path / "temporary").mkdir()
    code = CUT_SHORT.format(path=str(arm))
    subprocess.run([sys.executable, "-c", code], check=True, env={"TMPDIR": str(tmp_path / "temporary"), "PATH": ""})
    assert list((tmp_path / "temporary").iterdir()) == []
