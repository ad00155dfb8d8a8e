"""Tables in archives: hostile NPZ and Parquet files, and plain ones."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from lying_zips import HELD, make_lying_zip, measure_peak
from poise.errors import FormatError, MissingExtra
from poise.files.arrays import read_arrays
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.formats.tables import motions
from poise.kinematics.column_names import name_columns


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
BOMB = member("q.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (12500000,)}", bytes(10**8)), 8)
BAD_NPZ = {
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
    "a bomb": BOMB,
}


@pytest.mark.parametrize("data", BAD_NPZ.values(), ids=BAD_NPZ)
def test_bad_archives_are_refused(data: bytes) -> None:
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


def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

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
    with pytest.raises(MissingExtra, match=r"poise\[formats\]"):
        poise.save(poise.Pose(poise.load("planar2")), tmp_path / "p.parquet")
    assert list(tmp_path.iterdir()) == []
