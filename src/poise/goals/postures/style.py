"""Style: choose the pose most similar to example clips among all poses that reach the goals.

    cost  sum_k share_k (x(q) - m_k)^T S_k^-1 (x(q) - m_k) / 2

x are the rotation vectors (and lengths) of the joints relative to the mean of all frames. m_k and S_k are the weighted
mean and covariance of the frames nearest to the targets: those whose points lie closest to them, relative to the root
of the body. The root is not part of a style. Like Rest, a Style never degrades the goals.
Sources: Grochow, Martin, Hertzmann and Popovic, Style-based inverse kinematics, SIGGRAPH 2004 (the goal; its own model
is in `poise.textbook`); Huang et al., Multi-variate Gaussian-based inverse kinematics, CGF 36(8), 2017.

Limitations: far from all frames it only attracts to the nearest ones; with few goals many poses are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from os import PathLike
from typing import Any, Protocol, TypeAlias

import numpy as np

from poise.arguments import check_whole
from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch
from poise.goals.postures.gaussian import Gaussian
from poise.goals.postures.pose_targets import NOTHING, PoseTargets
from poise.goals.postures.posture import GeneralPosture
from poise.goals.postures.rest import POSTURE, measure_units
from poise.goals.postures.style_frames import StyleFrames
from poise.hooks import Hook
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.compare import name_mismatch

__all__ = ["Style"]

NEIGHBOURS = 60
Retargeter: TypeAlias = Callable[[Motion, Model], Any]  # with the clip as `motion`
RETARGETER = Hook[Retargeter]()
Parts: TypeAlias = list[tuple[float, Motion]]  # clips with their shares


class StyleFiles(Protocol):
    """The reader and writer of styles."""

    def read_style(self, path: str | PathLike[str]) -> tuple[Parts, dict[str, float]]:
        """Return the parts of a style, each with its share, and its settings."""

    def write_style_arrays(self, model: Model, parts: Sequence[tuple[float, Floats]]) -> dict[str, Any]:
        """Return the arrays of a style's parts."""


STYLE_FILES = Hook[StyleFiles]()


