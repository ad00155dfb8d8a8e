"""Names that are in no table, read word by word: a side and a part, such as ``right_upper_arm`` or ``LShin``."""

import re
from collections.abc import Sequence

from poise.names import split_side, split_words

__all__ = ["SHARED_WORD_CONFIDENCE", "find_word_roles"]

PARTS = {
    "pelvis": "pelvis hips hip root",
    "spine_1": "spine abdomen waist lowerback lwaist",
    "chest": "chest thorax torso upperchest",
    "neck": "neck",
    "head": "head",
}
SIDED = {
    "clavicle": "clavicle collar collarbone scapula",
    "shoulder": "upperarm uparm humerus shoulder arm shldr",
    "elbow": "forearm lowerarm elbow radius ulna lowarm",
    "wrist hand": "hand wrist palm",
    "hand": "gripper gripperpalm",
    "hip": "thigh upperleg upleg femur hip",
    "knee": "shin calf lowerleg knee tibia leg lowleg",
    "ankle foot": "foot ankle",
    "ball toe": "toe toes toebase ball",
}
# confidence of words that are also used for other joints
VAGUE_WORD_CONFIDENCE = {
    "arm": 0.5,
    "leg": 0.5,
    "shoulder": 0.6,
    "root": 0.4,
    "torso": 0.6,
    "hip": 0.6,
    "hips": 0.9,
    "waist": 0.6,
}
SHARED_WORD_CONFIDENCE = 0.36  # of a word that all joints of a limb share: arm_1 to arm_7
NOISE = {
    "link",
    "body",
    "bone",
    "joint",
    "jnt",
    "geom",
    "bind",
    "skin",
    "def",
    "org",
    "jt",
    "b",
    "bip",
    "bip01",
    "base",
}
MOTIONS = {"yaw", "pitch", "roll", "x", "y", "z", "twist", "aa", "fe", "ie", "flex", "lift", "pan", "tilt"}

_MIDDLE = {word: role for role, words in PARTS.items() for word in words.split()}
_SIDED = {word: role for role, words in SIDED.items() for word in words.split()}


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case, without namespaces and numbers."""
    tail = re.split(r"[:|/]", name)[-1]
    return [word for word in split_words(tail) if not word.isdigit()]


def find_sided_word(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the side in the words, given as a word or as the first letter of the only word (LShin), and the rest."""
    if len(words) == 1 and words[0][:1] in "lr" and words[0][1:] in _SIDED:
        return words[0][0], [words[0][1:]]
    return split_side(words)


def find_word_roles(name: str) -> tuple[tuple[str, ...], float]:
    """Return the roles that a name suggests and the confidence, or () and 0."""
    side, words = find_sided_word(split_name(name))
    plain = [word for word in words if word not in NOISE]
    still = [word for word in plain if word not in MOTIONS]
    word = "".join(still)
    roles = (_SIDED if side else _MIDDLE).get(word, "")
    if not roles or (word == "hip" and not side):
        return (), 0.0
    sure = 0.7 * VAGUE_WORD_CONFIDENCE.get(word, 1.0) * (0.8 if len(still) < len(plain) else 1.0)
    return tuple(f"{part}_{side}" if side else part for part in roles.split()), sure
