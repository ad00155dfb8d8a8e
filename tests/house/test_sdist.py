"""The sdist holds every file of the project that is not left out by name, and nothing that a build made."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import PurePosixPath

import pytest

from paths import ROOT

pytestmark = pytest.mark.slow

pytest.importorskip("scikit_build_core")

LEFT_OUT = (".ci/", "benchmarks/")
MADE = (".so", ".pyd", ".pyi", ".pyc", ".whl")
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the sdist, without the folder that they are in."""
    out = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-c", BUILD, str(out)], check=True, capture_output=True, cwd=ROOT)
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
    assert [name for name in names if name.endswith(MADE)] == []
