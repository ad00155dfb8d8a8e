"""The sdist holds every file of the project that is not left out by name, and nothing that a build made."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import PurePosixPath

import pytest

from paths import ROOT

pytestmark = pytest.mark.slow

pytest.importorskip("scikit_build_core")

LEFT_OUT = (".ci/", "benchmarks/")
FOLDERS = (".venv", "build", "dist", "site", "demo")  # made by `make`; they have tens of thousands of files
MADE = (".so", ".pyd", ".pyi", ".pyc", ".whl")
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the sdist, without their folder; of a copy with one file in each folder that `make` fills."""
    out, copy = tmp_path_factory.mktemp("sdist"), tmp_path_factory.mktemp("project") / "poise"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", *FOLDERS, ".*_cache", "__pycache__"))
    for folder in FOLDERS:
        (copy / folder).mkdir(exist_ok=True)
        (copy / folder / "made.py").touch()
    subprocess.run([sys.executable, "-c", BUILD, str(out)], check=True, capture_output=True, cwd=copy)
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        return {str(PurePosixPath(*PurePosixPath(m.name).parts[1:])) for m in archive.getmembers() if m.isfile()}


def test_no_file_is_missing(names: set[str]) -> None:
    try:
        told = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout: git cannot say which files there are")
    known = {name for name in told.split("\n") if name and (ROOT / name).exists()}
    assert {name for name in known if not name.startswith(LEFT_OUT)} - names == set()


def test_nothing_that_was_made_is_in_it(names: set[str]) -> None:
    assert "PKG-INFO" in names
    assert [name for name in names if name.endswith((*MADE, "made.py"))] == []
