"""What a body can be asked for, one goal a file."""

from poise.goals.goal import Goal
from poise.goals.orient import Orient
from poise.goals.reach import Reach
from poise.goals.rest import Rest

__all__ = ["Goal", "Orient", "Reach", "Rest"]
