"""Explanations of a solution: missed goals, active limits and remedies, as data and as text.

`Solution` calls these functions through a hook, see `poise.hooks`.
"""

from poise.diagnosis.active_limits import find_active_limits
from poise.diagnosis.explain import explain
from poise.diagnosis.redundancy import count_freedoms, find_redundancy
from poise.diagnosis.singular_directions import find_conditioning
from poise.diagnosis.singularities import SingularFamily, Singularities, find_singularities
from poise.solvers.report.explanation import Cause, CauseKind, Explanation, Missed, WayOut, WayOutKind
from poise.solvers.report.findings import ActiveLimit, Conditioning, Redundancy

__all__ = [
    "ActiveLimit",
    "Cause",
    "CauseKind",
    "Conditioning",
    "Explanation",
    "Missed",
    "Redundancy",
    "SingularFamily",
    "Singularities",
    "WayOut",
    "WayOutKind",
    "count_freedoms",
    "explain",
    "find_active_limits",
    "find_conditioning",
    "find_redundancy",
    "find_singularities",
]
