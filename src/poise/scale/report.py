"""Report: what a run of a job did, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """What a run did.

    Attributes:
        job: The job's hash.
        folder: Where its parts are.
        what: What is counted: "rows" or "clips".
        done: How many this run did.
        skipped: How many were there already.
        left: How many of the whole job are not done: those of other shards, and those that failed.
        counts: How those that this run did, or found, ended: {"reached": 98, "unreachable": 2}.
        failed: What could not be read, with the reason: {"b.bvh": "..."}.
        seconds: How long it took.
        manifest: The list of all parts, once all are there.
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

    @property
    def complete(self) -> bool:
        """Whether the whole job is done."""
        return self.manifest is not None

    def __str__(self) -> str:
        rate = f", {self.done / self.seconds:,.0f} a second" if self.done and self.seconds > 0 else ""
        lines = [f"{self.done:,} {self.what} done in {self.seconds:.1f} s{rate}; {self.skipped:,} were there already"]
        total = max(1, sum(self.counts.values()))
        lines += [f"  {name:<14}{n:>14,}{100 * n / total:>9.2f} %" for name, n in self.counts.items()]
        lines += [f"  failed: {name}: {reason}" for name, reason in self.failed.items()]
        lines.append(f"all is in {self.folder}" if self.complete else f"{self.left:,} {self.what} are left")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in plain values."""
        out = {
            key: getattr(self, key) for key in ("job", "what", "done", "skipped", "left", "counts", "failed", "seconds")
        }
        return out | {"folder": str(self.folder), "complete": self.complete}
