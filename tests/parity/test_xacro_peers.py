"""Our expansion of macros against that of the xacro package, on each part of the language."""

from pathlib import Path
from typing import Any

import pytest

from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.urdf.xacro import expand
from poise.formats.xml import Element, parse_xml

xacro = pytest.importorskip("xacro")

PARTS = {
    "expressions": """<a b="${1 / 3}" c="${2 ** 0.5} ${-7 // 2} ${7 % 3}" d="${not True or 3 > 2 >= 2}"
      e="${sin(pi / 6) + math.cos(0)}" f="${[1, 2.0, 'x'][1:]}" g="${(1, 2)[0]}" h="${'a' if 1 else 'b'}"
      i="${radians(90)}" j="${'x' in 'xyz'}" k="${dict(a=1, b=[2])['b'][0]}" l="${1e-7}" m="${str(1) + 'a' * 3}"
      n="${max(1, 2)} ${len('abc')} ${round(2.567, 2)} ${round(2.5)} ${int('7')} ${float('2')} ${bool(0)}"
      o="${list(map(float, '1 2'.split(' ')))}" p="${sorted([3, 1])} ${xacro.tokenize('a,b;c d')}" q="${None}"/>""",
    "text": """<a b="$${x} $$(y) $ 5$ ${'$'}">w ${1 + 1} x<c/>tail ${2}</a>""",
    "properties": """<xacro:property name="late" value="${early * 2}"/><xacro:property name="early" value="3"/>
      <xacro:property name="quoted" value="'5'"/><xacro:property name="flag" value="true"/>
      <xacro:property name="early" default="9"/><xacro:property name="new" default="a b"/>
      <a b="${late}" c="${quoted}" d="${flag}" e="${new}" f="${early}"/>
      <xacro:property name="now" value="${early}" lazy_eval="false"/><xacro:property name="early" value="4"/>
      <a b="${now}" c="${late}"/><xacro:property name="new" remove="true"/><xacro:property name="new" default="c"/>
      <a b="${new}"/><xacro:property name="n_${1}" value="1_0"/><a b="${n_1}"/>""",
    "macros": """<xacro:property name="side" value="left"/><xacro:property name="x" value="outer"/>
      <xacro:macro name="m" params="a b:=2 c:='x y' d:=${b_of} side:=^ other:=^|7 *origin **rest">
        <link name="${a}_${b}_${c}_${d}_${side}_${other}"><xacro:insert_block name="origin"/></link>
        <xacro:insert_block name="rest"/><xacro:property name="x" value="inner"/><a b="${x}"/>
        <xacro:property name="up" value="${a}" scope="parent"/><xacro:property name="top" value="1" scope="global"/>
      </xacro:macro><xacro:property name="b_of" value="${2 + 3}"/>
      <xacro:m a="1"><origin xyz="${b_of} 0 0"/><all><c/><d e="${x}"/></all></xacro:m>
      <xacro:m a="t" b="0" side="r" other="">
        <xacro:if value="${1}"><origin/></xacro:if><all/></xacro:m><a x="${x}" up="${up}" top="${top}"/>
      <xacro:call macro="${'m'}" a="z"><origin/><all/></xacro:call>""",
    "recursion": """<xacro:macro name="row" params="n"><link name="l${n}"/>
      <xacro:if value="${n &gt; 0}"><xacro:row n="${n - 1}"/></xacro:if></xacro:macro><xacro:row n="20"/>""",
    "conditions": """<xacro:if value="true"><a/></xacro:if><xacro:unless value="0"><b/></xacro:unless>
      <xacro:if value="${1 == 2}"><c/></xacro:if>
      <xacro:unless value="False"><xacro:if value="1"><d/></xacro:if></xacro:unless>
      <xacro:if value="${[]}"><e/></xacro:if>""",
    "arguments": """<xacro:arg name="x" default="${1 + 1}"/><xacro:arg name="x" default="5"/>
      <xacro:arg name="s" default="a"/>
      <a b="$(arg x)" c="${$(arg x) + 1}" d="${'$(arg s)' == 'a'}" e="${xacro.arg('x')}" f="$(eval x * 3)"/>""",
    "blocks": """<xacro:property name="block"><a b="${v}"/><c/></xacro:property><xacro:property name="v" value="1"/>
      <xacro:insert_block name="block"/><xacro:property name="v" value="2"/><xacro:insert_block name="block"/>""",
    "includes": """<xacro:include filename="part.xacro"/><xacro:include filename="part.xacro" ns="p"/>
      <xacro:include filename="nothing.xacro" optional="true"/><a b="${size} ${p.size}"/><xacro:p.part n="1"/>
      <xacro:part n="2"/>""",
    "elements": """<xacro:element xacro:name="${'li' + 'nk'}" name="x"><xacro:attribute name="${'a'}" value="1"/>
      <c xacro:gone="1"/></xacro:element>""",
    "YAML": """<xacro:property name="y" value="${xacro.load_yaml('facts.yaml')}"/>
      <a b="${y.arm.size} ${y['arm']['turn']} ${y.list[1].deep} ${y}"/>""",
}
PART = """<robot xmlns:xacro="http://x"><xacro:property name="size" value="${4 * 2}"/>
<xacro:macro name="part" params="n"><link name="part${n}_${size}"/></xacro:macro></robot>"""
FACTS = "arm: &a {size: 1.50, turn: !degrees 90, on: yes}\nlist: [1, {deep: x}]\nmore: {<<: *a, size: 2}\n"


def list_content(element: Any) -> Any:
    attributes = {key: value for key, value in element.items() if not key.startswith("xmlns")}
    words = [(element.text or "").split(), (element.tail or "").split()]
    return element.tag, attributes, words, [list_content(child) for child in element]


@pytest.mark.parametrize("part", PARTS)
def test_macros_mean_what_they_mean_to_xacro(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.xacro").write_text(PART)
    (tmp_path / "facts.yaml").write_text(FACTS)
    path = tmp_path / "robot.xacro"
    path.write_text(f'<robot name="r" xmlns:xacro="http://x">{PARTS[part]}</robot>')
    source = Source.open(path)
    ours = expand(source, parse_xml(source), ReadOptions())
    theirs: Element = parse_xml(Source("", xacro.process_file(str(path)).toxml().encode()))
    assert list_content(ours) == list_content(theirs)
