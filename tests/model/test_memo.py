"""The memo of a model: values by slot, computed once, and dropped by copies."""

from __future__ import annotations

import pickle
from functools import partial
from math import sqrt

import poise
from poise.model.memo import MemoSlot, MemoTable

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
