"""Batches on a GPU: the source for a device, its compilation and its launches."""

from __future__ import annotations

from poise.native.gpu.device import DeviceProblem, cupy, is_on_device

__all__ = ["DeviceProblem", "cupy", "is_on_device"]
