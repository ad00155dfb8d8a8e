"""`poise doctor`: what is installed, what this machine can do, and what to type for the rest. It imports no extra."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import sys
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

__all__ = ["PURPOSES", "doctor_command"]

# What each extra brings; `tests/cli/test_cli_doctor.py` holds these to be the extras of pyproject.toml.
PURPOSES = {
    "cli": "the command poise",
    "studio": "dragging in the browser, pictures, meshes",
    "formats": "MJCF, xacro and Parquet files",
    "gpu": "batches on an NVIDIA GPU",
    "scipy": "methods.Scipy, SciPy's optimisers on the same problem",
}
# CuPy has a package for each CUDA; whichever it is, it brings this module.
MODULES = {"cupy-cuda13x": "cupy"}
CUDA_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """What is installed here, what this machine can do, and what to type for the rest."""
    facts = diagnosis()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console = Console(highlight=False)
    for key, told in lines(facts):
        console.print(f"[bold]{key:9}[/bold] {escape(told)}", soft_wrap=True)
    console.print(extra_table(facts["extras"]))


# ------------------------------------------------------------------------------------------------ finding out


def diagnosis() -> dict[str, Any]:
    """Everything there is to say, in plain values."""
    return {
        "poise": poise.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": cores(),
        "level": native.level(),
        "levels": native.levels(),
        "gpu": gpu(),
        "extras": {name: extra(name) for name in PURPOSES},
    }


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def gpu() -> dict[str, Any]:
    """The NVIDIA devices that the driver names, and whether CuPy is there to use them."""
    devices = cuda_devices()
    cupy = find_spec("cupy") is not None
    if devices and cupy:
        said = "ready"
    elif devices:
        said = f"needs CuPy. Type: {command('gpu')}"
    else:
        said = "no NVIDIA GPU and driver found; batches run on the processor"
    return {"devices": devices, "cupy": cupy, "usable": bool(devices and cupy), "said": said}


def cuda_devices() -> list[str]:
    """The names of the CUDA devices, asked of the driver itself: it answers in milliseconds and needs no package."""
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
    return [device_name(driver, i) for i in range(count.value)]


def device_name(driver: ctypes.CDLL, number: int) -> str:
    """The name of one CUDA device."""
    text = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(text, 256, number) != 0:
        return f"device {number}"
    return text.value.decode(errors="replace")


def extra(name: str) -> dict[str, Any]:
    """What an extra is for, which of its packages are here, and the command for the rest."""
    packages = {package: version_of(package) for package in packages_of(name)}
    installed = bool(packages) and None not in packages.values()
    return {"for": PURPOSES[name], "installed": installed, "packages": packages, "type": command(name)}


def packages_of(extra_name: str) -> list[str]:
    """The packages that an extra names, from Poise's own metadata."""
    wanted = re.compile(rf"extra\s*==\s*['\"]{extra_name}['\"]")
    try:
        requirements = metadata.requires("poise") or []
    except metadata.PackageNotFoundError:  # run from a folder of sources, without an install
        return []
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirements if wanted.search(line))
    return sorted(name.group() for name in names if name)


def version_of(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        module = MODULES.get(package)
        return "installed under another name" if module and find_spec(module) else None


def command(extra_name: str) -> str:
    """What to type for an extra."""
    return f"pip install 'poise[{extra_name}]'"


# ------------------------------------------------------------------------------------------------ showing


def lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts above the table, a line each."""
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


def extra_table(extras: dict[str, Any]) -> Table:
    """The extras for the terminal."""
    table = Table(show_edge=False)
    for column in ("extra", "for", "packages", "type"):
        table.add_column(column, style="bold" if column == "extra" else None, overflow="fold")
    for name, facts in extras.items():
        here = ", ".join(f"{package} {version or 'MISSING'}" for package, version in facts["packages"].items())
        wanted = "" if facts["installed"] else facts["type"]
        table.add_row(*map(escape, (name, facts["for"], here or "unknown: Poise is not installed", wanted)))
    return table
