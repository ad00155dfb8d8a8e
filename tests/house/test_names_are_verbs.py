"""Functions are verbs: `check_goals`, not `checked`; `join_rows`, not `beside`.

The first word of a name decides. Participles ("checked", "moving", "drawn") and little words ("far", "beside", "of")
are counted: they say what comes out, but not what is done. Properties are nouns, and are not counted. A name that
begins with `from`, `to`, `as`, `with` or `without` converts, as everywhere in Python; one that begins with `on` answers
an event.

Nothing public has such a name, except for those that the contract fixes; all of `src/poise` has a few at most.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest

from paths import SOURCES
from source_trees import read_trees

MOST = 20

# Names that the contract fixes: edits of a motion and of a model that return another one.
CONTRACT = {
    *("joined", "resampled", "mirrored", "reversed", "looped", "smoothed", "warped"),  # Motion
    "locked",  # Model
    "between",  # Rotation
    "at",  # Answers
    "over",  # methods: the shelf over a residual
    "around",  # Range: the range around a value, as a place for numbers to be made from
    *("adjusted_jacobian", "damped_inverse", "damped_svd_inverse", "truncated_svd_inverse", "weighted_pseudoinverse"),
    "left_pseudoinverse",
    *("limited_step", "frozen_step", "controlled_step", "controlled_step_by_elimination"),  # formulas of the textbook
}

IRREGULAR = """
arisen beaten become begun bent bought broken brought built caught chosen dealt done drawn driven eaten fallen felt
forgotten found frozen given gone grown held hidden hung kept known laid lain led left lent lost made meant met paid
rebuilt remade ridden risen said seen sent shaken shot shown shrunk slid sold sought spent spoken stolen stood stuck
sunk swept sworn taken taught thrown told torn understood undone woken won worn woven written wrote
"""
VERBS_AND_NOUNS = """
bring ceiling embed exceed feed heading king need ping proceed quadruped ring seed setting shed speed spring string
swing thing wing
"""
LITTLE = """
about above across after alike all along among any apart around at away back backwards bare before behind below
beneath beside between beyond both by directly down each elsewhere even far fresh helpful in inside into inward large
later least lightest low many most near nearer nearest next nothing of off onto opposed outward over own per plus
remote sane short silent since smallest than that those through till toward under until up upon upright weak
weightless what when where which while whole wide within
"""


def is_participle(word: str) -> bool:
    """Tell whether a word is a participle by its form: -ed, -ing, or one of the irregular ones."""
    return word in IRREGULAR.split() or (
        len(word) > 4 and word.endswith(("ed", "ing")) and word not in VERBS_AND_NOUNS.split()
    )


def is_no_verb(name: str) -> bool:
    """Tell whether a function's name begins with a participle or a little word."""
    first = name.strip("_").split("_")[0]
    return is_participle(first) or first in LITTLE.split()


def list_functions(tree: ast.AST, inside: str = "") -> Iterator[str]:
    """Yield the functions and methods of a module, without properties, inner functions and names such as `__add__`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from list_functions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            words = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not node.name.startswith("__") and not any("property" in word or ".setter" in word for word in words):
                yield inside + node.name
        elif isinstance(node, ast.If | ast.Try):
            yield from list_functions(node, inside)


def find_all() -> list[str]:
    """Return every function of the sources whose name is not a verb, as `room/file.py Class.name`."""
    return [
        f"{path.relative_to(SOURCES)} {name}"
        for path, tree in read_trees().items()
        for name in list_functions(tree)
        if is_no_verb(name.split(".")[-1]) and name.split(".")[-1] not in CONTRACT
    ]


def list_public(module: ModuleType) -> Iterator[str]:
    """Yield the public functions of a module, and the public methods of its public classes."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            yield f"{module.__name__}.{name}"
        if inspect.isclass(thing) and thing.__module__.startswith("poise"):
            for attribute, value in vars(thing).items():
                plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
                if inspect.isfunction(plain) and not attribute.startswith("_"):
                    yield f"{module.__name__}.{name}.{attribute}"


ROOMS = sorted(path.parent.name for path in SOURCES.glob("*/__init__.py") if path.parent.name not in ("native", "cli"))


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_nothing_public_is_named_by_a_participle(room):
    module = importlib.import_module(f"poise.{room}" if room else "poise")
    found = [name for name in list_public(module) if is_no_verb(name.split(".")[-1])]
    assert [name for name in found if name.split(".")[-1] not in CONTRACT] == []


@pytest.mark.slow
def test_few_functions_are_named_by_a_participle():
    found = find_all()
    assert len(found) <= MOST, f"{len(found)} functions are not named by a verb:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("name", "no_verb"),
    [
        ("checked", True),
        ("beside", True),
        ("far", True),
        ("_named", True),
        ("drawn_here", True),
        ("moving", True),
        ("check_goals", False),
        ("join_rows", False),
        ("bring_inside", False),
        ("need_rank", False),
        ("split_names", False),
        ("from_matrix", False),
        ("on_click", False),
        ("settings", False),
    ],
)
def test_the_rule_itself(name, no_verb):
    assert is_no_verb(name) == no_verb
