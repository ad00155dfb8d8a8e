"""The two tiers of tests: quick ones for the inner loop, and slow ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["mostly_slow"]


def mostly_slow(cases: Iterable[Any], quick: int) -> list[Any]:
    """Return the cases for `parametrize`, all but the first `quick` marked as slow."""
    return [case if k < quick else pytest.param(case, marks=pytest.mark.slow) for k, case in enumerate(cases)]
