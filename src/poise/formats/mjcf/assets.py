"""The files of an MJCF model: meshes are replaced by placeholders, attached models are prepared like the model itself.

MuJoCo's compiler gets bytes under generated names and opens no file. A mesh is replaced by a tetrahedron around its
origin; the real file is read only if a body's mass is computed from it, from the model's folder or through ``..``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from poise.errors import FormatError
from poise.files.source import Source, quote, quote_names
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
from poise.formats.xml import Element

__all__ = ["Assets", "MjcfMesh", "prepare"]

MAX_ATTACHED_MODELS = 100
MAX_MESH_BYTES = 1 << 26  # limit for all meshes read to compute masses
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
    """A mesh of the model: its file, and the transform that the asset applies to it.

    Attributes:
        path: The file, which may be missing.
        refpos: The origin of the mesh in the file's units, as written.
        refquat: The orientation of the mesh, as written.
    """

    path: str
    refpos: str
    refquat: str


@dataclass
class Assets:
    """The files passed to MuJoCo along with the XML.

    Attributes:
        use_meshes: Whether masses may be computed from the real mesh files.
        files: The bytes, by their names in the XML.
        meshes: The mesh of each of these names.
        textures: The image of each texture, or "" if it cannot be drawn on a mesh. MuJoCo gets a row of pixels for
            each, whose length is its position in this list (from 1), so that it can be identified after compilation.
        massless: Whether a geom lost its mass because its mesh is missing.
        used: Whether a real mesh file was read.
        used_bytes: The total size of these files.
        attached: The number of models attached so far.
        skinned: Whether the file has a skin, which is not read.
        within: The attached models being prepared, to detect recursion.
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
    skinned: bool = False

    def add(self, data: bytes, suffix: str) -> str:
        """Store bytes under a new name; return the name."""
        name = f"poise_{len(self.files)}{suffix}"
        self.files[name] = data
        return name


def prepare(folder: MjcfFiles, root: Element, assets: Assets) -> Weight:
    """Make the tree safe to compile; return its number of elements and bodies.

    Raises:
        FormatError: See `sanitize`; or an attached model is missing, recursive, or outside the folder.
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
    """Prepare an attached model; return its name, and its number of elements and bodies."""
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
    name = element.get("name", "")  # default: the name in the model itself
    element.attrib.clear()
    element.attrib.update({"name": name} if name else {})
    element.set("file", assets.add(serialize(root)[0].encode(), ".xml"))
    return name or root.get("model", ""), total


def find_directory(root: Element, own: str) -> PurePosixPath:
    """Return "meshdir" or "texturedir" relative to the model's folder; the last one in the file applies."""
    words = {"assetdir": "", own: ""}
    for element in walk(root):
        if element.tag == "compiler":
            words.update({key: element.get(key, words[key]) for key in words})
    return PurePosixPath((words[own] or words["assetdir"]).replace("\\", "/"))


def keep_last_names(root: Element) -> None:
    """Apply the option "strippath": keep only the file name of each path."""
    for element in walk(root):
        if element.tag in ("mesh", "texture") and element.get("file"):
            element.set("file", PurePosixPath(element.get("file", "").replace("\\", "/")).name)


def replace_mesh(
    folder: MjcfFiles, name: str, element: Element, assets: Assets, directory: PurePosixPath, data: bytes | None
) -> None:
    """Replace a mesh by a placeholder, or by its real bytes if they are needed."""
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
    """Return the path of a mesh or an image, relative to the model or to the included file that refers to it."""
    plain = element.get("file", "").replace("\\", "/")
    if "://" in plain:
        return plain
    try:
        found = folder.find(element, str(directory / plain), suffixes)
    except FormatError:
        found = None
    return str(Path(folder.main.path).parent / (directory / plain if found is None else found[1] / found[0].name))


def find_image(folder: MjcfFiles, element: Element, directory: PurePosixPath) -> str:
    """Return the image file of a texture, or "" if MuJoCo generates it or it is a cube map."""
    is_image = PurePosixPath(element.get("file", "").replace("\\", "/")).suffix.lower() in IMAGES
    return find_file(folder, element, directory, IMAGES) if is_image and element.get("type", "cube") == "2d" else ""


# ------------------------------------------------------------------------------------------------ masses


def find_mesh_masses(
    folder: MjcfFiles, root: Element, meshes: Mapping[str, Element], assets: Assets, directory: PurePosixPath
) -> dict[str, bytes]:
    """Return the bytes of the meshes that determine masses; geoms whose mesh is missing get no mass."""
    data: dict[str, bytes] = {}
    lost: dict[str, bool] = {}  # name of a missing mesh: whether a mass is lost
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
    """Return a mesh's bytes, or None if its type is unknown, or it is too large, missing, or outside the folder."""
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
    """Yield geoms with a mesh, their attributes including defaults, and whether their body's mass depends on them."""
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
    """Return the geom attributes of each default class, including inherited ones."""
    classes: dict[str, dict[str, str]] = {}
    stack = [(e, "main", dict[str, str]()) for e in root if e.tag == "default"]
    while stack:
        element, name, above = stack.pop()
        name = element.get("class", name)
        own = above | {key: value for child in element if child.tag == "geom" for key, value in child.items()}
        classes[name] = classes.get(name, {}) | own
        stack.extend((child, "", own) for child in element if child.tag == "default")
    return classes
