"""Build, repair, check and run the Linux wheels of a release on one machine: `make wheels`.

    python tools/wheels.py                   # everything; the wheels and the sdist are written to dist/
    python tools/wheels.py --machine x86_64  # one processor

Everything is built from the unpacked sdist, which proves that it is complete. The wheel of this machine's compiler is
the template: each wheel of the release is a copy with a module that zig compiled for its target.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path

import debian
from module_build import GLIBC, Target, build_module, make_zig
from trial_site import QUICK, ROOT, install_packages

BUILD, DIST = ROOT / "build" / "wheels", ROOT / "dist"
STORE = BUILD / "debian"
TRIAL = ROOT / "tools" / "wheel_trial.py"
MAX_BYTES = 5_000_000
# One module for 3.11, one for 3.12 and later; the release workflow builds for 3.10, macOS and Windows.
KINDS = (("3.11", False), ("3.13", True))


# ------------------------------------------------------------------------------------------------ building


def make_sdist() -> Path:
    """Build the sdist in dist/."""
    python("-m", "build", "--sdist", "--no-isolation", "--outdir", DIST, ROOT)
    return find_newest(DIST, "*.tar.gz")


def unpack_sdist(sdist: Path, folder: Path) -> Path:
    """Unpack exactly the sdist's files; unchanged files are kept, so that builds are incremental."""
    with tarfile.open(sdist) as archive:
        files = {Path(m.name): archive.extractfile(m) for m in archive.getmembers() if m.isfile()}
        for path, held in files.items():
            target, data = folder / path, b"" if held is None else held.read()
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
    for old in (path for path in folder.rglob("*") if path.is_file()):
        if old.relative_to(folder) not in files:
            old.unlink()
    return folder / next(iter(files)).parts[0]


def build_pattern(source: Path) -> Path:
    """Build the template wheel from the sdist, with this machine's compiler."""
    out = BUILD / "pattern"
    shutil.rmtree(out, ignore_errors=True)
    chosen = ("--no-build-isolation", "--no-deps", f"--config-settings=build-dir={BUILD / 'own'}", "--wheel-dir", out)
    python("-m", "pip", "wheel", "-q", *chosen, source)
    return find_newest(out, "*.whl")


def build_wheel(target: Target, source: Path, pattern: Path) -> Path:
    """Build one wheel of the release: compile, pack, repair."""
    headers = debian.list_header_folders(debian.unpack_headers(target.python, target.machine, STORE), target.python)
    zig = BUILD / "zig"
    module = build_module(target, make_zig(zig / "zig", target.machine), source, headers, zig / target.machine)
    raw = pack(pattern, module, target)
    return repair(raw, target)


def pack(pattern: Path, module: Path, target: Target) -> Path:
    """Return a copy of the template wheel with another module and tag."""
    folder = BUILD / "packed" / f"{target.abi_tag}-{target.machine}"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(pattern) as archive:
        archive.extractall(folder / "files")
    for old in (folder / "files/poise/native").glob("_core.*.so"):
        old.unlink()
    shutil.copy(module, folder / "files/poise/native")
    about = next((folder / "files").glob("*.dist-info/WHEEL"))
    lines = [line for line in about.read_text("utf-8").splitlines() if line and not line.startswith("Tag:")]
    about.write_text("\n".join([*lines, f"Tag: {target.abi_tag}-linux_{target.machine}", ""]), "utf-8")
    python("-m", "wheel", "pack", folder / "files", "--dest-dir", folder)
    return find_newest(folder, "*.whl")


def repair(raw: Path, target: Target) -> Path:
    """Check with auditwheel that the promised glibc suffices, and set the wheel's tag."""
    out = BUILD / "repaired" / f"{target.abi_tag}-{target.machine}"
    shutil.rmtree(out, ignore_errors=True)
    python("-m", "auditwheel", "repair", "--wheel-dir", out, raw)  # a named platform must be this machine's
    wheel = find_newest(out, "*.whl")
    found = [int(minor) for minor in re.findall(rf"manylinux_2_(\d+)_{target.machine}", wheel.name)]
    if not found or min(found) > int(GLIBC.split(".")[1]):
        raise SystemExit(f"{wheel.name} needs a newer glibc than {GLIBC}, which is promised.")
    return Path(shutil.copy(wheel, DIST))


# ------------------------------------------------------------------------------------------------ checking


def check_wheel(wheel: Path, target: Target, source: Path) -> None:
    """Check size, tag, dependencies, files and the stable ABI; exit with a message at the first error."""
    if wheel.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size} bytes; at most {MAX_BYTES} are allowed.")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    needed = [line for line in Parser().parsestr(metadata).get_all("Requires-Dist", []) if "extra ==" not in line]
    if [line.split(">")[0].strip() for line in needed] != ["numpy"]:
        raise SystemExit(f"{wheel.name} depends on {needed}; numpy alone is allowed.")
    missing = list_wanted_files(target, source) - set(names)
    if missing:
        raise SystemExit(f"{wheel.name} lacks {sorted(missing)}.")
    if target.stable:
        python("-m", "abi3audit", "--strict", wheel)


