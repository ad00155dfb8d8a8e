"""Memo: a cache of values computed from a model.

The cache never changes a result: every value follows from the model, so a copy starts with an empty cache. The module
that computes a value declares its slot as a constant, and no other module uses that slot.

    NORMAL = MemoSlot[int | None]("normal")
    normal = model.memo.get(NORMAL, lambda: find_normal(model))

A function of a model and hashable values is kept as a whole:

    @keep_with_model
    def find_normal(model: Model) -> int | None: ...

A slow function of an array and hashable values is kept for all models, by the content of the array:

    @keep_by_content
    def cover(corners: Floats, error: float) -> list[Ball]: ...
"""

import hashlib
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from poise.arrays import Floats

__all__ = ["Memo", "MemoSlot", "MemoTable", "keep_by_content", "keep_with_model"]

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
MISSING = object()


class MemoSlot(Generic[T]):
    """The key of one cached value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class MemoTable(MemoSlot[dict[K, T]]):
    """The key of a table of cached values; a table with `most` entries is cleared before the next one is added."""

    __slots__ = ("most",)

    def __init__(self, name: str, most: int = 256) -> None:
        super().__init__(name)
        self.most = most


class Memo:
    """The cached values of one model, by slot."""

    __slots__ = ("_notes", "_values")

    def __init__(self) -> None:
        self._values: dict[object, object] = {}
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions made when the values were computed, in order."""
        return tuple(self._notes)

    def note(self, text: str) -> None:
        """Add an assumption to `Model.notes`."""
        self._notes[text] = None

    def get(self, slot: MemoSlot[T], make: Callable[[], T]) -> T:
        """Return the value of a slot; compute it on the first call."""
        if slot not in self._values:
            self._values[slot] = make()
        return cast("T", self._values[slot])

    def entries(self, table: MemoTable[K, T]) -> dict[K, T]:
        """Return the values of a table by key."""
        return cast("dict[K, T]", self._values.setdefault(table, {}))

    def count_entries(self) -> dict[str, int]:
        """Return the number of values of each table, by name."""
        tables = ((slot, kept) for slot, kept in self._values.items() if isinstance(slot, MemoTable))
        return {table.name: len(cast("dict[object, object]", kept)) for table, kept in tables}

    def put(self, table: MemoTable[K, T], key: K, value: T) -> T:
        """Store a value in a table and return it."""
        kept = self.entries(table)
        if len(kept) >= table.most:
            kept.clear()
        kept[key] = value
        return value

    def look_up(self, table: MemoTable[K, T], key: K, make: Callable[[], T]) -> T:
        """Return the value of a key; compute it if the table does not have it."""
        found = self.entries(table).get(key, MISSING)
        return self.put(table, key, make()) if found is MISSING else cast("T", found)


class HasMemo(Protocol):
    """A model, or anything else with a memo."""

    @property
    def memo(self) -> Memo:
        """The cached values."""


M = TypeVar("M", bound=HasMemo)


def keep_with_model(compute: Callable[Concatenate[M, P], T]) -> Callable[Concatenate[M, P], T]:
    """Keep the results of a function with the model that is its first argument, by its other arguments."""
    table = MemoTable[Hashable, T](compute.__qualname__)

    @wraps(compute)
    def recall(model: M, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return model.memo.look_up(table, (args, *kwargs.items()), lambda: compute(model, *args, **kwargs))

    return recall


def keep_by_content(compute: Callable[Concatenate[Floats, P], T]) -> Callable[Concatenate[Floats, P], T]:
    """Keep the results of a function by the content of the array that is its first argument, and its other arguments.

    The results are shared: they must not be changed.
    """
    table, memo = MemoTable[Hashable, T](compute.__qualname__, most=1024), Memo()

    @wraps(compute)
    def recall(values: Floats, /, *args: P.args, **kwargs: P.kwargs) -> T:
        content = hashlib.blake2b(values.tobytes(), digest_size=16).digest()
        key = (content, values.shape, args, *kwargs.items())
        return memo.look_up(table, key, lambda: compute(values, *args, **kwargs))

    return recall
