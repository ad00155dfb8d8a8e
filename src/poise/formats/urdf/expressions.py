"""A safe evaluator for the expressions of a robot's file, such as ``${2 * radius + 0.1}``, which runs no Python.

Python's `ast` parses the text and this module walks the tree. The allow-list is `Evaluator.RULES`: any other syntax
(lambda, comprehension, f-string, assignment, starred argument) raises `ExpressionError`, and so does a name that begins
with an underscore. An attribute is looked up in a namespace, a dictionary or `METHODS`, never with `getattr`; only a
`Function` can be called, and only this package creates those. `Budget` limits time and memory: an operation is charged
for the size of its operands before it runs. Tested in `tests/formats/test_xacro.py`.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["Budget", "Evaluator", "ExpressionError", "Function", "make_functions"]

MAX_WORK = 2_000_000
"""Characters, list items and steps that one file may cost; large public robots cost 350,000."""

MAX_EXPRESSION_LENGTH = 2000  # characters
MAX_ARGUMENT_LENGTH = 100  # characters, for arguments of methods
MAX_BITS = 1024  # of an integer; the exponent range of a double is as large
MAX_DIGITS = 20  # maximum digits to round to
MAX_INDEX = 1 << 53  # limit for the bounds of a range


class ExpressionError(Exception):
    """An invalid, forbidden or too costly expression; `where` is its text if known."""

    where = ""


@runtime_checkable
class NameScope(Protocol):
    """A lookup of names: the properties of a file, or a namespace."""

    def look_up(self, name: str) -> Any:
        """Return the value of a name, or raise `ExpressionError`."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that expressions may call."""

    name: str
    call: Callable[..., Any]

    def __repr__(self) -> str:
        return self.name


