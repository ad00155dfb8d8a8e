"""Work on clips: reads a file, writes a motion or quality figures. A file that fails is reported and skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from poise.errors import InvalidValue
from poise.formats import load_motion, registry, save
from poise.kinematics import Motion
from poise.kinematics.motion import check_rate
from poise.limits import Clearance
from poise.model import Model
from poise.motion import Mapping, Quality, quality, retarget

__all__ = ["QUALITY_OPTIONS", "RETARGET_OPTIONS", "QualityClips", "RetargetClips"]

QUALITY_OPTIONS = ("scale", "up")
RETARGET_OPTIONS = ("suffix", "style", "scale", "up", "mapping", "smooth", "clearance", "fps")


class QualityClips:
    """A work object that measures the quality of clips.

    Args:
        scale: Passed to `load_motion`.
        up: Passed to `load_motion`.
    """

    suffix = ""  # writes no file other than the figures

    def __init__(self, scale: float | str = 1.0, up: str | None = None) -> None:
        self.scale, self.up = scale, up

    def read(self, path: Path) -> Motion:
        """Return the motion of a file."""
        return load_motion(path, scale=self.scale, up=self.up)

    def do(self, path: Path, target: Path | None) -> Quality:
        """Measure a clip."""
        return quality(self.read(path))


class RetargetClips(QualityClips):
    """A work object that retargets clips onto a body.

    Args:
        model: The body.
        suffix: The suffix of the output files: ".csv", ".npz", ".bvh", ".glb".
        style: The layout of the output: "unitree" or "gmr".
        scale: Passed to `load_motion`.
        up: Passed to `load_motion`.
        mapping: The corresponding frames, a `poise.Mapping`; found unless given.
        smooth: Passed to `retarget`.
        clearance: False lets parts of the body collide, as in `retarget`; a number is the distance [m] between the
            capsules of `Clearance`, which replace the convex hulls of `retarget`, also if it is 0.
        fps: The frame rate of the output; that of each clip by default.
    """

    def __init__(
        self,
        model: Model,
        suffix: str = ".csv",
        style: str | None = None,
        scale: float | str = 1.0,
        up: str | None = None,
        mapping: Any = None,
        smooth: float = 1.0,
        clearance: float | bool | None = None,
        fps: float | None = None,
    ) -> None:
        super().__init__(scale, up)
        registry.find_writer(f"clip{suffix}", "write_motion")
        if mapping is not None and not isinstance(mapping, Mapping):
            raise InvalidValue(f"mapping is {mapping!r}; it must be a poise.Mapping.")
        self.model, self.suffix, self.style, self.mapping, self.smooth = model, suffix, style, mapping, smooth
        self.clearance = clearance is not False
        distance = None if isinstance(clearance, bool) else clearance
        self.limits = [] if distance is None else [Clearance(distance=distance)]
        self.fps = None if fps is None else check_rate(fps)

    def do(self, path: Path, target: Path | None) -> Quality:
        """Retarget a clip and write it."""
        clip = self.read(path)
        clip = clip if self.fps is None else clip.resampled(self.fps)
        found = retarget(
            clip, self.model, self.mapping, smooth=self.smooth, limits=self.limits, clearance=self.clearance
        )
        assert target is not None
        save(found.motion, target, style=self.style)
        return found.quality
