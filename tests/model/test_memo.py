"""The memo of a model: values by slot, computed once, and dropped by copies."""

from __future__ import annotations

import gc
import pickle
import weakref
from functools import partial
from math import sqrt

import poise
from poise.limits.capsules import body_capsules
from poise.model.memo import MemoSlot, MemoTable, keep_with_model
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.solids import find_solids

SQUARE = MemoSlot[int]("square")
NOTHING = MemoSlot[None]("nothing")
ROOTS = MemoTable[int, float]("roots", 2)


def test_a_value_is_made_once_also_if_it_is_none() -> None:
    memo, made = poise.load("planar2").memo, list[str]()
    assert [memo.get(SQUARE, lambda: made.append("square") or 4) for _ in range(2)] == [4, 4]
    assert [memo.get(NOTHING, lambda: made.append("nothing")) for _ in range(2)] == [None, None]
    assert made == ["square", "nothing"]


def test_two_slots_of_one_name_are_two_slots() -> None:
    memo = poise.load("planar2").memo
    assert memo.get(SQUARE, lambda: 4) != memo.get(MemoSlot[int]("square"), lambda: 9)


def test_a_full_table_is_emptied() -> None:
    memo = poise.load("planar2").memo
    for number in (1, 4, 9):
        assert memo.look_up(ROOTS, number, partial(sqrt, number)) == number**0.5
    assert memo.entries(ROOTS) == {9: 3.0}


def test_a_copy_starts_with_an_empty_memo() -> None:
    model = poise.load("planar2")
    assert model.memo.get(SQUARE, lambda: 4) == 4
    assert pickle.loads(pickle.dumps(model)).memo.get(SQUARE, lambda: 16) == 16


def test_a_function_of_a_model_is_computed_once_for_each_set_of_arguments() -> None:
    made = list[tuple[int, int]]()

    @keep_with_model
    def count_coordinates(model: poise.Model, more: int, times: int = 1) -> int:
        made.append((more, times))
        return times * (model.nq + more)

    model, other = poise.load("planar2"), pickle.loads(pickle.dumps(poise.load("planar2")))
    assert [count_coordinates(model, 1), count_coordinates(model, 1), count_coordinates(model, 1, times=2)] == [3, 3, 6]
    assert made == [(1, 1), (1, 2)]
    assert count_coordinates(other, 1) == 3
    assert made == [(1, 1), (1, 2), (1, 1)]


def test_a_drawn_model_is_released() -> None:
    model = pickle.loads(pickle.dumps(poise.load("planar2")))
    assert find_solids(model) is find_solids(model)
    assert find_flesh(model)
    assert body_capsules(model)
    gone = weakref.ref(model.lower)
    del model
    gc.collect()
    assert gone() is None
