"""`make gallery` on files that the project makes: each is drawn, framed, dragged and saved; failures are reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bvh_cases
import looks_files as made
from paths import TOOLS

pytestmark = pytest.mark.slow


def test_every_file_of_a_folder_is_opened_and_listed(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    pytest.importorskip("matplotlib")
    files, out = tmp_path / "files", tmp_path / "out"
    made.robot(files)
    file, *_ = made.strip(5, texture=made.png([[(200, 30, 30), (30, 30, 200)]]))
    file.glb(files / "strip.glb")
    (files / "six.bvh").write_text(bvh_cases.six_channels("0 0 0"))
    (files / "broken.urdf").write_text("<robot")
    command = [sys.executable, str(TOOLS / "gallery.py"), str(files), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    rows = {Path(row["file"]).name: row for row in json.loads((out / "table.json").read_text())}
    assert set(rows) == {"arm.urdf", "hand.glb", "strip.glb", "six.bvh", "broken.urdf"}
    assert rows.pop("hand.glb")["drawn"]  # a mesh of the arm: a body without bones
    assert "FormatError" in rows.pop("broken.urdf")["problem"]
    for name, row in rows.items():
        assert row["drawn"], (name, row)
        assert row["framed"], (name, row)
        assert row["saved"], (name, row)
        assert row["draggable"], (name, row)
    assert rows["strip.glb"]["look"].startswith("skin")
    assert rows["arm.urdf"]["look"].startswith("meshes")
    assert (out / "sheet_0.png").stat().st_size > 5000
    assert "drawn" in (out / "table.md").read_text()
