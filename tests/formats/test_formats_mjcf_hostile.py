"""MJCF from strangers: a FormatError that says where, in bounded time, and not a word on the terminal."""

import os
import sys
import time
from pathlib import Path

import pytest

import poise
from budget import within
from file_cases import written
from poise.errors import FormatError, FormatWarning
from poise.formats import load_within
from poise.formats.apart import make_environment
from poise.formats.mjcf import compiler

pytestmark = pytest.mark.slow


pytest.importorskip("mujoco")


BODY = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'


def mjcf(inside: str, before: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inside}</worldbody></mujoco>"


BOMB = '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
)


REFUSED = {
    "empty": "",
    "blank": "  \n ",
    "cut off": mjcf(BODY)[:60],
    "no MJCF": "<html/>",
    "entity bomb": BOMB + "]><mujoco><worldbody>&j;</worldbody></mujoco>",
    "external entity": '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + mjcf('<body name="&x;"/>'),
    "binary": "\x00\x01\x02<mujoco/>",
    "unknown element": mjcf("<bone/>"),
    "unknown attribute": mjcf('<body colour="red"/>'),
    "joint in the world": mjcf("<joint/>"),
    "free joint inside": mjcf('<body><geom size="1"/><body><freejoint/><geom size="1"/></body></body>'),
    "two names": mjcf('<body name="a"/><body name="a"/>'),
    "zero axis": mjcf('<body><joint axis="0 0 0"/><geom size="1"/></body>'),
    "zero quaternion": mjcf('<body quat="0 0 0 0"/>'),
    "range upside down": mjcf('<body><joint range="1 -1" limited="true"/><geom size="1"/></body>'),
    "range upside down, limited by itself": mjcf('<body><joint range="1 -1"/><geom size="1"/></body>'),
    "range is infinite": mjcf('<body><joint range="-inf inf"/><geom size="1"/></body>'),
    "endless name": mjcf(f'<body name="{"a" * 2000}"/>'),
    "range is nan": mjcf('<body><joint range="nan 1"/><geom size="1"/></body>'),
    "pos is NaN": mjcf('<body pos="0 NaN 0"/>'),
    "pos is infinite": mjcf('<body pos="0 inf 0"/>'),
    "pos is huge": mjcf('<body pos="0 1e300 0"/>'),
    "pos overflows": mjcf('<body pos="0 1e999 0"/>'),
    "underscore": mjcf('<body pos="1_0 0 0"/>'),
    "comma": mjcf('<body pos="1,0,0"/>'),
    "hexadecimal": mjcf('<body pos="0x10 0 0 0"/>'),
    "too many numbers": mjcf('<body pos="0 0 0 0"/>'),
    "too few numbers": mjcf('<body quat="1 0"/>'),
    "unknown class": mjcf('<body childclass="none"/>'),
    "unknown joint kind": mjcf('<body><joint type="elastic"/><geom size="1"/></body>'),
    "no such mesh": mjcf('<body><geom type="mesh" mesh="none"/></body>'),
    "no such site": mjcf(BODY, '<tendon><spatial><site site="none"/></spatial></tendon>'),
    "no such joint": mjcf(BODY, '<actuator><motor joint="none"/></actuator>'),
    "key too long": mjcf(BODY, '<keyframe><key qpos="0 0 0"/></keyframe>'),
    "key is nan": mjcf(BODY, '<keyframe><key qpos="nan"/></keyframe>'),
    "coupled to nothing": mjcf(BODY, '<equality><joint joint1="j" joint2="none"/></equality>'),
    "include without a file": mjcf("<include/>"),
    "include that is not there": mjcf('<include file="none.xml"/>'),
    "include itself": mjcf('<include file="model.xml"/>'),
    "include absolute": mjcf('<include file="/etc/passwd"/>'),
    "include above": mjcf('<include file="../../etc/passwd"/>'),
    "include above, other slashes": mjcf('<include file="..\\..\\etc\\passwd"/>'),
    "include a scheme": mjcf('<include file="http://example.org/a.xml"/>'),
    "include a folder": mjcf('<include file="."/>'),
    "include a long name": mjcf(f'<include file="{"n" * 5000}"/>'),
    "include nothing": mjcf('<include file=""/>'),
    "attach what is not there": mjcf("<body/>", '<asset><model name="m" file="none.xml"/></asset>'),
    "attach nothing": mjcf("<body/>", '<asset><model name="m"/></asset>'),
    "attach itself": mjcf("<body/>", '<asset><model name="m" file="model.xml"/></asset>'),
    "attach from above": mjcf("<body/>", '<asset><model name="m" file="../m.xml"/></asset>'),
    "replicate for ever": mjcf(f'<replicate count="1000000000">{BODY}</replicate>'),
    "replicate replicas": mjcf('<replicate count="1000">' * 4 + BODY + "</replicate>" * 4),
    "replicate less than nothing": mjcf(f'<replicate count="-5">{BODY}</replicate>'),
    "absurd composite": mjcf('<body><composite type="cable" count="99999999 1 1"/></body>'),
    "absurd flex": mjcf('<body><flexcomp name="f" type="grid" count="5000 5000 5000"/></body>'),
    "absurd size": mjcf(BODY, '<size nkey="2000000000"/>'),
    "absurd texture": mjcf(BODY, '<asset><texture name="t" builtin="flat" width="99999999" height="9"/></asset>'),
    "deep nesting": mjcf("<body>" * 2000 + "</body>" * 2000),
    "deep defaults": mjcf(
        BODY, '<default><default class="a">' + "<default>" * 3000 + "</default>" * 3001 + "</default>"
    ),
    "many bodies": mjcf("<body/>" * 20_000),
    "a long name twice": mjcf(f'<body name="{"n" * 100_000}"/>' * 2),
    "half a comment": mjcf(BODY)[:-9] + "<!--" * 100_000,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_format_error_in_bounded_time(
    tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = tmp_path / "model.xml"
    path.write_text(text, encoding="utf-8")
    with within(10.0, time.perf_counter), pytest.raises(FormatError) as caught:
        poise.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 2000
    assert capfd.readouterr() == ("", "")
    assert os.listdir() == []  # noqa: PTH208 - MuJoCo would leave its log here


def test_lines_are_those_of_the_file_that_has_the_fault(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(
        '<mujoco>\n\n<body name="a">\n<joint axis="0 0 0"/><geom size="1"/></body></mujoco>'
    )
    (tmp_path / "model.xml").write_text('<mujoco><worldbody>\n<include file="arm.xml"/></worldbody></mujoco>')
    with pytest.raises(FormatError, match="axis too small") as caught:
        poise.load(tmp_path / "model.xml")
    assert caught.value.path.endswith("arm.xml")
    assert caught.value.line == 4


def test_a_link_out_of_the_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco><body/></mujoco>")
    (tmp_path / "robot" / "in.xml").symlink_to(tmp_path / "secret.xml")
    (tmp_path / "robot" / "model.xml").write_text(mjcf('<include file="in.xml"/>'))
    with pytest.raises(FormatError, match="leads out"):
        poise.load(tmp_path / "robot" / "model.xml")


PIECE = '<mujoco><body name="arm"><joint name="j"/><geom size="0.1"/></body></mujoco>'
Files = dict[str, str]


def include(reference: str, inside: str = "") -> str:
    """Return a model with an include."""
    return mjcf(f'{inside}<include file="{reference}"/>')


def attach(reference: str, inside: str = '<attach model="m" body="b" prefix="p_"/>') -> str:
    """Return a model with a body to which another model is attached."""
    return mjcf(f'<body name="b">{inside}</body>', f'<asset><model name="m" file="{reference}"/></asset>')


def climb(reference: str, inside: str = PIECE) -> Files:
    """Return a model in `robots/one/` that includes something else, and pieces in `common/` next to `robots/`."""
    return {"robots/one/model.xml": include(reference), "common/Arm.MJCF": inside, "common/arm.txt": inside}


def write_all(folder: Path, files: Files) -> Path:
    """Write files, and return the path of the first."""
    paths = [written(folder / name, text) for name, text in files.items()]
    return paths[0]


HAND = '<mujoco><body name="hand"/></mujoco>'
READ: dict[str, tuple[Files, set[str]]] = {
    **{f"above, {way}": (climb(way), {"arm"}) for way in ("../../common/Arm.MJCF", "..\\..\\common\\Arm.MJCF")},
    "above, with dots": (climb("./../../common/./Arm.MJCF"), {"arm"}),
    "from the folder of the included file": (
        climb("../../common/Arm.MJCF", PIECE.replace("<geom", '<include file="../parts/hand.xml"/><geom'))
        | {"parts/hand.xml": HAND},
        {"arm", "hand"},
    ),
    "a model to attach, above": ({"robot/model.xml": attach("../hand.xml"), "hand.xml": mjcf(BODY)}, {"p_b"}),
}


@pytest.mark.parametrize("name", READ)
def test_files_elsewhere_that_are_read(name: str, tmp_path: Path) -> None:
    files, frames = READ[name]
    assert frames <= set(poise.load(write_all(tmp_path, files)).frames)


MANY = attach("m{}.xml", "".join(f'<attach model="m" body="b" prefix="p{i}"/>' for i in range(10)))
CIRCLES: dict[str, tuple[Files, str]] = {
    "includes, from a": ({"a.xml": include("b.xml"), "b.xml": include("a.xml")}, "already included"),
    "includes, from b": ({"b.xml": include("a.xml"), "a.xml": include("b.xml")}, "already included"),
    "includes above": (
        climb("../../common/Arm.MJCF", '<mujoco><include file="../../robots/one/model.xml"/></mujoco>'),
        "already included",
    ),
    "models to attach": ({"a.xml": attach("b.xml"), "b.xml": attach("a.xml")}, "attaches itself"),
    "ten of ten of ten": (
        {f"m{k}.xml": MANY.format(k + 1) for k in range(9)} | {"m9.xml": mjcf(BODY)},
        "grows above",
    ),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_files_that_refer_to_each_other(name: str, tmp_path: Path) -> None:
    files, words = CIRCLES[name]
    path = write_all(tmp_path, files)
    with pytest.raises(FormatError, match=words):
        poise.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes to refuse")
@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("../../common/arm.txt", "no .xml or .mjcf file"),
        ("../../common/Arm.MJCF/../arm.txt", "no .xml or .mjcf file"),
        ("../../common/link.xml", "no .xml or .mjcf file"),
        ("../../common", "no .xml or .mjcf file"),
        ("../../folder.xml", "missing, or is not a plain file"),
        ("../../pipe.xml", "missing, or is not a plain file"),
        ("../../none.xml", "missing, or is not a plain file"),
        ("../../../../../../../../../../../../../dev/zero", "no .xml or .mjcf file"),
        ("../one/model.xml", "already included"),
    ],
)
def test_an_include_climbs_to_nothing_else(tmp_path: Path, reference: str, words: str) -> None:
    path = write_all(tmp_path, climb(reference))
    (tmp_path / "common" / "link.xml").symlink_to("/dev/zero")
    (tmp_path / "folder.xml").mkdir()
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(FormatError, match=words) as caught:
        poise.load(path)
    assert caught.value.line == 1


OUTSIDE = {"outside/piece.xml": PIECE, "outside/hand.xml": HAND}
CLIMBING = PIECE.replace("<geom", '<include file="../outside/piece.xml"/><geom')
UPLOADED: dict[str, Files] = {
    "include": {"upload/robot.xml": include("../outside/piece.xml", BODY)},
    "attach": {"upload/robot.xml": attach("../outside/hand.xml")},
    "include in an include": {"upload/robot.xml": include("inner/first.xml", BODY), "upload/inner/first.xml": CLIMBING},
}


@pytest.mark.parametrize("name", UPLOADED)
def test_an_upload_reads_nothing_outside_of_its_folder(name: str, tmp_path: Path) -> None:
    path = write_all(tmp_path, UPLOADED[name] | OUTSIDE)
    with pytest.raises(FormatError, match="leads out of the upload") as caught:
        load_within(path, tmp_path / "upload")
    assert caught.value.line


def test_an_upload_may_climb_inside_of_its_folder(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"models/robot.xml": include("../piece.xml"), "piece.xml": PIECE})
    assert "arm" in load_within(path, tmp_path).frames
    free = load_within(path, tmp_path, base="free")  # as the studio opens a second body
    assert free.nv == load_within(path, tmp_path).nv + 6


def test_a_mesh_that_weighs_may_lie_above(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    (tmp_path / "meshes").mkdir()
    corners = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "part.OBJ").write_bytes(corners)
    path = tmp_path / "robot" / "model.xml"
    before = '<compiler meshdir="../meshes"/><asset><mesh name="m" file="part.OBJ"/></asset>'
    path.write_text(mjcf('<body name="b"><joint/><geom type="mesh" mesh="m" density="6"/></body>', before))
    model = poise.load(path)
    assert abs(model.mass - 1.0) < 1e-6
    assert Path(model.shapes[0].shape.path).resolve() == (tmp_path / "meshes" / "part.OBJ").resolve()


def test_a_bad_mesh_costs_its_mass_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flat = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n"  # on which Qhull would write pages
    bad = {"a.stl": b"solid", "b.obj": b"v 1 2\nf 9 9 9\n", "c.msh": b"\xff" * 100, "d.stl": b"", "e.obj": flat}
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
        path = tmp_path / "model.xml"
        asset = f'<asset><mesh name="m" file="{name}"/></asset>'
        path.write_text(
            mjcf('<body name="b"><joint/><geom type="mesh" mesh="m"/><geom size="1" mass="2"/></body>', asset)
        )
        with pytest.warns(FormatWarning, match="meshes could not be used"):
            model = poise.load(path)
        assert model.mass == pytest.approx(2.0)
    assert capfd.readouterr() == ("", "")


def test_missing_mujoco_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    (tmp_path / "model.xml").write_text(mjcf(BODY))
    with pytest.raises(poise.errors.MissingExtra, match="poise-ik\\[formats\\]"):
        poise.load(tmp_path / "model.xml")


def test_uploads_are_compiled_apart_and_in_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = tmp_path / "good.xml"
    good.write_text(mjcf(BODY, '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'))
    here, apart = poise.load(good), load_within(good, tmp_path)
    assert (apart.nq, apart.mass, list(apart.frames)) == (here.nq, here.mass, list(here.frames))
    bad = tmp_path / "bad.xml"
    bad.write_text(mjcf('<body><joint axis="0 0 0"/><geom size="1"/></body>'))
    with pytest.raises(FormatError, match="axis too small"):
        load_within(bad, tmp_path)
    # this ends the process that compiles it; `assets` rejects it, whoever owns the file
    itself = mjcf(
        '<body><attach model="m" body="b" prefix="p"/></body>', '<asset><model name="m" file="m.xml"/></asset>'
    )
    assert isinstance(compiler.compile_model(itself, {"m.xml": itself.encode()}, trusted=False), str)
    monkeypatch.setattr("poise.formats.apart.TIME_LIMIT", 0.01)
    with pytest.raises(FormatError, match="takes more than"):
        load_within(good, tmp_path)


def test_where_no_process_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("no processes here")

    monkeypatch.setattr("subprocess.Popen", refused)
    (tmp_path / "model.xml").write_text(mjcf(BODY))
    assert load_within(tmp_path / "model.xml", tmp_path).nq == 1


@pytest.mark.parametrize(
    ("preloaded", "kept"),
    [
        (None, None),
        ("", None),
        ("/usr/lib/gcc/x/12/libasan.so /usr/lib/libstdc++.so.6", "/usr/lib/libstdc++.so.6"),
        ("/a/libclang_rt.asan-aarch64.so:/b/libgomp.so.1", "/b/libgomp.so.1"),
        ("libjemalloc.so", "libjemalloc.so"),
        ("libasan.so.8", None),
    ],
)
def test_no_sanitizer_is_preloaded(monkeypatch: pytest.MonkeyPatch, preloaded: str | None, kept: str | None) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if preloaded is not None:
        monkeypatch.setenv("LD_PRELOAD", preloaded)
    monkeypatch.setenv("OWN", "kept")
    found = make_environment()
    assert found.get("LD_PRELOAD") == kept
    assert found["OWN"] == "kept"
    assert all(entry in found["PYTHONPATH"] for entry in sys.path if entry)
