"""The roles of a loaded body: those stated by its file, and those found from names and shape."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from numpy.typing import ArrayLike

from poise.anatomy import roles
from poise.anatomy.bone_names.matcher import LEAST_REPORT_CONFIDENCE, RoleReport, find_roles
from poise.files.source import Source
from poise.model import Model, ModelBuilder
from poise.model.derive import with_late_roles
from poise.model.spec import FrameSpec, JointSpec
from poise.spatial import Transform

__all__ = ["give_roles", "mark_end", "read_names"]

MIN_CERTAINTY = 0.35  # less certain roles are listed by `poise.roles` but not added to the model
ALL_ROLES = 12  # a file that states at least this many roles is taken as complete
CERTAIN = 0.9  # names of at least this certainty need no evidence from the shape


def give_roles(model: Model, source: Source) -> Model:
    """Return the model with the notes of its file; further roles are found on first use.

    Args:
        model: The body as read.
        source: The file, whose notes are added to the model.
    """
    stated = len(model.roles)
    if stated:
        source.note(f"roles: {stated} stated by the file itself")
    notes = [note for note in source.notes if note not in model.notes]
    return with_late_roles(model, partial(list_new_roles, notes=notes))


def list_new_roles(model: Model, notes: Sequence[str]) -> tuple[dict[str, str], list[str], list[FrameSpec]]:
    """Return the roles that a model does not have yet, its new notes, and frames at the ends of limbs without one."""
    found, how = find_new_roles(model)
    new = [] if not found else [end for end in roles(model).ends if end.name not in model.layout.frames]
    ends = [mark_end(end.name, end.frame, end.point) for end in new]
    found |= {end.name: end.name for end in ends}
    more = " more" if model.roles else ""
    lines = [f"roles: {len(found)}{more} {how}"] if found or (how and not model.roles) else []
    return found, [*notes, *lines], ends


def mark_end(role: str, frame: str, point: ArrayLike) -> FrameSpec:
    """Return an unlisted frame at the end of a limb, a point of another frame, named by its role."""
    return replace(FrameSpec.make(role, frame, Transform(None, point)), listed=False)


def find_new_roles(model: Model) -> tuple[dict[str, str], str]:
    """Return the roles that a model does not have yet, and a description of their source ("" if nothing was found)."""
    names = find_roles(model)
    if names.confidence >= CERTAIN and names.scheme != "words" and not names.missing:
        new = {role: frame for role, frame in names.roles.items() if role not in model.roles}
        return new, f"from {names.scheme} names, certainty {names.confidence:.2f}"
    if len(model.roles) >= ALL_ROLES:
        return {}, ""
    found = roles(model)
    if not (found.kind or found.hands) and names.confidence < LEAST_REPORT_CONFIDENCE:
        return {}, ""
    new = {
        role.role: role.frame
        for role in found.found
        if role.role not in model.roles and role.certainty >= MIN_CERTAINTY
    }
    by_name = {"": "", "words": "names read word by word"}.get(found.scheme, f"{found.scheme} names")
    by_shape = f"its shape ({found.kind})" if found.kind else ""
    sources = " and ".join(words for words in (by_name, by_shape) if words)
    return new, f"from {sources}, certainty {found.certainty:.2f}"


def read_names(builder: ModelBuilder) -> RoleReport:
    """Find the roles of a body under construction from its names."""
    parents: dict[str, str | None] = {}
    for spec in builder.specs:
        parents[spec.frame if isinstance(spec, JointSpec) else spec.name] = spec.parent
    return find_roles(parents)
