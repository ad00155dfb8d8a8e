"""Report: the results of a run of a job, and the remaining work."""

from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from typing import Any

__all__ = ["Report"]

MAX_CLIPS = 40  # clips listed individually
MOST_DOUBTED = 3  # clips worth a look
COLUMNS = (
    ("frames", "frames", 1.0, 0),
    ("bones deg", "bones_mean", 180.0 / pi, 1),
    ("itself mm", "collision_max", 1.0, 1),
    ("at limit %", "limits_share", 100.0, 0),
    ("speed rad/s", "speed_max", 1.0, 1),
    ("slip mm", "slip_max", 1.0, 2),
    ("drift mm", "drift_max", 1.0, 1),
    ("float mm", "height_mean", 1.0, 1),
    ("sink mm", "sink_max", 1.0, 1),
)  # title, figure, factor, decimals
DOUBTS = (
    ("collision_max", 5.0, 1.0, "collides with itself, {:.0f} mm deep"),
    ("bones_p95", pi / 9.0, 180.0 / pi, "limbs are up to {:.0f} degrees off"),
    ("limits_share", 0.5, 100.0, "a joint is at its limit in {:.0f} % of frames"),
    ("speed_share", 0.05, 100.0, "a joint is faster than 3 pi rad/s in {:.0f} % of frames"),
    ("slip_max", 2.0, 1.0, "a foot slips {:.0f} mm in a frame"),
    ("sink_max", 10.0, 1.0, "a foot is {:.0f} mm below the floor"),
)  # figure, largest value without a doubt, factor, words


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
        rate = write_rate(self.done, self.seconds)
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
    """Return a table of clips and the clips worth a look; columns that are zero or unknown for all are left out.

    If there are many clips, those with the most doubts are listed; the folder has the table of all figures.
    """
    if not figures:
        return []
    doubts = {name: list_doubts(each) for name, each in figures.items()}
    worst = sorted(figures, key=lambda name: -sum(excess for excess, _ in doubts[name]))
    listed = list(figures) if len(figures) <= MAX_CLIPS else worst[:MAX_CLIPS]
    rows = {name: [write_cell(figures[name], column) for column in COLUMNS] for name in listed}
    kept = [k for k in range(len(COLUMNS)) if any(row[k].strip("-0.") for row in rows.values())]
    width = max(len("clip"), *map(len, listed)) + 2
    lines = [f"  {'clip':<{width}}" + "".join(f"{COLUMNS[k][0]:>13}" for k in kept)]
    lines += [f"  {name:<{width}}" + "".join(f"{row[k]:>13}" for k in kept) for name, row in rows.items()]
    if len(figures) > len(listed):
        lines.append(f"  ... and {len(figures) - len(listed):,} more with fewer doubts")
    return lines + write_doubts({name: doubts[name] for name in worst if doubts[name]}, len(figures), width)


def write_cell(figures: dict[str, Any], column: tuple[str, str, float, int]) -> str:
    """Return one number of the table; "-" if it is unknown."""
    _, key, factor, decimals = column
    value = figures.get(key)
    return "-" if value is None else f"{factor * value:.{decimals}f}"


def list_doubts(figures: dict[str, Any]) -> list[tuple[float, str]]:
    """List the reasons to look at a clip, each with its figure relative to an ordinary one."""
    found = ((figures.get(key), most, factor, words) for key, most, factor, words in DOUBTS)
    return [(x / most, words.format(factor * x)) for x, most, factor, words in found if x is not None and x > most]


def write_doubts(doubts: dict[str, list[tuple[float, str]]], clips: int, width: int) -> list[str]:
    """Return the lines on clips worth a look, the most doubtful first."""
    if not doubts:
        return []
    worst = list(doubts)[:MOST_DOUBTED]
    lines = [f"  clips worth a look: {len(worst)} of {clips:,}" + ", the worst first" * (len(worst) > 1)]
    return lines + [f"  {name:<{width}}{'; '.join(words for _, words in doubts[name])}" for name in worst]


def write_rate(done: int, seconds: float) -> str:
    """Return the number done in a second, or the seconds that each took if that is more than one."""
    if not done or seconds <= 0.0:
        return ""
    rate = done / seconds
    return f", {1.0 / rate:.1f} s each" if rate < 1.0 else f", {rate:,.0f} a second"