@dataclass(frozen=True, eq=False)
class Style(GeneralPosture, words=POSTURE):
    """A posture learned from clips. Create it with `Style.fit`.

    Attributes:
        parts: The sets of frames, each with its share.
        neighbours: Number of frames in a local Gaussian.
    """

    _: KW_ONLY
    pose: None = field(default=None, init=False, repr=False)
    power: int = field(default=2, init=False, repr=False)
    gains: None = field(default=None, init=False, repr=False)
    parts: tuple[tuple[float, StyleFrames], ...] = ()
    neighbours: int = NEIGHBOURS

    default_name = "style"
    settled = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.parts:
            raise InvalidValue("Style is made from clips: Style.fit(motions).")
        check_whole(self.neighbours, "Style: neighbours", 2)

    @classmethod
    def fit(
        cls,
        motions: Motion | Iterable[Motion],
        *,
        model: Model | None = None,
        weight: float = 1.0,
        neighbours: int = NEIGHBOURS,
    ) -> Style:
        """Fit a style to clips.

        Args:
            motions: A motion, or several.
            model: The body that uses this style; by default that of the first clip. Clips of other bodies are
                retargeted to it by `poise.retarget`.
            weight: Importance among postures.
            neighbours: Number of frames in a local Gaussian.

        Raises:
            ModelMismatch: The clips have different bodies, and `model` is not given.
        """
        clips = list(motions) if isinstance(motions, Iterable) and not isinstance(motions, Motion) else [motions]
        if not clips or not all(isinstance(clip, Motion) for clip in clips):
            raise InvalidValue("Style.fit takes a Motion or several: Style.fit([poise.load_motion(path), ...]).")
        if model is None:
            for clip in clips[1:]:
                if clip.model != clips[0].model:
                    raise ModelMismatch(
                        f"Style.fit: a clip is {name_mismatch(clip.model, clips[0].model)}, as the first is. "
                        "Give model=, the body to retarget them to."
                    )
        body = clips[0].model if model is None else model
        clips = [clip if clip.model == body else RETARGETER.get()(clip, body).motion for clip in clips]
        if sum(len(clip) for clip in clips) < 2:
            raise InvalidValue("Style.fit needs two frames at least.")
        return cls(parts=((1.0, StyleFrames.prepare(body, clips)),), weight=weight, neighbours=neighbours)

    @classmethod
    def blend(cls, styles: Mapping[Style, float]) -> Style:
        """Return a mixture of styles of one body: Style.blend({proud: 0.7, tired: 0.3}).

        Its weight is the root mean square of their weights and its neighbours the mean of theirs, weighted by their
        shares. Its other attributes are those of the style with the greatest share. Styles with share 0 are ignored.
        """
        mix = read_shares(styles)
        for style in mix:
            if style.model != next(iter(mix)).model:
                other = name_mismatch(style.model, next(iter(mix)).model)
                raise ModelMismatch(f"Style.blend mixes styles of one body; one is {other}.")
        parts = tuple((part * share, frames) for style, share in mix.items() for part, frames in style.parts)
        weight = float(np.sqrt(sum(share * float(np.asarray(style.weight)) ** 2 for style, share in mix.items())))
        neighbours = round(sum(share * style.neighbours for style, share in mix.items()))
        first = max(mix, key=lambda style: mix[style])
        if len(mix) == 1:
            return first
        return replace(first, parts=share_chart(parts), weight=weight, neighbours=neighbours)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Style:
        """Read a style written by `poise.save(style, path)`.

        Raises:
            FormatError: The file is missing, damaged, or not a style.
        """
        parts, numbers = STYLE_FILES.get().read_style(path)
        frames = StyleFrames.prepare_parts(parts[0][1].model, [np.array(clip.q) for _, clip in parts])
        shares = [share for share, _ in parts]
        prepared = tuple(zip(shares, frames, strict=True))
        return cls(parts=prepared, weight=numbers["weight"], neighbours=int(numbers["neighbours"]))

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that `poise.save` writes: the body and its frames."""
        frames = [(share, part.q) for share, part in self.parts]
        numbers = {"weight": float(np.asarray(self.weight)), "neighbours": int(self.neighbours)}
        return {**STYLE_FILES.get().write_style_arrays(self.model, frames), **numbers}

    @property
    def model(self) -> Model:
        """The body of the clips."""
        return self.parts[0][1].model

    def __len__(self) -> int:
        return sum(len(frames.q) for _, frames in self.parts)

    def __repr__(self) -> str:
        return f"<Style of {self.model.name!r}: {len(self)} frames>"

    # ------------------------------------------------------------------------------------------------ as a posture

    def find_wanted(self, model: Model) -> Floats:
        """Return the mean pose of the frames."""
        self._check(model)
        return np.array(self.parts[0][1].mean)

    def gain(self, model: Model) -> Floats:
        """Return the gains of the first guess: 1 over the variance of each velocity in the frames; 0 for the root."""
        self._check(model)
        frames = self.parts[0][1]
        unit = measure_units(model)
        at = frames.chart.velocities[frames.chart.counts]
        variance = frames.x[:: max(1, len(frames.x) // 2000)].var(axis=0) / unit[at] ** 2
        out = np.zeros(model.nv)
        out[at] = float(np.asarray(self.weight)) ** 2 / (variance + 1e-3)
        return out

    def focus(self, model: Model, asked: PoseTargets, q: Floats) -> Gaussian:
        """Return the posture for the targets: the Gaussian of the frames nearest to them, relative to the root at q."""
        self._check(model)
        return self.find_likely(model, asked, q)[0]

    def find_likely(self, model: Model, asked: PoseTargets, q: Floats) -> tuple[Gaussian, Floats]:
        """Return the Gaussian and a start: the nearest frame of the set with the greatest share."""
        near = [(share, frames, frames.find_near(asked, q, self.neighbours)) for share, frames in self.parts]
        weight = float(np.asarray(self.weight)) ** 2
        gaussian = Gaussian.merge([(share * weight, frames.make_gaussian(*found)) for share, frames, found in near])
        _, frames, found = max(near, key=lambda part: part[0])
        return gaussian, frames.carry_frames(found[0][:1], q)[0]

    def find_cost(self, model: Model, q: Floats) -> float:
        """Return the cost of a pose relative to the most similar frames."""
        return self.focus(model, NOTHING, q).find_cost(model, q)

    def find_slope(self, model: Model, q: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and curvature; see `Rest.find_slope`."""
        return self.focus(model, NOTHING, q).find_slope(model, q)

    def find_seeds(self, model: Model, asked: PoseTargets, q: Floats, many: int = 4) -> Floats:
        """Return starts for a search: the frames nearest to the targets, with the root of q, (many, nq)."""
        self._check(model)
        frames = self.parts[0][1]
        return frames.carry_frames(frames.find_near(asked, q, many)[0], q)

    def likelihood(self, pose: Pose) -> float:
        """Return the log-likelihood of a pose under the Gaussian of the most similar frames.

        Raises:
            InvalidValue: The argument is not a Pose.
            ModelMismatch: The pose is of another body.
        """
        if not isinstance(pose, Pose):
            raise InvalidValue(f"likelihood takes a Pose, not {type(pose).__name__}; type: poise.Pose(model, q).")
        self._check(pose.model)
        q = np.array(pose.q)
        parts = []
        for share, frames in self.parts:
            gaussian = frames.make_gaussian(*frames.find_alike(q, self.neighbours))
            log_size = float(np.linalg.slogdet(2.0 * np.pi * gaussian.spread)[1])
            parts.append(np.log(max(share, 1e-300)) - gaussian.find_cost(self.model, q) - 0.5 * log_size)
        return float(np.logaddexp.reduce(parts))

    def _check(self, model: Model) -> None:
        if model is not self.model and model != self.model:
            raise ModelMismatch(
                f"Style is {name_mismatch(self.model, model)}. Fit it to clips of that body: "
                "Style.fit([poise.retarget(clip, model).motion, ...])."
            )


def read_shares(styles: Mapping[Style, float]) -> dict[Style, float]:
    """Return the styles of a blend with a nonzero share, with shares that sum to 1.

    Raises:
        InvalidValue: The argument is not a mapping of styles to shares.
    """
    mix = dict(styles) if isinstance(styles, Mapping) else {}
    fine = all(isinstance(style, Style) and isinstance(share, Real) for style, share in mix.items())
    try:
        shares = np.array([float(share) for share in mix.values()] if fine else [])
    except OverflowError:
        shares = np.array([np.inf])
    total = float(shares.sum())
    if not np.isfinite(total) or total <= 0.0 or (shares < 0.0).any():
        raise InvalidValue(f"Style.blend takes {{style: share}}, shares of 0 or more, not all 0, and not {styles!r}.")
    return {style: float(share) / total for style, share in zip(mix, shares, strict=True) if share > 0.0}


def share_chart(parts: tuple[tuple[float, StyleFrames], ...]) -> tuple[tuple[float, StyleFrames], ...]:
    """Return sets of frames in one chart; unchanged if they already share it."""
    if all(frames.chart is parts[0][1].chart for _, frames in parts):
        return parts
    again = StyleFrames.prepare_parts(parts[0][1].model, [frames.q for _, frames in parts])
    return tuple((share, frames) for (share, _), frames in zip(parts, again, strict=True))
