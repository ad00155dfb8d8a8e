"""The rooms know each other by imports alone, which `lint-imports` and `test_import_circles.py` read."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_no_room_is_looked_up_by_name() -> None:
    """What the layers forbid to `import` is not found by a name either: `poise/__init__` alone knows the rooms."""
    files = {path: path.read_text("utf-8") for path in SOURCE.rglob("poise/**/*.py")}
    importing = {path: text for path, text in files.items() if "import_module" in text}
    assert len(importing) > 1
    for path, text in importing.items():
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        asked = [ast.unparse(call.args[0]) for call in calls if "import_module" in ast.unparse(call.func)]
        rooms = [name for name in asked if "'poise" in name]
        assert not rooms or path == SOURCE / "poise" / "__init__.py", (path, rooms)