class Budget:
    """The remaining work allowed for one file."""

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, work: int) -> None:
        """Subtract work from the budget.

        Raises:
            ExpressionError: The budget is used up.
        """
        self.left -= work
        if self.left < 0:
            raise ExpressionError(f"its macros need more than {MAX_WORK} steps and characters; they may have no end")

    def charge(self, value: Any) -> int:
        """Charge the size of a value, including nested values; return it."""
        before = self.left
        items = [*value, *value.values()] if isinstance(value, dict) else value
        self.spend(1 + (len(items) if isinstance(items, (str, list, tuple)) else 0))
        if isinstance(value, int):
            self.spend(value.bit_length() // 32)  # the cost of its digits if it is written
        for item in items if isinstance(items, (list, tuple)) else ():
            self.charge(item)
        return before - self.left


class Evaluator:
    """An evaluator of expressions within a budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def evaluate(self, text: str, names: NameScope) -> Any:
        """Return the value of an expression.

        Raises:
            ExpressionError: Forbidden syntax or a forbidden name, a failed operation, or too much work.
        """
        if len(text) > MAX_EXPRESSION_LENGTH:
            raise ExpressionError(f"an expression has {len(text)} characters; at most {MAX_EXPRESSION_LENGTH} are read")
        try:
            return self.visit(ast.parse(text.strip(), mode="eval").body, names)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise ExpressionError(f"{type(error).__name__}: {str(error)[:200]}") from None
        except SyntaxError as error:
            raise ExpressionError(f"it is not an expression: {error.msg}") from None

    def visit(self, node: ast.AST, names: NameScope) -> Any:
        """Return the value of a node; its type must be in `RULES`."""
        self.budget.spend(1)
        rule = self.RULES.get(type(node))
        if rule is None:
            raise ExpressionError(f"{type(node).__name__} is not allowed; write plain arithmetic")
        return rule(self, node, names)

    def visit_constant(self, node: ast.Constant, names: NameScope) -> Any:
        """Return a number, a string, True, False or None."""
        if not isinstance(node.value, (bool, int, float, str, type(None))):
            raise ExpressionError(f"{type(node.value).__name__} values are not allowed")
        return check_number(node.value)

    def visit_name(self, node: ast.Name, names: NameScope) -> Any:
        """Return a property or a function."""
        return names.look_up(check_name(node.id))

    def visit_attribute(self, node: ast.Attribute, names: NameScope) -> Any:
        """Return a member of a namespace, an entry of a dictionary, or a method in `METHODS`."""
        owner, name = self.visit(node.value, names), check_name(node.attr)
        if isinstance(owner, dict) and name in owner:
            return owner[name]
        if isinstance(owner, NameScope):
            return owner.look_up(name)
        method = METHODS.get(type(owner), {}).get(name)
        if method is not None:
            return Function(name, lambda *args: self.call_method(method, owner, *args))
        raise ExpressionError(f"{type(owner).__name__} has no {name!r}")

    def call_method(self, method: Callable[..., Any], owner: Any, *args: Any) -> Any:
        """Call a method; the charge is the longest text that `replace` or `join` could return."""
        self.budget.charge(owner)
        sizes = [len(check_argument(arg)) for arg in args if isinstance(arg, (str, list, tuple))]
        self.budget.spend((1 + len(owner)) * (1 + sum(sizes)))
        return method(owner, *args)

    def visit_subscript(self, node: ast.Subscript, names: NameScope) -> Any:
        """Return an item of a list, a string or a dictionary, or a slice."""
        owner = self.visit(node.value, names)
        if not isinstance(owner, (str, list, tuple, dict)):
            raise ExpressionError(f"{type(owner).__name__} has no items")
        if not isinstance(node.slice, ast.Slice):
            index = self.visit(node.slice, names)
            self.budget.charge(index)
            return owner[index]
        self.budget.charge(owner)
        ends = (node.slice.lower, node.slice.upper, node.slice.step)
        return owner[slice(*(None if end is None else self.visit(end, names) for end in ends))]

    def visit_unary(self, node: ast.UnaryOp, names: NameScope) -> Any:
        """Return ``-x``, ``+x`` or ``not x``."""
        return find_operator(node.op)(self.visit(node.operand, names))

    def visit_binary(self, node: ast.BinOp, names: NameScope) -> Any:
        """Return a sum, product, quotient or power of numbers; strings and lists are joined and repeated."""
        left, right = self.visit(node.left, names), self.visit(node.right, names)
        kind, apply = type(node.op), find_operator(node.op)
        if kind is ast.Mult and isinstance(right, (str, list, tuple)):
            left, right = right, left
        size = self.budget.charge(left) + self.budget.charge(right)
        if kind is ast.Mult and isinstance(left, (str, list, tuple)) and isinstance(right, int):
            self.budget.spend(size * max(0, right))
        elif not (is_number(left) and is_number(right)) and not (kind is ast.Add and type(left) is type(right)):
            raise ExpressionError(f"{kind.__name__} does not take {type(left).__name__} and {type(right).__name__}")
        if kind is ast.Pow and isinstance(left, int) and right * left.bit_length() > MAX_BITS:
            raise ExpressionError(f"a power has more than {MAX_BITS} bits")
        return check_number(apply(left, right))

    def visit_boolean(self, node: ast.BoolOp, names: NameScope) -> Any:
        """Return the value of `and` or `or`, with Python's short-circuit rules."""
        value = None
        for operand in node.values:
            value = self.visit(operand, names)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def visit_compare(self, node: ast.Compare, names: NameScope) -> bool:
        """Return whether a chain of comparisons holds."""
        left = self.visit(node.left, names)
        for kind, operand in zip(node.ops, node.comparators, strict=True):
            right = self.visit(operand, names)
            self.budget.charge(left)
            self.budget.charge(right)
            if not compare(kind, left, right):
                return False
            left = right
        return True

    def visit_choice(self, node: ast.IfExp, names: NameScope) -> Any:
        """Return ``a if condition else b``."""
        return self.visit(node.body if self.visit(node.test, names) else node.orelse, names)

    def visit_sequence(self, node: ast.List | ast.Tuple, names: NameScope) -> Any:
        """Return a list or a tuple."""
        values = [self.visit(item, names) for item in node.elts]
        self.budget.charge(values)
        return values if isinstance(node, ast.List) else tuple(values)

    def visit_dictionary(self, node: ast.Dict, names: NameScope) -> Any:
        """Return a dictionary."""
        if None in node.keys:
            raise ExpressionError("** is not allowed in a dictionary")
        keys = [self.visit(key, names) for key in node.keys if key is not None]
        values = [self.visit(value, names) for value in node.values]
        self.budget.charge([keys, values])
        return make_dictionary(zip(keys, values, strict=True))

    def visit_call(self, node: ast.Call, names: NameScope) -> Any:
        """Call a `Function`."""
        function = self.visit(node.func, names)
        args = [self.visit(arg, names) for arg in node.args]
        options = {check_name(option.arg or "_"): self.visit(option.value, names) for option in node.keywords}
        return self.call(function, *args, **options)

    def call(self, function: Any, *args: Any, **options: Any) -> Any:
        """Charge the arguments and call a function."""
        if not isinstance(function, Function):
            raise ExpressionError(f"{type(function).__name__} cannot be called")
        self.budget.charge(args)
        self.budget.charge(options)
        value = check_number(function.call(*args, **options))
        self.budget.charge(value)
        return value

    RULES: Mapping[type, Callable[[Any, Any, NameScope], Any]] = {
        ast.Constant: visit_constant,
        ast.Name: visit_name,
        ast.Attribute: visit_attribute,
        ast.Subscript: visit_subscript,
        ast.UnaryOp: visit_unary,
        ast.BinOp: visit_binary,
        ast.BoolOp: visit_boolean,
        ast.Compare: visit_compare,
        ast.IfExp: visit_choice,
        ast.List: visit_sequence,
        ast.Tuple: visit_sequence,
        ast.Dict: visit_dictionary,
        ast.Call: visit_call,
    }


ARITHMETIC = "Add:add Sub:sub Mult:mul Div:truediv FloorDiv:floordiv Mod:mod Pow:pow USub:neg UAdd:pos Not:not_"
COMPARISONS = "Eq:eq NotEq:ne Lt:lt LtE:le Gt:gt GtE:ge Is:is_ IsNot:is_not"
OPERATORS: Mapping[type, Callable[..., Any]] = {
    getattr(ast, node): getattr(operator, name)
    for node, name in (pair.split(":") for pair in f"{ARITHMETIC} {COMPARISONS}".split())
}
TEXT_METHODS = (
    *("capitalize", "count", "endswith", "find", "index", "isalpha", "isdigit", "islower", "isupper", "join", "lower"),
    *("lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit"),
    *("rstrip", "split", "startswith", "strip", "swapcase", "title", "upper"),
)
METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {name: getattr(str, name) for name in TEXT_METHODS},
    list: {name: getattr(list, name) for name in ("count", "index")},
    tuple: {name: getattr(tuple, name) for name in ("count", "index")},
    dict: {
        "get": dict.get,
        "items": lambda entries: list(entries.items()),
        "keys": list,
        "values": lambda entries: list(entries.values()),
    },
}
MATH = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "degrees", "exp"),
    *("fabs", "floor", "fmod", "hypot", "isclose", "isfinite", "isinf", "isnan", "log", "log10", "log2", "pow"),
    *("radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
BUILTINS = (abs, all, any, bool, float, int, len, list, max, min, sorted, str, tuple)


def find_operator(node: ast.AST) -> Callable[..., Any]:
    """Return the function of an operator, or raise `ExpressionError`."""
    if type(node) not in OPERATORS:
        raise ExpressionError(f"{type(node).__name__} is not allowed; write plain arithmetic")
    return OPERATORS[type(node)]


def compare(kind: ast.cmpop, left: Any, right: Any) -> bool:
    """Return whether a comparison holds."""
    if isinstance(kind, (ast.In, ast.NotIn)):
        return (left in right) is isinstance(kind, ast.In)
    return bool(find_operator(kind)(left, right))


def is_number(value: Any) -> bool:
    """Return whether a value is an integer, a float or a boolean."""
    return isinstance(value, (int, float))


def check_name(name: str) -> str:
    """Return the name; raise `ExpressionError` if it begins with an underscore."""
    if name.startswith("_"):
        raise ExpressionError(f"the name {name[:40]!r} begins with an underscore, which is not allowed; rename it")
    return name


def check_number(value: Any) -> Any:
    """Return the value; raise `ExpressionError` if it is a complex number or a huge integer."""
    if isinstance(value, complex) or (isinstance(value, int) and value.bit_length() > MAX_BITS):
        raise ExpressionError(f"a result is complex or has more than {MAX_BITS} bits")
    return value


def make_dictionary(*entries: Any, **named: Any) -> dict[Any, Any]:
    """Return a dictionary; raise `ExpressionError` for large numbers as keys: their hashes may collide."""
    pairs = [(key, value) for each in entries for key, value in (each.items() if isinstance(each, dict) else each)]
    todo = [key for key, _ in pairs]
    while todo:  # ends: tuples are finite
        key = todo.pop()
        if is_number(key) and not abs(key) <= MAX_INDEX:
            raise ExpressionError(f"a key of a dictionary is beyond {MAX_INDEX}")
        todo += key if isinstance(key, tuple) else ()
    return dict(pairs, **named)


def check_argument(value: Any) -> Any:
    """Return an argument of a method; raise `ExpressionError` if it is too long."""
    if isinstance(value, str) and len(value) > MAX_ARGUMENT_LENGTH:
        raise ExpressionError(f"an argument has {len(value)} characters; at most {MAX_ARGUMENT_LENGTH} are allowed")
    return value


def round_number(value: Any, digits: int | None = None) -> Any:
    """Round a number; to an integer if `digits` is None."""
    if abs(digits or 0) > MAX_DIGITS:
        raise ExpressionError(f"round() to {digits} digits is not allowed; use at most {MAX_DIGITS}")
    return round(value, digits)


def make_functions(evaluator: Evaluator) -> dict[str, Any]:
    """Return the predefined names: functions, constants and the namespaces ``math`` and ``python``."""

    def list_range(*ends: int) -> list[int]:
        numbers = range(*ends)
        evaluator.budget.spend(len(numbers))
        for end in (*numbers[:1], *numbers[-1:]):
            if abs(end) > MAX_INDEX:  # dictionaries are slow if keys differ by multiples of 2**61 - 1
                raise ExpressionError(f"range() reaches {end}; at most {MAX_INDEX} is allowed")
        return list(numbers)

    def add_numbers(values: Any) -> Any:
        return sum(values)

    def call_each(function: Any, *values: Any) -> list[Any]:
        return [evaluator.call(function, *args) for args in zip(*values, strict=False)]

    plain: dict[str, Callable[..., Any]] = {function.__name__: function for function in BUILTINS}
    plain |= {"dict": make_dictionary, "map": call_each, "range": list_range, "round": round_number, "sum": add_numbers}
    plain |= {"enumerate": lambda values: list(enumerate(values)), "reversed": lambda values: list(reversed(values))}
    plain |= {"zip": lambda *values: list(zip(*values, strict=False))}
    python = {name: Function(name, call) for name, call in plain.items()}
    maths: dict[str, Any] = {name: Function(name, getattr(math, name)) for name in MATH}
    maths |= {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
    return {**maths, **python, "math": maths, "python": python}
