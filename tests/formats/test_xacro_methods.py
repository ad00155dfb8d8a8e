"""Methods of text, lists and dictionaries in the expressions of xacro files."""

from __future__ import annotations

from pathlib import Path

import pytest

import poise


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
