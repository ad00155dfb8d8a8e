"""The MJCF reader, which uses MuJoCo's own compiler.

Default classes, frames, replicas and all forms of orientations therefore have MuJoCo's meaning, and q is MuJoCo's qpos
without mimic joints.

Bodies and sites become frames; hinges, slides, balls and free joints become joints of those kinds; several joints of a
body are chained. Linear joint couplings become mimics, keyframes named poses, and geoms shapes. Actuators,
tendons, sensors and contacts are checked and ignored.
Format: https://mujoco.readthedocs.io/en/stable/XMLreference.html
"""

import re
from pathlib import Path
from typing import Any

from poise.errors import FormatError, PoiseError
from poise.files.source import Source, quote
from poise.formats.mjcf.assets import Assets, prepare
from poise.formats.mjcf.body import build
from poise.formats.mjcf.compiler import compile_model
from poise.formats.mjcf.safe_xml import MjcfFiles, Origin, gather, serialize, walk
from poise.formats.options import ReadOptions
from poise.formats.xml import Element, find_root_tag
from poise.model import Model

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_model"]

NAME = "MJCF"
SUFFIXES = (".xml", ".mjcf")

NOT_KINEMATIC = ("actuator", "sensor", "tendon", "contact", "custom", "deformable", "visual", "statistic")
SETTINGS = ("option", "flag", "statistic", "global", "quality", "headlight", "map", "scale", "rgba")
UNKNOWN = re.compile(r"unrecognized attribute: '(\w+)'\s*Element '(\w+)'")
MAX_OUTDATED_SETTINGS = 20  # unknown settings that are dropped before the file is rejected


def looks_like(head: bytes) -> bool:
    """Return whether the first element is <mujoco>."""
    return find_root_tag(head).lower() in ("mujoco", "mujocoinclude")


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the body that an MJCF file describes.

    Raises:
        FormatError: The file is not MJCF, MuJoCo rejects it, or an include is missing or outside the folder.
        MissingExtra: MuJoCo is not installed.
    """
    compiled, assets = compile_safely(source, options.within)
    try:
        return build(compiled, assets, source, options)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(str(error)) from error


def compile_safely(source: Source, within: str) -> tuple[Any, Assets]:
    """Compile the file with the meshes that masses need; without meshes if that fails."""
    assets = Assets()
    try:
        return compile_with(source, assets, within), assets
    except FormatError as error:
        if not assets.used:
            raise
        plain = Assets(use_meshes=False)
        compiled = compile_with(source, plain, within)
        source.note_oddity(
            f"its meshes could not be used, and the masses that come from them are left out: {error.message}"
        )
        return compiled, plain


def compile_with(source: Source, assets: Assets, within: str) -> Any:
    """Return the `MjModel` of the file.

    Elements unrelated to kinematics that MuJoCo rejects are removed only if other elements were removed before. Moving
    bodies without mass are kept with a warning.
    """
    folder = MjcfFiles(source, within, opened={Path(source.path).resolve()})
    root = gather(folder, source, Origin(source))
    if root.tag.lower() != "mujoco":
        raise source.make_error("is made to be included; load the file that includes it.", root.sourceline)
    prepare(folder, root, assets)
    assets.skinned = "skin" in folder.dropped
    root.append(
        make_element("compiler", **({"boundmass": "1e-12", "boundinertia": "1e-12"} if assets.massless else {}))
    )
    root[-1].append(make_element("lengthrange", mode="none"))
    problem = compile_tolerantly(folder, root, assets)
    if isinstance(problem, str) and "mass and inertia of moving bodies" in problem:
        root[-1].attrib.update(boundmass="1e-12", boundinertia="1e-12")
        source.note_oddity("some moving bodies have no mass; MuJoCo would reject them; here they are kept")
        problem = compile_tree(folder, root, assets)
    if isinstance(problem, str) and folder.dropped:
        complete = problem
        strip_extras(root)
        problem = compile_tree(folder, root, assets)
        problem = complete if isinstance(problem, str) else problem
    if isinstance(problem, str):
        raise explain(folder, root, problem)
    if folder.dropped:
        source.note_oddity(f"ignored, with everything that depends on it: {', '.join(sorted(folder.dropped))}")
    return problem


def compile_tree(folder: MjcfFiles, root: Element, assets: Assets) -> Any:
    """Return the compiled `MjModel` of a tree, or MuJoCo's error message."""
    return compile_model(serialize(root)[0], assets.files, trusted=not folder.within)


def compile_tolerantly(folder: MjcfFiles, root: Element, assets: Assets) -> Any:
    """Compile the tree; settings of other MuJoCo versions are dropped with a warning."""
    for _ in range(MAX_OUTDATED_SETTINGS):
        problem = compile_tree(folder, root, assets)
        found = UNKNOWN.search(problem) if isinstance(problem, str) else None
        if found is None or found[2] not in SETTINGS:
            return problem
        for element in walk(root):
            if element.tag == found[2]:
                element.attrib.pop(found[1], None)
        folder.main.note_oddity(
            f"<{found[2]}> has {quote(found[1])}, which this version of MuJoCo does not know; it was left out"
        )
    return problem


def explain(folder: MjcfFiles, root: Element, problem: str) -> FormatError:
    """Return MuJoCo's error with the file and line of the element that it refers to."""
    _, origin = serialize(root)
    line = re.search(r",? *line (\d+)", problem)
    words = re.sub(r"^(?:XML )?(?:Error: )*", "", problem.replace("poise_", "file "))
    words = " ".join(re.sub(r",? *line \d+", "", words).split()).rstrip(".,; ")
    element = origin[int(line[1]) - 1] if line and 0 < int(line[1]) <= len(origin) else None
    meant = re.search(r"Element '(\w+)'", problem)
    if element is not None and meant and meant[1] != element.tag:
        element = None
    advice = f"MuJoCo rejects it: {quote(words, 300)[1:-1]}."
    return folder.main.make_error(advice) if element is None else folder.make_error(element, advice)


def strip_extras(root: Element) -> None:
    """Remove everything unrelated to kinematics, and references to it."""
    root[:] = [child for child in root if child.tag not in NOT_KINEMATIC]
    for element in walk(root):
        if element.tag == "key":
            for key in ("ctrl", "act", "qvel"):
                element.attrib.pop(key, None)
        if element.tag == "equality":
            element[:] = [child for child in element if child.tag == "joint"]


def make_element(tag: str, **attributes: str) -> Element:
    """Return a new element."""
    return Element(tag, attributes)
