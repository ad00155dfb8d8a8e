"""Macros of a URDF: what they mean; files that run commands, read secrets or exhaust memory end in errors."""

from pathlib import Path
from typing import Any

import pytest

import poise
from file_cases import check_rejected, load_quietly, written
from poise.errors import FormatError
from poise.formats import load_within
from poise.model import Mesh

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'


SHELL = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__=='_wrap_close'][0].__init__.__globals__"


DOUBLES = "".join(f'<xacro:property name="a{i}" value="${{a{i - 1}}}${{a{i - 1}}}"/>' for i in range(1, 60))


LISTS = "".join(f'<xacro:property name="a{i}" value="${{[a{i - 1}, a{i - 1}]}}"/>' for i in range(1, 60))


CALLS = "".join(
    f'<xacro:macro name="m{i}" params=""><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>' for i in range(60)
)


RECURSION = '<xacro:macro name="m" params="i"><link name="l${i}"/><xacro:m i="${i + 1}"/></xacro:macro><xacro:m i="0"/>'


EXPRESSIONS = {
    "a shell through subclasses": f"(lambda: {SHELL}['system']('touch PWNED'))()",
    "a comprehension": "[c for c in (1, 2)]",
    "a generator": "max(c for c in (1, 2))",
    "an import": "__import__('os').system('touch PWNED')",
    "a class": "().__class__",
    "a class of a module": "math.__class__",
    "a dictionary of a module": "xacro.__dict__",
    "letters that normalise to underscores": "_\uff3fimport\uff3f_('os').system('touch PWNED')",
    "letters that normalise to an attribute": "()._\uff3fcl\u1d43ss\uff3f_",
    "a method that changes a dictionary": "dict(a=1).pop('a')",
    "a method that changes a list": "[1].append(2)",
    "the constructor of a dictionary": "dict(a=1).__init__",
    "the type of a function": "str.mro()",
    "a method of a function": "math.sin.call",
    "a function that is not listed": "vars()",
    "a type": "python.type(1)",
    "open": "open('PWNED', 'w')",
    "eval": "eval('1')",
    "an f-string": "f'{1'",
    "an assignment": "(x := 1)",
    "a starred argument": "max(*[1, 2])",
    "a dictionary of arguments": "dict(**dict(a=1))",
    "format": "'a'.format(1)",
    "a percent format": "'%1000000000d' % 1",
    "a power": "9**9**9**9",
    "a long integer": "int('f' * 100000, 16)",
    "a long string": "'a' * 10**9",
    "a long list": "[[0] * 10**5] * 10**5",
    "a long range": "range(10**12)",
    "a long rounding": "round(1, -10**9)",
    "a factorial": "math.factorial(10**6)",
    "a shift": "1 << 10**10",
    "many brackets": "(" * 900 + "1" + ")" * 900,
    "many signs": "-" * 1900 + "1",
    "many sums": "+".join(["1"] * 990),
    "a long expression": "1 + " * 100_000 + "1",
    "bytes": "b'a'",
    "half a character": "'\\ud800'",
    "a zero": "'\\x00'",
    "many quotes": "float('a' * 30000)",
    "a map of maps": "map(map, [map] * 99, [[str]] * 99, [[[0] * 999]] * 99)",
    "a namespace that is no name": '1}"/><xacro:include filename="cycle.xacro" ns="*x"/><link name="${1',
    "a key that lists itself": "dict([([], 1)])",
    "an absolute YAML file": "str(xacro.load_yaml('{outside}/secret.yaml'))[0:60]",
    "a YAML file above": "xacro.load_yaml('../secret.yaml').word",
    "a YAML file behind a link": "load_yaml('link.yaml').word",
    "a hidden YAML file": "load_yaml('.hidden.yaml').word",
    "YAML without its suffix": "load_yaml('secret.txt').word",
    "a zero in a file name": "load_yaml('a\\x00.yaml')",
    "a YAML object": "load_yaml('object.yaml')",
    "YAML aliases": "load_yaml('aliases.yaml')",
    "YAML merges": "load_yaml('merges.yaml')",
    "deep YAML": "load_yaml('deep.yaml')",
    "a YAML alias of itself": "load_yaml('cycle.yaml')",
    "YAML units that compute": "load_yaml('units.yaml')",
}


SUBSTITUTIONS = {
    "a variable of the environment": "$(env POISE_SECRET)",
    "a variable through eval": "$(eval env)",
    "a class through eval": "$(eval ().__class__)",
    "a package above": "$(find ../..)",
    "a folder above as a package": "$(find outside)",
    "no command": "$()",
    "an unknown command": "$(anon x)",
    "an open brace": "${1",
    "many dollars": "$" * 50_000 + " ${x}",
}


