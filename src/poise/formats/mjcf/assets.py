"""The files of an MJCF model: meshes become stand-ins, attached models are prepared like the model itself.

MuJoCo's compiler gets bytes under names of our own and opens no file. A mesh is a small tetrahedron around its
origin; the true file is read only where a body's mass comes from it, from the model's own folder or where ``..`` leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from poise.errors import FormatError
from poise.formats.meshes.images import IMAGES
from poise.formats.mjcf.safe_xml import (
    MAX_BYTES,
    NOT_THERE,
    XML,
    MjcfFiles,
    Origin,
    Weight,
    count_elements,
    find_stem,
    gather,
    parse_numbers,
    sanitize,
    serialize,
    walk,
)
from poise.formats.source import Source, quote, quote_names
from poise.formats.xml import Element

__all__ = ["Assets", "MjcfMesh", "prepare"]

MAX_ATTACHED_MODELS = 100
MAX_MESH_BYTES = 1 << 26  # of all meshes read for their mass
MESHES = (".stl", ".obj", ".msh")
SOLID = ("sphere", "capsule", "cylinder", "box", "ellipsoid")

# large, because the file's scale shrinks it: the compiler rejects a mesh without volume
TETRAHEDRON = b"""v -10000 -10000 -10000
v 10000 10000 -10000
v 10000 -10000 10000
v -10000 10000 10000
f 1 2 3
f 1 4 2
f 1 3 4
f 2 4 3
"""


@dataclass(frozen=True, slots=True)
class MjcfMesh:
    """A mesh of the model: where it is, and how the asset turns it before any geom does.

    Attributes:
        path: The file, whether it is there or not.
        refpos: Origin of the mesh in the file's units, as written.
        refquat: Its orientation, as written.
    """

    path: str
    refpos: str
    refquat: str


@dataclass
class Assets:
    """The files that MuJoCo is given along with the XML.

    Attributes:
        use_meshes: Whether masses may come from the true files.
        files: Bytes by the names that the XML has for them.
        meshes: Which mesh a name means.
        textures: The image of each texture, "" for one that cannot be drawn on a mesh. MuJoCo gets a row of
            pixels for each, as long as its place in this list (from 1): so it is found again, whatever it is called.
        massless: Whether some geom lost its mass with its mesh.
        used: Whether a true file was read.
        used_bytes: How much of them.
        attached: How many models are attached so far.
        within: Attached models that are being prepared, to see one that attaches itself.
    """

    use_meshes: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, MjcfMesh] = field(default_factory=dict)
    textures: list[str] = field(default_factory=list)
    massless: bool = False
    used: bool = False
    used_bytes: int = 0
    within: tuple[Path, ...] = ()
    attached: int = 0

    def add(self, data: bytes, suffix: str) -> str:
        """Keep bytes under a new name."""
        name = f"poise_{len(self.files)}{suffix}"
        self.files[name] = data
        return name


def prepare(folder: MjcfFiles, root: Element, assets: Assets) -> Weight:
    """Make the tree safe to compile; return the number of its elements and bodies.

    Raises:
        FormatError: See `sanitize`; an attached model that is missing, cyclic, or outside the folder.
    """
    directory = find_directory(root, "meshdir")
    if any(element.get("strippath") == "true" for element in walk(root) if element.tag == "compiler"):
        keep_last_names(root)
    images = {e: find_image(folder, e, find_directory(root, "texturedir")) for e in walk(root) if e.tag == "texture"}
    sanitize(folder, root)
    for element, path in images.items():
        assets.textures.append(path)
        element.set("width", str(len(assets.textures)))
    models = [element for element in walk(root) if element.tag == "model"]
    attached = dict(attach(folder, element, assets) for element in models)
    total = count_elements(folder, root, attached)
    meshes = {e.get("name") or find_stem(e): e for e in walk(root) if e.tag == "mesh" and e.get("file")}
    wanted = find_mesh_masses(folder, root, meshes, assets, directory)
    for name, element in meshes.items():
        replace_mesh(folder, name, element, assets, directory, wanted.get(name))
    return total


def attach(folder: MjcfFiles, element: Element, assets: Assets) -> tuple[str, Weight]:
    """Prepare an attached model; return its name and size."""
    reference = element.get("file", "")
    if not reference:
        raise folder.make_error(element, "it must name a file.")
    found = folder.find(element, reference, XML)
    if found is None:
        raise folder.make_error(element, f"the file {quote(reference)} {NOT_THERE} {folder.main.path!r}.")
    path, below = found
    assets.attached += 1
    if path in assets.within or assets.attached > MAX_ATTACHED_MODELS:
        raise folder.make_error(
            element, f"{quote(reference)} attaches itself, or more than {MAX_ATTACHED_MODELS} are attached."
        )
    source = Source.open(path, limit=MAX_BYTES)
    within, opened = assets.within, folder.opened
    assets.within, folder.opened = (*within, path), {path}
    root = gather(folder, source, Origin(source, below))
    total = prepare(folder, root, assets)
    assets.within, folder.opened = within, opened
    folder.kept.append(root)
    name = element.get("name", "")  # else it is called as it calls itself
    element.attrib.clear()
    element.attrib.update({"name": name} if name else {})
    element.set("file", assets.add(serialize(root)[0].encode(), ".xml"))
    return name or root.get("model", ""), total


def find_directory(root: Element, own: str) -> PurePosixPath:
    """Return "meshdir" or "texturedir", relative to the model's folder; the last one in the file counts."""
    words = {"assetdir": "", own: ""}
    for element in walk(root):
        if element.tag == "compiler":
            words.update({key: element.get(key, words[key]) for key in words})
    return PurePosixPath((words[own] or words["assetdir"]).replace("\\", "/"))


