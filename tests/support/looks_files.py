"""Bodies with meshes, written by hand: meshes of every kind, a robot in packages, a skinned strip."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gltf_files import File, quaternion
from poise.formats.meshes.reader import read_file
from poise.model.geometry.looks import Patch

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [[q[0], q[k], q[k + 1]] for q in QUADS for k in (1, 2)]
VOLUME = 6.0


def stl(points: Any = CORNERS, triangles: Any = TRIANGLES) -> bytes:
    rows = np.zeros(len(triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")]))
    rows["v"] = np.asarray(points)[np.asarray(triangles)]
    return b"made by hand".ljust(80) + struct.pack("<I", len(triangles)) + rows.tobytes()


def text_stl() -> bytes:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*CORNERS[i]) for i in row)
        + "endloop\nendfacet\n"
        for row in TRIANGLES
    )
    return f"solid box\n{facets}endsolid box\n".encode()


def obj(colors: str = "") -> bytes:
    lines = [f"mtllib {colors}"] if colors else []
    lines += ["v {} {} {}".format(*p) for p in CORNERS]
    lines += ["vn 0 0 1", "usemtl paint"]
    lines += ["f " + " ".join(f"{i + 1}//1" for i in row) for row in QUADS[:3]]
    lines += ["f " + " ".join(str(i - 8) for i in row) for row in QUADS[3:]]
    return "\n".join(lines).encode()


def msh() -> bytes:
    head = struct.pack("<4i", len(CORNERS), 0, 0, len(TRIANGLES))
    return head + CORNERS.astype("<f4").tobytes() + np.array(TRIANGLES, "<i4").tobytes()


def dae(unit: float = 1.0, node: str = "") -> bytes:
    """Return the box as quads with two inputs, red, below a node, in units of `unit` metres."""
    numbers = " ".join(str(x / unit) for x in CORNERS.ravel())
    corners = " ".join(f"{i} 0" for row in QUADS for i in row)
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="u" meter="{unit}"/><up_axis>Z_UP</up_axis></asset>
  <library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>1 0 0 1</color></diffuse>
  </phong></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="24">{numbers}</float_array><technique_common>
      <accessor source="#pa" count="8" stride="3"/></technique_common></source>
    <source id="n"><float_array id="na" count="3">0 0 1</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <polylist count="6" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="NORMAL" source="#n" offset="1"/><vcount>4 4 4 4 4 4</vcount><p>{corners}</p></polylist>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="top">{node}<instance_geometry url="#g"><bind_material>
    <technique_common><instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""".encode()


