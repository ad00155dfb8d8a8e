"""Hostile Parquet files: each is read or rejected within a bound of memory, whatever its footer declares."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

ROWS = 3_000_000
MOST_MB = 450  # of the whole process, about 150 of them for the libraries

LOAD = """
import sys, time, warnings
import pyarrow, pyarrow.parquet, poise
from poise.errors import FormatError
from poise.formats.tables import read_table
warnings.simplefilter("ignore")
begun = time.process_time()
try:
    read_table(sys.argv[1])
    print("read", end=" ")
except FormatError as error:
    print("rejected", end=" ")
about = dict(line.split(":", 1) for line in open("/proc/self/status"))  # ru_maxrss includes the parent's
print(int(about["VmHWM"].split()[0]) // 1024, time.process_time() - begun)
"""


def repeat(value: Any, rows: int, kind: Any = None) -> Any:
    """A column of one value, stored once."""
    one = pyarrow.array([value], kind)
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), one)


def shrink_footer(path: Path) -> None:
    """Let the footer declare that the table is small: all sizes above a million become zero."""
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[-8:-4], "little")
    first = len(data) - 8 - length
    about = parquet.ParquetFile(path).metadata
    for number in {about.row_group(0).total_byte_size, about.row_group(0).column(0).total_uncompressed_size}:
        text, n = b"", 2 * number
        while n >= 128:
            text, n = text + bytes([n & 127 | 128]), n >> 7
        text += bytes([n])
        at = data.find(text, first)
        while at >= 0:
            data[at : at + len(text)] = bytes([128] * (len(text) - 1) + [0])
            at = data.find(text, at + 1)
    path.write_bytes(data)
    assert parquet.ParquetFile(path).metadata.row_group(0).total_byte_size == 0


def write(columns: dict[str, Any], false_sizes: bool = False, **options: Any) -> Callable[[Path], None]:
    """A writer of a table."""

    def write_file(path: Path) -> None:
        parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 30, **options)
        if false_sizes:
            shrink_footer(path)

    return write_file


def write_texts() -> Any:
    """Texts that share all but their ends."""
    return pyarrow.array(["x" * 100_000] * 20_000)


HOSTILE: dict[str, Callable[[], Callable[[Path], None]]] = {
    "one text in many rows": lambda: write({"x": repeat("word" * 500, ROWS)}),
    "one long text among short ones": lambda: write({"x": pyarrow.array(["a" * 1_000_000] + ["b"] * 10_000)}),
    "many short texts and a long one": lambda: write({"x": [str(k) for k in range(300_000)] + ["a" * 9_000]}),
    "one number in many rows": lambda: write({"x": repeat(1.0, 60_000_000, pyarrow.float64()).dictionary_decode()}),
    "flags in many rows": lambda: write({"x": pyarrow.array(np.zeros(60_000_000, np.bool_))}),
    "a compressed page": lambda: write(
        {"x": np.zeros(60_000_000)}, compression="zstd", use_dictionary=False, data_page_size=1 << 30
    ),
    "compressed pages and a false footer": lambda: write(
        {"x": np.zeros(60_000_000)}, True, compression="gzip", use_dictionary=False, data_page_size=1 << 30
    ),
    "a huge text and a false footer": lambda: write({"x": ["a" * 200_000_000]}, True, compression="zstd"),
    "texts that repeat": lambda: write(
        {"x": write_texts()}, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}, data_page_size=1 << 30
    ),
    "nested lists": lambda: write({"x": pyarrow.array([[[1.0] * 100_000] * 100])}),
    "bytes": lambda: write({"x": repeat(b"word" * 500, ROWS)}),
    "many columns": lambda: write({f"x{k}": [1.0] for k in range(20_000)}),
    "large metadata": lambda: (
        lambda path: parquet.write_table(
            pyarrow.table({"x": [1.0]}).replace_schema_metadata({"poise": "[" * 10_000_000}), path
        )
    ),
    "many row groups": lambda: (
        lambda path: parquet.write_table(pyarrow.table({"x": np.zeros(20_000)}), path, row_group_size=1)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_takes_bounded_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.parquet"
    HOSTILE[name]()(path)
    found = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    _, peak, seconds = found.stdout.split()
    assert int(peak) < MOST_MB, found.stdout
    assert float(seconds) < 30.0
