"""Conversion of glTF nodes to joints and rigid frames.

**Joints.** Joints of skins and bones of a VRM humanoid become ball joints; the topmost of each tree is free, so that
it can translate. In a file without either, this applies to every node. Any other node that a clip rotates or translates
is a joint too; all others are frames. The q of a joint is the node's rotation as wxyz, preceded for a root by the
node's translation. Below another joint, a node that a clip translates becomes two joints: ``<name>_position``, a
`translation3` relative to the file's translation, locked because a solver must not stretch a bone; and the ball. Above
all joints such a node is free, also relative to the file's translation.

**Scale.** Poise moves rigid frames. Let ``A`` be the accumulated scale above a node (``A = k I`` if all scales are
uniform). The node's matrix ``[R P, t]`` becomes the motion ``[Y R G, A t]``: G is the identity, or a half turn that
removes the signs of a mirroring P; Y is the identity unless A is non-uniform. The node's own scale is
``A' = (Y R G)^T A R P``. For uniform scales, including mirrored ones, this is exact in every pose. Under a non-uniform
scale a rotating bone would change its length; the result is exact in the file's pose only, and a note is added.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.formats.gltf.accessors import UNPACK, find_unknown_packing
from poise.formats.gltf.clips import GltfAnimation, read_keys
from poise.formats.gltf.document import Document
from poise.formats.gltf.nodes import GltfNode, find_nearest_turn
from poise.formats.names import reserve_name
from poise.formats.options import ReadOptions
from poise.model import ModelBuilder
from poise.spatial import Rotation, Transform

__all__ = ["TURN_UP", "NodeJoint", "add_joints", "choose_kinds", "make_joints"]


EVEN = 1e-5  # relative difference below which scales are equal
STILL = 2e-6  # change of a translation that is ignored, relative to the largest of the file
TURNED = 1e-5  # rad, change of a rotation that is ignored

TURN_UP = {None: np.eye(3), "y": np.eye(3), "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])}
"""The rotation from the file's y axis to `up`."""


@dataclass(frozen=True, slots=True)
class NodeJoint:
    """A node as a joint or frame, which moves by ``[Y R G, A t]`` relative to its parent.

    Attributes:
        node: The node.
        kind: "fixed", "ball", "free" or "shifted" (a locked translation and a ball).
        root: Whether it is free, with a translation relative to its parent rather than to the file's translation.
        before: Y, (3, 3).
        after: G, (3, 3).
        above: A, (3, 3), which scales its translation.
    """

    node: GltfNode
    kind: str
    root: bool
    before: Floats
    after: Floats
    above: Floats

    @property
    def name(self) -> str:
        """The name of its joint and frame."""
        return self.node.name

    @property
    def stretch(self) -> Floats:
        """The accumulated scale A' (3, 3) in its own axes, which applies to a mesh attached to it."""
        turn = self.before @ self.node.turn @ self.after
        return np.asarray(turn.T @ self.above @ self.node.turn @ self.node.stretch)

    def convert_rotation(self, turn: Floats) -> Floats:
        """Return R G for rotations (..., 3, 3): the value of a ball joint."""
        return np.asarray(turn @ self.after)

    def convert_translation(self, translation: Floats) -> Floats:
        """Return the value of a free or shifted joint for translations (..., 3)."""
        moved = translation if self.root else translation - self.node.translation
        return np.asarray(moved @ self.above.T @ self.before)

    def find_offset(self) -> Transform:
        """Return the transform from the parent's frame to the joint, or to the frame itself if it is fixed."""
        if self.kind == "fixed":
            return make_rigid(self.before @ self.node.turn @ self.after, self.above @ self.node.translation)
        return make_rigid(self.before, np.zeros(3) if self.root else self.above @ self.node.translation)

    def find_rest(self) -> Floats:
        """Return the joint's coordinates in the file's pose."""
        wxyz = Rotation.from_matrix(self.convert_rotation(self.node.turn)).wxyz
        if self.kind == "ball":
            return wxyz
        return np.concatenate([self.convert_translation(self.node.translation), wxyz])


def make_rigid(turn: Floats, translation: Floats) -> Transform:
    """Return the transform of a rotation matrix and a translation."""
    return Transform(Rotation.from_matrix(turn), translation)


# ------------------------------------------------------------------------------------------- kinds of nodes


def choose_kinds(
    document: Document, nodes: list[GltfNode], order: list[int], core: Iterable[int], clips: list[GltfAnimation]
) -> tuple[list[str], set[int]]:
    """Return the kind of each node (see `NodeJoint`), and the set of free nodes that are roots."""
    bones = set(core) or set(range(len(nodes)))
    kinds = ["ball" if i in bones else "fixed" for i in range(len(nodes))]
    below = [False] * len(nodes)
    roots = set()
    for i in order:
        parent = nodes[i].parent
        below[i] = parent >= 0 and (below[parent] or parent in bones)
        if i in bones and not below[i]:
            roots.add(i)
            kinds[i] = "free"
    turning, sliding = find_moving(document, nodes, bones, roots, clips)
    for i in turning - bones:
        kinds[i] = "ball"
    for i in order:
        parent = nodes[i].parent
        below[i] = parent >= 0 and (below[parent] or kinds[parent] != "fixed")
        if i in sliding:
            kinds[i] = "shifted" if below[i] else "free"
    return kinds, roots


