"""Bodies of the gallery that Poise does not contain: a spider, a skinned character, and robots of MuJoCo Menagerie."""

import json
import os
import struct
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.model import Capsule, Model, Sphere
from poise.model.geometry.looks import LookSource
from poise.pictures.body.solids import find_solids

CELL = 0.02  # m, of the grid that the skin is cut from
BLEND = 0.008  # m, distance over which limbs blend into each other
SOFT = 0.02  # m, distance over which skin weights blend
SKIN = (0.38, 0.58, 0.66, 1.0)


def make_spider() -> Any:
    """Return a spider with eight legs of three hinges, its feet pinned."""
    builder = poise.ModelBuilder("spider")
    builder.add_joint("body", None, "free", rest=(0, 0, 0.16, 1, 0, 0, 0))
    builder.add_shape("body", Sphere(0.09), offset=(-0.10, 0, 0.03), color=(0.36, 0.30, 0.34))
    builder.add_shape("body", Sphere(0.06), offset=(0.03, 0, 0.0), color=(0.45, 0.38, 0.40))
    feet = []
    for k, turn in enumerate(np.radians([35, 70, 110, 145, -35, -70, -110, -145])):
        leg, out = f"leg_{k + 1}", np.array([np.cos(turn), np.sin(turn), 0.0])
        across = np.array([-out[1], out[0], 0.0])
        parts = [("hip", 0.05 * out, (0, 0, 1), 0.6, 0.0), ("knee", 0.05 * out, across, 1.2, 0.0)]
        parts.append(("ankle", 0.16 * out + (0, 0, 0.11), across, 1.2, 0.0))
        parent = "body"
        for name, offset, axis, reach, rest in parts:
            joint = f"{leg}_{name}"
            builder.add_joint(joint, parent, "revolute", offset=offset, axis=axis, lower=-reach, upper=reach, rest=rest)
            parent = joint
        feet.append(f"{leg}_foot")
        builder.add_frame(feet[-1], parent, 0.17 * out + (0, 0, -0.26))
        for joint, end in ((f"{leg}_knee", parts[2][1]), (parent, 0.17 * out + (0, 0, -0.26))):
            builder.add_shape(joint, Capsule((0, 0, 0), end, 0.014), color=(0.55, 0.46, 0.42))
    rig = poise.Rig(builder.build())
    for handle in [handle for handle in rig.handles.values() if handle.frame in feet]:
        rig.pin(handle.name, rig.pose.position(handle.frame))
    return rig


def load_menagerie(path: str) -> Any:
    """Load a robot from a checkout of MuJoCo Menagerie, whose folder the variable MENAGERIE names.

    Raises:
        FileNotFoundError: The checkout is missing.
    """
    folder = os.environ.get("MENAGERIE")
    if not folder or not (Path(folder) / path).exists():
        raise FileNotFoundError(path)
    return poise.load(Path(folder) / path)


# ------------------------------------------------------------------------------------------------ a skin


def make_character() -> Model:
    """Return the figure in a skin: a glTF file with one mesh, bound to its bones."""
    model = poise.load("humanoid")
    q = np.array(model.rest)
    for name, angle in (("shoulder_l", 1.0), ("shoulder_r", -1.0), ("hip_l", 0.2), ("hip_r", -0.2)):
        q[model.joint(name).q.start + 1] = angle  # apart, so that no limb takes the skin of another
    places = model.fk(q)
    path = Path(tempfile.mkdtemp(prefix="poise-")) / "character.glb"
    path.write_bytes(write_skin(model.frames, places, *cut_skin(model, places)))
    look = replace(model.attachments, look=LookSource(str(path), up=model.up))
    return Model("character", model.layout.specs, attached=look)


