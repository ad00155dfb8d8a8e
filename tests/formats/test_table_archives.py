"""Tables in archives: hostile NPZ and Parquet files are read or rejected within a bound of memory."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from lying_zips import HELD, make_lying_zip, measure_peak
from poise.errors import FormatError, FormatWarning, MissingExtra
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.tables import motions
from poise.kinematics.column_names import name_columns

try:
    import pyarrow
    from pyarrow import parquet
except ImportError:
    pyarrow = None


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def member(name: str, data: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b" " * (64 - (len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


Q, NAMES = np.zeros((2, 1)), np.array(["j"])


def make_bomb() -> bytes:
    return member("q.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (12500000,)}", bytes(10**8)), 8)


BAD_NPZ: dict[str, bytes | Callable[[], bytes]] = {
    "nothing": b"PK",
    "no archive": b"PK\x03\x04" + b"\0" * 100,
    "cut": npz(q=Q, columns=NAMES)[:-30],
    "no q": npz(columns=NAMES),
    "no columns, another width": npz(q=np.zeros((2, 99))),
    "columns of numbers": npz(q=Q, columns=np.zeros(1)),
    "other shapes": npz(q=np.zeros((2, 3)), columns=NAMES),
    "scalar q": npz(q=np.array(1.0), columns=NAMES),
    "a pickle": npz(q=Q, columns=np.array(["j"], dtype=object)),
    "a structure": npz(q=np.zeros(2, [("a", "f8")]), columns=NAMES),
    "complex": npz(q=Q + 1j, columns=NAMES),
    "nan": npz(q=Q * np.nan, columns=NAMES),
    "no rows": npz(q=Q[:0], columns=NAMES),
    "lengths": npz(q=Q, columns=NAMES, time=np.arange(3.0)),
    "facts of text": npz(q=Q, columns=NAMES, poise=np.array("{")),
    "facts of a list": npz(q=Q, columns=NAMES, poise=np.array("[]")),
    "facts of numbers": npz(q=Q, columns=NAMES, poise=np.zeros(3)),
    "nested facts": npz(q=Q, columns=NAMES, poise=np.array("[" * 100_000)),
    "a model of text": npz(q=Q, columns=NAMES, poise=np.array(json.dumps({"model": "{}"}))),
    "a model of a list": npz(q=Q, columns=NAMES, poise=np.array(json.dumps({"model": "[1]"}))),
    "a model with parts of numbers": npz(
        q=Q,
        columns=NAMES,
        poise=np.array(json.dumps({"model": '{"name":"m","source":"","notes":[],"up":"y","units":"m","parts":[1]}'})),
    ),
    "fps of nan": npz(q=Q, columns=NAMES, poise=np.array('{"fps": NaN}')),
    "fps of text": npz(q=Q, columns=NAMES, poise=np.array('{"fps": "30"}')),
    "fps beyond": npz(q=Q, columns=NAMES, poise=np.array('{"fps": 1' + "0" * 400 + "}")),
    "absurd shape": member("q.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,)}")),
    "negative shape": member("q.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}")),
    "overflowing shape": member("q.npy", npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, 4)}}")),
    "code for a header": member("q.npy", npy("__import__('os').system('true')")),
    "nested header": member("q.npy", npy("(" * 5000)),
    "wide text": member("q.npy", npy("{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,)}")),
    "no array": member("q.txt", b"1 2 3"),
    "a path": member("../../etc/q", b"1 2 3"),
    "a bomb": make_bomb,  # half a second, which every process of the tests would spend
}


@pytest.mark.parametrize("made", BAD_NPZ.values(), ids=BAD_NPZ)
def test_bad_archives_are_rejected(made: bytes | Callable[[], bytes]) -> None:
    data = made() if callable(made) else made
    model = poise.ModelBuilder("m").add_joint("j", None, "revolute").build()
    source = Source("m.npz", data)
    given = None if '"model"'.encode("utf-32-le") in data else model
    with pytest.raises(FormatError) as caught:
        motions.read_motion(source, ReadOptions(model=given))
    assert caught.value.path == "m.npz"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_lies_about_its_size_is_never_inflated(method: int) -> None:
    start = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000,)}", bytes(80000))
    source = Source("m.npz", make_lying_zip("q.npy", start, len(start), method))

    def read() -> None:
        with pytest.raises(FormatError, match="damaged"):
            read_arrays(source)

    assert measure_peak(read) < HELD / 8


def test_a_plain_archive_will_do(tmp_path: Path) -> None:
    model = poise.ModelBuilder("m").add_joint("j", None, "revolute").build()
    path = tmp_path / "m.npz"
    np.savez_compressed(path, q=np.asfortranarray([[1.0], [2.0]]), columns=["j"], fps=12.0)
    motion = poise.load_motion(path, model=model)
    assert (motion.q.tolist(), motion.fps) == ([[1.0], [2.0]], 12.0)


@pytest.mark.skipif(pyarrow is None, reason="pyarrow is not installed")
def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    model = poise.load("planar2")
    good = poise.save(poise.Motion(model, np.zeros((3, 2))), tmp_path / "m.parquet").read_bytes()
    for data in (good[:-10], good[:40], b"PAR1", good[:-4] + b"XXXX", b"PAR1" + bytes(100) + b"PAR1"):
        with pytest.raises(FormatError):
            motions.read_motion(Source("m.parquet", data), ReadOptions(model=model))
    names = name_columns(model)
    for column in ([1.0, None, 2.0], [[1.0], [2.0], [3.0]], ["a", "b", "c"], [1.0, float("nan"), 2.0]):
        parquet.write_table(pyarrow.table({names[0]: column, names[1]: [0.0, 1.0, 2.0]}), tmp_path / "bad.parquet")
        with pytest.raises(FormatError):
            poise.load_motion(tmp_path / "bad.parquet", model=model)


def test_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"poise-ik\[formats\]"):
        poise.save(poise.Pose(poise.load("planar2")), tmp_path / "p.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_array_without_names_is_read_for_a_given_model(tmp_path: Path) -> None:
    model = poise.load("panda")
    q = model.random(np.random.default_rng(0), size=3)
    path = tmp_path / "q.npz"
    np.savez(path, q=q, fps=60.0)
    with pytest.warns(FormatWarning, match="does not name its 7 columns"):
        motion = poise.load_motion(path, model=model)
    np.testing.assert_array_equal(motion.q, q)
    assert motion.fps == 60.0
    with pytest.raises(FormatError, match="which body"):
        poise.load_motion(path)
    np.savez(path, q=np.zeros((3, 8)))
    with pytest.raises(FormatError, match="no column 'panda_joint1'"):
        poise.load_motion(path, model=model)


ROWS = 3_000_000


MOST_MB = 450  # of the whole process, about 150 of them for the libraries


READ_TABLE = """
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