def keep_last_names(root: Element) -> None:
    """Apply the option "strippath": use the file name of a path only."""
    for element in walk(root):
        if element.tag in ("mesh", "texture") and element.get("file"):
            element.set("file", PurePosixPath(element.get("file", "").replace("\\", "/")).name)


def replace_mesh(
    folder: MjcfFiles, name: str, element: Element, assets: Assets, directory: PurePosixPath, data: bytes | None
) -> None:
    """Replace a mesh by a stand-in, or by its true bytes if they are needed."""
    plain = element.get("file", "").replace("\\", "/")
    suffix = PurePosixPath(plain).suffix.lower()
    token = assets.add(TETRAHEDRON, ".obj") if data is None else assets.add(data, suffix)
    path = find_file(folder, element, directory, MESHES)
    assets.meshes[token] = MjcfMesh(path, element.get("refpos", "0 0 0"), element.get("refquat", "1 0 0 0"))
    kept = ("class", "scale", "refpos", "refquat") if data is None else tuple(set(element.keys()) - {"content_type"})
    values = {key: element.get(key, "") for key in kept if element.get(key) is not None}
    element.attrib.clear()
    element.attrib.update(values | {"name": name, "file": token})
    element[:] = []


def find_file(folder: MjcfFiles, element: Element, directory: PurePosixPath, suffixes: tuple[str, ...]) -> str:
    """Return where a mesh or an image is, or would be: next to the model, or to the included file that names it."""
    plain = element.get("file", "").replace("\\", "/")
    if "://" in plain:
        return plain
    try:
        found = folder.find(element, str(directory / plain), suffixes)
    except FormatError:
        found = None
    return str(Path(folder.main.path).parent / (directory / plain if found is None else found[1] / found[0].name))


def find_image(folder: MjcfFiles, element: Element, directory: PurePosixPath) -> str:
    """Return the file of a texture; "" for one that MuJoCo makes, or wraps around a cube."""
    is_image = PurePosixPath(element.get("file", "").replace("\\", "/")).suffix.lower() in IMAGES
    return find_file(folder, element, directory, IMAGES) if is_image and element.get("type", "cube") == "2d" else ""


