"""A trotting dog as a BVH file: its feet stand exactly still, and its bones may have any names and any rest axes."""

from pathlib import Path

import numpy as np

import poise
from poise.model.geometry.shapes import Box, Sphere

TRUNK = {"Hips": "", "Spine": "Hips", "Spine1": "Spine", "Neck": "Spine1", "Head": "Neck", "Tail": "Hips"}
LEGS = {"f": ("Spine1", "Arm", "ForeArm", "Hand", "HandEnd"), "h": ("Hips", "UpLeg", "Leg", "Foot", "FootEnd")}
PLACES = {  # cm, y up, facing z: of the trunk, and of the legs at rest
    "Hips": (0.0, 45.0, 0.0),
    "Spine": (0.0, 46.0, 12.0),
    "Spine1": (0.0, 46.0, 30.0),
    "Neck": (0.0, 49.0, 42.0),
    "Head": (0.0, 58.0, 50.0),
    "HeadEnd": (0.0, 57.0, 66.0),
    "Tail": (0.0, 45.0, -8.0),
    "TailEnd": (0.0, 38.0, -24.0),
}
REST = {
    "f": ((38.0, 38.0), (23.0, 30.0), (7.0, 36.0), (0.0, 39.0)),
    "h": ((40.0, -4.0), (26.0, 4.0), (11.0, -6.0), (0.0, -3.0)),
}
WIDE = {"f": 6.0, "h": 5.0}
PERIOD_S, STRIDE_CM, LIFT_CM, DUTY = 0.5, 30.0, 6.0, 0.55
OTHERS = {
    "robot": {"f": "{side}_front_{part}", "h": "{side}_hind_{part}"},
    "german": {"f": "Vorderbein{part}{Seite}", "h": "Hinterbein{part}{Seite}"},
}


def write_dog(
    path: Path, names: str = "people", *, along_x: bool = False, frames: int = 120, scale: float = 1.0
) -> Path:
    """Write a dog that trots along z at 60 frames per second.

    Args:
        path: The file.
        names: "people", "robot", "german", or "none" for names without a meaning.
        along_x: Whether every bone is along x in the rest pose, as in many recordings; otherwise the rest pose stands.
        frames: The number of frames.
        scale: Size of the file's numbers, relative to centimetres.
    """
    bones, parents, rest = list_bones()
    world, root = move(bones, rest, frames)
    base = {name: aim(bones, parents, rest, name) if along_x else np.eye(3) for name in bones}
    called = {name: rename(name, names, i) for i, name in enumerate(bones)}
    lines, order = ["HIERARCHY"], list[str]()

    def put(name: str, pad: str) -> None:
        above = parents[name]
        offset = base[above].T @ (rest[name] - rest[above]) if above else np.zeros(3)
        x, y, z = scale * offset
        if name.endswith("End"):
            lines.extend([f"{pad}End Site", f"{pad}{{", f"{pad} OFFSET {x:.6f} {y:.6f} {z:.6f}", f"{pad}}}"])
            return
        order.append(name)
        moves = "3 " if above else "6 Xposition Yposition Zposition "
        lines.extend([f"{pad}{'JOINT' if above else 'ROOT'} {called[name]}", f"{pad}{{"])
        lines.append(f"{pad} OFFSET {x:.6f} {y:.6f} {z:.6f}")
        lines.append(f"{pad} CHANNELS {moves}Zrotation Xrotation Yrotation")
        for child in bones:
            if parents[child] == name:
                put(child, pad + " ")
        lines.append(f"{pad}}}")

    put("Hips", "")
    lines += ["MOTION", f"Frames: {frames}", f"Frame Time: {1 / 60:.7f}"]
    for t in range(frames):
        row = [*(scale * root[t])]
        for name in order:
            above = parents[name]
            upper = turn(world[above][t]) @ base[above] if above else np.eye(3)
            row += list(read_angles(upper.T @ turn(world[name][t]) @ base[name]))
        lines.append(" ".join(f"{value:.6f}" for value in row))
    path.write_text("\n".join(lines) + "\n")
    return path


def make_robot_dog(
    *,
    wide: bool = False,
    scrambled: bool = False,
    names: str = "{end}{side}_{part}",
    hind: str = "R",
    reverse: bool = False,
) -> poise.Model:
    """Return a robot on four legs of three hinges and round feet, z up, whose knees all point backward.

    Args:
        wide: Whether knees bend as far to both sides, and are straight in the rest pose.
        scrambled: Whether all names are meaningless.
        names: The pattern of the names of links.
        hind: The letter of hind legs in them.
        reverse: Whether it faces -x in the file.
    """
    builder = poise.ModelBuilder("robot_dog")
    builder.up = "z"
    builder.add_joint("base", None, "free", rest=(0.0, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0), mass=6.0)
    builder.add_shape("base", Box((0.4, 0.2, 0.1)))
    ahead, count = -1.0 if reverse else 1.0, 0

    def hinge(own: str, parent: str, offset: tuple[float, float, float], axis: str, low: float, high: float) -> None:
        ways = {"x": (1.0, 0.0, 0.0), "y": (0.0, ahead, 0.0)}
        rest = min(max(0.0, low), high)
        builder.add_joint(
            own, parent, "revolute", offset=offset, axis=ways[axis], lower=low, upper=high, rest=rest, mass=0.5
        )

    for end, x in (("F", 0.19), (hind, -0.19)):
        for side, y in (("L", 1.0), ("R", -1.0)):
            links = [names.format(end=end, side=side, part=part) for part in ("hip", "thigh", "calf")]
            if scrambled:
                links, count = [f"q{17 * (count + k) % 23}v" for k in range(3)], count + 3
            hinge(links[0], "base", (ahead * x, ahead * y * 0.05, 0.0), "x", -1.0, 1.0)
            hinge(links[1], links[0], (0.0, ahead * y * 0.09, 0.0), "y", -1.5, 3.4)
            hinge(links[2], links[1], (0.0, 0.0, -0.21), "y", -2.7, 2.7 if wide else -0.8)
            builder.add_shape(links[2], Sphere(0.022), offset=(0.0, 0.0, -0.21))
    return builder.build()


