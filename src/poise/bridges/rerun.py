"""The bridge to Rerun: log bodies, poses, motions and solutions into a recording.

    import rerun as rr
    from poise.bridges.rerun import log

    rr.init("dance", spawn=True)
    log("dancer", motion)

Each frame of the body is an entity below that of its parent, with its transform relative to the parent. Meshes and the
transforms of fixed frames are static: they are sent once. A motion is sent in columns, one message for each frame of
the body. Lengths are in metres.
Source: Rerun documentation, "Entity path", "Transform3D", "Send columns".
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.answers import Answers
from poise.arrays import Bytes, Floats, Indices
from poise.batch import BatchSolution
from poise.batch.solution import copy_to_host
from poise.errors import AS_THINGS, INDEX_NAME, InvalidValue, MissingExtra, show_value
from poise.formats.units import to_metres
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.geometry.decimation import split_creases
from poise.model.geometry.looks import Patch, Piece, Skin, deform, deform_normals, find_normals
from poise.model.memo import MemoSlot, keep_with_model
from poise.motion import Contacts, Retargeted, Track
from poise.pages.searches import AXES, read_color
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import report_missing
from poise.pictures.body.solids import place_object
from poise.pictures.body.surface import Surface, mesh_solid
from poise.pictures.marks import GoalMark, find_marks
from poise.rig import Rig
from poise.solvers import Solution
from poise.spatial import Rotation, Transform
from poise.studio.scene.mesh_parts import RigidPart, SkinPart, make_dress

if TYPE_CHECKING:
    from rerun import RecordingStream

__all__ = ["log"]

Times: TypeAlias = "tuple[str, str, NDArray[Any]] | None"  # timeline, "duration" [s] or "sequence", values; None: now
Fields: TypeAlias = Mapping[str, NDArray[Any]]

SENT = MemoSlot[set[tuple[str, str]]]("recordings and paths that have the static parts of the body")
MOST_VERTICES = 1 << 20  # of a skin in one message, over its frames
BALL, LINE, ARROW = 0.017, 0.004, 0.08  # of goals, relative to model length: radii, and the length of axes
CONTACT, CONTACT_COLOR = 0.02, (230, 159, 0)  # m: the radius
CURVES = ("position [m]", "rotation [rad]")
EMPTY = "there are no poses to log: the motion, batch or list of answers is empty."


def log(path: str, thing: Any, *, recording: "RecordingStream | None" = None) -> None:
    """Log a body, or a result, below an entity path of a recording.

    | thing | entities below `path` |
    |---|---|
    | `Model`, `Pose`, `Rig` | the frames, nested as in the body, at the time of `rr.set_time`; their meshes, static |
    | `Motion` | the same on the timeline "time" [s], from zero; its objects as `objects/<name>` |
    | `Track`, `Retargeted` | the motion; `contacts/<name>` while they last, `errors/<goal>`, and `why` |
    | `Contacts` | `<name>`: points while they last |
    | `Solution` | the pose; `goals/<goal>`, with a red line if missed; `why`; a recorded search on "step" |
    | `BatchSolution`, `Answers` | all poses on the timeline "row"; `errors/<goal>` of a batch |

    Static parts are sent the first time that a recording gets the model at this path, so that calls in a loop send
    transforms only. A `Model` is always sent whole. The up axis is set at the root of the recording.

    Args:
        path: The entity path, such as "world/robot". A Transform3D that is logged there moves the whole body.
        thing: What to log.
        recording: The recording; by default the active one, as `rr.init` sets it.

    Raises:
        InvalidValue: `thing` is of another type or empty, or no recording is active.
        MissingExtra: Rerun is not installed.
    """
    write = next((write for kind, write in WRITERS.items() if isinstance(thing, kind)), None)
    if write is None:
        kinds = ", ".join(kind.__name__ for kind in WRITERS)
        raise InvalidValue(f"log cannot log {show_value(thing)}; it logs: {kinds}. {AS_THINGS}")
    write(Entry.open(path, recording), thing)


@dataclass(frozen=True)
class Entry:
    """An entity path of a recording.

    Attributes:
        rr: The module rerun.
        recording: The recording; None for the active one.
        key: The identity of the recording.
        path: The path, without slashes around it.
    """

    rr: Any
    recording: Any
    key: str
    path: str

    @classmethod
    def open(cls, path: str, recording: Any) -> "Entry":
        """Check the arguments of `log`."""
        if not isinstance(path, str) or not path.strip("/"):
            raise InvalidValue(f'path is {show_value(path)}; it must be an entity path, such as "world/robot".')
        if importlib.util.find_spec("rerun") is None:
            raise MissingExtra(f'the bridge to Rerun needs it: pip install "{INDEX_NAME}[rerun]"')
        import rerun as rr

        if not isinstance(recording, (rr.RecordingStream, type(None))):
            raise InvalidValue(f"recording is {show_value(recording)}; it must be a rerun.RecordingStream.")
        key = rr.get_recording_id(recording)
        if key is None:
            raise InvalidValue('no recording is active; type rr.init("name", spawn=True) first, or pass recording=.')
        return cls(rr, recording, key, path.strip("/"))

    def name(self, model: Model | None, first: str, *others: str) -> str:
        """Return the path of an entity below this one; `first` is changed if it is the name of a frame."""
        while model is not None and first in model.frames:
            first += "_"
        return "/".join([self.path, *map(self.rr.escape_entity_path_part, (first, *others))])

    def put(self, entity: str, *parts: Any, times: Times = None, static: bool = False) -> None:
        """Log archetypes: now, or at the only time of `times`."""
        if times is None:
            self.rr.log(entity, *parts, static=static, recording=self.recording, strict=True)
        else:
            batches = [batch for part in parts for batch in part.as_component_batches()]
            self.send(entity, times, [batch.partition([len(batch.as_arrow_array())]) for batch in batches])

    def put_rows(self, entity: str, kind: Any, fields: Fields, times: Times, *, static: bool = False) -> None:
        """Log an archetype over time; fields are (rows, instances, ...). Without times log the first row."""
        if times is None:
            self.put(entity, kind.from_fields(**{name: rows[0] for name, rows in fields.items()}), static=static)
            return
        rows, instances = next(iter(fields.values())).shape[:2]
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in fields.items()}
        self.send(entity, times, kind.columns(**flat).partition(np.full(rows, instances)))

    def send(self, entity: str, times: Times, columns: Any) -> None:
        """Send columns with one row for each time."""
        assert times is not None
        timeline, kind, values = times
        index = self.rr.TimeColumn(timeline, **{kind: values})
        self.rr.send_columns(entity, [index], columns, recording=self.recording, strict=True)

    def put_transforms(self, entities: Sequence[str], T: Floats, times: Times = None, *, static: bool = False) -> None:
        """Log transforms of several entities, (rows, entities, 4, 4)."""
        places = to_single(T[..., None, :3, 3])
        xyzw = to_single(np.roll(Rotation.from_matrix(T[..., :3, :3]).wxyz, -1, axis=-1)[..., None, :])
        for k, entity in enumerate(entities):
            fields = {"translation": places[:, k], "quaternion": xyzw[:, k]}
            self.put_rows(entity, self.rr.Transform3D, fields, times, static=static)


def to_single(values: Floats) -> NDArray[np.float32]:
    """Return numbers in the precision of Rerun."""
    return values.astype(np.float32)


# ------------------------------------------------------------------------------------------------ bodies


@keep_with_model
def find_tree(model: Model) -> tuple[Indices, Indices, Indices]:
    """Return the index of the parent of each frame, -1 for the world; the frames that joints move, and the others."""
    place = {name: k for k, name in enumerate(model.frames)}
    frames = [model.frame(name) for name in model.frames]
    parents = np.array([-1 if frame.parent is None else place[frame.parent] for frame in frames], np.intp)
    joints = [None if frame.joint is None else model.joint(frame.joint) for frame in frames]
    moves = np.array([joint is not None and joint.kind != "fixed" for joint in joints])
    return parents, np.flatnonzero(moves), np.flatnonzero(~moves)


def find_local(T: Floats, parents: Indices, some: Indices) -> Floats:
    """Return the transforms of some frames relative to their parents, given those of all, (rows, frames, 4, 4)."""
    out, above = T[:, some], np.where((parents[some] < 0)[:, None, None], np.eye(4), T[:, parents[some]])
    turns = above[..., :3, :3].swapaxes(-1, -2)
    out[..., :3, 3:] = turns @ (out[..., :3, 3:] - above[..., :3, 3:])
    out[..., :3, :3] = turns @ out[..., :3, :3]
    return out


@keep_with_model
def name_frames(model: Model, path: str, escape: Callable[[str], str]) -> list[str]:
    """Return the entity of each frame, below that of its parent."""
    return ["/".join([path, *map(escape, reversed(model.ancestors(name)))]) for name in model.frames]


def log_poses(entry: Entry, model: Model, q: Floats, times: Times = None, *, again: bool = False) -> None:
    """Log configurations, (rows, nq), and the static parts unless the recording has them; `again` in any case."""
    if not len(q):
        raise InvalidValue(EMPTY)
    T, (parents, moving, still) = np.asarray(model.fk(q)), find_tree(model)
    entities, dress = name_frames(model, entry.path, entry.rr.escape_entity_path_part), make_dress(model)
    skins = {entry.name(model, f"skin_{k}"): part for k, part in enumerate(dress.skins if dress else ())}
    sent = model.memo.get(SENT, set)
    if again or (entry.key, entry.path) not in sent:
        report_missing(model)
        entry.put("/", getattr(entry.rr.ViewCoordinates, f"RIGHT_HAND_{model.up.upper()}_UP"), static=True)
        entry.put_transforms([entities[k] for k in still], find_local(T[:1], parents, still), static=True)
        images = dress.images if dress else ()
        for k, part in enumerate(dress.rigid if dress else list_flesh(model)):
            below = replace(entry, path=entities[model.frames.index(part.frame)])
            put_part(entry, below.name(model, f"mesh_{k}"), part, images)
        for entity, skin in skins.items():
            put_part(entry, entity, skin, images)
        sent.add((entry.key, entry.path))
    entry.put_transforms([entities[k] for k in moving], find_local(T, parents, moving), times)
    for entity, skin in skins.items():
        log_skin(entry, entity, model.frames, skin, T, times)


def list_flesh(model: Model) -> list[RigidPart]:
    """Return the parts of a body without meshes."""
    flesh = find_flesh(model)
    return [RigidPart(part.frame, *read_surface(part.surface), part.color) for part in flesh]


def read_surface(surface: Surface) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return the vertices and faces of a surface in the types of meshes."""
    return to_single(surface.vertices), surface.faces.astype(np.uint32)


