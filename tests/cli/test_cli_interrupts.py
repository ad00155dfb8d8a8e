"""Ctrl-C ends a verb at once and leaves no file, wherever it comes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import poise
from walks import make_walk, put_skate_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time of another process is read"),
]
AT_ONCE = 1.0  # s of processor time: six times what ending takes, a quarter of the work that is left
TCP = "panda_hand_tcp"

# Ctrl-C at the nth callback of an import: Python drops what is raised there
DROPPED = """
import os, signal, sys
seen = 0
def watch(frame, event, _):
    global seen
    if event == "call" and frame.f_code.co_name == "cb" and "importlib" in frame.f_code.co_filename:
        seen += 1
        if seen == {nth}:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(100): pass
sys.setprofile(watch)
from poise.cli import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    clip = put_skate_in(make_walk(144))[:144]
    for _ in range(6):
        clip = clip.joined(clip, blend=0.2)
    poise.save(clip, folder / "walk.bvh")
    arm = poise.load("panda")
    for name, count in {"path": 60_000, "long": 100_000}.items():
        path = np.tile(arm.fk(arm.rest, TCP)[:3, 3], (count, 1))
        path[:, 1] += 0.2 * np.sin(0.05 * np.arange(count))
        np.savetxt(folder / f"{name}.csv", path, delimiter=",", header="x,y,z", comments="")
    return folder


def read_seconds(pid):
    """Processor time of a process so far."""
    with Path(f"/proc/{pid}/stat").open() as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(process, terminal, what):
    """Read a terminal until it shows something."""
    shown = b""
    # ends: with the process, or when pytest's patience does
    while not re.search(what, shown):
        assert process.poll() is None, shown
        shown += os.read(terminal, 4096)


def time_interrupt(folder, words, shows, after):
    """Processor time that a verb takes after Ctrl-C."""
    terminal, theirs = os.openpty()
    command = [sys.executable, "-m", "poise.cli", *words]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=theirs)
    try:
        os.close(theirs)
        wait_for(process, terminal, shows)
        begun = read_seconds(process.pid)
        while read_seconds(process.pid) < begun + after:
            time.sleep(0.01)
        before = read_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it was waited for
    finally:
        if process.returncode is None:
            process.kill()
        os.close(terminal)
    return used.ru_utime + used.ru_stime - before


@pytest.mark.parametrize("after", [0.0, 0.4])
@pytest.mark.parametrize(
    ("verb", "words", "shows"),
    [
        ("lock", ["walk.bvh"], b"locking"),
        ("retarget", ["walk.bvh", "humanoid"], b"solving"),
        ("track", ["panda", "path.csv", "--frame", TCP], b"tracking"),
        ("track", ["panda", "long.csv", "--frame", TCP, "--mode", "online"], rb"[1-9]\d* of 100000"),
    ],
    ids=["lock", "retarget", "track", "online"],
)
def test_a_verb_that_works_ends_at_once_without_a_file(folder, tmp_path, verb, words, shows, after):
    given = [verb, *words, "--out", str(tmp_path / "out.csv")]
    assert time_interrupt(folder, given, shows, after) < AT_ONCE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("nth", [40, 300])
def test_an_interrupt_that_python_drops_comes_again(folder, tmp_path, nth):
    out = tmp_path / "out.csv"
    words = ["track", "panda", "path.csv", "--frame", TCP, "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", DROPPED.format(nth=nth), *words],
        cwd=folder,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == b""
    assert not out.exists()