FILES = {
    "an include above": '<xacro:include filename="../secret.xacro"/>',
    "an absolute include": '<xacro:include filename="{outside}/secret.xacro"/>',
    "an include behind a link": '<xacro:include filename="link.xacro"/>',
    "an include by package": '<xacro:include filename="$(find outside)/secret.xacro"/>',
    "an include by URL": '<xacro:include filename="package://../../secret.xacro"/>',
    "an include of itself": '<xacro:include filename="robot.urdf"/>',
    "an include of a cycle": '<xacro:include filename="cycle.xacro"/>',
    "an include with entities": '<xacro:include filename="laughs.xacro"/>',
    "a device": '<xacro:include filename="/dev/zero"/>',
    "doubled properties": f'<xacro:property name="a0" value="xx"/>{DOUBLES}<link name="${{a59}}"/>',
    "doubled lists": f'<xacro:property name="a0" value="${{[0]}}"/>{LISTS}<link name="${{a59 == a58}}"/>',
    "doubled macros": CALLS + '<xacro:macro name="m60" params=""><link name="l"/></xacro:macro><xacro:m0/>',
    "a macro without end": RECURSION,
    "a long key": '<xacro:property name="k" value="${(0,) * 9000}"/>'
    '<xacro:property name="d" value="${dict([(k, 1)])}"/>' + '<link name="${d[k]}"/>' * 50,
    "a long property": '<xacro:property name="k" value="${[0] * 9000}"/>' + '<link name="l" a="${k}"/>' * 50,
    "long arguments": f'<xacro:arg name="k" default="{"1" * 9000}"/>' + '<link name="l$(eval 1)"/>' * 50,
    "a property of itself": '<xacro:property name="a" value="${a + 1}"/><link name="${a}"/>',
    "a block of itself": '<xacro:property name="a"><xacro:insert_block name="a"/></xacro:property>'
    '<xacro:insert_block name="a"/>',
    "a property with underscores": '<xacro:property name="__builtins__" value="1"/><link name="${1}"/>',
    "parameters that backtrack": f'<xacro:macro name="m" params="a:={"x" * 9000}\'"/><xacro:m/>',
}


