"""Python and its headers for any processor, unpacked from Debian packages into a folder; nothing is installed.

`apt-get` gets its own state folder, so that it needs no privileges, changes no package lists of the machine, and still
checks signatures. Headers are for compiling a wheel; a complete Python with its C library is for testing it.
"""

import platform
import shutil
import subprocess
from pathlib import Path

__all__ = [
    "ARCHITECTURES",
    "SUITES",
    "explain_missing_apt",
    "list_header_folders",
    "make_command",
    "unpack_headers",
    "unpack_python",
]

MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The Debian release of each Python version; add a line to support another one.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}


def explain_missing_apt() -> str | None:
    """Return a message with the install command if downloads are not possible here, otherwise None."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return "apt-get and dpkg-deb are missing; Pythons of other machines come from Debian's packages."
    if not KEYRING.exists():
        return f"{KEYRING} is missing. Type: sudo apt install debian-archive-keyring"
    return None


def unpack_headers(python: str, machine: str, store: Path) -> Path:
    """Download and unpack the headers of a CPython for a processor.

    Args:
        python: The version, such as "3.11".
        machine: "x86_64" or "aarch64".
        store: The folder for downloads and unpacked files.

    Returns:
        The folder that represents `/`.
    """
    root = store / f"headers-{python}-{machine}"
    if not (root / "usr/include" / f"python{python}" / "Python.h").exists():
        debs = download([f"libpython{python}-dev"], SUITES[python], machine, store, dependencies=False)
        unpack(debs, root)
    return root


def list_header_folders(root: Path, python: str) -> list[Path]:
    """Return the include folders: the first has the processor's pyconfig.h, the second Python.h."""
    return [root / "usr/include", root / "usr/include" / f"python{python}"]


def unpack_python(python: str, machine: str, store: Path) -> Path:
    """Download and unpack a Python for a processor, with its libraries including the C library.

    Returns:
        The folder that represents `/`.
    """
    root = store / f"python-{python}-{machine}"
    if not (root / "whole").exists():
        wanted = [f"python{python}-minimal", f"libpython{python}-stdlib", "libstdc++6"]
        unpack(download(wanted, SUITES[python], machine, store, dependencies=True), root)
        (root / "whole").touch()
    return root


def make_command(root: Path, python: str, machine: str, store: Path) -> list[str]:
    """Return the command that starts an unpacked Python: with its own loader, and under qemu for another processor."""
    folders = [root / place / f"{machine}-linux-gnu" for place in ("lib", "usr/lib")]
    loader = next(path for folder in folders for path in sorted(folder.glob("ld-linux-*.so.*")))
    program = root / "usr/bin" / f"python{python}"
    command = [str(loader), "--library-path", ":".join(map(str, folders)), str(program)]
    return command if machine == platform.machine() else [str(find_emulator(machine, store)), *command]


def find_emulator(machine: str, store: Path) -> Path:
    """Return the qemu user-mode emulator for a processor: the installed one, or Debian's."""
    name = f"qemu-{machine}-static"
    found = shutil.which(name)
    if found:
        return Path(found)
    root = store / "qemu"
    if not (root / "usr/bin" / name).exists():
        unpack(download(["qemu-user-static"], "bookworm", platform.machine(), store, dependencies=False), root)
    return root / "usr/bin" / name


# ------------------------------------------------------------------------------------------------ apt


def download(packages: list[str], suite: str, machine: str, store: Path, *, dependencies: bool) -> list[Path]:
    """Download packages, optionally with their dependencies, and return the files."""
    state = store / f"apt-{suite}-{machine}"
    options = list_apt_options(state, suite, ARCHITECTURES[machine])
    if not (state / "updated").exists():
        subprocess.run(["apt-get", "-q", *options, "update"], check=True)
        (state / "updated").touch()
    folder = state / "-".join(packages)
    (folder / "partial").mkdir(parents=True, exist_ok=True)
    if dependencies:
        kept = ["-o", f"Dir::Cache::archives={folder}", "--no-install-recommends", "--download-only", "-y"]
        subprocess.run(["apt-get", "-q", *options, *kept, "install", *packages], check=True)
    else:
        subprocess.run(["apt-get", "-q", *options, "download", *packages], check=True, cwd=folder)
    return sorted(folder.glob("*.deb"))


def list_apt_options(state: Path, suite: str, architecture: str) -> list[str]:
    """Return options that give apt-get its own sources, lists, and an empty list of installed packages."""
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n", "utf-8")
    chosen = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "1",
    }
    return [word for name, value in chosen.items() for word in ("-o", f"{name}={value}")]


def unpack(debs: list[Path], root: Path) -> None:
    """Unpack packages into a folder that represents `/`; no package scripts are run."""
    root.mkdir(parents=True, exist_ok=True)
    for deb in debs:
        subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
