"""`poise doctor`: reports installed extras and the commands for missing ones, without importing them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from typing import Any

import numpy as np
import pytest

import poise
from command_line import run_poise
from paths import ROOT
from poise import native
from poise.cli import doctor

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOT_USERS = {"all", "peers"}


def facts() -> dict[str, Any]:
    shown = run_poise("doctor", "--json")
    assert shown.exit_code == 0, shown.output
    return dict(json.loads(shown.stdout))


def test_versions_and_levels_are_those_in_use() -> None:
    report = facts()
    assert (report["poise"], report["numpy"]) == (poise.__version__, np.__version__)
    assert report["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert report["level"] == native.level()
    assert report["level"] in report["levels"]


def test_every_extra_is_reported_with_its_packages() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(doctor.PURPOSES) == set(extras) - NOT_USERS
    for name, report in facts()["extras"].items():
        assert set(report["packages"]) == {re.split(r"[>\[]", line)[0] for line in extras[name]}
        assert report["type"] == f"pip install 'poise-ik[{name}]'"
        for package, version in report["packages"].items():
            if package not in doctor.MODULES:
                assert version == doctor.find_version(package)


@pytest.mark.slow
def test_a_missing_package_is_named_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def without_matplotlib(name: str) -> str:
        if name == "matplotlib":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without_matplotlib)
    report = facts()["extras"]["studio"]
    assert report["packages"]["matplotlib"] is None
    assert not report["installed"]
    shown = run_poise("doctor")
    assert shown.exit_code == 0
    assert "matplotlib MISSING" in shown.stdout
    assert "pip install 'poise-ik[studio]'" in shown.stdout


@pytest.mark.parametrize("devices", [[], ["NVIDIA H200"]])
@pytest.mark.parametrize("cupy", [False, True])
def test_the_gpu_is_usable_with_a_device_and_cupy(
    devices: list[str], cupy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "list_cuda_devices", lambda: devices)
    monkeypatch.setattr(doctor, "find_spec", lambda name: object() if name == "cupy" and cupy else None)
    report = facts()["gpu"]
    assert report["usable"] == bool(devices and cupy)
    assert ("poise-ik[gpu]" in report["said"]) == bool(devices and not cupy)
    assert all(name in run_poise("doctor").stdout for name in devices)


@pytest.mark.slow
def test_no_extra_but_the_command_lines_own_is_imported() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from poise.cli.app import app\n"
        "assert CliRunner().invoke(app, ['doctor']).exit_code == 0\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {"cupy", "imageio", "matplotlib", "mujoco", "pyarrow", "scipy", "trimesh", "viser"}.isdisjoint(loaded)
