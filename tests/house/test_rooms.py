"""The rooms know each other by imports alone, which `lint-imports` and `test_import_circles.py` read."""

from __future__ import annotations

import ast

from paths import SOURCES
from source_trees import read_nodes


def test_no_room_is_looked_up_by_name() -> None:
    """What the layers forbid to `import` is not found by a name either: `poise/__init__` alone knows the rooms."""
    importing = [path for path in SOURCES.rglob("*.py") if "import_module" in path.read_text("utf-8")]
    assert len(importing) > 1
    for path in importing:
        calls = [node for node in read_nodes()[path] if isinstance(node, ast.Call)]
        asked = [ast.unparse(call.args[0]) for call in calls if "import_module" in ast.unparse(call.func)]
        rooms = [name for name in asked if "'poise" in name]
        assert not rooms or path == SOURCES / "__init__.py", (path, rooms)
