"""Write the source for a device: a prepared problem as C++ types with constant sizes and, if small, constant numbers.

A body of a few joints becomes constants in the instructions, so that a search fits into the registers of one thread
(`kernels/loop/gpu_entry.h`). A large one keeps its numbers in memory and its loops as loops, and a team of threads
searches (`kernels/loop/gpu_team.h`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from poise.native import _core as core
from poise.native.gpu.passes import (
    MOVING,
    SMALL,
    Table,
    begins_at_branch,
    count_priorities,
    is_small,
    list_kernels,
    list_places,
)
from poise.native.gpu.teams import divide

__all__ = ["ROOT", "inline_headers", "write_problem", "write_source"]

ROOT = Path(__file__).parents[1]  # root of all include paths
TEAM_OF_4_ROWS, TEAM_OF_8_ROWS = 6, 12  # rows of residuals: up to this number, so many threads are enough
WARP = 32
TEAM_BYTES = 48 << 10  # shared memory of the teams of a warp, of which several fit on a multiprocessor
SUPPORT = 400  # numbers of a hull (balance.h)
ARM = 7  # primitives, and velocities, of an arm
NONE = core.OPEN
PATIENCE = {"stall_ratio": 0.999}  # a missed second priority makes up most of the cost, and hides progress
FLOAT_TELLS = 3e-5  # L or rad: errors that a search in float reliably reaches


def has_relations(table: Table) -> bool:
    """Return whether a goal is a direction."""
    return any(goal["op"] in (core.GoalOp.ALIGN, core.GoalOp.LOOK) for goal in table["goals"])


def choose_blocks(table: Table) -> int:
    """Return the number of blocks of 128 threads per multiprocessor, which bounds the registers of a search.

    Measured for the Panda: 600 million rows per second with four blocks (128 registers, of which a few spill), 576 with
    three.
    """
    arm = max(len(table["primitives"]), int(table["n_v"])) <= ARM and int(table["n_rows"]) <= 6
    return 4 if arm else 2


def choose_team(table: Table, number: int = 4) -> int:
    """Return the number of threads on one row of a large body, in numbers of 4 or 8 bytes."""
    rows = int(table["n_rows"])
    team = 4 if rows <= TEAM_OF_4_ROWS else 8 if rows <= TEAM_OF_8_ROWS else 32
    while team < WARP and number * estimate_numbers(table) * WARP // team > TEAM_BYTES:
        team *= 2
    return team


def estimate_numbers(table: Table) -> int:
    """Return about how many numbers of shared memory a row of a large body takes (TeamMemory in gpu_team.h)."""
    m, n, goals = int(table["n_rows"]), int(table["n_v"]), len(table["goals"])
    parts = len(table["primitives"])
    support = 4 * parts + SUPPORT if table["masses"] else 0
    return m * (n + m + 6) + 12 * parts + 7 * n + 2 * int(table["n_q"]) + 40 * goals + support


def write_number(x: Any, real: str) -> str:
    """Return a number as a C++ literal that is read back exactly."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x)
    value = max(-NONE, min(NONE, float(x)))
    return f"{value!r}f" if real == "float" else repr(value)


