"""Batches on a GPU: the kernel source, its compilation and its launches."""

from __future__ import annotations

from poise.native.gpu.device import DeviceProblem, is_on_device, load_cupy

__all__ = ["DeviceProblem", "is_on_device", "load_cupy"]
