"""Robot motions in the layouts of other tools: read for a given body, rejected with a message without one."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import FormatError, FormatWarning
from poise.spatial import Rotation
from walkers import make_character, make_machine

BODIES = {
    "machine": make_machine,
    "bent": lambda: make_machine(bend=0.3, nods=True),
    "character": make_character,
    "humanoid": lambda: poise.load("humanoid"),
    "turned": lambda: poise.load("humanoid", up="z"),
}


def sway(model, frames=7, fps=30.0, seed=0):
    """A motion in which everything moves, the root most."""
    steps = np.random.default_rng(seed).normal(size=(frames, model.nv))
    return Motion(model, model.clamp(model.integrate(model.rest, 0.4 * steps)), fps)


def place_all(motion):
    """Where all frames are, (frames, frames of the body, 4, 4)."""
    return motion.model.fk(motion.q)


@pytest.mark.parametrize("name", list(BODIES))
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_what_is_saved_in_a_style_is_read_back_for_its_body(name, tmp_path):
    model = BODIES[name]()
    motion = sway(model)
    for style, file in (("unitree", "walk.csv"), ("gmr", "walk.npz")):
        back = poise.load_motion(poise.save(motion, tmp_path / file, style=style), model=model)
        assert back.fps == motion.fps
        np.testing.assert_allclose(place_all(back), place_all(motion), atol=2e-8)
        np.testing.assert_allclose(np.abs(model.difference(motion.q, back.q)).max(), 0.0, atol=2e-8)


def test_both_styles_name_the_joints(tmp_path):
    model = make_machine()
    head = poise.save(sway(model), tmp_path / "a.csv", style="unitree").read_text().splitlines()[0]
    names = np.load(poise.save(sway(model), tmp_path / "a.npz", style="gmr"))["joint_names"].tolist()
    assert head == "# " + ",".join(["x", "y", "z", "qx", "qy", "qz", "qw", *names])
    assert names == [joint.name for joint in model.joints if joint.nq == 1]
    assert np.loadtxt(tmp_path / "a.csv", delimiter=",").shape == (7, model.nq)


def test_the_quaternion_of_a_row_has_its_real_part_last(tmp_path):
    model = make_machine()
    row = np.concatenate([[1.0, 2.0, 3.0], Rotation.from_axis_angle((0.0, 0.0, 1.0), 1.0).wxyz[[1, 2, 3, 0]]])
    np.savetxt(tmp_path / "a.csv", np.concatenate([row, model.rest[7:]])[None], delimiter=",")
    back = poise.load_motion(tmp_path / "a.csv", model=model)
    np.testing.assert_allclose(back.q[0, :7], [1.0, 2.0, 3.0, np.cos(0.5), 0.0, 0.0, np.sin(0.5)], atol=1e-12)


def test_gmr_has_a_frame_rate_and_unitree_has_none(tmp_path):
    model = make_machine()
    motion = sway(model, fps=50.0)
    assert poise.load_motion(poise.save(motion, tmp_path / "a.npz", style="gmr"), model=model).fps == 50.0
    with pytest.warns(FormatWarning, match="neither 'time' nor 'fps'; 30 frames per second"):
        assert poise.load_motion(poise.save(motion, tmp_path / "a.csv", style="unitree"), model=model).fps == 30.0


@pytest.mark.parametrize(("style", "file"), [("unitree", "a.csv"), ("gmr", "a.npz")])
def test_rows_without_names_are_rejected_without_a_body_and_for_another_one(style, file, tmp_path):
    model = make_machine()
    path = poise.save(sway(model), tmp_path / file, style=style)
    with pytest.raises(FormatError, match=rf"has {model.nq} numbers a frame and no names.*model=poise.load"):
        poise.load_motion(path)
    other = make_machine(hands=False)
    words = rf"has {model.nq} numbers a frame; model 'machine' needs {other.nq}: .*{other.nq - 7} of its joints"
    with pytest.raises(FormatError, match=words):
        poise.load_motion(path, model=other)


def test_what_stands_for_a_quaternion_must_be_one(tmp_path):
    model = make_machine()
    rows = np.tile(model.rest, (3, 1))
    rows[:, 3:7] = (0.0, 0.0, 0.0, 1.0)
    rows[1, 3:7] = 0.5, 0.0, 0.0, 0.0
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",")
    with pytest.raises(FormatError, match=r"quaternion of frame 1 .* has length 0\.5; it must be 1"):
        poise.load_motion(tmp_path / "a.csv", model=model)
    short = {"root_pos": rows[:, :3], "root_rot": rows[:2, 3:7], "dof_pos": rows[:, 7:]}
    with (tmp_path / "a.npz").open("wb") as file:
        np.savez(file, **short)
    with pytest.raises(FormatError, match=r"needs 'root_pos' \(frames, 3\)"):
        poise.load_motion(tmp_path / "a.npz", model=model)


@pytest.mark.filterwarnings("ignore:.*30 frames per second")
def test_rows_without_names_of_a_body_that_is_fixed_are_its_numbers_in_order(tmp_path):
    panda = poise.load("panda")
    q = np.linspace(panda.rest, panda.rest + 0.1, 4)
    np.savetxt(tmp_path / "a.csv", q, delimiter=",", fmt="%.17g")
    with pytest.warns(FormatWarning, match="does not name its 7 columns"):
        back = poise.load_motion(tmp_path / "a.csv", model=panda)
    np.testing.assert_array_equal(back.q, q)


@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_what_else_stands_in_a_file_of_gmr_is_not_looked_at(tmp_path):
    model = make_machine()
    motion = sway(model)
    arrays = dict(np.load(poise.save(motion, tmp_path / "walk.npz", style="gmr")))
    arrays["fps"] = np.reshape(arrays["fps"], -1)[:1]
    others = {"local_body_pos": np.zeros((5, 3)), "link_body_list": np.array(["a", "b"]), "notes": np.array(None)}
    for name, value in others.items():
        np.savez(tmp_path / "more.npz", **arrays, **{name: value})
        back = poise.load_motion(tmp_path / "more.npz", model=model)
        assert back.fps == motion.fps
        np.testing.assert_allclose(place_all(back), place_all(motion), atol=2e-8)


def test_a_body_with_a_fixed_base_is_rejected_with_advice(tmp_path):
    motion = sway(make_machine())
    path = poise.save(motion, tmp_path / "walk.csv", style="unitree")
    rows = np.loadtxt(path, delimiter=",")[:, : 7 + poise.load("ur5e").nq]
    np.savetxt(path, rows, delimiter=",")
    with pytest.raises(FormatError, match="base='free'"):
        poise.load_motion(path, model=poise.load("ur5e"))