def box_file(**node: Any) -> File:
    """Return the box as the mesh of a single node."""
    file = File([{"name": "box", "mesh": 0, **node}])
    attributes = {"POSITION": file.accessor(CORNERS)}
    indices = file.accessor(np.ravel(TRIANGLES), "u2")
    file.add("meshes", {"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]})
    file.add("materials", {"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}})
    return file


def png(pixels: Any) -> bytes:
    """Return a PNG of (rows, columns, 3) bytes."""
    rows = np.asarray(pixels, np.uint8)
    data = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
    body = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


# ------------------------------------------------------------------------------------------------ a robot in packages

ROBOT = """<robot name="arm">
  <link name="base"><visual><geometry><mesh filename="package://arm_description/meshes/base.stl"/></geometry>
    <material name="blue"><color rgba="0 0 1 1"/></material></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="upper"><visual><origin xyz="0 0 1"/>
    <geometry><mesh filename="package://arm_description/meshes/upper.dae" scale="0.5 0.5 0.5"/></geometry>
    </visual></link>
  <link name="lower"><visual><geometry><mesh filename="../meshes/lower.obj"/></geometry></visual></link>
  <link name="hand"><visual><geometry><mesh filename="package://hand_description/hand.glb"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>
  <joint name="wrist" type="revolute"><parent link="lower"/><child link="hand"/><origin xyz="0 0 3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>
</robot>"""


def robot(folder: Path) -> Path:
    """Write an arm with meshes in two packages: its own, and one that is found only through `package_path`."""
    own, other = folder / "ws" / "arm_description", folder / "elsewhere" / "hand_description"
    for made in (own / "urdf", own / "meshes", other):
        made.mkdir(parents=True)
    (own / "meshes" / "base.stl").write_bytes(stl())
    (own / "meshes" / "upper.dae").write_bytes(dae(0.01))
    (own / "meshes" / "lower.obj").write_bytes(obj())
    box_file().glb(other / "hand.glb")
    path = own / "urdf" / "arm.urdf"
    path.write_text(ROBOT)
    return path


# ------------------------------------------------------------------------------------------------ a skinned strip


def strip(
    bones: int = 4, influences: int = 4, *, seed: int = 0, texture: bytes | None = None, **top: Any
) -> tuple[File, np.ndarray, np.ndarray, np.ndarray]:
    """Return a strip along y on a row of bones; each vertex has `influences` of them, with random weights.

    Returns:
        The file, the vertices, their joints and their weights.
    """
    rng = np.random.default_rng(seed)
    rows = 4 * bones
    points = np.array([[x, y, 0.0] for y in np.linspace(0, bones, rows) for x in (-0.2, 0.2)])
    quads = [[2 * k, 2 * k + 1, 2 * k + 3, 2 * k + 2] for k in range(rows - 1)]
    triangles = [[q[0], q[k], q[k + 1]] for q in quads for k in (1, 2)]
    joints = rng.integers(0, bones, size=(len(points), influences))
    weights = rng.random((len(points), influences))
    weights /= weights.sum(axis=1, keepdims=True)
    nodes: list[dict[str, Any]] = [{"name": "top", "children": [1], **top}]
    for k in range(bones):
        below = {"children": [k + 2]} if k + 1 < bones else {}
        nodes.append({"name": f"bone_{k}", "translation": [0, 1.0 if k else 0.0, 0], **below})
    file = File(nodes)
    skin = file.skin([*range(1, bones + 1)])
    attributes = {
        "POSITION": file.accessor(points),
        "NORMAL": file.accessor(np.tile([0.0, 0.0, 1.0], (len(points), 1))),
    }
    for k in range(influences // 4):
        attributes[f"JOINTS_{k}"] = file.accessor(joints[:, 4 * k : 4 * k + 4], "u1")
        attributes[f"WEIGHTS_{k}"] = file.accessor(weights[:, 4 * k : 4 * k + 4])
    material: dict[str, Any] = {"pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 1]}}
    if texture is not None:
        uv = points[:, :2] * (2.5, 1 / bones) + (0.5, 0.0)
        attributes["TEXCOORD_0"] = file.accessor(np.column_stack([uv, 0 * uv])[:, :2])
        file.add("images", {"bufferView": file.view(texture), "mimeType": "image/png"})
        file.add("textures", {"source": 0})
        material["pbrMetallicRoughness"]["baseColorTexture"] = {"index": 0}
    file.add("materials", material)
    primitive = {"attributes": attributes, "indices": file.accessor(np.ravel(triangles), "u2"), "material": 0}
    node = file.add("nodes", {"name": "strip", "mesh": file.add("meshes", {"primitives": [primitive]}), "skin": skin})
    file.json["scenes"][0]["nodes"].append(node)
    bend = [quaternion([1, 0, 0], angle) for angle in (0.0, 0.6, 0.0)]
    file.clip("bend", [(2, "rotation", [0.0, 0.5, 1.0], bend, "LINEAR")])
    return file, points, joints, weights


# ------------------------------------------------------------------------------------------------ painted squares

COLORS = ((230, 20, 20), (20, 200, 20), (20, 20, 230), (220, 200, 20))
SQUARES = png([[COLORS[0], COLORS[1]], [COLORS[2], COLORS[3]]])  # two by two pixels
PAINT_POINTS = np.array([[x, y, 0.0] for x in range(5) for y in (0.0, 1.0)])
PAINT_TRIANGLES = [t for k in range(4) for t in ([2 * k, 2 * k + 2, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 1])]


def paint_places() -> np.ndarray:
    """Return the image coordinates of each triangle corner, (8, 3, 2), v downwards: square k inside pixel k."""
    within = np.array([[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.25], [0.75, 0.75], [0.25, 0.75]])
    corner = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    return (corner[:, None] + 0.5 * within).reshape(-1, 3, 2)


def painted_obj(colors: str = "paint.mtl") -> bytes:
    """Return four squares in a row, each in a colour of `SQUARES`."""
    lines = [f"mtllib {colors}", *("v {} {} {}".format(*p) for p in PAINT_POINTS)]
    lines += [f"vt {u} {1 - v}" for u, v in paint_places().reshape(-1, 2)]
    faces = [" ".join(f"{i + 1}/{3 * k + j + 1}" for j, i in enumerate(row)) for k, row in enumerate(PAINT_TRIANGLES)]
    return "\n".join([*lines, "usemtl paint", *(f"f {face}" for face in faces)]).encode()


def painted_mtl(image: str = "squares.png") -> bytes:
    return f"newmtl paint\nKd 0.2 0.4 0.6\nmap_Kd {image}\n".encode()


def painted_dae(image: str = "squares.png", color: str = "") -> bytes:
    """Return the same squares, with the image through a sampler and a surface, as Blender and SolidWorks write it."""
    numbers = " ".join(str(x) for x in PAINT_POINTS.ravel())
    places = " ".join(f"{u} {1 - v}" for u, v in paint_places().reshape(-1, 2))
    corners = " ".join(f"{i} {3 * k + j}" for k, row in enumerate(PAINT_TRIANGLES) for j, i in enumerate(row))
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/></asset>
  <library_images><image id="i"><init_from>{image}</init_from></image></library_images>
  <library_effects><effect id="e"><profile_COMMON>
    <newparam sid="surface"><surface type="2D"><init_from>i</init_from></surface></newparam>
    <newparam sid="sampler"><sampler2D><source>surface</source></sampler2D></newparam>
    <technique sid="t"><phong><diffuse><texture texture="sampler" texcoord="UV"/>{color}</diffuse></phong></technique>
  </profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="30">{numbers}</float_array></source>
    <source id="uv"><float_array id="ua" count="48">{places}</float_array><technique_common>
      <accessor source="#ua" count="24" stride="2"/></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="8" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="TEXCOORD" source="#uv" offset="1" set="0"/><p>{corners}</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material><technique_common>
    <instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node>
  </visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


def painted_glb() -> File:
    """Return the same squares with the image embedded."""
    file = File([{"name": "squares", "mesh": 0}])
    points = PAINT_POINTS[np.ravel(PAINT_TRIANGLES)]
    attributes = {"POSITION": file.accessor(points), "TEXCOORD_0": file.accessor(paint_places().reshape(-1, 2))}
    file.add("images", {"bufferView": file.view(SQUARES), "mimeType": "image/png"})
    file.add("textures", {"source": 0})
    file.add("materials", {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}})
    file.add("meshes", {"primitives": [{"attributes": attributes, "material": 0}]})
    return file


def painted_msh() -> bytes:
    """Return the same squares in MuJoCo's own format, which names no image."""
    points, uv = PAINT_POINTS[np.ravel(PAINT_TRIANGLES)], paint_places().reshape(-1, 2)
    head = struct.pack("<4i", len(points), 0, len(uv), len(PAINT_TRIANGLES))
    order = np.arange(len(points), dtype="<i4")
    return b"".join([head, points.astype("<f4").tobytes(), uv.astype("<f4").tobytes(), order.tobytes()])


def painted_folder(folder: Path) -> Path:
    """Write a folder with the squares in every format, and their image."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "squares.png").write_bytes(SQUARES)
    (folder / "paint.mtl").write_bytes(painted_mtl())
    (folder / "squares.obj").write_bytes(painted_obj())
    (folder / "squares.dae").write_bytes(painted_dae())
    (folder / "squares.msh").write_bytes(painted_msh())
    painted_glb().glb(folder / "squares.glb")
    return folder


def read_patches(path: Path) -> tuple[Patch, ...]:
    """Read the triangles of a mesh's file."""
    return read_file(path).patches