def list_wanted_files(target: Target, source: Path) -> set[str]:
    """Return the files of the package in the sdist without build files, and the module with its stub."""
    files = {str(path.relative_to(source / "src")) for path in (source / "src" / "poise").rglob("*") if path.is_file()}
    built = {f"poise/native/{target.module}", "poise/native/_core.pyi"}
    return {name for name in files if not name.endswith((".cpp", ".h.in"))} | built


# ------------------------------------------------------------------------------------------------ running


def run_quick_tests(wheel: Path, pattern: Path) -> str:
    """Run the trial and the quick tests on the wheel in an empty environment; print its timings and the template's."""
    home = BUILD / "empty"
    venv.create(home, clear=True, with_pip=True)
    own = home / "bin" / "python"
    subprocess.run([own, "-m", "pip", "install", "-q", wheel], check=True)
    zig = trial([own])
    with zipfile.ZipFile(pattern) as archive:
        archive.extractall(BUILD / "pattern" / "files")
    gcc = trial([own], PYTHONPATH=str(BUILD / "pattern" / "files"))
    for key, what in (("us_a_solve", "a prepared solve"), ("us_a_row", "a row of a batch"), ("us_a_fk", "one FK")):
        print(f"  {what:16} {zig[key]:8.2f} us by zig, {gcc[key]:8.2f} us by this machine's compiler (CPU time)")
    subprocess.run([own, "-m", "pip", "install", "-q", "pytest", "hypothesis", "scipy", "mpmath"], check=True)
    subprocess.run([own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *QUICK], check=True, cwd=ROOT)
    return f"quick tests and {zig['reached']} solves on CPython {zig['python']}, level {zig['level']}"


def run_trial(wheel: Path, version: str, machine: str) -> str:
    """Run the trial on a Python from Debian's packages, under qemu for another processor."""
    root = debian.unpack_python(version, machine, STORE)
    site = BUILD / "sites" / f"{version}-{machine}"
    shutil.rmtree(site, ignore_errors=True)
    install_packages(site, version, machine, [wheel])
    command = debian.make_command(root, version, machine, STORE)
    facts = trial(command, PYTHONHOME=str(root / "usr"), PYTHONPATH=str(site))
    where = "" if machine == platform.machine() else " under qemu"
    return f"{facts['reached']} solves on CPython {facts['python']} {machine}{where}, level {facts['level']}"


def trial(command: Sequence[object], **variables: str) -> dict[str, str]:
    """Run `wheel_trial.py` in a clean environment and return its figures."""
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    words = [str(word) for word in (*command, TRIAL)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=BUILD)
    return dict(json.loads(done.stdout))


def run_wheel(wheel: Path, target: Target, pattern: Path) -> list[str]:
    """Run the wheel on every Python that it supports, and describe each run."""
    results = []
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if target.machine == platform.machine() and target.serves(here):
        results.append(run_quick_tests(wheel, pattern))
    for version in debian.SUITES:
        if target.serves(version):
            results.append(run_trial(wheel, version, target.machine))
            print(f"  ran: {results[-1]}", flush=True)
    return results


# ------------------------------------------------------------------------------------------------ the whole


def python(*words: object) -> None:
    """Run this interpreter with its own programs first in PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([sys.executable, *map(str, words)], check=True, env={**os.environ, "PATH": path})


def find_newest(folder: Path, pattern: str) -> Path:
    """Return the newest file that matches a pattern."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


def main() -> None:
    """Build the sdist and all wheels, check and run them, and print which wheels were run or only built."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machine", choices=sorted(debian.ARCHITECTURES), help="this processor alone")
    machines = [m] if (m := parser.parse_args().machine) else sorted(debian.ARCHITECTURES)
    if reason := debian.explain_missing_apt():
        raise SystemExit(reason)
    shutil.rmtree(DIST, ignore_errors=True)
    source = unpack_sdist(make_sdist(), BUILD / "source")
    pattern = build_pattern(source)
    said = []
    for target in (Target(version, machine, stable) for machine in machines for version, stable in KINDS):
        print(f"--- {target.abi_tag} {target.machine}", flush=True)
        wheel = build_wheel(target, source, pattern)
        check_wheel(wheel, target, source)
        runs = run_wheel(wheel, target, pattern)
        said.append(f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB: {'; '.join(runs) or 'only built'}")
    print("\nIn dist/, repaired and checked by auditwheel (the stable ABI by abi3audit):", *said, sep="\n  ")


if __name__ == "__main__":
    main()
