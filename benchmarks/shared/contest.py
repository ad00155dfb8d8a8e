"""Contests of solvers on the same targets: they take turns, a block of targets each, and every answer is checked."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from shared.command import Table, read_version

__all__ = ["Answer", "Contestant", "Peer", "Solve", "choose_peers", "find_contestants", "hold_contest", "quiet_output"]


class Answer(NamedTuple):
    """The answer of a solver."""

    q: Any
    reached: bool
    steps: int = 0
    searches: int = 1


Solve = Callable[[Any, Any], Answer]  # from a start and a target


@dataclass(frozen=True)
class Peer:
    """A library.

    Attributes:
        name: Its name in the tables.
        package: Its name for `pip install`.
        build: From a problem to its solve, or None if it does not support the problem.
        share: Part of the targets that it is given; slow ones get fewer.
        tracks: Whether it can be started at the previous answer.
    """

    name: str
    package: str
    build: Callable[[Any], Any]
    share: float = 1.0
    tracks: bool = True


@dataclass
class Contestant:
    """A library and its results.

    Attributes:
        name: Its name in the table.
        solve: Its solve, which is timed.
        serves: Whether an answer reaches a target, which is not.
        count: The number of targets that it is given.
    """

    name: str
    solve: Solve
    serves: Callable[[Any, Any], bool]
    count: int
    seconds: list[list[float]] = field(default_factory=list)  # the times of each target
    cpu: float = 0.0
    answers: list[Answer] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)

    def run(self, start: Any, targets: Sequence[Any], first: int, last: int) -> None:
        """Solve a block of targets, timed call by call, then check the answers of the first round."""
        clock, solve = time.perf_counter, self.solve
        answers, times = [], []
        cpu = time.process_time()
        for T in targets[first:last]:
            begun = clock()
            answer = solve(start, T)
            times.append(clock() - begun)
            answers.append(answer)
        self.cpu += time.process_time() - cpu
        if first == len(self.seconds):
            self.seconds += [[] for _ in times]
            self.answers += answers
            self.good += [self.serves(answer.q, T) for answer, T in zip(answers, targets[first:last], strict=True)]
        for own, taken in zip(self.seconds[first:last], times, strict=True):
            own.append(taken)

    @property
    def cpu_us(self) -> float:
        """The mean CPU time of a call [us]."""
        return 1e6 * self.cpu / sum(map(len, self.seconds))

    @property
    def quiet_us(self) -> float:
        """The mean over the targets of the least time among the rounds [us]."""
        return 1e6 * float(np.mean([min(times) for times in self.seconds]))

    def list_cells(self) -> list[Any]:
        """Return its row of the table without the last cell."""
        us = 1e6 * np.array(self.seconds).ravel()
        false = sum(a.reached and not good for a, good in zip(self.answers, self.good, strict=True))
        steps, searches = (np.mean([getattr(a, what) for a in self.answers]) for what in ("steps", "searches"))
        times = [us.mean(), np.median(us), np.percentile(us, 99), self.quiet_us, self.cpu_us]
        effort = [steps, searches, self.quiet_us / steps] if steps else [None, searches, None]
        return [self.name, self.count, *times, 100 * np.mean(self.good), false, *effort]


COLUMNS = (":17", "targets:8", "mean us:10.1f", "p50:9.1f", "p99:10.1f", "quiet us:10.1f", "CPU us:10.1f")
COLUMNS += ("solved %:9.2f", "false:7", "steps:8.2f", "searches:10.2f", "us/step:9.1f", "to Poise:10.1f")


def hold_contest(
    contestants: Sequence[Contestant], start: Any, targets: Sequence[Any], *, rounds: int = 1, blocks: int = 20
) -> None:
    """Let all solve the targets block by block, and print the table.

    The ratio is that of CPU times, or of quiet times where there are several rounds.
    """
    for one in contestants:  # one call to warm up
        one.solve(start, targets[0])
    for _ in range(rounds):
        for block in range(blocks):
            for one in contestants:
                one.run(start, targets, *(one.count * k // blocks for k in (block, block + 1)))
    costs = [one.cpu_us if rounds == 1 else one.quiet_us for one in contestants]
    table = Table(*COLUMNS)
    for one, cost in zip(contestants, costs, strict=True):
        table.add(*one.list_cells(), cost / costs[0])


def find_contestants(peers: Sequence[Peer], problem: Any) -> Iterator[tuple[Peer, Any]]:
    """Yield every peer that supports a problem, with what it builds; the command's head lists those not installed."""
    for peer in peers:
        try:
            with quiet_output():
                built = peer.build(problem)
        except ImportError as missing:
            if read_version(peer.package) is not None:
                print(f"{peer.name} cannot be imported: {missing}")
            continue
        if built is None:
            print(f"{peer.name} does not support this problem")
            continue
        yield peer, built


def choose_peers(peers: Sequence[Peer], names: Sequence[str]) -> list[Peer]:
    """Return the peers of those names; all if there is no name, none for "none"."""
    return [peer for peer in peers if not names or peer.name in names]


@contextmanager
def quiet_output() -> Iterator[None]:
    """Hide the output of compiled code while it loads."""
    held, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(held, 1)
        os.close(held)
        os.close(null)
