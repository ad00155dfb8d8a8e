"""Readers that run a file in a process of bounded memory: a sanitizer in this process does not follow them there."""

from __future__ import annotations

import sys

import pytest

from poise.formats.mjcf.subprocess_limits import make_environment


@pytest.mark.parametrize(
    ("preloaded", "kept"),
    [
        (None, None),
        ("", None),
        ("/usr/lib/gcc/x/12/libasan.so /usr/lib/libstdc++.so.6", "/usr/lib/libstdc++.so.6"),
        ("/a/libclang_rt.asan-aarch64.so:/b/libgomp.so.1", "/b/libgomp.so.1"),
        ("libjemalloc.so", "libjemalloc.so"),
        ("libasan.so.8", None),
    ],
)
def test_no_sanitizer_is_preloaded(monkeypatch: pytest.MonkeyPatch, preloaded: str | None, kept: str | None) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if preloaded is not None:
        monkeypatch.setenv("LD_PRELOAD", preloaded)
    monkeypatch.setenv("OWN", "kept")
    found = make_environment()
    assert found.get("LD_PRELOAD") == kept
    assert found["OWN"] == "kept"
    assert all(entry in found["PYTHONPATH"] for entry in sys.path if entry)
