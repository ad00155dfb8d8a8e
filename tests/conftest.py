"""What every test shares: hypothesis profiles and a place for closing tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

# Native code compiles nothing at run time, but a first call warms caches: a per-example deadline only makes noise.
# The same examples everywhere, so that a change is judged by what it changed; `explore` looks for new ones.
settings.register_profile("poise", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=500)
settings.register_profile("sanitize", deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("poise")

_tables = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start the session with no closing tables."""
    config.stash[_tables] = {}


@pytest.fixture(scope="session")
def closing_table(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """`closing_table(title, text)` prints the text under its title after the last test, whatever is captured."""
    return pytestconfig.stash[_tables].__setitem__


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the closing tables."""
    for title, text in config.stash[_tables].items():
        terminalreporter.section(title)
        terminalreporter.write_line(text)
