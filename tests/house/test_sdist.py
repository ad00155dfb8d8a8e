"""The source distribution and the tools that make wheels."""

import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import debian
import wheels
from module_build import Target
from paths import ROOT

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


@pytest.mark.slow
def test_no_file_is_missing(names: set[str]) -> None:
    try:
        listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout: git cannot say which files there are")
    known = {name for name in listed.split("\n") if name and (ROOT / name).exists()}
    assert {name for name in known if not name.startswith(LEFT_OUT)} - names == set()


@pytest.mark.slow
def test_nothing_that_was_made_is_in_it(names: set[str]) -> None:
    assert "PKG-INFO" in names
    assert [name for name in names if name.endswith((*MADE, "made.py"))] == []


if sys.platform != "linux":
    pytest.skip("wheels are made on Linux", allow_module_level=True)


PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


@pytest.mark.parametrize("machine", sorted(debian.ARCHITECTURES))
def test_every_python_but_3_10_has_exactly_one_wheel(machine: str) -> None:
    """The workflow builds the one for 3.10."""
    built = [Target(version, machine, stable) for version, stable in wheels.KINDS]
    assert [sum(t.serves(python) for t in built) for python in PYTHONS] == [python != "3.10" for python in PYTHONS]
    assert [t.abi_tag for t in built] == ["cp311-cp311", "cp312-abi3"]
    assert [t.module for t in built] == [f"_core.cpython-311-{machine}-linux-gnu.so", "_core.abi3.so"]
    assert all(version in debian.SUITES for version, _ in wheels.KINDS)


def pack_sdist(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            held = tarfile.TarInfo(f"poise-0/{name}")
            held.size = len(text)
            archive.addfile(held, io.BytesIO(text.encode()))
    return path


def test_unpacking_again_changes_only_what_changed(tmp_path: Path) -> None:
    """A build goes on from files that are as old as they were; a file that is gone is gone."""
    first = pack_sdist(tmp_path / "1.tar.gz", {"a.cpp": "1", "b.h": "1", "sub/c.h": "1"})
    source = wheels.unpack_sdist(first, tmp_path / "source")
    before = (source / "b.h").stat().st_mtime_ns
    second = pack_sdist(tmp_path / "2.tar.gz", {"a.cpp": "2", "b.h": "1"})
    assert wheels.unpack_sdist(second, tmp_path / "source") == source
    assert (source / "a.cpp").read_text("utf-8") == "2"
    assert (source / "b.h").stat().st_mtime_ns == before
    assert not (source / "sub/c.h").exists()


def make_wheel(path: Path, needs: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("poise-0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: poise\n{needs}\n")
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("needs", "files", "said"),
    [
        ("Requires-Dist: numpy>=1.24\nRequires-Dist: scipy", {}, "numpy alone"),
        ("Requires-Dist: numpy>=1.24", {"big": bytes(wheels.MAX_BYTES + 1)}, "at most"),
        ('Requires-Dist: numpy>=1.24\nRequires-Dist: rich; extra == "cli"', {}, "lacks"),
    ],
)
def test_a_bad_wheel_is_rejected_in_words(needs: str, files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "poise.whl", needs, files)
    with pytest.raises(SystemExit, match=said):
        wheels.check_wheel(wheel, Target("3.11", "x86_64"), ROOT)
