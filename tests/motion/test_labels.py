"""Labels of a solved clip for training: contacts, velocities and balance, also as columns of tables."""

import dataclasses

import numpy as np
import pytest

import poise
from poise import Motion
from poise.formats.tables.motions import read_table, write_motion
from poise.motion import Contact, Contacts, lock
from poise.motion.clips.labels import label_frames, measure_inside
from walks import make_walk


def test_the_distance_from_the_edge_of_a_hull():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    cases = [((0.5, 0.5), 0.5), ((0.9, 0.5), 0.1), ((1.0, 0.3), 0.0), ((1.3, 0.5), -0.3), ((1.3, 1.4), -0.5)]
    middle, wanted = np.array([place for place, _ in cases]), [far for _, far in cases]
    np.testing.assert_allclose(measure_inside(np.tile(square, (len(cases), 1, 1)), middle), wanted, atol=1e-12)
    line = np.array([[[0.0, 0.0], [1.0, 0.0]]])
    np.testing.assert_allclose(measure_inside(line, np.array([[0.5, 0.2]])), [-0.2], atol=1e-12)
    np.testing.assert_allclose(measure_inside(line[:, :1], np.array([[0.0, 0.0]])), [0.0], atol=1e-12)


def test_labels_of_a_stance():
    model = poise.load("humanoid")
    points = poise.roles(model).contacts
    standing = Motion(model, np.tile(model.rest, (4, 1)), 30.0)
    feet = [Contact(points[n].frame, 0, 3, point=points[n].point, name=n) for n in points if n[:4] in ("heel", "toe_")]
    labels = label_frames(standing, Contacts(tuple(feet), 4, 30.0))
    assert labels["contact.heel_l"].tolist() == [True, True, True, False]
    assert np.isnan(labels["balance.m"]).tolist() == [False, False, False, True]
    assert labels["balance.m"][:3] == pytest.approx(0.092, abs=0.005)
    assert all((labels[name] == 0.0).all() for name in labels if name.startswith("velocity."))


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_tables_have_the_labels_and_are_read_as_motions(tmp_path, suffix):
    track = lock(make_walk(24))
    path = poise.save(track, tmp_path / f"walk.{suffix}")
    table, labels = read_table(path), track.label_frames()
    assert set(labels) < set(table.columns)
    for name, column in labels.items():
        np.testing.assert_array_equal(np.asarray(table.columns[name], float), np.asarray(column, float))
    again = poise.load_motion(path, model=track.motion.model)
    np.testing.assert_array_equal(again.q, track.motion.q)
    assert any(name.startswith("contact.") for name in labels)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_a_clip_that_leaves_the_floor_is_read_again(tmp_path, suffix):
    """The balance is undefined in the air: NaN, or an empty cell if another program saved the table."""
    model = poise.load("humanoid")
    points = poise.roles(model).contacts
    motion = Motion(model, np.tile(model.rest, (4, 1)), 30.0)
    heel = points["heel_l"]
    contacts = Contacts((Contact(heel.frame, 0, 2, point=heel.point, name="heel_l"),), 4, 30.0)
    track = dataclasses.replace(lock(motion, contacts=contacts), contacts=contacts)
    path = poise.save(track, tmp_path / f"hop.{suffix}")
    assert np.isnan(read_table(path).columns["balance.m"]).tolist() == [False, False, True, True]
    if suffix == "csv":
        path.write_text(path.read_text().replace("nan", ""))
        assert np.isnan(read_table(path).columns["balance.m"]).tolist() == [False, False, True, True]
    np.testing.assert_array_equal(poise.load_motion(path, model=model).q, track.motion.q)


def test_a_clip_without_contacts_has_no_balance():
    arm = poise.load("panda")
    assert "balance.m" not in label_frames(Motion(arm, np.tile(arm.rest, (3, 1)), 30.0), Contacts((), 3, 30.0))


def test_the_balance_is_in_metres_in_every_unit():
    found = []
    for units, length in (("m", 1.0), ("cm", 100.0)):
        builder = poise.ModelBuilder("stool")
        builder.units = units
        builder.add_joint("base", None, "free", mass=1.0)
        for k, place in enumerate([(1, 0), (-1, 1), (-1, -1)]):
            builder.add_frame(f"foot_{k}", "base", (*(length * np.array(place)), 0.0))
        model = builder.build()
        feet = tuple(Contact(f"foot_{k}", 0, 2, point=(0.0, 0.0, 0.0), name=f"foot_{k}") for k in range(3))
        motion = Motion(model, np.tile(model.rest, (2, 1)), 30.0)
        found.append(label_frames(motion, Contacts(feet, 2, 30.0))["balance.m"])
    assert found[0] == pytest.approx(1.0 / np.sqrt(5.0))  # the sides y = (1 - x) / 2 and x = -1
    assert found[1] == pytest.approx(found[0])


def test_a_joint_named_like_a_label_keeps_its_column(tmp_path):
    builder = poise.ModelBuilder("odd")
    for name in ("a", "velocity.a"):
        builder.add_joint(name, None if name == "a" else "a", "revolute", axis=(0, 0, 1))
    motion = Motion(builder.build(), [[0.1, 0.2], [0.3, 0.5]], 30.0)
    write_motion(motion, tmp_path / "odd.csv", label_frames(motion, Contacts((), 2, 30.0)))
    np.testing.assert_array_equal(poise.load_motion(tmp_path / "odd.csv", model=motion.model).q, motion.q)
