"""URDFs as text: a small arm with many kinds of errors, each with the expected message."""

L = '<link name="base"/><link name="a"/><link name="b"/>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
J1 = f'<joint name="j1" type="revolute"><parent link="base"/><child link="a"/>{LIMIT}</joint>'
J2 = f'<joint name="j2" type="revolute"><parent link="a"/><child link="b"/>{LIMIT}</joint>'


TWO_COLORS = '<material name="m"><color rgba="1 0"/></material>'


def robot(body: str, attributes: str = 'name="r"') -> str:
    return f'<?xml version="1.0"?>\n<robot {attributes}>\n{body}\n</robot>\n'


def joint(inside: str = LIMIT, kind: str = "revolute", name: str = "j1") -> str:
    """Return a joint from base to a with the given content."""
    return f'<joint name="{name}" type="{kind}"><parent link="base"/><child link="a"/>\n{inside}\n</joint>'


def one(inside: str = LIMIT, kind: str = "revolute") -> str:
    """Return a robot of two links and that joint."""
    return robot('<link name="base"/><link name="a"/>\n' + joint(inside, kind))


def link(inside: str) -> str:
    """Return a robot of one link with the given content."""
    return robot(f'<link name="base">\n{inside}\n</link>')


def visual(geometry: str) -> str:
    return link(f"<visual><geometry>{geometry}</geometry></visual>")


def mimic(a: str, b: str) -> str:
    """Return a robot of two joints, each with the given content."""
    second = J2.replace("</joint>", f"{b}</joint>")
    return robot(L + J1.replace("</joint>", f"{a}</joint>") + second)


