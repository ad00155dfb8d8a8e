"""Print a model as text: the tree of its joints, and their table in HTML."""

from poise.model.joints.text import describe_joint
from poise.model.tree import Tree

__all__ = ["count_parts", "draw_table", "draw_tree"]

LONGEST = 120  # lines of a printed tree


def draw_tree(model: Tree) -> str:
    """Return the tree as text, one line per joint or frame; chains are not indented, branches are."""
    layout = model.layout
    children: dict[int, list[int]] = {}
    for i in (i for i in layout.order if i < len(model.frames)):
        children.setdefault(layout.parents[i], []).append(i)
    lines = [write_headline(model)]
    stack = indent_children(children.get(-1, []), "  ")
    while stack and len(lines) <= LONGEST:
        i, first, rest = stack.pop()
        lines.append(first + write_line(model, layout.frames[i]))
        stack.extend(indent_children(children.get(i, []), rest))
    if stack:
        lines.append(f"  ... ({len(model.frames)} frames in all)")
    return "\n".join(lines)


def indent_children(below: list[int], prefix: str) -> list[tuple[int, str, str]]:
    """Return the children, last first, each with the prefixes of its own line and of the lines under it."""
    if len(below) < 2:
        return [(i, prefix, prefix) for i in below]
    ends = [(prefix + "├ ", prefix + "│ ")] * (len(below) - 1) + [(prefix + "└ ", prefix + "  ")]
    return [(i, *end) for i, end in zip(reversed(below), reversed(ends), strict=True)]


def write_headline(model: Tree) -> str:
    """Return the model's name, size and contents."""
    mass = f", {model.mass:.3g} kg" if model.mass else ""
    counts = ((len(model.shapes), "shape"), (len(model.poses), "named pose"))
    more = "".join(f", {n} {what}{'s' * (n != 1)}" for n, what in counts if n)
    units = "" if model.units == "m" else f", lengths in {model.units}"
    return f"{model.name}: {count_parts(model)}{mass}{more}{units}"


def count_parts(model: Tree) -> str:
    """Describe the number of joints, degrees of freedom and frames, and of locked degrees of freedom."""
    locked = sum(joint.nv for joint in model.joints if joint.locked)
    aside = f" ({locked} locked)" if locked else ""
    joints = f"{len(model.joints)} joint{'s' * (len(model.joints) != 1)}"
    freedom = "1 degree" if model.nv == 1 else f"{model.nv} degrees"
    return f"{joints}, {freedom} of freedom{aside}, {len(model.frames)} frame{'s' * (len(model.frames) != 1)}"


def write_line(model: Tree, frame: str) -> str:
    """Return one frame of the tree, with the joint that carries it."""
    carried = model.frame(frame).joint
    if carried is None:
        return frame
    joint = model.joint(carried)
    name = joint.name if joint.name == frame else f"{joint.name} -> {frame}"
    return f"{name}  {describe_joint(joint)}"


def draw_table(model: Tree) -> str:
    """Return a table of the joints in HTML, for notebooks."""
    from html import escape  # slow to load

    rows = "".join(
        f"<tr><td>{escape(j.name)}</td><td>{escape(j.parent or 'world')}</td><td>{escape(describe_joint(j))}</td></tr>"
        for j in model.joints[:LONGEST]
    )
    more = f"<p>... {len(model.joints)} joints in all</p>" if len(model.joints) > LONGEST else ""
    head = "<tr><th>joint</th><th>parent</th><th>kind, axis, range</th></tr>"
    return f"<p><b>{escape(write_headline(model))}</b></p><table>{head}{rows}</table>{more}"
