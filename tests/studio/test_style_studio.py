"""Style in the studio: from Rest to Style without a jump, goals cost nothing, clips of any body, undo, saved files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.errors import FormatError, InvalidValue
from poise.goals import Rest, Style
from poise.studio.puppet import Puppet
from poise.studio.styles.clips import StyleClip, is_alike, learn_style, prepare_clip, read_clips
from waiting import wait_until
from walkers import make_character
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

from poise.studio.panel.style_folder import describe_clips, write_style
from poise.studio.styles.postures import mix_postures
from poise.studio.web.studio import Studio

pytestmark = pytest.mark.slow

DRAGS = {"hand_l": (-0.1, 0.3, 0.3), "pelvis": (0.05, -0.12, 0.03), "head": (0.05, -0.1, 0.15)}
SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def make_slouch(frames: int = 120) -> poise.Motion:
    """A clip of somebody who slouches: the back bent, elbows bent, knees never straight."""
    model = poise.load("humanoid")
    q = []
    for t in np.linspace(0.0, 6.0, frames):
        dv = np.zeros(model.nv)
        for side, phase in (("l", 0.0), ("r", 1.5)):
            dv[model.joint(f"elbow_{side}").v] = -1.2 + 0.3 * np.sin(t + phase)
            dv[model.joint(f"knee_{side}").v] = 0.7 + 0.2 * np.sin(t)
            dv[model.joint(f"hip_{side}").v] = (-0.5 - 0.1 * np.sin(t), 0.0, 0.0)
        dv[model.joint("spine_1").v] = (0.3 + 0.1 * np.sin(2 * t), 0.0, 0.1 * np.cos(t))
        q.append(model.clamp(model.integrate(model.rest, dv)))
    return poise.Motion(model, np.array(q), 30.0)


@pytest.fixture(scope="module")
def slouch() -> poise.Motion:
    return make_slouch()


@pytest.fixture(scope="module")
def style(slouch: poise.Motion) -> Style:
    return Style.fit(slouch)


def drag(puppet: Puppet, handle: str, way: tuple[float, ...], frames: int = 60) -> None:
    """Drag a handle some way, let it settle, let it go."""
    start = puppet.transform(handle)[:3, 3]
    for k in range(frames):
        puppet.hold(handle, start + np.array(way) * min(1.0, k / 20))
        puppet.frame()
    puppet.let_go(handle)


def pull(style: Style | None, share: float, handle: str) -> Puppet:
    """Return a humanoid that was dragged in a style."""
    puppet = Puppet(poise.load("humanoid"))
    puppet.lean(style=style, share=share)
    drag(puppet, handle, DRAGS[handle])
    return puppet


@pytest.mark.parametrize("handle", DRAGS)
def test_the_slider_leads_from_the_rest_pose_to_the_style_and_costs_the_goals_nothing(style, handle):
    model = style.model
    plain = pull(None, 0.0, handle)
    poses = {share: pull(style, share, handle) for share in SHARES}
    assert (poses[0.0].q == plain.q).all()  # at 0 nothing has changed, not by one bit
    whole = model.difference(poses[0.0].q, poses[1.0].q)
    done = [float(model.difference(poses[0.0].q, poses[s].q) @ whole / (whole @ whole)) for s in SHARES]
    assert all(later > earlier for earlier, later in pairwise(done)), done
    assert 0.2 < done[SHARES.index(0.5)] < 0.85, done  # no end of the slider does all of it
    likely = [style.likelihood(poses[s].pose) for s in SHARES]
    assert likely[-1] > likely[3] > likely[0]
    for puppet in poses.values():
        wanted = puppet.find_target(handle)
        assert np.linalg.norm(puppet.transform(handle)[:3, 3] - wanted[:3]) < 1e-3
        for foot in puppet.planted:
            assert puppet.rig.solution.errors[foot][0] < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_postures_between_are_those_of_the_ends_at_the_ends(seed):
    model = random_model(seed, joints=6)
    rng = np.random.default_rng(seed)
    q = [np.array(model.clamp(model.integrate(model.rest, 0.2 * rng.normal(size=model.nv)))) for _ in range(8)]
    style, rest = Style.fit(poise.Motion(model, q)), Rest(q[0], gains=rng.uniform(0.5, 50.0, model.nv))
    assert mix_postures(model, rest, style, 0.0) == [rest]
    assert mix_postures(model, rest, style, 1.0) == [style]
    near = mix_postures(model, rest, style, 1e-9)
    assert near[0].gain(model) == pytest.approx(rest.gain(model), rel=1e-6)
    assert float(near[1].weight) < 1e-3


def test_a_body_without_targets_stays_and_a_slider_move_is_one_undo_step(style):
    puppet = Puppet(style.model)
    before = puppet.q
    puppet.lean(style=style, share=1.0)
    assert puppet.frame().moved == 0.0
    assert (puppet.q == before).all()
    drag(puppet, "hand_l", DRAGS["hand_l"])
    dragged = puppet.q
    for share in (0.8, 0.4, 0.0):
        puppet.lean(share=share)
        for _ in range(30):
            puppet.frame()
    straight = puppet.q
    assert np.abs(style.model.difference(dragged, straight)).max() > 0.1
    assert puppet.undo()
    assert (puppet.q == dragged).all()
    assert puppet.undo()
    assert (puppet.q == before).all()
    assert puppet.redo()
    assert puppet.redo()
    assert (puppet.q == straight).all()


def test_methods_without_priorities_say_that_they_leave_the_style_out(style):
    puppet = Puppet(style.model)
    puppet.lean(style=style, share=0.5)
    puppet.change(method=poise.methods.DLS())
    puppet.hold("hand_l", puppet.transform("hand_l")[:3, 3] + (0.0, 0.05, 0.0))
    assert "style" in puppet.frame().note


# ---------------------------------------------------------------------------------------------------- clips


def test_clips_of_the_same_rig_are_taken_as_they_are_and_others_are_retargeted(slouch, tmp_path):
    for name in ("one.bvh", "two.bvh"):
        poise.save(make_walk(40), tmp_path / name)
    first, second = (poise.load_motion(tmp_path / name) for name in ("one.bvh", "two.bvh"))
    assert first.model != second.model
    assert is_alike(first.model, second.model)
    clip = prepare_clip("two", second, first.model, lambda *_: None)
    assert (clip.motion.q == second.q).all()
    assert "this body" in clip.note
    assert not is_alike(make_character(), slouch.model)
    other = prepare_clip("one", first[:20], slouch.model, lambda *_: None)
    assert other.motion.model == slouch.model
    assert "carried over" in other.note
    refused = prepare_clip("arm", poise.Motion(poise.load("panda"), np.zeros((3, 7))), slouch.model, lambda *_: None)
    assert refused.motion is None
    assert refused.note


def test_files_of_every_kind_are_read(slouch, style, tmp_path):
    model = slouch.model
    for name in ("a.npz", "b.glb", "c.bvh"):
        poise.save(slouch[:20], tmp_path / name)
    poise.save(style, tmp_path / "style.npz")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for name in ("a.npz", "c.bvh"):
            packed.write(tmp_path / name, name)
    for name in ("a.npz", "b.glb", "c.bvh"):
        ((message, clip),) = read_clips(tmp_path / name, model)
        assert message == name
        assert len(clip) == 20
    (tmp_path / "inside").mkdir()
    for inside in (str(tmp_path / "inside"), ""):
        assert [name for name, _ in read_clips(tmp_path / "all.zip", model, inside)] == ["a.npz", "c.bvh"]
    ((_, saved),) = read_clips(tmp_path / "style.npz", model)
    assert isinstance(saved, Style)
    clip = prepare_clip("style.npz", saved, model, lambda *_: None)
    assert clip.style is saved
    assert len(clip.motion) == len(slouch)


def build_arm(scale: float = 1.0, turn: float = 1.0) -> poise.Model:
    """An arm of three joints, in some unit of length, its middle joint turning one way or the other."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("base", None, "free")
    for name, parent, axis in (("one", "base", (0, 0, 1)), ("two", "one", (0, turn, 0)), ("three", "two", (0, 0, 1))):
        builder.add_joint(name, parent, "revolute", axis=axis, offset=(0.3 * scale, 0.0, 0.1 * scale))
    builder.add_frame("tip", "three", (0.2 * scale, 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize(
    ("other", "alike"),
    [({}, True), ({"scale": 1.02}, True), ({"scale": 100.0}, False), ({"scale": 0.01}, False), ({"turn": -1.0}, False)],
)
def test_bodies_in_other_units_or_about_other_axes_are_others(other, alike):
    one, two = build_arm(), build_arm(**other)
    assert is_alike(one, two) == is_alike(two, one) == alike


def test_one_frame_is_one_frame_and_too_few(slouch):
    clip = prepare_clip("pose", slouch[:1], slouch.model, lambda *_: None)
    assert clip.note.startswith("1 frame of")
    assert learn_style([clip], slouch.model) is None
    assert "two frames" in describe_clips([clip], None, "")
    assert "two frames" not in describe_clips([StyleClip("broken", None, "cannot be read")], None, "")


# ---------------------------------------------------------------------------------------------------- the studio


@pytest.fixture(scope="module")
def studio(slouch) -> Iterator[Studio]:
    with Studio("humanoid", port=18071, shadows=False, style=slouch) as running:
        yield running


def test_the_studio_learns_in_the_background_and_reports_it(studio, slouch, tmp_path):
    folder = studio.panel.pose.style
    styling = folder.styles
    assert wait_until(lambda: styling.style is not None and styling.background.task is None)
    assert styling.share == 1.0
    assert wait_until(lambda: f"Learned from {len(slouch)} frames" in folder.words.content)
    poise.save(make_walk(40), tmp_path / "walk.npz")
    styling.open_upload("walk.npz", (tmp_path / "walk.npz").read_bytes())
    styling.open_upload("../broken.bvh", b"HIERARCHY\nnothing")  # while the first is still being learned
    assert wait_until(lambda: len(styling.clips) == 3 and styling.background.task is None)
    assert len(styling.style) == len(slouch) + 40
    assert styling.clips[2].motion is None
    assert "broken.bvh" in folder.words.content
    assert "poise-upload" not in folder.words.content
    again = Style.load(io_file(tmp_path, write_style(styling.style)))
    assert len(again) == len(styling.style)
    for wrong in ("x", None, np.nan, True, 1j):
        with pytest.raises(InvalidValue, match="share is"):
            styling.share = wrong
    styling.forget()
    assert styling.style is None
    assert studio.puppet.settings.share == 0.0


def io_file(folder, content: bytes):
    """Write bytes to a file."""
    path = folder / "again.npz"
    path.write_bytes(io.BytesIO(content).getvalue())
    return path


def test_another_body_forgets_the_style(studio, slouch):
    styling = studio.styles
    studio.learn_style(slouch)
    assert wait_until(lambda: styling.style is not None)
    studio.show("panda")
    assert styling.style is None
    assert not styling.clips
    studio.show("humanoid")


def test_a_missing_clip_is_rejected_before_a_page_is_served():
    with pytest.raises(FormatError, match=r"nowhere\.bvh"):
        Studio("humanoid", port=18072, style=["nowhere.bvh"])
