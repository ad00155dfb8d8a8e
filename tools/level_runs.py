"""Run pytest at several instruction levels in one process: `level_runs.py baseline,avx2 ARGUMENTS`.

Under qemu, imports take several times as long as a few tests; here they run only once.
"""

import os
import sys

import pytest

from poise import native


def main() -> int:
    """Run the tests at each level; return the largest exit code."""
    codes = []
    for level in sys.argv[1].split(","):
        native.choose_level(level)
        if native.level() != level:
            raise SystemExit(f"This machine runs {', '.join(native.levels())}, not {level}.")
        os.environ["POISE_LEVEL"] = level  # for the tests, and for the processes that they start
        print(f"{level}:", flush=True)
        codes.append(int(pytest.main(sys.argv[2:])))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