def write_braces(x: Any, real: str) -> str:
    """Return nested numbers as a C++ initialiser, with designated members."""
    if isinstance(x, Mapping):
        return "{" + ", ".join(f".{name} = {write_braces(part, real)}" for name, part in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return "{" + ", ".join(write_braces(part, real) for part in x) + "}"
    return write_number(x, real)


class Arrays:
    """Arrays of structures, in the instructions or in constant memory."""

    def __init__(self, space: str, real: str, small: bool) -> None:
        self.space, self.real, self.small = space, real, small
        self.data: list[str] = []

    def element(self, kind: str, name: str, rows: Sequence[Any]) -> str:
        """Add an array, and return the body of its accessor by index."""
        filled = list(rows) or [{}]
        text = ",\n      ".join(write_braces(row, self.real) for row in filled)
        memory = "POISE_KNOWN" if self.small else "POISE_TABLE"
        self.data.append(f"{memory} {kind} {self.space}_{name}[{len(filled)}] = {{\n      {text}}};")
        return f"return {self.space}_{name}[i];"

    def result(self, kind: str) -> str:
        """Return the return type of such an accessor."""
        return f"const {kind}&"


def mark_relative(table: Table, places: Sequence[int]) -> list[int]:
    """Return 1 for coordinates with seeds relative to the start: without a range, or not free to move."""
    ranged = (f for f in table["freedoms"] if f["lower"] > -NONE or f["upper"] < NONE)
    fixed = {f["q_index"]: 0 for f in ranged if f["q_index"] >= 0}
    for c in table["coordinates"]:
        if c["quaternion"]:
            fixed.update(dict.fromkeys(range(c["q_index"], c["q_index"] + 4), 0))
    return [fixed.get(place, 1) for place in places]


def list_idle(table: Table, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the coordinates outside the problem, with the ranges to clamp them to."""
    held = table["settings"]["limits"] != core.LimitHandling.OFF
    ranges = {f["q_index"]: {"lower": f["lower"], "upper": f["upper"]} for f in table["idle"]} if held else {}
    rest = (q for q in range(int(table["n_q"])) if q not in set(places))
    return [{"place": q, **ranges.get(q, {"lower": -NONE, "upper": NONE})} for q in rest]


def write_problem(table: Table, space: str, real: str) -> str:
    """Return the namespace `space` with `Problem`, `settings()` and `posture(...)` in float or double."""
    places = list_places(table)
    where = {place: k for k, place in enumerate(places)}
    small = is_small(table)
    shelf = Arrays(space, real, small)
    first = min(goal["level"] for goal in table["goals"])
    goals = [{**goal, "level": int(goal["level"] > first)} for goal in table["goals"]]
    primitives = [{**p, "q_index": where[p["q_index"]]} for p in table["primitives"]]
    freedoms = [{**f, "q_index": where.get(f["q_index"], -1)} for f in table["freedoms"]]
    coordinates = [{**c, "q_index": where[c["q_index"]]} for c in table["coordinates"]]
    wanted = [table["wanted"][place] for place in places] if table["wanted"] else []
    gain = list(table["gain"])
    sizes = {
        "n_q": len(places),
        "n_v": int(table["n_v"]),
        "n_rows": int(table["n_rows"]),
        "n_goals": len(table["goals"]),
        "n_primitives": len(primitives),
        "n_coordinates": len(coordinates),
        "n_reachable": len(table["reachable"]),
        "n_idle": len(list_idle(table, places)),
        "n_closed": len(table["closed"]),
        "n_targets": int(table["n_targets"]),
        "model_q": int(table["n_q"]),
    }
    parts = {
        "Body": ("Primitive", "primitives", primitives, "count", "n_primitives"),
        "Frames": ("FrameData", "frames", table["frames"], "", ""),
        "Goals": ("GoalSpec", "goals", goals, "count", "n_goals"),
        "Freedoms": ("Freedom", "freedoms", freedoms, "", ""),
    }
    text = [f"namespace {space} {{", "using namespace poise;", f"using T = {real};"]
    text += [f"constexpr int {name} = {value};" for name, value in sizes.items()]
    text.append(f"constexpr bool begins_at_branch = {write_number(begins_at_branch(table), real)};")
    structs = []
    for name, (kind, array, rows, counter, size) in parts.items():
        structs.append(f"struct {name} {{")
        if name == "Body":
            structs.append(f"  bool shared_columns = {write_number(bool(table['shared_columns']), real)};")
            if table["masses"]:
                shelf.element("Mass<T>", "masses", table["masses"])
                structs.append(f"  const Mass<T>* masses = {space}_masses;")
        if name == "Goals":
            structs.append("  POISE_FN constexpr Frames frames() const { return {}; }")
            if table["points"]:
                shelf.element("int", "points", table["points"])
                structs.append(f"  POISE_FN const int* points() const {{ return {space}_points; }}")
        if counter:
            structs.append(f"  POISE_FN constexpr int {counter}() const {{ return {size}; }}")
        body = shelf.element(f"{kind}<T>", array, rows)
        structs.append(f"  POISE_FN {shelf.result(f'{kind}<T>')} operator[](int i) const {{\n    {body}\n  }}")
        structs.append("};")
    index = shelf.element("Coordinate", "coordinates", coordinates)
    structs.append("struct Coordinates {")
    structs.append(f"  POISE_FN const Coordinate& operator[](int i) const {{\n    {index}\n  }}\n}};")
    structs += write_problem_struct(table, places, small, shelf, real)
    structs += write_posture_struct(wanted, gain, small, shelf)
    return "\n".join([*text, *shelf.data, *structs, f"}}  // namespace {space}", ""])


def write_static(kind: str, name: str, body: str) -> str:
    """Return the source of a static accessor by index."""
    return f"  static POISE_FN {kind} {name}(int i) {{\n    {body}\n  }}"


def write_problem_struct(table: Table, places: Sequence[int], small: bool, shelf: Arrays, real: str) -> list[str]:
    """Return the source of `Problem` and its settings."""

    def lookup(kind: str, name: str, rows: Sequence[Any], precision: str = real) -> str:
        filled = list(rows) or [0]
        values = ", ".join(write_braces(x, precision) for x in filled)
        memory = "POISE_KNOWN" if small else "POISE_TABLE"
        shelf.data.append(f"{memory} {kind} {shelf.space}_{name}[{len(filled)}] = {{{values}}};")
        return f"return {shelf.space}_{name}[i];"

    patience = PATIENCE if count_priorities(table) > 1 else {}
    settings = write_braces({**table["settings"], **patience, "options": []}, real)
    bounded = table["settings"]["limits"] != core.LimitHandling.OFF
    reachable, idle = table["reachable"] or [{}], list_idle(table, places) or [{}]
    sizes = (
        "n_q",
        "n_v",
        "n_rows",
        "n_goals",
        "n_primitives",
        "n_coordinates",
        "n_reachable",
        "n_idle",
        "n_closed",
        "n_targets",
    )
    teams = [] if small or (real != "float" and not table["gain"]) else write_teams(table, lookup)
    kind, closed = f"ClosedForm<{real}>", []
    if table["closed"]:
        forms = shelf.element(kind, "closed", table["closed"])
        closed = [write_static(f"const {kind}&", "closed", forms)]
    if begins_at_branch(table):
        forms = shelf.element(kind, "branch", [table["branch"]])
        closed.append(write_static(f"const {kind}&", "branch", forms))
        closed.append(write_static("T", "unit", lookup("T", "units", table["units"])))
    return [
        "struct Problem {",
        "  using Real = T;",
        "  Body body;",
        "  Goals goals;",
        "  Coordinates coordinates;",
        "  Freedoms freedoms;",
        *(f"  static constexpr int {name} = {shelf.space}::{name};" for name in (*sizes, "model_q")),
        f"  static constexpr T scale = {write_number(float(table['scale']), real)};",
        f"  static constexpr bool begins_at_branch = {shelf.space}::begins_at_branch;",
        f"  static constexpr bool has_relations = {write_number(has_relations(table), real)};",
        f"  static constexpr bool has_masses = {write_number(bool(table['masses']), real)};",
        f"  static constexpr bool has_posture = {write_number(bool(table['gain']), real)};",
        f"  static constexpr bool bounded = {write_number(bounded, real)};",
        f"  static POISE_FN constexpr T fraction() {{ return {write_number(float(table['fraction']), real)}; }}",
        write_static("int", "place", lookup("int", "places", places)),
        write_static("bool", "relative", lookup("bool", "relative", [bool(x) for x in mark_relative(table, places)])),
        write_static("double", "origin", lookup("double", "origin", table["origin"], "double")),
        write_static("Idle", "idle", lookup("Idle", "idle", idle, "double")),
        write_static("Reachable<T>", "reachable", lookup("Reachable<T>", "reachable", reachable)),
        *closed,
        *teams,
        "};",
        f"POISE_FN Settings<T> settings() {{ return {settings}; }}",
    ]


def write_teams(table: Table, lookup: Callable[[str, str, Sequence[Any]], str]) -> list[str]:
    """Return the source of the tables with which a team divides its work."""
    division = divide(table)
    counts = {
        "n_levels": len(division.levels) - 1,
        "n_strips": len(division.strips),
        "n_priorities": count_priorities(table),
    }
    return [
        *(f"  static constexpr int {name} = {value};" for name, value in counts.items()),
        write_static("int", "priority", lookup("int", "priorities", division.priorities)),
        write_static("int", "by_depth", lookup("int", "by_depth", division.by_depth)),
        write_static("int", "level", lookup("int", "levels", division.levels)),
        write_static("ColumnSource", "source", lookup("ColumnSource", "sources", division.sources)),
        write_static("int", "first_source", lookup("int", "first_sources", division.first_sources)),
        write_static("NormalStrip", "strip", lookup("NormalStrip", "strips", division.strips)),
        write_static("Run", "run", lookup("Run", "runs", division.runs or [{}])),
    ]


def write_posture_struct(wanted: Sequence[float], gain: Sequence[float], small: bool, shelf: Arrays) -> list[str]:
    """Return the source of the posture: arrays of one thread, or of the device for a large body, or null pointers."""
    if not gain:
        return ["struct Rest {\n  POISE_FN Posture<T> posture() const { return {nullptr, nullptr}; }\n};"]
    parts = {
        name: (len(row), ", ".join(write_number(float(x), shelf.real) for x in row))
        for name, row in (("wanted", wanted), ("gain", gain))
    }
    if not small:
        names = {name: f"{shelf.space}_rest_{name}" for name in parts}
        shelf.data += [f"POISE_TABLE T {names[name]}[{n}] = {{{row}}};" for name, (n, row) in parts.items()]
        given = ", ".join(names.values())
        return [f"struct Rest {{\n  POISE_FN Posture<T> posture() const {{ return {{{given}}}; }}\n}};"]
    return [
        "struct Rest {",
        *(f"  T {name}[{n}] = {{{row}}};" for name, (n, row) in parts.items()),
        "  POISE_FN Posture<T> posture() const { return {wanted, gain}; }",
        "};",
    ]


def coarsen(table: Table) -> Table:
    """Return the problem with tolerances that float can resolve; double refines the rest."""
    least = (FLOAT_TELLS * float(table["scale"]), FLOAT_TELLS)
    goals = [
        {**g, "tolerance": [max(x, y) for x, y in zip(g["tolerance"], least, strict=True)]} for g in table["goals"]
    ]
    return {**table, "goals": goals}


def write_source(
    f32: Table,
    f64: Table,
    body: Table | None,
    single: Sequence[bool],
    kernels: Sequence[str] | None = None,
    *,
    finish: bool = False,
    world: tuple[bool, bool] = (True, True),
) -> str:
    """Return the translation unit for a device, with `#include`s.

    Args:
        f32: The problem in float.
        f64: The problem in double.
        body: The body of its clearance, in double, or None.
        single: Whether each of the targets, and last the starts, is float.
        kernels: The names of the kernels to include; None for all.
        finish: Whether poses are refined in double.
        world: Whether regions are placed row by row, and whether some are point clouds or convex meshes.
    """
    filled = {
        "SINGLE": ", ".join(write_number(flag, "") for flag in single[:-1]),
        "START_SINGLE": write_number(single[-1], ""),
        "ROWS": f"f32::n_rows <= {SMALL} ? f32::n_rows : 0",
        "BLOCKS": str(choose_blocks(f32)),
        "TEAM": str(choose_team(f32)),
        "REST_TEAM": str(choose_team(f64, 8)),
        "FINISH": write_number(finish, ""),
        "PROBLEMS": write_problem(coarsen(f32) if finish else f32, "f32", "float")
        + write_problem(f64, "f64", "double")
        + (write_problem(body, "body", "double") if body else ""),
    }
    text = (Path(__file__).parent / "passes.cu").read_text("utf-8")
    shared, *each = re.split(r"^// kernel (?=\w+:)", text, flags=re.MULTILINE)
    wanted = {name for name in (*list_kernels(f32, body), *MOVING) if kernels is None or name in kernels}
    text = shared + "".join(f"// {part}" for part in each if part.partition(":")[0] in wanted)
    for mark, words in filled.items():
        text = text.replace(f"/*{mark}*/", words)
    flags = f"#define POISE_PLACED {world[0]:d}\n#define POISE_CLOUDS {world[1]:d}\n"
    small = "#define POISE_SMALL_BODY\n" if is_small(f32) else ""
    return write_plan(f32) + flags + small + text


def write_plan(table: Table) -> str:
    """Return the definition of the plan of all closed forms, if there is only one."""
    forms = [*table["closed"], *([table["branch"]] if begins_at_branch(table) else [])]
    plans = {form["spec"]["chain"]["plan"] for form in forms}
    return f"#define POISE_PLAN {plans.pop()}\n" if len(plans) == 1 else ""


def inline_headers(source: str) -> str:
    """Return the source with each kernel header inlined once, so that a cache can identify it by its hash."""
    seen: set[str] = set()

    def place(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        return inline((ROOT / name).read_text("utf-8").replace("#pragma once", ""))

    def inline(text: str) -> str:
        return re.sub(r'^#include "([\w./]+)"$', place, text, flags=re.MULTILINE)

    return inline(source)
