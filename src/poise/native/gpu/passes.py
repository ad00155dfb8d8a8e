"""The kernels of a prepared problem: their names, which `passes.cu` defines, in the order in which they run."""

from collections.abc import Mapping
from typing import Any

from poise.native import _core as core

__all__ = [
    "BY_TEAMS",
    "CHECKING",
    "LISTING",
    "MOVING",
    "RESTING",
    "SMALL",
    "TEAM_KERNELS",
    "Table",
    "begins_at_branch",
    "count_priorities",
    "is_small",
    "list_kernels",
    "list_passes",
    "list_places",
    "lists_all_poses",
]

SMALL = 10  # primitives, and rows: up to this number everything is unrolled
ARM_KERNELS = (
    "search_few",
    "settle_few",
    "place_rows",
    "search_rows",
    "search_again",
    "decide_rows",
    "search_hard",
    "end_rows",
)
TEAM_KERNELS = ("search_bodies", "search_late", "store_late", "end_rows")  # of a large body, in order
RESTING = "rest_bodies"  # the last one, if it has a posture
CHECKING, LISTING, GATHERING, BY_TEAMS = "check_clear", "list_clear", "gather_clear", "gather_bodies"  # of a clearance
MOVING = ("move_targets", "block_bases")  # if the base or regions are placed row by row
DECIDING = ("settle_few", "search_again", "decide_rows")  # only if a goal has a closed form
PLACING, SEARCHING = ("place_rows",), ("search_rows",)  # if a row begins at a branch, and if it does not

Table = Mapping[str, Any]


def is_small(table: Table) -> bool:
    """Return whether the body fits into registers; one with two priorities or a balance has a team."""
    return (
        not table["masses"]
        and len(table["primitives"]) <= SMALL
        and int(table["n_rows"]) <= SMALL
        and count_priorities(table) == 1
    )


def count_priorities(table: Table) -> int:
    """Return the number of different priorities."""
    return len({goal["level"] for goal in table["goals"]})


def list_kernels(table: Table, body: Table | None = None) -> tuple[str, ...]:
    """Return the names of the problem's kernels; `body` is that of its clearance."""
    unused = {*(SEARCHING if begins_at_branch(table) else PLACING), *(() if table["closed"] else DECIDING)}
    small = tuple(name for name in ARM_KERNELS if name not in unused)
    names = small if is_small(table) else (*TEAM_KERNELS, *([RESTING] if table["gain"] else []))
    return (*names, *list_passes(table)) if body else names


def list_passes(table: Table) -> tuple[str, ...]:
    """Return the names of the passes of a clearance, in order."""
    if not is_small(table):
        return (CHECKING, BY_TEAMS)
    return (CHECKING, *([LISTING] if lists_all_poses(table) else []), GATHERING)


def begins_at_branch(table: Table) -> bool:
    """Return whether a row begins at a branch of its closed form, which moves every joint of the problem."""
    form = table["branch"] if table["closed"] else None
    return form is not None and list_places(table) == form["q_index"][: form["joints"]]


def lists_all_poses(table: Table) -> bool:
    """Return whether a closed form lists every pose of the problem's only goal, and no posture prefers one."""
    if len(table["goals"]) != 1 or len(table["closed"]) != 1 or table["gain"]:
        return False
    form = table["closed"][0]
    return bool(list_places(table) == form["q_index"][: form["joints"]])


def list_places(table: Table) -> list[int]:
    """Return the indices of the model's coordinates that the problem reads, in order."""
    used: set[int] = set()
    sizes = {core.Primitive.BALL: 4, core.Primitive.SLIDE3: 3}
    for p in table["primitives"]:
        used.update(range(p["q_index"], p["q_index"] + sizes.get(p["kind"], 1)))
    for c in table["coordinates"]:
        used.update(range(c["q_index"], c["q_index"] + (4 if c["quaternion"] else 1)))
    return sorted(used)
