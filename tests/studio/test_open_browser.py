"""File after file in a real browser: ten bodies take turns on the stage, and the studio stays on the screen."""

from __future__ import annotations

from functools import partial

import pytest

import looks_files as made
import poise
from file_cases import ignore_warnings
from studio_page import find_viewer, until

pytestmark = pytest.mark.browser

SKINS = {"first.glb": 8, "second.glb": 5, "third.glb": 3, "fourth.glb": 8, "last.glb": 6}
OTHERS = {"arm.urdf": "panda", "man.bvh": "humanoid", "flat.urdf": "planar3", "tree.bvh": "tree30", "ur.urdf": "ur5e"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Ten files, every other one with a skin."""
    folder = tmp_path_factory.mktemp("files")
    for name, bones in SKINS.items():
        file = made.strip(bones, 4, texture=made.SQUARES if bones == 8 else None)[0]
        (painted,) = file.json["meshes"][0]["primitives"]
        file.add("materials", {"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}})
        file.json["meshes"][0]["primitives"].append({**painted, "material": 1})
        file.glb(folder / name)
    with ignore_warnings():  # BVH has no ranges and masses
        for name, body in OTHERS.items():
            poise.save(poise.load(body), folder / name)
    return [folder / name for pair in zip(SKINS, OTHERS, strict=True) for name in pair]


LOOK = """names => {
    const [one, other] = names.map(name => poiseNodes[name].children.find(part => part.isMesh));
    return [one.material.map?.image?.width, one.geometry.attributes.uv?.count, one.skeleton === other.skeleton];
}"""


def is_shown(errors, page, studio, path):
    """Whether the page has failed, or has drawn the body of a file, with its skin if it has one."""
    view = studio.session.view
    if errors or not studio.model.source.endswith(path.name):
        return bool(errors)
    seen = [view.root.name] if path.suffix != ".glb" else [skin.name for skin in getattr(view.dressed, "skins", ())]
    return bool(seen) and page.evaluate("names => names.every(name => name in poiseNodes)", seen)


def test_ten_files_are_opened_one_after_another_and_the_line_may_break(studio, page, files):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in files:
        page.locator("input[type=file]").first.set_input_files(str(path))
        until(partial(is_shown, errors, page, studio, path), page)
        assert errors == []
        assert page.get_by_role("tab", name="Pose").is_visible()
    studio.show(files[0])
    until(partial(is_shown, errors, page, studio, files[0]), page)
    skins = studio.session.view.dressed.skins
    count = len(studio.session.view.dressed.dress.skins[0].vertices)
    until(lambda: page.evaluate(LOOK, [skin.name for skin in skins]) == [2, count, True], page)
    page.evaluate("for (const name in poiseNodes) delete poiseNodes[name]")
    studio.session.server._websock_server.disconnect_all_clients()
    page.viewer = find_viewer(studio, page, {page.viewer})
    until(partial(is_shown, errors, page, studio, files[0]), page)
    assert errors == []
