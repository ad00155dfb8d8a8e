"""Large jobs that can be killed and resumed, on all cores, Slurm or Ray. Needs the extra `scale`."""

from poise.scale.job import Job
from poise.scale.report import Report

__all__ = ["Job", "Report"]
