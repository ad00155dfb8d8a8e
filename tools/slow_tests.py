"""Write tests/slow.txt: the tests that take longer than a tenth of a second, which `make quick` leaves out.

    make quick ARGS="--durations=0 -vv" > durations.txt
    python tools/slow_tests.py durations.txt

Lines of the file stay until somebody takes them out: a test that has become quick may go.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONG = 0.1  # s, of setup and call together
LIST = Path(__file__).parents[1] / "tests" / "slow.txt"
LINE = re.compile(r"^\s*([0-9.]+)s (?:call|setup)\s+(\S.*?)\s*$")


def main() -> None:
    """Read durations as pytest prints them, and add what is long to the list."""
    seconds: dict[str, float] = {}
    for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
        found = LINE.match(line)
        if found:
            seconds[found[2]] = seconds.get(found[2], 0.0) + float(found[1])
    known = set(LIST.read_text("utf-8").splitlines()) if LIST.exists() else set()
    names = {name for name, time in seconds.items() if time > LONG and name.isascii()}
    LIST.write_text("\n".join(sorted(known | names)) + "\n", encoding="utf-8")
    long = sum(time for name, time in seconds.items() if name in names)
    print(f"{len(names)} tests of {long:.0f} s, of {sum(seconds.values()):.0f} s")


if __name__ == "__main__":
    main()
