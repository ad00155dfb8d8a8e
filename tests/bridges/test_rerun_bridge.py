"""The bridge to Rerun: recordings are written to a file, read back, and compared with the body.

Tests that write recordings need rerun-sdk (`make test-bridges`); the others run everywhere.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import poise
from bodies import random_model
from hostile_names import make_body
from lifting import lift
from looks_files import SQUARES, robot, strip
from poise.bridges.rerun import draw_mark, find_local, find_tree, log
from poise.errors import InvalidValue
from poise.goals import Balance, LookAt, Reach
from poise.kinematics import MotionWithObjects
from poise.model.geometry.looks import deform
from poise.motion import Contact, Contacts, lock
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import find_pieces
from poise.pictures.marks import find_marks
from poise.spatial import Rotation, Transform
from walks import make_walk

FLOAT = 2e-6  # m: Rerun keeps single precision, and errors add up along the tree


@dataclass
class Chunk:
    """Rows of one entity, as sent at once: times by timeline, and lists of instances by component."""

    static: bool
    times: dict
    rows: dict


class Tape:
    """A recording, and what is in its file once it is closed."""

    def __init__(self, path):
        self.rr = pytest.importorskip("rerun", reason="rerun-sdk is missing: type make test-bridges")
        self.path, self.stream = path, self.rr.RecordingStream("poise")
        self.stream.save(path)

    def log(self, entity, thing):
        log(entity, thing, recording=self.stream)
        return self

    def read(self):
        from rerun.chunk import RrdReader

        self.stream.flush()
        self.stream.disconnect()
        self.entities: dict[str, list[Chunk]] = {}
        for chunk in RrdReader(self.path).stream().to_chunks():
            table = chunk.to_record_batch().to_pydict()
            times = {name: table[name] for name in chunk.timeline_names}
            rows = {name: column for name, column in table.items() if ":" in name}
            self.entities.setdefault(str(chunk.entity_path), []).append(Chunk(chunk.is_static, times, rows))
        return self

    def find(self, entity, name, *, static=None, timeline=None):
        """The rows of a component: those of the last log win."""
        found = [
            chunk
            for chunk in self.entities[entity]
            if name in chunk.rows and static in (None, chunk.static) and (timeline is None or timeline in chunk.times)
        ]
        assert found, (entity, name, list(self.entities))
        return found[-1].rows[name] if timeline is None else (found[-1].times[timeline], found[-1].rows[name])

    def find_by_time(self, entity, name):
        """The rows of a component by their time [s], from all chunks."""
        chunks = [chunk for chunk in self.entities[entity] if name in chunk.rows and "time" in chunk.times]
        pairs = [zip(seconds(chunk.times["time"]), chunk.rows[name], strict=True) for chunk in chunks]
        return dict(pair for some in pairs for pair in some)

    def name(self, path, model, frame):
        """The entity of a frame below a path."""
        return self.rr.new_entity_path([*path.split("/")[1:], *reversed(model.ancestors(frame))])

    def read_frames(self, path, model):
        """The transforms of all frames in the world, (rows, frames, 4, 4), multiplied along the tree."""
        T: dict[str | None, np.ndarray] = {None: np.eye(4)[None]}
        for frame in sorted(model.frames, key=lambda name: len(model.ancestors(name))):
            entity = self.name(path, model, frame)
            places = np.array(self.find(entity, "Transform3D:translation"))[:, 0]
            xyzw = np.array(self.find(entity, "Transform3D:quaternion"), np.float64)[:, 0]
            local = np.tile(np.eye(4), (len(places), 1, 1))
            local[:, :3, :3], local[:, :3, 3] = Rotation.from_xyzw(xyzw).matrix, places
            T[frame] = T[model.frame(frame).parent] @ local
        return np.stack(np.broadcast_arrays(*(T[frame] for frame in model.frames)), axis=1)

    def find_meshes(self, prefix=""):
        """The entities that have triangles, with how often they were sent."""
        sent = {
            entity: sum(len(chunk.rows.get("Mesh3D:triangle_indices", ())) for chunk in chunks)
            for entity, chunks in self.entities.items()
        }
        return {entity: n for entity, n in sent.items() if n and entity.startswith(prefix)}


@pytest.fixture
def tape(tmp_path):
    return Tape(tmp_path / "test.rrd")


def find_box(points):
    """The lowest and highest corner of points, rounded so that boxes can be sorted."""
    return np.round([*points.min(axis=0), *points.max(axis=0)], 5).tolist()


def seconds(column):
    return [value.total_seconds() for value in column]


# ------------------------------------------------------------------------------------------------ without Rerun


def test_another_thing_is_rejected_with_what_is_logged():
    with pytest.raises(InvalidValue, match=r"log cannot log 'dance.bvh'.*Motion.*Solution.*load\(path\)"):
        log("dancer", "dance.bvh")
    with pytest.raises(InvalidValue, match="path is 3; it must be an entity path"):
        log(3, poise.load("planar2"))
    with pytest.raises(InvalidValue, match="path is '/'"):
        log("/", poise.load("planar2"))


@pytest.mark.parametrize("model", [random_model(0), random_model(1), poise.load("humanoid"), poise.load("ur5e")])
def test_local_transforms_multiply_to_those_of_frames(model):
    parents, moving, still = find_tree(model)
    assert sorted([*moving, *still]) == list(range(len(model.frames)))
    T = np.asarray(model.fk(model.random(np.random.default_rng(0), 3)))
    local = find_local(T, parents, np.arange(len(model.frames)))
    for k, parent in enumerate(parents):
        whole = local[:, k] if parent < 0 else T[:, parent] @ local[:, k]
        np.testing.assert_allclose(whole, T[:, k], atol=1e-12)
    np.testing.assert_allclose(local[1:, still], np.broadcast_to(local[:1, still], local[1:, still].shape), atol=1e-12)


def test_a_missed_place_has_a_line_and_a_reached_one_has_none():
    human, arm = poise.load("humanoid"), poise.load("ur5e")
    goals = [Reach("hand_l", (0.4, 1.2, 0.3)), LookAt("eyes", (0.1, 1.5, 2.0)), Balance(["foot_l", "foot_r"])]
    marks = {mark.kind: draw_mark(mark, 0.01) for mark in find_marks(poise.solve(human, goals))}
    counts = {kind: (len(points), len(lines)) for kind, (points, lines) in marks.items()}
    assert counts == {"place": (1, 0), "gaze": (1, 1), "mass": (2, 1), "support": (0, 1)}
    np.testing.assert_allclose(marks["place"][0], [(0.004, 0.012, 0.003)])
    np.testing.assert_allclose(marks["gaze"][0], [(0.001, 0.015, 0.02)])
    outline = marks["support"][1][0]
    np.testing.assert_array_equal(outline[0], outline[-1])
    missed = poise.solve(arm, [Reach("tool0", (3.0, 0.0, 0.0))])
    _, [line] = draw_mark(find_marks(missed)[0], 1.0)
    np.testing.assert_allclose(line, [(3.0, 0.0, 0.0), arm.fk(missed.q, "tool0")[:3, 3]])


# ------------------------------------------------------------------------------------------------ bodies


def test_the_transforms_of_a_walk_are_those_of_the_body(tape):
    walk = make_walk(frames=40)
    tape.log("world/man", walk).read()
    np.testing.assert_allclose(tape.read_frames("/world/man", walk.model), walk.model.fk(walk.q), atol=FLOAT)
    times, _ = tape.find("/world/man/pelvis", "Transform3D:translation", timeline="time")
    np.testing.assert_allclose(seconds(times), walk.times, atol=1e-6)
    assert tape.find("/", "ViewCoordinates:xyz", static=True) == [[[3, 1, 6]]]  # right, up, back: y is up
    assert set(tape.find_meshes().values()) == {1}


def test_flesh_is_where_the_body_has_it(tape):
    arm = poise.load("ur5e")
    tape.log("arm", arm).read()
    found = [np.array(tape.find(entity, "Mesh3D:vertex_positions", static=True)[0]) for entity in tape.find_meshes()]
    expected = [part.surface.vertices for part in find_flesh(arm)]
    np.testing.assert_allclose(sorted(map(find_box, found)), sorted(map(find_box, expected)), atol=1e-5)


def test_poses_in_a_loop_send_meshes_once_and_a_model_sends_them_again(tape):
    arm = poise.load("planar3")
    for k in range(3):
        tape.stream.set_time("time", duration=0.1 * k)
        tape.log("arm", poise.Pose(arm, [0.1 * k, 0.2, 0.3]))
    tape.log("other", poise.Pose(arm)).log("again", arm).log("again", arm).read()
    assert {n for entity, n in tape.find_meshes("/arm").items()} == {1}
    assert {n for entity, n in tape.find_meshes("/other").items()} == {1}
    assert {n for entity, n in tape.find_meshes("/again").items()} == {2}
    assert sorted(tape.find_by_time("/arm/base/joint_1", "Transform3D:translation")) == [0.0, 0.1, 0.2]


def test_names_are_escaped_and_do_not_collide(tape):
    hostile = make_body()
    builder = poise.ModelBuilder("collisions")
    for above, name in ((None, "goals"), ("goals", "mesh_0"), ("mesh_0", "a/b")):
        builder.add_joint(name, above, "revolute", offset=(0.0, 0.0, 0.4), axis=(1.0, 0.0, 0.0), lower=-1.0, upper=1.0)
    clash = builder.add_frame("tip", "a/b", (0.0, 0.0, 0.4)).build()
    tape.log("hostile", poise.Pose(hostile)).log(
        "clash", poise.solve(clash, [Reach("tip", (0.0, 0.3, 0.9), name="my/goal")])
    ).read()
    np.testing.assert_allclose(tape.read_frames("/hostile", hostile), hostile.fk([hostile.rest]), atol=FLOAT)
    assert r"/clash/goals_/my\/goal/place" in tape.entities
    assert not {
        entity for entity in tape.find_meshes("/clash") if "Transform3D:translation" in str(tape.entities[entity])
    }


def test_lengths_are_in_metres(tape):
    builder = poise.ModelBuilder("tall")
    builder.add_joint("lift", None, "prismatic", axis=(0.0, 0.0, 1.0), lower=0.0, upper=300.0)
    given = builder.add_frame("tip", "lift", (0.0, 0.0, 50.0)).build()
    body = poise.Model("tall", given.layout.specs, attached=replace(given.attachments, units="cm"))
    tape.log("body", poise.Motion(body, [[100.0], [200.0]]))
    tape.log("goal", poise.solve(body, [Reach("tip", (0.0, 0.0, 400.0))])).read()
    np.testing.assert_allclose(tape.read_frames("/body", body)[:, -1, 2, 3], [1.5, 2.5], atol=FLOAT)
    line = [[[0.0, 0.0, 4.0], [0.0, 0.0, 3.5]]]
    np.testing.assert_allclose(tape.find("/goal/goals/tip/place", "LineStrips3D:strips"), [line], atol=FLOAT)


def test_meshes_of_a_file_keep_their_place(tape, tmp_path):
    packages = [tmp_path / "elsewhere" / "hand_description"]
    arm = poise.load(robot(tmp_path), package_path=packages)
    tape.log("arm", poise.Pose(arm)).read()
    names = {tape.name("/arm", arm, frame): k for k, frame in enumerate(arm.frames)}
    T, found = tape.read_frames("/arm", arm)[0], []
    for entity in tape.find_meshes():
        frame = T[names[entity.rpartition("/")[0]]]
        points = np.array(tape.find(entity, "Mesh3D:vertex_positions", static=True)[0])
        found.append(points @ frame[:3, :3].T + frame[:3, 3])
    expected = [deform(piece, arm.frames, arm.fk(arm.rest)) for piece in find_pieces(arm)]
    assert len(found) == 4
    for points, other in zip(np.array(sorted(map(find_box, found))), sorted(map(find_box, expected)), strict=True):
        np.testing.assert_allclose(points, other, atol=1e-5)


def test_skins_deform_with_the_body(tape, tmp_path):
    file, *_ = strip(texture=SQUARES)
    file.glb(tmp_path / "strip.glb")
    motion = poise.load_motion(tmp_path / "strip.glb")
    tape.log("strip", motion).read()
    [piece] = find_pieces(motion.model)
    times, rows = tape.find("/strip/skin_0", "Mesh3D:vertex_positions", timeline="time")
    assert len(times) == len(motion)
    np.testing.assert_allclose(rows, deform(piece, motion.model.frames, motion.model.fk(motion.q)), atol=1e-5)
    assert "Mesh3D:vertex_positions" not in next(c for c in tape.entities["/strip/skin_0"] if c.static).rows
    assert tape.find("/strip/skin_0", "Mesh3D:albedo_texture_buffer", static=True)


def test_objects_move_with_the_motion(tape):
    walk, path = make_walk(frames=24), lift()
    box = poise.Object(poise.model.Box((0.3, 0.2, 0.2)), path, name="parcel")
    tape.log("man", MotionWithObjects(walk.model, walk.q[:24], walk.fps, [box])).read()
    _, rows = tape.find("/man/objects/parcel", "Transform3D:translation", timeline="time")
    np.testing.assert_allclose(np.array(rows)[:, 0], path[:, :3, 3], atol=FLOAT)
    corners = np.array(tape.find("/man/objects/parcel", "Mesh3D:vertex_positions")[0])
    np.testing.assert_allclose(np.ptp(corners, axis=0), (0.3, 0.2, 0.2), atol=1e-6)


# ------------------------------------------------------------------------------------------------ results


def test_a_missed_goal_is_explained_until_it_is_reached(tape):
    arm, solutions = poise.load("ur5e"), []
    for k, target in enumerate([(3.0, 0.0, 0.0), (0.4, 0.2, 0.3)]):
        tape.stream.set_time("time", duration=float(k))
        solutions.append(poise.solve(arm, [Reach("tool0", target, name="goal")]))
        tape.log("arm", solutions[-1])
    tape.read()
    missed = arm.fk(solutions[0].q, "tool0")[:3, 3]
    lines = tape.find_by_time("/arm/goals/goal/place", "LineStrips3D:strips")
    np.testing.assert_allclose(lines[0.0], [[(3.0, 0.0, 0.0), missed]], atol=FLOAT)
    assert lines[1.0] == []
    assert tape.find_by_time("/arm/why", "TextDocument:text") == {0.0: [solutions[0].why()], 1.0: [""]}


def test_a_recorded_search_is_on_its_own_timeline(tape):
    arm = poise.load("panda")
    T = arm.fk(arm.rest, "panda_hand_tcp") @ Transform.from_translation((0.1, 0.1, 0.1)).matrix
    solution = poise.solve(arm, [Reach("panda_hand_tcp", T, name="goal")], record=True)
    tape.log("arm", solution).read()
    steps, errors = tape.find("/arm/errors/goal", "Scalars:scalars", timeline="step")
    assert steps == list(range(len(solution.history)))
    np.testing.assert_allclose(errors, solution.history.errors[:, 0], atol=1e-12)
    first, *_ = tape.find("/arm/goals/goal/place", "Arrows3D:vectors", timeline="step")
    assert first == [0]


def test_contacts_are_points_while_they_last(tape):
    walk = make_walk()
    track = lock(walk, contacts="auto")
    tape.log("man", track).read()
    for name in {contact.name for contact in track.contacts}:
        times, rows = tape.find(f"/man/contacts/{name}", "Points3D:positions", timeline="time")
        for t in range(len(walk)):
            shown = rows[np.searchsorted(np.array(seconds(times)) - 1e-6, t / walk.fps, side="right") - 1]
            before = t / walk.fps < seconds(times)[0] - 1e-6
            held = [contact for contact in track.contacts.list_at(t) if contact.name == name]
            assert len([] if before else shown) == len(held)
            for place, contact in zip(shown, held, strict=False):
                np.testing.assert_allclose(place, contact.place, atol=1e-6)
    assert tape.find("/man/why", "TextDocument:text") == [[track.why()]]


def test_contacts_alone_need_places(tape):
    ledger = Contacts((Contact("foot_l", 0, 5, place=(0.0, 0.0, 1.0)), Contact("foot_r", 3, 9)), 10, 30.0)
    with pytest.raises(InvalidValue, match="contact 'foot_r' has no place"):
        tape.log("man", ledger)
    tape.log("man", ledger.remove(1)).read()
    assert tape.find("/man/foot_l", "Points3D:positions", timeline="time")[1] == [[[0.0, 0.0, 1.0]], []]


def test_batches_and_answers_are_rows(tape):
    arm = poise.load("ur5e")
    targets = np.asarray(arm.fk(arm.random(np.random.default_rng(1), 5), "tool0"))
    batch = poise.solve_batch(arm, [Reach("tool0", targets[0])], targets)
    answers = poise.solve_all(arm, Reach("tool0", targets[0]))
    tape.log("batch", batch).log("answers", answers).read()
    np.testing.assert_allclose(tape.read_frames("/batch", arm), arm.fk(batch.q), atol=FLOAT)
    np.testing.assert_allclose(tape.read_frames("/answers", arm), arm.fk(answers.q), atol=FLOAT)
    assert tape.find("/batch/errors/tool0", "Scalars:scalars", timeline="row")[0] == [0, 1, 2, 3, 4]


def test_nothing_to_log_is_an_error(tape):
    arm = poise.load("ur5e")
    T = np.asarray(arm.fk(arm.rest, "tool0"))
    far = Transform.from_translation((5.0, 0.0, 0.0)).matrix
    batch = poise.solve_batch(arm, [Reach("tool0", T)], np.zeros((0, 4, 4)))
    for empty in (poise.Motion(arm, np.zeros((0, 6))), batch, poise.solve_all(arm, Reach("tool0", far))):
        with pytest.raises(InvalidValue, match="there are no poses to log"):
            tape.log("arm", empty)


def test_recordings_are_checked(tape):
    with pytest.raises(InvalidValue, match=r"no recording is active; type rr.init"):
        log("arm", poise.load("planar2"))
    with pytest.raises(InvalidValue, match=r"recording is 'a.rrd'; it must be a rerun.RecordingStream"):
        log("arm", poise.load("planar2"), recording="a.rrd")
    with tape.stream:
        log("arm", poise.load("planar2"))
    assert "/arm/base/joint_1" in tape.read().entities
