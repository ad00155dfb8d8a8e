"""Shared by the tests of jobs."""

from pathlib import Path

import pytest


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    """A folder with two files of 380 targets in five row groups."""
    from job_cases import write_two_files  # needs pyarrow

    return write_two_files(tmp_path / "targets")
