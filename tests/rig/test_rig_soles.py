"""A foot touches the ground with the same points for everybody: roles, rig, and the motions of a body."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import looks_files as made
import poise
import walkers
from known_bodies import Maker, Plan, scramble
from poise.kinematics.parts import find_place, find_rigid_parts
from poise.model import Box, Capsule, Model, Sphere
from poise.motion.contact.soles import find_soles

WORDS = ("heel", "toe", "sole_1", "sole_2", "sole_3", "sole_4")


def make_robot(feet: str) -> Model:
    """A robot whose feet are of some solids."""
    maker = Maker(Plan())
    maker.make()
    for side in "lr":
        foot = maker.roles[f"foot_{side}"]
        for x, y in ((-0.07, -0.03), (-0.07, 0.03), (0.13, -0.03), (0.13, 0.03)):
            if feet == "balls":
                maker.builder.add_shape(foot, Sphere(0.01), offset=(x, y, -0.07))
        if feet == "bars":
            for y in (-0.03, 0.03):
                along = poise.Transform(poise.Rotation.from_vector((0.0, np.pi / 2, 0.0)), (0.03, y, -0.06))
                maker.builder.add_shape(foot, Capsule(0.02, 0.2), offset=along)
        if feet in ("both", "visual"):
            maker.builder.add_shape(foot, Box((0.2, 0.06, 0.02)), offset=(0.03, 0.0, -0.07), use=feet)
    return maker.builder.build()


def make_mesh_robot(folder: Path) -> Model:
    """A robot with feet of a mesh whose file says that Y is up, and means it."""
    (folder / "foot.dae").write_bytes(made.dae().replace(b"Z_UP", b"Y_UP"))
    maker = Maker(Plan())
    model, roles = maker.make()
    poise.save(model, folder / "robot.urdf")
    text = (folder / "robot.urdf").read_text()
    mesh = '<mesh filename="foot.dae" scale="0.24 0.03 0.04"/>'  # turned: 24 cm, 9 cm and 8 cm, the ankle on its top
    for side in "lr":
        name = f'<link name="{roles[f"foot_{side}"]}">'
        seen = f'<visual><origin xyz="-0.08 0.045 -0.08" rpy="0 0 0"/><geometry>{mesh}</geometry></visual>'
        text = text.replace(name, name + seen)
    (folder / "robot.urdf").write_text(text)
    return poise.load(folder / "robot.urdf", base="free")


BODIES: dict[str, Callable[[], Model]] = {
    "humanoid": lambda: poise.load("humanoid"),
    "machine": walkers.make_machine,
    "character": walkers.make_character,
    "balls": lambda: make_robot("balls"),
    "bars": lambda: make_robot("bars"),
    "box": lambda: make_robot("both"),
    "seen": lambda: make_robot("visual"),
    "scrambled": lambda: scramble(make_robot("balls"), 3)[0],
}


def check_points(model: Model) -> int:
    """Hold the soles of a rig and of motions against the contact points; return how many were looked at."""
    rig, contacts = poise.Rig(model), poise.roles(model).contacts
    known = {name: find_place(model, (c.frame, c.point)) for name, c in contacts.items() if name.startswith(WORDS)}
    parts, checked = find_rigid_parts(model), 0
    for name in rig.handles.feet.names:
        foot = rig.handles.feet[name]
        points = [point for point in foot.sole if point != (foot.toes, (0.0, 0.0, 0.0))]
        side = next(word.rpartition("_")[2] for word, c in contacts.items() if parts[c.frame] == parts[foot.frame])
        wanted = [place for word, place in known.items() if word.endswith(f"_{side}")]
        places = [find_place(model, point) for point in points]
        far = np.linalg.norm(np.array(places)[:, None] - np.array(wanted)[None], axis=-1)
        assert far.min(axis=1).max() < 1e-9 * model.length, "every point of the rig is a contact point"
        assert far.min(axis=0).max() < 1e-9 * model.length, "and every contact point is one of the rig"
        checked += len(points)
    for sole in find_soles(model):
        if contacts[sole.name].evidence != "bones":
            assert np.allclose(find_place(model, (sole.frame, sole.point)), known[sole.name])
            checked += 1
    return checked


@pytest.mark.parametrize("name", BODIES)
def test_rig_roles_and_motions_know_the_same_contact_points(name: str) -> None:
    assert check_points(BODIES[name]()) >= (4 if name in ("humanoid", "character") else 12)


@pytest.mark.slow
def test_a_foot_of_a_mesh_is_known_as_it_is_drawn(tmp_path: Path) -> None:
    assert check_points(make_mesh_robot(tmp_path)) >= 12


@pytest.mark.parametrize("name", ["balls", "bars", "box", "seen"])
def test_nothing_of_a_foot_that_rolls_goes_below_its_lowest_point(name: str) -> None:
    model = BODIES[name]()
    rig = poise.Rig(model)
    for handle in rig.handles.feet.names:
        foot = rig.handles.feet[handle]
        assert foot.side is not None
        ball, up, side = np.array(foot.ball), np.array(foot.up), np.array(foot.side)
        points = [np.array(c.point) for c in poise.roles(model).contacts.values() if c.frame == foot.frame]
        for angle in (0.1, 0.3):
            R = poise.Rotation.from_vector(side * angle).matrix
            assert min(float((R @ (point - ball)) @ up) for point in points) > -1e-9
