"""Why goals were missed, what holds the body back, and what would help.

`Solution` looks this room up through the one door upwards, `poise.doors`: these functions are what it asks for.
"""

from poise.diagnosis.binding import active_limits
from poise.diagnosis.conditioning import conditioning
from poise.diagnosis.explain import explain

__all__ = ["active_limits", "conditioning", "explain"]
