"""The list of slow tests: every test that it names is there, under the name that it is listed by."""

from __future__ import annotations

import ast
from functools import cache

from paths import ROOT


@cache
def list_tests(path: str) -> dict[str, bool]:
    """List the tests of a file, those in classes as `Class::test`, and whether each is many, one for each parameter."""
    file, found = ROOT / path, dict[str, bool]()
    for node in ast.parse(file.read_text("utf-8")).body if file.exists() else []:
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                found[before + each.name] = any("parametrize" in ast.unparse(way) for way in each.decorator_list)
    return found


def is_there(listed: str) -> bool:
    """Tell whether a test is there; one with parameters is listed with them, as `test[1]`."""
    name, _, parameters = listed.partition("[")
    path, _, test = name.partition("::")
    many = list_tests(path).get(test)
    return many is not None and (bool(parameters) or not many)


def test_every_slow_test_is_there_and_is_listed_once_in_order() -> None:
    """A test that was renamed, or was given parameters, is one of the quick ones as long as its old name is listed."""
    listed = (ROOT / "tests" / "slow.txt").read_text("utf-8").splitlines()
    assert len(listed) > 500
    assert listed == sorted(set(listed))
    lost = [name for name in listed if not is_there(name)]
    assert not lost, f"take these out of tests/slow.txt, or run tools/slow_tests.py: {lost}"
