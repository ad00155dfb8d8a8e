"""YAML files of xacro: dictionaries, lists, numbers and text, with xacro's units (``!degrees 90``).

PyYAML parses the file. The values are built here, so that every copy of an alias is charged and unknown tags raise.
"""

import math
from typing import Any

from poise.errors import INDEX_NAME, MissingExtra
from poise.files.source import Source, quote
from poise.formats.urdf.expressions import Evaluator, ExpressionError, NameScope, check_number

__all__ = ["read_yaml"]

SUFFIXES = (".yaml", ".yml")
MAX_BYTES = 1 << 17
STANDARD = "tag:yaml.org,2002:"
SCALARS = {f"{STANDARD}{kind}" for kind in ("int", "float", "bool", "null")}
MAX_SCALAR_LENGTH = 100  # limit for a number, in characters
MERGE = f"{STANDARD}merge"
COST = 10  # budget steps per byte, and per value
UNITS = {"!radians": 1.0, "!degrees": math.pi / 180.0}
UNITS |= {"!meters": 1.0, "!millimeters": 0.001, "!foot": 0.3048, "!inches": 0.0254}


def read_yaml(source: Source, evaluator: Evaluator, names: NameScope) -> Any:
    """Return the content of a YAML file.

    Raises:
        MissingExtra: PyYAML is not installed.
        FormatError: The file is not YAML, is too large, or contains other types of values.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtra(
            f'{source.path} is YAML, which needs PyYAML. Type: pip install "{INDEX_NAME}[formats]"'
        ) from None
    if not source.path.lower().endswith(SUFFIXES) or len(source.data) > MAX_BYTES:
        raise source.make_error(f"is read as YAML; it must end in .yaml or .yml and have at most {MAX_BYTES} bytes.")
    evaluator.budget.spend(COST * len(source.data))
    line = 1
    try:
        loader = yaml.SafeLoader(source.read_text())
        top = loader.get_single_node()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise source.make_error("is not YAML.", mark.line + 1 if mark else None) from None

    def build(node: Any) -> Any:
        nonlocal line
        line = node.start_mark.line + 1
        evaluator.budget.spend(COST + len(node.value))
        if node.tag == f"{STANDARD}seq":
            return [build(item) for item in node.value]
        if node.tag == f"{STANDARD}map":
            own = [(build(key), build(value)) for key, value in node.value if key.tag != MERGE]
            return {**build_merged(node), **dict(own)}
        if node.tag in UNITS:
            return float(evaluator.evaluate(node.value, names)) * UNITS[node.tag]
        if node.tag == f"{STANDARD}str" and isinstance(node.value, str):
            return node.value
        if node.tag not in SCALARS or len(node.value) > MAX_SCALAR_LENGTH:
            raise ExpressionError(f"a value with the tag {quote(node.tag)} is not read")
        return check_number(loader.construct_object(node))

    def build_merged(node: Any) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for value in (value for key, value in node.value if key.tag == MERGE):
            merged = build(value)
            for part in reversed(merged) if isinstance(merged, list) else [merged]:
                out |= part
        return out

    try:
        return None if top is None else build(top)
    except RecursionError:
        raise source.make_error("is nested too deeply, or contains itself.", line) from None
    except (ExpressionError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise source.make_error(f"cannot be read as YAML: {error}.", line) from None
