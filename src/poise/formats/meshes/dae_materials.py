"""Materials of a DAE file: a colour, or an image.

A material refers to an effect, whose diffuse part is a colour or a texture. A texture refers to a sampler, the sampler
to a surface, the surface to an image, and the image to a file; some writers skip steps.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from poise.files.source import Source
from poise.formats.meshes.images import ImageCache
from poise.formats.xml import Element, strip_prefix
from poise.model.geometry.looks import Material, Texture

__all__ = ["list_all", "list_children", "read_material", "read_numbers"]

MAX_STEPS = 6


def list_all(root: Element) -> Iterator[Element]:
    """Yield every element of the tree."""
    for element in root.iter():
        assert isinstance(element, Element)
        yield element


def list_children(element: Element, *tags: str) -> list[Element]:
    """Return the children with one of these tags."""
    return [child for child in element if strip_prefix(child.tag) in tags]


def read_numbers(source: Source, text: str | None, what: str) -> NDArray[np.float64]:
    """Parse the numbers of a text."""
    try:
        return np.array((text or "").split(), np.float64)
    except ValueError as error:
        raise source.make_error(f"{what} holds something that is not a number: {error}.") from None


def read_material(
    source: Source, known: Mapping[str, Element], reference: str, album: ImageCache | None
) -> Material | None:
    """Return a material by its ``#id``, with its image or otherwise its colour; None if it has neither."""
    material = known.get(reference.removeprefix("#"))
    effects = [] if material is None else list_children(material, "instance_effect")
    effect = known.get(effects[0].get("url", "").removeprefix("#")) if effects else None
    for diffuse in [] if effect is None else [e for e in list_all(effect) if strip_prefix(e.tag) == "diffuse"]:
        assert effect is not None
        for painted in list_children(diffuse, "texture") if album is not None else ():
            texture = find_image(known, effect, painted.get("texture", ""), album)
            if texture is not None:
                return Material(texture=texture)
        for color in list_children(diffuse, "color"):
            values = read_numbers(source, color.text, "a <color>")
            if values.shape in ((3,), (4,)) and np.isfinite(values).all():
                r, g, b = (float(x) for x in np.clip(values[:3], 0.0, 1.0))
                return Material((r, g, b, 1.0))
    return None


def find_image(known: Mapping[str, Element], effect: Element, name: str, album: ImageCache | None) -> Texture | None:
    """Follow the references from a texture to its image file; return the image, or None if the chain is broken."""
    params = {e.get("sid", ""): e for e in list_all(effect) if strip_prefix(e.tag) == "newparam"}
    for _ in range(MAX_STEPS):
        step = params.get(name, known.get(name))
        if step is None:
            break
        words = [e for e in list_all(step) if strip_prefix(e.tag) in ("source", "instance_image", "init_from", "ref")]
        if not words:
            return None
        last = words[-1]
        name = (last.get("url") or last.text or "").strip().removeprefix("#")
        if strip_prefix(step.tag) == "image":
            return None if album is None else album.find(name)
    return None