def put_part(entry: Entry, entity: str, part: RigidPart | SkinPart, images: Sequence[Bytes] = ()) -> None:
    """Log a part of a body as a static mesh; a skin without its vertices, which move."""
    paint, opacity = part.paint, 1.0 if part.opacity is None else part.opacity
    patch = Patch(part.vertices, part.faces, normals=None if paint is None else paint.normals)
    if isinstance(part, RigidPart):
        patch = split_creases(patch)
    mesh = entry.rr.Mesh3D(
        vertex_positions=patch.vertices,
        vertex_normals=find_normals(patch.vertices, patch.triangles) if patch.normals is None else patch.normals,
        triangle_indices=patch.triangles,
        vertex_texcoords=None if paint is None else paint.uv,
        albedo_texture=None if paint is None else images[paint.image],
        albedo_factor=(*part.color, round(255 * opacity)),
    )
    if isinstance(part, SkinPart):
        mesh.vertex_positions = mesh.vertex_normals = None
    entry.put(entity, mesh, static=True)


def log_skin(entry: Entry, entity: str, frames: Sequence[str], part: SkinPart, T: Floats, times: Times) -> None:
    """Log the vertices of a skin, given the transforms of frames, (rows, frames, 4, 4)."""
    binds = Transform(Rotation(part.wxyz), part.positions).inverse().matrix
    skin = Skin(part.frames, binds, part.joints.astype(np.uint16), part.weights)
    normals = None if part.paint is None else part.paint.normals
    piece = Piece(Patch(part.vertices, part.faces, normals=normals), part.frames[0], np.eye(4), skin)
    step = max(MOST_VERTICES // len(part.vertices), 1)
    for rows in (slice(k, k + step) for k in range(0, len(T), step)):
        points = deform(piece, frames, T[rows])
        turned = np.stack([deform_normals(piece, frames, *each) for each in zip(T[rows], points, strict=True)])
        fields = {"vertex_positions": to_single(points), "vertex_normals": to_single(turned)}
        entry.put_rows(entity, entry.rr.Mesh3D, fields, times and (*times[:2], times[2][rows]))


def log_pose(entry: Entry, thing: Model | Pose | Rig) -> None:
    """Log a pose now; a body in its rest pose, with its static parts in any case."""
    pose = to_metres(Pose(thing) if isinstance(thing, Model) else thing.pose if isinstance(thing, Rig) else thing)
    log_poses(entry, pose.model, pose.q[None], again=isinstance(thing, Model))


def log_motion(entry: Entry, given: Motion) -> None:
    """Log a motion and its objects."""
    motion = to_metres(given)
    times = "time", "duration", motion.times
    log_poses(entry, motion.model, motion.q, times)
    for thing in motion.objects:
        entity = entry.name(motion.model, "objects", thing.name)
        red, green, blue = (round(255 * x) for x in thing.color[:3])
        mesh = read_surface(mesh_solid(place_object(thing)))
        put_part(entry, entity, RigidPart("", *mesh, (red, green, blue), thing.color[3]))
        entry.put_transforms([entity], thing.transforms[:, None], times)


# ------------------------------------------------------------------------------------------------ results


def log_track(entry: Entry, thing: Track | Retargeted) -> None:
    """Log a solved clip with its contacts and errors."""
    track, motion = thing.track if isinstance(thing, Retargeted) else thing, thing.motion
    model, scale = motion.model, motion.model.metres_per_unit
    log_motion(entry, motion)
    log_errors(entry, model, track.errors, ("time", "duration", motion.times))
    places = [c.place or motion.positions(c.frame, c.point)[c.start : c.end].mean(axis=0) for c in track.contacts]
    below = replace(entry, path=entry.name(model, "contacts"))
    put_contacts(below, track.contacts, scale * np.reshape(places, (-1, 3)))
    entry.put(entry.name(model, "why"), entry.rr.TextDocument(thing.why()), times=("time", "duration", np.zeros(1)))


def log_contacts(entry: Entry, contacts: Contacts) -> None:
    """Log contacts that have places."""
    lost = [contact.name for contact in contacts if contact.place is None]
    if lost:
        raise InvalidValue(f"contact {lost[0]!r} has no place; set place=, or log the track that holds it.")
    put_contacts(entry, contacts, np.reshape([contact.place for contact in contacts], (-1, 3)))


def put_contacts(entry: Entry, contacts: Contacts, places: Floats) -> None:
    """Log contacts at places, (contacts, 3) [m], as points from their first frame to the one after their last."""
    points = entry.rr.Points3D
    for name in sorted({contact.name for contact in contacts}):
        own, entity = [k for k, contact in enumerate(contacts) if contact.name == name], entry.name(None, name)
        edges = np.unique([(contacts[k].start, contacts[k].end) for k in own])
        held = [[k for k in own if contacts[k].start <= edge < contacts[k].end] for edge in edges]
        columns = points.columns(positions=places[[k for row in held for k in row]])
        entry.put(entity, points.from_fields(radii=CONTACT, colors=[CONTACT_COLOR]), static=True)
        entry.send(entity, ("time", "duration", edges / contacts.fps), columns.partition([len(row) for row in held]))


def log_solution(entry: Entry, solution: Solution) -> None:
    """Log a solution with its goals, and its search if it was recorded."""
    log_pose(entry, solution.pose)
    put_goals(entry, solution, None)
    if (history := solution.history) is not None:
        errors = dict(zip(solution.errors, history.errors.swapaxes(0, 1), strict=True))
        log_rows(entry, solution.model, history.q, "step", errors)
        put_goals(entry, solution, ("step", "sequence", np.zeros(1, np.int64)))


def put_goals(entry: Entry, solution: Solution, times: Times) -> None:
    """Log the marks of goals, and why they are missed."""
    model, scale = solution.model, solution.model.metres_per_unit
    size = scale * min(model.length, 2.0 / scale)
    for mark in find_marks(solution):
        points, strips = draw_mark(mark, scale)
        color = read_color(mark.color)
        parts = [
            entry.rr.Points3D(points, radii=BALL * size, colors=color, labels=[mark.name] * len(points)),
            entry.rr.LineStrips3D(strips, radii=LINE * size, colors=color),
        ]
        if mark.axes is not None:
            arrows = {"origins": [points[0]] * 3, "vectors": ARROW * size * mark.axes.T}
            parts.append(entry.rr.Arrows3D(**arrows, radii=LINE * size, colors=AXES))
        entry.put(entry.name(model, "goals", mark.name, mark.kind), *parts, times=times)
    text = entry.rr.TextDocument("" if solution.reached else solution.why())
    entry.put(entry.name(model, "why"), text, times=times)


def draw_mark(mark: GoalMark, scale: float) -> tuple[Floats, list[Floats]]:
    """Return the points and lines of a mark [m]; a line from the target to the frame if it is missed."""
    points = scale * mark.points
    if mark.kind == "support":
        return points[:0], [np.concatenate([points, points[:1]])]
    if mark.kind == "place":
        return points[:1], [] if mark.reached else [points]
    return points[-1:] if mark.kind == "gaze" else points, [points]


def log_errors(entry: Entry, model: Model, errors: Mapping[str, Floats], times: Times) -> None:
    """Log the errors of goals, (rows, 2) each, as two curves [m, rad]."""
    for name, values in errors.items():
        entity = entry.name(model, "errors", name)
        entry.put(entity, entry.rr.SeriesLines(names=CURVES), static=True)
        entry.put_rows(entity, entry.rr.Scalars, {"scalars": values * (model.metres_per_unit, 1.0)}, times)


def log_batch(entry: Entry, batch: BatchSolution) -> None:
    """Log the poses of a batch, those of each row one after the other."""
    q = copy_to_host(batch.q).reshape(-1, batch.model.nq).astype(np.float64)
    errors = {name: copy_to_host(values).reshape(-1, 2) for name, values in batch.errors.items()}
    log_rows(entry, batch.model, q, "row", errors)


def log_answers(entry: Entry, answers: Answers) -> None:
    """Log all poses of a target, one after the other."""
    if not len(answers):
        raise InvalidValue(EMPTY)
    log_rows(entry, answers[0].model, answers.q, "row", {})


def log_rows(entry: Entry, model: Model, q: Floats, timeline: str, errors: Mapping[str, Floats]) -> None:
    """Log configurations, (rows, nq), and the errors of goals, (rows, 2); rows of NaN are left out."""
    rows = np.flatnonzero(np.isfinite(q).all(axis=1))
    motion, times = to_metres(Motion(model, q[rows])), (timeline, "sequence", rows)
    log_poses(entry, motion.model, motion.q, times)
    log_errors(entry, model, {name: values[rows] for name, values in errors.items()}, times)


WRITERS: dict[type[Any], Callable[[Entry, Any], None]] = {
    Model: log_pose,
    Pose: log_pose,
    Rig: log_pose,
    Motion: log_motion,
    Track: log_track,
    Retargeted: log_track,
    Contacts: log_contacts,
    Solution: log_solution,
    BatchSolution: log_batch,
    Answers: log_answers,
}