# ------------------------------------------------------------------------------------------------ masses


def find_mesh_masses(
    folder: MjcfFiles, root: Element, meshes: Mapping[str, Element], assets: Assets, directory: PurePosixPath
) -> dict[str, bytes]:
    """Return the bytes of meshes that give a body its mass; geoms whose mesh is missing weigh nothing."""
    data: dict[str, bytes] = {}
    lost: dict[str, bool] = {}  # whether some mass goes with it
    for geom, facts, weighs in list_mesh_geoms(root):
        name = facts["mesh"]
        if name not in meshes:
            continue
        fitted = facts.get("type", "mesh") in SOLID
        if (weighs or fitted) and name not in data:
            found = read_mesh(folder, meshes[name], assets, directory)
            if found is not None:
                data[name] = found
        if name in data:
            continue
        if fitted:
            geom.set("type", "mesh")
        if weighs or fitted:
            assets.massless = True
            if "mass" not in facts:
                geom.set("mass", "0")
                geom.attrib.pop("density", None)
            lost[name] = lost.get(name, False) or weighs
    if lost and assets.use_meshes:
        say = folder.main.note_oddity if any(lost.values()) else folder.main.note
        say(f"meshes that are not there, without the masses that would come from them: {quote_names(lost)}")
    return data


def read_mesh(folder: MjcfFiles, mesh: Element, assets: Assets, directory: PurePosixPath) -> bytes | None:
    """Return a mesh's bytes if its kind is known, it is small enough, and its path is relative and not a link."""
    reference = PurePosixPath(mesh.get("file", "").replace("\\", "/"))
    if not assets.use_meshes or reference.suffix.lower() not in MESHES:
        return None
    try:
        found = folder.find(mesh, str(directory / reference), MESHES)
        if found is None:
            return None
        data = Source.open(found[0], limit=MAX_MESH_BYTES - assets.used_bytes).data
    except FormatError:
        return None
    assets.used_bytes += len(data)
    assets.used = True
    return data


def list_mesh_geoms(root: Element) -> Iterator[tuple[Element, dict[str, str], bool]]:
    """Yield geoms with a mesh, their settings with those of their classes, and whether their body's mass needs them."""
    classes = read_default_classes(root)
    inertia = {e.get("inertiafromgeom") for e in walk(root) if e.tag == "compiler"}
    always, never = "true" in inertia, "false" in inertia
    top = [e for e in root if e.tag == "worldbody"]
    stack: list[tuple[Element, str, bool]] = [(e, "main", False) for e in top]
    while stack:
        element, childclass, counts = stack.pop()
        childclass = element.get("childclass", childclass)
        if element.tag == "body":
            counts = always or (not never and not any(child.tag == "inertial" for child in element))
        for child in element:
            if child.tag == "geom":
                facts = classes.get(child.get("class", childclass), {}) | dict(child.items())
                if facts.get("mesh"):
                    yield child, facts, counts and not is_weightless(facts)
            elif child.tag in ("body", "frame", "replicate"):
                stack.append((child, childclass, counts))


def is_weightless(facts: Mapping[str, str]) -> bool:
    """Return whether a geom has zero mass or, without a mass, zero density."""
    word = facts.get("mass", facts.get("density", ""))
    return parse_numbers(word) == [0.0]


def read_default_classes(root: Element) -> dict[str, dict[str, str]]:
    """Return the geom settings of each default class, including those of its parents."""
    classes: dict[str, dict[str, str]] = {}
    stack = [(e, "main", dict[str, str]()) for e in root if e.tag == "default"]
    while stack:
        element, name, above = stack.pop()
        name = element.get("class", name)
        own = above | {key: value for child in element if child.tag == "geom" for key, value in child.items()}
        classes[name] = classes.get(name, {}) | own
        stack.extend((child, "", own) for child in element if child.tag == "default")
    return classes
