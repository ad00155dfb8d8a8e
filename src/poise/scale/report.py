"""Report: the results of a run of a job, and the remaining work."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Report"]

MAX_CLIPS = 40  # clips listed individually
COLUMNS = (
    ("frames", "frames", 0),
    ("slip mm", "slip_max", 3),
    ("drift mm", "drift_max", 2),
    ("float mm", "height_mean", 2),
    ("sink mm", "sink_max", 2),
    ("step rad", "step_max", 3),
    ("jerk p95", "jerk_p95", 0),
)  # title, figure, decimals


@dataclass(frozen=True)
class Report:
    """The result of a run.

    Attributes:
        job: The job's hash.
        folder: The output folder.
        what: The unit of the counts: "rows", "clips" or "poses".
        done: The number that this run completed.
        skipped: The number completed before this run.
        left: The number in the whole job that remain: those of other shards, and those that failed.
        counts: The outcomes of completed and skipped ones: {"reached": 98, "unreachable": 2}.
        failed: The inputs that could not be read, with the reason: {"b.bvh": "..."}.
        seconds: The duration of the run [s].
        manifest: The manifest file if the job is complete, otherwise None.
        figures: The quality of each clip, as `quality` measures it: {"a.bvh": {"slip_max": ...}}.
        damaged: The parts that did not match their receipts; those of this shard were computed again.
    """

    job: str
    folder: Path
    what: str
    done: int
    skipped: int
    left: int
    counts: dict[str, int]
    seconds: float
    failed: dict[str, str] = field(default_factory=dict)
    manifest: Path | None = None
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the whole job is complete."""
        return self.manifest is not None

    def __str__(self) -> str:
        rate = f", {self.done / self.seconds:,.0f} a second" if self.done and self.seconds > 0 else ""
        lines = [f"{self.done:,} {self.what} done in {self.seconds:.1f} s{rate}; {self.skipped:,} were there already"]
        total = max(1, sum(self.counts.values()))
        lines += [f"  {name:<14}{n:>14,}{100 * n / total:>9.2f} %" for name, n in self.counts.items()]
        lines += list_figures(self.figures)
        lines += [f"  failed: {name}: {reason}" for name, reason in self.failed.items()]
        lines += [f"  damaged{', made again' if self.complete else ''}: {name}" for name in self.damaged]
        lines.append(f"all is in {self.folder}" if self.complete else f"{self.left:,} {self.what} are left")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        out = {
            key: getattr(self, key) for key in ("job", "what", "done", "skipped", "left", "counts", "failed", "seconds")
        }
        out |= {"folder": str(self.folder), "complete": self.complete, "damaged": list(self.damaged)}
        return out | ({"clips": self.figures} if self.what == "clips" else {})


def list_figures(figures: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of a table of clips: foot slip, drift, float and sink [mm], and the steps and jerk of joints.

    If there are many clips, those with the largest foot slip are listed; the folder has the table of all figures.
    """
    if not figures:
        return []
    listed = list(figures.items())
    if len(listed) > MAX_CLIPS:
        listed = sorted(listed, key=lambda item: -(item[1]["slip_max"] or 0.0))[:MAX_CLIPS]
    width = max(len("clip"), *(len(name) for name, _ in listed)) + 2
    lines = [f"  {'clip':<{width}}" + "".join(f"{title:>10}" for title, _, _ in COLUMNS)]
    for name, each in listed:
        numbers = ("-" if each[key] is None else f"{each[key]:.{decimals}f}" for _, key, decimals in COLUMNS)
        lines.append(f"  {name:<{width}}" + "".join(f"{number:>10}" for number in numbers))
    if len(figures) > len(listed):
        lines.append(f"  ... and {len(figures) - len(listed):,} more whose feet slip less")
    return lines
