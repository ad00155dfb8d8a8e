"""`poise doctor`: report installed packages, CPU and GPU features, and install commands. Imports no extra."""

import ctypes
import json
import platform
import re
from importlib import metadata
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import poise
from poise import native
from poise.batch.solver import count_cores
from poise.cli.console import describe_system
from poise.errors import INDEX_NAME

__all__ = ["PURPOSES", "doctor_command"]

# The purpose of each extra; `tests/cli/test_cli_doctor.py` checks that they match pyproject.toml.
PURPOSES = {
    "cli": "the command poise",
    "studio": "dragging in the browser, pictures, meshes",
    "formats": "MJCF and Parquet files, YAML of xacro files",
    "fbx": "FBX files",
    "usd": "USD files: robots and skeletons",
    "gpu": "batches on an NVIDIA GPU",
    "gpu12": "the same, for drivers of CUDA 12",
    "rerun": "recordings for the viewer of Rerun",
    "scale": "jobs that may be killed, on all cores, Slurm or Ray",
    "scipy": "methods.Scipy, SciPy's optimisers on the same problem",
}
# CuPy has a package for each CUDA version; all of them install the module `cupy`.
MODULES = {"cupy-cuda12x": "cupy", "cupy-cuda13x": "cupy", "pillow": "PIL", "pyyaml": "yaml"}
CUDA_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Report installed packages, CPU and GPU features, and the commands that install the rest."""
    facts = examine()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console = Console(highlight=False)
    for key, text in list_facts(facts):
        console.print(f"[bold]{key:9}[/bold] {escape(text)}", soft_wrap=True)
    console.print(make_table(facts["extras"]))


# ------------------------------------------------------------------------------------------------ examination


def examine() -> dict[str, Any]:
    """Return all facts to report, as plain values."""
    return {
        "poise": poise.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "numpy": np.__version__,
        "platform": describe_system(),
        "processor": platform.machine(),
        "cores": count_cores(),
        "level": native.level(),
        "levels": native.levels(),
        "gpu": examine_gpu(),
        "extras": {name: examine_extra(name) for name in PURPOSES},
    }


def examine_gpu() -> dict[str, Any]:
    """Return the names of the NVIDIA devices, and whether CuPy is installed to use them."""
    devices = list_cuda_devices()
    cupy = find_spec("cupy") is not None
    if devices and cupy:
        said = "ready"
    elif devices:
        said = f"needs CuPy. Type: {write_command('gpu')}"
    else:
        said = "no NVIDIA GPU and driver found; batches run on the processor"
    return {"devices": devices, "cupy": cupy, "usable": bool(devices and cupy), "said": said}


def list_cuda_devices() -> list[str]:
    """Return the names of the CUDA devices, from the driver: that takes milliseconds and needs no package."""
    for library in CUDA_LIBRARIES:
        try:
            driver = ctypes.CDLL(library)
            break
        except OSError:
            continue
    else:
        return []
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [read_device_name(driver, i) for i in range(count.value)]


def read_device_name(driver: ctypes.CDLL, number: int) -> str:
    """Return the name of one CUDA device."""
    text = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(text, 256, number) != 0:
        return f"device {number}"
    return text.value.decode(errors="replace")


def examine_extra(name: str) -> dict[str, Any]:
    """Return the purpose of an extra, its installed packages, and the command for the rest."""
    packages = {package: find_version(package) for package in list_packages(name)}
    installed = bool(packages) and None not in packages.values()
    return {"for": PURPOSES[name], "installed": installed, "packages": packages, "type": write_command(name)}


def list_packages(extra_name: str) -> list[str]:
    """Return the packages of an extra, from Poise's own metadata."""
    wanted = re.compile(rf"extra\s*==\s*['\"]{extra_name}['\"]")
    try:
        requirements = metadata.requires(INDEX_NAME) or []
    except metadata.PackageNotFoundError:  # run from a source folder, without an install
        return []
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirements if wanted.search(line))
    return sorted(name.group() for name in names if name)


def find_version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        module = MODULES.get(package)
        return "installed under another name" if module and find_spec(module) else None


def write_command(extra_name: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{INDEX_NAME}[{extra_name}]'"


# ------------------------------------------------------------------------------------------------ output


def list_facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts above the table, one line each."""
    others = ", ".join(facts["levels"])
    devices = "".join(f"{name}: " for name in facts["gpu"]["devices"])
    return [
        ("poise", facts["poise"]),
        ("python", facts["python"]),
        ("numpy", facts["numpy"]),
        ("platform", f"{facts['platform']}, {facts['cores']} cores"),
        ("level", f"{facts['level']} (this machine runs: {others})"),
        ("gpu", devices + facts["gpu"]["said"]),
    ]


def make_table(extras: dict[str, Any]) -> Table:
    """Return the extras as a table for the terminal."""
    table = Table(show_edge=False)
    for column in ("extra", "for", "packages", "type"):
        table.add_column(column, style="bold" if column == "extra" else None, overflow="fold")
    for name, facts in extras.items():
        here = ", ".join(f"{package} {version or 'MISSING'}" for package, version in facts["packages"].items())
        wanted = "" if facts["installed"] else facts["type"]
        table.add_row(*map(escape, (name, facts["for"], here or "unknown: Poise is not installed", wanted)))
    return table
