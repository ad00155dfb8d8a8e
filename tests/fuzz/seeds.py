"""Small whole files to begin from, one or more for each format; what mutation makes of them must be read or refused."""

from __future__ import annotations

URDF = b"""<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://x">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><inertial><origin xyz="0 0 1"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="a"><visual><origin rpy="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
  </link>
  <link name="b"><collision><geometry><mesh filename="package://x/y.stl" scale="1 1 1"/></geometry></collision></link>
  <link name="c"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><limit lower="0" upper="2"/>
    <mimic joint="j1" multiplier="2" offset="0.1"/><poise rest="0.5" stiffness="1"/></joint>
  <joint name="j3" type="floating"><parent link="a"/><child link="c"/></joint>
  <transmission name="t"/><poise up="y"><role name="hand_l" frame="b"/><pose name="p" q="0 0 0 0 1 0 0 0"/></poise>
</robot>
"""

DH = b"""# convention: modified
# name: arm
joint, link, a, alpha [deg], d_mm, theta, type, lower, upper, mass
j1, l1, 0.5, 90, 0.1, q1, revolute, -pi, pi/2, 1
j2, l2, 0.5, -90, d2, 0, P, 0, 1, 2
j3, l3, 0, 0, 1, 2*pi, fixed,,,
"""

SEEDS: dict[str, tuple[bytes, ...]] = {"robot.urdf": (URDF,), "arm.csv": (DH,)}
"""A file name, whose suffix chooses the format, and contents."""

NASTY: tuple[bytes, ...] = (
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"1e400",
        b"-1",
        b"0",
        b"1_0",
        b"0x10",
        b"",
        b" ",
        b"1,5",
        b"9" * 400,
        b"1e-400",
        b"1e9",
    ),
    *(b"4294967296", b"-2147483649", b"18446744073709551616", b"\0", b"\xff", b"\xef\xbb\xbf", "\u0661".encode()),
    *(b"<", b">", b"&", b'"', b"'", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!DOCTYPE r [<!ENTITY x 'y'>]>", b"&x;"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r\n", b"\t", b"../../etc/passwd", b"file:///etc/passwd", b"${x}"),
    *(b"base", b"a", b"j1", b"j2", b"xyz", b"<a>" * 300, b"1 2 3 4 5", b"true", b"null", b"1" + b"0" * 400),
)