def write_table(columns: dict[str, Any], false_sizes: bool = False, **options: Any) -> Callable[[Path], None]:
    """A writer of a table."""

    def write_file(path: Path) -> None:
        parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 30, **options)
        if false_sizes:
            shrink_footer(path)

    return write_file


def write_texts() -> Any:
    """Texts that share all but their ends."""
    return pyarrow.array(["x" * 100_000] * 8_000)


HOSTILE_PARQUET: dict[str, Callable[[], Callable[[Path], None]]] = {
    "one text in many rows": lambda: write_table({"x": repeat("word" * 500, ROWS)}),
    "one long text among short ones": lambda: write_table({"x": pyarrow.array(["a" * 1_000_000] + ["b"] * 10_000)}),
    "many short texts and a long one": lambda: write_table({"x": [str(k) for k in range(300_000)] + ["a" * 9_000]}),
    "one number in many rows": lambda: write_table(
        {"x": repeat(1.0, 45_000_000, pyarrow.float64()).dictionary_decode()}
    ),
    "flags in many rows": lambda: write_table({"x": pyarrow.array(np.zeros(45_000_000, np.bool_))}),
    "a compressed page": lambda: write_table(
        {"x": np.zeros(45_000_000)}, compression="zstd", use_dictionary=False, data_page_size=1 << 30
    ),
    "compressed pages and a false footer": lambda: write_table(
        {"x": np.zeros(45_000_000)}, True, compression="gzip", use_dictionary=False, data_page_size=1 << 30
    ),
    "a huge text and a false footer": lambda: write_table({"x": ["a" * 200_000_000]}, True, compression="zstd"),
    "texts that repeat": lambda: write_table(
        {"x": write_texts()}, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}, data_page_size=1 << 30
    ),
    "nested lists": lambda: write_table({"x": pyarrow.array([[[1.0] * 100_000] * 100])}),
    "bytes": lambda: write_table({"x": repeat(b"word" * 500, ROWS)}),
    "many columns": lambda: write_table({f"x{k}": [1.0] for k in range(20_000)}),
    "large metadata": lambda: (
        lambda path: parquet.write_table(
            pyarrow.table({"x": [1.0]}).replace_schema_metadata({"poise": "[" * 10_000_000}), path
        )
    ),
    "many row groups": lambda: (
        lambda path: parquet.write_table(pyarrow.table({"x": np.zeros(20_000)}), path, row_group_size=1)
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or pyarrow is None, reason="reads /proc with pyarrow")
@pytest.mark.parametrize("name", HOSTILE_PARQUET)
def test_a_hostile_table_takes_bounded_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.parquet"
    HOSTILE_PARQUET[name]()(path)
    found = subprocess.run(
        [sys.executable, "-c", READ_TABLE, path], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
    _, peak, seconds = found.stdout.split()
    assert int(peak) < MOST_MB, found.stdout
    assert float(seconds) < 30.0
