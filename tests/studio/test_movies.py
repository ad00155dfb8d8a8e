"""Movies, and what the studio can open."""

from __future__ import annotations

import io
import sys
import zipfile
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import looks_files as made
import poise
from lying_zips import HELD, make_lying_zip, measure_peak
from poise.errors import FormatError, InvalidValue, MissingExtra
from poise.goals import Reach
from poise.model.geometry.looks import deform
from poise.pictures.body.pieces import find_pieces
from poise.pictures.movie import find_window, thin
from poise.studio.showable import read_opening
from poise.studio.web.uploads import unpack
from walks import make_swing

PIL = pytest.importorskip("PIL.Image", reason="pictures need matplotlib: pip install 'poise-ik[studio]'")


def make_wave(frames: int = 8, fps: float = 10.0) -> poise.Motion:
    """Make a planar arm that waves."""
    model = poise.load("planar3")
    return poise.Motion(model, 0.8 * np.sin(np.arange(frames)[:, None] / 3 + np.arange(3)), fps)


def read_frames(path: Path) -> tuple[list[np.ndarray], int]:
    """Read all frames of a GIF, and how long each is seen [ms]."""
    with PIL.open(path) as image:
        frames = []
        for k in range(image.n_frames):
            image.seek(k)
            frames.append(np.asarray(image.convert("RGB"), dtype=int))
        return frames, image.info["duration"]


@pytest.mark.slow
def test_a_motion_moves_in_one_view(tmp_path: Path) -> None:
    motion = make_wave()
    picture = poise.plot(motion, tmp_path / "wave.gif", title="A wave")
    frames, wait = read_frames(tmp_path / "wave.gif")
    assert len(frames) == len(motion)
    assert wait == 100
    assert all(frame.shape == frames[0].shape for frame in frames)
    assert all(np.abs(a - b).max() > 100 for a, b in pairwise(frames))  # it moves
    border = np.concatenate([frames[0][:40].reshape(-1, 3), frames[0][:, -4:].reshape(-1, 3)])
    assert (np.median(border, axis=0) == 255).all()  # white stays white
    assert picture.figure is not None
    low_high = find_window(motion, None)
    places = low_high.camera.project(motion.model.fk(motion.q)[..., :3, 3].reshape(-1, 3))
    assert (places[:, 0] > low_high.x[0]).all()
    assert (places[:, 0] < low_high.x[1]).all()
    assert (places[:, 1] > low_high.y[0]).all()
    assert (places[:, 1] < low_high.y[1]).all()


@pytest.mark.slow
def test_the_search_of_a_recorded_solution_moves(tmp_path: Path) -> None:
    model = poise.load("planar2")
    goal = Reach(model.frames[-1], (0.5, 0.9, 0.0))
    poise.plot(poise.solve(model, goal, record=True), tmp_path / "search.gif")
    assert len(read_frames(tmp_path / "search.gif")[0]) > 2
    with pytest.raises(InvalidValue, match="record=True"):
        poise.plot(poise.solve(model, goal), tmp_path / "none.gif")
    with pytest.raises(InvalidValue, match="shows a Motion"):
        poise.plot(model, tmp_path / "none.gif")
    assert not (tmp_path / "none.gif").exists()


def test_long_motions_are_thinned_and_keep_their_pace() -> None:
    long = make_wave(frames=3000, fps=120.0)
    short = thin(long, 20.0)
    assert len(short) <= 600
    assert len(short) / short.fps == pytest.approx(len(long) / long.fps, rel=0.01)


def test_an_mp4_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'poise-ik\[studio\]'"):
        poise.plot(make_wave(), tmp_path / "wave.mp4")
    assert not (tmp_path / "wave.mp4").exists()


@pytest.mark.slow
def test_an_mp4_is_given_every_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    asked: dict[str, Any] = {}

    def write_frames(path: str, size: tuple[int, int], **options: Any) -> Any:
        asked.update(size=size, **options)
        while (pixels := (yield)) is not None:
            sent.append(pixels)
            Path(path).write_bytes(b"mp4")

    fake = ModuleType("imageio_ffmpeg")
    monkeypatch.setattr(fake, "write_frames", write_frames, raising=False)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", fake)
    motion = make_wave()
    poise.plot(motion, tmp_path / "wave.mp4")
    assert len(sent) == len(motion)
    assert asked["fps"] == motion.fps
    assert asked["size"][0] % 2 == asked["size"][1] % 2 == 0
    assert all(len(pixels) == 3 * asked["size"][0] * asked["size"][1] for pixels in sent)
    assert (tmp_path / "wave.mp4").read_bytes() == b"mp4"


def test_an_unknown_suffix_is_rejected_with_the_animation_formats(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"\.gif or \.mp4"):
        poise.plot(make_wave(), tmp_path / "wave.avi")


@pytest.mark.slow
def test_a_movie_shows_all_of_a_body_and_not_its_bones_alone(tmp_path: Path) -> None:
    made.painted_folder(tmp_path)
    (tmp_path / "sign.urdf").write_text(
        '<robot name="sign"><link name="base"/><link name="hand"><visual><geometry><mesh filename="squares.obj"/>'
        '</geometry></visual></link><joint name="j" type="revolute"><parent link="base"/><child link="hand"/>'
        '<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/><limit lower="-3" upper="3"/></joint></robot>'
    )
    model = poise.load(tmp_path / "sign.urdf")  # its mesh is four metres long, its bones a fifth of one
    motion = poise.Motion(model, np.linspace(-1.0, 1.0, 9)[:, None], 10.0)
    window = find_window(motion, None)
    points = np.concatenate([deform(p, model.frames, model.fk(q)) for p in find_pieces(model) for q in motion.q])
    flat = window.camera.project(points)
    assert len(points) > 9 * 8
    assert (flat.min(axis=0) >= (window.x[0], window.y[0])).all()
    assert (flat.max(axis=0) <= (window.x[1], window.y[1])).all()


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
    pytest.importorskip("mujoco", reason="MJCF needs mujoco: pip install 'poise-ik[formats]'")
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