def list_bones() -> tuple[list[str], dict[str, str], dict[str, np.ndarray]]:
    """List the bones, their parents and their places at rest [cm]."""
    parents = {**TRUNK, "HeadEnd": "Head", "TailEnd": "Tail"}
    rest = {name: np.array(place) for name, place in PLACES.items()}
    for end, (trunk, *parts) in LEGS.items():
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            above = trunk
            for part, (y, z) in zip(parts, REST[end], strict=True):
                parents[side + part], rest[side + part] = above, np.array((sign * WIDE[end], y, z))
                above = side + part
    return list(parents), parents, rest


def move(bones: list[str], rest: dict[str, np.ndarray], frames: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the angle of every bone about x in the world, (frames,) [rad], and the path of the hips [cm]."""
    t = np.arange(frames) / 60.0
    root = np.zeros((frames, 3))
    root[:, 1] = 45.0 + 0.6 * np.sin(4.0 * np.pi * t / PERIOD_S)
    root[:, 2] = STRIDE_CM / DUTY * t / PERIOD_S
    world = {name: np.zeros(frames) for name in bones}
    for end, (_, *parts) in LEGS.items():
        for side in ("Left", "Right"):
            first, middle, last, tip = (rest[side + part][1:] for part in parts)
            phase = t / PERIOD_S + (0.5 if (end == "f") == (side == "Left") else 0.0)
            share, cycle = phase % 1.0, np.floor(phase)
            swing = np.clip((share - DUTY) / (1.0 - DUTY), 0.0, 1.0)
            step = STRIDE_CM / DUTY * (cycle - phase[0] + t[0] / PERIOD_S + swing)
            foot = np.stack([LIFT_CM * np.sin(np.pi * swing), tip[1] + 0.5 * STRIDE_CM + step], axis=1)
            start = root[:, 1:] + (first - rest["Hips"][1:])
            upper, lower = bend(foot + (last - tip) - start, middle - first, last - middle)
            world[side + parts[0]], world[side + parts[1]] = upper, lower
    return world, root


def bend(way: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the angles of two bones about x [rad], whose ends are `way` apart, bent to the same side as at rest."""
    a, b = np.linalg.norm(upper), np.linalg.norm(lower)
    far = np.minimum(np.linalg.norm(way, axis=1), 0.999 * (a + b))
    inner = np.arccos(np.clip((a * a + far * far - b * b) / (2.0 * a * far), -1.0, 1.0))
    side = np.sign(upper[0] * lower[1] - upper[1] * lower[0])
    along = np.arctan2(way[:, 1], way[:, 0])
    first = along - side * inner
    knee = a * np.stack([np.cos(first), np.sin(first)], axis=1)
    rest = way * (far / np.linalg.norm(way, axis=1))[:, None] - knee
    return first - np.arctan2(upper[1], upper[0]), np.arctan2(rest[:, 1], rest[:, 0]) - np.arctan2(lower[1], lower[0])


def aim(bones: list[str], parents: dict[str, str], rest: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return axes with x along a bone."""
    child = next((each for each in bones if parents[each] == name), None)
    x = np.array((0.0, 0.0, 1.0)) if child is None else rest[child] - rest[name]
    x = x / np.linalg.norm(x)
    z = np.cross(x, (0.0, 1.0, 0.0) if abs(x[1]) < 0.9 else (0.0, 0.0, 1.0))
    z = z / np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def turn(angle: float) -> np.ndarray:
    """Return a rotation about x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def read_angles(R: np.ndarray) -> tuple[float, float, float]:
    """Return the angles of R = Rz Rx Ry [degrees]."""
    angles = np.arctan2(-R[0, 1], R[1, 1]), np.arcsin(np.clip(R[2, 1], -1.0, 1.0)), np.arctan2(-R[2, 0], R[2, 2])
    z, x, y = np.degrees(angles).tolist()
    return z, x, y


def rename(name: str, names: str, number: int) -> str:
    """Return the name of a bone in a style of names."""
    side = name[: 4 if name.startswith("Left") else 5] if name.startswith(("Left", "Right")) else ""
    if names == "none":
        return f"b{number * 7 % 31:02d}x"
    if names == "people" or not side or name.endswith("End"):
        return name
    end = next(end for end, (_, *parts) in LEGS.items() if name[len(side) :] in parts)
    part = ("hip", "knee", "ankle")[LEGS[end][1:].index(name[len(side) :])]
    seite, german = {"Left": "Links", "Right": "Rechts"}[side], {"hip": "Ober", "knee": "Unter", "ankle": "Fuss"}[part]
    style = OTHERS[names][end]
    return style.format(side=side[0].lower(), part=german if names == "german" else part, Seite=seite)
