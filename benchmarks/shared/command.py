"""What every command of the benchmarks does: read options, print the machine and the versions, time, print tables."""

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import poise
from poise import native

ROOT = Path(__file__).resolve().parents[2]
TURNS, SLICE = 100, 0.004  # turns each, and seconds of one turn

sys.path.insert(0, str(ROOT / "tests" / "support"))  # bodies and clips of the tests
sys.path.insert(0, str(ROOT / "tools"))

Call = Callable[[], Any]
Options = Mapping[str, tuple[Any, str] | tuple[Any, str, Iterable[str]]]


class Part(NamedTuple):
    """A part of a command.

    Attributes:
        work: From the options to nothing, or to whether all was as promised.
        needs: The option without which the part is left out.
    """

    work: Callable[[argparse.Namespace], bool | None]
    needs: str | None = None


def run_command(about: str, parts: Mapping[str, Part], options: Options, peers: Sequence[str] = ()) -> None:
    """Run the parts of a command that were asked for, all of them unless some are named; exit with 1 if one failed.

    Args:
        about: The docstring of the script.
        parts: The parts by name.
        options: The default of each option, or its type if it has none; its help; and the words that it allows.
        peers: The packages whose versions are printed.
    """
    reader = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)}; all unless given")
    for name, (default, text, *choices) in options.items():
        allowed = {"choices": list(choices[0])} if choices else {}
        reader.add_argument(f"--{name}", help=text, **describe_option(default), **allowed)
    given = reader.parse_args()
    if wrong := sorted(set(given.parts) - set(parts)):
        reader.error(f"there is no part {wrong[0]}; the parts are {', '.join(parts)}")
    print(describe_run(peers), flush=True)
    good = True
    for name in given.parts or parts:
        needed = parts[name].needs
        print(f"\n{name}", flush=True)
        if needed is not None and getattr(given, needed) is None:
            print(f"left out: give --{needed}")
            continue
        good = parts[name].work(given) is not False and good
    if not good:
        raise SystemExit(1)


def describe_option(default: Any) -> dict[str, Any]:
    """Return the arguments of argparse for an option with this default, or of this type."""
    if isinstance(default, bool):
        return {"action": "store_true"}
    if isinstance(default, type):
        return {"type": default}
    if isinstance(default, (list, tuple)):
        return {"type": type(default[0]), "nargs": "*", "default": list(default)}
    return {"type": type(default), "default": default}


def describe_run(peers: Sequence[str] = ()) -> str:
    """Return the machine, its processor, the commit, and the versions of Poise and its peers."""
    found = [f"{name} {number}" for name in dict.fromkeys(peers) if (number := read_version(name))]
    absent = [name for name in dict.fromkeys(peers) if not read_version(name)]
    ours = f"poise {poise.__version__} at level {native.level()}, commit {read_commit()}"
    lines = [
        f"{platform.system()} {platform.machine()}, {read_processor()}, {time.strftime('%Y-%m-%d')}",
        f"{ours}, Python {platform.python_version()}, numpy {np.__version__}",
    ]
    lines += [f"peers: {', '.join(found)}"] * bool(found)
    lines += [f"not installed: pip install {' '.join(absent)}"] * bool(absent)
    return "\n".join(lines)


def read_version(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def read_processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return models[0] if models else platform.processor() or platform.machine()


def read_commit() -> str:
    """Return the commit, with a plus if files are changed; "unknown" outside of a checkout."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# ------------------------------------------------------------------------------------------------ tables


class Table:
    """A table that is printed row by row; the head is printed first.

    A column is written as "name:9.2f": its name, its width and the format of its numbers. The first is on the left.
    """

    def __init__(self, *columns: str) -> None:
        parts = [column.rpartition(":") for column in columns]
        self.kinds = [kind.lstrip("0123456789") for _, _, kind in parts]
        sizes = [int(kind[: len(kind) - len(rest)]) for (_, _, kind), rest in zip(parts, self.kinds, strict=True)]
        self.widths = [max(size, len(name) + 2) for size, (name, _, _) in zip(sizes, parts, strict=True)]
        self.write([name for name, _, _ in parts])

    def add(self, *cells: Any) -> None:
        """Print a row; None is printed as a dash, and missing cells at the end as nothing."""
        self.write(
            [
                "-" if cell is None else cell if isinstance(cell, str) else format(cell, kind)
                for cell, kind in zip(cells, self.kinds, strict=False)
            ]
        )

    def write(self, words: Sequence[str]) -> None:
        """Print words in the columns."""
        first, *others = zip(words, self.widths, strict=False)
        line = f"{first[0]:<{first[1]}}" + "".join(f"{word:>{width}}" for word, width in others)
        print(line.rstrip(), flush=True)


# ------------------------------------------------------------------------------------------------ time


def best_of(*calls: Call, turns: int = TURNS) -> list[float]:
    """Return the microseconds per call of each, the best of alternating turns."""
    counts = [max(1, int(SLICE / max(time_calls(call, 3), 1e-7))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(turns):
        for i, (call, count) in enumerate(zip(calls, counts, strict=True)):
            best[i] = min(best[i], time_calls(call, count))
    return [1e6 * b for b in best]


def time_calls(call: Call, count: int) -> float:
    """Return the seconds per call over `count` calls."""
    turns = range(count)
    start = time.perf_counter()
    for _ in turns:
        call()
    return (time.perf_counter() - start) / count


def time_best(call: Call, repeats: int = 3) -> tuple[float, float, Any]:
    """Return the least wall-clock time and the least process time of a few calls [s], and the last result."""
    wall = cpu = float("inf")
    for _ in range(repeats):
        clock, used = time.perf_counter(), time.process_time()
        result = call()
        wall, cpu = min(wall, time.perf_counter() - clock), min(cpu, time.process_time() - used)
    return wall, cpu, result


def summarise(seconds: Any, scale: float = 1e3) -> tuple[float, float, float]:
    """Return the median, the 99th percentile and the largest of times, in milliseconds unless scaled otherwise."""
    times = scale * np.asarray(seconds)
    return float(np.median(times)), float(np.percentile(times, 99)), float(times.max())
