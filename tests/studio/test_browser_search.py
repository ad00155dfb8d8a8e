"""How the tests come to a browser: one that is there, Debian's, Playwright's own; and CI never goes without."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from chromium import go_without, launch
from paths import TOOLS

pytestmark = pytest.mark.slow

SCRIPT = TOOLS / "get_chromium.sh"
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")


def stub(folder: Path, name: str, *lines: str) -> None:
    """A program that notes its words and does what the lines say."""
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", f'echo "{name} $*" >> "{folder}/said"', *lines]) + "\n")
    path.chmod(0o755)


def get(folder: Path, *, root: bool) -> tuple[int, list[str], str]:
    """Runs the script where only the stubs are; its end, what was called, and what it says."""
    for tool in ("env", "sh", "touch", "chmod", "cp"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    stub(folder, "python", "exit 1")
    text = SCRIPT.read_text().replace("EUID != 0", f"{int(not root)} != 0")
    command = [str(BASH), "-c", text, "get_chromium.sh", "python"]
    done = subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)
    said = folder / "said"
    return done.returncode, said.read_text().splitlines() if said.exists() else [], done.stdout


def installs(folder: Path) -> str:
    """What an apt-get does that can install."""
    stub(folder, "installed")
    return f'[ "$1" = install ] && cp "{folder}/installed" "{folder}/chromium"; exit 0'


@needs_bash
def test_one_that_is_there_is_taken(tmp_path: Path) -> None:
    stub(tmp_path, "chromium")
    stub(tmp_path, "apt-get", "exit 1")
    assert get(tmp_path, root=True) == (0, ["chromium --version"], "")


@needs_bash
@pytest.mark.parametrize("root", [True, False])
def test_debians_is_installed_where_nobody_asks_for_a_password(tmp_path: Path, root: bool) -> None:
    stub(tmp_path, "chromium-browser", "exit 1")  # a word that there is a snap
    stub(tmp_path, "apt-get", installs(tmp_path))
    stub(tmp_path, "sudo", 'shift; [ "$1" = true ] || exec "$@"')
    code, said, _ = get(tmp_path, root=root)
    assert code == 0
    assert "apt-get install -q -y --no-install-recommends chromium" in said
    assert any(line.startswith("sudo -n") for line in said) is not root
    assert not any(line.startswith("python") for line in said)


@needs_bash
@pytest.mark.parametrize("has_apt", [True, False])
def test_playwrights_own_is_the_last_and_then_it_says_what_to_type(tmp_path: Path, has_apt: bool) -> None:
    if has_apt:
        stub(tmp_path, "apt-get", "exit 0")
        stub(tmp_path, "sudo", "exit 1")  # asks for a password
    code, said, message = get(tmp_path, root=False)
    assert code == 1
    assert said[-1] == "python -m playwright install chromium"
    assert "Type: sudo apt install chromium" in message


def test_ci_fails_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError("it does not start")

    nothing = SimpleNamespace(chromium=SimpleNamespace(launch=refuse))
    monkeypatch.setenv("POISE_NEEDS_CHROMIUM", "1")
    with pytest.raises(pytest.fail.Exception, match="sudo apt install chromium"):
        launch(nothing, OSError)
    monkeypatch.delenv("POISE_NEEDS_CHROMIUM")
    with pytest.raises(pytest.skip.Exception, match="it does not start"):
        launch(nothing, OSError)
    with pytest.raises(pytest.skip.Exception):
        go_without("there is none")


def test_ci_requires_a_browser() -> None:
    run = (SCRIPT.parents[1] / ".ci" / "run").read_text()
    assert "export POISE_NEEDS_CHROMIUM=1" in run[: run.rindex("make test")]