def measure(model: Model, places: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distances of points to the limbs of the figure, (points, limbs)."""
    out = []
    for solid in find_solids(model):
        T = places[model.frames.index(solid.frame)] @ solid.T_frame_solid
        local = (points - T[:3, 3]) @ T[:3, :3]
        along = np.clip(local[:, 2] / solid.half[2], -1, 1)
        radius = solid.round[0] + (along + 1) / 2 * (solid.round[1] - solid.round[0])
        local[:, 2] -= along * solid.half[2]
        out.append(np.linalg.norm(local, axis=1) - radius)
    return np.stack(out, axis=1)


def cut_skin(model: Model, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return vertices, triangles, bones and weights of a smooth surface around the limbs, by surface nets.

    Source: S. Gibson, Constrained elastic surface nets, 1998.
    """
    joints = places[:, :3, 3]
    low, high = joints.min(axis=0) - 0.15, joints.max(axis=0) + 0.15
    size = np.ceil((high - low) / CELL).astype(int)
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), axis=-1)
    apart = measure(model, places, low + CELL * grid.reshape(-1, 3))
    nearest = apart.min(axis=1)
    field = nearest - BLEND * np.log(np.exp(-(apart - nearest[:, None]) / BLEND).sum(axis=1))
    values = field.reshape(size)
    inside = values < 0
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    cut = [inside[x : size[0] - 1 + x, y : size[1] - 1 + y, z : size[2] - 1 + z] for x, y, z in corners]
    cells = np.argwhere(np.any(cut, axis=0) & ~np.all(cut, axis=0))
    number = np.full(size, -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for a in corners:  # a vertex of a cell is the mean of the cuts of its edges
        for axis in (k for k in range(3) if not a[k]):
            b = np.array(a) + np.eye(3, dtype=int)[axis]
            va, vb = values[tuple((cells + a).T)], values[tuple((cells + b).T)]
            crossed = (va < 0) != (vb < 0)
            share = np.where(crossed, va / np.where(crossed, va - vb, 1.0), 0.0)
            total += np.where(crossed[:, None], np.array(a) + share[:, None] * (b - a), 0.0)
            count += crossed
    vertices = low + CELL * (cells + total / count[:, None])
    quads = []
    for axis in range(3):  # the four cells around each cut edge
        step, (u, v) = np.eye(3, dtype=int)[axis], [np.eye(3, dtype=int)[(axis + k) % 3] for k in (1, 2)]
        edges = np.argwhere(np.diff(inside.astype(int), axis=axis) != 0)
        outwards = ~inside[tuple((edges + step).T)]
        ring = np.stack([number[tuple((edges - d).T)] for d in (u + v, v, 0 * u, u)], axis=1)
        quads.append(np.where(outwards[:, None], ring, ring[:, ::-1]))
    faces = np.concatenate(quads)
    frames = [solid.frame for solid in find_solids(model)]
    near = measure(model, places, vertices)
    pull = np.exp(-(near - near.min(axis=1, keepdims=True)) / SOFT)
    share = np.stack([pull[:, [f == frame for f in frames]].sum(axis=1) for frame in model.frames], axis=1)
    bones = np.argsort(-share, axis=1)[:, :4]
    weights = np.take_along_axis(share, bones, axis=1)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    return vertices, triangles, bones, weights / weights.sum(axis=1, keepdims=True)


def write_skin(
    frames: tuple[str, ...],
    T: np.ndarray,
    vertices: np.ndarray,
    triangles: np.ndarray,
    bones: np.ndarray,
    weights: np.ndarray,
) -> bytes:
    """Return a binary glTF with a node per frame and the skin."""
    inverse = np.linalg.inv(T).transpose(0, 2, 1)
    parts = [(vertices, "<f4", 5126, "VEC3"), (bones, "<u2", 5123, "VEC4"), (weights, "<f4", 5126, "VEC4")]
    parts += [(triangles.reshape(-1, 1), "<u4", 5125, "SCALAR"), (inverse, "<f4", 5126, "MAT4")]
    data, views, accessors = b"", [], []
    for values, kind, code, shape in parts:
        raw = np.ascontiguousarray(values, dtype=kind).tobytes()
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(raw)})
        accessors.append({"bufferView": len(views) - 1, "componentType": code, "count": len(values), "type": shape})
        data += raw
    accessors[0] |= {"min": vertices.min(axis=0).tolist(), "max": vertices.max(axis=0).tolist()}
    nodes: list[dict[str, Any]] = [{"name": name, "matrix": T[k].T.ravel().tolist()} for k, name in enumerate(frames)]
    attributes = {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes) + 1))}],
        "nodes": [*nodes, {"name": "skin", "mesh": 0, "skin": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 3, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": SKIN, "metallicFactor": 0.0}}],
        "skins": [{"joints": list(range(len(nodes))), "inverseBindMatrices": 4}],
        "buffers": [{"byteLength": len(data)}],
        "bufferViews": views,
        "accessors": accessors,
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
