"""Shared by all tests: hypothesis profiles, a place for closing tables, and restrictions of quick tests."""

import gc
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import poise
from chromium import chromium
from studio_page import SIZE, open_page, still
from tiers import LongTests

# Native code compiles nothing at run time, but a first call warms caches: a per-example deadline only makes noise.
# The same examples everywhere, so that results are comparable between changes; `explore` searches for new ones,
# `quick` takes the first few.
settings.register_profile("poise", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=500)
settings.register_profile("sanitize", deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", deadline=None, print_blob=True, derandomize=True, max_examples=20)
settings.load_profile("poise")

SLOW_KINDS = ("browser", "nvrtc")
LONG_FOLDERS = ("native", "scale", "house", "cli")  # their tests compile or start processes
STARTS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"})  # audit events of a new process
_tables = pytest.StashKey[dict[str, str]]()
_started: list[str] = []  # the processes that the running test has started


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that gives every test other random numbers."""
    parser.addoption("--other-seed", type=int, default=0, help="added to the seeds of generators that tests make")


def shift_seeds(shift: int) -> None:
    """Let `np.random.default_rng(n)` in a file of the tests stand for another generator."""
    make, tests = np.random.default_rng, str(Path(__file__).parent)

    def make_other(seed: Any = None) -> np.random.Generator:
        in_tests = sys._getframe(1).f_code.co_filename.startswith(tests)
        return make([seed, shift] if in_tests and isinstance(seed, int) else seed)

    np.random.default_rng = make_other


def rotate_folders(worker: dict[str, Any]) -> list[str]:
    """Return the folders of tests in another order for each process of `pytest -n`.

    On a fresh clone every process would otherwise compile the same files at the same time; so they share the work.
    """
    folders = sorted({str(path.parent) for path in Path(__file__).parent.glob("*/test_*.py")})
    first = int(worker["workerid"][2:]) * len(folders) // worker["workercount"]
    return folders[first:] + folders[:first]


def pytest_configure(config: pytest.Config) -> None:
    """Start the session with no closing tables, and with Ctrl-C heard.

    A shell's background jobs, and what they start, ignore Ctrl-C; tests that send it would wait for ever.
    """
    config.stash[_tables] = {}
    if hasattr(config, "workerinput") and config.args == ["tests"]:
        config.args = rotate_folders(config.workerinput)
    if shift := config.getoption("--other-seed"):
        shift_seeds(shift)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that drive a browser or compile for a GPU as slow, mark long tests, and sort the tests.

    Long files come first: with several cores a long one at the end would keep the others waiting. Tests in a browser
    come last: what drives it keeps this thread's event loop until the session ends.
    """
    long_tests = LongTests()
    for item in items:
        if long_tests.includes(item.nodeid):
            item.add_marker(pytest.mark.long)
        if any(item.get_closest_marker(kind) for kind in SLOW_KINDS):
            item.add_marker(pytest.mark.slow)

    def find_turn(item: pytest.Item) -> tuple[bool, bool, Path]:
        return bool(item.get_closest_marker("browser")), item.path.parent.name not in LONG_FOLDERS, item.path

    items.sort(key=find_turn)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector from looking through thousands of tests again and again: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def panda() -> poise.Model:
    """A robot arm of seven joints; models are immutable."""
    return poise.load("panda")


@pytest.fixture(scope="session")
def humanoid() -> poise.Model:
    """The built-in character."""
    return poise.load("humanoid")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests: for its first window it compiles shaders for ten seconds, for others hardly."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def shared_studio() -> Iterator[Any]:
    """One studio for all tests in a browser."""
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    from poise.studio.web.studio import Studio

    with Studio("humanoid", port=18090, shadows=False) as running:
        yield running


@pytest.fixture(scope="session")
def shared_page(browser: Any, shared_studio: Any) -> Any:
    """One window for all tests in a browser; opening one takes seconds."""
    return open_page(browser, shared_studio)


@pytest.fixture(scope="module")
def studio(shared_studio: Any) -> Any:
    """The shared studio with a new humanoid; files of tests without a browser have studios of their own."""
    shared_studio.show("humanoid")
    shared_studio.puppet.reset()
    return shared_studio


@pytest.fixture(scope="module")
def page(shared_page: Any, studio: Any) -> Any:
    """The shared window, which shows that studio and its first tab."""
    shared_page.mouse.up()
    shared_page.set_viewport_size(SIZE)
    shared_page.get_by_role("tab", name="Pose").click()
    still(studio, shared_page)
    return shared_page


# ------------------------------------------------------------------------------------------------ quick tests


def _note_process(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember that a process was started; a hook of the interpreter, which cannot be taken off again.

    Matplotlib lists the fonts of a machine once, in whichever test comes first.
    """
    if event in STARTS and not (arguments and arguments[0] == "fc-list"):
        _started.append(f"{event} {arguments[0] if arguments else ''}")


sys.addaudithook(_note_process)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget the processes of the tests before, and not those of a fixture that this one is the first to ask for."""
    _started.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that starts a process and is not marked as slow: `make quick` stays quick."""
    result = yield
    if _started and not item.get_closest_marker("slow"):
        pytest.fail(f"it starts a process ({_started[0]}): mark it with pytest.mark.slow", pytrace=False)
    return result


# ------------------------------------------------------------------------------------------------ closing tables


@pytest.fixture(scope="session")
def closing_table(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """`closing_table(title, text)` prints the text under its title after the last test, whatever is captured."""
    return pytestconfig.stash[_tables].__setitem__


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the tables home, where this is one of the processes that `pytest -n` starts."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["closing_tables"] = session.config.stash[_tables]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the tables of a process that has ended; one that crashed sends none."""
    tables = getattr(node, "workeroutput", {}).get("closing_tables", {})
    node.config.stash[_tables].update(tables)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the closing tables."""
    for title, text in config.stash[_tables].items():
        terminalreporter.section(title)
        terminalreporter.write_line(text)
