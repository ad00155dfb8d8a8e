"""Packages stay small and use the public members of each other; every class has a name of its own."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from paths import SOURCES
from source_trees import read_nodes, read_trees

MOST_FILES = 20  # of a package, without its subpackages
SHELVES = {"goals", "methods", "textbook", "cli"}  # one entry a file
FIELD_TERMS = {"closed", "coupled", "dex_retargeting", "mapping", "quadruped", "retargeting", "speed"}  # public names


def test_no_package_has_too_many_files() -> None:
    folders = {file.parent for file in SOURCES.rglob("*.py")} - {SOURCES / name for name in SHELVES}
    counts = {str(folder.relative_to(SOURCES)): len(list(folder.glob("*.py"))) for folder in folders}
    assert not {name: count for name, count in counts.items() if count > MOST_FILES}


def test_every_class_has_its_own_name() -> None:
    homes = defaultdict(list)
    for file, nodes in read_nodes().items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file.relative_to(SOURCES).as_posix())
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_modules_are_named_by_nouns() -> None:
    stems = {file.stem for file in SOURCES.rglob("*.py")} - FIELD_TERMS
    assert not sorted(stem for stem in stems if re.search("(ing|ed)$", stem))


def test_type_aliases_of_arrays_are_defined_once() -> None:
    pattern = re.compile(r"^(Floats|Ints|Triple)\b.* = ", re.MULTILINE)
    found = [
        str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*.py") if pattern.search(file.read_text("utf-8"))
    ]
    assert found == ["arrays.py"]


def test_module_caches_are_keyed_by_plain_values() -> None:
    """A cache of a module keeps its keys alive: values of a model belong into its memo (`keep_with_model`)."""
    plain = re.compile(r"(str|bytes|int|bool|float|tuple|None|[\[\], .|])+")
    found = []
    for file, tree in read_trees().items():
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or not any(map(is_cache, node.decorator_list)):
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            keys = ["" if arg.annotation is None else ast.unparse(arg.annotation) for arg in given]
            if not all(map(plain.fullmatch, keys)) or node.args.vararg or node.args.kwarg:
                found.append(f"{file.relative_to(SOURCES)}: {node.name}")
    assert not found


def is_cache(decorator: ast.expr) -> bool:
    """Return whether a decorator is `cache` or `lru_cache`."""
    return re.match(r"(functools\.)?(lru_)?cache\b", ast.unparse(decorator)) is not None


def test_modules_keep_no_results() -> None:
    """A container that a module fills later is hidden state. Allowed: the functions that connect hooks."""
    found = set()
    for file, tree in read_trees().items():
        for node in tree.body:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if value is not None and re.fullmatch(
                r"\{\}|\[\]|(\w+\.)?(dict|list|set|\w*Dict|\w*dict|WeakSet)(\[.*\])?\(\)", ast.unparse(value)
            ):
                found.add(f"{file.relative_to(SOURCES).as_posix()}: {ast.unparse(node)}")
    assert found == {"hooks.py: _linkers: list[Callable[[], None]] = []"}


def test_entries_of_argument_lists_have_a_name_and_a_description() -> None:
    wrong = []
    for file, nodes in read_nodes().items():
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                lists = re.findall(r"^Args:\n((?:    .*\n|\n)*)", (ast.get_docstring(node) or "") + "\n", re.MULTILINE)
                entries = [line for text in lists for line in re.findall(r"^    (\S.*)", text, re.MULTILINE)]
                unnamed = [line for line in entries if not re.match(r"\*{0,2}\w+: ", line)]
                wrong += [f"{file.name}: {node.name}: {line}" for line in unnamed]
    assert not wrong


FOREIGN = {  # private members of other libraries, and names that Python reserves
    "_exit",  # os
    "_impl",  # viser
    "_queue_scene_message",  # viser
    "_replace",  # named tuples
    "_repr_png_",  # IPython
    "_websock_server",  # viser
}


def find_package(path: Path) -> str:
    """Return the package of a module, or the module itself at the top."""
    return path.relative_to(SOURCES).with_suffix("").parts[0]


def is_own(value: ast.expr) -> bool:
    """Return whether an expression is `self` or `cls`."""
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def list_members(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module defines: functions, variables, attributes of classes and of self."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            yield node.attr


@cache
def list_private_uses() -> list[tuple[str, str, str]]:
    """Return every use of a private member of anything but `self` and `cls`: the package, the member, the place."""
    return [
        (find_package(path), node.attr, f"{path.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)}")
        for path, nodes in read_nodes().items()
        for node in nodes
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr) and not is_own(node.value)
    ]


def list_reach_ins() -> Iterator[tuple[str, str]]:
    """Yield the private members that are used in a package which does not define them, each with the place."""
    own: dict[str, set[str]] = {}
    for path, nodes in read_nodes().items():
        own.setdefault(find_package(path), set()).update(list_members(nodes))
    return ((name, place) for package, name, place in list_private_uses() if name not in own[package])


def test_no_package_uses_a_private_member_of_another() -> None:
    new = [place for name, place in list_reach_ins() if name not in FOREIGN]
    assert not new, "\n".join(new)


@pytest.mark.parametrize("member", ["_facts", "_native", "_options", "_solver", "_run"])
def test_the_private_members_of_solvers_are_used_there_alone(member: str) -> None:
    """A package that has a member of the same name uses its own one."""
    found = [place for package, name, place in list_private_uses() if name == member and package != "solvers"]
    assert not found, "\n".join(found)


def test_exceptions_name_members_that_are_used() -> None:
    assert {name for name, _ in list_reach_ins()} >= FOREIGN


def test_no_room_is_looked_up_by_name() -> None:
    """What the layers forbid to `import` is not found by a name either: `poise/__init__` alone knows the rooms."""
    importing = [path for path in SOURCES.rglob("*.py") if "import_module" in path.read_text("utf-8")]
    assert len(importing) > 1
    for path in importing:
        calls = [node for node in read_nodes()[path] if isinstance(node, ast.Call)]
        asked = [ast.unparse(call.args[0]) for call in calls if "import_module" in ast.unparse(call.func)]
        rooms = [name for name in asked if "'poise" in name]
        assert not rooms or path == SOURCES / "__init__.py", (path, rooms)
