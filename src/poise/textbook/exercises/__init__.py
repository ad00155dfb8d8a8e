"""The exercises of the course, and their checker: it compares answers with the textbook on random arms.

``poise check 3 my_solution.py`` checks one in a separate process. The functions that students write take plain arrays,
and the solutions are not included here.
"""

from poise.textbook.exercises.case import ExerciseCase
from poise.textbook.exercises.exercise import EXERCISES, Exercise, judge_file

__all__ = ["EXERCISES", "Exercise", "ExerciseCase", "judge_file"]
