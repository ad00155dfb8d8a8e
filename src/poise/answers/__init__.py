"""All poses that reach a transform: `solve_all` and its list of answers."""

from poise.answers.answers import Answers
from poise.answers.complete_list import solve_all

__all__ = ["Answers", "solve_all"]
