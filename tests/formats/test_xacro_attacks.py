"""Files that try to run commands, read forbidden files or exhaust memory, through the macros of a URDF.

Each attack must end in a `FormatError` with the path and line, without a side effect and without the secret's words.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import poise
from poise.errors import FormatError
from poise.formats import load_within

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
    *(
        "a replacement that grows",
        "a join that grows",
        "doubled properties",
        "doubled lists",
        "doubled macros",
        "YAML aliases",
        "YAML merges",
    ),
)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_with_the_budget(name: str, folder: Path) -> None:
    if "yaml" in ATTACKS[name]:
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    (folder / "robot.urdf").write_text(f"{HEAD}{ATTACKS[name]}</robot>")
    with pytest.raises(FormatError, match="more than 100000 steps and characters"):
        poise.load(folder / "robot.urdf")


def test_variables_of_the_environment_have_their_defaults(folder: Path) -> None:
    path = folder / "robot.xacro"
    path.write_text(f'{HEAD}<link name="base$(optenv POISE_SECRET _of a)"/></robot>')
    model = poise.load(path)
    assert model.frames == ("base_of a",)
    assert any("'POISE_SECRET' has its default" in note for note in model.notes)