def find_moving(
    document: Document, nodes: list[GltfNode], bones: set[int], roots: set[int], clips: list[GltfAnimation]
) -> tuple[set[int], set[int]]:
    """Return the nodes that a clip rotates, and those that a clip translates, away from the file's pose.

    All keys of all clips are read, so an unreadable clip makes the body unreadable; an unsupported compression is noted
    and the channel ignored.
    """
    turning: set[int] = set()
    sliding: set[int] = set()
    largest = max(float(np.abs(node.translation).max()) for node in nodes)
    for channel in (channel for clip in clips for channel in clip.channels):
        if packed := find_unknown_packing(document, channel.input, channel.output):
            document.note_oddity(
                f"packed by {packed}; the body was read without this clip channel. {UNPACK}", channel.where
            )
            continue
        values, node = read_keys(document, channel).values, nodes[channel.node]
        if channel.path == "translation" and node.index not in sliding | roots:
            scale = max(largest, float(np.abs(values).max()))
            if np.abs(values - node.translation).max() > STILL * scale:
                sliding.add(node.index)
        elif channel.path == "rotation" and node.index not in bones | turning:
            here = Rotation.from_matrix(node.turn)
            if (here.inverse() @ Rotation.from_xyzw(values)).angle.max() > TURNED:
                turning.add(node.index)
    return turning, sliding


# ------------------------------------------------------------------------------------------------ joints


def make_joints(
    document: Document, nodes: list[GltfNode], order: list[int], kinds: list[str], roots: set[int], options: ReadOptions
) -> list[NodeJoint]:
    """Return every node as a `NodeJoint`, in the order of `nodes`."""
    assert not isinstance(options.scale, str)
    turn_up, size = TURN_UP[options.up], float(options.scale)
    limbs: list[NodeJoint | None] = [None] * len(nodes)
    stretches: list[Floats] = [np.eye(3)] * len(nodes)
    uneven: set[int] = set()
    with np.errstate(over="ignore", invalid="ignore"):
        for i in order:
            node = nodes[i]
            top = node.parent < 0
            above = turn_up * size if top else stretches[node.parent]
            skewed = not top and not is_even(above)
            after = find_signs(node.stretch)
            before = turn_up if top else find_correction(above, node, after) if skewed else np.eye(3)
            stretches[i] = (before @ node.turn @ after).T @ above @ node.turn @ node.stretch
            if not np.isfinite(stretches[i]).all() or not np.isfinite(above @ node.translation).all():
                raise document.fail(f"nodes[{i}]", "is scaled beyond the range of numbers; check the scales above it.")
            limbs[i] = NodeJoint(node, kinds[i], i in roots, before, after, above)
            if skewed and kinds[i] != "fixed":
                uneven.add(i)
    made = [limb for limb in limbs if limb is not None]
    note_uneven_scale(document, made, stretches, uneven)
    return made


def is_even(stretch: Floats) -> bool:
    """Return whether a scale is uniform, so that rotation changes no length."""
    mean = np.trace(stretch) / 3
    return bool(np.abs(stretch - mean * np.eye(3)).max() <= EVEN * abs(mean))


def find_signs(stretch: Floats) -> Floats:
    """Return the half turn G that gives all factors of a mirroring scale the same sign, or the identity."""
    flips = np.where(np.diag(stretch) < 0, -1.0, 1.0)
    return np.diag(flips if np.prod(flips) > 0 else -flips)


def find_correction(above: Floats, node: GltfNode, after: Floats) -> Floats:
    """Return Y such that ``Y R G`` is the rotation nearest to ``A R P``."""
    turn = find_nearest_turn(above @ node.turn @ node.stretch)
    return np.asarray(turn @ after.T @ node.turn.T)


def note_uneven_scale(document: Document, limbs: list[NodeJoint], stretches: list[Floats], uneven: set[int]) -> None:
    """Note non-uniform scales above joints that have children at a distance, and scales of zero."""
    length = max(float(np.abs(limb.above @ limb.node.translation).max()) for limb in limbs)
    carries = {limb.node.parent for limb in limbs if np.abs(limb.above @ limb.node.translation).max() > 1e-9 * length}
    for i in sorted(uneven & carries):
        document.note_oddity(
            "it rotates under a non-uniform scale; its children are exact in the file's pose and keep their lengths "
            "when it rotates, where glTF would stretch them",
            f"nodes[{i}]",
        )
    for i, stretch in enumerate(stretches):
        parent = limbs[i].node.parent
        if not stretch.any() and (parent < 0 or stretches[parent].any()):
            document.note_oddity("its scale is zero; all its children lie in one point", f"nodes[{i}]")


def add_joints(builder: ModelBuilder, limbs: list[NodeJoint], order: list[int]) -> None:
    """Add joints and frames, parents first."""
    taken = {limb.name for limb in limbs}
    for limb in (limbs[i] for i in order):
        parent = None if limb.node.parent < 0 else limbs[limb.node.parent].name
        if limb.kind == "fixed":
            builder.add_frame(limb.name, parent, limb.find_offset())
        elif limb.kind == "shifted":
            position = reserve_name(f"{limb.name}_position", taken)
            rest = limb.find_rest()
            builder.add_joint(position, parent, "translation3", offset=limb.find_offset(), rest=rest[:3], locked=True)
            builder.add_joint(limb.name, position, "ball", rest=rest[3:])
        else:
            builder.add_joint(limb.name, parent, limb.kind, offset=limb.find_offset(), rest=limb.find_rest())