# name -> (the file, a word of the message)
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "empty"),
    "blank": ("  \n\n\t ", "empty"),
    "comment only": ("<!-- nothing here -->", "no element"),
    "declaration only": ('<?xml version="1.0"?>', "no element"),
    "text": ("this is no robot", "well-formed"),
    "cut off": (robot(L + J1 + J2)[:-60], "well-formed"),
    "two roots of xml": (robot(L + J1 + J2) + "<robot/>", "well-formed"),
    "mismatched tag": ('<robot name="r"><link name="a"></robot>', "mismatched"),
    "attribute twice": ('<robot name="r"><link name="a" name="b"/></robot>', "duplicate"),
    "wrong root": ("<model name='r'><link name='a'/></model>", "root is <model>"),
    "mjcf": ("<mujoco><worldbody/></mujoco>", "MJCF"),
    "sdf": ('<sdf version="1.6"><model name="a"/></sdf>', "SDF"),
    "no links": (robot(""), "no <link>"),
    "joints only": (robot(J1), "no <link>"),
    "binary": (b"\x00\x01\x02\x03" * 100, "well-formed"),
    "nul inside": (robot(L + J1 + J2).encode().replace(b"base", b"ba\0e"), "well-formed"),
    # entities
    "entity": ('<!DOCTYPE r [<!ENTITY a "x">]><robot name="&a;"><link name="b"/></robot>', "entities are not allowed"),
    "laughs": (
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(20))
        + ']><robot name="r">&u;<link name="b"/></robot>',
        "entities are not allowed",
    ),
    "external entity": (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
        "entities are not allowed",
    ),
    "parameter entity": (
        '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://h/x.dtd"> %x;]><robot name="r"/>',
        "entities are not allowed",
    ),
    "external document type": ('<!DOCTYPE robot SYSTEM "x.dtd"><robot name="&x;"><link name="a"/></robot>', "DOCTYPE"),
    "public document type": (
        '<!DOCTYPE robot PUBLIC "a" "http://x"><robot name="r"><link name="a"/></robot>',
        "DOCTYPE",
    ),
    "undefined entity": ('<robot name="&nope;"><link name="a"/></robot>', "well-formed"),
    "deep": ("<robot name='r'>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>", "deep"),
    # names and the tree
    "link without name": (robot("<link/>"), "name= is missing"),
    "empty link name": (robot('<link name=""/>'), "name= is empty"),
    "joint without name": (one().replace(' name="j1"', ""), "name= is missing"),
    "joint without type": (one().replace(' type="revolute"', ""), "type= is missing"),
    "unknown type": (one(kind="hinge"), "'hinge'"),
    "two links of a name": (robot(L + '<link name="a"/>' + J1 + J2), "two links"),
    "two joints of a name": (robot(L + J1 + J2.replace("j2", "j1")), "two joints"),
    "missing parent": (one().replace('parent link="base"', 'parent link="bass"'), "parent is missing"),
    "missing child": (one().replace('child link="a"', 'child link="c"'), "child is missing"),
    "no parent": (one().replace('<parent link="base"/>', ""), "no <parent>"),
    "no child": (one().replace('<child link="a"/>', ""), "no <child>"),
    "parent without link": (one().replace('<parent link="base"/>', "<parent/>"), "link= is missing"),
    "two parents": (one('<parent link="a"/>' + LIMIT), "two <parent>"),
    "two roots": (robot(L + J1), "2 roots"),
    "islands": (robot('<link name="a"/><link name="b"/>'), "2 roots"),
    "loop": (robot(L + J1 + J2 + J2.replace("j2", "j3").replace('"b"', '"base"').replace('"a"', '"b"')), "loop"),
    "closed chain": (robot(L + J1 + J2 + J2.replace("j2", "j3").replace('"a"', '"base"')), "two parent joints"),
    "island loop": (
        robot(
            L
            + '<link name="c"/>'
            + J1
            + J2.replace('"a"', '"c"')
            + J2.replace("j2", "j3").replace('"a"', '"d"').replace('"b"', '"c"').replace('"d"', '"b"')
        ),
        "loop",
    ),
    "self joint": (one().replace('child link="a"', 'child link="base"'), "itself"),
    # numbers
    "zero axis": (one('<axis xyz="0 0 0"/>' + LIMIT), "axis is zero"),
    "axis of two": (one('<axis xyz="0 1"/>' + LIMIT), "2 numbers where 3"),
    "axis of four": (one('<axis xyz="0 0 1 0"/>' + LIMIT), "4 numbers where 3"),
    "axis of words": (one('<axis xyz="x y z"/>' + LIMIT), "plain number"),
    "nan axis of a fixed joint": (one('<axis xyz="nan 0 1"/>', "fixed"), "plain number"),
    "two numbers of an axis of a floating joint": (one('<axis xyz="0 1"/>', "floating"), "2 numbers where 3"),
    "endless name": (robot(f'<link name="{"a" * 2000}"/>'), "2000 letters"),
    "nan axis": (one('<axis xyz="nan 0 1"/>' + LIMIT), "plain number"),
    "infinite origin": (one('<origin xyz="inf 0 0"/>' + LIMIT), "plain number"),
    "nan origin": (one('<origin xyz="0 NaN 0"/>' + LIMIT), "plain number"),
    "nan rpy": (one('<origin rpy="0 nan 0"/>' + LIMIT), "plain number"),
    "underscore": (one('<origin xyz="1_0 0 0"/>' + LIMIT), "plain number"),
    "hex": (one('<origin xyz="0x10 0 0"/>' + LIMIT), "plain number"),
    "overflow": (one('<origin xyz="1e400 0 0"/>' + LIMIT), "too large"),
    "astronomic": (one('<origin xyz="1e200 0 0"/>' + LIMIT), "farther"),
    "decimal comma": (one('<origin xyz="1,5 0 0"/>' + LIMIT), "plain number"),
    "commas": (one('<origin xyz="1, 0, 0"/>' + LIMIT), "plain number"),
    "glued": (one('<origin xyz="1.0m 0 0"/>' + LIMIT), "plain number"),
    "arabic digits": (one('<origin xyz="\u0661 0 0"/>' + LIMIT), "plain number"),
    "empty xyz": (one('<origin xyz=""/>' + LIMIT), "0 numbers where 3"),
    "macro left": (one('<origin xyz="${x} 0 0"/>' + LIMIT), "xacro"),
    "two origins": (one('<origin xyz="1 0 0"/><origin xyz="2 0 0"/>' + LIMIT), "two <origin>"),
    "two axes": (one('<axis xyz="1 0 0"/><axis xyz="0 1 0"/>' + LIMIT), "two <axis>"),
    "inverted limits": (one('<limit lower="1" upper="-1" effort="1" velocity="1"/>'), "above its upper"),
    "nan limit": (one('<limit lower="nan" upper="1"/>'), "plain number"),
    "infinite limit": (one('<limit lower="-inf" upper="inf"/>'), "plain number"),
    "limit of words": (one('<limit lower="low" upper="1"/>'), "plain number"),
    "nan effort": (one('<limit lower="0" upper="1" effort="nan" velocity="1"/>'), "plain number"),
    "lower missing, upper negative": (one('<limit upper="-1" effort="1" velocity="1"/>'), "above its upper"),
    "quaternion and rpy": (one('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>' + LIMIT), "both"),
    "zero quaternion": (one('<origin quat_xyzw="0 0 0 0"/>' + LIMIT), "quaternion"),
    # mimics
    "mimic of nothing": (mimic('<mimic joint="zz"/>', ""), "'zz'"),
    "mimic without joint": (mimic('<mimic multiplier="2"/>', ""), "joint= is missing"),
    "mimic of itself": (mimic('<mimic joint="j1"/>', ""), "loop"),
    "mimic loop": (mimic('<mimic joint="j2"/>', '<mimic joint="j1"/>'), "loop"),
    "mimic of words": (mimic("", '<mimic joint="j1" multiplier="two"/>'), "plain number"),
    "mimic nan": (mimic("", '<mimic joint="j1" offset="nan"/>'), "plain number"),
    "mimic out of range": (mimic("", '<mimic joint="j1" offset="10"/>'), "both in their ranges"),
    "mimic of floating": (mimic("", '<mimic joint="j1"/>').replace("revolute", "floating", 1), "one coordinate"),
    # links
    "negative mass": (link('<inertial><mass value="-1"/></inertial>'), "zero or more"),
    "nan mass": (link('<inertial><mass value="nan"/></inertial>'), "plain number"),
    "mass without value": (link("<inertial><mass/></inertial>"), "value= is missing"),
    "nan inertia": (link('<inertial><mass value="1"/><inertia ixx="nan"/></inertial>'), "plain number"),
    "two inertials": (
        link('<inertial><mass value="1"/></inertial><inertial><mass value="2"/></inertial>'),
        "two <inertial>",
    ),
    "negative radius": (visual('<sphere radius="-1"/>'), "zero or more"),
    "sphere without radius": (visual("<sphere/>"), "radius= is missing"),
    "box of two": (visual('<box size="1 2"/>'), "2 numbers where 3"),
    "negative box": (visual('<box size="1 -2 1"/>'), "zero or more"),
    "mesh without file": (visual("<mesh/>"), "filename= is missing"),
    "color of two": (visual('<sphere radius="1"/>').replace("</visual>", f"{TWO_COLORS}</visual>"), "rgba"),
}

