"""Downloads of the studio: the pose, a picture, a page, a character, a motion file."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import INDEX_NAME, InvalidValue, MissingExtra
from poise.formats import save
from poise.formats.registry import knows_suffix
from poise.formats.tables.robot_csv import STYLES
from poise.formats.units import restore_units
from poise.kinematics import Motion, Pose
from poise.kinematics.carriers import find_root
from poise.model import Model
from poise.pages.page import show
from poise.studio.notices import try_to
from poise.studio.session import Session

__all__ = [
    "find_kind",
    "find_motion_kind",
    "list_kinds",
    "list_motion_kinds",
    "make_file",
    "make_motion_file",
    "name_file",
    "name_motion_file",
    "pose_from_json",
    "pose_to_json",
    "send_motion",
]

KINDS = {"Pose": ".json", "Picture": ".png", "HTML": ".html", "GLB": ".glb", "BVH": ".bvh"}
SOURCE_KINDS = {".vrm": "VRM", ".gltf": "glTF"}  # formats offered only for bodies loaded from them
MOTION_KINDS = ("HTML", "GLB", "BVH", "VRM", "glTF")  # formats that contain the motion, if one is open
MOTIONS = {"BVH": ".bvh", "GLB": ".glb", "Page (HTML)": ".html", "Table (CSV)": ".csv", "Table (NPZ)": ".npz"}
ROBOT_STYLES = {"Unitree (CSV)": "unitree", "GMR (NPZ)": "gmr"}  # formats of other tools for robot motions
RENDER_WAIT = 30.0  # [s]


def list_kinds(model: Model) -> dict[str, str]:
    """List the file formats of a body, with their extensions."""
    own = Path(model.source).suffix.lower()
    return {**KINDS, **({SOURCE_KINDS[own]: own} if own in SOURCE_KINDS else {})}


def find_kind(model: Model) -> str:
    """Return the format of the body's own file, or "Pose" if that cannot be written."""
    own = Path(model.source).suffix.lower()
    return next((kind for kind, ending in list_kinds(model).items() if ending == own and kind != "Pose"), "Pose")


def name_file(session: Session, kind: str) -> str:
    """Return a file name after the body's own file, or after the body, with "_edited" if the pose or clip changed."""
    changed = "_edited" if session.player.edited or (session.player.motion is None and session.puppet.pulled) else ""
    return f"{name_stem(session.model) or 'pose'}{changed}{list_kinds(session.model)[kind]}"


def name_stem(model: Model) -> str:
    """Return the name of the body's own file, without its extension, or of the body."""
    source = Path(model.source)
    return source.stem if knows_suffix(source.suffix.lower()) else model.name.replace("/", "_")


def make_file(session: Session, kind: str, client: Any = None) -> bytes:
    """Return the content of a file of the current pose or clip, in the unit of the body's own file.

    Args:
        session: The session of the body.
        kind: One of `list_kinds`.
        client: The viewer whose view a picture shows.

    Raises:
        FormatError: The format cannot store this body; the message says why.
    """
    if kind == "Pose":
        return pose_to_json(restore_units(session.pose, session.given)).encode()
    if kind == "Picture":
        return take_picture(client)
    motion = session.player.motion
    thing: Motion | Pose = restore_units(session.pose, session.given)
    if motion is not None and kind in MOTION_KINDS:
        thing = restore_units(motion, session.given)
    if kind == "HTML":
        return show(thing, browser=False).html.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pose{list_kinds(session.model)[kind]}"
        save(thing, path)
        return path.read_bytes()


def list_motion_kinds(model: Model) -> dict[str, str]:
    """List the file formats of a motion, with their extensions, that of the body's own file first."""
    own, root = Path(model.source).suffix.lower(), find_root(model)
    kinds = {**MOTIONS, **({SOURCE_KINDS[own]: own} if own in SOURCE_KINDS else {})}
    if root is not None and root.slide.kind == "free":
        kinds |= {kind: STYLES[style] for kind, style in ROBOT_STYLES.items()}
    return dict(sorted(kinds.items(), key=lambda kind: kind[1] != own))


def find_motion_kind(model: Model) -> str:
    """Return the default format of a motion: that of the body's own file, or a common one."""
    return next(iter(list_motion_kinds(model)))


def name_motion_file(model: Model, kind: str, suffix: str = "") -> str:
    """Return a file name for a motion after its body's own file, or after the body."""
    return f"{name_stem(model) or 'motion'}{suffix}{list_motion_kinds(model)[kind]}"


def make_motion_file(motion: Motion, kind: str) -> bytes:
    """Return the content of a motion file.

    Raises:
        FormatError: The format cannot store this motion; the message says why.
    """
    ending = list_motion_kinds(motion.model)[kind]
    if ending == ".html":
        return show(motion, browser=False).html.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"motion{ending}"
        save(motion, path, style=ROBOT_STYLES.get(kind))
        return path.read_bytes()


def send_motion(client: Any, motion: Motion, kind: str, suffix: str = "") -> None:
    """Send a motion to a viewer as a file; if the format cannot store it, show the viewer the error."""
    name = name_motion_file(motion.model, kind, suffix)
    try_to(client, lambda: client.send_file_download(name, make_motion_file(motion, kind), save_immediately=True))


def take_picture(client: Any) -> bytes:
    """Return a PNG of a viewer's view, without the panel."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise MissingExtra(f"pictures of the window need imageio. Type: pip install '{INDEX_NAME}[studio]'") from None
    if client is None:
        raise InvalidValue("a picture is what a viewer sees: open the studio in a browser first.")
    height, width = client.camera.image_height, client.camera.image_width
    pixels = client.get_render(height, width, transport_format="jpeg", timeout=RENDER_WAIT)
    stream = io.BytesIO()
    imageio.imwrite(stream, np.asarray(pixels), extension=".png")
    return stream.getvalue()


def pose_to_json(pose: Pose) -> str:
    """Write a pose as JSON: the values of q by joint name."""
    return json.dumps(pose.plain_values(), indent=1)


def pose_from_json(model: Model, text: str) -> Pose:
    """Read the JSON of `pose_to_json`, for a body with the same joints.

    Raises:
        InvalidValue: It is not a pose of this body.
    """
    try:
        read = json.loads(text)
        joints = dict(read["joints"]) if read["poise"] == "pose" else None
    except (ValueError, KeyError, TypeError):
        joints = None
    if joints is None:
        raise InvalidValue("the file holds no pose that the studio has saved.")
    return Pose(model).replace(joints)
