"""The tiers of tests: quick ones for the inner loop, slow ones, and long ones, which `make test` leaves out."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from paths import ROOT

__all__ = ["LongTests", "mostly_slow", "read_long_tests"]

LIST = ROOT / "tests" / "long_tests.txt"


def mostly_slow(cases: Iterable[Any], quick: int) -> list[Any]:
    """Return the cases for `parametrize`, all but the first `quick` marked as slow."""
    return [case if k < quick else pytest.param(case, marks=pytest.mark.slow) for k, case in enumerate(cases)]


def read_long_tests() -> dict[str, int]:
    """Return the listed tests and files, with the number of their cases that are not long."""
    lines = [line.split(" ", 1) for line in LIST.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {name: int(count) for count, name in lines}


class LongTests:
    """The long tests of a collection: of each listed test, all cases but the first few."""

    def __init__(self) -> None:
        self.kept = read_long_tests()
        self.seen: Counter[str] = Counter()

    def includes(self, nodeid: str) -> bool:
        """Return whether the next collected case is long; call it once for each, in their order."""
        name = nodeid.partition("[")[0]
        self.seen[name] += 1
        file = name.partition("::")[0]
        return file in self.kept or self.seen[name] > self.kept.get(name, self.seen[name])