ATTACKS = {
    **{name: f'<link name="x${{{text}}}"/>' for name, text in EXPRESSIONS.items()},
    **{name: f'<link name="x{text}"/>' for name, text in SUBSTITUTIONS.items()},
    **FILES,
    "a method of many": """<xacro:property name="s" value="${'a' * 10000}"/>
        <link name="${len(map(s.split, ['a'] * 1000))}"/>""",
    "a replacement that grows": """<xacro:property name="s" value="${'a' * 9000}"/>
        <link name="${len(s.replace('a', 'b' * 90))}"/>""",
    "a join that grows": """<xacro:property name="s" value="${['a'] * 9000}"/>
        <link name="${len(('b' * 9000).join(s))}"/>""",
    "keys that collide": "<link name='${len(dict(zip(range(0, 60000 * (2**61 - 1), 2**61 - 1), range(60000))))}'/>",
    "a long number": f"""<xacro:property name="a" value="{"9" * 4300}"/><link name="${{len([a] * 200000)}}"/>""",
    "a block with a default": """<xacro:macro name="m" params="*a:=x"><xacro:insert_block name="a"/></xacro:macro>
        <xacro:m><b/></xacro:m>""",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a hostile file, with a secret outside of it and one in the environment."""
    folder = tmp_path / "outside" / "robot"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("POISE_SECRET", "SECRET")
    monkeypatch.setattr("poise.formats.urdf.expressions.MAX_WORK", 100_000)
    for suffix, text in {"yaml": "word: SECRET", "xacro": f'{HEAD}<link name="SECRET"/></robot>'}.items():
        (folder.parent / f"secret.{suffix}").write_text(text)
        (folder / f"link.{suffix}").symlink_to(folder.parent / f"secret.{suffix}")
    (folder / ".hidden.yaml").write_text("word: SECRET")
    (folder / "secret.txt").write_text("word: SECRET")
    (folder / "object.yaml").write_text("a: !!python/object/apply:os.system ['touch PWNED']")
    lines = ["a0: &a0 {x: 1}", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    (folder / "aliases.yaml").write_text("\n".join(lines))
    lines = ["a0: &a0 {x: 1}", *(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}" for i in range(1, 60))]
    (folder / "merges.yaml").write_text("\n".join(lines))
    (folder / "deep.yaml").write_text("[\n" * 2000 + "]" * 2000)
    (folder / "cycle.yaml").write_text("a: &a [*a]")
    (folder / "units.yaml").write_text("a: !degrees __import__('os').system('touch PWNED')")
    (folder / "cycle.xacro").write_text(f'{HEAD}<xacro:include filename="cycle.xacro"/></robot>')
    (folder / "laughs.xacro").write_text('<!DOCTYPE r [<!ENTITY a "aa">]><robot name="&a;"/>')
    return folder


@pytest.mark.parametrize("upload", [False, True], ids=["opened", "uploaded"])
@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name: str, upload: bool, folder: Path) -> None:
    if "yaml" in ATTACKS[name]:
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = folder / "robot.urdf"
    path.write_text(HEAD + ATTACKS[name].replace("{outside}", str(folder.parent)) + "</robot>", "utf-8")
    with pytest.raises(FormatError) as caught:
        load_within(path, folder) if upload else poise.load(path)
    assert caught.value.path
    assert caught.value.line
    assert len(caught.value.message) < 600
    assert "SECRET" not in str(caught.value).replace("POISE_SECRET", "")
    assert not list(folder.parent.rglob("PWNED"))


BOMBS = (
    *("a long string", "a long list", "a long range", "a long key", "a long property", "long arguments"),
    *("a replacement that grows", "a join that grows", "doubled properties", "doubled lists", "doubled macros"),
    *("YAML aliases", "YAML merges"),
)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_with_the_budget(name: str, folder: Path) -> None:
    if "yaml" in ATTACKS[name]:
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    (folder / "robot.urdf").write_text(f"{HEAD}{ATTACKS[name]}</robot>")
    with pytest.raises(FormatError, match="more than 100000 steps and characters"):
        poise.load(folder / "robot.urdf")


def test_an_error_in_a_yaml_file_has_its_line(folder: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (folder / "object.yaml").write_text("a: 1\nb:\n  c: !!python/object/apply:os.system [x]")
    (folder / "robot.urdf").write_text(f"{HEAD}{ATTACKS['a YAML object']}</robot>")
    with pytest.raises(FormatError, match=r"object\.yaml:3: "):
        poise.load(folder / "robot.urdf")


def test_variables_of_the_environment_have_their_defaults(folder: Path) -> None:
    path = folder / "robot.xacro"
    path.write_text(f'{HEAD}<link name="base$(optenv POISE_SECRET _of a)"/></robot>')
    model = poise.load(path)
    assert model.frames == ("base_of a",)
    assert any("'POISE_SECRET' has its default" in note for note in model.notes)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("'yes' if prefix.find('right_') != -1 else 'no'", "yes"),
        ("prefix.replace('_', '-') + str(prefix.count('r'))", "right-1"),
        ("'_'.join(['arm', prefix.removesuffix('_')])", "arm_right"),
        ("sizes.get('hand', 0) + sizes.get('tail', 4)", "6"),
        ("'+'.join(sizes.keys())", "arm+hand"),
        ("['arm', 'hand'].index('hand')", "1"),
    ],
)
def test_methods_of_xacro_values(expression: str, name: str, tmp_path: Path) -> None:
    head = '<robot name="r" xmlns:xacro="http://x"><xacro:property name="prefix" value="right_"/>'
    head += """<xacro:property name="sizes" value="${dict(arm=1, hand=2)}"/>"""
    path = tmp_path / "robot.xacro"
    path.write_text(f"""{head}<link name="${{{expression}}}"/></robot>""", "utf-8")
    assert poise.load(path).frames == (name,)


def load(folder: Path, text: str, name: str = "robot.urdf", **options: Any) -> poise.Model:
    return load_quietly(folder / name, text, **options)


CALL = f'{HEAD}<link name="base"/><xacro:sensors_of_somebody side="left"/></robot>'
FIND = f'{HEAD}<xacro:include filename="$(find {{}})/part.xacro"/></robot>'.format
WRONG = {
    "a number of others": (
        "robot.urdf",
        CALL.replace("base", "base_${side}"),
        "'side' is not defined",
    ),
    "a macro of nobody": ("robot.xacro", CALL, "no macro is named 'sensors_of_somebody'"),
    "an argument without a value": (
        "arm.xacro",
        f'{HEAD}<link name="hand_$(arg side)"/></robot>',
        r"Give it a value: xacro arm\.xacro side:=\.\.\. -o robot\.urdf",
    ),
    "macros alone": (
        "arm.xacro",
        f'{HEAD}<xacro:macro name="m" params="x"><link name="${{x}}"/></xacro:macro></robot>',
        "load the file that calls them",
    ),
    **{
        f"the package {name}": ("urdf/arm.xacro", FIND(name), "needs the ROS package")
        for name in ("nobodys_description", "..", "../secret", ".")
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_with_macros_are_named(name: str, tmp_path: Path) -> None:
    file, text, words = WRONG[name]
    written(tmp_path / "part.xacro", f'{HEAD}<link name="part"/></robot>')
    check_rejected(tmp_path / file, text, words)


def test_a_urdf_that_calls_macros_of_others_is_read_without_them(tmp_path: Path) -> None:
    model = load(tmp_path, CALL)
    assert model.frames == ("base",)
    assert any("macros were ignored" in note and "sensors_of_somebody" in note for note in model.notes)


@pytest.mark.parametrize("package", ["arm_description", "hand_description"])
def test_packages_that_xacro_wants_are_found_by_their_folders(tmp_path: Path, package: str) -> None:
    for name in ("arm_description", "hand_description"):
        (tmp_path / name / "urdf").mkdir(parents=True)
        (tmp_path / name / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (tmp_path / package / "urdf" / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    text = f'{HEAD}<xacro:include filename="$(find {package})/urdf/part.xacro"/></robot>'
    assert load(tmp_path / "arm_description" / "urdf", text, "arm.xacro").frames == ("part",)


def test_the_package_of_a_file_is_known_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "package.xml").write_text("<package><name>arm_description</name></package>")
    (tmp_path / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    text = f'{HEAD}<xacro:include filename="$(find arm_description)/part.xacro"/></robot>'
    assert load(tmp_path / "urdf", text, "arm.xacro").frames == ("part",)
    text = f'{HEAD}<xacro:include filename="../part.xacro"/></robot>'
    assert load(tmp_path / "urdf", text, "arm.xacro").frames == ("part",)


def test_a_folder_without_a_package_xml_needs_package_path(tmp_path: Path) -> None:
    for name in ("robot", "parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "parts" / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    path = tmp_path / "robot" / "arm.xacro"
    path.write_text(f'{HEAD}<xacro:include filename="$(find parts)/part.xacro"/></robot>')
    with pytest.raises(FormatError, match="needs the ROS package 'parts'"):
        poise.load(path)
    assert poise.load(path, package_path=[tmp_path]).frames == ("part",)


XACRO = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="${1 + 1}"/>
  <xacro:macro name="arm" params="i">
    <link name="l${i}"><visual><geometry><mesh filename="package://p/a.stl"/></geometry></visual></link>
  </xacro:macro>
  <xacro:arm i="0"/> <xacro:arm i="1"/>
  <joint name="j" type="continuous"><parent link="l0"/><child link="l1"/><origin xyz="${length} 0 0"/></joint>
</robot>
"""


@pytest.mark.parametrize("name", ["robot.urdf.xacro", "robot.xacro", "robot.urdf"])
def test_xacro(name: str, tmp_path: Path) -> None:
    model = load(tmp_path, XACRO, name)
    assert model.fk([0.0], "l1")[0, 3] == 2.0
    assert model.shapes[0].shape == Mesh("package://p/a.stl")
    assert any("macros were expanded" in note for note in model.notes)


def test_errors_after_macros_have_the_lines_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nobody") as caught:
        load(tmp_path, XACRO.replace('child link="l1"', 'child link="nobody"'))
    assert caught.value.line == 8
    with pytest.raises(FormatError, match="two links") as caught:  # made by the macro's body
        load(tmp_path, XACRO.replace('i="1"', 'i="0"'))
    assert caught.value.line == 5
    (tmp_path / "part.xacro").write_text(XACRO.replace("${1 + 1}", "${1 + nothing}"))
    with pytest.raises(FormatError, match="'nothing' is not defined") as caught:
        load(tmp_path, '<robot xmlns:xacro="http://x">\n<xacro:include filename="part.xacro"/></robot>', "main.xacro")
    assert caught.value.path == str(tmp_path / "part.xacro")
    assert caught.value.line == 8
    (tmp_path / "part.xacro").write_text(XACRO)
    with pytest.raises(FormatError, match="two links") as caught:  # by the second include, in this file
        load(
            tmp_path,
            '<robot name="r" xmlns:xacro="http://x">\n' + '<xacro:include filename="part.xacro"/>\n' * 2 + "</robot>",
        )
    assert caught.value.line == 3


def test_xacro_includes_files_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    assert load(tmp_path, f'{HEAD}<xacro:include filename="part.xacro"/></robot>').frames == ("part",)


def test_yaml_of_xacro(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = "base: &b {turn: !degrees 30 * 3, size: 2}\narm: {<<: *b, size: 3, names: [a, 1.5, true, null, 12]}"
    (tmp_path / "facts.yaml").write_text(text)
    name = "${a.turn == pi / 2}_${a['size']}_${len(a.names)}_${a.names[4] + 1}"
    head = '<robot name="r" xmlns:xacro="http://x"><xacro:property name="a" '
    head += "value=\"${xacro.load_yaml('facts.yaml').arm}\"/>"
    assert load(tmp_path, f'{head}<link name="{name}"/></robot>').frames == ("True_3_5_13",)
