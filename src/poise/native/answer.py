"""Answer: the named tuple that a native solve returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from poise.native import _core

__all__ = ["Answer", "make_answer"]

if TYPE_CHECKING:

    class Answer(NamedTuple):
        """What a solve returns.

        Attributes:
            q: The best configuration.
            errors: Metres and radians of each goal, (goals, 2); closed loops come first.
            outcome: How the search ended, an `Outcome`.
            steps: Steps taken, over all searches.
            searches: Searches made.
            winner: The search that the answer came from, from 1.
            seconds: How long it took.
            late: Whether time ran out.
            unreachable: Whether a bound proves that no pose reaches the goals.
        """

        q: Any
        errors: Any
        outcome: int
        steps: int
        searches: int
        winner: int
        seconds: float
        late: bool
        unreachable: bool
else:
    Answer = _core.Answer  # made in bind/solver.cpp, which costs a quarter of calling a NamedTuple


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
    """Return the answer of a driver that searches by itself; its last search is the one that counts, or `winner`."""
    make: Any = Answer  # of a tuple, where a NamedTuple takes its places one by one
    won = searches if winner is None else winner
    answer: Answer = make((q, errors, outcome, steps, searches, won, seconds, late, unreachable))
    return answer
