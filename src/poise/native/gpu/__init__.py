"""Batches on a GPU: the kernel source, its compilation and its launches."""

from poise.native.gpu.clearance import DeviceClearance, PlacedWorld
from poise.native.gpu.device import DeviceProblem, is_on_device, load_cupy

__all__ = ["DeviceClearance", "DeviceProblem", "PlacedWorld", "is_on_device", "load_cupy"]
