"""Answer: the named tuple that a native solve returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.native import _core

__all__ = ["Answer", "make_answer", "read_errors"]

if TYPE_CHECKING:

    class Answer(NamedTuple):
        """The result of a native solve.

        Attributes:
            q: The best configuration.
            errors: The bytes of the error of each goal [m, rad]; closed loops come first. See `read_errors`.
            outcome: The result of the search, an `Outcome`.
            steps: Number of steps, over all searches.
            searches: Number of searches.
            winner: The search that found the answer, from 1.
            seconds: The time of the solve [s].
            late: Whether time ran out.
            unreachable: Whether a bound proves that no pose reaches the goals.
            colliding: The number of tested poses of the goal if every one is in collision, otherwise 0.
            targets: The given targets by goal name, with copies of their arrays; None without targets by name.
        """

        q: Any
        errors: bytes
        outcome: int
        steps: int
        searches: int
        winner: int
        seconds: float
        late: bool
        unreachable: bool
        colliding: int
        targets: dict[str, Any] | None
else:
    Answer = _core.Answer  # made in bind/answer_type.h, which takes a quarter of the time of a NamedTuple


def make_answer(
    q: Any,
    errors: Any,
    outcome: int,
    steps: int,
    seconds: float,
    *,
    searches: int = 1,
    winner: int | None = None,
    late: bool = False,
    unreachable: bool = False,
) -> Answer:
    """Return the answer of a driver with its own searches; `winner` defaults to the last search."""
    make: Any = Answer  # takes one tuple, unlike a NamedTuple
    errors = errors if isinstance(errors, bytes) else np.asarray(errors, dtype=np.float64).tobytes()
    won = searches if winner is None else winner
    answer: Answer = make((q, errors, outcome, steps, searches, won, seconds, late, unreachable, 0, None))
    return answer


def read_errors(answer: Answer) -> NDArray[np.float64]:
    """Return the error of each goal of an answer [m, rad], (goals, 2)."""
    return np.frombuffer(answer.errors).reshape(-1, 2)
