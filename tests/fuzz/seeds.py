"""Small complete files as seeds, one or more for each format; their mutations must be read or rejected."""

from pathlib import Path

from poise.formats.registry import list_formats

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

BVH = b"""HIERARCHY
ROOT Hips
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Left Arm
  {
    OFFSET 0.1 0.2 0.3
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 0.5 0
    }
  }
  JOINT Neck
  {
    OFFSET 0 0.4 0
    CHANNELS 1 Yrotation
    End Site
    {
      OFFSET 0 0.1 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.033333
0 1 0 10 20 30 1 2 3 4
0 1.1 0 11 21 31 2 3 4 5
"""

MJCF = b"""<mujoco model="m"><compiler angle="radian" eulerseq="xyz"/><size memory="1M"/>
  <default><joint axis="0 1 0" range="-1 1"/>
  <default class="c"><geom type="capsule" size="0.1 0.2"/></default></default>
  <asset><mesh name="n" file="parts/n.stl" scale="1 1 1"/><texture name="t" file="t.png"/>
  <material name="p" texture="t"/>
  </asset>
  <worldbody><geom type="plane" size="1 1 1"/><site name="w" pos="0 0 1"/>
    <body name="a" pos="0 0 1" quat="1 0 0 0"><freejoint name="f"/><geom size="0.1"/>
      <body name="b" pos="1 0 0" euler="0.1 0.2 0.3" childclass="c"><joint name="j1" ref="0.1" pos="0 0 0.1"/>
        <joint name="j2" type="slide" limited="false"/><geom material="p"/><geom type="mesh" mesh="n"/><site name="s"/>
        <frame pos="0 1 0"><replicate count="2" offset="1 0 0"><body name="c"><joint type="ball" range="0 1"/>
          <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></replicate></frame></body></body></worldbody>
  <equality><joint joint1="j1" joint2="j2" polycoef="0.1 2 0 0 0"/></equality>
  <actuator><motor joint="j1"/></actuator><tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon>
  <keyframe><key name="k" qpos="0 0 1 1 0 0 0 0.1 0.2 1 0 0 0 1 0 0 0"/></keyframe></mujoco>
"""

# two nodes, one clip of two keys; the buffer holds times 0 1 and two unit quaternions
GLTF = b"""{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
 "nodes": [{"name": "root", "children": [1], "translation": [0, 1, 0]}, {"name": "arm", "rotation": [0, 0, 0, 1]}],
 "skins": [{"joints": [0, 1]}],
 "animations": [{"name": "clip", "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}],
   "samplers": [{"input": 0, "output": 1, "interpolation": "LINEAR"}]}],
 "accessors": [
   {"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
   {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4"}],
 "bufferViews": [{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 32}],
 "buffers": [{"byteLength": 40, "uri":
   "data:application/octet-stream;base64,AAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAAAAAACAPw=="}]}
"""

BODY = b"""{"poise": "body", "name": "b", "source": "", "notes": ["n"], "up": "z", "units": "m", "parts": [
 {"joint": "j", "name": "j", "parent": null, "kind": "path", "frame": "j", "offset": [1, 0, 0, 0, 0, 0, 1],
  "axis": [0, 0, 0], "axis2": [0, 0, 0], "order": "", "pitch": 0.0, "lower": [0.0], "upper": [1.0], "rest": [0.5],
  "mimic": null, "mass": 1.0, "center": [0, 0, 0], "stiffness": 0.0, "cone": null, "locked": false, "length": 0.0,
  "path": {"points": [[0, 0, 0], [1, 0.1, 0], [2, 0, 0]], "shape": "spline", "closed": false, "follow": true,
  "forward": [1, 0, 0], "up": null, "corner": 0.0}},
 {"joint": "k", "name": "k", "parent": "j", "kind": "scale", "frame": "k", "offset": [1, 0, 0, 0, 0, 0, 0],
  "axis": [1, 0, 0], "axis2": [0, 0, 0], "order": "", "pitch": 0.0, "lower": [0.5], "upper": [2.0], "rest": [1.0],
  "mimic": null, "mass": 1.0, "center": [0, 0, 0], "stiffness": 0.0, "cone": null, "locked": false, "length": 0.3,
  "path": null},
 {"frame": "tip", "parent": "k", "offset": [1, 0, 0, 0, 0, 0, 0], "mass": 0.0, "center": [0, 0, 0]}],
 "shapes": [], "poses": {"p": [0.1, 1.2]}, "roles": {"hand_l": "tip"}}"""

ALL: dict[str, tuple[bytes, ...]] = {
    "robot.urdf": (URDF,),
    "arm.csv": (DH,),
    "walk.bvh": (BVH,),
    "body.xml": (MJCF,),
    "dancer.gltf": (GLTF,),
    "stage.json": (BODY,),
}
"""A file name, whose suffix chooses the format, and contents."""

SEEDS = {
    name: contents for name, contents in ALL.items() if any(Path(name).suffix in f.SUFFIXES for f in list_formats())
}

NASTY: tuple[bytes, ...] = (
    *(b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"1_0", b"0x10", b"", b" ", b"1,5", b"9" * 400, b"1e-400"),
    *(b"1e9", b"4294967296", b"-2147483649", b"18446744073709551616"),
    *(b"\0", b"\xff", b"\xef\xbb\xbf", "\u0661".encode()),
    *(b"<", b">", b"&", b'"', b"'", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!DOCTYPE r [<!ENTITY x 'y'>]>", b"&x;"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r\n", b"\t", b"../../etc/passwd", b"file:///etc/passwd", b"${x}"),
    *(b"base", b"a", b"j1", b"j2", b"xyz", b"<a>" * 300, b"1 2 3 4 5", b"true", b"null", b"1" + b"0" * 400),
)
