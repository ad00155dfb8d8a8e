"""Jobs that outgrow a call: killed and resumed, on all cores, on Slurm, on Ray. Needs the extra `scale`."""

from __future__ import annotations

from poise.scale.job import Job
from poise.scale.report import Report

__all__ = ["Job", "Report"]