# name -> (the file, a word of the warning)
ODD: dict[str, tuple[str | bytes, str]] = {
    "no robot name": (robot(L + J1 + J2, ""), "no name"),
    "blank line first": ("\n  " + robot(L + J1 + J2), "white space"),
    "comment first": ("<!-- (c) somebody -->\n" + robot(L + J1 + J2), "comments before"),
    "a material for each part of a mesh": (
        visual('<sphere radius="1"/>').replace(
            "</visual>", '<material name="a"/><material name="b"><color rgba="1 0 0 1"/></material></visual>'
        ),
        "several <material>; the first of each counts",
    ),
    "include": (robot(L + J1 + J2 + '<xi:include href="file:///etc/passwd"/>'), "not followed"),
    "negative inertia": (link('<inertial><mass value="1"/><inertia ixx="-1"/></inertial>'), "negative ixx"),
    "blanks around a name": (one().replace('<link name="a"/>', '<link name=" a "/>'), "blanks"),
    "no limit": (one(""), "read as unlimited"),
    "limit without range": (one('<limit effort="1" velocity="1"/>'), "read as unlimited"),
    "prismatic without limit": (one("", "prismatic"), "read as unlimited"),
    "lower only": (one('<limit lower="-1" effort="1" velocity="1"/>'), "read as 0"),
    "upper only": (one('<limit upper="1" effort="1" velocity="1"/>'), "read as 0"),
    "range on continuous": (one(LIMIT, "continuous"), "continuous"),
    "mimics that hold their leader": (
        mimic("", '<mimic joint="j1" multiplier="-1"/>').replace('lower="-1"', 'lower="0"'),
        "'j1' can only be 0",
    ),
    "upper-case type": (one(kind="Revolute"), "'revolute'"),
    "unknown tag": (robot(L + J1 + J2 + "<wheel/>"), "<wheel>"),
    "unknown tag in link": (link("<colour/>"), "<colour>"),
    "unknown tag in joint": (one(LIMIT + "<spring/>"), "<spring>"),
    "nested link": (link('<link name="x"/>'), "<link>"),
    "same origin twice": (one('<origin xyz="1 0 0"/><origin xyz="1 0 0"/>' + LIMIT), "twice"),
    "axis without xyz": (one("<axis/>" + LIMIT), "1 0 0"),
    "inertial without mass": (link("<inertial/>"), "0 kg"),
    "visual without geometry": (link('<visual><material name="red"/></visual>'), "no geometry"),
    "empty geometry": (visual(""), "no geometry"),
    "unknown geometry": (visual('<cone radius="1"/>'), "<cone>"),
    "two geometries": (visual('<sphere radius="1"/><box size="1 1 1"/>'), "2 geometries"),
    "latin-1": (robot('<link name="b\xe4se"/>').encode("latin-1"), "Latin-1"),
    "encoding that does not fit": (
        robot('<link name="b\xe4se"/>').replace("?>", ' encoding="ascii"?>', 1).encode("utf-8"),
        "encoding",
    ),
}
