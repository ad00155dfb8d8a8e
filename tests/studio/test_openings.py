"""Files, folders and archives that the studio opens."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import poise
from lying_zips import HELD, make_lying_zip, measure_peak
from poise.errors import FormatError
from poise.studio.showable import read_opening
from poise.studio.web.uploads import unpack
from walks import make_swing


@pytest.mark.slow
def test_a_file_with_a_motion_opens_with_it(tmp_path: Path) -> None:
    clip = make_swing()
    for ending in (".bvh", ".glb"):
        poise.save(clip, tmp_path / f"swing{ending}")
        motion = read_opening(tmp_path / f"swing{ending}").motion
        assert motion is not None
        assert len(motion) == len(clip)
    with pytest.warns(poise.errors.FormatWarning):
        poise.save(clip.model, tmp_path / "still.glb")
    assert read_opening(tmp_path / "still.glb").motion is None
    poise.save(clip[3], tmp_path / "one.bvh")
    one = read_opening(tmp_path / "one.bvh")
    assert one.motion is None  # a single pose is a pose
    assert one.pose is not None


def pack(files: dict[str, bytes]) -> bytes:
    """Pack files as a ZIP."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()


def test_a_zip_is_opened_at_its_body(tmp_path: Path) -> None:
    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_bytes()
    (tmp_path / "in").mkdir()
    content = pack({"robot/meshes/a.stl": b"x", "robot/arm.urdf": text, "robot/deep/other.urdf": text})
    assert unpack(content, tmp_path / "in", "robot.zip") == tmp_path / "in" / "robot" / "arm.urdf"


@pytest.mark.slow
def test_a_folder_is_opened_at_its_body_and_not_at_a_scene_around_it(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="MJCF needs mujoco: pip install 'poise[formats]'")
    body = '<mujoco model="arm"><worldbody><body><joint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>'
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "zarm.xml").write_text(body)
    (tmp_path / "robot" / "scene.xml").write_text('<mujoco><include file="zarm.xml"/></mujoco>')
    assert read_opening(tmp_path / "robot").model.source.endswith("zarm.xml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="holds no body"):
        read_opening(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pack({"../evil.urdf": b"<robot/>"}), "leads out"),
        (pack({"/evil.urdf": b"<robot/>"}), "leads out"),
        (pack({"a.txt": b"hello"}), "holds no body"),
        (pack({f"{k}.urdf": b"" for k in range(2001)}), "2001 files"),
        (b"PK no", "cannot be unpacked"),
    ],
)
def test_a_zip_that_leads_out_or_is_too_large_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(FormatError, match=message):
        unpack(content, tmp_path / "in", "robot.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_lies_about_its_size_is_never_inflated(method: int, tmp_path: Path) -> None:
    content = make_lying_zip("robot.urdf", b"<robot/>", 1000, method)

    def open_it() -> None:
        with pytest.raises(FormatError, match="cannot be unpacked"):
            unpack(content, tmp_path, "robot.zip")

    assert measure_peak(open_it) < HELD / 8
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) <= 1000


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        link = zipfile.ZipInfo("robot.urdf")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
    with pytest.raises(FormatError, match="leads out"):
        unpack(out.getvalue(), tmp_path, "robot.zip")
