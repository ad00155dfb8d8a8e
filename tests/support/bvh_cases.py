"""Bodies for tests of the BVH writer, and their files."""

import itertools
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from bvh_oracle import Bone, bones
from file_cases import written

ROTATIONS = ("Xrotation", "Yrotation", "Zrotation")
POSITIONS = ("Xposition", "Yposition", "Zposition")
CHANNELS = (*POSITIONS, *ROTATIONS)
ROOT6 = (*POSITIONS, "Zrotation", "Xrotation", "Yrotation")


def count(root: Bone) -> int:
    return sum(len(bone.channels) for bone in bones(root))


def figure() -> Bone:
    hand = Bone("Left Hand", (1.0, 0.0, 0.0), ("Xrotation",), end=(0.5, 0.0, 0.0))
    arm = Bone("mixamorig:LeftArm", (0.5, 1.0, 0.0), ("Zrotation", "Yrotation", "Xrotation"), [hand])
    head = Bone("Tête", (0.0, 1.5, 0.0), ("Yrotation", "Zrotation"), end=(0.0, 0.25, 0.0))
    return Bone("Hips", (0.0, 9.0, 0.5), ROOT6, [arm, head])


def make_person(size: float = 1.0, prefix: str = "", channels: tuple[str, ...] = ()) -> Bone:
    """Return a person with the names of Mixamo, 175 units tall times a size; only the root moves unless stated."""

    def bone(name: str, offset: tuple[float, float, float], *children: Bone) -> Bone:
        end = None if children else (0.0, 20.0 * size if name == "Head" else -5.0 * size, 0.0)
        x, y, z = (size * value for value in offset)
        return Bone(prefix + name, (x, y, z), channels, list(children), end)

    legs, arms = [], []
    for side, x in (("Left", 10.0), ("Right", -10.0)):
        foot = bone(f"{side}Foot", (0, -45, 0), bone(f"{side}ToeBase", (0, 0, 10)))
        legs.append(bone(f"{side}UpLeg", (x, 0, 0), bone(f"{side}Leg", (0, -45, 0), foot)))
        forearm = bone(f"{side}ForeArm", (3 * x, 0, 0), bone(f"{side}Hand", (3 * x, 0, 0)))
        arms.append(bone(f"{side}Shoulder", (x, 0, 0), bone(f"{side}Arm", (x, 0, 0), forearm)))
    neck = bone("Neck", (0, 15, 0), bone("Head", (0, 10, 0)))
    hips = bone("Hips", (0, 0, 0), *legs, bone("Spine", (0, 20, 0), bone("Spine1", (0, 20, 0), *arms, neck)))
    hips.channels = channels or ("Zrotation", "Xrotation", "Yrotation")
    return hips


def rows_for(root: Bone, frames: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-170, 170, (frames, count(root))).round(4)


def write(tmp_path: Path, text: str | bytes, name: str = "clip.bvh") -> Path:
    return written(tmp_path / name, text)


@st.composite
def random_bodies(draw: st.DrawFn) -> Bone:
    names = itertools.count()
    offsets = st.tuples(*[st.floats(-5, 5).map(lambda x: round(x, 4))] * 3)

    def bone(depth: int) -> Bone:
        turns = draw(st.lists(st.sampled_from(ROTATIONS), max_size=5))
        places = draw(st.lists(st.sampled_from(POSITIONS), max_size=3, unique=True))
        channels = tuple(draw(st.permutations(turns + places)))
        children = [bone(depth + 1) for _ in range(draw(st.integers(0, 2)) if depth < 3 else 0)]
        end = None if children else draw(st.none() | offsets)
        return Bone(f"J{next(names)}", draw(offsets), channels, children, end)

    return bone(0)


SIX = "CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation"
EMPTY = "End Site { OFFSET 0 0 0 }"


def six_channels(offset: str) -> str:
    """Return a figure with six channels per joint and zero end sites; its bones have length 30 in its only frame."""
    joint = f"{{ OFFSET {offset} {SIX}"
    limbs = [
        f"JOINT {a} {joint} JOINT {b} {joint} {EMPTY} }} }}" for a, b in (("Spine", "Head"), ("LeftLeg", "LeftFoot"))
    ]
    rows = ["0 90 0 0 0 0", "0 30 0 0 0 0", "0 30 0 0 0 0", "5 -30 0 0 0 0", "0 -30 0 0 0 0"]
    clip = f"MOTION\nFrames: 1\nFrame Time: 0.1\n{' '.join(rows)}\n"
    return f"HIERARCHY ROOT Hips {{ OFFSET 0 0 0 {SIX} {' '.join(limbs)} }}\n{clip}"
